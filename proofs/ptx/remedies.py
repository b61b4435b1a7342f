"""Why arithmetic of 32 bits fails, and the bounds on sizes under which it would not.

A kernel that is right for small sizes may compute an index that leaves 32 bits for large ones. Then
a claim holds under a tighter bound; which one is looked for, and proven before it is named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tylo.proofs.ptx.bitvector import Expression
from tylo.proofs.ptx.folding import as_signed
from tylo.proofs.ptx.nodes import evaluate_each, order
from tylo.proofs.ptx.obligation import Obligation
from tylo.proofs.ptx.scene import Scene

_SUMS = frozenset({"bvadd", "bvsub", "bvmul"})
_SIGNS = {"bvadd": (1, "+"), "bvsub": (1, "-"), "bvmul": (2, "*"), "bvudiv": (2, "/")}
_NARROW = 32
_LEAST_BITS = 8  # of a bound that is worth naming
_LONGEST = 120


def remedy(
    obligation: Obligation, point: Mapping[str, int] | None, holds: Callable[[str], bool]
) -> str:
    """What to say after a failure; empty where nothing wraps at the point at which it was seen."""
    wrapped = None if point is None else _wrapped(obligation.violation, point)
    if wrapped is None:
        return ""
    text = _spelled(obligation.scene, wrapped)
    found = [f"{name} <= {most}" for name, most in _bounds(obligation, holds)]
    way_out = f"; it would hold with {', or with '.join(found)}" if found else ""
    return f"; {text} leaves {wrapped.width} bits{way_out}"


def _wrapped(root: Expression, point: Mapping[str, int]) -> Expression | None:
    """The first sum or product of 32 bits that is not what it is in whole numbers."""
    nodes = [node for node in order([root]) if not node.opaque]
    (values,) = evaluate_each(nodes, [point])
    known = {id(node): value for node, value in zip(nodes, values, strict=True)}
    exact: dict[int, int] = {}
    for node in nodes:
        value = known[id(node)]
        exact[id(node)] = value
        if node.operator == "constant":
            exact[id(node)] = as_signed(value, node.width)
        elif node.operator in _SUMS and node.width == _NARROW:
            left, right = (exact[id(operand)] for operand in node.operands)
            sums = {"bvadd": left + right, "bvsub": left - right, "bvmul": left * right}
            exact[id(node)] = sums[node.operator]
        for each in node.operands:
            signed = node.operator in ("sign_extend", "bvslt")
            zeros = node.operator in ("concat", "bvult") and each.width == _NARROW
            if each.operator in _SUMS and each.width == _NARROW and (signed or zeros):
                value = known[id(each)]
                if exact[id(each)] != (as_signed(value, each.width) if signed else value):
                    return each
    return None


def _bounds(obligation: Obligation, holds: Callable[[str], bool]) -> list[tuple[str, int]]:
    """For each size that helps, the largest power of two up to which the obligation holds."""
    scene, found = obligation.scene, []
    for name in (*scene.sizes, "blocks"):
        low, high = _LEAST_BITS, scene.ranges[name][1].bit_length()
        if not low < high or not holds(obligation.bounded(name, 1 << low, holds)):
            continue
        while low + 1 < high:
            middle = (low + high) // 2
            if holds(obligation.bounded(name, 1 << middle, holds)):
                low = middle
            else:
                high = middle
        found.append((name, 1 << low))
    return found


def _spelled(scene: Scene, node: Expression) -> str:
    """A sum in the words of the claim."""
    names = {str(variable.attribute): name for name, variable in scene.sizes.items()}

    def walk(each: Expression, outer: int) -> str:
        if each.value is not None:
            return str(as_signed(each.value, each.width))
        if each.operator == "variable":
            return names.get(str(each.attribute), str(each.attribute).partition(".")[0])
        if each.operator in _SIGNS:
            binding, sign = _SIGNS[each.operator]
            text = f" {sign} ".join(walk(operand, binding) for operand in each.operands)
            return f"({text})" if binding < outer else text
        if len(each.operands) == 1 or each.operator == "concat":
            return walk(each.operands[0], outer)
        return "..."

    text = walk(node, 0)
    return text if len(text) <= _LONGEST else "an index"
