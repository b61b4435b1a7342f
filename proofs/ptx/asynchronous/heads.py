"""What holds at the head of a loop, however often it went round: found by refinement, and proven.

At a loop's head some registers and variables of the protocol change from round to round. First each
is supposed to stay. What turns out to change is supposed to move together with all that began with
the same value, as one unknown value; groups whose members come back with different values are
parted. A register that moves with no variable may follow one by a constant factor and summand.
What is left is a value of which nothing is known.

Whatever is supposed is supposed at every arrival and proven of every arrival, the first one and
those from the loop's end: it is an invariant by induction, or it is given up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from tylo.proofs.ptx.asynchronous.guarded import Tag
from tylo.proofs.ptx.asynchronous.progress import Progress
from tylo.proofs.ptx.asynchronous.state import NO_LOOP_LEFT, State, unknown
from tylo.proofs.ptx.asynchronous.terms import Level
from tylo.proofs.ptx.bitvector import Expression, order
from tylo.proofs.ptx.program import Instruction

# A register ("r", name) or a variable of the protocol ("v", name).
Item: TypeAlias = tuple[str, str]
_MOST_BACK = 16


@dataclass(frozen=True, slots=True)
class Follows:
    """A register that is `factor` times a variable, and `summand`; or a variable flipped in its
    lowest bit; or, if there is no variable, a landmark of the protocol by its number.
    """

    variable: str
    factor: int
    summand: int = 0
    flipped: bool = False


class Head:
    """The hypotheses about one loop's head, for one way of coming to it."""

    def __init__(
        self,
        progress: Progress,
        instruction: Instruction,
        entry: State,
        changed: frozenset[str],
        factors: Sequence[int],
    ) -> None:
        self.progress, self.instruction = progress, instruction
        self.reasoning, self.terms = progress.reasoning, progress.terms
        place, values = progress.settled(entry)
        self.first = entry
        self.entry = replace(entry, place=place, values=dict(values))
        self.items: list[Item] = [("v", name) for name in sorted(values)]
        self.items += [("r", name) for name in sorted(changed & entry.registers.keys())]
        self.lost = changed - entry.registers.keys()
        self.stays = set(self.items)
        self.groups: list[list[Item]] = []
        self.follows: dict[Item, list[Follows]] = {}
        self.factors = factors
        self.tags: dict[Item, Tag] = {}
        self.levels = {item: self.terms.level(self.value(entry, item)) for item in self.items}
        self.known_before = len(self.reasoning.facts)
        self.variables: dict[str, Expression] = {}
        self.assumed: dict[Item, Expression] = {}

    def value(self, state: State, item: Item) -> Expression:
        """What a register or variable is in a state."""
        kind, name = item
        return (state.values if kind == "v" else state.registers)[name]

    def assume(self) -> State:
        """The state at the head under the hypotheses."""
        entry, terms = self.entry, self.terms
        state = entry.fork(entry.here)
        state.since = NO_LOOP_LEFT
        for name in self.lost:
            state.registers.pop(name, None)
        self.reasoning.forget(self.known_before)
        self.assumed, self.variables = {}, {}
        for group in self.groups:
            named = [name for kind, name in group if kind == "v"]
            width = self.value(entry, group[0]).width
            if named:
                moving = self._followed(group[0], self.variables) or terms.fresh(
                    width, Level.BLOCK, "moving"
                )
                self.variables |= dict.fromkeys(named, moving)
                self.assumed |= dict.fromkeys(group, moving)
        for group in self.groups:
            for item in group:
                if item not in self.assumed:
                    self.assumed[item] = self._followed(item, self.variables) or (
                        self.progress.guarded.new(self.tags[item])
                        if item in self.tags
                        else terms.fresh(self.value(entry, item).width, self.levels[item])
                    )
        for (kind, name), value in self.assumed.items():
            (state.values if kind == "v" else state.registers)[name] = value
        if self.variables:
            protocol = self.progress.protocol
            facts = protocol.ranges(state.values) + protocol.lemmas(state.values)
            self.reasoning.suppose(facts + self._known(state.values))
        return state

    def _followed(self, item: Item, values: dict[str, Expression]) -> Expression | None:
        rules = self.follows.get(item)
        if not rules:
            return None
        whole = {**self.entry.values, **values}
        return self._by_rule(rules[0], whole, self.value(self.entry, item).width)

    def _by_rule(self, rule: Follows, values: dict[str, Expression], width: int) -> Expression:
        terms = self.terms
        if not rule.variable:
            return self.progress.protocol.landmarks(values)[rule.factor]
        value = values[rule.variable]
        if rule.flipped:
            return terms.bit_xor(value, terms.constant(1, width), width)
        scaled = terms.multiply(value, terms.constant(rule.factor, width), width)
        return terms.add(scaled, terms.constant(rule.summand, width), width)

    def refine(self, backs: Sequence[State]) -> bool:
        """Give up what arrivals from the loop's end refute; whether anything was."""
        found: list[State] = []
        if self._elsewhere(backs):
            return True
        for back in backs[:_MOST_BACK]:
            values = self.progress.arrive(back, self.entry.place)
            assert values is not None
            if back.batches != self.entry.batches or back.open != self.entry.open:
                raise self.instruction.error("a loop with other products under way at its end")
            found.append(replace(back, values=values))
            for name in self.variables:
                if self.terms.level(values[name]) > Level.BLOCK:
                    raise self.instruction.error(f"threads do not agree about {name}")
        if len(backs) > _MOST_BACK:
            raise self.instruction.error("a loop that comes back from too many places")
        missing = {
            item
            for back in found
            for item in self.items
            if item[0] == "r" and item[1] not in back.registers
        }
        if missing:
            self._drop(missing)
            return True
        if self._guard(found):
            return True
        moved = {
            item
            for back in found
            for item in self.stays
            if not self._same(back, self.value(back, item), self.value(self.entry, item))
        }
        if moved:
            self._move(moved)
            return True
        for giving_up in (self._part, self._unfollow):
            if sum(giving_up(back) for back in found):
                return True
        return sum(self._raise_levels(back, len(found)) for back in found) > 0

    def _guard(self, backs: Sequence[State]) -> bool:
        """Registers that may hold scores of one key keep their tag; others of scores are lost."""
        guarded, lost, found = self.progress.guarded, set[Item](), False
        for item in self.items:
            values = [self.value(state, item) for state in (self.entry, *backs)]
            if not any(map(guarded.within, values)) or all(each is values[0] for each in values):
                continue
            tags = [tag for tag in map(guarded.pure, values) if tag is not None]
            others = [each for each in values if not guarded.within(each)]
            mine = self.tags.get(item, tags[0] if tags else None)
            if (
                mine is None
                or len(tags) + len(others) < len(values)
                or not all(mine.same(tag) for tag in tags)
            ):
                lost.add(item)
            elif item not in self.tags:
                self.tags[item], found = mine, True
        if lost:
            self._drop(lost)
        return found or bool(lost)

    def _elsewhere(self, backs: Sequence[State]) -> bool:
        """Take another node for the head's, where arrivals come to another; whether that was so."""
        if all(self.progress.arrive(back, self.entry.place) is not None for back in backs):
            return False
        for place, values in reversed(self.progress.reached(self.first)):
            if all(self.progress.arrive(back, place) is not None for back in backs):
                self.entry = replace(self.entry, place=place, values=dict(values))
                return True
        raise self.instruction.error(
            f"a loop comes back elsewhere in its protocol: {self.progress.words(backs[0])}, not "
            f"{self.progress.words(self.entry)}"
        )

    def holds(self, backs: Sequence[State]) -> None:
        """State of every arrival what the protocol says of its variables' ranges."""
        for state in (self.entry, *backs):
            values = self.progress.arrive(state, self.entry.place)
            assert values is not None
            if self.variables:
                for fact in (*self.progress.protocol.ranges(values), *self._known(values)):
                    self.progress.state(self.instruction, state.here, "range at a loop", fact)

    def _known(self, values: dict[str, Expression]) -> list[Expression]:
        """What the protocol says of the head's node."""
        known = self.progress.protocol.known.get(self.entry.place)
        return [] if known is None else [known(values)]

    def _drop(self, items: set[Item]) -> None:
        self.items = [item for item in self.items if item not in items]
        self.stays -= items
        self.groups = [[i for i in group if i not in items] for group in self.groups]
        self.groups = [group for group in self.groups if group]
        self.lost = self.lost | {name for _, name in items}

    def _move(self, items: set[Item]) -> None:
        """Items that do not stay move with what began with the same value."""
        self.stays -= items
        for item in sorted(items):
            start = self.value(self.entry, item)
            for group in self.groups:
                if self._alike(self.value(self.entry, group[0]), start):
                    group.append(item)
                    break
            else:
                self.groups.append([item])
        self._find_rules()

    def _alike(self, left: Expression, right: Expression) -> bool:
        if left is right:
            return True
        prints = self.terms.fingerprint
        return (
            left.width == right.width
            and prints(left) == prints(right)
            and self.reasoning.equal(self.entry.here, left, right)
        )

    def _part(self, back: State) -> bool:
        """Part the groups whose members come back with different values."""
        parted: list[list[Item]] = []
        for group in self.groups:
            if not any(kind == "v" for kind, _ in group):
                parted.append(group)
                continue
            pieces: list[list[Item]] = []
            for item in group:
                mine = self.value(back, item)
                for piece in pieces:
                    if self._same(back, self.value(back, piece[0]), mine):
                        piece.append(item)
                        break
                else:
                    pieces.append([item])
            parted += pieces
        changed = len(parted) != len(self.groups)
        self.groups = parted
        if changed:
            self._find_rules()
        return changed

    def _find_rules(self) -> None:
        """How registers that move with no variable may follow one."""
        self.follows = {}
        before: list[str] = []
        for group in self.groups:
            named = [name for kind, name in group if kind == "v"]
            if named and self.value(self.entry, group[0]).operands:
                self.follows[group[0]] = self._rules(group[0], before)
            if not self.follows.get(group[0]):
                before += named
        for group in self.groups:
            if not any(kind == "v" for kind, _ in group):
                for item in group:
                    self.follows[item] = self._rules(item, before)

    def _rules(self, item: Item, moving: list[str]) -> list[Follows]:
        terms, start = self.terms, self.value(self.entry, item)
        width, found = start.width, []
        for name in moving:
            variable = self.entry.values[name]
            if variable.width != width:
                continue
            for factor in self.factors:
                scaled = terms.multiply(variable, terms.constant(factor, width), width)
                rest = terms.normal(terms.subtract(start, scaled, width)).value
                if rest is not None:
                    found.append(Follows(name, factor, rest))
            one = terms.constant(1, width)
            if self._alike(start, terms.bit_xor(variable, one, width)):
                found.append(Follows(name, 1, flipped=True))
        for number, mark in enumerate(self.progress.protocol.landmarks(self.entry.values)):
            if self._alike(start, mark):
                found.append(Follows("", number))
        return found

    def _unfollow(self, back: State) -> bool:
        """Give up the rules that a register does not keep."""
        changed = False
        for group in self.groups:
            for item in group:
                if not self.follows.get(item):
                    continue
                wanted = self._followed(item, back.values)
                assert wanted is not None
                if not self._same(back, self.value(back, item), wanted):
                    self.follows[item] = self.follows[item][1:]
                    changed = True
        return changed

    def _raise_levels(self, back: State, ways: int) -> bool:
        """Let fewer threads agree about values of which nothing is known."""
        changed = False
        for item, value in self.assumed.items():
            if not unknown(value) or self.variables.get(item[1]) is value:
                continue
            level = self.terms.level(self.value(back, item)) if ways == 1 else Level.LANE
            if level > self.levels[item]:
                self.levels[item], changed = level, True
        return changed

    def require_together(self, ways: Sequence[State], together: Level) -> None:
        """Threads go round alike: those that share what moves, and those that act together."""
        decisions = self.reasoning.decisions
        before = set(map(id, decisions.atoms(self.entry.here)))
        atoms = [atom for state in ways for atom in decisions.atoms(state.here)]
        apart = max(
            (self.terms.level(atom) for atom in atoms if id(atom) not in before),
            default=Level.BLOCK,
        )
        for (_, name), value in self.assumed.items():
            if self.terms.level(value) < apart:
                raise self.instruction.error(
                    f"threads that share {name} leave a loop after different rounds"
                )
        if together < apart:
            raise self.instruction.error(
                f"threads of a {together.name.lower()} act together in a loop that they leave "
                "after different rounds"
            )

    def leave(self, states: Sequence[State], newest: int) -> None:
        """Forget how often a loop that has one way out went round.

        Every thread that comes to the loop leaves it in the end, so that afterwards those are here
        that were before. What the last round says of the protocol is told first.
        """
        decisions = self.reasoning.decisions
        for state in states:
            state.place, state.values = self.progress.settled(state)
            for atom in decisions.atoms(state.here):
                if self.terms.newest(atom) > newest:
                    state.here = decisions.without(state.here, atom)

    def _same(self, back: State, left: Expression, right: Expression) -> bool:
        if left is right:
            return True
        if left.width != right.width or _unknowns(left) != _unknowns(right):
            return False
        return self.reasoning.equal(back.here, left, right)


def _unknowns(term: Expression) -> frozenset[str]:
    return frozenset(str(node.attribute) for node in order([term]) if unknown(node))
