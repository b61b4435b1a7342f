"""Control flow: both ways of every branch, and every loop for any number of steps.

A branch whose condition is a constant is followed. At one that is not, both ways are taken, each
under its condition, up to where they must meet again; there every register is selected from the two
by the condition. A way that returns does not come that far, and the other goes on under its
condition. A predicated memory access is performed where its predicate holds. A condition that
depends on memory may be so or not: it becomes a variable of its own, about which nothing is known,
so that whatever is proven holds either way.

Loops are the business of `loops`: walked where their condition is a constant, else cut at their
head. Out of the middle of a loop that is cut, ways may lead to the place right after it, as where
several steps were written out one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tylo.layouts.errors import PtxError
from tylo.proofs.ptx.bitvector import Expression
from tylo.proofs.ptx.control import Flow
from tylo.proofs.ptx.halves import meet
from tylo.proofs.ptx.loops import cut
from tylo.proofs.ptx.program import Instruction
from tylo.proofs.ptx.symbolic import Machine

_MOST_STEPS = 200_000


@dataclass(slots=True)
class WayOut:
    """The place after a loop, and who goes there from the middle: conditions and registers."""

    place: int
    machine: Machine
    taken: list[tuple[Expression, dict[str, Expression]]] = field(default_factory=list)


class Walker:
    """Carries out a body; what it finds is in the machine's record."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.budget = _MOST_STEPS
        self.walked: set[int] = set()
        self.cuts = 0
        self.way_out: WayOut | None = None  # of the innermost loop

    def run(self, machine: Machine, position: int, stop: int) -> Machine | None:
        """The machine at `stop`, which all ways from here come to; `None` where all return."""
        flow = self.flow
        end = len(flow.body)
        while position != stop or stop == end:
            if position >= end:
                raise self._no_return()
            self.budget -= 1
            instruction, form = flow.body[position], flow.forms[position]
            if self.budget < 0:
                raise instruction.error("too many instructions to walk", hint="shorten the loop")
            if position in flow.loops and position not in self.walked:
                if cut(self, machine, position):
                    position = flow.loops[position] + 1
                    continue
                self.walked.add(position)
            action = form.opcode.action
            if action not in ("branch", "return"):
                machine.step(instruction, form)
                position += 1
                continue
            target = flow.branches[position] if action == "branch" else end
            condition = machine.condition(instruction)
            if condition.value is not None:
                if target <= position and not condition.value:
                    self.walked.discard(target)
                if condition.value and action == "return":
                    return None
                position = target if condition.value else position + 1
                continue
            if target <= position:
                raise instruction.error("a loop that is walked comes to no constant end")
            if self.way_out is not None and target == self.way_out.place:
                self._leave(machine, instruction, condition)
                position += 1
                continue
            met = self._both_ways(machine, position, target, machine.scene.decision(condition))
            if met is None:
                return None
            machine.registers, machine.guard = met.registers, met.guard
            position = flow.meets(position)
            if position == end:
                return None
        return machine

    def _no_return(self) -> PtxError:
        entry = self.flow.entry
        return PtxError(f"line {entry.line}: {entry.name} has no final `ret`")

    def _leave(self, machine: Machine, instruction: Instruction, condition: Expression) -> None:
        """Go on where the way out of a loop is not taken."""
        assert self.way_out is not None
        if condition.opaque:
            raise instruction.error("a loop whose end depends on memory")
        if machine is not self.way_out.machine:
            raise instruction.error("a way out of a loop from where ways part", hint="not covered")
        self.way_out.taken.append((condition, dict(machine.registers)))
        stays = machine.scene.negate(condition)
        machine.guard = machine.domain.bit_and(machine.guard, stays, 1)

    def _both_ways(
        self, machine: Machine, position: int, target: int, condition: Expression
    ) -> Machine | None:
        """Where the two ways from a branch have met again."""
        flow, end = self.flow, len(self.flow.body)
        meeting = flow.meets(position)
        ways = []
        returns = flow.forms[position].opcode.action == "return"
        for taken, start in ((condition, target), (machine.scene.negate(condition), position + 1)):
            if start == end and not (returns and taken is condition):
                raise self._no_return()
            way = machine.fork(taken)
            way.parted = machine.parted or meeting != end
            walked = set(self.walked)
            ways.append(None if start == end else self.run(way, start, meeting))
            self.walked = walked
        first, second = ways
        if first is None or second is None:
            return first or second
        domain = machine.domain
        registers = {
            name: meet(domain, condition, value, second.registers[name])
            for name, value in first.registers.items()
            if name in second.registers
        }
        untouched = all(
            way.guard is machine.fork(taken).guard
            for way, taken in ((first, condition), (second, machine.scene.negate(condition)))
        )
        guard = machine.guard if untouched else domain.bit_or(first.guard, second.guard, 1)
        met = machine.fork()
        met.registers, met.guard = registers, guard
        return met


def walk(machine: Machine, target: Sequence[str] | None = None) -> None:
    """Carry out the machine's entry; raises `PtxError` if that is not covered."""
    flow = Flow(machine.entry, target)
    Walker(flow).run(machine, 0, len(flow.body))
