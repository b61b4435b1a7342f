"""The barrier protocol of attention, explored; and whatever may be wrong with one, caught."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tylo.layouts.errors import ClaimError, GenerationError, Undecided
from tylo.proofs.pipelines.explore import explore
from tylo.proofs.pipelines.schedule import (
    Advance,
    Arrive,
    Await,
    Compute,
    Expect,
    PassTurn,
    Schedule,
    Step,
    TakeTurn,
    Wait,
    attention_schedule,
)


@pytest.mark.parametrize(("groups", "stages"), [(1, 1), (1, 2), (2, 1)])
def test_any_number_of_items_and_tiles(groups: int, stages: int) -> None:
    explored = explore(attention_schedule(groups, stages))
    assert explored.transitions > explored.states > 100


@pytest.mark.parametrize(
    ("groups", "stages", "turns"), [(1, 3, True), (2, 2, True), (2, 2, False), (3, 1, True)]
)
def test_one_item_of_any_number_of_tiles(groups: int, stages: int, turns: bool) -> None:
    assert explore(attention_schedule(groups, stages, turns), one_item=True).states > 100


@pytest.mark.slow
@pytest.mark.parametrize(
    ("groups", "stages", "states"),
    [
        (2, 3, 59_006),
        pytest.param(2, 4, 193_607, marks=pytest.mark.nightly),
        pytest.param(3, 2, 143_443, marks=pytest.mark.nightly),
    ],
)
def test_more_stages_and_groups(groups: int, stages: int, states: int) -> None:
    assert explore(attention_schedule(groups, stages), one_item=True).states == states


def test_warps_of_a_group_on_their_own() -> None:
    assert explore(attention_schedule(1, 1), one_item=True, agents_per_group=2).states > 1000
    explore(attention_schedule(2, 1), trips=(2,), agents_per_group=2)


@pytest.mark.parametrize("trips", [(), (0,), (1,), (2,), (9,), (3, 0, 4), (1, 1, 1, 5)])
def test_fixed_tiles_run_to_their_end(trips: tuple[int, ...]) -> None:
    explore(attention_schedule(1, 2), trips=trips)
    explore(attention_schedule(2, 1), trips=trips)


Change = Callable[[Step], tuple[Step, ...]]


def changed(schedule: Schedule, role: str, section: str, change: Change) -> Schedule:
    """`schedule` with every step of a section replaced; something must come of it."""
    program = schedule.program(role)
    steps = dict(program.sections())[section]
    following = tuple(new for step in steps for new in change(step))
    assert following != steps
    damaged = replace(program, **{section: following})
    return replace(
        schedule,
        programs=tuple(damaged if each.role == role else each for each in schedule.programs),
    )


def without(gone: Step) -> Change:
    return lambda step: () if step == gone else (step,)


def instead(old: Step, *new: Step) -> Change:
    return lambda step: new if step == old else (step,)


def early(schedule: Schedule, release: Step, before: Step) -> Schedule:
    """A release that comes before the wait for the product that reads the slot."""
    moved = changed(schedule, "group 0", "further", without(release))
    return changed(moved, "group 0", "further", instead(before, release, before))


def resized(schedule: Schedule, arrivals: int) -> Schedule:
    return replace(
        schedule,
        barriers=tuple(
            replace(each, arrivals=arrivals) if each.name == "k_empty" else each
            for each in schedule.barriers
        ),
    )


FAULTS: dict[str, tuple[Callable[[Schedule], Schedule], str]] = {
    "missing arrive": (
        lambda s: changed(s, "group 0", "further", without(Arrive("k_empty", "k"))),
        "deadlock",
    ),
    "missing release of Q": (
        lambda s: changed(s, "group 0", "last", without(Arrive("q_empty", "q"))),
        "deadlock",
    ),
    "missing expect": (
        lambda s: changed(s, "producer", "further", without(Expect("v_full", "v"))),
        "read for tile|deadlock",
    ),
    "wrong parity of a consumer": (
        lambda s: changed(
            s, "group 0", "further", instead(Wait("v_full", "v"), Wait("v_full", "v", True))
        ),
        "is read for tile",
    ),
    "wrong parity of the producer": (
        lambda s: changed(
            s, "producer", "further", instead(Wait("k_empty", "k", True), Wait("k_empty", "k"))
        ),
        "deadlock|more arrivals|refilled",
    ),
    "no wait before a copy": (
        lambda s: changed(s, "producer", "further", without(Wait("k_empty", "k", True))),
        "refilled|more arrivals",
    ),
    "no wait before a read": (
        lambda s: changed(s, "group 0", "last", without(Wait("v_full", "v"))),
        "is read for tile",
    ),
    "early release of K": (
        lambda s: early(s, Arrive("k_empty", "k"), Await(1)),
        "refilled while it is being read",
    ),
    "release of K before what computes from it": (
        lambda s: early(s, Arrive("k_empty", "k"), Compute("weights", ("q", "k"))),
        "slot . of k is read for tile",
    ),
    "early release of V": (
        lambda s: early(s, Arrive("v_empty", "v"), Await(0)),
        "refilled while it is being read",
    ),
    "too many products awaited late": (
        lambda s: changed(s, "group 0", "further", instead(Await(1), Await(2))),
        "refilled while it is being read",
    ),
    "too few arrivals counted": (lambda s: resized(s, 4), "refilled|more arrivals"),
    "too many arrivals counted": (lambda s: resized(s, 12), "deadlock"),
    "lost turn": (
        lambda s: changed(s, "group 1", "further", without(PassTurn())),
        "deadlock",
    ),
    "turn never set off": (
        lambda s: changed(s, "group 0", "begin", without(PassTurn(own=True))),
        "deadlock",
    ),
    "turn not taken": (
        lambda s: changed(s, "group 1", "further", without(TakeTurn())),
        "turn",
    ),
    "a ring that one role counts wrongly": (
        lambda s: changed(
            s, "group 1", "further", instead(Advance("v"), Advance("v"), Advance("v"))
        ),
        "is read for tile|deadlock|refilled|more arrivals",
    ),
    "a product that nobody awaits": (
        lambda s: changed(s, "group 0", "last", without(Await(0))),
        "refilled|leaves with a product",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("stages", [1, 2])
def test_a_seeded_fault_is_caught_with_a_trace(name: str, stages: int) -> None:
    damage, complaint = FAULTS[name]
    # One stage for runs of every length, two for five tiles, which is enough for each slot twice.
    trips = (5,) if stages == 2 and "Q" not in name else None
    with pytest.raises(ClaimError, match=complaint) as caught:
        explore(damage(attention_schedule(2, stages)), trips=trips)
    trace = str(caught.value.witness).split("; ")
    assert all(step.startswith(("group", "producer", "k ", "v ", "q ")) for step in trace)
    assert len(trace) < 160


def test_the_trace_is_a_shortest_one() -> None:
    damaged = changed(attention_schedule(1, 1), "group 0", "first", without(Wait("k_full", "k")))
    with pytest.raises(ClaimError) as caught:
        explore(damaged)
    assert str(caught.value.witness).split("; ") == [
        "producer: another item? yes",
        "producer: wait k_empty[k] for the tile before",
        "producer: expect k_full[k]",
        "producer: copy k",
        "producer: wait q_empty[q] for the tile before",
        "producer: expect q_full[q]",
        "producer: copy q",
        "producer: another tile? no",
        "q tile 0 arrives",
        "group 0: wait q_full[q]",
        "group 0: multiply scores of q, k",
    ]
    assert "slot 0 of k is read for tile 0 and holds a part of tile 0" in str(caught.value)


def test_what_is_no_schedule() -> None:
    with pytest.raises(GenerationError, match="at least one"):
        attention_schedule(0, 4)
    schedule = attention_schedule(1, 1)
    with pytest.raises(GenerationError, match="no role"):
        schedule.program("group 1")
    with pytest.raises(GenerationError, match="no ring or barrier"):
        schedule.barrier("full")
    with pytest.raises(GenerationError, match="which is none"):
        replace(schedule, rings=schedule.rings[:1])
    with pytest.raises(Undecided, match="more than 10 states"):
        explore(schedule, most_states=10)
