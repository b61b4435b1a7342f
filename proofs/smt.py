"""Claims as SMT-LIB, so that solvers which know nothing of digits can re-check them.

Each conjunct becomes one obligation: a script that asserts the domain and the *negated* conjunct,
so that ``unsat`` means it holds. Division introduces a quotient and a remainder with their side
conditions, after multiples of the divisor have left the dividend: (d*p + e) div d = p + e div d.
Without that step, unbounded repeats stay inside the divisions, and both solvers at times search
for ever. Exclusive or introduces the bits of both operands, and one more obligation that the
narrower operand fits its bits.

An obligation with products of unknowns has a second, linear script that solvers decide in
milliseconds: every product becomes an unknown of its own, with only what is true of all products
asserted: it is natural when its factors are; for a natural d, q = x gives dq = dx, and integers
q > x give dq >= dx + d. That script forgets but never invents, so its ``unsat`` counts and its
``sat`` means nothing.

>>> from tylo.layouts.terms import name
>>> from tylo.proofs.claims import Claim, Conjunct
>>> lane = name("lane")
>>> claim = Claim(
...     name="row", kind="in_bounds", statement="Rows fit.", parameters={},
...     variables=[("lane", 32)], conjuncts=[Conjunct("row", "<", lane // 4, 8)],
... )
>>> print(obligations(claim)[0].script)
(set-logic QF_LIA)
(declare-const $lane Int)
(assert (<= 0 $lane))
(assert (< $lane 32))
(declare-const q!0 Int)
(declare-const r!0 Int)
(assert (= $lane (+ (* 4 q!0) r!0)))
(assert (<= 0 r!0))
(assert (< r!0 4))
(assert (not (< q!0 8)))
(check-sat)
<BLANKLINE>
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tylo.layouts.errors import Undecided
from tylo.layouts.terms import Integer, Term, names, show
from tylo.proofs.claims import Claim, Conjunct
from tylo.proofs.polynomials import Polynomial, add, constant, multiply, variable

WIDEST_XOR = 64


@dataclass(frozen=True)
class Obligation:
    """One script whose ``unsat`` proves `conjunct`, and where products occur a `linear` one.

    `unknowns` are the names a counterexample gives a value to; in scripts they carry a ``$``.
    """

    claim: Claim
    conjunct: Conjunct
    script: str
    linear: str | None
    unknowns: tuple[str, ...]

    @property
    def name(self) -> str:
        """``claim: conjunct``."""
        return f"{self.claim.name}: {self.conjunct.label}"


def obligations(claim: Claim) -> tuple[Obligation, ...]:
    """What must be ``unsat`` for the claim to hold; raises `Undecided` on an xor without bounds."""
    return tuple(
        _obligation(claim, part) for conjunct in claim.conjuncts for part in _parts(claim, conjunct)
    )


def _parts(claim: Claim, conjunct: Conjunct) -> Iterator[Conjunct]:
    """The conjunct, and that each narrower operand of xor fits the bits it is given."""
    seen: dict[Integer, int] = {}

    def walk(term: Integer) -> None:
        if isinstance(term, Term) and term.operator != "name":
            for operand in term.operands:
                walk(operand)
            if term.operator == "xor":
                _, narrow, width = _xor_operands(claim, term)
                seen[narrow] = width

    walk(conjunct.left)
    walk(conjunct.right)
    for place, (narrow, width) in enumerate(seen.items()):
        label = f"{conjunct.label}: operand {place} of xor"
        yield Conjunct(f"{label} from 0", "<=", 0, narrow)
        yield Conjunct(f"{label} fits {width} bits", "<", narrow, 2**width)
    yield conjunct


def _obligation(claim: Claim, conjunct: Conjunct) -> Obligation:
    direct = _Script(claim, conjunct, linear=False)
    script = direct.text(conjunct)
    # Products in bounds alone count too: they are asserted whenever their sizes are named.
    linear = _Script(claim, conjunct, linear=True).text(conjunct) if direct.products else None
    return Obligation(claim, conjunct, script, linear, tuple(direct.unknowns))


class _Script:
    """Declarations and assertions for the domain of the names that a conjunct needs."""

    def __init__(self, claim: Claim, conjunct: Conjunct, *, linear: bool) -> None:
        self.claim = claim
        self.linear = linear
        self.products = False
        self.lines: list[str] = []
        self.natural: set[str] = set()
        self.quotients: list[tuple[Polynomial, str]] = []
        self.monomials: dict[tuple[str, ...], str] = {}
        self.divisions: dict[tuple[str, str], tuple[str, str]] = {}
        self.bits: dict[tuple[Integer, int], tuple[list[str], str]] = {}
        self.unknowns = self._needed(conjunct)
        for unknown in self.unknowns:
            self._declare(f"${unknown}")
            self._assert(f"(<= {claim.parameters.get(unknown, 0)} ${unknown})")
            self.natural.add(f"${unknown}")
        for unknown, bound in claim.variables:
            if unknown in self.unknowns and bound is not None and self._known(bound):
                self._assert(f"(< ${unknown} {self._show(self._polynomial(bound))})")

    def text(self, conjunct: Conjunct) -> str:
        """The whole script for the negated conjunct."""
        left, right = (
            self._show(self._polynomial(side)) for side in (conjunct.left, conjunct.right)
        )
        goal = f"(assert (not ({conjunct.relation} {left} {right})))"
        if self.linear:
            self._compare_quotients()
        logic = "QF_NIA" if self.products and not self.linear else "QF_LIA"
        return "\n".join([f"(set-logic {logic})", *self.lines, goal, "(check-sat)", ""])

    def _needed(self, conjunct: Conjunct) -> list[str]:
        """The conjunct's names, and the sizes that bound them if it speaks of sizes at all.

        A bound by a size that occurs nowhere else only says that the size is large enough.
        """
        used = {*names(conjunct.left), *names(conjunct.right)}
        if used & set(self.claim.parameters):
            for unknown, bound in self.claim.variables:
                if unknown in used and bound is not None:
                    used |= set(names(bound))
        order = [*self.claim.parameters, *(unknown for unknown, _ in self.claim.variables)]
        return [unknown for unknown in order if unknown in used]

    def _known(self, bound: Integer) -> bool:
        return set(names(bound)) <= set(self.unknowns)

    def _declare(self, symbol: str) -> None:
        self.lines.append(f"(declare-const {symbol} Int)")

    def _assert(self, formula: str) -> None:
        self.lines.append(f"(assert {formula})")

    def _polynomial(self, term: Integer) -> Polynomial:
        if not isinstance(term, Term):
            return constant(term)
        if term.operator == "name":
            return variable(f"${term.operands[0]}")
        if term.operator == "xor":
            return self._xor(term)
        if term.operator in ("div", "mod"):
            return self._divide(term)
        left, right = (self._polynomial(operand) for operand in term.operands)
        if term.operator == "*":
            return multiply(left, right)
        return add(left, right, 1 if term.operator == "+" else -1)

    def _divide(self, term: Term) -> Polynomial:
        """The quotient or the remainder, after multiples of the divisor have left the dividend."""
        dividend, below = (self._polynomial(operand) for operand in term.operands)
        ((sizes, number),) = below.items()
        whole, rest = constant(0), constant(0)
        for monomial, factor in dividend.items():
            others = Counter(monomial)
            others.subtract(sizes)
            if factor % number == 0 and min(others.values(), default=0) >= 0:
                whole = add(whole, {tuple(sorted(others.elements())): factor // number})
            else:
                rest = add(rest, {monomial: factor})
        if not rest:
            return whole if term.operator == "div" else rest
        key = (self._show(rest), self._show(below))
        if key not in self.divisions:
            quotient, remainder = f"q!{len(self.divisions)}", f"r!{len(self.divisions)}"
            self._declare(quotient)
            self._declare(remainder)
            if sizes:
                self.quotients.append((below, quotient))
            total = add(multiply(below, variable(quotient)), variable(remainder))
            self._assert(f"(= {key[0]} {self._show(total)})")
            self._assert(f"(<= 0 {remainder})")
            self._assert(f"(< {remainder} {key[1]})")
            self.natural.add(remainder)
            self.divisions[key] = (quotient, remainder)
        quotient, remainder = self.divisions[key]
        return add(whole, variable(quotient)) if term.operator == "div" else variable(remainder)

    def _xor(self, term: Term) -> Polynomial:
        """Bits of both operands that differ, and the wide operand's part above them."""
        wide, narrow, width = _xor_operands(self.claim, term)
        (ours, above), (theirs, _) = self._split(wide, width), self._split(narrow, width)
        total = multiply(constant(2**width), variable(above))
        for place, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            bit = variable(f"(ite (= {one} {other}) 0 1)")
            total = add(total, multiply(constant(2**place), bit))
        return total

    def _split(self, term: Integer, width: int) -> tuple[list[str], str]:
        if (term, width) not in self.bits:
            whole = self._show(self._polynomial(term))
            place = len(self.bits)
            bits = [f"b!{place}!{bit}" for bit in range(width)]
            above = f"h!{place}"
            total = multiply(constant(2**width), variable(above))
            self._declare(above)
            for weight, bit in enumerate(bits):
                self._declare(bit)
                self._assert(f"(<= 0 {bit} 1)")
                total = add(total, multiply(constant(2**weight), variable(bit)))
            self._assert(f"(= {whole} {self._show(total)})")
            self.bits[term, width] = (bits, above)
        return self.bits[term, width]

    def _compare_quotients(self) -> None:
        """For q = e div d and each product d*x in the script: how dq and dx compare."""
        for divisor, quotient in self.quotients:
            ((sizes, _),) = divisor.items()
            for monomial in [*self.monomials]:
                rest = list(monomial)
                for size in sizes:
                    if size in rest:
                        rest.remove(size)
                if len(rest) + len(sizes) == len(monomial) and rest != [quotient]:
                    other = {tuple(rest): 1}
                    mine, theirs = (
                        self._show(multiply(divisor, value))
                        for value in (variable(quotient), other)
                    )
                    step, shown = self._show(divisor), self._show(other)
                    self._assert(f"(=> (= {quotient} {shown}) (= {mine} {theirs}))")
                    self._assert(f"(=> (> {quotient} {shown}) (>= {mine} (+ {theirs} {step})))")
                    self._assert(f"(=> (< {quotient} {shown}) (<= (+ {mine} {step}) {theirs}))")

    def _show(self, value: Polynomial) -> str:
        parts = [self._show_product(monomial, factor) for monomial, factor in value.items()]
        return "0" if not parts else parts[0] if len(parts) == 1 else f"(+ {' '.join(parts)})"

    def _show_product(self, monomial: tuple[str, ...], factor: int) -> str:
        number = str(factor) if factor >= 0 else f"(- {-factor})"
        if not monomial:
            return number
        self.products |= len(monomial) > 1
        symbols = list(monomial)
        if self.linear and len(monomial) > 1:
            symbols = [self._product_symbol(monomial)]
        if factor != 1:
            symbols.insert(0, number)
        return symbols[0] if len(symbols) == 1 else f"(* {' '.join(symbols)})"

    def _product_symbol(self, monomial: tuple[str, ...]) -> str:
        if monomial not in self.monomials:
            symbol = self.monomials[monomial] = f"p!{len(self.monomials)}"
            self.lines.append(f"; {symbol} stands for {' * '.join(monomial)}")
            self._declare(symbol)
            if self.natural.issuperset(monomial):
                self._assert(f"(<= 0 {symbol})")
        return self.monomials[monomial]


def _xor_operands(claim: Claim, term: Term) -> tuple[Integer, Integer, int]:
    """The wider operand, the narrower one, and the bits that the narrower one fits."""
    bounds = dict(claim.variables)
    sized = [(_largest(operand, bounds), operand) for operand in term.operands]
    known = sorted(
        (pair for pair in sized if pair[0] is not None),
        key=lambda pair: (pair[0] or 0).bit_length(),
    )
    if not known or (known[0][0] or 0).bit_length() > WIDEST_XOR:
        raise Undecided(
            f"claim {claim.name}: no bound in numbers for an operand of {show(term)}",
            hint="take one operand modulo a power of two",
        )
    largest, narrow = known[0]
    left, right = term.operands
    return (right if narrow is left else left), narrow, max((largest or 0).bit_length(), 1)


def _largest(term: Integer, bounds: dict[str, Integer | None]) -> int | None:
    """A guess at the largest value; the obligation on the operand makes it safe."""
    if not isinstance(term, Term):
        return term
    if term.operator == "name":
        bound = bounds.get(term.operands[0])
        return bound - 1 if isinstance(bound, int) else None
    left, right = (_largest(operand, bounds) for operand in term.operands)
    match term.operator:
        case "mod":
            return None if right is None else right - 1
        case "-":
            return left
        case _ if left is None or right is None:
            return None
        case "div":
            return left // right
        case "xor":
            return int(2 ** max(left, right).bit_length()) - 1
        case operator:
            return left + right if operator == "+" else left * right
