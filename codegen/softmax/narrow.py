"""Geometries of the kernels for narrow rows: how many lanes take a row from shared memory.

Lanes of a warp read shared memory together, and are slowed down by each further word of one bank.
Which lanes meet in a bank follows from the row's width, so the geometry with the least work a row
is found by counting: accesses, shuffles and arithmetic, in instruction slots of a multiprocessor.

>>> flat_tile(33, "f32")
FlatTile(vector=4, rows=64, lanes=4, each=9, threads=256, beside=True)
>>> bank_steps(FlatTile(4, 64, 4, 9, 256), 33, 4), bank_steps(FlatTile(4, 64, 4, 9, 256), 32, 4)
(15, 72)
"""

from __future__ import annotations

from functools import lru_cache

from tylo.codegen.softmax.request import BYTES
from tylo.proofs.specifications.softmax_flat_tiles import FewTile, FlatTile

_LANES, _BANKS, _BANK_BYTES, _VECTOR_BYTES = 32, 32, 4, 16
_THREADS = 256
_MOST = 17  # columns a lane holds; a lone lane, whose rows fill memory faster, fewer
_MOST_ALONE = 12
_ARITHMETIC = 3  # slots for each element of a lane
_PASS = 10  # slots for each pass, however many elements
_FEW, _MANY = 9, 1.15  # beyond so many columns a lane, waiting costs that much more
# Bytes of a block's rows that keep enough blocks on a multiprocessor, as measured.
_TILE_BYTES = {2: 14 << 10, 4: 12 << 10}
_LEAST_PASSES = {2: 3, 4: 1}


def few_tile(columns: int, dtype: str) -> FewTile:
    """Vectors of whole rows; `columns` divides a vector."""
    return FewTile(_VECTOR_BYTES // BYTES[dtype], columns, repeats=2, threads=128)


@lru_cache(maxsize=1024)
def flat_tile(columns: int, dtype: str) -> FlatTile | None:
    """The best flat tile for rows of `columns`, or None where a warp cannot hold one."""
    size = BYTES[dtype]
    found: list[tuple[float, FlatTile]] = []
    for power in range(6):
        lanes = 1 << power
        each = -(-columns // lanes)
        if each > (_MOST if lanes > 1 else _MOST_ALONE) or lanes > max(1, columns):
            continue
        unit = _THREADS // lanes
        rows = max(_LEAST_PASSES[size], _TILE_BYTES[size] // (columns * size) // unit) * unit
        for beside in (True, False):
            tile = FlatTile(_VECTOR_BYTES // size, rows, lanes, each, _THREADS, beside)
            steps = 2 * bank_steps(tile, columns, size) + 2 * power + _ARITHMETIC * each + _PASS
            found.append((steps * lanes * (_MANY if each > _FEW else 1), tile))
    return min(found, key=lambda item: item[0])[1] if found else None


def bank_steps(tile: FlatTile, columns: int, size: int) -> int:
    """How many steps a warp's reads of its elements take, bank conflicts counted."""
    import numpy

    lane, total = numpy.arange(_LANES), 0
    begins = tile.row(lane, 0) * columns
    for value in range(tile.each):
        column = numpy.broadcast_to(tile.column(lane, value), lane.shape)
        words = numpy.unique((begins + column)[column < columns] * size // _BANK_BYTES)
        total += int(numpy.bincount(words % _BANKS).max()) if len(words) else 0
    return total
