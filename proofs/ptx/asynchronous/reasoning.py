"""What follows from where a thread is, and from what is assumed of the launch.

A condition follows because it is the same diagram, because its terms are the same polynomial, or
because a solver says so, of products and quotients knowing only that equal operands have equal
results. The walk asks z3 in this process as it goes; `stated` keeps each script it relied on, so
that whoever checks may ask other solvers.

>>> from tylo.proofs.ptx.asynchronous.terms import Level, Terms
>>> terms = Terms()
>>> n, zero = terms.named("n", 32, Level.BLOCK), terms.constant(0, 32)
>>> reasoning = Reasoning(terms, [terms.less(zero, n, 32, True)])
>>> reasoning.decided(ALWAYS, terms.equal(n, zero, 32))
False
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from tylo.proofs.ptx import inprocess
from tylo.proofs.ptx.asynchronous.decisions import ALWAYS, NEVER, Decisions
from tylo.proofs.ptx.asynchronous.terms import Terms
from tylo.proofs.ptx.bitvector import Expression, order
from tylo.proofs.ptx.program import Instruction
from tylo.proofs.ptx.smtlib import script

_NUMBERED = re.compile(r"[A-Za-z_][A-Za-z_.]*\.[0-9]+(\.[0-9]+)*")
_MILLISECONDS = 20_000  # most take a few; how busy the machine is should decide nothing


@lru_cache(maxsize=1 << 14)
def _answer(text: str) -> str:
    (verdict,) = inprocess.solve([text], _MILLISECONDS)
    return verdict


def _canonical(text: str) -> str:
    """A script with numbered variables named in the order in which they come.

    Loops are walked several times, each time with new variables: what is asked is the same.

    >>> _canonical("(declare-const any.31 (_ BitVec 1))(assert (= any.31 (_ bv1 1)))")
    '(declare-const x0 (_ BitVec 1))(assert (= x0 (_ bv1 1)))'
    """
    names: dict[str, str] = {}
    return _NUMBERED.sub(lambda found: names.setdefault(found[0], f"x{len(names)}"), text)


class Reasoning:
    """Facts that hold everywhere, and what follows; the first facts are those of the launch."""

    def __init__(self, terms: Terms, facts: Sequence[Expression]) -> None:
        self.terms = terms
        self.decisions = Decisions(terms)
        self.facts = list(facts)
        self._named: dict[int, frozenset[str]] = {}
        self.common = frozenset[str]().union(*map(self._variables, self.facts))
        self.stated: dict[str, Instruction] = {}
        self.at: Instruction | None = None  # what is being walked
        self.changes = self.epoch = 0
        # Conditions are kept by their identity, and live as long as their terms do.
        self._known: dict[tuple[int, int], tuple[bool, int, int]] = {}

    def decided(self, here: int, condition: Expression) -> bool | None:
        """Whether a condition holds, or does not, wherever a thread may be; `None` if neither."""
        if self.follows(here, condition):
            return True
        return False if self.follows(here, self.terms.negate(condition)) else None

    def follows(self, here: int, condition: Expression) -> bool:
        """Whether a condition holds wherever a thread may be."""
        key = here, id(condition)
        known = self._known.get(key)
        # What follows from some facts follows from more; what does not may yet.
        if known is None or known[1] != self.epoch or not (known[0] or known[2] == self.changes):
            known = self._follows(here, condition), self.epoch, self.changes
            self._known[key] = known
        return known[0]

    def _follows(self, here: int, condition: Expression) -> bool:
        for text in self.questions(here, condition):
            if text == "":
                return True
            if self.answer(text) == "holds":
                if self.at is not None:
                    self.stated.setdefault(text, self.at)
                return True
        return False

    def possible(self, here: int, condition: Expression) -> bool:
        """Whether solvers know values for which a thread is here and the condition holds."""
        *_, text = self.questions(here, self.terms.negate(condition))
        return text != "" and self.answer(text) == "fails"

    def answer(self, text: str) -> str:
        """What z3 says of a script."""
        return _answer(text)

    def suppose(self, facts: Sequence[Expression]) -> None:
        """Take further facts, about variables that are new."""
        known = {id(fact) for fact in self.facts}
        new = {id(fact): fact for fact in facts if id(fact) not in known and fact.value != 1}
        if new:
            self.facts += new.values()
            self.changes += 1

    def forget(self, count: int) -> None:
        """Go back to the first so many facts: what was found since is of no use any more."""
        if len(self.facts) > count:
            del self.facts[count:]
            self.epoch += 1

    def questions(self, here: int, condition: Expression) -> Iterator[str]:
        """Scripts of which none can be satisfied unless the condition does not follow, the one
        that says least first; one that is empty where the condition plainly follows.
        """
        decisions = self.decisions
        wanted = decisions.of(condition)
        if decisions.implies(here, wanted):
            yield ""
            return
        if all(self.terms.fingerprint(condition)):
            alone = decisions.term(decisions.negation(wanted))
            yield _canonical(script(self.terms.linear([alone])))
        against = decisions.term(decisions.both(here, decisions.negation(wanted)))
        yield _canonical(script(self.terms.linear([against, *self._about(against)])))

    def _about(self, stated: Expression) -> list[Expression]:
        """The facts about a statement's variables, or about those that facts tie to them.

        What is common to all facts, such as the launch's sizes, ties nothing.
        """
        names = [self._variables(each) for each in self.facts]
        mine = self._variables(stated)
        known = mine - self.common
        taken: set[int] = set()
        growing = True
        while growing:
            growing = False
            for place, each in enumerate(names):
                if place not in taken and (each - self.common) & known:
                    known |= each - self.common
                    mine |= each
                    taken.add(place)
                    growing = True
        taken |= {place for place, each in enumerate(names) if each <= self.common and each & mine}
        return [self.facts[place] for place in sorted(taken)]

    def _variables(self, term: Expression) -> frozenset[str]:
        if id(term) not in self._named:
            self._named[id(term)] = frozenset(
                str(node.attribute) for node in order([term]) if node.operator == "variable"
            )
        return self._named[id(term)]

    def equal(self, here: int, left: Expression, right: Expression) -> bool:
        """Whether two terms have one value wherever a thread may be."""
        return left is right or self.follows(here, self.terms.equal(left, right, left.width))


__all__ = ["ALWAYS", "NEVER", "Reasoning"]
