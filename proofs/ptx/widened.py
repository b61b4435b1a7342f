"""Conditions on sums as whole numbers: what a loop's condition means while nothing wraps.

A loop counter of 32 bits is start + slope * step modulo 2^32, so that without knowing how far it
goes, nothing follows from its being below an end. In 64 bits nothing wraps, and it does. Loops are
cut by the condition in whole numbers; that the kernel's own agrees with it is an obligation.

>>> from tylo.proofs.ptx.bitvector import BitVectors, evaluate
>>> d = BitVectors()
>>> step = d.variable("step", 8)
>>> index = d.add(d.constant(250, 32), d.extend(step, 8, 32, False), 32)
>>> below = d.less(index, d.constant(2**31 - 1, 32), 32, True)
>>> at = d.add(d.extend(step, 8, 64, False), d.constant(1, 64), 64)
>>> following = at_step(d, below, step, at)
>>> following.operands[0].width, evaluate([following.operands[0]], {"step": 255})
(64, [506])
"""

from __future__ import annotations

from tylo.proofs.ptx.bitvector import BitVectors, Expression
from tylo.proofs.ptx.folding import as_signed
from tylo.proofs.ptx.nodes import order

_WIDE = 64
_SUMS = {"bvadd": BitVectors.add, "bvsub": BitVectors.subtract, "bvmul": BitVectors.multiply}


def at_step(
    domain: BitVectors, condition: Expression, step: Expression, at: Expression
) -> Expression:
    """A condition of one bit in whole numbers, in the step that `at` is, in 64 bits."""
    return _Widened(domain, step, at).truth(condition)


class _Widened:
    def __init__(self, domain: BitVectors, step: Expression, at: Expression) -> None:
        self.domain, self.step, self.at = domain, step, at
        self.counted = domain.extend(step, step.width, _WIDE, False)

    def truth(self, node: Expression) -> Expression:
        domain, operands = self.domain, node.operands
        match node.operator:
            case "bvand" | "bvor" | "bvxor" if node.width == 1:
                connect = {"bvand": domain.bit_and, "bvor": domain.bit_or}
                one, other = (self.truth(operand) for operand in operands)
                return connect.get(node.operator, domain.bit_xor)(one, other, 1)
            case "bvult" | "bvslt" if operands[0].width <= _WIDE:
                signed = node.operator == "bvslt"
                left, right = (self.number(operand, signed) for operand in operands)
                # What was narrower has a sign now, since it may be a difference.
                return domain.less(left, right, _WIDE, signed or operands[0].width < _WIDE)
        return self.moved(node)

    def number(self, node: Expression, signed: bool) -> Expression:
        """A sum in 64 bits."""
        domain, operands = self.domain, node.operands
        if node.operator in _SUMS:
            left, right = (self.number(operand, signed) for operand in operands)
            return _SUMS[node.operator](domain, left, right, _WIDE)
        if node.value is not None:
            return domain.constant(as_signed(node.value, node.width), _WIDE)
        if node.operator == "bvshl" and operands[1].value is not None:
            count = domain.constant(1 << operands[1].value, _WIDE)
            return domain.multiply(self.number(operands[0], signed), count, _WIDE)
        if node.operator == "ite":
            chosen, otherwise = (self.number(operand, signed) for operand in operands[1:])
            return domain.select(self.moved(operands[0]), chosen, otherwise, _WIDE)
        if node is self.step or (node.operator == "concat" and self._is_step(node)):
            return self.at
        return domain.extend(self.moved(node), node.width, _WIDE, signed)

    def _is_step(self, node: Expression) -> bool:
        return domain_extends(node, self.step)

    def moved(self, node: Expression) -> Expression:
        """Anything else, in the other step."""
        domain = self.domain
        if self.step not in order([node]):
            return node
        earlier = domain.extract(self.at, 0, self.step.width)
        return domain.substitute([node], {str(self.step.attribute): earlier})[0]


def domain_extends(node: Expression, inner: Expression) -> bool:
    """Whether a node is another one with zeros above it."""
    return node.operands[0] is inner and all(each.value == 0 for each in node.operands[1:])
