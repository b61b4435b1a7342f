"""Index terms as CUDA text, strength-reduced.

Divisions and remainders by powers of two become shifts and masks, which is exact because every
index is unsigned. Nothing else is rewritten: what is printed is what was proven, and the emitted
PTX is compared with the term again.

>>> from tylo.layouts.terms import name
>>> expression(name("thread") % 32 // 4 + 8 * (name("value") // 3))
'((thread & 31u) >> 2) + 8u * (value / 3u)'
"""

from __future__ import annotations

from tylo.layouts.errors import GenerationError
from tylo.layouts.terms import Integer

_BINDING = {"+": 4, "-": 4, "*": 5, "div": 5, "mod": 5, "xor": 1}
_SIGN = {"+": "+", "-": "-", "*": "*", "div": "/", "mod": "%", "xor": "^"}


def expression(term: Integer) -> str:
    """C text over unsigned names; the caller's types are wide enough for every value."""
    return _print(term, 0)


def _print(term: Integer, outer: int) -> str:
    if isinstance(term, int):
        if term < 0:
            raise GenerationError(
                f"{term} is negative, and indices are unsigned",
                hint="subtract a positive number instead",
            )
        return f"{term}u"
    if term.operator == "name":
        return str(term.operands[0])
    left, right = term.operands
    if term.operator in ("div", "mod") and _is_power_of_two(right):
        # C lets `a + b >> c` stand; a reader should not have to know that.
        sign, count = (
            (">>", f"{right.bit_length() - 1}")
            if term.operator == "div"
            else ("&", f"{right - 1}u")
        )
        text = f"{_print(left, 5)} {sign} {count}"
        return f"({text})" if outer else text
    binding = _BINDING[term.operator]
    text = f"{_print(left, binding)} {_SIGN[term.operator]} {_print(right, binding + 1)}"
    return f"({text})" if binding < outer else text


def _is_power_of_two(divisor: Integer) -> bool:
    # A shift by 32 or more would be undefined for the 32-bit names that the division is right for.
    return isinstance(divisor, int) and divisor & (divisor - 1) == 0 and 0 < divisor < 1 << 32
