"""Divisions as compilers write them: of 64 bits, but by 32 where both numbers are short enough.

`a / b` of two 64-bit numbers becomes a branch on whether their upper halves are zero, where that is
not plain, with a division of the lower halves on one side. Both sides are the same quotient, so
that the selection is the division itself, and a chain of them, digit by digit, stays a chain
instead of a tree.

A division by zero is the exception: PTX leaves its result open, and that no thread makes one is an
obligation of its own ("specified result"), so that any value will do for it here.

>>> from tylo.proofs.ptx.bitvector import BitVectors
>>> d = BitVectors()
>>> a, b = d.variable("a", 64), d.variable("b", 64)
>>> high = d.bit_and(d.bit_or(a, b, 64), d.constant(0xFFFFFFFF << 32, 64), 64)
>>> short = d.divide(d.extract(a, 0, 32), d.extract(b, 0, 32), 32, False)
>>> condition, chosen = d.equal(high, d.constant(0, 64), 64), d.extend(short, 32, 64, False)
>>> whole = d.divide(a, b, 64, False)
>>> d.select(condition, chosen, whole, 64) is whole
True
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tylo.proofs.ptx.nodes import Expression

_HALF, _UPPER = 32, 0xFFFFFFFF << 32


def same_division(
    condition: Expression,
    chosen: Expression,
    otherwise: Expression,
    extract: Callable[[Expression, int, int], Expression],
) -> bool:
    """Whether `chosen` is the division `otherwise` of the lower halves, where uppers are zero."""
    if otherwise.operator not in ("bvudiv", "bvurem") or chosen.operator != "concat":
        return False
    short, *rest = chosen.operands
    if short.operator != otherwise.operator or len(rest) != 1 or rest[0].value != 0:
        return False
    if short.width != _HALF or otherwise.width != 2 * _HALF:
        return False
    halves = zip(short.operands, otherwise.operands, strict=True)
    alike = all(half is extract(whole, 0, _HALF) for half, whole in halves)
    return alike and _both_short(condition, otherwise.operands)


def _both_short(condition: Expression, numbers: Sequence[Expression]) -> bool:
    """Whether the upper halves of numbers are zero, where a condition says so of some of them."""
    if condition.operator != "=" or condition.operands[1].value != 0:
        return False
    masked = condition.operands[0]
    if masked.operator != "bvand" or masked.operands[1].value != _UPPER:
        return False
    either = masked.operands[0]
    said = either.operands if either.operator == "bvor" else (either,)
    return all(each in said or _is_short(each) for each in numbers)


def _is_short(number: Expression) -> bool:
    """Whether the upper half of a number is zero anyway."""
    if number.operator == "ite":
        return all(map(_is_short, number.operands[1:]))
    if number.operator == "concat":
        upper = number.operands[-1]
        return upper.value == 0 and upper.width >= _HALF
    return number.value is not None and number.value < 1 << _HALF
