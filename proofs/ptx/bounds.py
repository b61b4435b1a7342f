"""Bounds on nodes from bounds on variables, as far as they can be told without what is assumed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tylo.layouts.errors import PtxError
from tylo.proofs.ptx.nodes import Expression, bound, order, pieces

_MOST_CONDITIONS = 200


class Bounds:
    """The largest and the least value of each node that was measured, operands first."""

    def __init__(self, maxima: Mapping[str, int], minima: Mapping[str, int]) -> None:
        self.maxima, self.minima = maxima, minima
        self.most: dict[int, int] = {}
        self.least: dict[int, int] = {}

    def measure(self, node: Expression) -> None:
        if node.opaque:
            raise PtxError(f"a condition depends on memory through {node.operator}")
        most = [self.most[id(operand)] for operand in node.operands]
        self.most[id(node)] = min(bound(node, self.maxima, most), (1 << node.width) - 1)
        self._bound_below(node)

    def _bound_below(self, node: Expression) -> None:
        """Of what a value surely exceeds, enough to divide by sizes that are not zero."""
        least, operands = 0, node.operands
        match node.operator:
            case "variable":
                least = self.minima.get(str(node.attribute), 0)
            case "extract" if not node.attribute and self.most[id(operands[0])] < 1 << node.width:
                least = self.least[id(operands[0])]
            case "concat":
                least = self.least[id(operands[0])]
            case "bvudiv" if divisor := self.least[id(operands[1])]:
                most = self.most[id(operands[0])] // divisor
                self.most[id(node)] = min(self.most[id(node)], most)
            case "bvurem" if self.least[id(operands[1])]:
                most = self.most[id(operands[1])] - 1
                self.most[id(node)] = min(self.most[id(node)], most)
        self.least[id(node)] = least

    def is_zero(self, node: Expression) -> bool:
        """Whether bounds say that a node is zero, whatever lies below it."""
        return node.width > 1 and not self.most[id(node)]


def multiples(conditions: Iterable[Expression]) -> dict[str, int]:
    """Variables that must be multiples of a number, by conditions such as ``n % 4 < 1``."""
    found = {}
    for each in conditions:
        if each.operator in ("bvult", "bvslt") and each.operands[1].value == 1:
            rest = each.operands[0]
            if rest.operator == "bvurem" and rest.operands[1].value:
                (variable, *zeros), by = pieces(rest.operands[0]), rest.operands[1].value
                if variable.operator == "variable" and all(piece.value == 0 for piece in zeros):
                    found[str(variable.attribute)] = by
    return found


def conjuncts(conditions: Iterable[Expression]) -> list[Expression]:
    """What must all be one: what is made of little first, as others are judged by it."""
    found: dict[Expression, int] = {}
    waiting = list(conditions)
    while waiting:
        each = waiting.pop()
        if each.operator == "bvand" and len(found) + len(waiting) < _MOST_CONDITIONS:
            waiting += each.operands
        else:
            found[each] = len(order([each]))
    return sorted(found, key=lambda each: (found[each], each.serial))
