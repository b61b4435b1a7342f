"""A reduction's schedule as terms: which value of which lane is taken as which part of which row.

Each digit of an ownership has a *role* in a reduction along one axis: it is `kept` (it tells rows
apart), `taken` (it tells the parts of one row apart) or a `copy` (it moves nothing). So the digits
of a value number are those of a result value r, of a position g in its group and of a copy; those
of a lane are those of its row among the lanes, of its rank inside the row and of a copy; and those
of a warp of its row among the warps, of a part and of a copy. A `Schedule` names the digits and
puts them together, for sizes that may be symbolic. The accumulator of a warpgroup, of S slices:

>>> from tylo.layouts.atoms.wgmma import accumulator
>>> from tylo.layouts.terms import name, show
>>> schedule = Schedule(accumulator(name("S")), 1)
>>> [f"{label} < {show(size)}" for label, size in schedule.variables()]
['r < 2', 'g0 < 2', 'g1 < S', 'row_lane < 8', 'rank < 4', 'row_warp < 4']
>>> {label: show(term) for label, term in schedule.owner().items()}
{'value': 'g0 + r * 2 + g1 * 4', 'lane': 'rank + row_lane * 4', 'warp': 'row_warp'}
>>> show(schedule.number("g", lambda digit: name(digit.name)))
'g0 + g1 * 2'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tylo.layouts.errors import OwnershipError
from tylo.layouts.exchange import warp_digits
from tylo.layouts.owners import digits_at
from tylo.layouts.ownership import Mode, Ownership
from tylo.layouts.reduced import moves, replicates
from tylo.layouts.terms import Integer, name

# The number that digits of each role make up, by what they are digits of.
_NUMBERS: Mapping[str, Mapping[str, str]] = {
    "values": {"kept": "r", "taken": "g", "copy": "value_copy"},
    "lane": {"kept": "row_lane", "taken": "rank", "copy": "lane_copy"},
    "warp": {"kept": "row_warp", "taken": "part", "copy": "warp_copy"},
}
COPIES = ("value_copy", "lane_copy", "warp_copy")


@dataclass(frozen=True)
class Digit:
    """One digit: its variable, the number it is a digit of, and its place in an input.

    `weight` is what one step of it adds to the input's index.
    """

    name: str
    number: str
    source: str
    place: int
    weight: Integer
    size: Integer


@dataclass(frozen=True)
class Schedule:
    """The digits of `ownership` by their roles in a reduction along `axis`."""

    ownership: Ownership
    axis: int

    @cached_property
    def all_digits(self) -> tuple[Digit, ...]:
        """Every digit of more than one value, number by number."""
        found: dict[str, list[Digit]] = {
            number: [] for roles in _NUMBERS.values() for number in roles.values()
        }
        for side in ("values", "threads"):
            for source in getattr(self.ownership, side):
                numbers = _numbers(side, source.name)
                weight: Integer = 1
                for place, mode in enumerate(source.modes):
                    if mode.size != 1:
                        number = numbers[self._role(mode)]
                        found[number].append(
                            Digit("", number, source.name, place, weight, mode.size)
                        )
                    weight = weight * mode.size
        # A part's number is made of the warps' digits in the order of their steps.
        order = [place for place, _ in warp_digits(self.ownership, self.axis)]
        found["part"].sort(key=lambda each: order.index(each.place))
        return tuple(
            replace(each, name=f"{number}{index}" if len(digits) > 1 else number)
            for number, digits in found.items()
            for index, each in enumerate(digits)
        )

    def digits(self, *numbers: str) -> list[Digit]:
        """The digits of those numbers."""
        return [each for each in self.all_digits if each.number in numbers]

    def variables(self, *without: str) -> list[tuple[str, Integer]]:
        """The digits' variables with their bounds, but for those of some numbers."""
        return [(each.name, each.size) for each in self.all_digits if each.number not in without]

    def size(self, number: str) -> Integer:
        """How many values the number takes."""
        total: Integer = 1
        for each in self.digits(number):
            total = total * each.size
        return total

    def number(self, number: str, digit: Callable[[Digit], Any]) -> Any:
        """The number that its digits make up."""
        total: Any = 0
        below: Integer = 1
        for each in self.digits(number):
            total = total + digit(each) * below
            below = below * each.size
        return total

    def split(self, number: str, index: Any) -> dict[str, Any]:
        """The digits of a number, by variable."""
        digits, below = self.digits(number), 1
        found: dict[str, Any] = {}
        for each in digits:
            rest = index if below == 1 else index // below
            found[each.name] = rest if each is digits[-1] else rest % each.size
            below = below * each.size  # type: ignore[assignment]
        return found

    def owner(self, **digits: Any) -> dict[str, Any]:
        """The index of each input, each digit its variable unless given."""
        owner: dict[str, Any] = {}
        for source in self.ownership.inputs:
            places = sorted(
                (each for each in self.all_digits if each.source == source.name),
                key=lambda each: each.place,
            )
            owner[source.name] = 0
            for each in places:
                digit = digits.get(each.name, name(each.name))
                owner[source.name] = owner[source.name] + digit * each.weight
        return owner

    def element(self, **digits: Any) -> tuple[Any, ...]:
        """The coordinate that the owner holds."""
        return self.ownership(**self.owner(**digits))

    def others(self, coordinate: tuple[Any, ...]) -> tuple[Any, ...]:
        """A coordinate without the reduced axis."""
        return coordinate[: self.axis] + coordinate[self.axis + 1 :]

    def at(self, coordinate: tuple[Any, ...]) -> dict[str, Any]:
        """The digits that own a coordinate of the source; copies own every one."""
        held = digits_at(self.ownership, coordinate)
        return {
            each.name: held[each.source, each.place]
            for each in self.all_digits
            if each.number not in COPIES
        }

    def of_lane(self, lane: Any) -> dict[str, Any]:
        """The digits of a lane."""
        found = self.digits("row_lane", "rank", "lane_copy")
        top = max(found, key=lambda each: each.place)
        return {
            each.name: lane // each.weight if each is top else lane // each.weight % each.size
            for each in found
        }

    def _role(self, mode: Mode) -> str:
        if replicates(mode):
            return "copy"
        return "taken" if moves(mode, self.axis) else "kept"


def _numbers(side: str, source: str) -> Mapping[str, str]:
    found = _NUMBERS.get("values" if side == "values" else source)
    if found is None:
        raise OwnershipError(
            f"a schedule knows lanes and warps, and no threads called {source!r}",
            hint="split them into lane (32 of them) and warp",
        )
    return found
