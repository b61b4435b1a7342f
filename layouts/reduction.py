"""Reductions along one axis of a tile: what they do follows from who holds what.

A row (or a column) is spread over the values of a thread, over lanes and over warps. So it is
reduced in that order: first the values that a thread holds of it, then one shuffle round for each
bit of the lane number that tells elements of it apart, and no other; afterwards every lane that
held a part of the row holds its result. The accumulator of ``mma.m16n8k16``:

>>> from tylo.layouts.atoms import atom
>>> C = atom("mma.m16n8k16.bf16").operand("C").ownership
>>> rows = reduction(C, 1)
>>> rows.groups, rows.lane_masks
(((0, 1), (2, 3)), (1, 2))
>>> rows.result(lane=5, value=1)
(9,)

Columns lie across other lanes: eight rows of them, and a value's two halves.

>>> columns = reduction(C, 0)
>>> columns.groups, columns.lane_masks
(((0, 2), (1, 3)), (4, 8, 16))

A tile in which each lane has whole rows needs no lane but its own:

>>> from tylo.layouts.row_tiles import lane_local
>>> reduction(lane_local(columns=4), 1).lane_masks
()

Several warps along the axis hold parts that no shuffle brings together. That is refused, unless
the caller passes an `ExchangePlan` with a buffer and a barrier of its own:

>>> from tylo.layouts.tiling import tile_operand
>>> reduction(tile_operand(atom("mma.m16n8k16.bf16"), "C", warps_n=2), 1)
Traceback (most recent call last):
tylo.layouts.errors.OwnershipError: warps 0, 1 hold parts of the same n: a reduction inside each \
would be partial (witness: {'warp': 1}); give one warp whole rows of n, or pass an ExchangePlan \
with a buffer and a barrier of yours
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tylo.layouts.errors import OwnershipError, PendingError
from tylo.layouts.exchange import ExchangePlan, partial, parts, slot
from tylo.layouts.ownership import Mode, Ownership
from tylo.layouts.pending import Pending
from tylo.layouts.reduced import moves, reduced, replicates
from tylo.layouts.reduced_difference import reduced_difference, same_reduced

__all__ = ["Reduction", "lane_masks", "reduced_difference", "reduction", "same_reduced"]

_LANES = 32


@dataclass(frozen=True, slots=True)
class Reduction:
    """A reduction of `source` along `axis` (0 rows, 1 columns), and all that follows from it.

    `result` has the same threads and the axis gone; thread digits that indexed it replicate.
    `groups[r]` are the flat source values that flat result value r combines, in order, replicas
    left out. `lane_masks` are the xor masks of the shuffle rounds, in order. `warp_exchange` is the
    caller's plan where several warps hold parts of one row, and None where none do. `partial` is
    who holds which part of which row before warps exchange: `result` and an axis "part". None of
    the derived fields can be passed in, so that no reduction disagrees with its ownership.
    """

    source: Ownership
    axis: int
    warp_exchange: ExchangePlan | None = None
    result: Ownership = field(init=False)
    groups: tuple[tuple[int, ...], ...] = field(init=False)
    lane_masks: tuple[int, ...] = field(init=False)
    partial: Ownership = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _require_complete(self.source)
        result = reduced(self.source, self.axis)
        _require_numbers(self.source)
        object.__setattr__(self, "result", result)
        object.__setattr__(self, "lane_masks", lane_masks(self.source, self.axis))
        object.__setattr__(self, "groups", _groups(self.source, self.axis))
        object.__setattr__(self, "partial", partial(self.source, self.axis))
        _require_one_warp(self)

    @property
    def parts(self) -> int:
        """How many warps hold parts of one row."""
        found = parts(self.source, self.axis)
        assert isinstance(found, int)
        return found

    @property
    def slots(self) -> int:
        """How many slots an exchange takes: one for each row and part; 0 if there is none."""
        if self.warp_exchange is None:
            return 0
        last: int = slot(self.partial, tuple(_last(extent) for extent in self.partial.shape))
        return last + 1

    def write_slot(self, thread: Any, value: Any) -> Any:
        """The slot into which the thread's own part of a flat result value goes.

        All replicas have the same slot; `tylo.layouts.exchange.replica` of `partial` is 0 for the
        one that writes.
        """
        return slot(self.partial, self.partial.coordinates(thread, value))

    def read_slots(self, thread: Any, value: Any) -> tuple[Any, ...]:
        """The slots of all parts of a flat result value, in the order in which they combine."""
        *where, _ = self.partial.coordinates(thread, value)
        return tuple(slot(self.partial, (*where, part)) for part in range(self.parts))


def reduction(ownership: Ownership, axis: int, exchange: ExchangePlan | None = None) -> Reduction:
    """The reduction of an ownership along `axis`.

    Raises `OwnershipError` with the reason where there is none: no such axis, symbolic sizes, a
    digit that moves along several axes, a lane digit that no xor can walk, elements missing or held
    unevenly, several warps along the axis without an exchange plan, a plan that does not fit; and
    `PendingError` for a result before its wait.
    """
    return Reduction(ownership, axis, exchange)


def lane_masks(ownership: Ownership, axis: int) -> tuple[int, ...]:
    """The bits of the lane number that index `axis`, lowest first.

    Raises `OwnershipError` where they are no bits: a digit whose size, or whose place in the lane
    number, is no power of two; and for an input other than lane and warp that indexes the axis.
    """
    label = ownership.axis_names[axis]
    masks: list[int] = []
    before: list[str] = []
    for each in ownership.threads:
        weight: Any = 1
        for mode in each.modes:
            if moves(mode, axis) and each.name == "lane":
                _require_first(label, before)
                masks += _bits(label, mode, weight)
            elif moves(mode, axis) and each.name != "warp":
                raise OwnershipError(
                    f"input {each.name!r} indexes {label}, and only lanes and warps exchange",
                    hint="split it into lane (32 of them) and warp",
                )
            weight = weight * mode.size
        if weight != 1:
            before.append(each.name)
    return tuple(sorted(masks))


def _require_first(label: str, before: list[str]) -> None:
    if before:
        raise OwnershipError(
            f"lane indexes {label} and is numbered after {', '.join(before)}: lanes that exchange "
            "would lie in other threads than their numbers say",
            hint="list lane first, so that thread = lane + 32 * warp",
        )


def _bits(label: str, mode: Mode, weight: Any) -> Iterator[int]:
    size = mode.size
    for what, number in (("size", size), ("place in the lane number", weight)):
        if not isinstance(number, int) or number & (number - 1):
            raise OwnershipError(
                f"a digit of lane that indexes {label} has {what} {number}, no power of two: no "
                "exclusive or of lane numbers walks through it",
                hint="spread the axis over 1, 2, 4, 8, 16 or 32 lanes",
            )
    assert isinstance(size, int)
    mask = weight
    while mask < weight * size:
        if mask >= _LANES:
            raise OwnershipError(
                f"bit {mask} of lane indexes {label}, and a warp has {_LANES} lanes",
                hint="number further threads by warp",
            )
        yield mask
        mask *= 2


def _groups(ownership: Ownership, axis: int) -> tuple[tuple[int, ...], ...]:
    """The flat values of each flat result value: counted up, and dealt out by the digits kept."""
    groups: dict[int, list[int]] = {}
    modes = [mode for each in ownership.values for mode in each.modes]
    count: Any = ownership.value_count
    for value in range(count):
        rest, kept, weight, copy = value, 0, 1, 0
        for mode in modes:
            size: Any = mode.size
            rest, digit = divmod(rest, size)
            if replicates(mode):
                copy += digit
            elif not moves(mode, axis):
                kept, weight = kept + digit * weight, weight * size
        if not copy:
            groups.setdefault(kept, []).append(value)
    return tuple(tuple(groups[kept]) for kept in sorted(groups))


def _require_complete(source: object) -> None:
    if isinstance(source, Pending):
        raise PendingError(
            "a reduction of a result that an instruction is still writing",
            hint="reduce what its wait() returns",
        )
    if not isinstance(source, Ownership):
        raise OwnershipError(
            f"a {type(source).__name__} is no ownership", hint="pass fragment.ownership"
        )


def _require_numbers(ownership: Ownership) -> None:
    if ownership.symbols:
        raise OwnershipError(
            f"sizes {', '.join(ownership.symbols)} are symbolic",
            hint="choose numbers, or ask tylo.layouts.reduced for the result's ownership alone",
        )


def _require_one_warp(found: Reduction) -> None:
    label = found.source.axis_names[found.axis]
    plan, count = found.warp_exchange, found.parts
    if plan is None:
        if count > 1:
            warps = _warps_of_first_row(found)
            raise OwnershipError(
                f"warps {', '.join(map(str, warps))} hold parts of the same {label}: a reduction "
                "inside each would be partial",
                hint=f"give one warp whole rows of {label}, or pass an ExchangePlan with a buffer "
                "and a barrier of yours",
                witness={"warp": warps[1]},
            )
        return
    if not isinstance(plan, ExchangePlan):
        raise OwnershipError(f"{plan!r} is no exchange plan", hint="pass an ExchangePlan or None")
    if count == 1:
        raise OwnershipError(
            f"an exchange plan, and one warp holds all of {label}", hint="leave the plan out"
        )
    if plan.extent < found.slots:
        raise OwnershipError(
            f"buffer {plan.buffer} has {plan.extent} slots, and {found.slots} are exchanged",
            hint=f"make its extent at least {found.slots}",
        )


def _warps_of_first_row(found: Reduction) -> list[int]:
    """The least warp of each part of the first row."""
    held = found.partial
    count: Any = held.input("warp").size
    first: dict[int, int] = {}
    for warp in range(count):
        *where, part = held(warp=warp)
        if not any(where):
            first.setdefault(part, warp)
    return [first[part] for part in sorted(first)]


def _last(extent: Any) -> int:
    return int(extent) - 1
