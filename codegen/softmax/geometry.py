"""Geometries of the kernels that read rows one by one: threads, vectors a thread, blocks a row.

What decides the speed is how many bytes of a multiprocessor's rows are on their way at a time, and
that is bounded by its registers: a thread keeps its whole share of a row. So narrow rows take two
vectors a thread and as many threads as that takes; wide ones 512 threads with up to 20 vectors; and
wider ones as few blocks of a cluster as hold them. The bounds below are those that measured fastest
on an H200 (`docs/benchmarks.md`).

>>> from tylo.codegen.softmax.request import SoftmaxRequest
>>> def shape(columns, dtype):
...     request = SoftmaxRequest(4096, columns, dtype, dtype, columns, columns, 16, 16)
...     vector = {"f32": 4, "bf16": 8}[dtype]
...     return held_shape(request, vector, columns // vector)
>>> shape(4096, "f32").tile
SoftmaxTile(vector=4, lanes=32, warps=16, repeats=2, row_warps=1, cluster=1)
>>> shape(131072, "f32").tile
SoftmaxTile(vector=4, lanes=32, warps=16, repeats=16, row_warps=1, cluster=4)
"""

from __future__ import annotations

from dataclasses import dataclass

from tylo.codegen.softmax.kernel import Form
from tylo.codegen.softmax.request import BYTES, SoftmaxRequest
from tylo.proofs.specifications.softmax_tiles import SoftmaxTile

STREAM_ALONE = 1024  # vectors, from which on log-sum-exp alone is streamed
_VECTOR_BYTES = 16
_LEAST_BLOCK = 128  # threads, where rows are narrow
_REPEATS = 2  # vectors a thread, while threads last
_CLUSTER = 16
_CLUSTERS_FROM = (9, 0)
_STREAMED = 4  # vectors a thread and step
_STREAM_THREADS = 256


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
    # Narrower vectors take as many bytes a thread, and no more registers.
    spread = _VECTOR_BYTES // (vector * size)
    words = max(1, vector * size // 4)
    threads, most = _threads(size, -(-vectors // spread))
    most = most * 4 // words
    cluster = power_above(-(-vectors // (threads * most)))
    if cluster > _CLUSTER or (cluster > 1 and request.capability < _CLUSTERS_FROM):
        return None
    repeats = max(1, -(-vectors // (threads * cluster)))
    lanes, warps = min(threads, 32), max(1, threads // 32)
    row_warps = max(1, _LEAST_BLOCK // 32 // warps) if cluster == 1 else 1
    tile = SoftmaxTile(vector, lanes, warps, repeats, row_warps, cluster)
    return Shape(tile, held=size == 4 or repeats * vector <= 16)


def streamed_shape(vector: int, vectors: int) -> Shape:
    """How rows of any width are streamed."""
    threads = min(_STREAM_THREADS, max(32, power_above(-(-vectors // _STREAMED))))
    return Shape(SoftmaxTile(vector, 32, threads // 32, _STREAMED), "stream")


def power_above(number: int) -> int:
    """The least power of two that is not below `number`."""
    return 1 << max(0, number - 1).bit_length()


def _threads(size: int, vectors: int) -> tuple[int, int]:
    """Threads along a row in one block, and how many 16-byte vectors each may hold."""
    narrow = power_above(-(-vectors // _REPEATS))
    if narrow <= 512:
        return narrow, _REPEATS
    if size == 4:
        # Two vectors a thread leave room for two blocks of 1024 threads.
        return (1024, 2) if 1792 < vectors <= 2048 else (512, 20)
    return (512, 4) if vectors <= 2048 else (1024, 8)
