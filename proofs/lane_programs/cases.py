"""Every case of IEEE arithmetic that a lane program can meet, as a script for SMT solvers.

A float32 is a kind (number, +inf, -inf, NaN) and a real number. Operators are relations between
these: what they do with kinds is exact, and of a rounded number only what rounding to nearest
guarantees is known. It keeps the sign of the exact result; a difference of different floats is not
zero (subnormals exist); a product by something in [0, 1] does not grow; a sum of non-negative
numbers is not below either; nothing below 2^127 overflows. Of `ex2` the attested facts are used:
1 at zero, in [0, 1] below, NaN for NaN (see docs/softmax_state.md).

An operation is *undefined* where it makes a NaN or a pole of operands that are none: inf - inf,
0 * inf, 0 / 0, inf / inf, 1 / 0, a logarithm of what is not positive.

>>> from tylo.proofs.lane_programs.expression import register
>>> script = Cases(lanes=1)
>>> [difference] = script.read([register("x", 0) - register("x", 0)])
>>> [each.label for each in script.undefined]
['subtract 0 lane 0']
>>> print(script.obligation("false").splitlines()[0])
(set-logic QF_LRA)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tylo.layouts.errors import GenerationError
from tylo.proofs.lane_programs.expression import Expression
from tylo.proofs.lane_programs.lanes import read_lanes

# Kinds are small reals: with one sort of arithmetic, both solvers answer in milliseconds.
NUMBER, INFINITE, NEGATIVE, MISSING = KINDS = ("0.0", "1.0", "2.0", "3.0")
_OVERFLOW = f"{1 << 127}.0"


@dataclass(frozen=True, slots=True)
class Float:
    """The SMT terms of a float32: its kind and its number."""

    kind: str
    number: str

    def is_kind(self, *kinds: str) -> str:
        """That the kind is one of `kinds`."""
        return either(*(f"(= {self.kind} {kind})" for kind in kinds))

    @property
    def is_zero(self) -> str:
        """That it is a zero of either sign."""
        return both(self.is_kind(NUMBER), f"(= {self.number} 0.0)")


@dataclass(frozen=True, slots=True)
class Undefined:
    """Where an operation would be undefined: its label and the condition."""

    label: str
    condition: str


def both(*parts: str) -> str:
    """The conjunction of `parts`."""
    return f"(and {' '.join(parts)})" if len(parts) > 1 else parts[0] if parts else "true"


def either(*parts: str) -> str:
    """The disjunction of `parts`."""
    return f"(or {' '.join(parts)})" if len(parts) > 1 else parts[0] if parts else "false"


def implies(premise: str, conclusion: str) -> str:
    """The implication."""
    return f"(=> {premise} {conclusion})"


class Cases:
    """A script under construction: declarations, what the operators guarantee, and its guards."""

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self.declared: list[str] = []
        self.known: list[str] = []
        self.undefined: list[Undefined] = []
        self.registers: dict[tuple[str, int, int], Any] = {}
        self._numbers: dict[str, int] = {}

    def read(self, roots: Sequence[Expression]) -> list[tuple[Any, ...]]:
        """For each root and lane a `Float`, or the SMT term of a Boolean."""
        from tylo.proofs.lane_programs.case_operators import operators

        return read_lanes(roots, self.lanes, operators(self), self._leaf)

    def obligation(self, goal: str, *, assumed: Sequence[str] = ()) -> str:
        """The script that is unsatisfiable exactly when `goal` follows."""
        facts = [*self.known, *assumed, f"(not {goal})"]
        lines = [*self.declared, *(f"(assert {fact})" for fact in facts)]
        return "\n".join(["(set-logic QF_LRA)", *lines, "(check-sat)"]) + "\n"

    def fresh(self) -> Float:
        """A float32 of which nothing is known."""
        name = f"v{len(self.declared)}"
        self.declared += [f"(declare-const {name}k Real)", f"(declare-const {name}n Real)"]
        found = Float(f"{name}k", f"{name}n")
        self.known.append(found.is_kind(*KINDS))
        return found

    def named(self, sort: str, term: str) -> str:
        """A name for a term, so that what uses it often does not repeat it."""
        name = f"t{len(self.declared)}"
        self.declared.append(f"(define-fun {name} () {sort} {term})")
        return name

    def guard(self, operator: str, condition: str) -> None:
        """Note that `operator` is undefined under `condition`."""
        number = self._numbers.get(operator, 0)
        self._numbers[operator] = number + 1
        label = f"{operator} {number // self.lanes} lane {number % self.lanes}"
        self.undefined.append(Undefined(label, condition))

    def result(self, rules: Sequence[tuple[str, Callable[[Float], str]]]) -> Float:
        """A float32 of which, under the first premise that holds, the conclusion is known."""
        found = self.fresh()
        before: list[str] = []
        for premise, conclusion in rules:
            earlier = [f"(not {each})" for each in before]
            self.known.append(implies(both(*earlier, premise), conclusion(found)))
            before.append(premise)
        return found

    def _leaf(self, node: Expression, lane: int) -> Any:
        if node.operator == "constant":
            return constant(node.detail[0])
        array, index = node.detail
        place = (array, index, lane)
        if place not in self.registers:
            if node.type == "bool":
                name = f"b{len(self.declared)}"
                self.declared.append(f"(declare-const {name} Bool)")
                self.registers[place] = name
            elif node.type == "f32":
                self.registers[place] = self.fresh()
            else:
                raise GenerationError(
                    f"{array} holds {node.type}", hint="cases are those of float32 and Booleans"
                )
        return self.registers[place]


def constant(value: float) -> Float:
    """A float32 that is known."""
    if math.isnan(value):
        return Float(MISSING, "0.0")
    if math.isinf(value):
        return Float(INFINITE if value > 0 else NEGATIVE, "0.0")
    exact = Fraction(abs(value))
    text = f"(/ {exact.numerator}.0 {exact.denominator}.0)"
    return Float(NUMBER, text if value >= 0 else f"(- {text})")
