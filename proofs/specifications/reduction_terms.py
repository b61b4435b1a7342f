"""A reduction's schedule as terms: which value of which lane is taken as which part of which row.

Each digit of an ownership has a *role* in a reduction along one axis: it is `kept` (it tells rows
apart), `taken` (it tells the parts of one row apart) or a `copy` (it moves nothing). So a value
number is a result value r, a position g in its group and a copy; a lane is a row among the lanes, a
rank inside its row and a copy; a warp is a row among the warps, a part and a copy. `Schedule` puts
the numbers together and takes them apart, for sizes that may be symbolic.

>>> from tylo.layouts.atoms.wgmma import accumulator
>>> from tylo.layouts.terms import name, show
>>> schedule = Schedule(accumulator(name("S")), 1)
>>> [f"{label} < {show(size)}" for label, size in schedule.variables()]
['r < 2', 'g < 2 * S', 'row_lane < 8', 'rank < 4', 'row_warp < 4']
>>> {label: show(term) for label, term in schedule.owner().items()}
{'value': 'g % 2 + r * 2 + g / 2 * 4', 'lane': 'rank + row_lane * 4', 'warp': 'row_warp'}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tylo.layouts.exchange import warp_digits
from tylo.layouts.owners import digits_at
from tylo.layouts.ownership import Mode, Ownership
from tylo.layouts.reduced import moves, replicates
from tylo.layouts.terms import Integer, name

# The variable for each role, by what the digit numbers.
_VARIABLES: Mapping[str, Mapping[str, str]] = {
    "values": {"kept": "r", "taken": "g", "copy": "value_copy"},
    "lane": {"kept": "row_lane", "taken": "rank", "copy": "lane_copy"},
    "warp": {"kept": "row_warp", "taken": "part", "copy": "warp_copy"},
}
COPIES = ("value_copy", "lane_copy", "warp_copy")


@dataclass(frozen=True)
class Digit:
    """One digit: its input and place, what one step adds to the input, its mode and variable."""

    source: str
    place: int
    weight: Integer
    mode: Mode
    variable: str


@dataclass(frozen=True)
class Schedule:
    """The digits of `ownership` by their roles in a reduction along `axis`."""

    ownership: Ownership
    axis: int

    def digits(self, variable: str | None = None) -> list[Digit]:
        """All digits of more than one value, or those of one variable, in order of its number."""
        found = [each for each in self._digits() if variable in (None, each.variable)]
        if variable == "part":
            order = [place for place, _ in warp_digits(self.ownership, self.axis)]
            found.sort(key=lambda each: order.index(each.place))
        return found

    def size(self, variable: str) -> Integer:
        """How many numbers the variable takes."""
        total: Integer = 1
        for each in self.digits(variable):
            total = total * each.mode.size
        return total

    def variables(self, *, copies: bool = False) -> list[tuple[str, Integer]]:
        """The variables that take more than one number, with their bounds."""
        labels = [label for roles in _VARIABLES.values() for label in roles.values()]
        return [
            (label, self.size(label))
            for label in labels
            if self.digits(label) and (copies or label not in COPIES)
        ]

    def owner(self, **numbers: Any) -> dict[str, Any]:
        """The index of each input, with the variables as names or as `numbers`; copies 0."""
        terms: dict[tuple[str, int], Any] = {}
        for label in dict.fromkeys(each.variable for each in self._digits()):
            number = numbers.get(label, 0 if label in COPIES else name(label))
            digits = self.digits(label)
            below: Integer = 1
            for each in digits:
                digit = number // below
                terms[each.source, each.place] = (
                    digit if each is digits[-1] else digit % each.mode.size
                )
                below = below * each.mode.size
        owner: dict[str, Any] = {each.name: 0 for each in self.ownership.inputs}
        for each in self._digits():
            owner[each.source] = owner[each.source] + terms[each.source, each.place] * each.weight
        return owner

    def element(self, **numbers: Any) -> tuple[Any, ...]:
        """The coordinate that the owner holds."""
        return self.ownership(**self.owner(**numbers))

    def others(self, coordinate: tuple[Any, ...]) -> tuple[Any, ...]:
        """A coordinate without the reduced axis."""
        return coordinate[: self.axis] + coordinate[self.axis + 1 :]

    def at(self, coordinate: tuple[Any, ...]) -> dict[str, Any]:
        """The number of each variable, copies apart, that owns a coordinate of the source."""
        held = digits_at(self.ownership, coordinate)
        return {
            label: self._number(label, lambda each: held[each.source, each.place])
            for label, _ in self.variables()
        }

    def of_lane(self, variable: str, lane: Any) -> Any:
        """A lane's number of one of the variables that lanes are made of."""
        top = self.digits_of("lane")[-1:]
        return self._number(
            variable,
            lambda each: (
                lane // each.weight if [each] == top else lane // each.weight % each.mode.size
            ),
        )

    def digits_of(self, source: str) -> list[Digit]:
        """The digits of one input, in order."""
        return [each for each in self._digits() if each.source == source]

    def _number(self, variable: str, digit: Any) -> Any:
        number: Any = 0
        below: Integer = 1
        for each in self.digits(variable):
            number = number + digit(each) * below
            below = below * each.mode.size
        return number

    def _digits(self) -> Iterator[Digit]:
        for side in ("values", "threads"):
            for source in getattr(self.ownership, side):
                weight: Integer = 1
                for place, mode in enumerate(source.modes):
                    if not (isinstance(mode.size, int) and mode.size == 1):
                        names = _VARIABLES["values" if side == "values" else source.name]
                        yield Digit(source.name, place, weight, mode, names[self._role(mode)])
                    weight = weight * mode.size

    def _role(self, mode: Mode) -> str:
        if replicates(mode):
            return "copy"
        return "taken" if moves(mode, self.axis) else "kept"
