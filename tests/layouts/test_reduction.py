"""Reductions against a brute-force oracle: shuffles and slots simulated on sets of elements."""

import itertools
import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.ownership_strategies import ownerships

from tylo.layouts.atoms import atom
from tylo.layouts.errors import OwnershipError
from tylo.layouts.exchange import ExchangePlan, partial, replica
from tylo.layouts.fragment import indices
from tylo.layouts.ownership import Input, Mode, Ownership
from tylo.layouts.permuted import permuted, replicated
from tylo.layouts.reduced import reduced
from tylo.layouts.reduction import Reduction, reduction
from tylo.layouts.row_tiles import lane_local, row_tile
from tylo.layouts.same_function import same_function
from tylo.layouts.terms import evaluate, name
from tylo.layouts.tiling import tile_operand

MMA = atom("mma.m16n8k16.bf16")
PLAN = ExchangePlan("partials", 1 << 12, 1)
CASES = {
    case["id"]: case
    for case in json.loads((Path(__file__).parents[1] / "data" / "cases.json").read_text())
    if case["area"] == "fragment"
}


def simulated(found: Reduction, masks: tuple = (), groups: tuple = ()) -> dict:
    """For each (thread, result value), the elements that it combines, with how often.

    Plain dictionaries and the definition of a shuffle: no code of the reduction but its data.
    """
    source, lanes = found.source, found.source.input("lane").size
    masks, groups = masks or found.lane_masks, groups or found.groups
    rows, columns = (each.tolist() for each in indices(source))
    held = {
        (thread, r): Counter((rows[thread][value], columns[thread][value]) for value in group)
        for thread in range(source.thread_count)
        for r, group in enumerate(groups)
    }
    for mask in masks:
        held = {
            (thread, r): elements + held[thread // lanes * lanes + (thread % lanes ^ mask), r]
            for (thread, r), elements in held.items()
        }
    if found.warp_exchange is None:
        return held
    slots: dict = {}
    for (thread, r), elements in held.items():
        if replica(found.partial, lane=thread % lanes, warp=thread // lanes) == 0:
            slot = found.write_slot(thread, r)
            assert 0 <= slot < found.slots <= found.warp_exchange.extent
            assert slot not in slots, "two threads write one slot"
            slots[slot] = elements
    assert len(slots) == found.slots
    combined: dict = {}
    for thread, r in held:
        read = found.read_slots(thread, r)
        if read not in combined:
            combined[read] = sum((slots[slot] for slot in read), Counter())
    return {(thread, r): combined[found.read_slots(thread, r)] for thread, r in held}


def wrong(found: Reduction, **changed: tuple) -> list:
    """The (thread, result value) pairs that do not combine each element of their row once."""
    rows: dict = {}
    for element in itertools.product(*map(range, found.source.shape)):
        row = element[: found.axis] + element[found.axis + 1 :]
        rows.setdefault(row, Counter())[element] += 1
    return [
        (thread, r)
        for (thread, r), elements in simulated(found, **changed).items()
        if elements != rows[found.result.coordinates(thread, r)]
    ]


def require_right(found: Reduction) -> None:
    assert not wrong(found)
    assert len(found.groups) == found.result.value_count
    assert found.result.thread_count == found.source.thread_count
    assert found.result.axis_names == tuple(
        label for place, label in enumerate(found.source.axis_names) if place != found.axis
    )


NAMED = {
    "accumulator": (MMA.operand("C").ownership, 1),
    "accumulator columns": (MMA.operand("C").ownership, 0),
    "operand A": (MMA.operand("A").ownership, 1),
    "operand B": (MMA.operand("B").ownership, 0),
    "tiled": (tile_operand(MMA, "C", m=2, n=3, warps_m=2), 1),
    "tiled, blocked": (tile_operand(MMA, "C", m=2, n=2, warps_m=3, arrangement="blocked"), 1),
    "columns of N warps": (tile_operand(MMA, "C", m=2, n=2, warps_n=2), 0),
    "A shared by two warps": (tile_operand(MMA, "A", k=2, warps_n=2), 1),
    "warpgroup": (atom("wgmma.m64n24k16.f16").operand("C").ownership, 1),
    "two warpgroups": (tile_operand(atom("wgmma.m64n8k16.f16"), "C", m=2, n=2, warps_m=2), 1),
    "register A": (atom("wgmma.m64n8k16.f16").operand("A").ownership, 1),
    "lane-local rows": (lane_local(rows=2, columns=3), 1),
    "lane-local columns": (lane_local(rows=3, columns=2, whole="column"), 0),
    "across lane-local rows": (lane_local(rows=2, columns=2), 0),
    "row tile": (row_tile(vector=4, repeats=2, row_warps=2), 1),
    "sub-warp rows": (row_tile(vector=2, lanes=8, row_repeats=2), 1),
    "columns of a row tile": (row_tile(vector=2, lanes=8, warps=2, row_repeats=2), 0),
    "transposed": (permuted(tile_operand(MMA, "C", m=2, n=2), axes=("n", "m")), 0),
    "replicated values": (replicated(MMA.operand("C").ownership, "value", 3), 1),
    "replicated warps": (replicated(MMA.operand("C").ownership, "warp", 2), 1),
}
EXCHANGED = {
    "N warps": (tile_operand(MMA, "C", n=2, warps_m=2, warps_n=3), 1),
    "N warps, blocked": (tile_operand(MMA, "C", n=2, warps_n=2, arrangement="blocked"), 1),
    "columns of a warpgroup": (atom("wgmma.m64n8k16.f16").operand("C").ownership, 0),
    "row over warps": (row_tile(vector=2, warps=3, row_warps=2), 1),
    "half rows over warps": (row_tile(vector=1, lanes=16, warps=3, row_repeats=2), 1),
    "replicated warps": (replicated(tile_operand(MMA, "C", warps_n=2), "warp", 2), 1),
}


@pytest.mark.parametrize("label", NAMED)
def test_every_lane_ends_with_its_row_each_element_once(label: str) -> None:
    require_right(reduction(*NAMED[label]))


@pytest.mark.parametrize("label", EXCHANGED)
def test_warps_exchange_parts_through_the_callers_slots(label: str) -> None:
    ownership, axis = EXCHANGED[label]
    found = reduction(ownership, axis, exchange=PLAN)
    require_right(found)
    assert found.warp_exchange is PLAN
    with pytest.raises(OwnershipError, match="hold parts of the same"):
        reduction(ownership, axis)


@settings(deadline=None, max_examples=40)
@given(ownerships(), st.sampled_from([0, 1]))
def test_random_ownerships(ownership: Ownership, axis: int) -> None:
    try:
        found = reduction(ownership, axis)
    except OwnershipError as refused:
        if "hold parts of the same" not in str(refused):
            raise
        found = reduction(ownership, axis, exchange=PLAN)
        assert found.parts > 1
    require_right(found)
    transposed = permuted(ownership, axes=("column", "row"))
    again = reduction(transposed, 1 - axis, exchange=found.warp_exchange)
    assert (again.groups, again.lane_masks) == (found.groups, found.lane_masks)
    assert same_function(again.result, found.result)


@settings(deadline=None, max_examples=40)
@given(ownerships(warps_along=()), st.sampled_from([0, 1]), st.data())
def test_a_mutated_schedule_is_noticed(ownership: Ownership, axis: int, data) -> None:
    """The simulation notices a mask dropped, doubled or exchanged, and a value in a wrong group."""
    found = reduction(ownership, axis)
    masks = found.lane_masks
    if masks:
        place = data.draw(st.integers(0, len(masks) - 1))
        assert len(masks) == 1 or wrong(found, masks=masks[:place] + masks[place + 1 :])
        assert wrong(found, masks=(*masks, masks[place]))
        assert wrong(found, masks=(masks[place], *masks))
    if len(found.groups) > 1:
        first, second, *rest = found.groups
        assert wrong(found, groups=((*first[:-1], second[-1]), (*second[:-1], first[-1]), *rest))
    if len(found.groups[0]) > 1:
        assert wrong(found, groups=(found.groups[0][1:], *found.groups[1:]))
    others = [1 << bit for bit in range(5) if 1 << bit < ownership.input("lane").size]
    for mask in set(others) - set(masks):
        assert wrong(found, masks=(*masks, mask))


def test_nothing_derived_can_be_passed_in() -> None:
    found = reduction(MMA.operand("C").ownership, 1)
    for label in ("result", "groups", "lane_masks"):
        with pytest.raises(TypeError):
            Reduction(found.source, 1, **{label: getattr(found, label)})
    assert found == reduction(MMA.operand("C").ownership, 1)
    assert hash(found) == hash(reduction(MMA.operand("C").ownership, 1))


def test_case_f09_row_reductions_pick_the_values_of_their_row() -> None:
    asked, expected = CASES["F09"]["input"], CASES["F09"]["expected"]
    tile = tile_operand(MMA, "C", m=asked["MMA_M"], n=asked["MMA_N"])
    found = reduction(tile, 1)
    assert len(found.groups) == expected["rows_per_lane"]
    assert {len(group) for group in found.groups} == {expected["cols_per_lane"]}
    for r, group in enumerate(found.groups):
        assert all(expected["row_of_value"][value % 4] == r for value in group)


def test_the_accumulators_schedule_by_hand() -> None:
    found = reduction(tile_operand(MMA, "C", n=2), 1)
    assert found.groups == ((0, 1, 4, 5), (2, 3, 6, 7))
    assert found.lane_masks == (1, 2)
    assert [found.result.coordinates(lane, 1) for lane in (4, 5, 7, 8)] == [(9,), (9,), (9,), (10,)]
    assert found.slots == 0
    assert (found.parts, found.result.bits) == (1, 32)


def test_narrow_elements_have_wide_statistics() -> None:
    assert reduction(MMA.operand("A").ownership, 1).result.bits == 32
    wide = Ownership.of(
        axes={"row": 1, "column": 4},
        values={"value": [(4, "column", 1)]},
        threads={"lane": [(1, None, 0)]},
        bits=64,
    )
    assert reduction(wide, 1).result.bits == 64


def test_a_single_axis_leaves_a_scalar() -> None:
    line = Ownership.of(
        axes={"k": 64},
        values={"value": [(2, "k", 1)]},
        threads={"lane": [(32, "k", 2)]},
        bits=32,
    )
    found = reduction(line, 0)
    assert found.lane_masks == (1, 2, 4, 8, 16)
    assert (found.result.axes, found.result.coordinates(17, 0)) == ((), ())
    assert found.groups == ((0, 1),)


def test_symbolic_sizes_have_a_result_and_no_schedule() -> None:
    tall = tile_operand(MMA, "C", m=name("M"), n=name("N"))
    rows = reduced(tall, 1)
    concrete = reduction(tile_operand(MMA, "C", m=3, n=2), 1).result
    terms = rows(lane=9, value=1, repeat_m=2)
    assert tuple(evaluate(each, {"M": 3, "N": 2}) for each in terms) == concrete.coordinates(9, 5)
    with pytest.raises(OwnershipError, match="sizes M, N are symbolic; choose numbers"):
        reduction(tall, 1)


def of(values: list, lanes: list, *, warps: list | None = None, axes: dict | None = None):
    return Ownership.of(
        axes=axes or {"row": 4, "column": 8},
        values={"value": values},
        threads={"lane": lanes} | ({} if warps is None else {"warp": warps}),
        bits=32,
    )


@pytest.mark.parametrize(
    ("ownership", "axis", "reason"),
    [
        (MMA.operand("C").ownership, 2, "no axis 2 to reduce; the axes are 0 (m), 1 (n)"),
        (MMA.operand("C").ownership, -1, "no axis -1"),
        (MMA.operand("C").ownership, True, "no axis True"),
        (MMA.operand("C").ownership, "n", "no axis 'n'"),
        (
            of(
                [(4, "row", 1)],
                [(2, "column", 1), (2, "column", 2), (3, "column", 4)],
                axes={"row": 4, "column": 12},
            ),
            1,
            "a digit of lane that indexes column has size 3, no power of two",
        ),
        (
            of([(4, "row", 1)], [(3, None, 0), (8, "column", 1)]),
            1,
            "has place in the lane number 3, no power of two",
        ),
        (
            of([(4, "row", 1)], [(64, "column", 1)], axes={"row": 4, "column": 64}),
            1,
            "bit 32 of lane indexes column, and a warp has 32 lanes",
        ),
        (
            of([(4, "row", 1), (4, "column", 1)], [(4, "column", 1)]),
            1,
            "2 digits step by 1 along column: an element is owned twice",
        ),
        (of([(4, "row", 1)], [(4, "column", 1)]), 1, "reach 4 of 8 coordinates"),
        (
            Ownership.of(
                axes={"row": 2, "column": 4},
                values={"value": [(2, "row", 1)]},
                threads={"thread": [(4, "column", 1)]},
                bits=32,
            ),
            1,
            "input 'thread' indexes column, and only lanes and warps exchange",
        ),
        (
            tile_operand(MMA, "C", m=2, n=2, warps_m=2, warps_n=2),
            1,
            "warps 0, 2 hold parts of the same n: a reduction inside each would be partial",
        ),
        (MMA, 1, "a Atom is no ownership; pass fragment.ownership"),
    ],
)
def test_reductions_that_are_refused(ownership, axis, reason: str) -> None:
    with pytest.raises(OwnershipError) as refused:
        reduction(ownership, axis)
    assert reason in str(refused.value)


def test_a_digit_along_both_axes_mixes_rows() -> None:
    diagonal = Ownership((("row", 2), ("column", 2)), (Input("value", (Mode(2, (1, 1)),)),), (), 32)
    for axis in (0, 1):
        with pytest.raises(OwnershipError, match="moves along row and column at once"):
            reduction(diagonal, axis)


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        (lambda: ExchangePlan("9x", 4, 0), "the buffer '9x' is no name"),
        (lambda: ExchangePlan(None, 4, 0), "the buffer None is no name"),
        (lambda: ExchangePlan("x", 0, 0), "the extent of an exchange plan is 0"),
        (lambda: ExchangePlan("x", True, 0), "the extent of an exchange plan is True"),
        (lambda: ExchangePlan("x", 4, 16), "the barrier of an exchange plan is 16; .* 0 to 15"),
        (lambda: ExchangePlan("x", 4, -1), "the barrier of an exchange plan is -1"),
        (
            lambda: reduction(row_tile(warps=4), 1, ExchangePlan("x", 3, 0)),
            "buffer x has 3 slots, and 4 are exchanged; make its extent at least 4",
        ),
        (
            lambda: reduction(row_tile(), 1, ExchangePlan("x", 3, 0)),
            "an exchange plan, and one warp holds all of column; leave the plan out",
        ),
        (lambda: reduction(row_tile(warps=4), 1, "x"), "'x' is no exchange plan"),
    ],
)
def test_exchange_plans_that_are_refused(plan, reason: str) -> None:
    with pytest.raises(OwnershipError, match=reason):
        plan()


def test_several_digits_of_warp_along_a_row_are_parts_in_order_of_their_steps() -> None:
    spread = of(
        [(4, "row", 1)],
        [(1, None, 0)],
        warps=[(2, "column", 4), (2, "column", 1), (2, "column", 2)],
    )
    found = reduction(spread, 1, PLAN)
    require_right(found)
    assert [found.partial(warp=warp)[-1] for warp in range(8)] == [0, 4, 1, 5, 2, 6, 3, 7]
    symbolic = of(
        [(4, "row", 1)],
        [(1, None, 0)],
        warps=[(name("W"), "column", 1), (2, "column", name("W"))],
        axes={"row": 4, "column": 2 * name("W")},
    )
    with pytest.raises(OwnershipError, match="several digits of warp with symbolic steps"):
        partial(symbolic, 1)
