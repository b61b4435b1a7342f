"""Geometries of the kernels that read rows one by one: tiles of rows held, and of rows streamed.

How a held row is spread over threads and blocks is `spread`'s to say; here it becomes a tile,
beside further rows where it is narrow.

>>> from tylo.codegen.softmax.request import SoftmaxRequest
>>> def shape(columns, dtype):
...     request = SoftmaxRequest(4096, columns, dtype, dtype, columns, columns, 16, 16)
...     vector = {"f32": 4, "bf16": 8}[dtype]
...     return held_shape(request, vector, columns // vector)
>>> shape(4096, "f32").tile
SoftmaxTile(vector=4, lanes=32, warps=16, repeats=2, row_warps=1, cluster=1)
>>> shape(131072, "f32").tile
SoftmaxTile(vector=4, lanes=32, warps=4, repeats=16, row_warps=1, cluster=16)
"""

from __future__ import annotations

from dataclasses import dataclass

from tylo.codegen.softmax.kernel import Form
from tylo.codegen.softmax.request import BYTES, SoftmaxRequest
from tylo.codegen.softmax.spread import VECTOR_BYTES, power_above, spread
from tylo.proofs.specifications.softmax_tiles import SoftmaxTile

_LEAST_BLOCK = 128  # threads, where rows are narrow
_CLUSTERS_FROM = (9, 0)
# Blocks of a cluster: what every device with clusters has, and what large ones allow when asked
# (Hopper and Blackwell Tuning Guides, "Thread Block Clusters").
_CLUSTER, _LARGE_CLUSTER = 8, 16
_LARGE = frozenset({(9, 0), (10, 0), (10, 3)})
_STREAMED = 4  # vectors a thread and step
_STREAM_THREADS = (32, 256)  # along a row, at least and at most
_STREAM_SHARE = 16  # vectors a thread, from which on a row gets more threads
# Vectors, from which on log-sum-exp alone is streamed, by element size.
_STREAMED_ALONE = {4: 512, 2: 128}


@dataclass(frozen=True, slots=True)
class Shape:
    """A tile and how a kernel uses it."""

    tile: SoftmaxTile
    form: Form = "rows"
    held: bool = True
    resident: int = 1


def held_shape(request: SoftmaxRequest, vector: int, vectors: int) -> Shape | None:
    """How whole rows are held in registers, or None where no cluster holds them."""
    size = BYTES[request.dtype]
    words = max(1, vector * size // 4)
    # Narrower vectors count as the words that they take.
    whole = -(-vectors * words * 4 // VECTOR_BYTES)
    most_blocks = _LARGE_CLUSTER if request.capability in _LARGE else _CLUSTER
    exact, modes = request.columns % vector == 0, request.mask.rows if request.mask else ()
    found = spread(
        size,
        whole,
        exact=exact,
        masked=request.mask is not None,
        most_blocks=most_blocks if request.capability >= _CLUSTERS_FROM else 1,
        widened=len(modes) > 1 and BYTES[request.out_dtype or request.dtype] > size,
    )
    if found is None:
        return None
    repeats = max(1, -(-vectors // (found.threads * found.cluster)))
    if not exact and not found.held and found.cluster > 1:
        repeats += repeats % 2  # an even number of packed vectors was always faster there
    lanes, warps = min(found.threads, 32), max(1, found.threads // 32)
    row_warps = max(1, _LEAST_BLOCK // 32 // warps) if found.cluster == 1 else 1
    tile = SoftmaxTile(vector, lanes, warps, repeats, row_warps, found.cluster)
    return Shape(tile, "rows", found.held, found.resident)


def streams_alone(request: SoftmaxRequest, vectors: int) -> bool:
    """Whether log-sum-exp alone is streamed: it reads once all the same, and needs no registers."""
    return request.out_dtype is None and vectors >= _STREAMED_ALONE[BYTES[request.dtype]]


def streamed_shape(vector: int, vectors: int) -> Shape:
    """How rows of any width are streamed."""
    least, most = _STREAM_THREADS
    threads = min(most, max(least, power_above(-(-vectors // _STREAM_SHARE))))
    warps = threads // 32
    row_warps = max(1, _LEAST_BLOCK // threads)
    return Shape(SoftmaxTile(vector, 32, warps, _STREAMED, row_warps), "stream")
