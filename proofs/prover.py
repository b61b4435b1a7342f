"""The prover: find the digits that make a claim obvious, or the least point where it fails.

`prove` splits each variable's bound into all its factors, asks the independent checker whether
that suffices, and then merges neighbouring digits for as long as the checker still accepts: what
remains are the coarsest digits, which say at what places the claim takes its variables apart. A
claim that no digits establish is enumerated at small sizes in the order of its variables; the
first point where it fails is its least counterexample. Neither is `Undecided`, never a success.

>>> from tylo.layouts.terms import name
>>> from tylo.proofs.claims import Claim, Conjunct
>>> lane, value = name("lane"), name("value")
>>> row = lane // 4 + 8 * (value // 2)
>>> def inside(rows):
...     return Claim(
...         name="row", kind="in_bounds", statement="Rows lie inside the tile.", parameters={},
...         variables=[("lane", 32), ("value", 4)], conjuncts=[Conjunct("row", "<", row, rows)],
...     )
>>> prove(inside(16)).digits
(('lane', (('lane.0', 4), ('lane.1', 8))), ('value', (('value.0', 2), ('value.1', 2))))
>>> print(prove(inside(15)))
claim row fails at lane = 28, value = 2: row: 15 < 15
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tylo.layouts.errors import ClaimError, Undecided
from tylo.layouts.terms import Integer, Term, operation
from tylo.proofs import checker
from tylo.proofs.certificate import Proof
from tylo.proofs.claims import Claim, Conjunct
from tylo.proofs.enumeration import least_failure

MOST_ORDERS = 200  # orders of factors tried before giving up
LARGEST_FACTOR = 1 << 12  # radices in layouts are small

Radices: TypeAlias = "tuple[Integer | None, ...]"


@dataclass(frozen=True)
class Counterexample:
    """The least point where a claim fails, and by how much."""

    claim: Claim
    parameters: Mapping[str, int]
    values: Mapping[str, int]
    conjunct: Conjunct
    left: int
    right: int

    def __str__(self) -> str:
        point = ", ".join(
            f"{name} = {value}" for name, value in {**self.parameters, **self.values}.items()
        )
        return (
            f"claim {self.claim.name} fails at {point}: "
            f"{self.conjunct.label}: {self.left} {self.conjunct.relation} {self.right}"
        )


def prove(claim: Claim) -> Proof | Counterexample:
    """A `Proof` that the checker accepts, or the least `Counterexample`.

    Raises `Undecided` when no digits suffice and no small point fails.
    """
    counterexample = None
    # A false claim has no digits at all, so the usual order of factors is all it costs.
    proof = find_digits(claim, orders=1)
    if proof is None:
        counterexample = least_counterexample(claim)
    if proof is None and counterexample is None:
        proof = find_digits(claim)
    outcome = proof or counterexample
    if outcome is not None:
        return outcome
    reason = _rejection(claim, next(_splits(claim)))
    raise Undecided(
        f"claim {claim.name}: {reason}",
        hint="no small point fails either: state it in smaller steps, or ask the solvers",
    )


def require_proof(claim: Claim) -> Proof:
    """The proof of a claim that must hold; raises `ClaimError` with its counterexample."""
    outcome = prove(claim)
    if isinstance(outcome, Counterexample):
        raise ClaimError(
            str(outcome),
            witness={**outcome.parameters, **outcome.values},
            hint="the statement is false as it stands",
        )
    return outcome


def find_digits(claim: Claim, *, orders: int = MOST_ORDERS) -> Proof | None:
    """The coarsest digits with which the checker accepts, or None after that many orders."""
    whole: dict[str, Radices] = {variable: (bound,) for variable, bound in claim.variables}
    if not _rejection(claim, whole):
        return _proof(claim, whole)
    for radices in itertools.islice(_splits(claim), orders):
        if not _rejection(claim, radices):
            return _proof(claim, _merged(claim, radices))
    return None


def least_counterexample(claim: Claim) -> Counterexample | None:
    """The least failing point at small sizes, or None: which proves nothing.

    Points are ordered by the parameters' excess over their minima, then by the variables in their
    order. An unbounded variable is tried up to a limit.
    """
    failure = least_failure(claim)
    return None if failure is None else Counterexample(claim, *failure)


def _proof(claim: Claim, radices: Mapping[str, Radices]) -> Proof:
    return Proof(
        claim,
        tuple(
            (
                variable,
                tuple((f"{variable}.{i}", radix) for i, radix in enumerate(radices[variable])),
            )
            for variable, _ in claim.variables
        ),
    )


def _rejection(claim: Claim, radices: Mapping[str, Radices]) -> str:
    """Why the checker rejects; empty when it accepts."""
    entry = _proof(claim, radices).to_json()
    try:
        checker.check_claim(entry["claim"], entry["digits"])
    except checker.Rejected as reason:
        return str(reason)
    return ""


def _merged(claim: Claim, radices: Mapping[str, Radices]) -> Mapping[str, Radices]:
    """Join neighbouring digits, lowest first, for as long as the checker accepts."""
    current = dict(radices)
    for variable, _ in claim.variables:
        place = 0
        while place + 1 < len(current[variable]):
            digits = current[variable]
            low, high = digits[place], digits[place + 1]
            joined = None if low is None or high is None else operation("*", low, high)
            candidate = {**current, variable: (*digits[:place], joined, *digits[place + 2 :])}
            if _rejection(claim, candidate):
                place += 1
            else:
                current = candidate
    return current


def _splits(claim: Claim) -> Iterator[dict[str, Radices]]:
    """Full factorisations of all bounds, those closest to the bounds' own order first."""
    cut = math.lcm(*(_cut(side) for part in claim.conjuncts for side in (part.left, part.right)))
    sizes: list[Integer] = [Term("name", (parameter,)) for parameter in claim.parameters]
    choices: list[list[Radices]] = []
    for _, bound in claim.variables:
        # An unbounded variable may be taken apart wherever the claim divides, and stays open above.
        factors: list[Integer] = [*_primes(cut), *sizes] if bound is None else [*_factors(bound)]
        open_top: Radices = (None,) if bound is None else ()
        arrangements = itertools.islice(_arrangements(factors), MOST_ORDERS)
        choices.append([(*arrangement, *open_top) for arrangement in arrangements])
    names = [variable for variable, _ in claim.variables]
    for places in _by_total([len(options) for options in choices]):
        chosen = (options[place] for options, place in zip(choices, places, strict=True))
        yield dict(zip(names, chosen, strict=True))


def _by_total(lengths: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Index tuples below `lengths`, those with the smallest total first."""

    def with_total(total: int, rest: Sequence[int]) -> Iterator[tuple[int, ...]]:
        if not rest:
            if total == 0:
                yield ()
            return
        for first in range(min(total, rest[0] - 1) + 1):
            for others in with_total(total - first, rest[1:]):
                yield (first, *others)

    for total in range(sum(lengths) - len(lengths) + 1):
        yield from with_total(total, lengths)


def _arrangements(factors: Sequence[Integer]) -> Iterator[tuple[Integer, ...]]:
    """The distinct orders of `factors`, equal ones together first."""
    if not factors:
        yield ()
    for first in dict.fromkeys(factors):
        rest = list(factors)
        rest.remove(first)
        for others in _arrangements(rest):
            yield (first, *others)


def _cut(term: Integer) -> int:
    """A number whose factors suffice to take the term's variables apart."""
    if not isinstance(term, Term) or term.operator == "name":
        return 1
    left, right = term.operands
    match term.operator, right:
        case "div" | "mod", int():
            return _cut(left) * right
        case "xor", _:
            literals = [2 << part.bit_length() for part in (left, right) if isinstance(part, int)]
            return math.lcm(_cut(left), _cut(right), *literals)
        case _:
            return math.lcm(_cut(left), _cut(right))


def _factors(bound: Integer) -> Iterator[Integer]:
    match bound:
        case int():
            yield from _primes(bound)
        case Term(operator="*", operands=(left, right)):
            yield from _factors(left)
            yield from _factors(right)
        case _:
            yield bound


def _primes(number: int) -> Iterator[int]:
    """The prime factors, except that what is left above `LARGEST_FACTOR` stays whole."""
    factor = 2
    while number > 1:
        if factor * factor > number or factor > LARGEST_FACTOR:
            factor = number
        while number % factor == 0:
            yield factor
            number //= factor
        factor += 1
