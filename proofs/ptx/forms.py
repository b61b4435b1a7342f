"""Sums of products of whole numbers: what an address is once nothing is left that may wrap.

A form maps each product of atoms to how often it is counted; the empty product counts ones. An atom
is a name in a solver's script. Sums and products of forms are those of polynomials, so that
row * columns + i has one form however it was computed, and a difference of two addresses in one
buffer has none of the buffer's start in it.

>>> row, stride = atom("row"), atom("stride")
>>> following = product(total(row, constant(1)), stride)
>>> text(following)
'(+ (* row stride) stride)'
>>> text(total(following, product(row, stride), -1))
'stride'
>>> interval(total(row, constant(1), -4), {"row": (2, 9)})
(-2, 5)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from math import gcd
from typing import TypeAlias

Product: TypeAlias = tuple[str, ...]
Form: TypeAlias = Mapping[Product, int]
Range: TypeAlias = tuple[int, int]


def constant(value: int) -> Form:
    return {(): value} if value else {}


def atom(name: str) -> Form:
    return {(name,): 1}


def total(left: Form, right: Form, count: int = 1) -> Form:
    """One form, and another one counted so often."""
    result = dict(left)
    for each, times in right.items():
        result[each] = result.get(each, 0) + times * count
    return {each: times for each, times in result.items() if times}


def scaled(form: Form, count: int) -> Form:
    return {each: times * count for each, times in form.items()} if count else {}


def product(left: Form, right: Form) -> Form:
    """All products of what is counted in two forms."""
    result: dict[Product, int] = {}
    for one, times in left.items():
        for other, more in right.items():
            both = tuple(sorted(one + other))
            result[both] = result.get(both, 0) + times * more
    return {each: times for each, times in result.items() if times}


def reduced(form: Form, modulus: int) -> Form:
    """A congruent form with counts of least magnitude."""
    return divided(form, modulus)[1]


def divided(form: Form, divisor: int) -> tuple[Form, Form]:
    """A form as divisor * first + second, the counts of the second of least magnitude."""
    first, second = {}, {}
    for each, times in form.items():
        rest = times % divisor
        rest -= divisor if 2 * rest > divisor else 0
        if rest:
            second[each] = rest
        if times != rest:
            first[each] = (times - rest) // divisor
    return first, second


def exact(form: Form, divisor: Form) -> Form | None:
    """What times a divisor is a form; `None` where there is no such form.

    >>> a, b = atom("a"), atom("b")
    >>> exact(product(total(a, scaled(b, 3)), total(b, constant(2))), total(b, constant(2)))
    {('b',): 3, ('a',): 1}
    >>> exact(total(product(a, b), constant(1)), b) is None
    True
    """
    if not divisor:
        return None
    rest, found = form, constant(0)
    leading = max(divisor, key=_degree)
    while rest:
        highest = max(rest, key=_degree)
        more, left = divmod(rest[highest], divisor[leading])
        missing = Counter(leading) - Counter(highest)
        if left or missing:
            return None
        factors = Counter(highest) - Counter(leading)
        part = {tuple(sorted(factors.elements())): more}
        found = total(found, part)
        rest = total(rest, product(part, divisor), -1)
    return found


def _degree(each: Product) -> tuple[int, Product]:
    # Of products of one length the order of their sorted atoms is kept by any further factor.
    return len(each), each


def number(form: Form) -> int | None:
    """The number that a form without atoms is."""
    if not form:
        return 0
    return form[()] if len(form) == 1 and () in form else None


def content(form: Form) -> int:
    """The largest number that divides every count; 1 where nothing is counted."""
    return gcd(*form.values()) or 1


def primitive(form: Form) -> Form:
    """A form divided by the largest number that divides every count."""
    common = content(form)
    return {each: times // common for each, times in form.items()}


def interval(form: Form, ranges: Mapping[str, Range]) -> Range:
    """The least and the largest value, where atoms are as in `ranges`, and independent."""
    low = high = 0
    for each, times in form.items():
        ends = [times]
        for name in each:
            ends = [end * bound for end in ends for bound in ranges[name]]
        low += min(ends)
        high += max(ends)
    return low, high


def text(form: Form, spelled: Callable[[Product], str] | None = None) -> str:
    """SMT-LIB text; a product of several atoms is `spelled`."""
    terms = []
    for each in sorted(form, key=lambda key: (not key, key)):
        times = form[each]
        if not each:
            terms.append(integer(times))
            continue
        called = each[0] if len(each) == 1 else (spelled or _multiplied)(each)
        terms.append(called if times == 1 else f"(* {integer(times)} {called})")
    return f"(+ {' '.join(terms)})" if len(terms) > 1 else terms[0] if terms else "0"


def integer(value: int) -> str:
    """A number as SMT-LIB spells it.

    >>> integer(5), integer(-5)
    ('5', '(- 5)')
    """
    return str(value) if value >= 0 else f"(- {-value})"


def _multiplied(factors: Product) -> str:
    return f"(* {' '.join(factors)})"
