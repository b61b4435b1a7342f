"""The nodes of bit-vector expressions: their order, their values, and bounds on them.

>>> from tylo.proofs.ptx.bitvector import BitVectors
>>> d = BitVectors()
>>> thread = d.variable("thread", 5)
>>> twice = d.multiply(d.extend(thread, 5, 32, False), d.constant(2, 32), 32)
>>> evaluate([twice], {"thread": 3}), ceiling(twice, {"thread": 30})
([6], 60)
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping

from tylo.layouts.errors import PtxError
from tylo.proofs.ptx.folding import FOLD, as_signed

_DIVISIONS = frozenset({"bvudiv", "bvurem", "bvsdiv", "bvsrem"})


class Expression:
    """A node: `operator` (an SMT-LIB one where there is one), `operands`, and the result's width.

    `attribute` is the value of a constant, the name of a variable or function, or the low bit of
    an extraction. `opaque` says that the value depends on memory, `product` that a product of two
    values that vary is part of it, or a quotient; `serial` is the order of making.
    """

    __slots__ = ("attribute", "opaque", "operands", "operator", "product", "serial", "width")

    def __init__(
        self,
        operator: str,
        attribute: int | str,
        operands: tuple[Expression, ...],
        width: int,
        serial: int,
    ) -> None:
        self.operator = operator
        self.attribute = attribute
        self.operands = operands
        self.width = width
        self.serial = serial
        self.product: bool = self.nonlinear or any(o.product for o in operands)
        self.opaque: bool = operator in ("load", "function") or any(o.opaque for o in operands)

    @property
    def nonlinear(self) -> bool:
        """Whether this is a product of two values that both vary, or a quotient."""
        if self.operator in _DIVISIONS:
            return self.operands[1].value is None
        return self.operator == "bvmul" and all(o.value is None for o in self.operands)

    @property
    def value(self) -> int | None:
        """The number that a constant is."""
        return self.attribute if isinstance(self.attribute, int) and not self.operands else None


def pieces(expression: Expression) -> tuple[Expression, ...]:
    """The parts of a concatenation, least significant first; anything else is its own piece."""
    return expression.operands if expression.operator == "concat" else (expression,)


def ceiling(value: Expression, maxima: Mapping[str, int]) -> int:
    """A bound on a value, from bounds on variables."""
    found: dict[int, int] = {}
    for node in order([value]):
        most = (1 << node.width) - 1
        found[id(node)] = min(bound(node, maxima, [found[id(o)] for o in node.operands]), most)
    return found[id(value)]


def bound(node: Expression, maxima: Mapping[str, int], most: list[int]) -> int:
    """A bound from bounds on the operands; what may wrap exceeds the width, and is cut off."""
    right = node.operands[1].value if len(node.operands) == 2 else None
    match node.operator:
        case "constant":
            return int(node.attribute)
        case "variable":
            return maxima.get(str(node.attribute), 1 << 64)
        case "concat":
            lows = itertools.accumulate((piece.width for piece in node.operands), initial=0)
            return sum(bound << low for bound, low in zip(most, lows, strict=False))
        case "extract":
            return most[0] >> int(node.attribute)
        case "ite":
            condition, *sides = node.operands
            # The lesser of two values.
            lesser = condition.operator == "bvult" and list(condition.operands) == sides
            return min(most[1:]) if lesser else max(most[1:])
        case "bvadd":
            return most[0] + most[1]
        case "bvmul":
            return most[0] * most[1]
        case "bvand" if right and most[0] < right & -right:
            return 0
        case "bvand":
            return min(most)
        case "bvor" | "bvxor":
            return (1 << max(most).bit_length()) - 1
        case "bvudiv" if right:
            return most[0] // right
        case "bvurem":
            return right - 1 if right else most[0]
        case "bvshl" if right is not None:
            return most[0] << min(right, node.width)
        case "bvlshr" if right is not None:
            return most[0] >> min(right, node.width)
    return 1 << node.width


def order(
    roots: Iterable[Expression], ends: Callable[[Expression], bool] = lambda node: False
) -> list[Expression]:
    """Every node below the roots, operands first, but for those below where it `ends`."""
    seen: set[int] = set()
    result: list[Expression] = []
    stack = [(root, False) for root in roots]
    while stack:
        node, ready = stack.pop()
        if ready:
            result.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            if not ends(node):
                stack.extend((operand, False) for operand in node.operands)
    return result


def evaluate(roots: list[Expression], values: Mapping[str, int]) -> list[int]:
    """The numbers that expressions without opaque parts have where each variable has a value."""
    (result,) = evaluate_each(roots, [values])
    return result


def evaluate_each(
    roots: list[Expression], points: Iterable[Mapping[str, int]]
) -> Iterator[list[int]]:
    """`evaluate` at several points."""
    nodes = [(id(node), node, [id(operand) for operand in node.operands]) for node in order(roots)]
    for values in points:
        found: dict[int, int] = {}
        for key, node, operands in nodes:
            found[key] = _number(node, values, [found[operand] for operand in operands])
        yield [found[id(root)] for root in roots]


def _number(node: Expression, values: Mapping[str, int], operands: list[int]) -> int:
    match node.operator:
        case "constant":
            return int(node.attribute)
        case "variable":
            return values[str(node.attribute)]
        case "extract":
            return operands[0] >> int(node.attribute) & ((1 << node.width) - 1)
        case "sign_extend":
            return as_signed(operands[0], node.operands[0].width) % (1 << node.width)
        case "ite":
            return operands[1] if operands[0] else operands[2]
        case "concat":
            value, start = 0, 0
            for operand, piece in zip(operands, node.operands, strict=True):
                value |= operand << start
                start += piece.width
            return value
        case operator if operator in FOLD:
            return FOLD[operator](node.operands[0].width, *operands)
    raise PtxError(f"the value depends on memory through {node.operator}")
