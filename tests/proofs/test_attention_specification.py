"""Attention's index maps: proven for every size, and refuted where they are changed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tylo.layouts.terms import name
from tylo.proofs.claims import Claim, Conjunct
from tylo.proofs.prover import Counterexample, prove, require_proof
from tylo.proofs.solvers import overall, solve
from tylo.proofs.specifications import specification
from tylo.proofs.specifications.attention import claims, place_in_row, weight_value

CLAIMS = {claim.name: claim for claim in claims()}


@pytest.mark.parametrize("label", CLAIMS)
def test_proven(label: str) -> None:
    require_proof(CLAIMS[label])


@pytest.mark.parametrize("label", ["unmasked_steps", "steps_with_a_key", "keys_again"])
def test_solvers_agree(label: str) -> None:
    assert overall(solve(CLAIMS[label])) == "holds"


def changed(label: str, number: int, **parts: Any) -> Claim:
    claim = CLAIMS[label]
    conjuncts = list(claim.conjuncts)
    conjuncts[number] = replace(conjuncts[number], **parts)
    return replace(claim, conjuncts=conjuncts)


@pytest.mark.parametrize(
    ("claim", "point"),
    [
        (
            changed("weights_in_their_lanes", 1, right=name("k") * 16 + name("lane") % 4 * 2),
            {"lane": 0, "warp": 0, "word": 0, "half": 1, "k": 0},
        ),
        (
            replace(
                CLAIMS["unmasked_steps"],
                variables=[
                    (label, bound if label != "tile" else name("W") + 1)
                    for label, bound in CLAIMS["unmasked_steps"].variables
                ],
            ),
            {"tile": 1, "key": 0, "rest": 0, "row": 0},
        ),
        (
            changed("steps_with_a_key", 0, right=name("tile")),
            {"tile": 0, "last": 0},
        ),
        (
            changed("output_placed", 0, left=name("row") * 128 + name("chunk") * 16),
            {"group": 0, "row": 1, "chunk": 0},
        ),
        (
            changed("matrices_are_operand_words", 0, left=name("line") + 16 * name("warp")),
            {"line": 0, "pair": 0, "matrix": 1, "half": 0, "warp": 0},
        ),
    ],
    ids=lambda each: each.name if isinstance(each, Claim) else "",
)
def test_false_variants_have_a_least_point(claim: Claim, point: dict[str, int]) -> None:
    found = prove(claim)
    assert isinstance(found, Counterexample)
    assert found.values == point


def test_the_functions_that_kernels_print() -> None:
    assert [weight_value(word, half, 1) for word in range(4) for half in (0, 1)] == [
        8, 9, 10, 11, 12, 13, 14, 15,
    ]  # fmt: skip
    assert sorted(place_in_row(row, c) for row in range(8) for c in range(8)) == list(
        range(0, 1024, 16)
    )


def test_it_is_a_named_specification() -> None:
    found = specification("attention", {})
    assert [claim.name for claim in found.claims] == list(CLAIMS)
    assert found.effect is None
    assert all(isinstance(part, Conjunct) for claim in found.claims for part in claim.conjuncts)
