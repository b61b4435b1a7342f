"""Values that may be used only where they are kept: scores, each of one key of one row.

A product gives scores of all keys of a step. One that the mask or the row's end drops has to become
minus infinity before anything is made of it; one that is kept has to stay. A guarded value is a
variable with a `Tag` that says where it is kept. It may be moved, multiplied by a factor, chosen
against minus infinity or another value of the same score; whatever else reads it is a use, and
gives rise to the obligation that what is read is the score where it is kept, and minus infinity
elsewhere.

>>> from tylo.proofs.ptx.asynchronous.terms import Level, Terms
>>> from tylo.proofs.ptx.asynchronous.decisions import ALWAYS, Decisions
>>> terms = Terms()
>>> guarded, kept = Guarded(terms), terms.named("kept", 1, Level.LANE)
>>> score = guarded.new(Tag("score 0", kept, terms.constant(1, 1)))
>>> dropped = terms.select(kept, score, terms.constant(MINUS_INFINITY, 32), 32)
>>> [Decisions(terms).of(guarded.required(each)) == ALWAYS for each in (score, dropped)]
[False, True]
"""

from __future__ import annotations

from dataclasses import dataclass

from tylo.proofs.ptx.asynchronous.terms import Level, Terms
from tylo.proofs.ptx.bitvector import Expression, order

MINUS_INFINITY = 0xFF800000


@dataclass(frozen=True, eq=False)
class Tag:
    """Where a score is kept, and where that matters: what rows beyond the last one hold does not;
    what is known of the names in it.
    """

    label: str
    kept: Expression
    needed: Expression
    known: tuple[Expression, ...] = ()

    def same(self, other: Tag) -> bool:
        """Whether two values are of one score."""
        return self.kept is other.kept and self.needed is other.needed


class Guarded:
    """The guarded values of one walk."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self._tags: dict[int, Tag] = {}
        self._within: dict[int, bool] = {}
        self._shape: dict[int, Tag | None] = {}

    def new(self, tag: Tag) -> Expression:
        """A value of a score."""
        found = self.terms.fresh(32, Level.LANE, "score")
        self._tags[id(found)] = tag
        return found

    def pure(self, value: Expression) -> Tag | None:
        """The tag of a guarded value as it is."""
        return self._tags.get(id(value))

    def within(self, value: Expression) -> bool:
        """Whether a value is made of guarded ones."""
        if not self._tags:
            return False
        if id(value) not in self._within:
            self._within[id(value)] = any(id(node) in self._tags for node in order([value]))
        return self._within[id(value)]

    def tag(self, value: Expression) -> Tag | None:
        """The tag of a choice between values of one score and minus infinity."""
        if id(value) not in self._shape:
            self._shape[id(value)] = self._tag(value)
        return self._shape[id(value)]

    def _tag(self, value: Expression) -> Tag | None:
        if value.operator != "ite":
            return self.pure(value)
        condition, *parts = value.operands
        if self.within(condition):
            return None
        tags = [self.tag(part) for part in parts if part.value != MINUS_INFINITY]
        first = tags[0] if tags else None
        if first is None or not all(each is not None and each.same(first) for each in tags):
            return None
        return first

    def joined(
        self, selector: Expression, left: Expression, right: Expression
    ) -> Expression | None:
        """What ways that meet hold, of which one is guarded at least; `None` where it is lost."""
        pure = [tag for tag in map(self.pure, (left, right)) if tag is not None]
        others = [each for each in (left, right) if not self.within(each)]
        alike = pure and all(pure[0].same(tag) for tag in pure)
        infinite = any(each.value == MINUS_INFINITY for each in others)
        if alike and len(pure) + len(others) == 2 and not infinite:
            return self.new(pure[0])
        chosen = self.terms.select(selector, left, right, left.width)
        return None if self.tag(chosen) is None else chosen

    def required(self, value: Expression) -> Expression:
        """What has to hold where a value is used that has a tag."""
        tag = self.tag(value)
        assert tag is not None
        right = self.terms.equal(self._picked(value), tag.kept, 1)
        return self.terms.bit_or(self.terms.negate(tag.needed), right, 1)

    def _picked(self, value: Expression) -> Expression:
        """Where a choice takes the score."""
        if value.operator != "ite":
            return self.terms.constant(int(value.value is None), 1)
        condition, chosen, otherwise = value.operands
        return self.terms.select(condition, self._picked(chosen), self._picked(otherwise), 1)
