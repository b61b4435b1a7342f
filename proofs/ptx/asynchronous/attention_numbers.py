"""That a block's work is what it should be: the machine's arithmetic is the integers', and each
block of rows of each head is worked on once.

`attention_work` says which work an item is, in terms of any kind. Here they are integers: every
operation gives rise to the obligation that its result is one of 32 bits, so that nothing wraps, and
`attention_work.lemmas` and the correspondence between items and rows follow. Everything is stated
for all arguments that a launch may have, as conditions on integers with products, in the logic
QF_NIA, each for z3 and for cvc5 to refute.

>>> found = obligations(rows=128, keys=64)
>>> [each.label for each in found if "once" in each.label]
['once: a run, a place and a head have an item', 'once: which is theirs alone', \
'once: early and late places are all blocks of rows', 'once: and none twice']
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tylo.proofs.ptx.asynchronous.attention_work import (
    Columns,
    column_facts,
    lemmas,
    row_end_of,
    whole_of,
    work_of,
)
from tylo.proofs.specifications.attention_arguments import MOST_ITEMS, MOST_LENGTH
from tylo.proofs.specifications.attention_plan import GROUP_ROWS

_LOW, _HIGH = -(2**31), 2**31


@dataclass(frozen=True, slots=True)
class NumberObligation:
    """A script that cannot be satisfied if what the label says holds."""

    label: str
    script: str


@dataclass(frozen=True, slots=True)
class _Number:
    """An integer term, or a truth value; `operands` and `serial` are what names ask for."""

    text: str
    operands: tuple[str, ...] = ("",)
    serial: int = 0


class _Integers:
    """The operations of `attention_work`, each with the obligation that it does not wrap."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.facts: list[str] = []
        self.goals: list[NumberObligation] = []
        self._count = 0
        self.about = "the item"

    def prove(self, label: str, goal: str, of: Sequence[str] | None = None) -> None:
        """State a goal, and use it from here on; `of` are the facts that it follows from."""
        text = "\n".join(
            [
                "(set-logic QF_NIA)",
                *self.lines,
                *(f"(assert {fact})" for fact in (self.facts if of is None else of)),
                f"(assert (not {goal}))",
                "(check-sat)",
                "",
            ]
        )
        self.goals.append(NumberObligation(label, text))
        self.facts.append(goal)

    def integer(self, name: str, low: int | None = None, high: int | None = None) -> _Number:
        """A variable, within bounds if they are given."""
        self.lines.append(f"(declare-const {name} Int)")
        if low is not None:
            self.facts.append(f"(<= {_literal(low)} {name})")
        if high is not None:
            self.facts.append(f"(<= {name} {_literal(high)})")
        return _Number(name)

    def defined(self, text: str, wraps: bool = True) -> _Number:
        """A variable for a term, in 32 bits."""
        self._count += 1
        found = self.integer(f"n{self._count}")
        self.facts.append(f"(= {found.text} {text})")
        if wraps:
            inside = f"(and (<= {_literal(_LOW)} {found.text}) (< {found.text} {_HIGH}))"
            self.prove(f"{self.about} is not wrapped: {text}", inside)
        return found

    def constant(self, value: int, width: int) -> _Number:
        return _Number(_literal(value))

    def add(self, left: _Number, right: _Number, width: int) -> _Number:
        return self.defined(f"(+ {left.text} {right.text})")

    def subtract(self, left: _Number, right: _Number, width: int) -> _Number:
        return self.defined(f"(- {left.text} {right.text})")

    def multiply(self, left: _Number, right: _Number, width: int) -> _Number:
        return self.defined(f"(* {left.text} {right.text})")

    def divide(self, left: _Number, right: _Number, width: int, signed: bool) -> _Number:
        """What divides is positive. Nothing is said of the quotient of a negative number, which is
        none to begin with if signs count.
        """
        self.prove(f"{self.about} is not divided by zero: {right.text}", f"(< 0 {right.text})")
        natural = f"(<= 0 {left.text})"
        if signed:
            self.prove(f"{self.about} is no negative number that is divided: {left.text}", natural)
        self._count += 1
        found = self.integer(f"q{self._count}")
        rest = f"(- {left.text} (* {found.text} {right.text}))"
        known = f"(and (<= 0 {rest}) (< {rest} {right.text}) (<= 0 {found.text} {left.text}))"
        self.facts.append(known if signed else f"(=> {natural} {known})")
        return found

    def select(
        self, condition: _Number, chosen: _Number, otherwise: _Number, width: int
    ) -> _Number:
        return self.defined(f"(ite {condition.text} {chosen.text} {otherwise.text})", wraps=False)

    def less(self, left: _Number, right: _Number, width: int, signed: bool) -> _Number:
        return _Number(f"(< {left.text} {right.text})")

    def equal(self, left: _Number, right: _Number, width: int) -> _Number:
        return _Number(f"(= {left.text} {right.text})")

    def negate(self, bit: _Number) -> _Number:
        return _Number(f"(not {bit.text})")

    def bit_and(self, left: _Number, right: _Number, width: int) -> _Number:
        return _Number(f"(and {left.text} {right.text})")

    def bit_or(self, left: _Number, right: _Number, width: int) -> _Number:
        return _Number(f"(or {left.text} {right.text})")

    def normal(self, term: _Number) -> _Number:
        return term


class _Launch:
    """The arguments of any launch, and what is assumed of them."""

    def __init__(self, rows: int) -> None:
        d = self.terms = _Integers()
        bounds = {
            "queries": (1, MOST_LENGTH),
            "keys": (0, MOST_LENGTH),
            "heads": (1, MOST_ITEMS),
            "sharing": (1, MOST_ITEMS),
            "diagonal": (-MOST_LENGTH, MOST_LENGTH),
            "row_tiles": (1, MOST_LENGTH),
            "places": (1, MOST_ITEMS),
            "all_heads": (1, MOST_ITEMS),
            "run": (1, MOST_ITEMS),
            "paired": (0, 1),
        }
        self.fields = {name: d.integer(name, *bound) for name, bound in bounds.items()}
        d.facts += [
            f"(<= (+ queries keys) {MOST_LENGTH})",
            "(and (<= (- queries) diagonal) (<= diagonal keys))",
            f"(and (< (* {rows} (- row_tiles 1)) queries) (<= queries (* {rows} row_tiles)))",
            "(ite (= paired 1) (and (<= row_tiles (* 2 places)) (<= (* 2 places) (+ row_tiles 1)))"
            " (= places row_tiles))",
            f"(<= (* places all_heads) {MOST_ITEMS})",
            "(<= run all_heads)",
        ]


def obligations(rows: int, keys: int) -> list[NumberObligation]:
    """Everything about the work of blocks of `rows` rows and steps of `keys` keys."""
    return [*_work(rows, keys), *_columns(rows, keys), *_items_once(), *_rows_once()]


class _Hints:
    """Names for nothing; but what solvers do not find by themselves is proven on the way."""

    def __init__(self, integers: _Integers) -> None:
        self.integers = integers
        self.defined: tuple[Any, ...] = ()
        self.left_out: list[str] = []
        self.before = self.rest = self.heads = ""

    def __call__(self, label: str, term: _Number) -> _Number:
        d = self.integers
        if label == "run":
            self._run(term.text)
        if label == "heads":
            self._heads(term.text)
        if label == "place":
            self._place(term.text)
        below = {"place": "places", "row_tile": "row_tiles", "first_row": "queries"}.get(label)
        if below is not None:
            d.prove(
                f"{label} is below {below}", f"(and (<= 0 {term.text}) (< {term.text} {below}))"
            )
        if label == "first_row":
            # The steps of keys have products with constants alone.
            self.left_out = [fact for fact in d.facts if _has_product(fact)]
            d.facts = [fact for fact in d.facts if not _has_product(fact)]
        if label == "tiles":
            d.facts += self.left_out
        return term

    def _run(self, run: str) -> None:
        """The heads of the runs before are some of all."""
        d = self.integers
        before, items = f"(* {run} run)", f"(* {run} (* run places))"
        steps = [f"(<= 0 {run})", "(<= 1 run)", "(<= 1 places)"]
        assert all(step in d.facts for step in steps[1:])
        d.prove("runs before have their items before", f"(<= {items} item)")
        d.prove("no run is before the first", steps[0])
        d.prove("heads before are at most items before", f"(<= {before} {items})", steps)
        steps = [f"(<= {items} item)", "(< item (* places all_heads))", "(<= 1 places)"]
        assert all(step in d.facts for step in steps)
        d.prove("heads before are fewer than all", f"(< {before} all_heads)", steps)
        self.before, self.rest = before, f"(- item {items})"

    def _heads(self, heads: str) -> None:
        """Items that are left of a run have places enough."""
        d, rest = self.integers, self.rest
        left = f"(- all_heads {self.before})"
        self.heads = heads
        either = f"(or (= {heads} run) (= {heads} {left}))"
        terms = [fact for fact in d.facts if fact.startswith("(= ")]
        d.prove("a run has as many heads as a run has, or as are left", either, terms)
        steps = [either, "(<= 1 run)", f"(< {self.before} all_heads)"]
        assert all(step in d.facts for step in steps)
        d.prove("a run has heads", f"(<= 1 {heads})", steps)
        d.prove("an item is in its run", f"(and (<= 0 {rest}) (< {rest} (* run places)))")
        steps = [either, f"(< {rest} (* run places))", "(< item (* places all_heads))"]
        d.prove("places are enough", f"(< {rest} (* places {heads}))", steps)

    def _place(self, place: str) -> None:
        d, product = self.integers, f"(* {place} {self.heads})"
        d.prove("places before have their items before", f"(<= {product} {self.rest})")
        steps = [f"(<= 1 {self.heads})", f"(< {product} (* places {self.heads}))"]
        d.prove("items before are fewer", steps[1])
        d.prove("no place is after the last", f"(< {place} places)", steps)


def _has_product(fact: str) -> bool:
    """Whether a fact multiplies two terms of which none is a number."""
    return any(
        not any(each.strip("()").isdigit() for each in part.split()[:2])
        for part in fact.split("(* ")[1:]
    )


def _work(rows: int, keys: int) -> Iterator[NumberObligation]:
    launch: Any = _Launch(rows)
    d: _Integers = launch.terms
    # Whatever an item's number came from: what is said is about any that exists.
    item, exists = d.integer("item", 0), _Number("(< item (* places all_heads))")
    d.lines.append("(declare-const early Bool)")
    d.facts.append(exists.text)
    d.about = "the work"
    # What the solvers do not find by themselves.
    d.prove("a run has items, at most all", "(<= 1 (* run places) (* all_heads places))")
    found = work_of(launch, rows, keys, item, exists, _Number("early"), _Hints(d))
    for number, lemma in enumerate(lemmas(launch, found, keys)):
        d.prove(f"lemma {number}", lemma.text)
    # The log-sum-exp is a tensor of all heads by queries.
    d.prove("heads are those of a batch", f"(< {found.flat.text} all_heads)")
    d.integer("row", 0)
    d.facts.append("(< row queries)")
    d.facts = [fact for fact in d.facts if not _has_product(fact) or found.flat.text in fact]
    element = f"(+ (* {found.flat.text} queries) row)"
    d.prove(
        "log-sum-exp is in bounds", f"(and (<= 0 {element}) (< {element} (* all_heads queries)))"
    )
    yield from d.goals


def _columns(rows: int, keys: int) -> Iterator[NumberObligation]:
    """A thread's columns: counted from its first one nothing wraps, and steps before the first that
    a row of the group does not see as a whole are seen as a whole.
    """
    launch: Any = _Launch(rows)
    d: _Integers = launch.terms
    d.about = "a column"
    given = launch.fields
    block, group = d.integer("first_row", 0), d.integer("group", 0)
    own, lane = d.integer("own_row", 0, GROUP_ROWS - 1), d.integer("lane_column", 0, 6)
    tile = d.integer("tile", 0)
    d.facts += [
        "(< first_row queries)",
        f"(<= (* {GROUP_ROWS} group) {rows - GROUP_ROWS})",
        # The step begins before the end, which a lemma of the work says.
        f"(< (* {keys} tile) keys)",
    ]
    first = d.add(block, d.multiply(group, d.constant(GROUP_ROWS, 32), 32), 32)
    row = d.add(first, own, 32)
    column = d.add(d.multiply(tile, d.constant(keys, 32), 32), lane, 32)
    end = row_end_of(d, given, row)
    parts = Columns(tile, column, whole_of(d, given, first, keys), (end,), keys)
    work: Any = _Exists()
    for fact in column_facts(d, given, work, parts):
        d.prove("steps that a group sees as a whole", fact.text)
    # What is compared with the key's place: both say that the key is before the end.
    left = d.subtract(end, column, 32)
    d.integer("place", 0, keys - 1)
    before = f"(< (+ {column.text} place) {end.text})"
    d.prove("a key before the end", f"(= {before} (not (< {left.text} (+ place 1))))")
    yield from d.goals


class _Exists:
    """Work of an item that there is."""

    exists = _Number("true")


def _items_once() -> Iterator[NumberObligation]:
    """Items correspond one to one with heads of all batches, and places."""
    d = _Integers()
    for name in ("places", "all_heads", "run"):
        d.integer(name, 1)
    for name in ("flat", "place", "number"):
        d.integer(name, 0)
    d.facts += ["(< flat all_heads)", "(< place places)", "(<= run all_heads)"]
    d.facts += ["(<= (* number run) flat)", "(< flat (* (+ number 1) run))"]
    d.lines.append("(define-fun before () Int (* number run))")
    d.lines.append(
        "(define-fun width () Int (ite (< run (- all_heads before)) run (- all_heads before)))"
    )
    d.lines.append("(define-fun column () Int (- flat before))")
    d.lines.append("(define-fun rest () Int (+ (* place width) column))")
    d.lines.append("(define-fun item () Int (+ (* number (* run places)) rest))")
    d.prove("", "(and (<= 0 column) (< column width) (<= width run))")
    d.prove("", "(<= (+ rest 1) (* places width))")
    d.prove("", "(<= (* places width) (* places run))")
    d.prove("", "(<= (* places width) (* places (- all_heads before)))")
    label = "once: a run, a place and a head have an item"
    d.prove(label, "(and (<= 0 item) (< item (* places all_heads)))")
    # Whoever decodes the item finds them: quotient and rest are unique.
    d.prove("", "(and (<= 0 rest) (< rest (* run places)))")
    label = "once: which is theirs alone"
    found = "(and (= (- item (* number (* run places))) rest) (= (- rest (* place width)) column))"
    within = "(and (<= 0 column) (< column width) (= (+ before column) flat))"
    d.prove(label, f"(and {found} {within})")
    yield from (
        NumberObligation(each.label or "a step on the way", each.script) for each in d.goals
    )


def _rows_once() -> Iterator[NumberObligation]:
    """Places, early and late, correspond one to one with blocks of rows."""
    d = _Integers()
    d.integer("tile", 0)
    d.integer("row_tiles", 1)
    d.integer("places", 1)
    d.integer("paired", 0, 1)
    d.facts += [
        "(< tile row_tiles)",
        "(ite (= paired 1) (and (<= row_tiles (* 2 places)) (<= (* 2 places) (+ row_tiles 1)))"
        " (= places row_tiles))",
    ]

    def worked(place: str, early: str) -> str:
        """Whether a place is worked on, early or late, and is this block of rows."""
        return (
            f"(and (<= 0 {place}) (< {place} places) (=> {early} (= paired 1))"
            f" (not (and {early} (= (+ (* 2 {place}) 1) row_tiles)))"
            f" (= tile (ite {early} {place} (- (- row_tiles 1) {place}))))"
        )

    late, early = worked("(- (- row_tiles 1) tile)", "false"), worked("tile", "true")
    d.prove("once: early and late places are all blocks of rows", f"(or {late} {early})")
    for name in ("one", "other"):
        d.integer(name)
        d.lines.append(f"(declare-const early_{name} Bool)")
    both = f"(and {worked('one', 'early_one')} {worked('other', 'early_other')})"
    d.prove(
        "once: and none twice",
        f"(=> {both} (and (= one other) (= early_one early_other)))",
    )
    yield from d.goals


def _literal(value: int) -> str:
    return str(value) if value >= 0 else f"(- {-value})"
