"""Computed values: what flows into them.

The value of a `computed` part is not proven. Where it comes from is: every load that it is made
of, through floating-point instructions, shuffles, shared memory, and what loops carry from step to
step, reads a buffer that the effect names, and inside the range of bytes that the effect gives for
it. A load of another lane, or of another thread of the block, is held against the range of the
thread that stores: so "the elements of its own row" can be said, and is proven for a reduction over
a warp. That some load of each does flow in, so that no constant is stored instead, is asked
too (`emptiness`), unless the effect says that the value may be a constant.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tylo.layouts.terms import names, show
from tylo.proofs.effects import Part, Source
from tylo.proofs.ptx.bitvector import Expression
from tylo.proofs.ptx.by_thread import flags, parted, values
from tylo.proofs.ptx.complete import Reached, flowing, left_out
from tylo.proofs.ptx.contract import extent
from tylo.proofs.ptx.emptiness import empty
from tylo.proofs.ptx.flows import flow, inside
from tylo.proofs.ptx.load_guards import LoadGuards
from tylo.proofs.ptx.nodes import evaluate_each, order
from tylo.proofs.ptx.scene import Scene
from tylo.proofs.ptx.thread_sums import under
from tylo.proofs.ptx.together import together

# A value, where it is chosen, the thread that has it, where the thread that stores has it from
# there, and how often shared memory was crossed.
_Place = tuple[Expression, Expression, Expression, Expression, int]

Compared = tuple[str, Expression, "Expression | str", "Expression | str"]
_LANES = 5
_ALL = 31  # the bits of a lane


@dataclass(frozen=True, slots=True)
class Leaf:
    """A load that a value is made of, where it is chosen, and which thread loads it.

    The `condition` is that of the thread that loads; of the thread that stores it is known `where`
    the value comes from there.
    """

    load: Expression
    condition: Expression
    thread: Expression
    where: Expression


def origins(
    scene: Scene,
    label: str,
    guard: Expression,
    value: Expression,
    part: Part,
    guards: LoadGuards,
) -> Iterator[Compared]:
    """For each load below a computed value: that the effect lets it flow in; for each source, that
    a load of it does.
    """
    for source in () if part.constant else part.sources:
        nothing = scene.domain.bit_and(guard, empty(scene, value, source.buffer), 1)
        if nothing.value != 0:
            yield label, nothing, f"nothing of {source.buffer}", f"{part}"
    allowed = {source.buffer: source for source in part.sources}
    for source in part.sources:
        for violation in _left_out(scene, guard, value, source, guards) if source.whole else ():
            yield "whole", violation, *_of_all(source)
    known = flow(scene, value, guards.anywhere)
    settled = {
        name
        for name, source in allowed.items()
        if known is not None and inside(scene, guard, known, source)
    }
    if known is not None and settled >= known.keys():
        never = scene.domain.constant(0, 1)
        for name in sorted(known):
            yield label, never, f"bytes of {name}", f"{part}"
        return
    # By buffer, and whether the thread that stores loads: what others do is the same for all of its
    # stores, and asked once.
    ranged: dict[tuple[str, bool], list[tuple[Expression, Expression]]] = {}
    skipped: list[tuple[Expression, Source]] = []
    for leaf in _leaves(scene, value):
        address = leaf.load.operands[0]
        place = scene.buffer_of(address)
        found = place.name if place else "no buffer"
        if found in settled:
            continue
        if found not in allowed:
            yield label, guard, f"a load from {found}", f"{part}"
            continue
        source = allowed[found]
        if source.first is not None and source.end is not None:
            taken = scene.domain.bit_and(
                guards.anywhere.get(address, leaf.condition), leaf.condition, 1
            )
            if source.whole:
                skipped.append((_skipped(scene, leaf, guard, guards, source), source))
            key = found, leaf.thread is scene.thread
            ranged.setdefault(key, []).append((_outside(scene, leaf, taken, source), address))
    for violation, source in dict.fromkeys(skipped):
        yield "whole", violation, *_of_all(source)
    for (found, _), outside in ranged.items():
        source = allowed[found]
        assert source.first is not None
        assert source.end is not None
        wanted = f"{found} from byte {show(source.first)} to {show(source.end)}"
        if source.count != 1:
            wanted += f", and {show(source.count)} times {show(source.apart)} bytes on"
        for anything, address in together(scene, source, outside):
            yield label, anything, address, wanted


def _outside(scene: Scene, leaf: Leaf, taken: Expression, source: Source) -> Expression:
    """Whether the load lies outside the range that the storing thread may use."""
    domain = scene.domain
    assert source.first is not None
    assert source.end is not None
    size = leaf.load.width // 8
    offset = under(scene, _offset(scene, leaf.load, source), taken)
    if leaf.thread is not scene.thread:
        before = [offset, scene.value(source.first)]
        taken, offset = scene.at_thread([taken, offset], leaf.thread)
        taken, offset = _respelled(scene, [taken, offset], before, leaf.where)
        taken = domain.bit_and(taken, leaf.where, 1)
    first, end = scene.value(source.first), scene.value(source.end)
    outside = domain.constant(0, 1)
    if source.count != 1:
        extent(scene.ranges, source.end + source.apart * source.count)  # so that nothing wraps
        which, count = _which(scene, offset, source), scene.value(source.count)
        outside = scene.negate(domain.less(which, count, 64, False))
        moved = domain.multiply(which, scene.value(source.apart), 64)
        first, end = domain.add(first, moved, 64), domain.add(end, moved, 64)
    last = domain.add(offset, domain.constant(size, 64), 64)
    for wrong in (domain.less(offset, first, 64, False), domain.less(end, last, 64, False)):
        outside = domain.bit_or(outside, wrong, 1)
    return domain.bit_and(taken, outside, 1)


def _respelled(
    scene: Scene, roots: Sequence[Expression], known: Sequence[Expression], where: Expression
) -> list[Expression]:
    """The same `where` a condition holds, with what is the same there spelled as it is known.

    A thread that wrote what another one reads is a table over the thread that reads; the row that
    both have is the same sum.
    """
    threads = [t for t, may in enumerate(flags(scene, where)[0]) if may]

    def columns(below: Sequence[Expression]) -> Iterator[tuple[Expression, tuple[int, ...]]]:
        """What depends on the thread alone, and its values."""
        for node in order(below, lambda node: values(scene, node) is not None):
            if node.value is None and (column := values(scene, node)) is not None:
                yield node, (node.width, *(column[t] for t in threads))

    spelled = {column: node for node, column in columns(known)}
    parts = {node: spelled[column] for node, column in columns(roots) if column in spelled}
    return [scene.domain.replace(root, parts) for root in roots]


def _which(scene: Scene, offset: Expression, source: Source) -> Expression:
    """In which of a source's ranges an offset lies, if in any.

    That is how often the distance between ranges is counted in the offset, the distance being a
    size so many times. Any number would do: that the offset lies in the range of this number is
    what is proven.
    """
    domain, result = scene.domain, scene.domain.constant(0, 64)
    (size,) = (scene.sizes[each] for each in names(source.apart))
    by = 1
    for factor, times in _counted(scene, scene.value(source.apart), size, 1):
        by = times if factor.value == 1 else 1
    for factor, times in _counted(scene, offset, size, 1):
        multiple = domain.multiply(factor, domain.constant(times // by, 64), 64)
        result = domain.add(result, multiple, 64)
    return result


def _counted(
    scene: Scene, node: Expression, size: Expression, times: int
) -> Iterator[tuple[Expression, int]]:
    """What a size is multiplied by in a sum of products, each so many times."""
    domain = scene.domain
    if str(size.attribute) not in node.variables:
        return
    if node is domain.extend(size, size.width, 64, False):
        yield domain.constant(1, 64), times
    operands, constant = node.operands, node.operands[1].value if len(node.operands) == 2 else None
    match node.operator:
        case "bvadd" | "bvsub":
            yield from _counted(scene, operands[0], size, times)
            yield from _counted(
                scene, operands[1], size, times if node.operator == "bvadd" else -times
            )
        case "bvmul" if constant is not None:
            yield from _counted(scene, operands[0], size, times * constant)
        case "bvshl" if constant is not None:
            yield from _counted(scene, operands[0], size, times << constant)
        case "bvmul":
            for inner, other in (operands, reversed(operands)):
                for factor, count in _counted(scene, inner, size, times):
                    yield domain.multiply(factor, other, 64), count


def _left_out(
    scene: Scene,
    guard: Expression,
    value: Expression,
    source: Source,
    guards: LoadGuards,
) -> Iterator[Expression]:
    """Where some element of a source does not flow into a value that is stored."""

    def found() -> Iterator[Reached]:
        for each in flowing(scene, value):
            load = _bytes_of(scene, each.load) if _cut(each.load) else each.load
            place = scene.buffer_of(load.operands[0])
            if place is not None and place.name == source.buffer:
                made = guards.surely.get(load.operands[0], scene.domain.constant(1, 1))
                which = _which(scene, _offset(scene, load, source), source)
                yield Reached(which, made, each)

    yield from left_out(scene, guard, source, tuple(found()))


def _skipped(
    scene: Scene,
    leaf: Leaf,
    guard: Expression,
    guards: LoadGuards,
    source: Source,
) -> Expression:
    """Where a load that should flow into what is stored is not made, though it has its element."""
    domain = scene.domain
    offset = _offset(scene, leaf.load, source)
    alone, rest = parted(scene, leaf.condition)
    made = domain.bit_and(guards.surely.get(leaf.load.operands[0], rest), rest, 1)
    which = _which(scene, offset, source)
    if leaf.thread is not scene.thread:
        there = scene.at_thread([alone, made, which], leaf.thread)
        alone, made, which = _respelled(scene, there, [offset], leaf.where)
    exists = domain.less(which, scene.value(source.count), 64, False)
    return scene.all_of([guard, leaf.where, alone, exists, scene.negate(made)])


def _offset(scene: Scene, load: Expression, source: Source) -> Expression:
    return scene.domain.subtract(load.operands[0], scene.bases[source.buffer], 64)


def _of_all(source: Source) -> tuple[str, str]:
    """What is missing of a source, and what should be there."""
    return f"an element of {source.buffer} that is left out", f"all {show(source.count)} of them"


def _leaves(scene: Scene, value: Expression) -> list[Leaf]:
    """Every load below a value, with the thread that loads it.

    What came through a shuffle may be of any lane of the warp; what came through shared memory is
    of the thread that was proven to have written it.
    """
    domain = scene.domain
    always = domain.constant(1, 1)
    # By value, condition, thread and crossings: the bits in which the lane may be another.
    bits_of: dict[_Place, int] = {}
    heap: list[tuple[int, int, _Place]] = []

    turn, moved = itertools.count(), dict[Expression, int]()

    def visit(
        node: Expression,
        taken: Expression,
        thread: Expression,
        where: Expression,
        crossed: int,
        bits: int,
    ) -> None:
        key = node, taken, thread, where, crossed
        known = bits_of.get(key, -1)
        if node.opaque and (known < 0 or bits & ~known):
            bits_of[key] = bits | max(known, 0)
            # Operands are older than what is made of them: mostly each is come to once.
            heapq.heappush(heap, (-node.serial, next(turn), key))

    def lane_of(thread: Expression, crossed: int, bits: int) -> Expression:
        if not bits:
            return thread
        # One variable for each time that shared memory was crossed: lanes are independent.
        lane = domain.variable(f"origin.{crossed}", _LANES)
        scene.made.setdefault(str(lane.attribute), lane)
        return _any_lane(scene, thread, lane, bits)

    visit(value, always, scene.thread, always, 0, 0)
    leaves: dict[_Place, Leaf] = {}
    while heap:
        _, _, key = heapq.heappop(heap)
        (node, condition, thread, where, crossed), bits = key, bits_of[key]
        name = str(node.attribute) if node.operator == "function" else ""
        if node.operator == "load" or _cut(node):
            load = _bytes_of(scene, node) if _cut(node) else node
            leaves[key] = Leaf(load, condition, lane_of(thread, crossed, bits), where)
        elif name == "shared":
            inner, origin = node.operands
            writer = domain.extract(origin, 0, scene.thread.width)
            reader = lane_of(thread, crossed, bits)
            if values(scene, condition) is None:
                condition = always
            if reader is not scene.thread:
                writer, condition = scene.at_thread([writer, condition], reader)
            where = domain.bit_and(where, condition, 1)
            if any(values(scene, where) or (1,)):
                visit(inner, always, writer, where, crossed + 1, 0)
        elif name == "shuffled" or ".sync" in name:
            more = _ALL
            if name == "shuffled":
                origin = node.operands[1]
                if origin not in moved:
                    moved[origin] = _changed(scene, origin)
                more = moved[origin]
            for operand in node.operands:
                visit(operand, always, thread, where, crossed, bits | more)
        elif name in scene.sources:
            # What a loop carries is made of what it was before, and of any step's.
            for source in scene.sources[name]:
                visit(source, always, thread, where, crossed, bits)
        elif node.operator == "ite" and not node.operands[0].opaque:
            chosen, first, second = node.operands
            refused = scene.negate(chosen)
            visit(first, domain.bit_and(condition, chosen, 1), thread, where, crossed, bits)
            visit(second, domain.bit_and(condition, refused, 1), thread, where, crossed, bits)
        else:
            for operand in node.operands:
                visit(operand, condition, thread, where, crossed, bits)
    return list(leaves.values())


def _cut(node: Expression) -> bool:
    """Whether a value is some bits of a load."""
    return node.operator == "extract" and node.operands[0].operator == "load"


def _bytes_of(scene: Scene, node: Expression) -> Expression:
    """A load of those bytes alone that hold the bits."""
    domain, first = scene.domain, int(node.attribute) // 8
    end = -(-(int(node.attribute) + node.width) // 8)
    address = domain.add(node.operands[0].operands[0], domain.constant(first, 64), 64)
    return domain.load(address, 8 * (end - first))


def _changed(scene: Scene, origin: Expression) -> int:
    """The bits of a lane's number in which any thread differs from the one it has a value from.

    Every thread is tried: nothing but the thread's number may be part of the source's.
    """
    if origin.opaque or origin.variables - {"thread"}:
        return _ALL
    points = [{"thread": thread} for thread in range(scene.effect.threads)]
    found = 0
    for thread, (source,) in enumerate(evaluate_each([origin], points)):
        found |= source ^ thread
    return found & _ALL


def _any_lane(scene: Scene, thread: Expression, lane: Expression, bits: int) -> Expression:
    """A thread of a thread's warp whose number differs in some bits."""
    domain = scene.domain
    parts = [
        domain.extract(lane if bits >> bit & 1 else thread, bit, 1)
        for bit in range(min(_LANES, thread.width))
    ]
    widths = [1] * len(parts)
    if thread.width > _LANES:
        parts.append(domain.extract(thread, _LANES, thread.width - _LANES))
        widths.append(thread.width - _LANES)
    return domain.concatenate(parts, widths)
