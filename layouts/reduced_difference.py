"""Whether two reductions leave one state, and in which part they differ if not.

A running maximum that was made from scores may rescale an output only where both reductions leave
the same row in the same value of the same thread. The parts are told apart in the order in which a
kernel's author would meet them: the axis, which lanes and which warps hold copies of a row, the
extent, and at last which row is where. Scores of 32 columns and an output of 64
share a state, and one of twice as many rows does not:

>>> from tylo.layouts.atoms import atom
>>> from tylo.layouts.reduction import reduction
>>> from tylo.layouts.tiling import tile_operand
>>> mma = atom("mma.m16n8k16.bf16")
>>> scores, output, tall = (
...     reduction(tile_operand(mma, "C", m=m, n=n), 1) for m, n in ((1, 4), (1, 8), (2, 4))
... )
>>> same_reduced(scores, output)
True
>>> reduced_difference(scores, tall)
'M decomposition: 16 of m, not 32 of m'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tylo.layouts.ownership import Ownership
from tylo.layouts.reduced import replicates
from tylo.layouts.same_function import first_difference, same_function

if TYPE_CHECKING:
    from tylo.layouts.reduction import Reduction


def same_reduced(left: Reduction, right: Reduction) -> bool:
    """Whether what `left` leaves and what `right` leaves is one state: the same axis and owners."""
    return not reduced_difference(left, right)


def reduced_difference(left: Reduction, right: Reduction) -> str:
    """The first part in which they differ, in words; empty where they are one state."""
    one, other = left.result, right.result
    if left.axis != right.axis:
        return f"axis: {_axis(left)} is reduced, not {_axis(right)}"
    if same_function(one, other):
        return ""
    lanes, other_lanes = (_copies(each, "lane") for each in (one, other))
    if bool(lanes) != bool(other_lanes):
        return (
            f"{_scope(lanes)} against {_scope(other_lanes)}: a row is in the lanes that differ in "
            f"{_bits(lanes)}, not in {_bits(other_lanes)}"
        )
    warps, other_warps = (_copies(each, "warp") for each in (one, other))
    if warps != other_warps:
        return (
            f"several warps: a row is in the warps that differ in {_bits(warps)}, not in "
            f"{_bits(other_warps)}"
        )
    if one.shape != other.shape:
        return f"{_decomposition(one)}: {_extent(one)}, not {_extent(other)}"
    return f"{_decomposition(one)}: {first_difference(one, other)}"


def _copies(result: Ownership, label: str) -> tuple[int, ...]:
    """The places at which the number of a lane or warp may change without changing the row.

    A place is what one step of a digit of the least possible size adds to the number.
    """
    found: list[int] = []
    for each in result.threads:
        weight = 1
        for mode in each.modes:
            assert isinstance(mode.size, int)
            if each.name == label and replicates(mode):
                found += _places(weight, mode.size)
            weight *= mode.size
    return tuple(found)


def _places(weight: int, size: int) -> list[int]:
    places = []
    while size > 1:
        factor = next(each for each in range(2, size + 1) if size % each == 0)
        places.append(weight)
        weight, size = weight * factor, size // factor
    return places


def _axis(reduction: Reduction) -> str:
    return f"{reduction.axis} ({reduction.source.axis_names[reduction.axis]})"


def _decomposition(result: Ownership) -> str:
    axes = " and ".join(label.upper() for label in result.axis_names)
    return f"{axes} decomposition".lstrip()


def _extent(result: Ownership) -> str:
    return " x ".join(f"{extent} of {label}" for label, extent in result.axes)


def _scope(lanes: tuple[int, ...]) -> str:
    return "warp" if lanes else "lane-local"


def _bits(places: tuple[int, ...]) -> str:
    return f"bits {', '.join(map(str, places))}" if places else "no bit"
