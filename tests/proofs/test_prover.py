"""True claims get digits the checker accepts; false ones their least counterexample."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import pytest

from tylo.layouts.errors import ClaimError, Undecided
from tylo.layouts.terms import evaluate, name
from tylo.proofs import checker
from tylo.proofs.certificate import Proof
from tylo.proofs.claims import Claim, Conjunct
from tylo.proofs.prover import Counterexample, prove, require_proof

x, y, M, K = name("x"), name("y"), name("M"), name("K")


def radices(proof: Proof) -> dict[str, list[str]]:
    return {variable: [str(radix) for _, radix in digits] for variable, digits in proof.digits}


def test_true_claims_are_proven_and_true(true_claim: Claim, judge: Callable[..., bool]) -> None:
    proof = prove(true_claim)
    assert isinstance(proof, Proof)
    entry = proof.to_json()
    checker.check_claim(entry["claim"], entry["digits"])
    assert judge(entry["claim"])


def test_false_claims_give_their_least_counterexample(
    false_claim: tuple[Claim, dict[str, int], str], judge: Callable[..., bool]
) -> None:
    claim, expected, label = false_claim
    outcome = prove(claim)
    assert isinstance(outcome, Counterexample)
    point = {**outcome.parameters, **outcome.values}
    assert expected.items() <= point.items()
    assert outcome.conjunct.label == label
    assert outcome.left == evaluate(outcome.conjunct.left, point)
    assert outcome.right == evaluate(outcome.conjunct.right, point)
    assert not judge(claim.to_json())


def test_the_counterexample_is_the_first_in_order(
    false_claim: tuple[Claim, dict[str, int], str],
) -> None:
    claim, _, _ = false_claim
    outcome = prove(claim)
    assert isinstance(outcome, Counterexample)
    ranges = [
        range(20 if bound is None else evaluate(bound, outcome.parameters))
        for _, bound in claim.variables
    ]
    relations: dict[str, Callable[[Any, Any], bool]] = {
        "=": lambda left, right: left == right,
        "<": lambda left, right: left < right,
        "<=": lambda left, right: left <= right,
    }
    for values in itertools.product(*ranges):
        point = {
            **outcome.parameters,
            **dict(zip(outcome.values, values, strict=True)),
        }
        if not all(
            relations[part.relation](evaluate(part.left, point), evaluate(part.right, point))
            for part in claim.conjuncts
        ):
            assert point == {**outcome.parameters, **outcome.values}
            return
    pytest.fail("no failing point at the counterexample's sizes")


def test_a_counterexample_is_told_in_one_line(by_hand: Any) -> None:
    with pytest.raises(ClaimError) as refusal:
        require_proof(by_hand.packed_word(halves=4))
    assert refusal.value.witness == {"K": 1, "M": 1, "w": 1, "h": 0, "m": 0, "k": 0}
    assert "fails at K = 1, M = 1, w = 1, h = 0, m = 0, k = 0: word: 0 = 1" in str(refusal.value)


def test_digits_are_the_coarsest(true_claims: dict[str, Claim]) -> None:
    assert radices(require_proof(true_claims["register_numbers"])) == {
        "register": ["4", "M", "K"],
        "w": ["4"],
        "m": ["M"],
        "k": ["K"],
    }
    assert radices(require_proof(true_claims["exchange"]))["n"] == ["2", "K"]
    assert radices(require_proof(true_claims["swizzle"]))["row"] == ["2", "2", "2", "None"]


def claim_about(variables: Any, *conjuncts: Conjunct) -> Claim:
    return Claim("about", "algebra", "About x.", {"M": 1, "K": 1}, variables, conjuncts)


@pytest.mark.parametrize(
    ("bound", "left", "right", "expected"),
    [
        (24, x, 3 * (x // 3) + x % 3, ["3", "8"]),
        (24, x, 8 * (x // 8) + x % 8, ["8", "3"]),
        (M * K, x, M * (x // M) + x % M, ["M", "K"]),
        (M * K, x, K * (x // K) + x % K, ["K", "M"]),
        (4 * M, x, M * (x // M) + x % M, ["M", "4"]),
        (6 * M, x, 2 * M * (x // (2 * M)) + x % (2 * M), ["2 * M", "3"]),
        (4 * (M + 1), x, 4 * (x // 4) + x % 4, ["4", "M + 1"]),
        (None, x, 12 * (x // 4 // 3) + 4 * (x // 4 % 3) + x % 4, ["4", "3", "None"]),
        (None, x, M * (x // M) + x % M, ["M", "None"]),
        (1, x, 0, []),
        (7, x, x, ["7"]),
    ],
)
def test_orders_of_factors_are_found(bound: Any, left: Any, right: Any, expected: Any) -> None:
    proof = require_proof(claim_about([("x", bound)], Conjunct("same", "=", left, right)))
    assert radices(proof)["x"] == expected


def test_undecided_is_neither() -> None:
    # True, but a digit below 3 has no law like that of bits, so digits do not show it.
    product = x * (x + 1) * (x + 2)
    claim = claim_about([("x", None)], Conjunct("thirds", "=", product // 3 * 3, product))
    with pytest.raises(Undecided, match="remainder"):
        prove(claim)


def test_large_numbers_do_not_overflow() -> None:
    big = 2**62
    claim = claim_about([("x", 4)], Conjunct("big", "<", big * x, 3 * big))
    outcome = prove(claim)
    assert isinstance(outcome, Counterexample)
    assert (outcome.left, outcome.right) == (3 * big, 3 * big)


def best_of(times: int, work: Callable[[], object]) -> float:
    seconds = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def test_proving_and_checking_are_quick(true_claim: Claim) -> None:
    # The targets are 100 ms and 5 ms; a busy machine may take three times as long.
    entry = require_proof(true_claim).to_json()
    assert best_of(3, lambda: prove(true_claim)) < 0.3
    assert best_of(5, lambda: checker.check_claim(entry["claim"], entry["digits"])) < 0.015
