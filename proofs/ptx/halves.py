"""Divisions of 64 bits that compilers do in 32 bits wherever both numbers fit.

A division of 64 bits takes some hundred instructions, so that compilers look first whether the high
halves of both numbers are zero, and take the quotient of the low halves then. Where the two ways
meet, it is the quotient of 64 bits either way; what is proven of it need not go both ways.

A quotient by zero is left open by PTX, and differs here. That no divisor is zero is an obligation
of both divisions ("specified result"), under the conditions that they are come to.

>>> from tylo.proofs.ptx.bitvector import BitVectors
>>> d = BitVectors()
>>> a, b = d.variable("a", 64), d.variable("b", 64)
>>> high = d.bit_and(d.bit_or(a, b, 64), d.constant(-1 << 32, 64), 64)
>>> narrow = d.divide(d.extract(a, 0, 32), d.extract(b, 0, 32), 32, False)
>>> short, whole = d.extend(narrow, 32, 64, False), d.divide(a, b, 64, False)
>>> fits = d.equal(high, d.constant(0, 64), 64)
>>> meet(d, fits, short, whole) is whole, meet(d, fits, whole, short) is whole
(True, False)
>>> meet(d, d.equal(a, d.constant(0, 64), 64), short, whole) is whole
False
"""

from __future__ import annotations

from tylo.proofs.ptx.bitvector import BitVectors, Expression

_DIVISIONS = ("bvudiv", "bvurem")
_HALF = 32


def meet(
    domain: BitVectors, condition: Expression, chosen: Expression, otherwise: Expression
) -> Expression:
    """What a register holds where two ways meet, the first being taken under a condition."""
    if chosen.width == 2 * _HALF and chosen is not otherwise:
        holds, fails = _test(condition)
        ways = ((holds, chosen, otherwise), (fails, otherwise, chosen))
        for zero, short, whole in ways:
            if zero is not None and _is_short(domain, short, whole, zero):
                return whole
    return domain.select(condition, chosen, otherwise, chosen.width)


def _test(condition: Expression) -> tuple[Expression | None, Expression | None]:
    """What is zero where a condition holds, and what is where it fails."""
    if condition.operator == "bvxor" and condition.operands[1].value == 1:
        holds, fails = _test(condition.operands[0])
        return fails, holds
    if condition.operator == "=" and condition.operands[1].value == 0:
        return condition.operands[0], None
    return None, None


def _is_short(domain: BitVectors, short: Expression, whole: Expression, zero: Expression) -> bool:
    """Whether a value is the whole quotient or remainder, of halves, where something is zero."""
    narrow = domain.extract(short, 0, _HALF)
    high = domain.extract(short, _HALF, _HALF)
    if whole.operator not in _DIVISIONS or narrow.operator != whole.operator or high.value != 0:
        return False
    small = _below(domain, zero)
    return all(
        half is domain.extract(number, 0, _HALF)
        and (number in small or domain.extract(number, _HALF, _HALF).value == 0)
        for half, number in zip(narrow.operands, whole.operands, strict=True)
    )


def _below(domain: BitVectors, zero: Expression) -> set[Expression]:
    """The numbers whose high half is zero where something is zero."""
    left, right = zero.operands if len(zero.operands) == 2 else (zero, zero)
    mask = right.value
    if zero.operator == "bvand" and mask is not None and mask >> _HALF == (1 << _HALF) - 1:
        return _joined(left)
    if zero.operator == "bvlshr" and mask is not None and mask <= _HALF:
        return _joined(left)
    if zero.operator == "extract" and zero.attribute == _HALF:
        return _joined(zero.operands[0]) if zero.width == _HALF else set()
    return set()


def _joined(number: Expression) -> set[Expression]:
    """A number, and all that it is made of by `or`."""
    if number.operator != "bvor":
        return {number}
    return {number}.union(*map(_joined, number.operands))
