"""Indices: what may number an input, a value or a coordinate.

An index is an `int`, a numpy integer, an array of integers, or a term. Numbers are checked against
the size, which a term cannot be; booleans and floats are refused, because they would pass for
numbers all the way to a wrong coordinate.

>>> inside("lane", 31, 32)
31
>>> inside("lane", 32, 32)
Traceback (most recent call last):
tylo.layouts.errors.OwnershipError: lane 32 is out of range (witness: {'lane': 32}); lane runs \
from 0 to 31
"""

from __future__ import annotations

from typing import Any

from tylo.layouts.errors import OwnershipError
from tylo.layouts.terms import Integer, Term


def inside(label: str, index: Any, size: Integer) -> Any:
    """`index` as an `int`, a 64-bit array or a term; `OwnershipError` unless 0 <= index < size."""
    kind = getattr(getattr(index, "dtype", None), "kind", None)
    if isinstance(index, Term) or kind == "O":
        return index
    if kind is None and isinstance(index, int) and not isinstance(index, bool):
        least = most = index
    elif kind in ("i", "u"):
        if index.size == 0:
            return index
        least, most = int(index.min()), int(index.max())
        # A narrow array would wrap around when it is multiplied by a step.
        index = index.astype("int64") if index.ndim else least
    else:
        raise OwnershipError(f"{label} {index!r} is no integer", hint="number from 0")
    if least < 0 or (isinstance(size, int) and most >= size):
        outside = least if least < 0 else most
        raise OwnershipError(
            f"{label} {outside} is out of range",
            hint=f"{label} runs from 0 to {size - 1}",
            witness={label: outside},
        )
    return index


def require_number(what: str, number: Any, least: int) -> None:
    """Refuse what is neither a term nor an integer from `least`."""
    if isinstance(number, Term):
        return
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise OwnershipError(
            f"{what} is {number!r}", hint=f"give an integer from {least}, or a term"
        )
