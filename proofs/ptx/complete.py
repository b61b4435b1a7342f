"""That a computed value is made of all of its row: each element of a source flows into it.

Through floating-point instructions, shuffles and shared memory, the threads are gone through: of
each value it is known in which threads it flows into what which thread stores, as far as the thread
alone decides. A path on which sizes decide too is followed to the load that it ends with, and then
it is an obligation that the load is made wherever there is such an element. A choice by what memory
holds is made of both sides; one by what is computed from sizes, of neither. What is not known to
flow counts as not flowing.

What a loop carries from step to step is made of what every step loads, if each step's value is made
of the one before, in the same thread: by induction. The last step's loads flow in beside it. Which
range of the source a load is in, in which step, is proven, as is that the ranges of one step are
all there, and that the step which counts as the last is.

What flows is used; what becomes of it is not told: a product with zero is made of both factors.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tylo.proofs.effects import Source
from tylo.proofs.ptx.by_thread import flags, parted, values
from tylo.proofs.ptx.contract import extent
from tylo.proofs.ptx.nodes import Expression, evaluate_each, order
from tylo.proofs.ptx.scene import Scene
from tylo.proofs.ptx.tables import selected

# For each thread, those that store what a value of that thread flows into, as bits.
_Into = list[int]


@dataclass(frozen=True, slots=True)
class Flowing:
    """A load, or some bits of one, and for each thread what its load flows into.

    It is made in all steps `before` one, or once.
    """

    load: Expression
    into: _Into
    before: Expression | None = None


@dataclass(frozen=True, slots=True)
class Reached:
    """In which range of a source a load is, where it is made, and what it flows into."""

    which: Expression
    made: Expression
    flowing: Flowing


@dataclass(slots=True)
class _Below:
    """What flows into a value: loads, and what loops carry to which step."""

    loads: list[Flowing] = field(default_factory=list)
    carried: dict[tuple[str, Expression], _Into] = field(default_factory=dict)


def flowing(scene: Scene, value: Expression) -> Iterator[Flowing]:
    """The loads that surely flow into a value, where they are made."""
    own = [1 << thread for thread in range(scene.effect.threads)]
    found = _below(scene, value, own)
    yield from found.loads
    step = scene.domain.extend(scene.step, scene.step.width, 64, False)
    for (name, end), into in found.carried.items() if not scene.rounds() else ():
        if "step" in end.variables:
            continue  # inside of the loop: later steps do not flow in
        _, after = scene.sources[name]
        kept = [
            held
            for (other, at), held in _below(scene, after, own).carried.items()
            if other == name and at is step
        ]
        if any(all(a & b for a, b in zip(held, own, strict=True)) for held in kept):
            for each in _below(scene, after, into).loads:
                yield Flowing(each.load, each.into, before=end)


def _below(scene: Scene, value: Expression, start: _Into) -> _Below:
    """What flows into a value, and on into what `start` says of the value."""
    result = _Below()
    always = scene.domain.constant(1, 1)
    # By value, and by what sizes decide on the way to it from where the thread that loads has it.
    known: dict[tuple[Expression, Expression], _Into] = {}
    heap: list[tuple[int, int, Expression, Expression]] = []

    def visit(node: Expression, condition: Expression, into: _Into) -> None:
        if not node.opaque:
            return
        key = node, condition
        if key not in known:
            # Operands are older than what is made of them: all that one flows into comes before.
            heapq.heappush(heap, (-node.serial, condition.serial, node, condition))
            known[key] = [0] * len(into)
        known[key] = _both(known[key], into)

    visit(value, always, start)
    while heap:
        _, _, node, condition = heapq.heappop(heap)
        into = known.pop((node, condition))
        name = str(node.attribute) if node.operator == "function" else ""
        if node.operator == "load" or (
            node.operator == "extract" and node.operands[0].operator == "load"
        ):
            result.loads.append(Flowing(node, into))
        elif name in scene.sources:
            if condition.value == 1:
                place = name, node.operands[-1]
                result.carried[place] = _both(result.carried.get(place, [0] * len(into)), into)
        elif name in ("shared", "shuffled"):
            origin = values(scene, node.operands[1])
            if origin is not None and condition.value == 1 and max(origin) < len(into):
                there = [0] * len(into)
                for thread, source in enumerate(origin):
                    there[source] |= into[thread]
                visit(node.operands[0], always, there)
        elif ".sync" in name:
            continue
        elif node.operator == "ite" and not node.operands[0].opaque:
            chosen, *sides = node.operands
            for taken, side in zip((chosen, scene.negate(chosen)), sides, strict=True):
                alone, rest = parted(scene, taken)
                column = values(scene, alone) or ()
                taking = [n * c for n, c in zip(into, column, strict=True)]
                visit(side, scene.domain.bit_and(condition, rest, 1), taking)
        elif node.operator != "ite" or _of_memory(scene, node.operands[0]):
            for operand in node.operands:
                visit(operand, condition, into)
    return result


def _of_memory(scene: Scene, value: Expression) -> bool:
    """Whether a value is made of what a buffer holds, and not of sizes alone."""
    roots, carried = [value], set[str]()
    while roots:
        for node in order([roots.pop()]):
            if node.operator == "load":
                return True
            name = str(node.attribute) if node.operator == "function" else ""
            if name in scene.sources and name not in carried:
                carried.add(name)
                roots += scene.sources[name]
    return False


def _both(one: _Into, other: _Into) -> _Into:
    return [a | b for a, b in zip(one, other, strict=True)]


def left_out(
    scene: Scene, guard: Expression, source: Source, found: Sequence[Reached]
) -> Iterator[Expression]:
    """Where some range of a source is not known to flow into what a thread stores.

    Or where a load is not in the range that it seems to be in.
    """
    domain, per_step = scene.domain, source.whole
    several = extent(scene.ranges, source.count)[1] > per_step
    steps = scene.value((source.count + (per_step - 1)) // per_step)
    last = domain.subtract(steps, domain.constant(1, 64), 64)
    reached = {earlier: [0] * scene.effect.threads for earlier in (False, True)}
    bases: dict[tuple[int, ...], Expression] = {}
    for end in {each.flowing.before: None for each in found}:
        if end is not None:
            yield scene.differ(end, last)
    for each in sorted(found, key=lambda each: each.flowing.before is None):
        which, step, earlier = each.which, last, each.flowing.before is not None
        if earlier:
            zero = domain.constant(0, scene.step.width)
            (base,) = domain.substitute([which], {str(scene.step.attribute): zero})
            column = values(scene, base)
            step = domain.extend(scene.step, scene.step.width, 64, False)
        elif "step" in which.variables:
            continue  # what is loaded where it is stored
        else:
            column = values(scene, which) if not several else _guessed(scene, which, per_step)
            base = bases.get(column, which) if column is not None else which
        if column is None or values(scene, base) != column:
            continue
        bases.setdefault(column, base)
        wanted = domain.add(base, domain.multiply(domain.constant(per_step, 64), step, 64), 64)
        # Elsewhere a load that is not made would not be missed.
        exists = domain.less(wanted, scene.value(source.count), 64, False)
        yield domain.bit_and(domain.bit_or(each.made, exists, 1), scene.differ(which, wanted), 1)
        for number, bits in zip(column, each.flowing.into, strict=True):
            for thread in _bits(bits) if number < per_step else ():
                reached[earlier][thread] |= 1 << number
    for earlier in (False, True) if several else (False,):
        yield _lacking(scene, guard, source, reached[earlier])


def _guessed(scene: Scene, which: Expression, per_step: int) -> tuple[int, ...]:
    """The place in its step of a range, in each thread of a sample launch."""
    points = [scene.settled(scene.point(thread, 0)) for thread in range(scene.effect.threads)]
    return tuple(found % per_step for (found,) in evaluate_each([which], points))


def _bits(number: int) -> Iterator[int]:
    while number:
        low = number & -number
        yield low.bit_length() - 1
        number ^= low


def _lacking(scene: Scene, guard: Expression, source: Source, reached: list[int]) -> Expression:
    """Where a thread stores what is not made of all ranges of a step, and there are as many."""
    domain = scene.domain
    most = min(source.whole, extent(scene.ranges, source.count)[1])
    first = {}
    for thread, bits in enumerate(reached):
        missing = ~bits & ((1 << most) - 1)
        first[thread] = (missing & -missing).bit_length() - 1 if missing else most
    least = selected(domain, scene.thread, first, most.bit_length())
    exists = domain.less(
        domain.extend(least, least.width, 64, False), scene.value(source.count), 64, False
    )
    lacks = domain.less(least, domain.constant(most, least.width), least.width, False)
    may, _ = flags(scene, guard)
    if not any(may[thread] and number < most for thread, number in first.items()):
        return domain.constant(0, 1)
    return scene.all_of([guard, lacks, exists])
