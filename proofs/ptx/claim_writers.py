"""Who writes an element, where the index of a store says it: the inverse of a sum of digits.

An index such as ``block_x * 32 + thread % 32`` counts in digits: each is a coordinate, or a part of
one, times what all digits below it come to. So each is told from the index by a division and a
remainder. A step of ``blocks * 128`` elements is as good a digit as one of 32.

>>> from tylo.layouts.terms import name, show
>>> thread, block, block_y = name("thread"), name("block"), name("block_y")
>>> row, column = block_y * 8 + thread // 32 + 4, block * 32 + thread % 32
>>> known = {"row": (0, 999), "column": (0, 999)}
>>> for each, term in inverse({"row": row, "column": column}, 256, known).items():
...     print(each, "=", show(term))
thread = (row + 4) % 8 * 32 + column % 32
block_y = (row + 4) / 8 - 1
block = column / 32

Nothing is believed here: that it is the inverse, is an obligation. An index of another form has
none.

>>> inverse({"column": (block ^ 1) * 32 + thread}, 32, known) is None
True
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from math import lcm, prod

from tylo.layouts.errors import ClaimError
from tylo.layouts.terms import Integer, evaluate, names
from tylo.layouts.terms import name as named
from tylo.proofs.effects.axes import COORDINATES
from tylo.proofs.ptx.contract import extent
from tylo.proofs.ptx.ranges import Ranges

_SAMPLE = 7  # of sizes, to see in which order digits come


@dataclass(frozen=True, slots=True)
class Digit:
    """A coordinate divided by a `weight`, and the remainder by an `extent` of that, if it has one;
    it counts `times` in an index."""

    coordinate: str
    weight: Integer = 1
    extent: Integer | None = None
    times: Integer = 1


class _NoDigits(Exception):
    """An index that is no sum of digits."""


def inverse(
    indices: Mapping[str, Integer], threads: int, known: Ranges
) -> dict[str, Integer] | None:
    """The coordinates as terms over the names of `indices`; `None` where they are not told.

    `known` are the bounds of those names and of sizes.
    """
    found: dict[str, Integer] = {}
    try:
        for index, term in indices.items():
            digits: list[Digit] = []
            rest = _collect(term, 1, digits)
            digits = [_bounded(digit, threads) for digit in digits]
            for digit, value in _told(named(index), digits, rest, known):
                part = value * digit.weight
                found[digit.coordinate] = found.get(digit.coordinate, 0) + part
    except (_NoDigits, ClaimError):
        return None
    return found


def _told(
    counted: Integer, digits: list[Digit], rest: Integer, known: Ranges
) -> Iterable[tuple[Digit, Integer]]:
    """Each digit of a number that is `rest` more than their sum, and what it is."""
    try:
        return list(_by_size(counted, digits, rest, known))
    except _NoDigits:
        # Of row * columns + column, the row counts by a size that the columns stay below.
        factors = {_sizes(digit.times) for digit in digits} - {()}
        if not factors:
            raise
        by = max(factors, key=lambda sizes: (len(sizes), sizes))
        size: Integer = 1
        for each in by:
            size = size * named(each)
        above = [replace(d, times=_count(d.times)) for d in digits if _sizes(d.times) == by]
        below = [digit for digit in digits if _sizes(digit.times) != by]
        return [
            *_told(counted // size, above, 0, known),
            *_told(counted % size, below, rest, known),
        ]


def _sizes(term: Integer) -> tuple[str, ...]:
    """The sizes that a product of them and of numbers has."""
    if isinstance(term, int):
        return ()
    if term.operator == "name":
        return (str(term.operands[0]),)
    if term.operator != "*":
        raise _NoDigits
    return tuple(sorted(each for operand in term.operands for each in _sizes(operand)))


def _count(term: Integer) -> int:
    """The number in a product of sizes and numbers."""
    if isinstance(term, int):
        return term
    return 1 if term.operator == "name" else prod(map(_count, term.operands))


def _by_size(
    counted: Integer, digits: list[Digit], rest: Integer, known: Ranges
) -> Iterator[tuple[Digit, Integer]]:
    """Digits of which each counts at least what all before it come to."""
    sizes = [_sampled(digit.times) for digit in digits]
    if len({size > 0 for size in sizes}) > 1 or 0 in sizes:
        raise _NoDigits
    below = bool(sizes) and sizes[0] < 0  # counted down from the rest
    if below:
        digits = [replace(digit, times=0 - digit.times) for digit in digits]
    digits = [digit for _, digit in sorted(zip(map(abs, sizes), digits, strict=True), key=_first)]
    for digit, above in pairwise(digits):
        if digit.extent is None:
            raise _NoDigits
        if _sampled(above.times) < _sampled(digit.times * digit.extent):
            raise _NoDigits
    value, bias = _counted(counted, rest, below, digits, known)
    for number, digit in enumerate(digits):
        if number < len(digits) - 1:
            yield digit, _rest_of(value, digit, digits[number + 1].times)
        else:
            more = bias // _number(digit.times) if bias else 0
            yield digit, value // digit.times - more


def _first(pair: tuple[int, Digit]) -> int:
    return pair[0]


def _sampled(term: Integer) -> int:
    """A term, where all sizes are the same."""
    return int(evaluate(term, dict.fromkeys(names(term), _SAMPLE)))


def _rest_of(value: Integer, digit: Digit, above: Integer) -> Integer:
    """A digit that others lie above, the next of which counts so many times."""
    assert digit.extent is not None
    whole = digit.times * digit.extent
    if isinstance(above, int) and isinstance(whole, int) and whole < above:
        # Solvers see more where what lies above is taken away first.
        return value % above % whole // digit.times
    if isinstance(digit.extent, int):
        return value // digit.times % digit.extent
    return value % whole // digit.times


def _collect(term: Integer, times: Integer, digits: list[Digit]) -> Integer:
    """Note the digits that a term times a number is the sum of; what is left of it is returned."""
    if not any(each in COORDINATES for each in names(term)):
        return term * times
    assert not isinstance(term, int)
    match term.operator, term.operands:
        case "+", (left, right):
            return _collect(left, times, digits) + _collect(right, times, digits)
        case "-", (left, right):
            return _collect(left, times, digits) + _collect(right, 0 - times, digits)
        case "*", (left, right):
            for one, other in ((left, right), (right, left)):
                if not any(each in COORDINATES for each in names(other)):
                    return _collect(one, times * other, digits)
    digits.append(replace(_digit(term), times=times))
    return 0


def _digit(term: Integer) -> Digit:
    """A coordinate, or a part of one."""
    if isinstance(term, int):
        raise _NoDigits
    if term.operator == "name":
        if term.operands[0] not in COORDINATES:
            raise _NoDigits
        return Digit(term.operands[0])
    if term.operator not in ("div", "mod"):
        raise _NoDigits
    inner, by = _digit(term.operands[0]), term.operands[1]
    if any(each in COORDINATES for each in names(by)):
        raise _NoDigits
    whole = isinstance(inner.extent, int) and isinstance(by, int) and inner.extent % by == 0
    if inner.extent is not None and not whole:
        raise _NoDigits
    if term.operator == "mod":
        return replace(inner, extent=by)
    left = None if inner.extent is None else inner.extent // by
    return replace(inner, weight=inner.weight * by, extent=left)


def _bounded(digit: Digit, threads: int) -> Digit:
    """A digit with the extent that the launch gives it, where nothing else does."""
    if digit.extent is not None:
        return digit
    if digit.coordinate == "thread" and isinstance(digit.weight, int):
        return replace(digit, extent=-(-threads // digit.weight))
    if digit.coordinate.startswith("block") and digit.weight == 1:
        return replace(digit, extent=named(digit.coordinate.replace("block", "blocks")))
    return digit


def _counted(
    symbol: Integer, rest: Integer, below: bool, digits: list[Digit], known: Ranges
) -> tuple[Integer, int]:
    """The sum of the digits as a term that is never negative, and by how much that is more."""
    if not digits or (rest == 0 and not below) or _keeps(rest, digits):
        return symbol, 0
    sum_: Integer = rest - symbol if below else symbol - rest
    least = extent(known, sum_)[0]
    if least >= 0:
        return sum_, 0
    step = lcm(
        _number(digits[-1].times), *(_number(d.times) * _number(d.extent or 0) for d in digits[:-1])
    )
    bias = -(least // step) * step
    if below:
        return rest + bias - symbol, bias
    return (symbol + (bias - rest) if isinstance(rest, int) else symbol + bias - rest), bias


def _keeps(rest: Integer, digits: list[Digit]) -> bool:
    """Whether a number that is added changes no digit."""
    if not isinstance(rest, int) or rest < 0:
        return False
    least, lower = digits[0].times, 0
    if isinstance(least, int) and rest < least and not isinstance(digits[-1].times, int):
        return True  # a guess, as all of this
    for number, digit in enumerate(digits):
        times, last = digit.times, number == len(digits) - 1
        if not isinstance(times, int) or not (last or isinstance(digit.extent, int)):
            return False
        over = rest // times
        if rest % times + lower >= times or (over if last else over % _number(digit.extent or 0)):
            return False
        lower += 0 if last else (_number(digit.extent or 0) - 1) * times
    return True


def _number(term: Integer) -> int:
    if not isinstance(term, int) or term < 1:
        raise _NoDigits
    return term
