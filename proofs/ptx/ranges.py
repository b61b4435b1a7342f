"""Bounds on sizes and on the grid that the preconditions of an effect imply.

A size has bounds of its own, and conditions between sizes bound them further: where each row has a
block, there are no more blocks than rows. What follows is what arithmetic may be trusted not to
wrap on.

>>> from tylo.layouts.terms import name
>>> from tylo.proofs.effects import Effect, Less, Parameter
>>> sizes = Parameter("rows", 32, 1, 1000), Parameter("columns", 32, 4, 2**31)
>>> rows, columns, blocks = name("rows"), name("columns"), name("blocks")
>>> conditions = Less(blocks, rows + 1), Less(rows * columns, 2**16)
>>> launch_ranges(Effect("k", 32, (), (), 2**20, sizes, conditions))
{'rows': (1, 1000), 'columns': (4, 65535), 'blocks': (1, 1000)}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from tylo.layouts.terms import Integer
from tylo.proofs.effects import Effect, Less

Range: TypeAlias = tuple[int, int]
Ranges: TypeAlias = Mapping[str, Range]
_ROUNDS = 3


def launch_ranges(effect: Effect, *more: Less) -> dict[str, Range]:
    """The least and the largest value of each size, and of ``blocks``, that a launch may have.

    Contradictory conditions bound nothing: no range is ever empty.
    """
    known = {each.name: (each.minimum, each.maximum) for each in effect.parameters}
    known["blocks"] = 1, effect.maximum_blocks
    for _ in range(_ROUNDS):
        for condition in (*effect.preconditions, *more):
            _tighten(known, condition)
    return known


def interval(operator: str, left: Range, right: Range) -> Range:
    """The range of an operation on two ranges; divisors are positive."""
    match operator:
        case "+":
            return left[0] + right[0], left[1] + right[1]
        case "-":
            return left[0] - right[1], left[1] - right[0]
        case "*":
            corners = [a * b for a in left for b in right]
            return min(corners), max(corners)
        case "div":
            return left[0] // right[1], left[1] // right[0]
        case "mod":
            return 0, min(left[1], right[1] - 1)
    return 0, (1 << max(left[1].bit_length(), right[1].bit_length())) - 1


def _range(known: Ranges, term: Integer) -> Range | None:
    """The range of a term; `None` where it is not defined everywhere."""
    if isinstance(term, int):
        return term, term
    if term.operator == "name":
        return known.get(term.operands[0])
    left, right = (_range(known, operand) for operand in term.operands)
    if left is None or right is None:
        return None
    if term.operator in ("div", "mod", "xor") and (left[0] < 0 or right[0] < 0):
        return None
    if term.operator in ("div", "mod") and right[0] == 0:
        return None
    return interval(term.operator, left, right)


def _tighten(known: dict[str, Range], condition: Less) -> None:
    """Bound each name that a condition counts, by the bounds of everything else in it."""
    summands = [*_summands(condition.left, 1), *_summands(condition.right, -1)]
    ranges = [_range(known, term) for _, term in summands]
    lows = [
        None if range_ is None else min(count * range_[0], count * range_[1])
        for (count, _), range_ in zip(summands, ranges, strict=True)
    ]
    for index, (count, term) in enumerate(summands):
        others = lows[:index] + lows[index + 1 :]
        if None in others:
            continue
        # count * term is at most this.
        most = -sum(low for low in others if low is not None) - 1
        if count > 0:
            _at_most(known, term, most // count)
        elif not isinstance(term, int) and term.operator == "name":
            _narrow(known, term.operands[0], -(most // -count), None)


def _summands(term: Integer, count: int) -> Iterator[tuple[int, Integer]]:
    """A term as a sum of terms, each counted so many times."""
    if not isinstance(term, int):
        left, right = (*term.operands, 0)[:2]
        if term.operator in ("+", "-"):
            yield from _summands(left, count)
            yield from _summands(right, count if term.operator == "+" else -count)
            return
        if term.operator == "*" and isinstance(right, int):
            yield from _summands(left, count * right)
            return
        if term.operator == "*" and isinstance(left, int):
            yield from _summands(right, count * left)
            return
    yield count, term


def _at_most(known: dict[str, Range], term: Integer, most: int) -> None:
    """Bound the names of a term that is at most a number."""
    if isinstance(term, int):
        return
    if term.operator == "name":
        _narrow(known, term.operands[0], None, most)
    elif term.operator == "*":
        for factor, other in (term.operands, reversed(term.operands)):
            found = _range(known, other)
            if found is not None and found[0] > 0:
                _at_most(known, factor, most // found[0])


def _narrow(known: dict[str, Range], name: str, low: int | None, high: int | None) -> None:
    least, most = known[name]
    least = least if low is None else max(least, low)
    most = most if high is None else min(most, high)
    if least <= most:
        known[name] = least, most
