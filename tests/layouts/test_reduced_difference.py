"""Which reductions leave one state, and the part that differs where they do not."""

import pytest
from hypothesis import given, settings
from tests.support.ownership_strategies import ownerships

from tylo.layouts.atoms import atom
from tylo.layouts.exchange import ExchangePlan
from tylo.layouts.ownership import Ownership
from tylo.layouts.reduction import reduced_difference, reduction, same_reduced
from tylo.layouts.row_tiles import lane_local
from tylo.layouts.tiling import tile_operand

MMA = atom("mma.m16n8k16.bf16")
PLAN = ExchangePlan("partials", 1 << 12, 1)

# Scores of 32 columns, and what may or may not share their state.
SCORES = reduction(tile_operand(MMA, "C", m=1, n=4), 1)
OTHERS = {
    "64 columns": (tile_operand(MMA, "C", m=1, n=8), 1, ""),
    "more columns at once": (tile_operand(MMA, "A", m=1, k=7), 1, ""),
    "other axis": (tile_operand(MMA, "C", m=1, n=4), 0, "axis: 1 (n) is reduced, not 0 (m)"),
    "more rows": (
        tile_operand(MMA, "C", m=2, n=4),
        1,
        "M decomposition: 16 of m, not 32 of m",
    ),
    "more warps of rows": (
        tile_operand(MMA, "C", m=1, n=4, warps_m=2),
        1,
        "M decomposition: 16 of m, not 32 of m",
    ),
    "lane-local": (
        lane_local(columns=32),
        1,
        "warp against lane-local: a row is in the lanes that differ in bits 1, 2, not in no bit",
    ),
    "several N warps": (
        tile_operand(MMA, "C", m=1, n=2, warps_n=2),
        1,
        "several warps: a row is in the warps that differ in no bit, not in bits 1",
    ),
    "rows in another order": (
        Ownership.of(
            axes={"row": 16, "column": 8},
            values={"value": [(2, "column", 1), (2, "row", 1)]},
            threads={"lane": [(4, "column", 2), (8, "row", 2)]},
            bits=32,
        ),
        1,
        "M decomposition: thread 0 value 1 holds (8,), not (1,)",
    ),
}


@pytest.mark.parametrize("label", OTHERS)
def test_a_state_is_shared_or_the_part_that_differs_is_named(label: str) -> None:
    ownership, axis, reason = OTHERS[label]
    plan = PLAN if "several" in label else None
    other = reduction(ownership, axis, plan)
    assert reduced_difference(SCORES, other) == reason
    assert same_reduced(SCORES, other) == (not reason)
    assert bool(reduced_difference(other, SCORES)) == bool(reason)


def test_a_blocked_tile_has_its_rows_elsewhere() -> None:
    one, other = (
        reduction(tile_operand(MMA, "C", m=2, warps_m=2, arrangement=each), 1)
        for each in ("interleaved", "blocked")
    )
    expected = "M decomposition: thread 0 value 2 holds (32,), not (16,)"
    assert reduced_difference(one, other) == expected


@settings(deadline=None, max_examples=40)
@given(ownerships(warps_along=(0,)), ownerships(warps_along=(0,)))
def test_sharing_is_equality_of_results(left: Ownership, right: Ownership) -> None:
    one, other = reduction(left, 1), reduction(right, 1)
    same = (one.result.shape, one.result.thread_count, one.result.value_count) == (
        other.result.shape,
        other.result.thread_count,
        other.result.value_count,
    ) and all(
        one.result.coordinates(thread, value) == other.result.coordinates(thread, value)
        for thread in range(one.result.thread_count)
        for value in range(one.result.value_count)
    )
    assert same_reduced(one, other) == same
    assert same_reduced(one, one)
