"""Geometries of the kernels that read rows one by one: threads, vectors a thread, blocks a row.

What decides the speed is how many bytes of a multiprocessor's rows are on their way at a time, and
that is bounded by its registers: a thread keeps its whole share of a row. So narrow rows take two
vectors a thread and as many threads as that takes; wide ones 512 threads with up to 25 vectors of
float32, or up to 1024 threads that keep 16-bit elements packed; and wider ones as few blocks of a
cluster as hold them. The bounds below are those that measured fastest on an H200
(`docs/benchmarks.md`).

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

_VECTOR_BYTES = 16
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


@dataclass(frozen=True, slots=True)
class _Spread:
    """Threads and blocks along a row, and how the kernel keeps its share."""

    threads: int
    cluster: int = 1
    held: bool = True
    resident: int = 1


def held_shape(request: SoftmaxRequest, vector: int, vectors: int) -> Shape | None:
    """How whole rows are held in registers, or None where no cluster holds them."""
    size = BYTES[request.dtype]
    words = max(1, vector * size // 4)
    # Narrower vectors count as the words that they take.
    whole = -(-vectors * words * 4 // _VECTOR_BYTES)
    masked = request.mask is not None
    if size == 4:
        spread = _spread_words(whole, masked=masked)
    else:
        exact = request.columns % vector == 0
        spread = _spread_halves(whole, exact=exact, masked=masked)
    if spread.cluster > (_LARGE_CLUSTER if request.capability in _LARGE else _CLUSTER):
        return None
    if spread.cluster > 1 and request.capability < _CLUSTERS_FROM:
        return None
    repeats = max(1, -(-vectors // (spread.threads * spread.cluster)))
    lanes, warps = min(spread.threads, 32), max(1, spread.threads // 32)
    row_warps = max(1, _LEAST_BLOCK // 32 // warps) if spread.cluster == 1 else 1
    tile = SoftmaxTile(vector, lanes, warps, repeats, row_warps, spread.cluster)
    return Shape(tile, "rows", spread.held, spread.resident)


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


def power_above(number: int) -> int:
    """The least power of two that is not below `number`."""
    return 1 << max(0, number - 1).bit_length()


def _narrow(vectors: int) -> int:
    """Threads with two vectors each; a row of two vectors takes two, so that lanes lie closer."""
    return 2 if vectors == 2 else power_above(-(-vectors // 2))


def _spread_words(vectors: int, *, masked: bool) -> _Spread:
    """Vectors of four 32-bit elements."""
    if vectors <= 1024:
        return _Spread(_narrow(vectors))
    if 1792 < vectors <= 2048:
        # Two vectors a thread leave room for two blocks of 1024 threads.
        return _Spread(1024)
    return _Spread(512, power_above(-(-vectors // (512 * _most(masked)))))


def _spread_halves(vectors: int, *, exact: bool, masked: bool) -> _Spread:
    """Vectors of eight 16-bit elements; rows that are not whole vectors need more registers."""
    if vectors <= 64 or (exact and vectors <= 512):
        return _Spread(_narrow(vectors))
    if vectors <= 1024:
        return _Spread(power_above(-(-vectors // 4)))
    if vectors <= 2048:
        return _Spread(512 if vectors > 1792 else 256)
    if vectors <= 4096:
        return _Spread(512, held=False, resident=2)
    most = _most(masked)
    if vectors <= 256 * most:
        return _Spread(256, held=False, resident=2)
    cluster = power_above(-(-vectors // (1024 * (10 if exact else 8))))
    each = -(-vectors // (1024 * cluster))
    if not masked and (each >= 8 or cluster == 1):
        return _Spread(1024, cluster, held=False)
    # A block of 1024 threads fills a multiprocessor: fewer and fuller ones do better.
    return _Spread(512, power_above(-(-vectors // (512 * most))), held=False)


def _most(masked: bool) -> int:
    """Vectors of 16 bytes that a thread's registers hold, beside what a mask's offsets take."""
    return 16 if masked else 25
