"""A reduction takes each element exactly once, and its result lies where its type says.

The claims follow one schedule (`tylo.proofs.specifications.reduction_terms`): result value r, its
g-th source value, the lane's row among the lanes and its rank inside the row. They say, for every
size that is a name:

- `taken_once`: results, positions and ranks correspond one to one with the elements of the tile;
- `lane_digits`: a lane is its row, its rank and its copy, and nothing else;
- `partners`: the exclusive or of a lane with each mask changes one bit of its rank, and neither its
  row nor its copy, so that a partner is in the same warp and holds another part of the same row;
- `rounds`: what a lane and its partner have combined before a round are the ranks that differ from
  the lane's in the bits so far, without and with the next one; and after the last round every rank
  is there once;
- `replicated`: a result is the row of every element that was taken for it, depends on no rank, part
  or copy, and is otherwise one to one: so it is replicated over exactly the digits that were
  reduced, and over those that replicated before;
- `copies_agree`, where digits move nothing: copies hold the same elements;
- `slots`, where several warps hold parts of a row: rows and parts correspond one to one with the
  slots of an exchange, so that each is written by one part of one row.

Together they are the induction of a butterfly: combining is any operation that is commutative and
associative, and a result combines its row, each element once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tylo.layouts.exchange import partial, slot
from tylo.layouts.ownership import Ownership
from tylo.layouts.reduced import reduced
from tylo.layouts.reduction import lane_masks
from tylo.layouts.terms import Integer, name
from tylo.proofs.bijection import bijection
from tylo.proofs.claims import Claim, Conjunct
from tylo.proofs.specifications.reduction_terms import COPIES, Schedule


def claims(ownership: Ownership, axis: int) -> tuple[Claim, ...]:
    """Every claim about reducing `ownership` along `axis`; its symbolic sizes start at 1.

    Raises `OwnershipError` where there is no reduction, except for several warps along the axis:
    they are parts, which an exchange brings together.
    """
    result, masks = reduced(ownership, axis), lane_masks(ownership, axis)
    schedule = Schedule(ownership, axis)
    found = [_taken_once(schedule), _replicated(schedule, result)]
    if schedule.digits_of("lane"):
        found.insert(1, _lane_digits(schedule))
    if masks:
        found[2:2] = [_partners(schedule, result, masks), _rounds(schedule, masks)]
    if schedule.variables(copies=True) != schedule.variables():
        found.append(_copies_agree(schedule))
    if schedule.digits("part"):
        found.append(_slots(schedule))
    return tuple(found)


def shared_state(left: Ownership, right: Ownership, axis: int) -> Claim:
    """The claim that reducing either along `axis` leaves one state, whatever their symbolic sizes.

    Any element that `left` takes for result r of a thread and any that `right` takes for result r
    of the same thread are of the same row; and both results are that row.
    """
    one, other = Schedule(left, axis), Schedule(right, axis)
    results = [reduced(each, axis) for each in (left, right)]
    # Positions inside a row are each tile's own; everything else is one thread's, and r.
    other_position = {"g": name("h")}
    element = one.others(one.element())
    there = other.others(other.element(**other_position))
    held = [
        _result(schedule, result) for schedule, result in zip((one, other), results, strict=True)
    ]
    variables = dict(one.variables())
    variables |= {"h" if label == "g" else label: bound for label, bound in other.variables()}
    return Claim(
        name="shared_state",
        kind="same_lane",
        statement="What two tiles take for result r of a thread is of one row, and both results "
        "are that row, in the same register: they share one state.",
        parameters=_sizes(left, right),
        variables=list(variables.items()),
        conjuncts=[
            Conjunct("results of a thread", "=", one.size("r"), other.size("r")),
            Conjunct("threads", "=", left.thread_count, right.thread_count),
            *_equal("same row", element, there),
            *_equal("first result", held[0], element),
            *_equal("second result", held[1], there),
        ],
    )


def _taken_once(schedule: Schedule) -> Claim:
    tile = schedule.ownership
    coordinate = tuple(name(label) for label in _coordinates(tile))
    return bijection(
        name="taken_once",
        kind="bijective",
        statement="Every element of the tile is taken exactly once: in one position for one "
        "result of one lane, up to copies.",
        parameters=_sizes(tile),
        source=schedule.variables(),
        target=list(zip(_coordinates(tile), tile.shape, strict=True)),
        forward=dict(zip(_coordinates(tile), schedule.element(), strict=True)),
        inverse=schedule.at(coordinate),
    )


def _lane_digits(schedule: Schedule) -> Claim:
    variables = [
        (label, bound)
        for label, bound in schedule.variables(copies=True)
        if label in ("row_lane", "rank", "lane_copy")
    ]
    lane = schedule.owner(lane_copy=name("lane_copy"))["lane"]
    return bijection(
        name="lane_digits",
        kind="bijective",
        statement="A lane is its row among the lanes, its rank in the row, and its copy.",
        parameters=_sizes(schedule.ownership),
        source=[("lane", schedule.ownership.input("lane").size)],
        target=variables,
        forward={label: schedule.of_lane(label, name("lane")) for label, _ in variables},
        inverse={"lane": lane},
    )


def _partners(schedule: Schedule, result: Ownership, masks: tuple[int, ...]) -> Claim:
    lane, lanes = name("lane"), schedule.ownership.input("lane").size

    def conjuncts() -> Iterator[Conjunct]:
        for bit, mask in enumerate(masks):
            partner = lane ^ mask
            yield Conjunct(f"mask {mask} stays among the lanes", "<", partner, lanes)
            for label, expected in (
                ("row_lane", schedule.of_lane("row_lane", lane)),
                ("lane_copy", schedule.of_lane("lane_copy", lane)),
                ("rank", schedule.of_lane("rank", lane) ^ 1 << bit),
            ):
                if schedule.digits(label):
                    yield Conjunct(
                        f"mask {mask}: {label}", "=", schedule.of_lane(label, partner), expected
                    )
            yield from _equal(f"mask {mask}: row", result(lane=partner), result(lane=lane))

    return Claim(
        name="partners",
        kind="exchange",
        statement="Each mask leads to a lane of the same row and copy, whose rank differs in one "
        "bit.",
        parameters=_sizes(schedule.ownership),
        variables=[("lane", lanes)],
        conjuncts=list(conjuncts()),
    )


def _rounds(schedule: Schedule, masks: tuple[int, ...]) -> Claim:
    lane, turn = name("lane"), name("turn")
    rank = schedule.of_lane("rank", lane)
    ranks = 1 << len(masks)

    def conjuncts() -> Iterator[Conjunct]:
        for bit, mask in enumerate(masks):
            so_far = turn % (1 << bit)
            yield Conjunct(
                f"round {bit}: the partner brings the ranks with bit {bit} turned",
                "=",
                schedule.of_lane("rank", lane ^ mask) ^ so_far,
                rank ^ (so_far + (1 << bit)),
            )
        yield Conjunct("a turn leads to one rank", "=", rank ^ (rank ^ turn), turn)
        yield Conjunct("a rank after the last round", "<", rank ^ turn, ranks)
        yield Conjunct("all ranks of a row", "=", schedule.size("rank"), ranks)

    return Claim(
        name="rounds",
        kind="exchange",
        statement=f"After round b a lane has combined the ranks that differ from its own in the "
        f"lowest b + 1 bits, each once; after {len(masks)} rounds, all of its row.",
        parameters=_sizes(schedule.ownership),
        variables=[("lane", schedule.ownership.input("lane").size), ("turn", ranks)],
        conjuncts=list(conjuncts()),
    )


def _replicated(schedule: Schedule, result: Ownership) -> Claim:
    """The result by its own digits, against the rows of what was taken for it."""
    kept = [each for each in schedule.variables() if each[0] not in ("g", "rank", "part")]
    labels = _coordinates(result)
    here = _result(schedule, result)
    first = _result(schedule, result, rank=0, part=0, **dict.fromkeys(COPIES, 0))
    row = schedule.others(schedule.element())
    numbers = schedule.at(_with_axis(schedule, tuple(name(label) for label in labels)))
    unique = bijection(
        name="replicated",
        kind="replicated",
        statement="A result is the row of every element taken for it, whatever rank, part and "
        "copy hold it, and no other result is.",
        parameters=_sizes(schedule.ownership),
        source=kept,
        target=list(zip(labels, result.shape, strict=True)),
        forward=dict(zip(labels, first, strict=True)),
        inverse={label: numbers[label] for label, _ in kept},
    )
    variables = dict(schedule.variables(copies=True)) | dict(unique.variables)
    return replace(
        unique,
        variables=tuple(variables.items()),
        conjuncts=(
            *_equal("row of the elements", here, row),
            *_equal("row whatever the rank", here, first),
            Conjunct("results of a thread", "=", result.value_count, schedule.size("r")),
            *unique.conjuncts,
        ),
    )


def _copies_agree(schedule: Schedule) -> Claim:
    copies = {label: name(label) for label, _ in schedule.variables(copies=True) if label in COPIES}
    return Claim(
        name="copies_agree",
        kind="replicated",
        statement="Copies hold the same element.",
        parameters=_sizes(schedule.ownership),
        variables=schedule.variables(copies=True),
        conjuncts=list(_equal("element", schedule.element(**copies), schedule.element())),
    )


def _slots(schedule: Schedule) -> Claim:
    held = partial(schedule.ownership, schedule.axis)
    kept = [each for each in schedule.variables() if each[0] not in ("g", "rank")]
    where = _result(schedule, held, rank=0, **dict.fromkeys(COPIES, 0))
    rows: Integer = 1
    coordinate: list[Any] = []
    for extent in held.shape[:-1]:
        coordinate.append(name("slot") // rows % extent)
        rows = rows * extent
    numbers = schedule.at(_with_axis(schedule, tuple(coordinate)))
    return bijection(
        name="slots",
        kind="bijective",
        statement="Rows and parts are the slots of an exchange: each slot holds one part of one "
        "row, and a row's parts are all there.",
        parameters=_sizes(schedule.ownership),
        source=kept,
        target=[("slot", rows * schedule.size("part"))],
        forward={"slot": slot(held, where)},
        inverse={
            label: name("slot") // rows if label == "part" else numbers[label] for label, _ in kept
        },
    )


def _result(schedule: Schedule, result: Ownership, **numbers: Any) -> tuple[Any, ...]:
    """The coordinate of result r in the thread that the variables name."""
    copies = {label: name(label) for label in COPIES if schedule.digits(label)}
    owner = schedule.owner(**{**copies, **numbers})
    threads = {each.name: owner[each.name] for each in result.threads}
    return result(**threads, **result.split(result.values, numbers.get("r", _r(schedule))))


def _r(schedule: Schedule) -> Any:
    return name("r") if schedule.digits("r") else 0


def _with_axis(schedule: Schedule, others: tuple[Any, ...]) -> tuple[Any, ...]:
    return (*others[: schedule.axis], 0, *others[schedule.axis :])


def _coordinates(ownership: Ownership) -> list[str]:
    """Names for coordinates that no size of the tile has."""
    return [f"at_{label}" for label in ownership.axis_names]


def _equal(label: str, left: tuple[Any, ...], right: tuple[Any, ...]) -> Iterator[Conjunct]:
    for place, (one, other) in enumerate(zip(left, right, strict=True)):
        yield Conjunct(label if len(left) == 1 else f"{label}, axis {place}", "=", one, other)


def _sizes(*ownerships: Ownership) -> Mapping[str, int]:
    return {symbol: 1 for each in ownerships for symbol in each.symbols}
