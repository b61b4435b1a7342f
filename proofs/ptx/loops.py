"""Loops: walked while their condition is a constant, else cut at their head.

A loop is a label and one backward branch to it. If its condition is a constant when it is tried,
the loop is walked. Else it is cut: each register that one trip changes by the same amount as any
other, a constant or what the launch says, gets a closed form, start + amount * step, and the body
is executed once for a symbolic ``step``. Around another such loop it is a symbolic ``round``. A
register that changes in any other way, such as a running maximum, becomes a value about which
nothing is known but what it is made of: `Scene.carried`. No address, guard or number of steps may
depend on one. Nothing of this is trusted. These obligations say that it is right:

closed form
    After a trip from the closed forms at step that is not the last, the register has its closed
    form at step + 1.
first step
    Whoever reaches the loop makes at least one step: the count is not zero.
next step, last step
    The branch is taken only where step + 1 is below the count, and not taken only where it is the
    count.

The count is one of the `repeat` terms of the effect: the one that agrees with the branch at sample
points. Where threads make different numbers of steps, none agrees, and one of the terms serves as
a limit: a step is made where the branch's condition, in whole numbers that do not wrap (`widened`),
held in the step before. Then "next step" says that no step reaches the limit, and these say that
the steps made are the first ones:

whole numbers
    In a step that is made, the branch is taken exactly where its condition in whole numbers holds.
earlier steps
    Where that holds in a step, it held in the step before.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from tylo.proofs.ptx.loop_counts import Counted
from tylo.proofs.ptx.nodes import Expression, evaluate_each
from tylo.proofs.ptx.program import Instruction
from tylo.proofs.ptx.scene import Scene
from tylo.proofs.ptx.symbolic import Fact, Machine

_MOST_SPOKEN = 2

if TYPE_CHECKING:
    from tylo.proofs.ptx.paths import Walker


def cut(walker: Walker, machine: Machine, first: int) -> bool:
    """Carry the machine past the loop that starts here; false if the loop is to be walked."""
    last = walker.flow.loops[first]
    branch = walker.flow.body[last]
    mark, cuts = machine.record.mark(), walker.cuts
    trial = machine.fork()
    condition, _ = _once(walker, trial, first, last)
    machine.record.rewind(mark)
    if condition.value is not None:
        return False
    counter = "step" if walker.cuts == cuts else "round"
    if counter in machine.counters:
        raise branch.error(
            "loops of any number of steps three deep", hint="the proof covers two: rounds of steps"
        )
    if counter == "round" and not machine.scene.rounds():
        raise branch.error(
            "a loop of any number of steps inside another, and no store has rounds",
            hint="say how often the outer loop is gone round: rounds, with round in the terms",
        )
    walker.cuts += 1
    _Cut(walker, machine, first, last, trial.registers, counter).carry_out()
    return True


_Ways = list[tuple[Expression, dict[str, Expression]]]


def _once(walker: Walker, machine: Machine, first: int, last: int) -> tuple[Expression, _Ways]:
    """One trip through a body: the condition of going on, and the ways out of the middle."""
    from tylo.proofs.ptx.paths import WayOut

    branch, domain = walker.flow.body[last], machine.domain
    walker.walked.add(first)
    guard, outer = machine.guard, walker.way_out
    walker.way_out = WayOut(last + 1, machine)
    after = walker.run(machine, first, last)
    ways, walker.way_out = walker.way_out.taken, outer
    walker.walked.discard(first)
    for leaves, _ in ways:
        guard = domain.bit_and(guard, machine.scene.negate(leaves), 1)
    if after is None or after.guard is not guard:
        raise branch.error("a way out of the middle of a loop", hint="the proof does not cover it")
    going_on = after.condition(branch)
    for leaves, _ in ways:
        going_on = domain.bit_and(machine.scene.negate(leaves), going_on, 1)
    return going_on, ways


class _Cut(Counted):
    """One loop in the course of being cut."""

    def __init__(
        self,
        walker: Walker,
        machine: Machine,
        first: int,
        last: int,
        trial: dict[str, Expression],
        counter: str,
    ) -> None:
        self.walker, self.machine, self.first, self.last = walker, machine, first, last
        self.scene = machine.scene
        self.domain = self.scene.domain
        self.branch: Instruction = walker.flow.body[last]
        self.before = dict(machine.registers)
        self.outside = machine.guard
        before = self.before
        self.changed = {name for name, value in trial.items() if before.get(name) is not value}
        self.slopes = {
            name: slope
            for name in self.changed & before.keys()
            if (slope := self._slope(before[name], trial[name])) is not None
        }
        self.counter = counter
        self.number_of = {"round": self.scene.round, "step": self.scene.step}[counter]
        self.counts = self.scene.repeats() if counter == "step" else self.scene.rounds()
        self.wide = self.domain.extend(self.number_of, self.number_of.width, 64, False)
        self.line = f"loop at line {walker.flow.body[first].line}"
        self.number = len(self.scene.sources)

    def carry_out(self) -> None:
        """State the facts, record what one symbolic step does, and leave the state at the end."""
        scene, domain, machine = self.scene, self.domain, self.machine
        one = domain.constant(1, 64)
        following = domain.add(self.wide, one, 64)
        condition = self._settled(following)
        if condition.opaque:
            raise self.branch.error("a loop whose end depends on memory")
        count = self._count(condition, following)
        if count is not None:
            within = domain.less(self.wide, count, 64, False)
            end = domain.subtract(count, one, 64)
        else:
            within, end = self._uneven(condition, following)
        inside = machine.fork(within).guard
        registers, taken = self._trip(self.wide, machine.fork(within), record=True)
        if taken.opaque:
            raise self.branch.error("a loop whose end depends on memory")
        if count is None:
            goes_on = self._at(condition, self.wide)
            differs = domain.bit_xor(taken, goes_on, 1)
            self._fact(
                "whole numbers",
                self._and(inside, differs),
                "a counter that wraps, or another end",
                "the end that it has in whole numbers",
            )
            taken = goes_on
        self._facts(inside, taken, count, following)
        for name, slope_at in self._forms(following).items():
            if name in self.slopes:
                self._fact(
                    f"closed form of {name}",
                    self._and(self._and(inside, taken), scene.differ(registers[name], slope_at)),
                    "another value",
                    "its closed form",
                )
        for name in self.changed & self.before.keys() - self.slopes.keys():
            scene.sources[self._carried(name)] = (self.before[name], registers[name])
        machine.registers = self._trip(end, machine.fork(), record=False)[0]

    def _settled(self, following: Expression) -> Expression:
        """The condition of going on, once every register that some step changes is known.

        The first trip does not change what is as yet equal to its new value, and may change by some
        amount what others do not.
        """
        while True:
            forms, after = self._forms(self.wide), self._forms(following)
            # Who leaves from the middle makes no further step.
            mark = self.machine.record.mark()
            registers, condition = self._trip(self.wide, self.machine.fork(), record=True)
            self.machine.record.rewind(mark)
            moved = {
                name
                for name in self.before.keys() - self.changed
                if registers[name] is not forms[name]
            }
            uneven = {
                name
                for name, slope in self.slopes.items()
                if slope.value is None and self._strays(registers[name], after[name])
            }
            if not moved | uneven:
                return condition
            self.changed |= moved
            self.slopes = {n: slope for n, slope in self.slopes.items() if n not in uneven}

    def _strays(self, found: Expression, wanted: Expression) -> bool:
        """Whether a register is not what its closed form says, at a sample point."""
        if found.opaque:
            return True
        points = [
            self.scene.point(0, 0, 0, least) | {self.counter: number}
            for number in (1, 2)
            for least in (1, 5)
        ]
        return any(one != other for one, other in evaluate_each([found, wanted], points))

    def _carried(self, name: str) -> str:
        # A loop inside one that is walked is cut several times, each time with other values.
        return f"{name} carried round the {self.line}, {self.number}"

    def _forms(self, step: Expression) -> dict[str, Expression]:
        """The registers at the start of a step."""
        scene, domain = self.scene, self.domain
        forms = {n: value for n, value in self.before.items() if n not in self.changed}
        for name in self.changed & self.before.keys():
            start = self.before[name]
            width = start.width
            if name in self.slopes:
                steps = _resized(scene, step, width)
                moved = domain.multiply(steps, self.slopes[name], width)
                forms[name] = domain.add(start, moved, width)
            else:
                forms[name] = scene.carried(self._carried(name), step, width)
        return forms

    def _trip(
        self, step: Expression, machine: Machine, record: bool
    ) -> tuple[dict[str, Expression], Expression]:
        """The registers after a trip from the closed forms at a step, and whether to go on."""
        mark = machine.record.mark()
        machine.registers = self._forms(step)
        machine.unknown = frozenset(self.changed)
        machine.counters |= {self.counter}
        condition, ways = _once(self.walker, machine, self.first, self.last)
        if not record:
            machine.record.rewind(mark)
            for leaves, left in reversed(ways):
                machine.registers = {
                    name: self.domain.select(leaves, left[name], value, value.width)
                    for name, value in machine.registers.items()
                    if name in left
                }
        return machine.registers, condition

    def _facts(
        self,
        inside: Expression,
        taken: Expression,
        count: Expression | None,
        following: Expression,
    ) -> None:
        scene, domain = self.scene, self.domain
        limit = self.limit if count is None else count
        none = domain.equal(limit, domain.constant(0, 64), 64)
        self._fact(
            "first step", self._and(self.outside, none), "no step is to be made", "at least one"
        )
        more = domain.less(following, limit, 64, False)
        self._fact(
            "next step",
            self._and(self._and(inside, taken), scene.negate(more)),
            "goes on",
            "to end",
        )
        if count is None:
            return
        ending = self._and(self._and(inside, scene.negate(taken)), scene.differ(following, count))
        self._fact("last step", ending, "ends", "to go on")

    def _uneven(
        self, condition: Expression, following: Expression
    ) -> tuple[Expression, Expression]:
        """Which steps are made where threads make different numbers of them, and the last one."""
        scene, domain = self.scene, self.domain
        if any(name.startswith("choice.") for name in condition.variables):
            # One variable stands for what memory says in every step: steps would agree.
            raise self.branch.error("a loop whose end depends on memory")
        self.limit = self._limit(condition, following)

        def made(by: int) -> Expression:
            """Whether the step so many before this one is made, if there is such a step."""
            at = domain.constant(by, 64)
            first = domain.equal(self.wide, at, 64)
            earlier = domain.subtract(self.wide, domain.constant(by + 1, 64), 64)
            return domain.bit_or(first, self._at(condition, earlier), 1)

        within = self._and(domain.less(self.wide, self.limit, 64, False), made(0))
        later = scene.negate(domain.equal(self.wide, domain.constant(0, 64), 64))
        gap = self._and(self._and(self.outside, within), self._and(later, scene.negate(made(1))))
        self._fact("earlier steps", gap, "a step after one that was the last", "steps in order")
        last = scene.private("last", self.number_of.width)
        ends = self._and(within, scene.negate(self._at(condition, self.wide)))
        reached = domain.substitute([ends], {self.counter: last})[0]
        name = str(last.attribute)
        scene.assumed[name] = (domain.bit_or(scene.negate(self.outside), reached, 1),)
        return within, domain.extend(last, last.width, 64, False)

    def _fact(self, label: str, violation: Expression, found: str, wanted: str) -> None:
        at = f"{self.line}: {label}", self.branch
        fact = Fact(*at, violation, found, wanted, self._spoken())
        self.machine.record.facts.append(fact)

    def _spoken(self) -> tuple[tuple[Expression, Expression], ...]:
        """How far steps lie apart that lie as far apart as the launch says."""
        paces = dict.fromkeys(s for s in self.slopes.values() if s.value is None)
        wide = (self.domain.extend(pace, pace.width, 64, False) for pace in paces)
        return tuple((self.wide, pace) for pace in itertools.islice(wide, _MOST_SPOKEN))

    def _and(self, left: Expression, right: Expression) -> Expression:
        return self.domain.bit_and(left, right, 1)


def _resized(scene: Scene, value: Expression, width: int) -> Expression:
    if width >= value.width:
        return scene.domain.extend(value, value.width, width, False)
    return scene.domain.extract(value, 0, width)
