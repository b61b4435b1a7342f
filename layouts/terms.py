"""Integer terms: the expressions that ownerships evaluate to and that claims are made of.

A term is a plain `int` or a `Term` built from names with ``+ - * // % ^``, where ``//`` and ``%``
are the quotient and remainder of Euclid (Python's own, for the positive divisors used here) and
``^`` is exclusive or on the binary digits of non-negative numbers. A formula written with these
operators therefore reads the same for an `int`, a numpy array of lanes, and a `Term`: a layout is
written once, then evaluated on every lane or proven for all of them.

>>> lane, value = name("lane"), name("value")
>>> row = lane // 4 + 8 * (value // 2)
>>> print(row)
lane / 4 + 8 * (value / 2)
>>> evaluate(row, {"lane": 13, "value": 3})
11
>>> to_json(row)
['+', ['div', 'lane', 4], ['*', 8, ['div', 'value', 2]]]
>>> from_json(to_json(row)) == row
True

Constants fold and neutral elements vanish while a term is built, and nothing else is rewritten:
simplification that needs an argument belongs to the proofs.

>>> (lane * 1 + 0) % 1
0
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any, TypeAlias

from tylo.layouts.errors import ClaimError

_FOLD: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "div": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "xor": lambda a, b: a ^ b,
}
OPERATORS = tuple(_FOLD)
# How tightly each operator binds in print, and its sign there; `/` is integer division as in C.
_PRINT = {
    "+": (1, "+"),
    "-": (1, "-"),
    "*": (2, "*"),
    "div": (2, "/"),
    "mod": (2, "%"),
    "xor": (0, "^"),
}


@dataclass(frozen=True, slots=True)
class Term:
    """A name (`operator` is ``"name"``) or an operation on two terms. Build with operators."""

    operator: str
    operands: tuple[Any, ...]

    def __add__(self, other: Integer) -> Integer:
        return operation("+", self, other)

    def __radd__(self, other: Integer) -> Integer:
        return operation("+", other, self)

    def __sub__(self, other: Integer) -> Integer:
        return operation("-", self, other)

    def __rsub__(self, other: Integer) -> Integer:
        return operation("-", other, self)

    def __mul__(self, other: Integer) -> Integer:
        return operation("*", self, other)

    def __rmul__(self, other: Integer) -> Integer:
        return operation("*", other, self)

    def __floordiv__(self, other: Integer) -> Integer:
        return operation("div", self, other)

    def __rfloordiv__(self, other: Integer) -> Integer:
        return operation("div", other, self)

    def __mod__(self, other: Integer) -> Integer:
        return operation("mod", self, other)

    def __rmod__(self, other: Integer) -> Integer:
        return operation("mod", other, self)

    def __xor__(self, other: Integer) -> Integer:
        return operation("xor", self, other)

    def __rxor__(self, other: Integer) -> Integer:
        return operation("xor", other, self)

    def __str__(self) -> str:
        return show(self)


Integer: TypeAlias = "int | Term"
Json: TypeAlias = "int | str | list[Any]"


def name(identifier: str) -> Term:
    """The term that stands for a variable or a parameter."""
    return Term("name", (identifier,))


def operation(operator: str, left: Integer, right: Integer) -> Integer:
    """`left operator right`, folded where both are numbers or one is neutral.

    Raises `ClaimError` for an operand that is no integer and for a divisor below 1.
    """
    left, right = _operand(left), _operand(right)
    if operator in ("div", "mod"):
        _require_positive(operator, left, right)
    if isinstance(left, int) and isinstance(right, int):
        return int(_FOLD[operator](left, right))
    match operator, left, right:
        case ("+" | "xor", 0, term) | ("+" | "-" | "xor", term, 0):
            return term
        case ("*", 1, term) | ("*" | "div", term, 1):
            return term
        case ("*", 0, _) | ("*", _, 0) | ("mod", _, 1) | ("div" | "mod", 0, _):
            return 0
    return Term(operator, (left, right))


def _operand(operand: Any) -> Integer:
    if isinstance(operand, Term):
        return operand
    try:
        return int(index(operand))
    except TypeError:
        raise ClaimError(
            f"{operand!r} is not an integer", hint="terms are made of integers and names"
        ) from None


def _require_positive(operator: str, left: Any, divisor: Any) -> None:
    if isinstance(divisor, int) and divisor <= 0:
        raise ClaimError(
            f"{left} {operator} {divisor}: divisors are positive", hint="divide by 1 or more"
        )


def evaluate(term: Integer, values: Mapping[str, Any]) -> Any:
    """The value of a term where each name has a value: an `int`, a numpy array, or another term.

    >>> print(evaluate(name("m") * 4 + name("v"), {"m": name("k") // 2, "v": 3}))
    k / 2 * 4 + 3
    """
    if isinstance(term, int):
        return term
    if term.operator == "name":
        (identifier,) = term.operands
        if identifier not in values:
            raise ClaimError(
                f"no value for {identifier!r} in {term}", hint=f"known names: {sorted(values)}"
            )
        return values[identifier]
    left, right = (evaluate(operand, values) for operand in term.operands)
    if term.operator in ("div", "mod"):
        _require_positive(term.operator, left, right)
    return _FOLD[term.operator](left, right)


def names(term: Integer) -> Iterator[str]:
    """The names in a term, in order of first appearance, without repeats.

    >>> list(names(name("m") * name("M") + name("m")))
    ['m', 'M']
    """
    seen: dict[str, None] = {}

    def walk(part: Integer) -> None:
        if isinstance(part, Term):
            if part.operator == "name":
                seen[part.operands[0]] = None
            else:
                for operand in part.operands:
                    walk(operand)

    walk(term)
    return iter(seen)


def to_json(term: Integer) -> Json:
    """An `int`, a name as `str`, or ``[operator, left, right]``."""
    if isinstance(term, int):
        return term
    if term.operator == "name":
        return str(term.operands[0])
    return [term.operator, *(to_json(operand) for operand in term.operands)]


def from_json(data: Json) -> Integer:
    """The inverse of `to_json`; raises `ClaimError` on anything else."""
    try:
        return _read(data)
    except RecursionError:
        raise ClaimError("a term is nested too deeply to read", hint="split it") from None


def _read(data: Json) -> Integer:
    if isinstance(data, bool):
        raise ClaimError(f"{data!r} is not a term", hint="use 0 or 1")
    if isinstance(data, int):
        return data
    if isinstance(data, str):
        return name(data)
    if isinstance(data, Sequence) and len(data) == 3 and data[0] in OPERATORS:
        return operation(data[0], _read(data[1]), _read(data[2]))
    raise ClaimError(
        f"{data!r} is not a term",
        hint=f"use an integer, a name, or [operator, a, b] with {OPERATORS}",
    )


def show(term: Integer) -> str:
    """Infix text with as few parentheses as C's precedence allows.

    >>> show((name("a") - (name("b") - 1)) * 2)
    '(a - (b - 1)) * 2'
    """

    def walk(part: Integer, outer: int) -> str:
        if isinstance(part, int):
            return str(part)
        if part.operator == "name":
            return str(part.operands[0])
        binding, sign = _PRINT[part.operator]
        left, right = part.operands
        bare = part.operator in ("+", "*", "xor") and _continues(right, part.operator)
        text = f"{walk(left, binding)} {sign} {walk(right, binding if bare else binding + 1)}"
        return f"({text})" if binding < outer else text

    return walk(term, 0)


def _continues(term: Integer, operator: str) -> bool:
    """Whether `a operator term` reads the same without parentheses around `term`.

    `a + (b + c)` and `a * (b * c)` do; `a * (b / c)` and `a * (b / c * d)` do not, because the
    quotient would be that of `a * b`.
    """
    if not isinstance(term, Term) or term.operator != operator:
        return False
    first = term
    while isinstance(first, Term) and first.operator in ("*", "div", "mod") and operator == "*":
        if first.operator != "*":
            return False
        first = first.operands[0]
    return True
