"""Who owns a coordinate: the inverse of an ownership, as closed forms.

Along each axis the digits that move must form a mixed radix: steps 1, s0, s0*s1, ... whose product
is the extent. Then the digit with step s and size r at coordinate x is ``x // s % r``, one term per
digit, and putting the digits of an input back together gives its index. Digits that move nothing
(replication) are free: every value of them owns the element.

>>> from tylo.layouts.atoms import atom
>>> C = atom("mma.m16n8k16.bf16").operand("C").ownership
>>> owners(C, 9, 2)
[{'value': 2, 'lane': 5}]

The inverse is symbolic where the sizes are:

>>> from tylo.layouts.terms import name, show
>>> {label: show(term) for label, term in inverse(C, (name("row"), name("col"))).items()}
{'value': 'row / 8 * 2 + col % 2', 'lane': 'row % 8 * 4 + col / 2'}
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from tylo.layouts.errors import OwnershipError
from tylo.layouts.indices import inside
from tylo.layouts.ownership import Input, Mode, Ownership
from tylo.layouts.terms import Integer, Term


def owners(ownership: Ownership, *coordinate: int) -> list[dict[str, int]]:
    """Every owner of a coordinate: the index of each input, replicas in order.

    Raises `OwnershipError` where the coordinate is outside the tile or sizes are symbolic.
    """
    if ownership.symbols:
        raise OwnershipError(
            f"sizes {', '.join(ownership.symbols)} are symbolic",
            hint="use inverse(), which gives closed forms",
        )
    found = inverse(ownership, coordinate)
    replicas = [
        (each.name, _replica_offsets(each))
        for each in ownership.inputs
        if any(_is_replica(mode) for mode in each.modes)
    ]
    result = []
    for offsets in itertools.product(*(choices for _, choices in replicas)):
        owner = dict(found)
        for (label, _), offset in zip(replicas, offsets, strict=True):
            owner[label] = owner[label] + offset
        result.append(owner)
    return result


def inverse(ownership: Ownership, coordinate: Sequence[Any]) -> dict[str, Any]:
    """The index of each input that owns `coordinate` (integers or terms), replicas at 0.

    Raises `OwnershipError` if the digits along an axis do not form a mixed radix of its extent, or
    the coordinate is outside the tile.
    """
    found: dict[str, Any] = {each.name: 0 for each in ownership.inputs}
    weights = {each.name: _weights(each) for each in ownership.inputs}
    for (label, place), digit in digits_at(ownership, coordinate).items():
        found[label] = found[label] + digit * weights[label][place]
    return found


def digits_at(ownership: Ownership, coordinate: Sequence[Any]) -> dict[tuple[str, int], Any]:
    """The digits that own `coordinate`, by the input's name and their place in it.

    Digits that move nothing own every coordinate and are left out. Raises as `inverse` does.

    >>> from tylo.layouts.atoms import atom
    >>> digits_at(atom("mma.m16n8k16.bf16").operand("C").ownership, (9, 2))
    {('lane', 1): 1, ('value', 1): 1, ('value', 0): 0, ('lane', 0): 1}
    """
    if len(coordinate) != len(ownership.axes):
        raise OwnershipError(
            f"{tuple(coordinate)} has {len(coordinate)} entries",
            hint=f"give one per axis: {', '.join(ownership.axis_names)}",
        )
    where = [
        inside(label, position, extent)
        for (label, extent), position in zip(ownership.axes, coordinate, strict=True)
    ]
    found: dict[tuple[str, int], Any] = {}
    for axis, (label, extent) in enumerate(ownership.axes):
        chain = _chain(ownership, axis, label, extent)
        for position, (source, index, mode) in enumerate(chain):
            digit = where[axis] // mode.steps[axis]
            if position < len(chain) - 1:
                digit = digit % mode.size
            found[source.name, index] = digit
    return found


def _chain(
    ownership: Ownership, axis: int, label: str, extent: Integer
) -> list[tuple[Input, int, Mode]]:
    """The digits that move along an axis, ordered so that each step is the product before it."""
    pending = [
        (each, index, mode)
        for each in ownership.inputs
        for index, mode in enumerate(each.modes)
        if not _same(mode.steps[axis], 0) and not _same(mode.size, 1)
    ]
    for source, index, mode in pending:
        if sum(not _same(step, 0) for step in mode.steps) > 1:
            raise OwnershipError(
                f"a digit of size {mode.size} moves along several axes: {mode.steps}",
                hint="only ownerships whose digits move along one axis each have a closed inverse",
                witness={source.name: _weights(source)[index]},
            )
    ordered: list[tuple[Input, int, Mode]] = []
    reached: Integer = 1
    while pending:
        following = [item for item in pending if _same(item[2].steps[axis], reached)]
        if len(following) != 1:
            fault, where = _fault(reached, [mode.steps[axis] for _, _, mode in pending])
            raise OwnershipError(
                f"{len(following)} digits step by {reached} along {label}: an element is {fault}",
                hint="steps along an axis must be 1, then the products of the sizes before",
                witness={label: where},
            )
        ordered.append(following[0])
        pending.remove(following[0])
        reached = reached * following[0][2].size
    if not _same(reached, extent):
        raise OwnershipError(
            f"digits along {label} reach {reached} of {extent} coordinates",
            hint="declare the extent that the digits cover",
            witness={label: reached},
        )
    return ordered


def _fault(reached: Integer, steps: Sequence[Integer]) -> tuple[str, Integer]:
    """What is wrong where not exactly one digit steps by `reached`, and the least place it shows.

    Every coordinate below `reached` is owned once already: a step to one of them owns it twice.
    """
    if isinstance(reached, int):
        numbers = [step for step in steps if isinstance(step, int)]
        if len(numbers) == len(steps):
            least = min(numbers)
            return ("owned twice", least) if least <= reached else ("unowned", reached)
    return "unowned or owned twice", reached


def _weights(source: Input) -> list[Integer]:
    """What one step of each digit adds to the input's index."""
    weights: list[Integer] = [1]
    for mode in source.modes[:-1]:
        weights.append(weights[-1] * mode.size)
    return weights


def _is_replica(mode: Mode) -> bool:
    return all(_same(step, 0) for step in mode.steps) and not _same(mode.size, 1)


def _replica_offsets(source: Input) -> list[int]:
    """What replication may add to the index of an input of known size, in increasing order."""
    ranges = []
    for mode, weight in zip(source.modes, _weights(source), strict=True):
        if _is_replica(mode):
            size: Any = mode.size
            step: Any = weight
            ranges.append(range(0, size * step, step))
    return sorted(sum(choice) for choice in itertools.product(*ranges))


def _same(left: Integer, right: Integer) -> bool:
    """Equality of products of numbers and names, whatever their order."""
    return _monomial(left) == _monomial(right)


def _monomial(term: Integer) -> tuple[int, tuple[str, ...]] | Term:
    if isinstance(term, int):
        return term, ()
    if term.operator == "name":
        return 1, (term.operands[0],)
    if term.operator == "*":
        left, right = (_monomial(part) for part in term.operands)
        if not isinstance(left, Term) and not isinstance(right, Term):
            return math.prod((left[0], right[0])), tuple(sorted(left[1] + right[1]))
    return term
