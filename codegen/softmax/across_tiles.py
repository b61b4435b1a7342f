"""In which geometry rows that run across memory are taken.

Vectors are as wide as alignment allows, and lanes along the rows as many as there are rows side by
side: a warp then reads as long a piece of each column as it can. If the columns do not fit into the
registers of a block, pieces become shorter, down to 64 bytes, and the lanes that this leaves over
take further columns; and if they still do not fit, the columns are read twice. None of this has
been measured.

>>> from tylo.codegen.softmax.request import Across, SoftmaxRequest
>>> def tile(inner, columns, dtype="f32"):
...     across = Across(inner, inner, inner)
...     row = columns * inner
...     return across_tile(
...         SoftmaxRequest(8 * inner, columns, dtype, dtype, row, row, 16, 16, across=across))
>>> tile(4096, 21)
(AcrossTile(vector=4, lanes=32, repeats=6, warps=4, row_warps=1), True)
>>> tile(4096, 1000)
(AcrossTile(vector=4, lanes=4, repeats=16, warps=8, row_warps=1), True)
>>> tile(4096, 4096)
(AcrossTile(vector=4, lanes=8, repeats=8, warps=8, row_warps=1), False)
>>> tile(2, 3)
(AcrossTile(vector=2, lanes=8, repeats=1, warps=1, row_warps=4), True)
"""

from __future__ import annotations

from tylo.codegen.softmax.geometry import power_above
from tylo.codegen.softmax.request import BYTES, SoftmaxRequest
from tylo.proofs.specifications.softmax_across_tiles import AcrossTile

_LANES, _VECTOR_BYTES = 32, 16
_SHORTEST = 64  # bytes of a column that a warp reads side by side
_BLOCK_WARPS = 4  # at least
# Values of a thread and warps along columns, at most: what is tried in turn to hold all columns.
_HELD = ((32, 8), (64, 8), (64, 16))
_STREAMED, _STREAMED_WARPS = 32, 8


def across_tile(request: SoftmaxRequest) -> tuple[AcrossTile, bool]:
    """The tile, and whether it holds all columns."""
    vector = _vector(request)
    widest = _lanes(request, vector)
    least = min(widest, max(1, _SHORTEST // (vector * BYTES[request.dtype])))
    for values, warps in _HELD:
        lanes = widest
        while lanes >= least:
            found = _holding(request, vector, lanes, values // vector, warps)
            if found is not None:
                return found, True
            lanes //= 2
    lanes = max(least, min(widest, 2 * _SHORTEST // (vector * BYTES[request.dtype])))
    return AcrossTile(vector, lanes, _STREAMED // vector, _STREAMED_WARPS), False


def _vector(request: SoftmaxRequest) -> int:
    """Rows of a vector: all in one run of rows side by side, aligned in x and in out."""
    assert request.across is not None
    inner, size = request.across.inner, BYTES[request.dtype]
    bytes_of = {size: request.alignment}
    if request.out_dtype is not None:
        stored = BYTES[request.out_dtype]
        bytes_of[stored] = min(request.out_alignment, bytes_of.get(stored, _VECTOR_BYTES))
    vector = _VECTOR_BYTES // size
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
