"""Integer polynomials over opaque symbols, for exports: a dict from sorted symbols to a factor.

>>> show = add(multiply(variable("M"), add(variable("k"), constant(1))), variable("m"), -1)
>>> show
{('M', 'k'): 1, ('M',): 1, ('m',): -1}

The checker has its own: it depends on nothing.
"""

from __future__ import annotations

from typing import TypeAlias

Polynomial: TypeAlias = "dict[tuple[str, ...], int]"


def constant(number: int) -> Polynomial:
    """A number."""
    return {(): number} if number else {}


def variable(symbol: str) -> Polynomial:
    """A symbol."""
    return {(symbol,): 1}


def add(left: Polynomial, right: Polynomial, scale: int = 1) -> Polynomial:
    """``left + scale * right``."""
    total = dict(left)
    for monomial, factor in right.items():
        total[monomial] = total.get(monomial, 0) + scale * factor
    return {monomial: factor for monomial, factor in total.items() if factor}


def multiply(left: Polynomial, right: Polynomial) -> Polynomial:
    """``left * right``."""
    total: Polynomial = {}
    for ours, factor in left.items():
        for theirs, other in right.items():
            monomial = tuple(sorted(ours + theirs))
            total[monomial] = total.get(monomial, 0) + factor * other
    return {monomial: factor for monomial, factor in total.items() if factor}
