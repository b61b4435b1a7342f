"""Numbers as sums of products of others, as far as the text of an expression shows them.

Guesses: what may wrap is taken not to, and an extended number for the number that was extended. So
which step an instruction makes is read off its address, where steps lie a number of blocks apart
that no solver would divide by. What is made of it is held against the address.

>>> from tylo.proofs.ptx.bitvector import BitVectors, evaluate
>>> d = BitVectors()
>>> trip, first, stride = (d.extend(d.variable(n, 32), 32, 64, False) for n in "tfs")
>>> made = d.add(d.multiply(trip, d.constant(4, 64), 64), first, 64)
>>> found = quotient(d, d.multiply(made, stride, 64), stride)
>>> evaluate([found], {"t": 5, "f": 2, "s": 7})
[22]
>>> quotient(d, d.add(d.multiply(made, stride, 64), first, 64), stride) is None
True
"""

from __future__ import annotations

from tylo.proofs.ptx.bitvector import BitVectors, Expression
from tylo.proofs.ptx.folding import as_signed
from tylo.proofs.ptx.forms import Form, atom, constant, exact, product, scaled, total
from tylo.proofs.ptx.nodes import order

_WIDTH = 64
_MOST_TERMS = 64


def quotient(domain: BitVectors, dividend: Expression, divisor: Expression) -> Expression | None:
    """What times a divisor seems to be a dividend, in 64 bits; `None` where nothing seems to be."""
    sums = _Sums()
    found = exact(sums.form(dividend), sums.form(divisor))
    return None if found is None else sums.expression(domain, found)


class _Sums:
    def __init__(self) -> None:
        self.nodes: dict[str, Expression] = {}  # by the atoms that they are
        self.forms: dict[Expression, Form] = {}

    def form(self, root: Expression) -> Form:
        for node in order([root], self.forms.__contains__):
            if node not in self.forms:
                found = self._form(node, [self.forms[operand] for operand in node.operands])
                self.forms[node] = self._atom(node) if len(found) > _MOST_TERMS else found
        return self.forms[root]

    def _atom(self, node: Expression) -> Form:
        name = f"e{node.serial}"
        self.nodes[name] = node
        return atom(name)

    def _form(self, node: Expression, below: list[Form]) -> Form:
        amount = node.operands[1].value if len(node.operands) == 2 else None
        match node.operator:
            case "constant":
                return constant(as_signed(int(node.attribute), node.width))
            case "bvadd" | "bvsub":
                return total(below[0], below[1], 1 if node.operator == "bvadd" else -1)
            case "bvmul":
                return product(below[0], below[1])
            case "bvshl" if amount is not None:
                return scaled(below[0], 1 << amount)
            case "sign_extend":
                return below[0]
            case "extract" if not node.attribute:
                return below[0]
            case "concat":
                return self._joined(node, below)
            case "ite":
                return self._chosen(node, below)
        return self._atom(node)

    def _joined(self, node: Expression, below: list[Form]) -> Form:
        found, low = constant(0), 0
        for piece, part in zip(node.operands, below, strict=True):
            found = total(found, scaled(part, 1 << low))
            low += piece.width
        return found

    def _chosen(self, node: Expression, below: list[Form]) -> Form:
        """The other side, and what the one has more where the condition holds, if it has."""
        condition, one, other = node.operands[0], below[1], below[2]
        if condition.operator == "bvxor" and condition.operands[1].value == 1:
            condition, one, other = condition.operands[0], other, one
        if condition.operator == "=":
            left, right = (self.forms[side] for side in condition.operands)
            if exact(total(one, other, -1), total(left, right, -1)) is not None:
                return other
        return total(other, product(self._atom(condition), total(one, other, -1)))

    def expression(self, domain: BitVectors, form: Form) -> Expression:
        result = domain.constant(0, _WIDTH)
        for factors, count in form.items():
            part = domain.constant(count, _WIDTH)
            for name in factors:
                node = self.nodes[name]
                wide = domain.extend(node, node.width, _WIDTH, False)
                part = domain.multiply(part, wide, _WIDTH)
            result = domain.add(result, part, _WIDTH)
        return result
