"""The closed form of a layout's function, and its print in Python, C and LaTeX.

An index `i` of a layout has the digits `i // P % N`, and the offset is their sum with the strides.
The form is made from the coalesced layout: contiguous modes leave no digit, the first digit needs
no division, and the last no remainder, because the index stays in the domain.

>>> from tylo.layouts.layout import Layout
>>> print(index_expression(Layout((4, 2, 8)), ()))
i
>>> expression = index_expression(Layout((4, 8), (8, 1)), ())
>>> print(expression.python())
i % 4 * 8 + i // 4

In C the quotient of integers is `/`, and rounds as wanted because indices are never negative.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tylo.layouts import terms
from tylo.layouts.algebra.coalesce import coalesce
from tylo.layouts.errors import LayoutError
from tylo.layouts.int_tuple import flatten
from tylo.layouts.layout import Layout
from tylo.layouts.terms import Integer

# How tightly each operator binds, and how it is written between its operands.
_PYTHON = {"+": (1, "+"), "-": (1, "-"), "*": (2, "*"), "div": (2, "//"), "mod": (2, "%")}
_C = {**_PYTHON, "div": (2, "/")}


@dataclass(frozen=True, slots=True)
class Expression:
    """An integer term that prints itself; `str` is C."""

    term: Integer

    def python(self) -> str:
        """Python source, with `//` and `%`."""
        return _infix(self.term, _PYTHON, 0)

    def c(self) -> str:
        """C source, for operands that are not negative."""
        return _infix(self.term, _C, 0)

    def latex(self) -> str:
        r"""LaTeX, with floors and `\bmod`."""
        return _latex(self.term, 0)

    def __str__(self) -> str:
        return self.c()


def _infix(term: Integer, table: Mapping[str, tuple[int, str]], outer: int) -> str:
    if isinstance(term, int):
        return str(term) if term >= 0 else f"({term})" if outer else str(term)
    if term.operator == "name":
        return str(term.operands[0])
    binding, sign = table[term.operator]
    left, right = term.operands
    # All of one level associate to the left, so only a right operand needs parentheses of its own.
    text = f"{_infix(left, table, binding)} {sign} {_infix(right, table, binding + 1)}"
    return f"({text})" if binding < outer else text


def _latex(term: Integer, outer: int) -> str:
    if isinstance(term, int):
        return str(term)
    if term.operator == "name":
        return str(term.operands[0])
    left, right = term.operands
    if term.operator == "div":
        return rf"\lfloor {_latex(left, 2)} / {_latex(right, 3)} \rfloor"
    if term.operator == "*" and isinstance(right, int):
        left, right = right, left  # numbers first
    binding, sign = {"+": (1, "+"), "-": (1, "-"), "*": (3, r"\cdot"), "mod": (2, r"\bmod")}[
        term.operator
    ]
    text = f"{_latex(left, binding)} {sign} {_latex(right, binding + 1)}"
    return f"({text})" if binding < outer else text


def index_expression(layout: Layout, names: Sequence[str]) -> Expression:
    """The offset over one index (default `i`), or over one name for each mode of the layout.

    >>> from tylo.layouts.layout import Layout
    >>> print(index_expression(Layout((4, (2, 3)), (1, (16, 4))), ("m", "n")).python())
    m + (n % 2 * 16 + n // 2 * 4)
    """
    names = tuple(names) or ("i",)
    if len(names) == 1:
        return Expression(_term(layout, terms.name(names[0])))
    if len(names) != len(layout):
        raise LayoutError(
            f"{len(names)} names for {layout}: give one for the index, or one for each of its "
            f"{len(layout)} modes",
            witness=len(names),
        )
    total: Integer = 0
    for mode, name in zip(layout, names, strict=True):
        total = total + _term(mode, terms.name(name))
    return Expression(total)


def _term(layout: Layout, index: Integer) -> Integer:
    simple = coalesce(layout)
    modes = list(zip(flatten(simple.shape), flatten(simple.stride), strict=True))
    position: Integer = 1
    total: Integer = 0
    for number, (extent, stride) in enumerate(modes):
        size = as_term(extent)
        digit = terms.operation("div", index, position)
        if number + 1 < len(modes):
            digit = terms.operation("mod", digit, size)
        total = total + digit * as_term(stride)
        position = position * size
    return total


def as_term(entry: Any) -> Integer:
    """An integer, or a sympy expression of sums, products, powers and exact divisions, as a term.

    >>> import sympy
    >>> print(as_term(sympy.Symbol("n") / 8 + 1))
    (8 + n) / 8
    """
    if isinstance(entry, int):
        return entry
    import sympy

    numerator, denominator = sympy.fraction(sympy.together(entry))
    if denominator != 1:
        return terms.operation("div", as_term(numerator), as_term(denominator))
    if entry.is_Integer:
        return int(entry)
    if entry.is_Symbol:
        return terms.name(entry.name)
    if isinstance(entry, sympy.ceiling):
        above, below = map(as_term, sympy.fraction(sympy.together(entry.args[0])))
        return (above + (below - 1)) // below
    if entry.is_Pow:
        base, exponent = entry.args
        factors = [as_term(base)] * int(exponent)
    else:
        factors = [as_term(argument) for argument in entry.args]
    result = factors[0]
    for factor in factors[1:]:
        result = result + factor if entry.is_Add else result * factor
    return result


__all__ = ["Expression", "as_term", "index_expression"]
