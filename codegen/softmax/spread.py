"""Over how many threads and blocks a row is spread that is held in registers.

What decides the speed is how many bytes of a multiprocessor's rows are on their way at a time, and
that is bounded by its registers: a thread keeps its whole share of a row. Narrow rows take two
vectors a thread and as many threads as that takes; wider ones a block of 256 or 512 threads with up
to 20 vectors each, 16-bit elements packed; and the widest a cluster of small blocks, of which a
multiprocessor holds several, so that one row's loads overlap another's stores. Clusters come last
although they do well from 2,048 vectors on: what one block does alone is proven from its PTX. The
bounds are those that measured fastest on an H200 (`docs/benchmarks.md`), in vectors of 16 bytes.

>>> spread(4, 1024, exact=True, masked=False, most_blocks=16)
Spread(threads=512, cluster=1, held=True, resident=1)
>>> spread(4, 32768, exact=True, masked=False, most_blocks=16)
Spread(threads=128, cluster=16, held=True, resident=5)
>>> spread(2, 16384, exact=True, masked=False, most_blocks=16)
Spread(threads=128, cluster=8, held=False, resident=4)
>>> print(spread(2, 16384, exact=True, masked=False, most_blocks=1))
None
"""

from __future__ import annotations

from dataclasses import dataclass, replace

# Vectors of a thread whose registers hold them: of one block, and of a small block of a cluster;
# fewer beside what a mask's offsets take.
_ALONE = 20
_MOST, _MOST_PACKED, _MOST_MASKED = 32, 26, 16
_MOST_LARGE = 25  # of a large block, where nothing else holds a row
# Of a large block, where results are wider than elements under a mask of several modes.
_MOST_WIDENED = 14
VECTOR_BYTES = 16
_SMALL, _LARGE = 128, 512  # threads of a block of a cluster
_EACH = 8  # vectors a thread of a small block, if there are enough blocks
_FULL = 0.93  # part of the threads' vectors that a row must fill for blocks of unpacked ones
_PACKED_RESIDENT = ((20, 4), (_MOST_PACKED, 3))  # up to so many vectors a thread
# Registers of a multiprocessor, and of a thread beside the values that it holds: of whole vectors,
# of ragged rows, under a mask. Small blocks are as many as they leave room for, up to 8.
_REGISTERS, _BESIDE, _BESIDE_RAGGED, _BESIDE_MASKED = 65536, 24, 30, 56


@dataclass(frozen=True, slots=True)
class Spread:
    """Threads of a block, blocks along a row, and how a thread keeps its share.

    `held` are float32 values from the first to the last; others stay packed as they lie in memory.
    `resident` is how many blocks a multiprocessor shall hold.
    """

    threads: int
    cluster: int = 1
    held: bool = True
    resident: int = 1


def spread(
    size: int,
    vectors: int,
    *,
    exact: bool,
    masked: bool,
    most_blocks: int,
    widened: bool = False,
) -> Spread | None:
    """How rows of so many vectors of elements of `size` bytes are spread; None if nothing holds it.

    `exact` rows are whole vectors; a cluster may have `most_blocks`, 1 where there are none.
    `widened` says that a mask has several modes and that results are wider than elements: two
    stores for each vector, whose addresses take registers too.
    """
    largest = _MOST_WIDENED if widened else _MOST_MASKED if masked else _MOST_LARGE
    most = min(largest, _ALONE) if most_blocks > 1 else largest
    one = (_words if size == 4 else _halves)(vectors, exact, masked, most)
    if one is not None and widened and not one.held:
        return replace(one, resident=1)
    if one is not None:
        return one
    if most_blocks > 1:
        beside = _BESIDE_MASKED if masked else _BESIDE if exact else _BESIDE_RAGGED
        for small in _small_blocks(size, vectors, masked=masked, most_blocks=most_blocks):
            if small.cluster <= most_blocks:
                return replace(small, resident=_resident(size, vectors, small, beside))
    cluster = power_above(-(-vectors // (_LARGE * largest)))
    return Spread(_LARGE, cluster, held=size == 4) if cluster <= most_blocks else None


def power_above(number: int) -> int:
    """The least power of two that is not below `number`."""
    return 1 << max(0, number - 1).bit_length()


def _narrow(vectors: int) -> int:
    """Threads with two vectors each; a row of two vectors takes two, so that lanes lie closer."""
    return 2 if vectors == 2 else power_above(-(-vectors // 2))


def _words(vectors: int, exact: bool, masked: bool, most: int) -> Spread | None:
    """Vectors of four 32-bit elements, by one block."""
    if vectors <= 1024:
        return Spread(_narrow(vectors))
    if 1792 < vectors <= 2048:
        # Two vectors a thread leave room for two blocks of 1024 threads.
        return Spread(1024)
    if vectors <= 512 * most:
        return Spread(512, resident=2 if 4 < -(-vectors // 512) <= 10 and not masked else 1)
    return None


def _halves(vectors: int, exact: bool, masked: bool, most: int) -> Spread | None:
    """Vectors of eight 16-bit elements, by one block; ragged rows need more registers."""
    if vectors <= 64 or (exact and vectors <= 512):
        return Spread(_narrow(vectors))
    if vectors <= 1024:
        return Spread(power_above(-(-vectors // 4)))
    if vectors <= 1792:
        return Spread(256) if masked else Spread(128, held=False, resident=4)
    if vectors <= 2048:
        return Spread(512)
    if masked and vectors <= 4096:
        return Spread(512, held=False, resident=2)
    if vectors <= 256 * most:
        return Spread(256, held=False, resident=2)
    return None


def _small_blocks(size: int, vectors: int, *, masked: bool, most_blocks: int) -> list[Spread]:
    """Clusters of small blocks, the fastest first."""
    cluster = power_above(-(-vectors // (_SMALL * _EACH)))
    if size == 4:
        cluster = min(cluster, most_blocks)
        fits = _each(vectors, cluster) <= (_MOST_MASKED if masked else _MOST)
        return [Spread(_SMALL, cluster)] if fits else []
    found = []
    full = vectors / (_SMALL * cluster * _each(vectors, cluster))
    if cluster <= 8 and full >= _FULL and not masked:
        found.append(Spread(_SMALL, cluster))
    cluster = power_above(-(-vectors // (_SMALL * (_MOST_MASKED if masked else _MOST_PACKED))))
    return [*found, Spread(_SMALL, cluster, held=False)]


def _each(vectors: int, cluster: int) -> int:
    """Vectors of a thread of a small block."""
    return -(-vectors // (_SMALL * cluster))


def _resident(size: int, vectors: int, small: Spread, beside: int) -> int:
    """Small blocks that the registers of a multiprocessor hold."""
    each = _each(vectors, small.cluster)
    if not small.held:
        return next(blocks for most, blocks in _PACKED_RESIDENT if each <= most)
    registers = -(-(each * VECTOR_BYTES // size + beside) // 8) * 8
    return min(8, _REGISTERS // (_SMALL * registers))
