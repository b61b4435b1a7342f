"""Random claims: what the checker accepts is true at several sizes, by brute force."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tylo.layouts.errors import ClaimError
from tylo.layouts.terms import Integer, name, operation
from tylo.proofs.claims import Claim, Conjunct
from tylo.proofs.enumeration import least_failure
from tylo.proofs.prover import find_digits

K, M = name("K"), name("M")
VARIABLES: dict[str, Integer | None] = {
    "lane": 8,
    "bit": 2,
    "third": 6,
    "m": M,
    "pair": 2 * K,
    "tile": 4 * M * K,
    "free": None,
}
LEAVES = st.sampled_from([*map(name, VARIABLES), M, K]) | st.integers(0, 9)
DIVISORS = st.sampled_from([2, 3, 4, 8, 16, M, K, 2 * M, 4 * M, M * K])


def grown(inner: st.SearchStrategy[Integer]) -> st.SearchStrategy[Integer]:
    return st.one_of(
        st.builds(operation, st.sampled_from(["+", "+", "-", "*", "xor"]), inner, inner),
        st.builds(operation, st.sampled_from(["div", "mod"]), inner, DIVISORS),
        st.builds(lambda part, factor: part * factor, inner, st.sampled_from([2, 4, M, 8])),
    )


TERMS = st.recursive(LEAVES, grown, max_leaves=6)


@st.composite
def conjuncts(draw: st.DrawFn) -> Conjunct:
    """Half of them are laws that hold whenever the checker can follow them; half are anything."""
    term, other, divisor = draw(TERMS), draw(TERMS), draw(DIVISORS)
    number = draw(st.integers(0, 40))
    relation = draw(st.sampled_from(["=", "<", "<="]))
    shapes: list[tuple[str, Integer, Integer]] = [
        ("=", divisor * (term // divisor) + term % divisor, term),
        ("<", term % divisor, divisor),
        ("<=", 0, term),
        ("=", (term ^ other) ^ other, term),
        ("=", (term * divisor + number % 2) // divisor, term),
        (relation, term, other),
        (relation, term, number),
        (relation, term % divisor, number),
        ("=", (term + other) // divisor, term // divisor + other // divisor),
        ("=", term ^ other, term + other),
    ]
    relation, left, right = draw(st.sampled_from(shapes))
    return Conjunct("random", relation, left, right)


def claim_of(conjunct: Conjunct) -> Claim | None:
    try:
        return Claim(
            "random", "algebra", "Anything.", {"K": 1, "M": 1}, [*VARIABLES.items()], [conjunct]
        )
    except ClaimError:
        return None  # an integer outgrew its 64 bits


@pytest.mark.parametrize("examples", [1000, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_what_the_checker_accepts_is_true(judge: Callable[..., bool], examples: int) -> None:
    seen: Counter[str] = Counter()

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(conjuncts())
    def accepted_is_true(conjunct: Conjunct) -> None:
        claim = claim_of(conjunct)
        proof = None if claim is None else find_digits(claim, orders=1)
        if proof is None:
            seen["refused"] += 1
            return
        seen["accepted"] += 1
        assert judge(proof.claim.to_json(), more=2, unbounded=9), str(conjunct)

    accepted_is_true()
    # The property would be empty if one side never happened.
    assert seen["accepted"] > examples // 5, seen
    assert seen["refused"] > examples // 5, seen


def test_enumeration_agrees_with_the_judge(judge: Callable[..., bool]) -> None:
    seen: Counter[bool] = Counter()

    @settings(max_examples=300, deadline=None, database=None, derandomize=True)
    @given(conjuncts())
    def same_answer(conjunct: Conjunct) -> None:
        claim = claim_of(conjunct)
        if claim is not None:
            holds = judge(claim.to_json(), more=2, unbounded=9)
            failure = least_failure(claim)
            seen[holds] += 1
            # The enumeration goes further, so it may fail where the judge did not look.
            assert holds or failure is not None, str(conjunct)

    same_answer()
    assert min(seen[True], seen[False]) > 30, seen
