"""Where nothing flows into a computed value: what is stored there is a constant.

A value that is computed from buffers is made of some element of each, whatever thread, size and
block. So a selection has to choose something that is made of a load, under its condition; an
operation is, if one of its operands is. Where memory decides, the value depends on memory. Of what
comes from other lanes, through shared memory, or from the steps before, it is asked whether a load
is part of it anywhere, not under which condition: that is the limit of what is shown here.

>>> from tylo.proofs.effects import Buffer, Effect
>>> from tylo.proofs.ptx.scene import build
>>> scene = build(Effect("k", 4, (Buffer("x", "in", 32, 4, 16),), ()))
>>> domain = scene.domain
>>> load, zero = domain.load(scene.bases["x"], 32), domain.constant(0, 32)
>>> first = domain.equal(scene.thread, domain.constant(0, 2), 2)
>>> chosen = domain.select(first, zero, domain.function("ex2.approx.f32", [load], 32), 32)
>>> empty(scene, chosen, "x") is first, empty(scene, zero, "x").value, empty(scene, load, "x").value
(True, 1, 0)
"""

from __future__ import annotations

from tylo.proofs.ptx.bitvector import Expression
from tylo.proofs.ptx.nodes import order
from tylo.proofs.ptx.scene import Scene

_CHOICE = "choice."  # variables that stand for what memory says


def empty(scene: Scene, value: Expression, buffer: str) -> Expression:
    """Whether no load of a buffer is part of a value, as one bit."""
    found: dict[Expression, Expression] = {}
    for node in order([value]):
        found[node] = _empty(scene, node, buffer, found)
    return found[value]


def _empty(
    scene: Scene, node: Expression, buffer: str, found: dict[Expression, Expression]
) -> Expression:
    domain = scene.domain
    if node.operator == "load":
        return domain.constant(int(not _is_of(scene, node, buffer)), 1)
    if _crosses(scene, node):
        return domain.constant(int(not _is_made_of(scene, node, buffer)), 1)
    if node.operator == "ite":
        chosen, first, second = node.operands
        if any(name.startswith(_CHOICE) for name in chosen.variables):
            return domain.constant(0, 1)
        if not chosen.opaque:
            one = domain.bit_and(chosen, found[first], 1)
            other = domain.bit_and(scene.negate(chosen), found[second], 1)
            return domain.bit_or(one, other, 1)
    return scene.all_of(found[operand] for operand in node.operands)


def _is_of(scene: Scene, load: Expression, buffer: str) -> bool:
    place = scene.buffer_of(load.operands[0])
    return place is not None and place.name == buffer


def _crosses(scene: Scene, node: Expression) -> bool:
    """Whether a value comes from elsewhere than this thread in this step."""
    name = str(node.attribute) if node.operator == "function" else ""
    return name in ("shared", "shuffled") or ".sync" in name or name in scene.sources


def _is_made_of(scene: Scene, root: Expression, buffer: str) -> bool:
    seen: set[Expression] = set()
    waiting = [root]
    while waiting:
        for node in order([waiting.pop()], seen.__contains__):
            if node.operator == "load" and _is_of(scene, node, buffer):
                return True
            if node not in seen:
                seen.add(node)
                waiting += scene.sources.get(str(node.attribute), ())
    return False
