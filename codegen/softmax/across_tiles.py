"""In which geometry rows that run across memory are taken.

Lanes along the rows are as many as there are rows side by side, so that a warp reads as long a
piece of each column as it can. If the columns do not fit into the registers of a block, pieces
become shorter, down to 64 bytes, and the lanes that this leaves over take further columns; and if
they still do not fit, the columns are read twice. Vectors are as wide as alignment allows, up to
four rows: every row of a vector is a reduction of its own, which costs more than narrower
accesses do. The numbers are what an H200 was fastest with, of 2,493 geometries of 24 shapes
(`docs/benchmarks.md`).

>>> from tylo.codegen.softmax.request import Across, SoftmaxRequest
>>> def shape(inner, columns, dtype="f32"):
...     across = Across(inner, inner, inner)
...     row = columns * inner
...     return across_shape(
...         SoftmaxRequest(8 * inner, columns, dtype, dtype, row, row, 16, 16, across=across))
>>> shape(4096, 21)
AcrossShape(tile=AcrossTile(vector=4, lanes=32, repeats=11, warps=2, row_warps=2), held=True, \
resident=4)
>>> shape(4096, 1000).tile
AcrossTile(vector=4, lanes=4, repeats=16, warps=8, row_warps=1)
>>> shape(4096, 4096)
AcrossShape(tile=AcrossTile(vector=4, lanes=16, repeats=8, warps=16, row_warps=1), held=False, \
resident=1)
>>> shape(4096, 128, "bf16")
AcrossShape(tile=AcrossTile(vector=4, lanes=16, repeats=8, warps=8, row_warps=1), held=True, \
resident=4)
>>> shape(2, 3).tile
AcrossTile(vector=2, lanes=8, repeats=1, warps=1, row_warps=4)
"""

from __future__ import annotations

from dataclasses import dataclass

from tylo.codegen.softmax.request import BYTES, SoftmaxRequest
from tylo.codegen.softmax.spread import power_above
from tylo.proofs.specifications.softmax_across_tiles import AcrossTile

_LANES, _VECTOR_BYTES = 32, 16
_VECTOR_ROWS = 4  # at most
_SHORTEST = 64  # bytes of a column that a warp reads side by side
_BLOCK_WARPS = 4  # at least
# Values of a thread, warps along columns, and threads on a multiprocessor at most, tried in turn to
# hold all columns in registers, by the bytes of an element: of vectors, and of single elements,
# where short pieces are slowest. Sixteen-bit rows that need more are faster read twice.
_HELD = {4: ((64, 8, 512), (64, 16, 512)), 2: ((16, 1, 1536), (32, 8, 1024), (64, 8, 512))}
_HELD_ELEMENTS = {4: ((48, 16, 512),), 2: ((64, 16, 512),)}
_MASKED_ELEMENTS = {4: ((48, 16, 512),), 2: ((48, 16, 512),)}
_MOST_VALUES = 64
# Bytes of an element: bytes of a piece, values of a thread, and warps, of columns read twice; and
# where the second reading may find them in the second-level cache, up to so many columns, of which
# two steps are best.
_STREAMED = {4: (256, 32, 16), 2: (128, 64, 8)}
_NEAR_COLUMNS, _NEAR = 2048, {4: (64, 64, 16), 2: (64, 64, 16)}
_COLUMNS, _MASKED_COLUMNS = 16, 8  # of a thread and step: addresses take registers too
_THREADS = 512  # on a multiprocessor, with 128 registers each
# For these major capabilities the assembler takes more registers beside a mask: threads on a
# multiprocessor with vectors, and values of a thread of single elements.
_MASKED_THREADS, _MASKED_VALUES = {10: 256}, {10: 32}


@dataclass(frozen=True, slots=True)
class AcrossShape:
    """A tile, whether it holds all columns, and how many blocks a multiprocessor shall hold."""

    tile: AcrossTile
    held: bool
    resident: int


def across_shape(request: SoftmaxRequest) -> AcrossShape:
    """The geometry for `request`, whose rows run across memory."""
    vector, size = _vector(request), BYTES[request.dtype]
    widest = _lanes(request, vector)
    unmasked = request.mask is None
    room, fitting = _THREADS, _MOST_VALUES
    if not unmasked:
        major, _ = request.capability
        room = _MASKED_THREADS.get(major, room) if vector > 1 else room
        fitting = _MASKED_VALUES.get(major, fitting) if vector == 1 else fitting
    least = min(widest, max(1, _SHORTEST // (vector * size)))
    elements = _HELD_ELEMENTS if unmasked else _MASKED_ELEMENTS
    for values, warps, threads in (_HELD if vector > 1 else elements)[size]:
        lanes = widest
        while lanes >= least:
            most = min(values, fitting) // vector
            found = _holding(request, vector, lanes, most, min(warps, room // _LANES))
            if found is not None:
                return _shape(found, held=True, threads=threads if unmasked else room)
            lanes //= 2
    near = request.columns <= _NEAR_COLUMNS
    piece, values, warps = (_NEAR if near else _STREAMED)[size]
    values = min(values, vector * (_COLUMNS if unmasked else _MASKED_COLUMNS))
    warps = min(warps, room // _LANES)
    lanes = max(least, min(widest, piece // (vector * size)))
    if near:
        beside = _LANES // lanes * warps
        values = min(values, vector * power_above(-(-request.columns // (2 * beside))))
    return _shape(AcrossTile(vector, lanes, values // vector, warps), held=False, threads=room)


def _shape(tile: AcrossTile, *, held: bool, threads: int) -> AcrossShape:
    return AcrossShape(tile, held, max(1, threads // tile.threads))


def _vector(request: SoftmaxRequest) -> int:
    """Rows of a vector: all in one run of rows side by side, aligned in x and in out."""
    assert request.across is not None
    inner, size = request.across.inner, BYTES[request.dtype]
    bytes_of = {size: request.alignment}
    if request.out_dtype is not None:
        stored = BYTES[request.out_dtype]
        bytes_of[stored] = min(request.out_alignment, bytes_of.get(stored, _VECTOR_BYTES))
    vector = min(_VECTOR_ROWS, _VECTOR_BYTES // size)
    while inner % vector or any(
        aligned < min(_VECTOR_BYTES, vector * each) for each, aligned in bytes_of.items()
    ):
        vector //= 2
    return vector


def _lanes(request: SoftmaxRequest, vector: int) -> int:
    """Lanes along rows: as many as lie side by side; more where columns do not fill the rest."""
    assert request.across is not None
    beside = min(_LANES, power_above(request.across.inner // vector))
    columns = min(_LANES // beside, power_above(request.columns))
    return _LANES // columns


def _holding(
    request: SoftmaxRequest, vector: int, lanes: int, most: int, most_warps: int
) -> AcrossTile | None:
    """The tile with so many lanes along rows and up to `most` columns a thread, if all fit."""
    steps = -(-request.columns // (_LANES // lanes))
    warps = min(most_warps, power_above(-(-steps // most)))
    repeats = -(-steps // warps)
    if repeats > most:
        return None
    return AcrossTile(vector, lanes, repeats, warps, max(1, _BLOCK_WARPS // warps))
