"""Whether a thread keeps to its protocol: which node it has come to, and what each step must be.

Between two instructions that are steps a thread passes nodes silently: questions that its way
answers, new values, and steps whose guard does not hold for it. `reached` lists what it may have
come to; nothing is passed that its way does not prove.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tylo.layouts.errors import PtxError
from tylo.proofs.ptx.asynchronous.departure import Departure
from tylo.proofs.ptx.asynchronous.guarded import Guarded, Tag
from tylo.proofs.ptx.asynchronous.protocol import (
    Ask,
    End,
    Let,
    May,
    Operands,
    Protocol,
    Read,
    Step,
)
from tylo.proofs.ptx.asynchronous.reasoning import Reasoning
from tylo.proofs.ptx.asynchronous.state import State
from tylo.proofs.ptx.asynchronous.terms import Level
from tylo.proofs.ptx.bitvector import Expression
from tylo.proofs.ptx.program import Instruction

_MOST_PASSED = 400
_MOST_QUESTIONS = 1  # open at once
_Reached = tuple[str, dict[str, Expression]]


@dataclass(frozen=True, slots=True)
class Statement:
    """Something that must hold where an instruction is performed."""

    label: str
    instruction: Instruction
    here: int
    condition: Expression


class Progress:
    """One protocol, and the statements that its steps gave rise to."""

    def __init__(self, protocol: Protocol, reasoning: Reasoning) -> None:
        self.protocol, self.reasoning = protocol, reasoning
        self.terms = reasoning.terms
        self.guarded = Guarded(reasoning.terms)
        self.statements: list[Statement] = []
        self.together: list[Level] = []  # who had to come together, instruction by instruction

    def state(self, instruction: Instruction, here: int, label: str, condition: Expression) -> None:
        """Record what must hold."""
        self.statements.append(Statement(label, instruction, here, condition))

    def reached(self, state: State) -> list[_Reached]:
        """The nodes that a thread may have come to, in the order of passing them."""
        return list(self._passed(state.here, state.place, state.values))

    def _passed(
        self, here: int, place: str, values: dict[str, Expression], depth: int = 0
    ) -> Iterator[_Reached]:
        decided = self.reasoning.decided
        for _ in range(_MOST_PASSED):
            yield place, values
            match self.protocol.nodes[place]:
                case Step(guard=guard, then=then):
                    if guard is None or decided(here, guard(values)) is not False:
                        return
                    place = then
                case Ask(condition, yes, no, onward, plain):
                    decide = self._plainly if plain else decided
                    answer = decide(here, condition(values))
                    if answer is None and onward:
                        return
                    if answer is None:
                        common = self._either_way(here, condition(values), (yes, no), values, depth)
                        if common is None:
                            return
                        place, values = common
                    else:
                        place = yes if answer else no
                case Let(changes, then):
                    values, place = {**values, **changes(values)}, then
                case May(first, otherwise):
                    yield from self._passed(here, first, values, depth)
                    place = otherwise
                case End():
                    return

    def _plainly(self, here: int, condition: Expression) -> bool | None:
        """Whether the conditions of a way say at once how a question is answered."""
        decisions = self.reasoning.decisions
        wanted = decisions.of(condition)
        if decisions.implies(here, wanted):
            return True
        return False if decisions.implies(here, decisions.negation(wanted)) else None

    def _either_way(
        self,
        here: int,
        condition: Expression,
        ways: tuple[str, str],
        values: dict[str, Expression],
        depth: int,
    ) -> _Reached | None:
        """The first node that both answers to a question come to, with the same values."""
        if depth == _MOST_QUESTIONS:
            return None
        decisions = self.reasoning.decisions
        answer = decisions.of(condition)
        yes = decisions.both(here, answer)
        no = decisions.both(here, decisions.negation(answer))
        others = self._passed(no, ways[1], values, depth + 1)
        there: dict[str, dict[str, Expression]] = {}
        for place, reached in self._passed(yes, ways[0], values, depth + 1):
            while place not in there and (further := next(others, None)) is not None:
                there.setdefault(*further)
            other = there.get(place)
            if other is not None and _same(reached, other):
                return place, reached
        return None

    def settled(self, state: State) -> _Reached:
        """The last node that a thread has certainly come to."""
        found = (state.place, state.values)
        for found in self.reached(state):
            if isinstance(self.protocol.nodes[found[0]], May):
                break
        return found

    def meet(
        self, instruction: Instruction, first: State, second: State
    ) -> tuple[_Reached, dict[str, Expression]]:
        """The last node that both ways have come to, with the values of each."""
        node = self.protocol.nodes[first.place]
        onward = isinstance(node, Ask) and node.onward
        if first.place == second.place and _same(first.values, second.values) and not onward:
            return (first.place, first.values), second.values
        there: dict[str, dict[str, Expression]] = {}
        for place, values in self.reached(second):
            there.setdefault(place, values)
        for place, values in reversed(self.reached(first)):
            if place in there:
                return (place, values), there[place]
        raise instruction.error(
            "ways meet that have come to different steps: "
            f"{self.words(first)}; {self.words(second)}"
        )

    def arrive(self, state: State, place: str) -> dict[str, Expression] | None:
        """The variables' values at a node, if a thread may have come to it."""
        return next((values for name, values in self.reached(state) if name == place), None)

    def words(self, state: State) -> str:
        """The step that comes next, for people."""
        place, _ = self.reached(state)[-1]
        node = self.protocol.nodes[place]
        return node.label if isinstance(node, Step) else place

    def perform(
        self, state: State, instruction: Instruction, kind: str, operands: Operands
    ) -> Sequence[Tag]:
        """An instruction that is a step: it is the next one, and its operands are right. The scores
        that its results are.
        """
        for place, values in self.reached(state):
            node = self.protocol.nodes[place]
            if not isinstance(node, Step) or node.kind != kind:
                continue
            wanted = node.operands(values)
            if node.guard is not None and not self.reasoning.follows(
                state.here, node.guard(values)
            ):
                continue
            self.together.append(node.together)
            if self.reasoning.decisions.level(state.here) > node.together:
                raise instruction.error(
                    f"{node.label}: not every thread of a {node.together.name.lower()} comes here"
                )
            assert wanted.keys() == operands.keys(), (node.label, wanted.keys(), operands.keys())
            for name, right in wanted.items():
                self._compare(state, instruction, f"{node.label}: {name}", operands[name], right)
            if not wanted:
                self.state(instruction, state.here, node.label, self.terms.constant(1, 1))
            state.place, state.values = node.then, dict(values)
            return () if node.results is None else node.results(values)
        raise self.departed(state, instruction, kind, f"{kind} is not what comes next")

    def use(self, state: State, instruction: Instruction, value: Expression) -> None:
        """A guarded value is used: it has become what it has to."""
        tag = self.guarded.tag(value)
        if tag is None:
            raise instruction.error("a score that is mixed with another value before it is masked")
        label = f"{tag.label} is minus infinity just where it is dropped"
        self.state(instruction, state.here, label, self.guarded.required(value))

    def read(
        self, state: State, instruction: Instruction, space: str, bits: int, address: Expression
    ) -> Read:
        """What the protocol has at an address. Where nothing else can be meant, that it is the
        address is left to be shown.
        """
        known: dict[int, Read] = {}
        for _, values in self.reached(state):
            for each in self.protocol.reads(values):
                if each.space == space and each.value.width == bits:
                    known.setdefault(id(each.address), each)
        if not known:
            raise instruction.error(f"a load of {bits} bits from {space or 'generic'} memory")
        equal, sample = self.reasoning.equal, self.terms.fingerprint(address)
        # Those first that are the same for all that a few points tell.
        likely = sorted(known.values(), key=lambda r: self.terms.fingerprint(r.address) != sample)
        found = next(
            (each for each in likely if equal(state.here, address, each.address)), likely[0]
        )
        if len(known) > 1 and not equal(state.here, address, found.address):
            raise instruction.error(
                "a load of what the protocol does not read",
                hint="next would be " + ", ".join(each.label for each in known.values()),
            )
        same = self.terms.equal(address, found.address, 64)
        self.state(instruction, state.here, f"{found.label}: address", same)
        self.state(instruction, state.here, f"{found.label}: inside", found.inside)
        return found

    def departed(self, state: State, instruction: Instruction, kind: str, reason: str) -> PtxError:
        """The error for a step of a kind (the end, if empty) that does not come next: a departure
        if another is due for a thread that comes here, or none of the kind can come next.
        """
        hint = f"next is {self.words(state)}"
        place, values = self.reached(state)[-1]
        node = self.protocol.nodes[place]
        due = self.terms.constant(1, 1)
        if isinstance(node, Step) and node.kind != kind:
            due = due if node.guard is None else node.guard(values)
        elif kind in self._next_kinds(place):
            return instruction.error(reason, hint=hint)
        # What no thread comes to says nothing.
        if self.reasoning.possible(state.here, due):
            return Departure(instruction, reason, hint)
        return instruction.error(reason, hint=hint)

    def _next_kinds(self, place: str) -> set[str]:
        """The kinds of steps, and the end, that may come next whatever questions are answered."""
        kinds, seen, waiting = set[str](), set[str](), [place]
        while waiting:
            place = waiting.pop()
            if place in seen:
                continue
            seen.add(place)
            match self.protocol.nodes[place]:
                case Step(kind=kind, guard=guard, then=then):
                    kinds.add(kind)
                    waiting += [] if guard is None else [then]
                case Ask(yes=first, no=second) | May(first=first, otherwise=second):
                    waiting += [first, second]
                case Let(then=then):
                    waiting.append(then)
                case End():
                    kinds.add("")
        return kinds

    def _compare(
        self,
        state: State,
        instruction: Instruction,
        label: str,
        found: Expression | int | str,
        wanted: Expression | int | str,
    ) -> None:
        if isinstance(found, Expression) and isinstance(wanted, Expression):
            same = self.terms.equal(found, wanted, wanted.width)
        else:
            same = self.terms.constant(int(found == wanted), 1)
        self.state(instruction, state.here, label, same)


def _same(first: dict[str, Expression], second: dict[str, Expression]) -> bool:
    return all(second[name] is value for name, value in first.items())
