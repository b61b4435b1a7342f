"""The proof domain: bit-vector expressions over thread, block and base addresses.

Expressions are hash-consed, so that equal ones are the same object. Loaded values and
floating-point results stay structural: a load is a leaf that keeps its address, a rounding is a
named function of its operand. Where such opaque values are shifted, masked and merged into words,
the word is kept as a concatenation of untouched pieces, and a claim about it falls apart into one
claim about each piece's address: solvers never see a memory or a floating-point function.

>>> d = BitVectors()
>>> thread = d.variable("thread", 5)
>>> address = d.multiply(d.extend(thread, 5, 64, False), d.constant(4, 64), 64)
>>> low, high = d.load(address, 16), d.function("cvt.rn.bf16.f32", [d.load(address, 32)], 16)
>>> word = d.bit_or(
...     d.shift_left(d.extend(high, 16, 32, False), d.constant(16, 32), 32),
...     d.extend(low, 16, 32, False),
...     32,
... )
>>> [(piece.operator, piece.width) for piece in pieces(word)]
[('load', 16), ('function', 16)]
>>> evaluate([address], {"thread": 3})
[12]
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tylo.layouts.errors import PtxError
from tylo.proofs.ptx.divisions import same_division
from tylo.proofs.ptx.folding import FOLD, as_signed
from tylo.proofs.ptx.nodes import (
    Expression,
    boundaries,
    coefficient,
    evaluate,
    factors,
    order,
    pieces,
)

__all__ = ["BitVectors", "Expression", "evaluate", "order", "pieces"]

# Right operands that leave the left one as it is, and those that decide the result alone.
_NEUTRAL = {"bvadd": 0, "bvsub": 0, "bvor": 0, "bvxor": 0, "bvshl": 0, "bvlshr": 0, "bvashr": 0}
_MOST_SUBSTITUTIONS = 64
_BITWISE = frozenset({"bvand", "bvor", "bvxor"})
_COMMUTATIVE = _BITWISE | {"bvadd", "bvmul", "="}


class BitVectors:
    """The `Domain` of expressions; one instance owns its nodes."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[Any, ...], Expression] = {}
        self._chosen: dict[tuple[int, int, int], Expression] = {}
        self._substituted: dict[tuple[tuple[str, int], ...], dict[Expression, Expression]] = {}

    def _node(
        self, operator: str, attribute: int | str, operands: tuple[Expression, ...], width: int
    ) -> Expression:
        key = (operator, attribute, width, *map(id, operands))
        if key not in self._nodes:
            self._nodes[key] = Expression(operator, attribute, operands, width, len(self._nodes))
        return self._nodes[key]

    def constant(self, value: int, width: int) -> Expression:
        return self._node("constant", value % (1 << width), (), width)

    def variable(self, name: str, width: int) -> Expression:
        return self._node("variable", name, (), width)

    def load(self, address: Expression, width: int) -> Expression:
        """The initial content of memory at an address."""
        return self._node("load", "", (address,), width)

    def function(self, name: str, operands: list[Expression], width: int) -> Expression:
        return self._node("function", name, tuple(operands), width)

    def by_pieces(self, value: Expression) -> bool:
        """Whether shifts and masks of a value are kept as pieces of it.

        So they are of a thread some bits of whose number are those of any lane: the others remain.
        """
        if value.opaque or value.operator != "concat":
            return value.opaque
        return any(name.startswith("origin.") for name in value.variables)

    @staticmethod
    def _fits(name: str, parts: Sequence[Expression], widths: Sequence[int]) -> None:
        if any(part.width != width for part, width in zip(parts, widths, strict=True)):
            found = [part.width for part in parts]
            raise PtxError(f"{name} of {found} bits at widths {list(widths)}")

    def _binary(self, operator: str, left: Expression, right: Expression, width: int) -> Expression:
        if left.width != width or right.width != width:
            raise PtxError(f"{operator} of {left.width} and {right.width} bits at width {width}")
        result = 1 if operator in ("=", "bvult", "bvslt") else width
        a, b = left.value, right.value
        if a is not None and b is not None:
            return self.constant(FOLD[operator](width, a, b), result)
        if a is not None and operator in _COMMUTATIVE:
            left, right, a, b = right, left, b, a
        if b is not None and (_NEUTRAL.get(operator) == b or (operator == "bvmul" and b == 1)):
            return left
        if operator in ("bvadd", "bvxor") and b is not None and left.operator == operator:
            inner = left.operands[1].value
            if inner is not None:
                both = inner + b if operator == "bvadd" else inner ^ b
                return self._binary(operator, left.operands[0], self.constant(both, width), width)
        return self._node(operator, "", (left, right), result)

    def add(self, left: Expression, right: Expression, width: int) -> Expression:
        if left is right:
            return self.shift_left(left, self.constant(1, width), width)
        return self._merge("bvadd", left, right, width) or self._binary("bvadd", left, right, width)

    def subtract(self, left: Expression, right: Expression, width: int) -> Expression:
        if left is right:
            return self.constant(0, width)
        for quotient, divisor in factors(right):
            # How compilers spell it; of a division by zero all of the dividend is left either way.
            if quotient.operator == "bvudiv" and quotient.operands == (left, divisor):
                return self.remainder(left, divisor, width, False)
        rest = self._without(left, right)
        return self._binary("bvsub", left, right, width) if rest is None else rest

    def _without(self, total: Expression, summand: Expression) -> Expression | None:
        """What is left of a sum when one summand is taken away; `None` where it is not there."""
        if total.operator != "bvadd":
            return None
        left, right = total.operands
        if left is summand:
            return right
        if right is summand:
            return left
        for inner, other in ((left, right), (right, left)):
            rest = self._without(inner, summand)
            if rest is not None:
                return self.add(rest, other, total.width)
        return None

    def multiply(self, left: Expression, right: Expression, width: int) -> Expression:
        if left.value is None and right.value is None and left.width == right.width == width:
            # Constants move outwards and factors are put in order, so that what is the same
            # product is the same node, which solvers need not look into.
            (left, a), (right, b) = coefficient(left), coefficient(right)
            left, right = sorted((left, right), key=lambda factor: factor.serial)
            product = self._binary("bvmul", left, right, width)
            return self._binary("bvmul", product, self.constant(a * b, width), width)
        if left.value is not None and left.width == right.width:
            left, right = right, left
        if right.value is not None and left.width == right.width == width:
            left, a = coefficient(left)
            right = self.constant(a * right.value, width)
        return self._binary("bvmul", left, right, width)

    def multiply_high(
        self, left: Expression, right: Expression, width: int, signed: bool
    ) -> Expression:
        wide = 2 * width
        product = self.multiply(
            self.extend(left, width, wide, signed), self.extend(right, width, wide, signed), wide
        )
        return self.extract(product, width, width)

    def divide(self, left: Expression, right: Expression, width: int, signed: bool) -> Expression:
        if right.value == 1 and left.width == right.width == width > signed:
            return left
        return self._binary("bvsdiv" if signed else "bvudiv", left, right, width)

    def remainder(
        self, left: Expression, right: Expression, width: int, signed: bool
    ) -> Expression:
        return self._binary("bvsrem" if signed else "bvurem", left, right, width)

    def bit_and(self, left: Expression, right: Expression, width: int) -> Expression:
        for value, other in ((left.value, right), (right.value, left)):
            if value == 0:
                return self.constant(0, width)
            if value == (1 << width) - 1:
                return other
        return self._merge("bvand", left, right, width) or self._binary("bvand", left, right, width)

    def bit_or(self, left: Expression, right: Expression, width: int) -> Expression:
        return self._merge("bvor", left, right, width) or self._binary("bvor", left, right, width)

    def bit_xor(self, left: Expression, right: Expression, width: int) -> Expression:
        return self._merge("bvxor", left, right, width) or self._binary("bvxor", left, right, width)

    def shift_left(self, value: Expression, amount: Expression, width: int) -> Expression:
        count = amount.value
        if self.by_pieces(value) and count is not None:
            count = min(count, width)
            kept = [] if count == width else [self.extract(value, 0, width - count)]
            return self._concatenation([self.constant(0, count)] * (count > 0) + kept)
        if value.product and count is not None and count < width:
            return self.multiply(value, self.constant(1 << count, width), width)
        return self._binary("bvshl", value, amount, width)

    def shift_right(
        self, value: Expression, amount: Expression, width: int, signed: bool
    ) -> Expression:
        count = amount.value
        if self.by_pieces(value) and count is not None and not signed:
            count = min(count, width)
            kept = [] if count == width else [self.extract(value, count, width - count)]
            return self._concatenation(kept + [self.constant(0, count)] * (count > 0))
        return self._binary("bvashr" if signed else "bvlshr", value, amount, width)

    def extend(self, value: Expression, width: int, to: int, signed: bool) -> Expression:
        self._fits("extension", (value,), (width,))
        if to == width:
            return value
        if value.value is not None:
            number = as_signed(value.value, width) if signed else value.value
            return self.constant(number, to)
        if signed:
            return self._node("sign_extend", "", (value,), to)
        return self._concatenation([value, self.constant(0, to - width)])

    def extract(self, value: Expression, low: int, width: int) -> Expression:
        if low == 0 and width == value.width:
            return value
        if value.value is not None:
            return self.constant(value.value >> low, width)
        if value.operator == "extract":
            return self.extract(value.operands[0], int(value.attribute) + low, width)
        if value.operator == "concat":
            found, start = [], 0
            for piece in value.operands:
                first, last = max(low, start), min(low + width, start + piece.width)
                if first < last:
                    found.append(self.extract(piece, first - start, last - first))
                start += piece.width
            return self._concatenation(found)
        if value.operator == "ite" and value.opaque:
            key = value.serial, low, width
            if key not in self._chosen:
                # Selections share operands: without memory their number would double and double.
                condition, chosen, otherwise = value.operands
                self._chosen[key] = self.select(
                    condition,
                    self.extract(chosen, low, width),
                    self.extract(otherwise, low, width),
                    width,
                )
            return self._chosen[key]
        if value.operator in _BITWISE and value.opaque:
            return self._rebuilt(value, [self.extract(o, low, width) for o in value.operands], {})
        return self._node("extract", low, (value,), width)

    def concatenate(self, parts: list[Expression], widths: list[int]) -> Expression:
        self._fits("concatenation", parts, widths)
        return self._concatenation(parts)

    def _concatenation(self, parts: Iterable[Expression]) -> Expression:
        flat: list[Expression] = []
        for part in itertools.chain.from_iterable(map(pieces, parts)):
            last = flat[-1] if flat else None
            if last is not None and last.value is not None and part.value is not None:
                both = last.value | part.value << last.width
                flat[-1] = self.constant(both, last.width + part.width)
            elif (
                last is not None
                and last.operator == part.operator == "extract"
                and last.operands == part.operands
                and int(last.attribute) + last.width == part.attribute
            ):
                flat[-1] = self.extract(
                    last.operands[0], int(last.attribute), last.width + part.width
                )
            else:
                flat.append(part)
        if len(flat) == 1:
            return flat[0]
        return self._node("concat", "", tuple(flat), sum(part.width for part in flat))

    def _merge(
        self, operator: str, left: Expression, right: Expression, width: int
    ) -> Expression | None:
        """A word made of opaque pieces, where each bit comes from one side alone."""
        if not (self.by_pieces(left) or self.by_pieces(right)):
            return None
        cuts = sorted({*boundaries(left), *boundaries(right)})
        merged = []
        for low, high in itertools.pairwise(cuts):
            size = high - low
            a, b = self.extract(left, low, size), self.extract(right, low, size)
            if a.value is not None:
                a, b = b, a
            if b.value == 0:
                merged.append(b if operator == "bvand" else a)
            elif operator == "bvand" and b.value == (1 << size) - 1:
                merged.append(a)
            else:
                return None
        return self._concatenation(merged)

    def equal(self, left: Expression, right: Expression, width: int) -> Expression:
        if left is right:
            return self.constant(1, 1)
        if left.operator == "ite" and right.value is not None and left.width > 1:
            # A condition that was made a number, and is asked for again.
            condition, *sides = left.operands
            if all(side.value is not None for side in sides):
                first, second = (self.constant(s.value == right.value, 1) for s in sides)
                if first is second:
                    return first
                return condition if first.value else self.bit_xor(condition, second, 1)
        return self._binary("=", left, right, width)

    def less(self, left: Expression, right: Expression, width: int, signed: bool) -> Expression:
        if left is right or (right.value == 0 and not signed):
            return self.constant(0, 1)
        return self._binary("bvslt" if signed else "bvult", left, right, width)

    def select(
        self, condition: Expression, chosen: Expression, otherwise: Expression, width: int
    ) -> Expression:
        self._fits("ite", (condition, chosen, otherwise), (1, width, width))
        if condition.value is not None:
            return chosen if condition.value else otherwise
        if chosen is otherwise:
            return chosen
        if width == 1 and chosen.value is not None:
            decides = self.bit_xor(condition, self.constant(1 - chosen.value, 1), 1)
            return (self.bit_or if chosen.value else self.bit_and)(decides, otherwise, 1)
        if width == 1 and otherwise.value is not None:
            decides = self.bit_xor(condition, self.constant(otherwise.value, 1), 1)
            return (self.bit_or if otherwise.value else self.bit_and)(decides, chosen, 1)
        if same_division(condition, chosen, otherwise, self.extract):
            return otherwise
        return self._node("ite", "", (condition, chosen, otherwise), width)

    def substitute(
        self, roots: Sequence[Expression], values: Mapping[str, Expression]
    ) -> list[Expression]:
        """The expressions with variables replaced by expressions of the same width."""
        # What is substituted once is mostly substituted again, in another condition.
        if len(self._substituted) > _MOST_SUBSTITUTIONS:
            self._substituted.clear()
        key = tuple(sorted((name, value.serial) for name, value in values.items()))
        found = self._substituted.setdefault(key, {})
        for node in order(roots, found.__contains__):
            if node not in found:
                found[node] = self._rebuilt(node, [found[o] for o in node.operands], values)
        return [found[root] for root in roots]

    def replace(self, root: Expression, parts: Mapping[Expression, Expression]) -> Expression:
        """The expression with parts of it replaced by others of the same width."""
        found: dict[int, Expression] = {}
        for node in order([root], parts.__contains__):
            found[id(node)] = (
                parts[node]
                if node in parts
                else self._rebuilt(node, [found[id(o)] for o in node.operands], {})
            )
        return found[id(root)]

    def _rebuilt(
        self, node: Expression, operands: list[Expression], values: Mapping[str, Expression]
    ) -> Expression:
        width = operands[0].width if node.operator in _BITWISE else node.width
        match node.operator:
            case "variable":
                return values.get(str(node.attribute), node)
            case "constant":
                return node
            case "concat":
                return self._concatenation(operands)
            case "extract":
                return self.extract(operands[0], int(node.attribute), width)
            case "sign_extend":
                return self.extend(operands[0], operands[0].width, width, True)
            case "ite":
                return self.select(operands[0], operands[1], operands[2], width)
            case "=":
                return self.equal(operands[0], operands[1], operands[0].width)
            case "bvult" | "bvslt":
                signed = node.operator == "bvslt"
                return self.less(operands[0], operands[1], operands[0].width, signed)
            case "bvadd":
                return self.add(operands[0], operands[1], width)
            case "bvsub":
                return self.subtract(operands[0], operands[1], width)
            case "bvmul":
                return self.multiply(operands[0], operands[1], width)
            case "bvand":
                return self.bit_and(operands[0], operands[1], width)
            case "bvor":
                return self.bit_or(operands[0], operands[1], width)
            case "bvshl":
                return self.shift_left(operands[0], operands[1], width)
            case "bvlshr":
                return self.shift_right(operands[0], operands[1], width, False)
            case operator if operator in FOLD:
                return self._binary(operator, operands[0], operands[1], width)
        return self._node(node.operator, node.attribute, tuple(operands), width)
