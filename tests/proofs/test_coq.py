"""Coq accepts the generated files and the theories, without axioms, and nothing false."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import pytest

from tylo.layouts.terms import name
from tylo.proofs import coq
from tylo.proofs.claims import Claim, Conjunct
from tylo.proofs.coq import coq_file, theorem
from tylo.proofs.coq_runner import check_with_coq, compile_coq
from tylo.proofs.prover import require_proof
from tylo.proofs.specifications import SHIPPED, specification

THEORIES = sorted((Path(coq.__file__).parent / "theories").glob("*.v"))

with_coq = pytest.mark.skipif(
    shutil.which("coqc") is None, reason="coqc is not installed (Debian: apt-get install coq)"
)


@with_coq
@pytest.mark.slow
def test_coq_accepts_every_true_claim(true_claims: dict[str, Claim]) -> None:
    verdict = check_with_coq([require_proof(claim) for claim in true_claims.values()])
    assert verdict.verdict == "holds", verdict.message
    assert verdict.version


@with_coq
@pytest.mark.parametrize("theory", THEORIES, ids=lambda path: path.stem)
def test_coq_accepts_the_theories(theory: Path) -> None:
    text = theory.read_text(encoding="ascii")
    verdict = compile_coq(text)
    assert verdict.verdict == "holds", verdict.message


@pytest.mark.parametrize("theory", THEORIES, ids=lambda path: path.stem)
def test_the_theories_assume_nothing(theory: Path) -> None:
    words = set(theory.read_text(encoding="ascii").replace(".", " ").split())
    assert not words & {"Axiom", "Axioms", "Parameter", "Admitted", "admit", "Hypothesis"}


@with_coq
def test_coq_refuses_a_false_claim(by_hand: object, true_claims: dict[str, Claim]) -> None:
    proof = require_proof(true_claims["registers"])
    *kept, last = proof.claim.conjuncts
    smaller = dataclasses.replace(last, right=last.right - 1)
    false = dataclasses.replace(proof.claim, conjuncts=[*kept, smaller])
    verdict = check_with_coq([dataclasses.replace(proof, claim=false)])
    assert verdict.verdict == "unknown"
    assert "Error" in verdict.message


@with_coq
def test_coq_notices_an_axiom() -> None:
    text = "Axiom magic : False. Theorem t : 1 = 2. destruct magic. Qed. Print Assumptions t."
    assert compile_coq(text, theorems=1).verdict == "unknown"
    assert compile_coq("Theorem t : 1 = 1. reflexivity. Qed.", theorems=1).verdict == "unknown"


@with_coq
def test_coq_is_killed_when_it_hangs() -> None:
    verdict = compile_coq(
        "Goal True. repeat (try idtac; assert True by exact I). Abort.", seconds=2
    )
    assert verdict.verdict == "unknown"
    assert verdict.seconds < 10


@with_coq
def test_names_that_mean_something_to_coq() -> None:
    end, lane, Z, xor = name("end"), name("lane"), name("Z"), name("xor")
    claim = Claim(
        name="fun",
        kind="equal",
        statement='Odd "names" (* do no harm *).',
        parameters={"Z": 1},
        variables=[("end", 8), ("lane", 4 * Z), ("xor", 2), ("at", 1)],
        conjuncts=[
            Conjunct("quotient", "=", 4 * (lane // 4) + lane % 4, lane),
            Conjunct("bits", "=", (end ^ xor) ^ xor, end),
            Conjunct("nothing", "=", name("at") + 0 - lane, 0 - lane),
        ],
    )
    verdict = check_with_coq([require_proof(claim)])
    assert verdict.verdict == "holds", verdict.message


def test_the_file_states_the_original_claim(true_claims: dict[str, Claim]) -> None:
    text = theorem(require_proof(true_claims["packed_word"]), "packed")
    statement = text.partition("Theorem")[2].partition("Proof.")[0]
    assert "0 <= m < M ->" in statement
    assert "(((2 * w) + h) + (8 * (m + (M * k)))) / 2" in statement
    assert "'" not in statement


def test_the_file_is_self_contained(true_claims: dict[str, Claim]) -> None:
    text = coq_file([require_proof(true_claims["exchange"])])
    assert text.count("Require") == 1
    assert text.startswith("Require Import ZArith Lia.\n")
    assert text.isascii()


def test_a_missing_coq_shows() -> None:
    verdict = compile_coq("", program="no-such-coqc")
    assert verdict.verdict == "missing"
    assert "not installed" in verdict.message


@with_coq
@pytest.mark.slow
def test_coq_accepts_the_shipped_theorem() -> None:
    """The atoms of both types have the same lanes, so that Coq is given one text for both."""
    shipped = [specification(*SHIPPED[label]) for label in SHIPPED if label.startswith("adjacent")]
    assert len(shipped) == 2
    texts = {coq_file([require_proof(claim) for claim in stated.claims]) for stated in shipped}
    assert len(texts) == 1
    found = check_with_coq([require_proof(claim) for claim in shipped[0].claims])
    assert found.verdict == "holds", found.message
