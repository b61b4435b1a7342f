"""A reduction takes each element exactly once, and its result lies where its type says.

The claims follow one schedule (`tylo.proofs.specifications.reduction_terms`): result value r, its
g-th source value, the lane's row among the lanes and its rank inside the row, each by its digits.
They say, for every size that is a name:

- `value_groups`: results and positions correspond one to one with the values of a thread;
- `taken_once`: results, positions and ranks correspond one to one with the elements of the tile;
- `lane_digits`: a lane is its row, its rank and its copy, and nothing else;
- `partners`: the exclusive or of a lane with each mask changes one bit of its rank, and neither its
  row nor its copy, so that a partner is in the same warp and holds another part of the same row;
- `rounds`: what a lane and its partner have combined before a round are the two halves of one block
  of ranks, each once; and after the last round the block is the row;
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

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from tylo.layouts.exchange import partial, slot
from tylo.layouts.ownership import Ownership
from tylo.layouts.reduced import reduced
from tylo.layouts.reduction import lane_masks
from tylo.layouts.terms import Integer, name
from tylo.proofs.bijection import bijection
from tylo.proofs.claims import Claim, Conjunct
from tylo.proofs.specifications.reduction_terms import COPIES, Digit, Schedule


def claims(ownership: Ownership, axis: int) -> tuple[Claim, ...]:
    """Every claim about reducing `ownership` along `axis`; its symbolic sizes start at 1.

    Raises `OwnershipError` where there is no reduction, except for several warps along the axis:
    they are parts, which an exchange brings together.
    """
    result, masks = reduced(ownership, axis), lane_masks(ownership, axis)
    schedule = Schedule(ownership, axis)
    has = {each.number for each in schedule.all_digits}
    found = [_value_groups(schedule)] if has & {"r", "g", "value_copy"} else []
    found.append(_taken_once(schedule))
    if has & {"row_lane", "rank", "lane_copy"}:
        found.append(_lane_digits(schedule))
    if masks:
        found += [_partners(schedule, result, masks), _rounds(schedule, masks)]
    found.append(_replicated(schedule, result))
    if has & set(COPIES):
        found.append(_copies_agree(schedule))
    if "part" in has:
        found.append(_slots(schedule))
    return tuple(found)


def shared_state(left: Ownership, right: Ownership, axis: int) -> Claim:
    """The claim that reducing either along `axis` leaves one state, whatever their symbolic sizes.

    Any element that `left` takes for result r of a thread and any that `right` takes for result r
    of the same thread are of the same row; and both results are that row. What tells parts of a
    row apart (positions, ranks, parts) is each tile's own, under a name of its own for `right`.
    """
    one, other = Schedule(left, axis), Schedule(right, axis)
    renamed = {each.name: name(f"other_{each.name}") for each in other.digits("g", "rank", "part")}
    element, there = one.others(one.element()), other.others(other.element(**renamed))
    held, found = (
        _result(schedule, reduced(each, axis), **digits)
        for schedule, each, digits in ((one, left, {}), (other, right, renamed))
    )
    variables = dict(one.variables())
    for label, bound in other.variables():
        variables[f"other_{label}" if label in renamed else label] = bound
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
            *_equal("first result", held, element),
            *_equal("second result", found, there),
        ],
    )


def _value_groups(schedule: Schedule) -> Claim:
    """Results and positions, by their digits, against the inputs that number values."""
    numbers = ("r", "g", "value_copy")
    owner, digit = schedule.owner(), _digit_of_input(schedule)
    inputs = [each for each in schedule.ownership.values if each.size != 1]
    return bijection(
        name="value_groups",
        kind="exchange",
        statement="Results and the positions in their groups correspond one to one with the values "
        "of a thread, up to copies.",
        parameters=_sizes(schedule.ownership),
        source=[(each.name, each.size) for each in schedule.digits(*numbers)],
        target=[(each.name, each.size) for each in inputs],
        forward={each.name: owner[each.name] for each in inputs},
        inverse={each.name: digit(each) for each in schedule.digits(*numbers)},
    )


def _digit_of_input(schedule: Schedule) -> Callable[[Digit], Any]:
    tops = {
        each.source: max(
            (other for other in schedule.all_digits if other.source == each.source),
            key=lambda other: other.place,
        )
        for each in schedule.all_digits
    }

    def digit(each: Digit) -> Any:
        index = name(each.source) // each.weight
        return index if each == tops[each.source] else index % each.size

    return digit


def _taken_once(schedule: Schedule) -> Claim:
    tile = schedule.ownership
    labels = _coordinates(tile)
    return bijection(
        name="taken_once",
        kind="bijective",
        statement="Every element of the tile is taken exactly once: in one position for one "
        "result of one lane, up to copies.",
        parameters=_sizes(tile),
        source=schedule.variables(*COPIES),
        target=list(zip(labels, tile.shape, strict=True)),
        forward=dict(zip(labels, schedule.element(**_no_copies(schedule)), strict=True)),
        inverse=schedule.at(tuple(map(name, labels))),
    )


def _lane_digits(schedule: Schedule) -> Claim:
    digits = schedule.of_lane(name("lane"))
    return bijection(
        name="lane_digits",
        kind="bijective",
        statement="A lane is its row among the lanes, its rank in the row, and its copy.",
        parameters=_sizes(schedule.ownership),
        source=[("lane", schedule.ownership.input("lane").size)],
        target=[each for each in schedule.variables() if each[0] in digits],
        forward=digits,
        inverse={"lane": schedule.owner()["lane"]},
    )


def _partners(schedule: Schedule, result: Ownership, masks: tuple[int, ...]) -> Claim:
    lane, lanes = name("lane"), schedule.ownership.input("lane").size

    def number(label: str, of: Any) -> Any:
        digits = schedule.of_lane(of)
        return schedule.number(label, lambda each: digits[each.name])

    def conjuncts() -> Iterator[Conjunct]:
        for bit, mask in enumerate(masks):
            partner = lane ^ mask
            where = f"round {bit}, mask {mask}"
            yield Conjunct(f"{where}: among the lanes", "<", partner, lanes)
            for label, turned in (("row_lane", 0), ("lane_copy", 0), ("rank", 1 << bit)):
                if schedule.digits(label):
                    yield Conjunct(
                        f"{where}: {label}",
                        "=",
                        number(label, partner),
                        number(label, lane) ^ turned,
                    )
            yield from _equal(f"{where}: row", result(lane=partner), result(lane=lane))

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
    """The butterfly on ranks alone; `partners` says that a mask turns one bit of the rank.

    Before round b a lane has combined the block of 2^b ranks that its own is in.
    """
    rank, ranks = name("rank"), 1 << len(masks)

    def conjuncts() -> Iterator[Conjunct]:
        for bit in range(len(masks)):
            block, pair = 1 << bit, 2 << bit
            partner = rank ^ block
            yield Conjunct(
                f"round {bit}: partners have one block after it",
                "=",
                partner // pair,
                rank // pair,
            )
            # Two numbers 2q and 2q + 1, in either order.
            yield Conjunct(
                f"round {bit}: its halves are theirs, each once",
                "=",
                rank // block + partner // block,
                4 * (rank // pair) + 1,
            )
        yield Conjunct("one block is left", "=", rank // ranks, 0)
        yield Conjunct("which is all ranks of a row", "=", schedule.size("rank"), ranks)

    return Claim(
        name="rounds",
        kind="exchange",
        statement=f"A round joins the block of ranks that a lane has combined with its partner's, "
        f"which is the other half of a block twice as large; {len(masks)} rounds combine a row.",
        parameters=_sizes(schedule.ownership),
        variables=[("rank", ranks)],
        conjuncts=list(conjuncts()),
    )


def _replicated(schedule: Schedule, result: Ownership) -> Claim:
    """The result by its own digits, against the rows of what was taken for it."""
    kept = schedule.variables("g", "rank", "part", *COPIES)
    labels = _coordinates(result)
    here = _result(schedule, result)
    first = _result(schedule, result, **_zero(schedule, "rank", "part", *COPIES))
    digits = schedule.at(_with_axis(schedule, tuple(map(name, labels))))
    unique = bijection(
        name="replicated",
        kind="replicated",
        statement="A result is the row of every element taken for it, whatever rank, part and "
        "copy hold it, and no other result is.",
        parameters=_sizes(schedule.ownership),
        source=kept,
        target=list(zip(labels, result.shape, strict=True)),
        forward=dict(zip(labels, first, strict=True)),
        inverse={label: digits[label] for label, _ in kept},
    )
    variables = dict(schedule.variables()) | dict(unique.variables)
    return replace(
        unique,
        variables=tuple(variables.items()),
        conjuncts=(
            *_equal("row of the elements", here, schedule.others(schedule.element())),
            *_equal("row whatever the rank", here, first),
            Conjunct("results of a thread", "=", result.value_count, schedule.size("r")),
            *unique.conjuncts,
        ),
    )


def _copies_agree(schedule: Schedule) -> Claim:
    return Claim(
        name="copies_agree",
        kind="replicated",
        statement="Copies hold the same element.",
        parameters=_sizes(schedule.ownership),
        variables=schedule.variables(),
        conjuncts=list(
            _equal("element", schedule.element(), schedule.element(**_no_copies(schedule)))
        ),
    )


def _slots(schedule: Schedule) -> Claim:
    held = partial(schedule.ownership, schedule.axis)
    kept = schedule.variables("g", "rank", *COPIES)
    where = _result(schedule, held, **_zero(schedule, "rank", *COPIES))
    rows: Integer = 1
    coordinate: list[Any] = []
    for extent in held.shape[:-1]:
        coordinate.append(name("slot") // rows % extent)
        rows = rows * extent
    digits = schedule.at(_with_axis(schedule, tuple(coordinate)))
    digits |= schedule.split("part", name("slot") // rows)
    return bijection(
        name="slots",
        kind="bijective",
        statement="Rows and parts are the slots of an exchange: each slot holds one part of one "
        "row, and a row's parts are all there.",
        parameters=_sizes(schedule.ownership),
        source=kept,
        target=[("slot", rows * schedule.size("part"))],
        forward={"slot": slot(held, where)},
        inverse={label: digits[label] for label, _ in kept},
    )


def _result(schedule: Schedule, result: Ownership, **digits: Any) -> tuple[Any, ...]:
    """The coordinate of the result whose value and thread the digits name."""
    owner = schedule.owner(**digits)
    indices = {each.name: owner[each.name] for each in result.threads}
    kept = iter(schedule.digits("r"))
    for source in result.values:
        index: Any = 0
        weight: Integer = 1
        for mode in source.modes:
            if mode.size != 1:
                index = index + name(next(kept).name) * weight
            weight = weight * mode.size
        indices[source.name] = index
    return result(**indices)


def _zero(schedule: Schedule, *numbers: str) -> dict[str, Any]:
    return {each.name: 0 for each in schedule.digits(*numbers)}


def _no_copies(schedule: Schedule) -> dict[str, Any]:
    return _zero(schedule, *COPIES)


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
