"""Computed values: what flows into them.

The value of a `computed` part is not proven. Where it comes from is: every load that it is made
of, through floating-point instructions, shuffles, shared memory, and what loops carry from step to
step, reads a buffer that the effect names, and inside the range of bytes that the effect gives for
it. A load of another lane, or of another thread of the block, is held against the range of the
thread that stores: so "the elements of its own row" can be said, and is proven for a reduction over
a warp.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tylo.layouts.terms import show
from tylo.proofs.effects import Part, Source
from tylo.proofs.ptx.bitvector import Expression, evaluate
from tylo.proofs.ptx.scene import Scene
from tylo.proofs.ptx.symbolic import Access

Compared = tuple[str, Expression, "Expression | str", "Expression | str"]
_LANES = 5
_TOGETHER = 4  # loads that one obligation speaks of


@dataclass(frozen=True, slots=True)
class Leaf:
    """A load that a value is made of, where it is chosen, and which thread loads it."""

    load: Expression
    condition: Expression
    thread: Expression


def origins(
    scene: Scene,
    label: str,
    guard: Expression,
    value: Expression,
    part: Part,
    loads: Sequence[Access],
) -> Iterator[Compared]:
    """For each load below a computed value: that the effect lets it flow in."""
    allowed = {source.buffer: source for source in part.sources}
    guards = _guards(scene, loads)
    ranged: dict[str, list[tuple[Expression, Expression]]] = {}
    for leaf in _leaves(scene, value):
        address = leaf.load.operands[0]
        (sample,) = evaluate([address], scene.point(0, 0))
        place = scene.place(sample)
        found = place[0].name if place else "no buffer"
        if found not in allowed:
            yield label, guard, f"a load from {found}", f"{part}"
            continue
        source = allowed[found]
        if source.first is not None and source.end is not None:
            taken = scene.domain.bit_and(guards.get(id(address), leaf.condition), leaf.condition, 1)
            ranged.setdefault(found, []).append((_outside(scene, leaf, taken, source), address))
    for found, outside in ranged.items():
        source = allowed[found]
        assert source.first is not None
        assert source.end is not None
        wanted = f"{found} from byte {show(source.first)} to {show(source.end)}"
        # Many at once: what they have in common is asked once.
        distinct = list(dict.fromkeys(outside))
        for start in range(0, len(distinct), _TOGETHER):
            several = distinct[start : start + _TOGETHER]
            anything = scene.domain.constant(0, 1)
            for violation, _ in several:
                anything = scene.domain.bit_or(anything, violation, 1)
            yield label, anything, several[0][1], wanted


def _guards(scene: Scene, loads: Sequence[Access]) -> dict[int, Expression]:
    """Where each address is loaded from."""
    found: dict[int, Expression] = {}
    for access in loads:
        for start in range(0, access.bits // 8):
            address = scene.domain.add(access.address, scene.domain.constant(start, 64), 64)
            known = found.get(id(address))
            found[id(address)] = (
                access.guard if known is None else scene.domain.bit_or(known, access.guard, 1)
            )
    return found


def _outside(scene: Scene, leaf: Leaf, taken: Expression, source: Source) -> Expression:
    """Whether the load lies outside the range that the storing thread may use."""
    domain = scene.domain
    assert source.first is not None
    assert source.end is not None
    size = leaf.load.width // 8
    offset = domain.subtract(leaf.load.operands[0], scene.bases[source.buffer], 64)
    if leaf.thread is not scene.thread:
        taken, offset = scene.at_thread([taken, offset], leaf.thread)
    first, end = scene.value(source.first), scene.value(source.end)
    last = domain.add(offset, domain.constant(size, 64), 64)
    outside = domain.bit_or(
        domain.less(offset, first, 64, False), domain.less(end, last, 64, False), 1
    )
    return domain.bit_and(taken, outside, 1)


def _leaves(scene: Scene, value: Expression) -> list[Leaf]:
    """Every load below a value, with the thread that loads it.

    What came through a shuffle may be of any lane of the warp; what came through shared memory is
    of the thread that was proven to have written it.
    """
    always = scene.domain.constant(1, 1)
    found: dict[tuple[int, int, int], Leaf] = {}
    seen: set[tuple[int, int, int]] = set()
    stack = [(value, always, scene.thread, 0)]
    while stack:
        node, condition, thread, crossed = stack.pop()
        key = id(node), id(condition), id(thread)
        if key in seen or not node.opaque:
            continue
        seen.add(key)
        name = str(node.attribute) if node.operator == "function" else ""
        if node.operator == "load":
            found[key] = Leaf(node, condition, thread)
        elif name == "shared":
            inner, origin = node.operands
            writer = scene.domain.extract(origin, 0, scene.thread.width)
            if thread is not scene.thread:
                (writer,) = scene.at_thread([writer], thread)
            stack.append((inner, always, writer, crossed + 1))
        elif name == "shuffled" or ".sync" in name:
            # One variable for each time that shared memory was crossed: lanes are independent.
            lane = scene.domain.variable(f"origin.{crossed}", _LANES)
            scene.made.setdefault(str(lane.attribute), lane)
            anyone = _any_lane(scene, thread, lane)
            stack += [(operand, always, anyone, crossed) for operand in node.operands]
        elif name in scene.sources:
            # What a loop carries is made of what it was before, and of any step's.
            stack += [(source, always, thread, crossed) for source in scene.sources[name]]
        elif node.operator == "ite" and not node.operands[0].opaque:
            chosen, first, second = node.operands
            refused = scene.negate(chosen)
            stack.append((first, scene.domain.bit_and(condition, chosen, 1), thread, crossed))
            stack.append((second, scene.domain.bit_and(condition, refused, 1), thread, crossed))
        else:
            stack += [(operand, condition, thread, crossed) for operand in node.operands]
    return list(found.values())


def _any_lane(scene: Scene, thread: Expression, lane: Expression) -> Expression:
    """Any thread of a thread's warp."""
    domain = scene.domain
    if thread.width <= _LANES:
        return domain.extract(lane, 0, thread.width)
    warp = domain.extract(thread, _LANES, thread.width - _LANES)
    return domain.concatenate([lane, warp], [lane.width, warp.width])
