"""Conditions as decision diagrams: where a thread is, as a truth function of its branch conditions.

Two ways that part at a condition and meet again are where they came from, whatever the condition
was: the diagram of "a and c, or a and not c" is that of a. So what is left in a diagram after ways
have met says who may be missing, and a collective instruction needs no lane's conditions in it.

>>> from tylo.proofs.ptx.asynchronous.terms import Level, Terms
>>> terms = Terms()
>>> d = Decisions(terms)
>>> a, c = (terms.named(label, 1, Level.LANE) for label in "ac")
>>> here, there = d.both(d.of(a), d.of(c)), d.both(d.of(a), d.of(terms.negate(c)))
>>> d.either(here, there) == d.of(a), d.implies(here, d.of(a)), d.implies(d.of(a), here)
(True, True, False)
>>> d.without(here, c) == d.of(a), [atom.attribute for atom in d.atoms(here)]
(True, ['a', 'c'])

Reduced ordered binary decision diagrams are canonical: Bryant, "Graph-Based Algorithms for Boolean
Function Manipulation", 1986.
"""

from __future__ import annotations

from collections.abc import Iterator

from tylo.proofs.ptx.asynchronous.terms import Level, Terms
from tylo.proofs.ptx.bitvector import Expression

NEVER, ALWAYS = 0, 1


class Decisions:
    """Diagrams over atoms, which are terms of one bit; a diagram is a number."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        # Atom number, diagram where it is zero, diagram where it is one.
        self._nodes: list[tuple[int, int, int]] = [(1 << 30, 0, 0), (1 << 30, 1, 1)]
        self._unique: dict[tuple[int, int, int], int] = {}
        self._atoms: list[Expression] = []
        self._number: dict[int, int] = {}
        self._chosen: dict[tuple[int, int, int], int] = {}
        self._of: dict[int, int] = {}

    def of(self, bit: Expression) -> int:
        """The diagram of a term of one bit."""
        if id(bit) not in self._of:
            self._of[id(bit)] = self._diagram(bit)
        return self._of[id(bit)]

    def _diagram(self, bit: Expression) -> int:
        if bit.value is not None:
            return int(bit.value)
        match bit.operator:
            case "bvand":
                return self.both(*map(self.of, bit.operands))
            case "bvor":
                return self.either(*map(self.of, bit.operands))
            case "bvxor":
                left, right = map(self.of, bit.operands)
                return self.choose(left, self.negation(right), right)
            case "ite":
                return self.choose(*map(self.of, bit.operands))
            case "=" if (chosen := _compared_choice(bit)) is not None:
                condition, if_so, if_not = chosen
                return self.choose(self.of(condition), int(if_so), int(if_not))
            case "=" if bit.operands[0].operator == "concat" and bit.operands[1].value is not None:
                return self._pieces_equal(bit.operands[0], bit.operands[1].value)
            case "=" if bit.operands[0].width == 1:
                left, right = map(self.of, bit.operands)
                return self.choose(left, right, self.negation(right))
            case "bvslt" | "bvult" if (turned := self._turned(bit)) is not None:
                return self.negation(self.of(turned))
        form = self.terms.normal(bit)
        if form is not bit:
            return self.of(form)
        number = self._number.setdefault(id(bit), len(self._atoms))
        if number == len(self._atoms):
            self._atoms.append(bit)
        return self._node(number, NEVER, ALWAYS)

    def _turned(self, bit: Expression) -> Expression | None:
        """What fails where a constant is less than a value: that it is less than the next."""
        left, right = bit.operands
        signed = bit.operator == "bvslt"
        last = (1 << (left.width - signed)) - 1
        if left.value is None or left.value == last:
            return None
        following = self.terms.constant(left.value + 1, left.width)
        return self.terms.less(right, following, left.width, signed)

    def _pieces_equal(self, whole: Expression, value: int) -> int:
        """Where each piece of a value is its part of a number."""
        result, low = ALWAYS, 0
        for piece in whole.operands:
            part = self.terms.constant(value >> low, piece.width)
            result = self.both(result, self.of(self.terms.equal(piece, part, piece.width)))
            low += piece.width
        return result

    def _node(self, atom: int, low: int, high: int) -> int:
        if low == high:
            return low
        key = (atom, low, high)
        if key not in self._unique:
            self._unique[key] = len(self._nodes)
            self._nodes.append(key)
        return self._unique[key]

    def choose(self, condition: int, high: int, low: int) -> int:
        """`high` where the condition holds, else `low`."""
        if condition == ALWAYS or high == low:
            return high
        if condition == NEVER:
            return low
        key = (condition, high, low)
        if key not in self._chosen:
            atom = min(self._nodes[each][0] for each in key)
            lows = [self._under(each, atom, 1) for each in key]
            highs = [self._under(each, atom, 2) for each in key]
            self._chosen[key] = self._node(atom, self.choose(*lows), self.choose(*highs))
        return self._chosen[key]

    def _under(self, diagram: int, atom: int, side: int) -> int:
        node = self._nodes[diagram]
        return node[side] if node[0] == atom else diagram

    def negation(self, diagram: int) -> int:
        """The complement."""
        return self.choose(diagram, NEVER, ALWAYS)

    def both(self, left: int, right: int) -> int:
        """The conjunction."""
        return self.choose(left, right, NEVER)

    def either(self, left: int, right: int) -> int:
        """The disjunction."""
        return self.choose(left, ALWAYS, right)

    def implies(self, left: int, right: int) -> bool:
        """Whether the one holds wherever the other does, whatever the atoms are."""
        return self.both(left, self.negation(right)) == NEVER

    def without(self, diagram: int, atom: Expression) -> int:
        """Where the diagram holds for some value of the atom."""
        number = self._nodes[self.of(atom)][0]

        def passed(at: int) -> int:
            label, low, high = self._nodes[at]
            if label > number:
                return at
            if label == number:
                return self.either(low, high)
            return self._node(label, passed(low), passed(high))

        return passed(diagram)

    def _below(self, diagram: int) -> Iterator[tuple[int, tuple[int, int, int]]]:
        seen, stack = {NEVER, ALWAYS}, [diagram]
        while stack:
            at = stack.pop()
            if at not in seen:
                seen.add(at)
                yield at, self._nodes[at]
                stack += self._nodes[at][1:]

    def atoms(self, diagram: int) -> list[Expression]:
        """The atoms that a diagram depends on."""
        numbers = sorted({node[0] for _, node in self._below(diagram)})
        return [self._atoms[number] for number in numbers]

    def level(self, diagram: int) -> Level:
        """Which threads come here together."""
        return max(map(self.terms.level, self.atoms(diagram)), default=Level.BLOCK)

    def term(self, diagram: int) -> Expression:
        """A diagram as a term of one bit."""
        found = {NEVER: self.terms.constant(0, 1), ALWAYS: self.terms.constant(1, 1)}

        def build(at: int) -> Expression:
            if at not in found:
                atom, low, high = self._nodes[at]
                found[at] = self.terms.select(self._atoms[atom], build(high), build(low), 1)
            return found[at]

        return build(diagram)


def _compared_choice(bit: Expression) -> tuple[Expression, bool, bool] | None:
    """A choice between two constants that is compared with a third: whether either is it."""
    left, right = bit.operands
    if right.value is None or left.operator != "ite":
        return None
    condition, chosen, otherwise = left.operands
    if chosen.value is None or otherwise.value is None:
        return None
    return condition, chosen.value == right.value, otherwise.value == right.value
