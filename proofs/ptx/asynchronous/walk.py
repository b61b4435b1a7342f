"""A kernel walked for a thread of any role, from its entry to its end, all loops included.

Instructions are taken in the order of their ranks. Ways that part at a branch are walked each under
its condition, and meet again as `state` says; a loop is walked once under what `heads` supposes of
its head, until that holds at every arrival. Where the thread leaves, its protocol is at an end.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence

from tylo.layouts.errors import PtxError
from tylo.proofs.ptx.asynchronous.decisions import ALWAYS, NEVER
from tylo.proofs.ptx.asynchronous.flow import Flow
from tylo.proofs.ptx.asynchronous.heads import Head
from tylo.proofs.ptx.asynchronous.instructions import Instructions
from tylo.proofs.ptx.asynchronous.progress import Progress
from tylo.proofs.ptx.asynchronous.protocol import End, Protocol
from tylo.proofs.ptx.asynchronous.reasoning import Reasoning
from tylo.proofs.ptx.asynchronous.scene import Scene
from tylo.proofs.ptx.asynchronous.state import Meeting, State
from tylo.proofs.ptx.asynchronous.terms import Level
from tylo.proofs.ptx.bitvector import Expression, order
from tylo.proofs.ptx.program import Instruction, Module

_MOST_ROUNDS = 60
_MOST_STEPS = 2_000_000
_Ways = dict[int, list[State]]


class Walk:
    """One module under one protocol."""

    def __init__(
        self, module: Module, scene: Scene, protocol: Protocol, factors: Sequence[int]
    ) -> None:
        self.flow = Flow(module)
        self.reasoning = Reasoning(scene.terms, scene.facts())
        self.reasoning.suppose(protocol.lemmas(protocol.values))
        self.reasoning.at = self.flow.body[0]
        self.progress = Progress(protocol, self.reasoning)
        self.instructions = Instructions(scene, self.flow.entry, self.progress)
        self.decisions = self.reasoning.decisions
        self.factors = factors
        self.budget = _MOST_STEPS
        self.ended = 0
        types = dict(self.flow.entry.registers)
        self.meeting = Meeting(self.reasoning, types, self.progress.guarded)

    def carry_out(self) -> None:
        """Walk everything; `PtxError` for what is not covered or no step of the protocol."""
        protocol = self.progress.protocol
        start = State({}, ALWAYS, protocol.start, dict(protocol.values))
        exits, _ = self._region({0: [start]}, None, -1)
        if exits or not self.ended:
            raise PtxError("the kernel does not come to its end")

    def _region(
        self, ways: _Ways, region: frozenset[int] | None, head: int
    ) -> tuple[_Ways, list[State]]:
        """Walk a region; where ways leave it, and those that come back to its head."""
        exits: _Ways = {}
        backs: list[State] = []
        pending = dict(ways)
        rank = self.flow.rank
        queue = [(rank[position], position) for position in pending]
        heapq.heapify(queue)

        def go(position: int, state: State) -> None:
            if state.here == NEVER:
                return
            if position == head:
                backs.append(state)
            elif region is not None and position not in region:
                exits.setdefault(position, []).append(state)
            else:
                if position not in pending:
                    pending[position] = []
                    heapq.heappush(queue, (rank[position], position))
                pending[position].append(state)

        while queue:
            _, position = heapq.heappop(queue)
            state = self._met(position, pending.pop(position))
            while True:
                if position in self.flow.loops and position != head:
                    for place, states in self._loop(position, state).items():
                        for each in states:
                            go(place, each)
                    break
                following = self._step(position, state)
                if len(following) != 1 or not self.flow.alone(following[0][0]):
                    for place, each in following:
                        go(place, each)
                    break
                ((position, state),) = following
                outside = region is not None and position not in region
                if outside or position == head:
                    go(position, state)
                    break
        return exits, backs

    def _step(self, position: int, state: State) -> list[tuple[int, State]]:
        flow = self.flow
        if position >= flow.end:
            entry = flow.entry
            raise PtxError(f"line {entry.line}: {entry.name} has no final `ret`")
        self.budget -= 1
        instruction, form = flow.body[position], flow.forms[position]
        self.reasoning.at = instruction
        if self.budget < 0:
            raise instruction.error("too many instructions to walk")
        action = form.opcode.action
        if action not in ("branch", "return"):
            self.instructions.step(state, position, instruction, form)
            return [(position + 1, state)]
        decisions = self.decisions
        condition = decisions.of(self.instructions.condition(state, instruction))
        taken = decisions.both(state.here, condition)
        passed = decisions.both(state.here, decisions.negation(condition))
        result: list[tuple[int, State]] = []
        if passed != NEVER:
            other = state.fork(passed) if taken != NEVER else state
            result.append((position + 1, other))
        if taken != NEVER:
            state.here = taken
            if action == "return":
                self._end(instruction, state)
            else:
                result.append((flow.targets[position], state))
        for _, each in result:
            if each.waiting is not None:
                self._tell(each)
        return result

    def _tell(self, state: State) -> None:
        """Settle what a tried barrier said, if the way taken tells."""
        assert state.waiting is not None
        decisions = self.decisions
        passed = decisions.of(state.waiting.passed)
        if decisions.implies(state.here, passed) or decisions.implies(
            state.here, decisions.negation(passed)
        ):
            self.instructions.settle(state)

    def _end(self, instruction: object, state: State) -> None:
        self.instructions.settle(state)
        nodes = self.progress.protocol.nodes
        at = self.flow.body[-1]
        if state.open or state.batches:
            raise at.error("a thread leaves with a product under way")
        if not any(isinstance(nodes[place], End) for place, _ in self.progress.reached(state)):
            assert isinstance(instruction, Instruction)
            reason = "a thread leaves before its protocol ends"
            raise self.progress.departed(state, instruction, "", reason)
        self.ended += 1

    def _met(self, position: int, states: list[State]) -> State:
        """The ways that come to a place, as one."""
        # Those that agree about the protocol's variables first: what tells them apart is no more.
        alike: dict[tuple[int, ...], State] = {}
        for state in states:
            key = tuple(id(value) for _, value in sorted(state.values.items()))
            known = alike.get(key)
            alike[key] = state if known is None else self._meet(position, known, state)
        first, *others = alike.values()
        for other in others:
            first = self._meet(position, first, other)
        return first

    def _meet(self, position: int, first: State, second: State) -> State:
        at = self.reasoning.at = self.flow.body[min(position, self.flow.end - 1)]
        for state in (first, second):
            self.instructions.settle(state)
        if first.open != second.open or first.batches != second.batches:
            raise at.error("ways meet with different products under way")
        (place, values), others = self.progress.meet(at, first, second)
        terms = self.instructions.terms
        selector = self.meeting.selector(first, second)
        met = {
            name: value
            if value is others[name]
            else terms.select(selector, value, others[name], value.width)
            for name, value in values.items()
        }
        here = self.decisions.either(first.here, second.here)
        registers = self.meeting.registers(first, second)
        since = min(first.since, second.since)
        if place in self.progress.protocol.renamed:
            here = self._rename(place, here, met, values, registers, since)
        self._recognise(here, registers, first)
        return State(
            registers,
            here,
            place,
            met,
            None,
            first.open,
            first.batches,
            first.written | second.written,
            since,
        )

    def _rename(
        self,
        place: str,
        here: int,
        met: dict[str, Expression],
        before: Mapping[str, Expression],
        registers: dict[str, Expression],
        since: int,
    ) -> int:
        """Give new names to variables that differ, and to registers that hold them."""
        terms, decisions, reasoning = self.instructions.terms, self.decisions, self.reasoning
        changed = {name: value for name, value in met.items() if value is not before[name]}
        known = self.progress.protocol.renamed[place]
        at = reasoning.at
        assert at is not None
        names: set[int] = set()
        self.progress.state(at, here, "range where ways meet", known(met))
        for name, value in changed.items():
            if terms.level(value) > Level.BLOCK:
                raise at.error(f"threads do not agree about {name}")
            fresh = terms.fresh(value.width, Level.BLOCK, "moving")
            sample = terms.fingerprint(value)
            for register, held in registers.items():
                if held is value or (
                    held.width == value.width
                    and terms.fingerprint(held) == sample
                    and reasoning.equal(here, held, value)
                ):
                    registers[register] = fresh
            met[name] = fresh
            names.add(id(fresh))
        # What is known of names that are not new may hold here alone.
        if any(id(each) in names for each in order([known(met)])):
            reasoning.suppose([known(met)])
        # How the values came about tells nothing any more.
        for atom in decisions.atoms(here):
            if terms.level(atom) == Level.BLOCK and terms.newest(atom) > since:
                here = decisions.without(here, atom)
        return here

    def _recognise(self, here: int, registers: dict[str, Expression], first: State) -> None:
        """Give registers that have changed the names that the scene has for their terms."""
        for name, value in registers.items():
            if value.operator == "ite" and value is not first.registers.get(name):
                registers[name] = self.instructions.recognised(here, value)

    def _loop(self, position: int, entry: State) -> _Ways:
        """Where the ways out of a loop lead, under what holds at its head."""
        loop = self.flow.loops[position]
        at = self.reasoning.at = self.flow.body[position]
        self.instructions.settle(entry)
        head = Head(self.progress, at, entry, loop.changed, self.factors)
        mark, ended = len(self.progress.statements), self.ended
        together, newest = len(self.progress.together), self.instructions.terms.made
        for _ in range(_MOST_ROUNDS):
            exits, backs = self._region({position: [head.assume()]}, loop.body, position)
            self.reasoning.at = at
            if not head.refine(backs):
                head.holds(backs)
                left = [each for states in exits.values() for each in states]
                acted = self.progress.together[together:]
                head.require_together([*left, *backs], min(acted, default=Level.LANE))
                if len(exits) == 1 and self.ended == ended:
                    head.leave(left, newest)
                for each in left if len(exits) > 1 else ():
                    each.since = newest
                return exits
            del self.progress.statements[mark:]
            del self.progress.together[together:]
            self.ended = ended
        raise at.error("a loop of which no invariant was found")
