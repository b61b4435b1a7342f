"""That steps are searched rightly, and that what is read of a packed mask lies inside it.

`attention_masks` goes through words of four steps, each loaded one word ahead. Here the memory is
any function of words: each word that is spoken of is a variable, and words of one index are the
same. An invariant of the search is proven to hold at first and from turn to turn; from it follows
that what is found is the last step before that keeps something, that none is left out, and that its
byte lies in the word at hand.

>>> [each.label for each in obligations(128, 64)][:3]
['search: it begins with the words it needs', 'search: the word at hand holds the steps before', \
'search: what is left out keeps nothing']
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tylo.proofs.ptx.asynchronous.attention_numbers import NumberObligation
from tylo.proofs.ptx.asynchronous.terms import Level, Terms
from tylo.proofs.ptx.bitvector import Expression
from tylo.proofs.ptx.smtlib import script
from tylo.proofs.specifications.attention_masks import RECORD_KEYS, RECORD_WORDS
from tylo.proofs.specifications.attention_search import (
    STEPS_OF_WORD,
    first_words,
    found_step,
    kept_of_word,
    steps_of_word,
)


class _Search:
    """One turn of a search, from any place, in any memory."""

    def __init__(self) -> None:
        self.d = Terms()
        self.words: list[tuple[Expression, Expression]] = []

    def number(self, label: str) -> Expression:
        return self.d.named(label, 32, Level.BLOCK)

    def constant(self, value: int) -> Expression:
        return self.d.constant(value, 32)

    def word(self, index: Expression) -> Expression:
        """What memory holds."""
        found = self.number(f"word_{len(self.words)}")
        self.words.append((index, found))
        return found

    def of(self, step: Expression, before: int = 0) -> Expression:
        """The word of a step, or one before it."""
        place = self.d.shift_right(step, self.constant(2), 32, False)
        return self.word(self.d.add(place, self.constant(-before), 32))

    def byte(self, step: Expression) -> Expression:
        d = self.d
        amount = d.shift_left(d.bit_and(step, self.constant(3), 32), self.constant(3), 32)
        moved = d.shift_right(self.of(step), amount, 32, False)
        return d.bit_and(moved, self.constant(255), 32)

    def less(self, left: Expression, right: Expression) -> Expression:
        return self.d.less(left, right, 32, True)

    def at_least(self, left: Expression, right: Expression) -> Expression:
        return self.d.negate(self.less(left, right))

    def implies(self, condition: Expression, then: Expression) -> Expression:
        return self.d.bit_or(self.d.negate(condition), then, 1)

    def holds(self, at: Expression, word: Expression, ahead: Expression) -> Expression:
        """The invariant: the word of the step at hand, unless it begins one, and the one before."""
        d = self.d
        begins = d.equal(d.bit_and(at, self.constant(3), 32), self.constant(0), 32)
        here = d.bit_or(begins, d.equal(word, self.of(at), 32), 1)
        before = self.implies(
            self.at_least(at, self.constant(4)), d.equal(ahead, self.of(at, 1), 32)
        )
        return d.all_of((self.at_least(at, self.constant(0)), here, before))

    def prove(self, label: str, facts: list[Expression], goal: Expression) -> NumberObligation:
        d = self.d
        same = [
            self.implies(d.equal(i, j, 32), d.equal(a, b, 32))
            for (i, a), (j, b) in itertools.combinations(self.words, 2)
        ]
        return NumberObligation(f"search: {label}", script([*facts, *same, d.negate(goal)]))


def obligations(rows: int, keys: int) -> list[NumberObligation]:
    """Everything about a packed mask that members of these sizes read."""
    return [*_begin(), *_turn(), *_inside(rows, keys)]


def _begin() -> Iterator[NumberObligation]:
    on = _Search()
    tiles = on.number("tiles")
    word, ahead = first_words(on.d, tiles, on.word)
    natural = [on.at_least(tiles, on.constant(0))]
    goal = on.holds(tiles, word, ahead)
    yield on.prove("it begins with the words it needs", natural, goal)


def _turn() -> Iterator[NumberObligation]:
    on = _Search()
    d = on.d
    at, word, ahead, step = (on.number(label) for label in ("at", "word", "ahead", "step"))
    given = [on.holds(at, word, ahead), on.less(on.constant(0), at)]
    begins = d.equal(d.bit_and(at, on.constant(3), 32), on.constant(0), 32)
    more = d.bit_and(begins, on.less(on.constant(7), at), 1)
    here = d.select(begins, ahead, word, 32)
    following = d.select(more, on.of(at, 2), ahead, 32)
    empty = d.equal(kept_of_word(d, at, here), on.constant(0), 32)
    lower, found = d.subtract(at, steps_of_word(d, at), 32), found_step(d, at, here)
    before = d.add(at, on.constant(-1), 32)
    goal = d.equal(here, on.of(before), 32)
    yield on.prove("the word at hand holds the steps before", given, goal)
    zero = on.constant(0)
    between = d.bit_and(on.at_least(step, lower), on.less(step, at), 1)
    goal = d.equal(on.byte(step), zero, 32)
    yield on.prove("what is left out keeps nothing", [*given, empty, between], goal)
    goal = d.bit_and(on.less(lower, at), on.holds(lower, here, following), 1)
    yield on.prove("it goes on with the words it needs", [*given, empty], goal)
    kept = [*given, d.negate(empty)]
    inside = d.bit_and(on.at_least(found, zero), on.less(found, at), 1)
    some = d.negate(d.equal(on.byte(found), zero, 32))
    yield on.prove("a step that is found keeps something", kept, d.bit_and(inside, some, 1))
    between = d.bit_and(on.less(found, step), on.less(step, at), 1)
    goal = d.equal(on.byte(step), zero, 32)
    yield on.prove("it is the last one", [*kept, between], goal)
    goal = d.bit_and(d.equal(here, on.of(found), 32), on.holds(found, here, following), 1)
    yield on.prove("its byte is in the word at hand, and the next search begins", kept, goal)


def _inside(rows: int, keys: int) -> Iterator[NumberObligation]:
    """Words of bits and of steps lie inside what is packed: rows in records, records in heads,
    heads in batches, an axis that repeats having the one index 0.
    """
    parts = RECORD_KEYS // keys

    def goal(label: str, facts: list[str], wanted: str) -> NumberObligation:
        names = ("tile", "keys", "records", "words", "size", "inner", "i", "k", "first", "other")
        lines = [f"(declare-const {name} Int)" for name in names]
        lines += [f"(assert {fact})" for fact in (*facts, f"(not {wanted})")]
        text = "\n".join(["(set-logic QF_NIA)", *lines, "(check-sat)", ""])
        return NumberObligation(f"search: {label}", text)

    # Steps begin before the end; records and words are as many as steps need.
    steps = [
        "(<= 0 tile)",
        f"(< (* {keys} tile) keys)",
        f"(<= keys (* {RECORD_KEYS} records))",
    ]
    yield goal("a step's record", steps, f"(< (div tile {parts}) records)")
    words = f"(<= (* {parts} records) (* {STEPS_OF_WORD} words))"
    yield goal("a step's word", [*steps, words], f"(< (div tile {STEPS_OF_WORD}) words)")
    # Of n places i + 1 + k there are k after place i.
    axis = ["(<= 1 size)", "(<= 0 i)", "(<= 0 k)"]
    products = ["(<= 0 (* k size))", "(<= 0 (* i size))"]
    for wanted in products:
        yield goal("places before and after have room", axis, wanted)
    inside = "(and (<= 0 (+ (* i size) inner)) (< (+ (* i size) inner) (* (+ i 1 k) size)))"
    facts = [*products, "(<= 0 inner)", "(< inner size)"]
    yield goal("an axis inside another", facts, inside)
    # The second row of a thread is found from the first, in 32 bits.
    rows_read = ["(<= 0 first)", "(<= first other)", "(<= other (+ first 8))"]
    for step in (0, RECORD_WORDS):
        apart = f"(* {step} (- other first))"
        same = f"(and (= (+ (* {step} first) {apart}) (* {step} other)) (< {apart} {2**31}))"
        yield goal(f"the later row, rows {step} words apart", rows_read, same)
