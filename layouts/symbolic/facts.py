"""What holds for all positive integers: the few facts that symbolic layouts decide by.

Every symbol stands for a positive integer. `exact_quotient` and `never_negative` answer only when
they can prove it; otherwise the caller records a `Condition`, which is the claim that the result
rests on.

>>> import sympy
>>> n = positive(sympy.Symbol("n"))
>>> exact_quotient(12 * n, 4), exact_quotient(n, 4), never_negative(n * n - n)
(3*n, None, True)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tylo.layouts.errors import LayoutError


def positive(entry: Any) -> Any:
    """The entry with each symbol marked as a positive integer, and numbers as plain ints.

    Symbols are told apart by name, whatever was assumed about them before.
    """
    import sympy

    if isinstance(entry, int):
        return entry
    expression = sympy.sympify(entry).xreplace(
        {s: sympy.Symbol(s.name, integer=True, positive=True) for s in entry.free_symbols}
    )
    if expression.is_Integer:
        return int(expression)
    if expression.is_number:
        raise LayoutError(f"{entry} is not an integer")
    return expression


def tidy(expression: Any) -> Any:
    """Expanded, and a plain int where it is one."""
    import sympy

    if isinstance(expression, int):
        return expression
    expanded = sympy.expand(expression)
    return int(expanded) if expanded.is_Integer else expanded


def equal(a: Any, b: Any) -> bool:
    """Whether the two are the same polynomial."""
    return bool(tidy(a - b) == 0)


def _opaque(expression: Any) -> Any:
    """Ceilings, which are positive integers too, as symbols of their own."""
    import sympy

    return expression.replace(
        lambda part: isinstance(part, sympy.ceiling),
        lambda part: sympy.Symbol(f"_{part}", integer=True, positive=True),
    )


def exact_quotient(a: Any, b: Any) -> Any | None:
    """`a / b` where it is an integer for all values of the symbols, as a polynomial; else None."""
    import sympy

    if isinstance(a, int) and isinstance(b, int):
        return a // b if a % b == 0 else None
    quotient = sympy.cancel(sympy.sympify(a) / b)
    opaque = _opaque(quotient)
    symbols = sorted(opaque.free_symbols, key=str)
    if not symbols:
        return int(quotient) if quotient.is_Integer else None
    if not opaque.is_polynomial(*symbols):
        return None
    integral = all(c.is_Integer for c in sympy.Poly(opaque, *symbols).coeffs())
    return tidy(quotient) if integral else None


def never_negative(expression: Any) -> bool:
    """Whether it is at least 0 for all positive integers, as far as coefficients show it.

    With each symbol replaced by one plus a number of at least 0, no negative coefficient is left.
    """
    import sympy

    if isinstance(expression, int):
        return expression >= 0
    numerator, denominator = sympy.fraction(sympy.together(_opaque(expression)))
    return all(_coefficients_not_negative(part) for part in (numerator, denominator))


def _coefficients_not_negative(part: Any) -> bool:
    import sympy

    symbols = sorted(part.free_symbols, key=str)
    if not symbols:
        return bool(part >= 0)
    if not part.is_polynomial(*symbols):
        return False
    moved = part.subs({s: s + 1 for s in symbols}, simultaneous=True)
    return all(c >= 0 for c in sympy.Poly(moved, *symbols).coeffs())


@dataclass(frozen=True, slots=True)
class Condition:
    """A claim about the symbols that a symbolic result rests on.

    `kind` is `"divides"` (left divides right) or `"at_most"` (left is at most right).

    >>> import sympy
    >>> n = positive(sympy.Symbol("n"))
    >>> print(Condition("divides", 8, n), "and", Condition("at_most", n, 8192))
    n % 8 == 0 and n <= 8192
    """

    kind: str
    left: Any
    right: Any

    def holds(self, values: Mapping[str, int]) -> bool | None:
        """Whether it holds for these values; None while a symbol has no value."""
        left, right = substituted(self.left, values), substituted(self.right, values)
        if not isinstance(left, int) or not isinstance(right, int):
            return None
        return right % left == 0 if self.kind == "divides" else left <= right

    def subs(self, values: Mapping[str, int]) -> Condition:
        """The condition that is left for the other symbols."""
        return Condition(self.kind, substituted(self.left, values), substituted(self.right, values))

    def __str__(self) -> str:
        if self.kind == "divides":
            return f"{_operand(self.right)} % {_operand(self.left)} == 0"
        return f"{self.left} <= {self.right}"


def _operand(entry: Any) -> str:
    return str(entry) if isinstance(entry, int) or entry.is_Atom else f"({entry})"


def substituted(entry: Any, values: Mapping[str, int]) -> Any:
    """The entry with symbols replaced by name; a plain int, or a fraction, when none is left."""
    if isinstance(entry, int):
        return entry
    return tidy(entry.xreplace({s: values[s.name] for s in entry.free_symbols if s.name in values}))


def divides(left: Any, right: Any) -> tuple[Any, tuple[Condition, ...]]:
    """`right / left`, with the condition that it is an integer unless it always is."""
    quotient = exact_quotient(right, left)
    if quotient is not None:
        return quotient, ()
    return tidy(_sympified(right) / left), (Condition("divides", left, right),)


def at_most(left: Any, right: Any) -> tuple[Condition, ...]:
    """The condition `left <= right`, unless it always holds; without terms on both sides.

    >>> import sympy
    >>> n = positive(sympy.Symbol("n"))
    >>> print(*at_most(7 * n + 4, 8 * n))
    4 <= n
    """
    difference = _sympified(tidy(_sympified(right) - left))
    if never_negative(difference):
        return ()
    constant, terms = difference.as_coeff_add()
    parts = [constant, *terms]
    above = sum((part for part in parts if part.as_coeff_Mul()[0] > 0), start=_sympified(0))
    return (Condition("at_most", tidy(above - difference), tidy(above)),)


def never(left: Any, right: Any) -> bool:
    """Whether `left <= right` fails for all values."""
    return never_negative(_sympified(left) - right - 1)


def _sympified(entry: Any) -> Any:
    import sympy

    return sympy.sympify(entry)
