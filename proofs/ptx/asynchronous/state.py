"""Where a thread is and what it holds, and the meeting of two ways.

Registers hold terms. `here` is the condition under which a thread is on this way, `place` the node
of the protocol that it has come to with `values` of the protocol's variables. Products that were
started and not awaited keep their registers: `open` are those of the batch at hand, `batches` those
of committed ones. `written` are the registers written since products were last told to begin;
`since` says which values are older than the last loop that was left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from tylo.proofs.ptx.asynchronous.decisions import NEVER
from tylo.proofs.ptx.asynchronous.guarded import Guarded
from tylo.proofs.ptx.asynchronous.reasoning import Reasoning
from tylo.proofs.ptx.asynchronous.terms import Level
from tylo.proofs.ptx.bitvector import Expression
from tylo.proofs.ptx.program import Instruction

_FLOATS = ("f16", "f32", "f64", "bf16", "f16x2", "bf16x2")

NO_LOOP_LEFT = 1 << 62


@dataclass(frozen=True, slots=True)
class Waiting:
    """A barrier was tried: `passed` says whether its phase is complete."""

    instruction: Instruction
    address: Expression
    parity: Expression
    passed: Expression


@dataclass(slots=True)
class State:
    """See the module."""

    registers: dict[str, Expression]
    here: int
    place: str
    values: dict[str, Expression]
    waiting: Waiting | None = None
    open: frozenset[str] = frozenset()
    batches: tuple[frozenset[str], ...] = ()
    written: set[str] = field(default_factory=set)
    since: int = NO_LOOP_LEFT

    @property
    def busy(self) -> frozenset[str]:
        """Registers of products that are under way."""
        return self.open.union(*self.batches)

    def fork(self, here: int) -> State:
        """A copy that goes its own way."""
        return replace(
            self,
            here=here,
            registers=dict(self.registers),
            values=dict(self.values),
            written=set(self.written),
        )


class Meeting:
    """Registers of two ways that meet."""

    def __init__(self, reasoning: Reasoning, types: dict[str, str], guarded: Guarded) -> None:
        self.terms, self.decisions = reasoning.terms, reasoning.decisions
        self.reasoning, self.types, self.guarded = reasoning, types, guarded

    def registers(self, first: State, second: State) -> dict[str, Expression]:
        """What each register holds after the ways have met; those of one way alone are lost."""
        selector = self.selector(first, second)
        met = {
            name: left
            if left is (right := second.registers[name])
            else self._either(self.types[name], selector, left, right)
            for name, left in first.registers.items()
            if name in second.registers
        }
        lost = [
            name
            for name, value in met.items()
            if value is None or self._apart(first.registers[name], second.registers[name])
        ]
        done = self._used(first, second, lost)
        met |= {name: self.terms.fresh(32, Level.LANE) for name in done}
        return {name: value for name, value in met.items() if value is not None}

    def _apart(self, left: Expression, right: Expression) -> bool:
        """Whether a score meets what is none: best if it has become what it has to."""
        return self.guarded.within(left) != self.guarded.within(right)

    def _used(self, first: State, second: State, names: Sequence[str]) -> set[str]:
        """Of scores that meet other values those that have become what they have to."""
        required: dict[str, list[tuple[int, Expression]]] = {}
        for name in names:
            ways = [(way.here, way.registers[name]) for way in (first, second)]
            held = [(here, value) for here, value in ways if self.guarded.within(value)]
            if all(self.guarded.tag(value) is not None for _, value in held):
                required[name] = [(here, self.guarded.required(value)) for here, value in held]

        def right(names: Iterable[str]) -> bool:
            wanted: dict[int, list[Expression]] = {}
            for name in names:
                for here, each in required[name]:
                    wanted.setdefault(here, []).append(each)
            return all(
                self.reasoning.follows(here, self.terms.all_of(each))
                for here, each in wanted.items()
            )

        if required and right(required):
            return set(required)
        return {name for name in required if right([name])}

    def selector(self, first: State, second: State) -> Expression:
        """A condition that holds on the first way and not on the second, or one that may."""
        decisions, here = self.decisions, first.here
        if decisions.both(here, second.here) != NEVER:
            # Conditions that were forgotten on the way may have been what told them apart.
            return self.terms.fresh(1, Level.LANE)
        # What does not tell the ways apart is left out, first of all what threads do not share.
        for atom in sorted(decisions.atoms(here), key=self.terms.level, reverse=True):
            wider = decisions.without(here, atom)
            if decisions.both(wider, second.here) == NEVER:
                here = wider
        return decisions.term(here)

    def _either(
        self, kind: str, selector: Expression, left: Expression, right: Expression
    ) -> Expression | None:
        terms = self.terms
        if self.guarded.within(left) or self.guarded.within(right):
            return self.guarded.joined(selector, left, right)
        if kind not in _FLOATS and not (unknown(left) or unknown(right)):
            return terms.select(selector, left, right, left.width)
        level = max(map(terms.level, (selector, left, right)))
        return terms.fresh(left.width, level)


def unknown(term: Expression) -> bool:
    """Whether a term is a value of which nothing is known."""
    return term.operator == "variable" and str(term.attribute).startswith("any.")


__all__ = ["NO_LOOP_LEFT", "Level", "Meeting", "State", "Waiting", "unknown"]
