"""Tiles by rows: a row in one lane, or spread over values, lanes and warps.

Kernels that read rows straight from memory choose their own ownership. In a *lane-local* tile each
lane holds whole rows (or whole columns), and a reduction along them stays in the lane. In a *row
tile* a row is spread out, fastest first: over `vector` consecutive values of a lane, then over
`lanes` lanes, then over `warps` warps, and that again `repeats` times. What lanes and warps are
left over hold further rows.

Four consecutive values in each of 32 lanes, twice: rows of 256 columns, one to a warp, on two
warps:

>>> tile = row_tile(vector=4, repeats=2, row_warps=2)
>>> tile.shape, tile.thread_count, tile.value_count
((2, 256), 64, 8)
>>> tile(lane=5, value=3, repeat_column=1, warp=1)
(1, 151)

Eight lanes to a row leave room for four rows in a warp:

>>> row_tile(vector=4, lanes=8)(lane=17, value=1)
(2, 5)

Values count as everywhere: value, then repeats of rows, then repeats of columns. Sizes that reach
lanes are powers of two, since lanes exchange by exclusive or; repeats and warps may be any number,
and symbolic.
"""

from __future__ import annotations

from typing import Any

from tylo.layouts.errors import OwnershipError
from tylo.layouts.indices import require_number
from tylo.layouts.ownership import Ownership
from tylo.layouts.terms import Integer

_LANES = 32
_AXES = ("row", "column")


def row_tile(
    *,
    vector: int = 4,
    lanes: int = 32,
    warps: Integer = 1,
    repeats: Integer = 1,
    row_warps: Integer = 1,
    row_repeats: Integer = 1,
    bits: int = 32,
) -> Ownership:
    """Rows of vector * lanes * warps * repeats columns, spread over values, lanes and warps.

    A warp holds 32 / `lanes` rows at a time; `row_warps` warps and `row_repeats` repeats hold
    further ones. Warps along the row number first. Raises `OwnershipError` for a count below 1 and
    for lanes that are no power of two up to 32.
    """
    _require_lanes(lanes)
    for what, count in (
        ("vector", vector),
        ("number of warps along a row", warps),
        ("number of column repeats", repeats),
        ("number of warps along the rows", row_warps),
        ("number of row repeats", row_repeats),
    ):
        require_number(f"the {what}", count, 1)
    held = _LANES // lanes
    width = vector * lanes
    return Ownership.of(
        axes={
            "row": held * row_warps * row_repeats,
            "column": width * warps * repeats,
        },
        values={
            "value": [(vector, "column", 1)],
            "repeat_row": [(row_repeats, "row", held * row_warps)],
            "repeat_column": [(repeats, "column", width * warps)],
        },
        threads={
            "lane": [(lanes, "column", vector), (held, "row", 1)],
            "warp": [(warps, "column", width), (row_warps, "row", held)],
        },
        bits=bits,
    )


def lane_local(
    *,
    rows: Integer = 1,
    columns: Integer = 1,
    warps: Integer = 1,
    whole: str = "row",
    bits: int = 32,
) -> Ownership:
    """Each lane holds `rows` whole rows of `columns` columns; `whole="column"` exchanges the two.

    >>> tile = lane_local(columns=4, rows=2)
    >>> tile.shape, tile(lane=5, value=3, repeat_row=1)
    ((64, 4), (37, 3))
    >>> lane_local(rows=4, whole="column")(lane=5, value=3)
    (3, 5)
    """
    if whole not in _AXES:
        raise OwnershipError(f"no whole {whole!r} in a lane", hint="use 'row' or 'column'")
    for what, count in (("rows", rows), ("columns", columns), ("warps", warps)):
        require_number(f"the number of {what}", count, 1)
    inner, outer = (columns, rows) if whole == "row" else (rows, columns)
    across = whole
    along = _AXES[1 - _AXES.index(whole)]
    extents: dict[str, Any] = {along: inner, across: _LANES * warps * outer}
    return Ownership.of(
        axes={axis: extents[axis] for axis in _AXES},
        values={
            "value": [(inner, along, 1)],
            f"repeat_{across}": [(outer, across, _LANES * warps)],
        },
        threads={"lane": [(_LANES, across, 1)], "warp": [(warps, across, _LANES)]},
        bits=bits,
    )


def _require_lanes(lanes: Any) -> None:
    powers = [1 << bit for bit in range(6)]
    if isinstance(lanes, bool) or not isinstance(lanes, int) or lanes not in powers:
        raise OwnershipError(
            f"a row over {lanes!r} lanes", hint=f"use {', '.join(map(str, powers))}"
        )
