"""z3 and cvc5 agree with the checker, and anything short of agreement is no success."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import pytest

from tylo.layouts.errors import ClaimError, Undecided
from tylo.layouts.terms import evaluate, name
from tylo.proofs import solver_process
from tylo.proofs.claims import Claim, Conjunct
from tylo.proofs.smt import obligations
from tylo.proofs.solvers import Answer, Judgement, overall, solve, solve_all

x, y, M, K = name("x"), name("y"), name("M"), name("K")

with_solvers = pytest.mark.skipif(
    find_spec("z3") is None or find_spec("cvc5") is None, reason="z3 or cvc5 is not installed"
)


def claim_about(variables: Any, *conjuncts: Conjunct) -> Claim:
    return Claim("about", "algebra", "About x.", {"M": 1, "K": 1}, variables, conjuncts)


@with_solvers
def test_both_solvers_prove_the_true_claims(true_claim: Claim) -> None:
    judgements = solve(true_claim)
    assert overall(judgements) == "holds"
    for judgement in judgements:
        assert [(a.solver, a.verdict) for a in judgement.answers] == [
            ("z3", "holds"),
            ("cvc5", "holds"),
        ]
        assert all(answer.version for answer in judgement.answers)


@with_solvers
def test_register_numbers_take_less_than_a_second(true_claims: dict[str, Claim]) -> None:
    for chosen in ("registers", "packed_word", "register_numbers"):
        for judgement in solve(true_claims[chosen]):
            assert all(answer.seconds < 1 for answer in judgement.answers), judgement


@with_solvers
def test_models_violate_false_claims(
    false_claim: tuple[Claim, dict[str, int], str],
) -> None:
    claim, _, label = false_claim
    judgements = {j.obligation.conjunct.label: j for j in solve(claim)}
    assert overall([*judgements.values()]) == "fails"
    judgement = judgements[label]
    assert judgement.verdict == "fails"
    part = judgement.obligation.conjunct
    for answer in judgement.answers:
        point = answer.model
        assert point is not None
        assert all(point[size] >= least for size, least in claim.parameters.items())
        for variable, bound in claim.variables:
            assert point[variable] >= 0
            assert bound is None or point[variable] < evaluate(bound, point)
        left, right = evaluate(part.left, point), evaluate(part.right, point)
        assert not (left == right if part.relation == "=" else left < right)


def test_one_obligation_for_each_conjunct(true_claims: dict[str, Claim]) -> None:
    claim = true_claims["same_coordinates"]
    assert [o.name for o in obligations(claim)] == [
        "same_coordinates: row",
        "same_coordinates: column",
    ]
    for obligation in obligations(claim):
        assert obligation.script.count("(check-sat)") == 1
        assert "QF_LIA" in obligation.script


def test_scripts_state_the_claim_and_not_its_digits() -> None:
    claim = claim_about([("x", 4 * M)], Conjunct("quotient", "<", x // M, 4))
    assert obligations(claim)[0].script == "\n".join(
        [
            "(set-logic QF_NIA)",
            "(declare-const $M Int)",
            "(assert (<= 1 $M))",
            "(declare-const $x Int)",
            "(assert (<= 0 $x))",
            "(assert (< $x (* 4 $M)))",
            "(declare-const q!0 Int)",
            "(declare-const r!0 Int)",
            "(assert (= $x (+ (* $M q!0) r!0)))",
            "(assert (<= 0 r!0))",
            "(assert (< r!0 $M))",
            "(assert (not (< q!0 4)))",
            "(check-sat)",
            "",
        ]
    )


def test_exclusive_or_needs_a_bound_in_numbers() -> None:
    claim = claim_about([("x", None), ("y", None)], Conjunct("same", "=", x ^ y, y ^ x))
    with pytest.raises(Undecided, match="no bound in numbers"):
        obligations(claim)


def test_exclusive_or_asks_whether_its_operand_fits() -> None:
    claim = claim_about([("x", None), ("y", 8)], Conjunct("same", "=", x ^ y, y ^ x))
    assert [o.conjunct.label for o in obligations(claim)] == [
        "same: operand 0 of xor from 0",
        "same: operand 0 of xor fits 3 bits",
        "same",
    ]


@with_solvers
def test_exclusive_or_of_a_negative_operand_is_no_success() -> None:
    claim = claim_about([("x", 4), ("y", 4)], Conjunct("below", "<=", 0, (x - y) ^ y))
    assert overall(solve(claim)) == "fails"


@with_solvers
@pytest.mark.parametrize("left", [x ^ y, (x ^ y) ^ y, (4 * x + y) ^ 5, (x ^ y) % 4])
def test_exclusive_or_means_what_python_means(left: Any) -> None:
    points = [(0, 0), (3, 5), (6, 7), (1, 4)]
    # Variables below 1 are 0, so that each point is a term that does not fold.
    moved = [evaluate(left, {"x": x + at, "y": y + other}) for at, other in points]
    values = [evaluate(left, {"x": at, "y": other}) for at, other in points]
    for shift, expected in ((0, "holds"), (1, "fails")):
        claim = claim_about(
            [("x", 1), ("y", 1)],
            *(
                Conjunct(f"{point}", "=", term, value + shift)
                for point, term, value in zip(points, moved, values, strict=True)
            ),
        )
        judgements = {j.obligation.conjunct.label: j.verdict for j in solve(claim)}
        assert {judgements[f"{point}"] for point in points} == {expected}


@with_solvers
def test_agreement_with_the_judge_on_small_claims(judge: Callable[..., bool]) -> None:
    terms = [x // 3, x % 3, x // M, x % M, 2 * x - M, (x + M) // 2, M * (x // M) + x % M, x]
    claims = [
        claim_about([("x", 6)], Conjunct("small", relation, left, right))
        for left in terms
        for right in terms[:4]
        for relation in ("=", "<=")
    ]
    work = [obligation for claim in claims for obligation in obligations(claim)]
    for claim, judgement in zip(claims, solve_all(work, seconds=4), strict=True):
        # All that happens with x < 6 happens for M up to 8.
        holds = judge(claim.to_json(), more=7)
        assert judgement.verdict == ("holds" if holds else "fails"), str(claim.conjuncts[0])


def judged(*verdicts: str) -> str:
    obligation = obligations(claim_about([("x", 4)], Conjunct("same", "=", x, x)))[0]
    return Judgement(
        obligation, tuple(Answer("z3", "0", verdict, 0.0) for verdict in verdicts)
    ).verdict


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (("holds", "holds"), "holds"),
        (("fails", "fails"), "fails"),
        (("holds", "fails"), "disagreement"),
        (("holds", "unknown"), "undecided"),
        (("holds", "missing"), "undecided"),
        (("fails", "unknown"), "undecided"),
        (("unknown", "unknown"), "undecided"),
        (("missing", "missing"), "undecided"),
        (("holds",), "undecided"),
        ((), "undecided"),
    ],
)
def test_only_agreement_decides(verdicts: tuple[str, ...], expected: str) -> None:
    assert judged(*verdicts) == expected


def test_no_obligation_is_no_success() -> None:
    assert overall([]) == "undecided"


def test_unknown_solvers_are_refused() -> None:
    with pytest.raises(ClaimError, match="yices"):
        solve_all([], solvers=("yices",))


@with_solvers
def test_a_hanging_solver_is_killed() -> None:
    # Sums of three cubes: no solver answers, and cvc5 ignores its own limit at times.
    cubes = x * x * x + y * y * y + name("z") * name("z") * name("z")
    claim = claim_about(
        [("x", None), ("y", None), ("z", None)], Conjunct("cubes", "<", cubes % 1000003, 1000002)
    )
    started = time.monotonic()
    [judgement] = solve(claim, seconds=1)
    assert judgement.verdict in ("undecided", "fails")
    assert time.monotonic() - started < 15


def test_a_missing_solver_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = "import sys; sys.modules['z3'] = None; sys.argv[1:] = ['z3']"
    worker = "import runpy; runpy.run_module('tylo.proofs.solver_worker', run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-c", f"{absent}; {worker}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert "missing" in json.loads(done.stdout)

    def start(command: list[str], **options: Any) -> subprocess.Popen[str]:
        return real([sys.executable, "-c", f"{absent}; {worker}"], **options)

    real = subprocess.Popen
    monkeypatch.setattr(solver_process.subprocess, "Popen", start)
    claim = claim_about([("x", 4)], Conjunct("same", "=", x, x))
    [judgement] = solve(claim, solvers=("z3",))
    assert [answer.verdict for answer in judgement.answers] == ["missing"]
    assert judgement.verdict == "undecided"
