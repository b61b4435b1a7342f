"""Control flow: every path through an entry, and every loop for any number of steps.

A branch whose condition is a constant is followed. One that is not parts the path in two, each
under its condition; conditions once decided stay decided. A predicated memory access is a branch
around one instruction.

A loop is a label and one backward branch to it. If its condition is a constant when it is tried,
the loop is walked. Else it is cut at its head: each register that one trip changes by a constant
gets a closed form, start + constant * step, and the body is executed once for a symbolic ``step``.
Nothing of this is trusted. These obligations say that it is right:

closed form
    After a trip from the closed forms at step, the register has its closed form at step + 1.
first step
    Whoever reaches the loop makes at least one step: the count is not zero.
next step, last step
    The branch is taken only where step + 1 is below the count, and not taken only where it is the
    count.

The count is one of the `repeat` terms of the effect: the one that agrees with the branch at sample
points.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tylo.layouts.errors import PtxError
from tylo.layouts.terms import show
from tylo.proofs.ptx.bitvector import Expression, evaluate
from tylo.proofs.ptx.opcodes import OPCODES, find
from tylo.proofs.ptx.program import Instruction, Symbol
from tylo.proofs.ptx.scene import Scene
from tylo.proofs.ptx.symbolic import Access, Machine, Unspecified

_MOST_PATHS = 64
_MOST_STEPS = 200_000


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that must hold of a loop: stated, as an obligation is, by its violation."""

    label: str
    instruction: Instruction
    violation: Expression
    found: Expression | str
    wanted: Expression | str


@dataclass(frozen=True, slots=True)
class Path:
    """Everything one kind of thread does, and the condition on being of that kind."""

    guard: Expression
    accesses: tuple[Access, ...]
    unspecified: tuple[Unspecified, ...]


def walk(scene: Scene, machine: Machine) -> tuple[list[Path], list[Fact]]:
    """All paths, and what must hold for them to be all; raises `PtxError` if not covered."""
    walker = _Walker(scene, machine)
    return walker.paths(), walker.facts


class _Walker:
    def __init__(self, scene: Scene, machine: Machine) -> None:
        self.scene = scene
        self.start = machine
        self.facts: list[Fact] = []
        self.body = machine.entry.body
        self.forms = [find(OPCODES, instruction) for instruction in self.body]
        for instruction in self.body:
            if instruction.guard is not None and instruction.mnemonic.endswith(".uni"):
                raise instruction.error(
                    "a promise that a warp does not part", hint="leave out .uni: it is not proven"
                )
        self.loops = self._find_loops()
        self.budget = _MOST_STEPS

    def _target(self, position: int) -> int:
        instruction = self.body[position]
        (label,) = instruction.operands
        labels = self.start.entry.labels
        if not isinstance(label, Symbol) or label.name not in labels:
            raise instruction.error("a branch to a label that does not exist")
        return labels[label.name]

    def _branches(self) -> Iterator[tuple[int, int]]:
        for position, form in enumerate(self.forms):
            if form.opcode.action == "branch":
                yield position, self._target(position)

    def _find_loops(self) -> dict[int, int]:
        loops: dict[int, int] = {}
        for position, target in self._branches():
            if target <= position:
                if target in loops:
                    raise self.body[position].error("a second branch back to one label")
                loops[target] = position
        return loops

    def paths(self) -> list[Path]:
        """Depth first, so that paths come in the order of the text."""
        done: list[Path] = []
        open_paths: list[_Open] = [(self.start, 0, {}, frozenset())]
        while open_paths:
            finished = self._follow(*open_paths.pop(), open_paths)
            done.append(Path(finished.guard, tuple(finished.accesses), tuple(finished.unspecified)))
            if len(done) > _MOST_PATHS:
                raise PtxError(
                    f"line {self.start.entry.line}: more than {_MOST_PATHS} paths",
                    hint="the proof covers kernels with few branches",
                )
        return done

    def _follow(
        self,
        machine: Machine,
        position: int,
        decided: dict[int, bool],
        walked: frozenset[int],
        others: list[_Open],
    ) -> Machine:
        """Walk one path to its end; where it parts, the other way joins `others`."""
        decided = dict(decided)

        def choose(instruction: Instruction, elsewhere: int) -> bool:
            condition = machine.condition(instruction)
            if condition.value is not None:
                return bool(condition.value)
            if condition.opaque:
                raise instruction.error("a condition that depends on memory")
            key, turned = _stripped(condition)
            if id(key) not in decided:
                other = machine.fork()
                other.guard = self._and(machine.guard, self.scene.negate(condition))
                others.append((other, elsewhere, {**decided, id(key): turned}, walked))
                machine.guard = self._and(machine.guard, condition)
                decided[id(key)] = not turned
            return decided[id(key)] != turned

        while True:
            if position >= len(self.body):
                entry = self.start.entry
                raise PtxError(f"line {entry.line}: {entry.name} has no final `ret`")
            self.budget -= 1
            instruction, form = self.body[position], self.forms[position]
            if self.budget < 0:
                raise instruction.error("too many instructions to walk", hint="shorten the loop")
            if position in self.loops and position not in walked:
                after = self._loop(machine, position)
                if after is not None:
                    position = after
                    continue
                walked |= {position}
            match form.opcode.action:
                case "branch":
                    target = self._target(position)
                    elsewhere = position + 1
                    if target <= position and machine.condition(instruction).value is None:
                        raise instruction.error("a loop that is walked comes to no constant end")
                    position = target if choose(instruction, elsewhere) else elsewhere
                    continue
                case "return":
                    if choose(instruction, position + 1):
                        return machine
                case "load" | "store" if instruction.guard is not None:
                    if choose(instruction, position + 1):
                        machine.step(instruction, form)
                case _:
                    machine.step(instruction, form)
            position += 1

    def _and(self, left: Expression, right: Expression) -> Expression:
        return self.scene.domain.bit_and(left, right, 1)

    def _once(self, machine: Machine, first: int, last: int) -> Expression:
        """One trip through a body; returns the condition of going on."""
        for instruction, form in zip(self.body[first:last], self.forms[first:last], strict=True):
            if form.opcode.action in ("branch", "return"):
                raise instruction.error(
                    "a branch inside a loop", hint="the proof does not cover it"
                )
            if form.opcode.action in ("load", "store") and instruction.guard is not None:
                raise instruction.error("a predicated memory access inside a loop")
            machine.step(instruction, form)
        return machine.condition(self.body[last])

    def _loop(self, machine: Machine, first: int) -> int | None:
        """Cut the loop that starts here; returns where it ends, `None` if it is to be walked."""
        scene, domain, last = self.scene, self.scene.domain, self.loops[first]
        branch = self.body[last]
        inner = [t for p, t in self._branches() if first <= p < last or first < t <= last]
        before = dict(machine.registers)
        if not inner:
            trial = machine.fork()
            if self._once(trial, first, last).value is not None:
                return None
        elif not scene.repeats():
            return None
        else:
            raise self.body[first].error("branches inside a loop whose end is not constant")
        slopes = {
            name: slope
            for name, value in before.items()
            if trial.registers[name] is not value
            and (slope := self._slope(value, trial.registers[name])) is not None
        }
        changed = {n for n, value in trial.registers.items() if before.get(n) is not value}
        fixed = {name: value for name, value in before.items() if name not in changed}

        def forms_at(step: Expression) -> dict[str, Expression]:
            return fixed | {
                name: domain.add(
                    before[name],
                    domain.multiply(
                        _resized(scene, step, before[name].width),
                        domain.constant(slope, before[name].width),
                        before[name].width,
                    ),
                    before[name].width,
                )
                for name, slope in slopes.items()
            }

        outside = machine.guard
        wide = domain.extend(scene.step, scene.step.width, 64, False)
        one = domain.constant(1, 64)
        following = domain.add(wide, one, 64)

        def trip(step: Expression, record: bool, count: Expression | None) -> Expression:
            kept = list(machine.accesses), list(machine.unspecified)
            machine.registers = forms_at(step)
            machine.unknown = frozenset(changed)
            machine.steps = count
            condition = self._once(machine, first, last)
            machine.steps = None
            if not record:
                machine.accesses, machine.unspecified = kept
            return condition

        condition = trip(wide, False, None)
        count = self._count(branch, outside, condition, following)
        within = domain.less(wide, count, 64, False)
        machine.guard = self._and(outside, within)
        condition = trip(wide, True, count)
        inside = machine.guard
        after = machine.registers
        line = f"loop at line {self.body[first].line}"

        def fact(label: str, violation: Expression, found: object, wanted: object) -> None:
            sides = [s if isinstance(s, Expression | str) else str(s) for s in (found, wanted)]
            self.facts.append(Fact(f"{line}: {label}", branch, violation, *sides))

        fact(
            "first step",
            self._and(outside, domain.equal(count, domain.constant(0, 64), 64)),
            "no step is to be made",
            "at least one",
        )
        fact(
            "next step",
            self._and(
                self._and(inside, condition), scene.negate(domain.less(following, count, 64, False))
            ),
            "goes on",
            "to end",
        )
        fact(
            "last step",
            self._and(self._and(inside, scene.negate(condition)), scene.differ(following, count)),
            "ends",
            "to go on",
        )
        for name, expected in forms_at(following).items():
            if name in slopes:
                fact(
                    f"closed form of {name}",
                    self._and(inside, scene.differ(after[name], expected)),
                    "another value",
                    "its closed form",
                )
        machine.guard = outside
        trip(domain.subtract(count, one, 64), False, None)
        machine.unknown = frozenset()
        return last + 1

    def _slope(self, before: Expression, after: Expression) -> int | None:
        """By how much a register changes, if that is the same at all sample points."""
        if before.opaque or after.opaque:
            return None
        found = set()
        for thread, block in ((0, 0), (1, 0), (0, 1)):
            effect = self.scene.effect
            if thread < effect.threads and block < effect.maximum_blocks:
                old, new = evaluate([before, after], self.scene.point(thread, block))
                found.add((new - old) % (1 << before.width))
        return found.pop() if len(found) == 1 else None

    def _count(
        self,
        branch: Instruction,
        outside: Expression,
        condition: Expression,
        following: Expression,
    ) -> Expression:
        """The repeat of the effect that the loop seems to have."""
        scene = self.scene
        if condition.opaque:
            raise branch.error("a loop whose end depends on memory")
        repeats = scene.repeats()
        if not repeats:
            raise branch.error(
                "a loop whose number of steps is not constant",
                hint="no store of the effect repeats",
            )
        for repeat in repeats:
            count = scene.value(repeat)
            if all(
                end == (after < steps)
                for end, after, steps, taken in self._samples(
                    [condition, following, count, outside]
                )
                if taken and after <= steps
            ):
                return count
        raise branch.error(
            "the loop ends after another number of steps than any store of the effect repeats",
            hint=f"the repeats: {[show(repeat) for repeat in repeats]}",
        )

    def _samples(self, roots: Sequence[Expression]) -> Iterator[list[int]]:
        for least in (1, 2, 5):
            for step in range(5):
                yield evaluate(list(roots), self.scene.point(0, 0, step, least))


_Open = tuple[Machine, int, "dict[int, bool]", "frozenset[int]"]


def _stripped(condition: Expression) -> tuple[Expression, bool]:
    """A condition without complements, and whether their number is odd."""
    turned = False
    while condition.operator == "bvxor" and condition.operands[1].value == 1:
        condition, turned = condition.operands[0], not turned
    return condition, turned


def _resized(scene: Scene, value: Expression, width: int) -> Expression:
    if width >= value.width:
        return scene.domain.extend(value, value.width, width, False)
    return scene.domain.extract(value, 0, width)
