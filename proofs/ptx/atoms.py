"""The atoms of forms: names in a solver's script, with their definitions and what bounds them.

>>> atoms = Atoms()
>>> i = atoms.variable("i", (0, 99))
>>> half = atoms.defined("(div i 2)", (0, 49))
>>> print(atoms.script([atoms.negative({**half, (): -30})]))
(set-logic QF_LIA)
(declare-const i Int)
(assert (<= 0 i 99))
(define-fun t0 () Int (div i 2))
(define-fun t1 () Bool (< t0 30))
(assert t1)
(check-sat)
<BLANKLINE>
>>> atoms.negative({**half, (): -50})
'true'
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from math import gcd

from tylo.proofs.ptx.forms import (
    Form,
    Range,
    atom,
    constant,
    content,
    exact,
    integer,
    interval,
    number,
    primitive,
    product,
    scaled,
    text,
    total,
)
from tylo.proofs.ptx.products import Product, lemmas, signs

_NAME = re.compile(r"[A-Za-z][\w.]*")
_COUNTED = re.compile(r"\(\* (\d+) ([A-Za-z][\w.]*)\)")
_CONNECTIVES = {"bvand": "and", "bvor": "or", "bvxor": "xor", "ite": "ite", "=": "="}
_OPPOSITE = {"true": "false", "false": "true"}


class Atoms:
    """What is declared and defined so far."""

    def __init__(self) -> None:
        self.lines: dict[str, tuple[str, ...]] = {}  # by the name that they define
        self.ranges: dict[str, Range] = {}
        self.names: dict[str, str] = {}  # by the text that they stand for
        self.products: dict[tuple[str, ...], str] = {}
        self.factors: dict[tuple[str, str], Product] = {}
        self.mentioned: list[Product] = []
        self.whole = False  # whether factors are spoken of as they are
        self.divisors: dict[str, tuple[str, str]] = {}  # and quotient times divisor, by quotient
        self.facts: dict[str, list[str]] = {}  # by the name that they are about
        self.equalities: dict[str, Form] = {}  # what is zero where a truth value is true
        self.quotients: dict[tuple[str, int], tuple[Form, str]] = {}
        self.divided_by: dict[str, tuple[Form, int]] = {}  # by the name of the quotient
        self.residues: dict[str, tuple[str, int]] = {}
        self.remainders: dict[str, tuple[Form, int]] = {}  # a form and a divisor, by atom
        self.doubtful: set[str] = set()  # remainders, and what is made of them

    def variable(self, name: str, bounds: Range) -> Form:
        """A variable between two numbers."""
        low, high = bounds
        lines = f"(declare-const {name} Int)", f"(assert (<= {low} {name} {high}))"
        self.lines.setdefault(name, lines)
        self.ranges[name] = bounds
        return atom(name)

    def name(self, spelled: str, sort: str = "Int") -> str:
        """A name for a text; what is spelled alike is the same."""
        if spelled in self.lines or spelled in _OPPOSITE or spelled.isdigit():
            return spelled
        if spelled not in self.names:
            called = self.names[spelled] = f"t{len(self.names)}"
            self.lines[called] = (f"(define-fun {called} () {sort} {spelled})",)
            if any(each in self.doubtful for each in _NAME.findall(spelled)):
                self.doubtful.add(called)
        return self.names[spelled]

    def named(self, form: Form) -> str:
        """A form's text, as a name where it is longer."""
        return self.name(self.text(form))

    def text(self, form: Form) -> str:
        """A form's text."""
        return text(form, self._multiplied)

    def defined(self, spelled: str, bounds: Range) -> Form:
        """What a text stands for, which lies between two numbers, as an atom."""
        called = self.name(spelled)
        if called.isdigit():
            return constant(int(called))
        low, high = self.ranges.get(called, bounds)
        self.ranges[called] = max(low, bounds[0]), min(high, bounds[1])
        return atom(called)

    def remainder(self, spelled: str, bounds: Range) -> Form:
        """A remainder that is in doubt, as an atom."""
        found = self.defined(spelled, bounds)
        self.doubtful |= {name for each in found for name in each}
        return found

    def divided(self, form: Form, divisor: int) -> Form:
        """The quotient of a form by a positive number, rounded down, as an atom."""
        low, high = self.interval(form)
        spelled = self.named(form)
        inner = self.divided_by.get(spelled)
        if inner is not None:
            # A quotient of a quotient is one by the product.
            found = self.divided(inner[0], inner[1] * divisor)
            ((called,),) = found
            self.quotients[spelled, divisor] = form, called
            return found
        text = f"(div {spelled} {divisor})"
        found = self.defined(text, (low // divisor, high // divisor))
        self.quotients[spelled, divisor] = form, self.name(text)
        self.divided_by[self.name(text)] = form, divisor
        return found

    def residue(self, form: Form, divisor: int) -> Form:
        """What is left of a form by division by a positive number, as an atom."""
        ones = form.get((), 0)
        varying = {each: times for each, times in form.items() if each}
        common = gcd(content(varying), divisor)
        if common > 1:
            # What varies is a multiple: so is what is left of it.
            whole = total(
                {each: n // common for each, n in varying.items()}, constant(ones // common)
            )
            rest = self.residue(whole, divisor // common) if common < divisor else {}
            return total(scaled(rest, common), constant(ones % common))
        spelled = self.named(form)
        text = f"(mod {spelled} {divisor})"
        found = self.defined(text, (0, divisor - 1))
        self.residues[self.name(text)] = spelled, divisor
        return found

    def remains(self, atom: Form, form: Form, size: int) -> None:
        """Know that an atom, which a choice stands for, is what is left of a form by division."""
        for (name,) in atom.keys() - {()}:
            self.remainders[name] = form, size

    def left(self, form: Form, divisor: int) -> tuple[Form, int] | None:
        """Of what a form alone is left, and by which larger multiple of a divisor it is."""
        if len(form) != 1 or next(iter(form.values())) != 1:
            return None
        (each,) = form
        found = self.remainders.get(each[0]) if len(each) == 1 else None
        if found is None or found[1] & (found[1] - 1):
            return None  # solvers count faster in the places of a whole than in those of a digit
        return found if found[1] > divisor and not found[1] % divisor else None

    def joined(self, form: Form) -> Form:
        """The form in which a quotient, so often as it was divided, and the rest are the whole."""
        for each, times in form.items():
            key = self.residues.get(each[0]) if len(each) == 1 else None
            if key in self.quotients:
                whole, quotient = self.quotients[key]
                if form.get((quotient,)) == times * key[1]:
                    rest = {e: t for e, t in form.items() if e not in (each, (quotient,))}
                    return self.joined(total(rest, whole, times))
        return form

    def bit(self, truth: str) -> Form:
        """A truth value as a number."""
        if truth in _OPPOSITE:
            return constant(int(truth == "true"))
        return self.defined(f"(ite {truth} 1 0)", (0, 1))

    def clip(self, form: Form, most: int) -> None:
        """An atom alone is at most a number."""
        if len(form) == 1:
            ((each, times),) = form.items()
            if times == 1 and len(each) == 1 and most < self.ranges[each[0]][1]:
                self.ranges[each[0]] = self.ranges[each[0]][0], most

    def interval(self, form: Form) -> Range:
        """The least and the largest value of a form, as far as bounds tell."""
        return interval(form, self.ranges)

    def is_doubtful(self, spelled: str) -> bool:
        """Whether a remainder that is in doubt is part of a text."""
        return any(each in self.doubtful for each in _NAME.findall(spelled))

    def is_doubtful_form(self, form: Form) -> bool:
        """Whether a remainder that is in doubt is part of a form."""
        return any(name in self.doubtful for each in form for name in each)

    def equal(self, difference: Form) -> str:
        """Whether a form is zero."""
        low, high = self.interval(difference)
        ones = difference.get((), 0)
        by = content({each: times for each, times in difference.items() if each})
        if low > 0 or high < 0 or ones % by:
            return "false"
        if low == high == 0:
            return "true"
        truth = self.name(f"(= {self._sides(difference)})", "Bool")
        self.equalities[truth] = difference
        return truth

    def makes_equal(self, truth: str, left: Form, right: Form) -> bool:
        """Whether two forms are equal where a truth value is true."""
        difference, zero = total(left, right, -1), self.equalities.get(truth, {})
        return exact(difference, zero) is not None or not difference

    def negative(self, difference: Form) -> str:
        """Whether a form is below zero."""
        low, high = self.interval(difference)
        if high < 0 or low >= 0:
            return "true" if high < 0 else "false"
        truth = self.name(f"(< {self._sides(difference)})", "Bool")
        if truth not in self.facts:
            self.facts[truth] = [f for each in self._factored(difference) for f in signs(*each)]
        return truth

    def _factored(self, difference: Form) -> Iterator[tuple[str, str, str]]:
        """What a form counts a size by, the size, and their product, where lemmas may not do.

        A place that is some columns after another one is compared with the end of all columns.
        """
        counts: dict[str, dict[tuple[str, ...], int]] = {}
        for each, times in difference.items():
            for index, name in enumerate(each if len(each) <= 3 else ()):
                counts.setdefault(name, {})[each[:index] + each[index + 1 :]] = times
        for name, count in counts.items():
            form = primitive(count)
            ones = abs(form.get((), 0))
            # Matrices in a batch: rows are counted by a size themselves.
            nested = any(len(each) > 1 for each in form)
            apart = len(form) > 2 and (name,) not in form and (ones > 1 or nested)
            if apart and self.ranges[name][0] >= 0:
                yield self.text(form), name, self.text(product(form, atom(name)))
            if nested:
                yield from self._counted_by_sizes(form)

    def _counted_by_sizes(self, form: Form) -> Iterator[tuple[str, str, str]]:
        """What the products of a form count a size by, the size, and their product."""
        counts: dict[str, dict[tuple[str, ...], int]] = {}
        for each, times in form.items():
            for index, name in enumerate(each if len(each) == 2 else ()):
                counts.setdefault(name, {})[each[:index] + each[index + 1 :]] = times
        for name, count in counts.items():
            if len(count) > 1 and self.ranges[name][0] >= 0:
                yield self.text(count), name, self.text(product(count, atom(name)))

    def _sides(self, difference: Form) -> str:
        """The two numbers whose difference a form is."""
        counted = {each: times for each, times in difference.items() if times > 0}
        return f"{self.named(counted)} {self.named(total(counted, difference, -1))}"

    def connected(self, operator: str, *truths: str) -> str:
        """Truth values connected, what is decided left out."""
        first, second = truths[0], truths[1]
        match operator:
            case "ite":
                if first in _OPPOSITE or second == truths[2]:
                    return second if first != "false" else truths[2]
            case "bvand" | "bvor":
                neutral = "true" if operator == "bvand" else "false"
                if _OPPOSITE[neutral] in truths:
                    return _OPPOSITE[neutral]
                if first in (neutral, second):
                    return second
                if second == neutral:
                    return first
            case _:
                for one, other in ((first, second), (second, first)):
                    if other in _OPPOSITE:
                        if other == ("true" if operator == "=" else "false"):
                            return one
                        return _OPPOSITE.get(one) or self.name(f"(not {one})", "Bool")
        return self.name(f"({_CONNECTIVES[operator]} {' '.join(truths)})", "Bool")

    def multiply(self, left: Form, right: Form) -> None:
        """State what holds of a product of two forms, which are never negative."""
        if not self.whole:
            left, right = self._varying(left), self._varying(right)
        if number(left) is not None or number(right) is not None:
            return
        key = self.text(left), self.text(right)
        if key in self.factors or key[::-1] in self.factors:
            return
        both = product(left, right)
        most = self.interval(both)[1]
        ends = (self.interval(left)[1], self.interval(right)[1])
        ordered = key if ends[0] <= ends[1] else key[::-1]
        self.factors[key] = Product(self.text(both), most, ordered, min(ends))

    def differ(self, first: Form, second: Form) -> None:
        """State the sign of a product of two forms, one of which may be negative: a difference."""
        for count, size in ((first, second), (second, first)):
            if self.interval(size)[0] >= 0 > self.interval(count)[0]:
                both = product(count, size)
                stated = list(signs(self.named(count), self.named(size), self.text(both)))
                for each in both:
                    if len(each) > 1:
                        self.facts.setdefault(self._multiplied(each), []).extend(stated)

    def _varying(self, form: Form) -> Form:
        """A factor without what it is at least: that times the other factor is no product."""
        rest = {each: times for each, times in form.items() if each}
        return rest if form.get((), 0) > 0 and self.interval(rest)[0] >= 0 else form

    def mention(self) -> None:
        """Speak of the products so far wherever their factors are spoken of."""
        self.mentioned = list(self.factors.values())

    def quotient(self, dividend: Form, divisor: Form, by_zero: int) -> Form:
        """The quotient of two forms that are never negative."""
        spelled = f"{self.text(dividend)} by {self.text(divisor)}"
        if spelled not in self.names:
            called = self.names[spelled] = f"q{len(self.names)}"
            low, most = self.interval(divisor)[0], self.interval(dividend)[1]
            most = most // low if low else by_zero
            self.variable(called, (0, most))
            if self.is_doubtful_form(dividend) or self.is_doubtful_form(divisor):
                self.doubtful.add(called)
            # Constants are outside of products elsewhere too.
            self.multiply(atom(called), primitive(divisor))
            rest = total(dividend, product(atom(called), divisor), -1)
            by = self.text(divisor)
            self.divisors[called] = by, self.text(product(atom(called), divisor))
            self.facts[called] = [
                f"(=> (< 0 {by}) (and (<= 0 {self.text(rest)}) (< {self.text(rest)} {by})))",
                f"(=> (= {by} 0) (= {called} {by_zero}))",
            ]
        return atom(self.names[spelled])

    def _multiplied(self, factors: tuple[str, ...]) -> str:
        """The name of a product of atoms."""
        if factors not in self.products:
            called = self.products[factors] = f"p{len(self.products)}"
            self.lines[called] = (f"(declare-const {called} Int)",)
            low, high = self.interval({factors: 1})
            self.facts[called] = [f"(<= {integer(low)} {called} {integer(high)})"]
            for bit, other in (factors, factors[::-1]) if len(factors) == 2 else ():
                if self.ranges[bit] == (0, 1):
                    self.facts[called].append(f"(= {called} (ite (= {bit} 1) {other} 0))")
            if any(name in self.doubtful for name in factors):
                self.doubtful.add(called)
        return self.products[factors]

    def script(self, asserted: Iterable[str]) -> str:
        """A script that asserts truth values, with the definitions and facts that they need."""
        stated = list(asserted)
        needed: set[str] = set()
        facts: dict[str, None] = {}
        self._need(stated, needed, facts)
        held: dict[Product, None] = {}
        while True:
            about = [
                p
                for p in self.factors.values()
                if needed & set(_NAME.findall(p.name))
                or (p in self.mentioned and needed.issuperset(_NAME.findall(" ".join(p.factors))))
            ]
            if len(about) == len(held):
                break
            held = dict.fromkeys(about)
            self._need([text for p in held for text in (p.name, *p.factors)], needed, facts)
        lines = [line for name, found in self.lines.items() if name in needed for line in found]
        counts: dict[str, set[int]] = {}
        for count, name in _COUNTED.findall("\n".join((*lines, *facts))):
            counts.setdefault(name, set()).add(int(count))
        stated_of = (*facts, *lemmas(list(held), counts), *self._multiples(needed))
        lines += [f"(assert {fact})" for fact in stated_of]
        lines += [f"(assert {each})" for each in stated]
        return "\n".join(["(set-logic QF_LIA)", *lines, "(check-sat)", ""])

    def _multiples(self, needed: Iterable[str]) -> list[str]:
        """What is left of quotient times divisor, where what is left of the divisor is spoken of.

        Rows that are cut into runs of whole vectors are cut between vectors.
        """
        found = []
        for rest, (spelled, by) in self.residues.items():
            for quotient, (divisor, multiple) in self.divisors.items():
                if spelled == divisor and {rest, quotient} <= set(needed):
                    found.append(f"(=> (= {rest} 0) (= (mod {multiple} {by}) 0))")
        return found

    def _need(self, texts: Iterable[str], needed: set[str], facts: dict[str, None]) -> None:
        waiting = list(texts)
        while waiting:
            for name in _NAME.findall(waiting.pop()):
                if name in self.lines and name not in needed:
                    needed.add(name)
                    waiting += self.lines[name]
                    for fact in self.facts.get(name, ()):
                        facts[fact] = None
                        waiting.append(fact)
