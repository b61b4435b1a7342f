"""Claims are values with one spelling, and malformed ones are refused."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from tylo.layouts.errors import ClaimError
from tylo.layouts.terms import Integer, name, operation
from tylo.proofs.bijection import bijection
from tylo.proofs.claims import KINDS, Claim, Conjunct, canonical_json, claim_from_json

x, M = name("x"), name("M")
GOOD: dict[str, Any] = {
    "name": "good",
    "kind": "equal",
    "statement": "x is x.",
    "parameters": {"M": 1},
    "variables": [("x", 4 * M)],
    "conjuncts": [Conjunct("same", "=", x, x)],
}


def test_json_round_trip(true_claim: Claim) -> None:
    data = json.loads(canonical_json(true_claim.to_json()))
    assert claim_from_json(data) == true_claim
    assert hash(claim_from_json(data)) == hash(true_claim)


def test_id_is_the_digest_of_the_canonical_text() -> None:
    text = (
        '{"conjuncts":[["same","=","x","x"]],"kind":"equal","name":"good","parameters":{"M":1},'
        '"statement":"x is x.","variables":[["x",["*",4,"M"]]]}'
    )
    assert Claim(**GOOD).id == "sha256:" + hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("key", ["name", "kind", "statement", "parameters", "conjuncts"])
def test_id_covers_every_part(key: str) -> None:
    other = {
        "name": "other",
        "kind": "algebra",
        "statement": "x is itself.",
        "parameters": {"M": 2},
        "conjuncts": [Conjunct("same", "<=", x, x)],
    }
    assert Claim(**{**GOOD, key: other[key]}).id != Claim(**GOOD).id


def test_every_kind_is_accepted() -> None:
    assert {Claim(**{**GOOD, "kind": kind}).kind for kind in KINDS} == set(KINDS)


def deep(levels: int) -> Integer:
    term: Integer = x
    for _ in range(levels):
        term = operation("+", term, x)
    return term


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "obvious"}, "unknown kind 'obvious'"),
        ({"name": "two words"}, "'two words' is not a claim's name"),
        ({"statement": " "}, "states nothing"),
        ({"statement": "a\nb"}, "unprintable"),
        ({"parameters": {"M": -1}}, "not a natural number"),
        ({"parameters": {"M": True}}, "not a natural number"),
        ({"parameters": {"M": 0}}, "no value at {'M': 0}"),
        ({"variables": [("x", 4), ("x", 4)]}, "declares 'x' twice"),
        ({"variables": [("M", 4), ("x", 4)]}, "declares 'M' twice"),
        ({"variables": [("x", name("N"))]}, "'N' is not declared"),
        ({"variables": [("y", 4), ("x", name("y"))]}, "'y' is not declared"),
        ({"variables": [("x", 0)]}, "no value"),
        ({"variables": [("x.0", 4)]}, "'x.0' is not a variable"),
        ({"conjuncts": []}, "no conjunct"),
        ({"conjuncts": [Conjunct("same", "=", x, name("z"))]}, "'z' is not declared"),
        ({"conjuncts": [Conjunct("same", ">", x, x)]}, "unknown relation '>'"),
        ({"conjuncts": [Conjunct("", "=", x, x)]}, "not a label"),
        ({"conjuncts": [Conjunct("a", "=", x, x), Conjunct("a", "=", x, x)]}, "two conjuncts"),
        ({"conjuncts": [Conjunct("a", "=", x // x, 1)]}, "divides by x"),
        ({"conjuncts": [Conjunct("a", "=", x // (M - 1), 1)]}, "divides by M - 1"),
        ({"conjuncts": [Conjunct("a", "=", x % (4 * name("N")), 1)]}, "divides by N"),
        ({"conjuncts": [Conjunct("a", "=", x, 2**64)]}, "not an integer of 64 bits"),
        ({"conjuncts": [Conjunct("a", "=", x, True)]}, "not an integer of 64 bits"),
        ({"conjuncts": [Conjunct("a", "=", deep(200), x)]}, "nested deeper"),
    ],
)
def test_malformed_claims_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ClaimError) as refusal:
        Claim(**{**GOOD, **change})
    assert message in str(refusal.value)


def spoiled(**change: Any) -> dict[str, Any]:
    return {**Claim(**GOOD).to_json(), **change}


@pytest.mark.parametrize(
    "data",
    [
        [],
        {},
        spoiled(extra=1),
        spoiled(parameters=[["M", 1]]),
        spoiled(variables=[["x"]]),
        spoiled(variables={"x": 4}),
        spoiled(conjuncts=[["a", "=", "x"]]),
        spoiled(conjuncts=[["a", "=", ["+", "x", 0], "x"]]),
        spoiled(conjuncts=[["a", "=", ["+", 1, 2], "x"]]),
        spoiled(conjuncts=[["a", "=", ["min", "x", 2], "x"]]),
        spoiled(conjuncts=[["a", "=", 1.5, "x"]]),
        spoiled(conjuncts=[["a", "=", ["div", 1, 0], "x"]]),
    ],
)
def test_foreign_json_is_refused(data: Any) -> None:
    with pytest.raises(ClaimError):
        claim_from_json(data)


def test_nested_json_is_refused_without_recursion() -> None:
    term: Any = "x"
    for _ in range(100_000):
        term = ["+", term, 1]
    with pytest.raises(ClaimError, match="nested deeper"):
        claim_from_json(spoiled(conjuncts=[["a", "=", term, "x"]]))


def test_a_bijection_needs_a_term_for_each_variable() -> None:
    with pytest.raises(ClaimError, match="do not fit"):
        bijection(
            name="half",
            kind="bijective",
            statement="Nothing maps to y.",
            parameters={},
            source=[("x", 4)],
            target=[("y", 4)],
            forward={},
            inverse={"x": name("y")},
        )


def test_a_bijection_into_negative_numbers_does_not_prove() -> None:
    from tylo.proofs.prover import Counterexample, prove

    claim = bijection(
        name="negated",
        kind="bijective",
        statement="Numbers and their opposites.",
        parameters={},
        source=[("x", 4)],
        target=[("y", 4)],
        forward={"y": 0 - x},
        inverse={"x": 0 - name("y")},
    )
    outcome = prove(claim)
    assert isinstance(outcome, Counterexample)
    assert outcome.conjunct.label == "source x from 0"
