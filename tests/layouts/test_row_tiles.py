"""Row tiles and lane-local tiles against formulas of their own."""

import itertools

import pytest

from tylo.layouts.coverage import require_covers
from tylo.layouts.errors import OwnershipError
from tylo.layouts.row_tiles import lane_local, row_tile
from tylo.layouts.terms import evaluate, name


@pytest.mark.parametrize(
    ("vector", "lanes", "warps", "repeats", "row_warps", "row_repeats"),
    [
        (4, 32, 1, 1, 1, 1),
        (4, 32, 8, 3, 1, 1),
        (1, 1, 1, 5, 2, 3),
        (2, 8, 1, 2, 4, 2),
        (8, 16, 2, 2, 3, 2),
        (3, 4, 1, 1, 1, 2),
    ],
)
def test_a_row_is_vectors_then_lanes_then_warps_then_repeats(
    vector: int, lanes: int, warps: int, repeats: int, row_warps: int, row_repeats: int
) -> None:
    tile = row_tile(
        vector=vector,
        lanes=lanes,
        warps=warps,
        repeats=repeats,
        row_warps=row_warps,
        row_repeats=row_repeats,
    )
    in_warp = 32 // lanes
    assert tile.shape == (in_warp * row_warps * row_repeats, vector * lanes * warps * repeats)
    assert tile.thread_count == 32 * warps * row_warps
    assert require_covers(tile) == 1
    for lane, warp in itertools.product((0, 1, 5, 18, 31), range(warps * row_warps)):
        for v, m, n in itertools.product(range(vector), range(row_repeats), range(repeats)):
            flat = v + vector * (m + row_repeats * n)
            column = v + vector * (lane % lanes + lanes * (warp % warps + warps * n))
            row = lane // lanes + in_warp * (warp // warps + row_warps * m)
            assert tile.coordinates(lane + 32 * warp, flat) == (row, column)


@pytest.mark.parametrize("whole", ["row", "column"])
def test_a_lane_holds_whole_lines(whole: str) -> None:
    tile = lane_local(rows=2, columns=3, warps=2, whole=whole)
    assert require_covers(tile) == 1
    inner, outer = (3, 2) if whole == "row" else (2, 3)
    for thread in (0, 31, 32, 63):
        for value in range(6):
            along, across = value % inner, thread + 64 * (value // inner)
            expected = (across, along) if whole == "row" else (along, across)
            assert tile.coordinates(thread, value) == expected
    assert tile.shape == ((64 * outer, inner) if whole == "row" else (inner, 64 * outer))


def test_repeats_and_warps_may_be_symbolic() -> None:
    tile = row_tile(repeats=name("N"), row_repeats=name("M"), warps=name("W"))
    known = {"N": 3, "M": 2, "W": 4}
    concrete = row_tile(repeats=3, row_repeats=2, warps=4)
    assert tuple(evaluate(each, known) for each in tile.shape) == concrete.shape
    terms = tile(lane=5, value=1, repeat_column=2, repeat_row=1, warp=3)
    found = tuple(evaluate(each, known) for each in terms)
    assert found == concrete(lane=5, value=1, repeat_column=2, repeat_row=1, warp=3)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: row_tile(lanes=3), "a row over 3 lanes; use 1, 2, 4, 8, 16, 32"),
        (lambda: row_tile(lanes=64), "a row over 64 lanes"),
        (lambda: row_tile(lanes=True), "a row over True lanes"),
        (lambda: row_tile(lanes="8"), "a row over '8' lanes"),
        (lambda: row_tile(vector=0), "the vector is 0"),
        (lambda: row_tile(warps=0), "the number of warps along a row is 0"),
        (lambda: row_tile(row_repeats=-1), "the number of row repeats is -1"),
        (lambda: row_tile(bits=12), "elements of 12 bits"),
        (lambda: lane_local(whole="tile"), "no whole 'tile' in a lane; use 'row' or 'column'"),
        (lambda: lane_local(columns=0), "the number of columns is 0"),
    ],
)
def test_tiles_that_are_refused(make, reason: str) -> None:
    with pytest.raises(OwnershipError) as refused:
        make()
    assert reason in str(refused.value)
