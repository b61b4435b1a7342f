"""Two solvers in processes of their own: agreement, disagreement, absence, time-outs."""

from __future__ import annotations

from typing import Any

import pytest

from tylo.proofs.ptx.validate import validate
from tylo.proofs.ptx.workers import Workers


def test_both_solvers_accept_a_right_kernel_and_refuse_a_wrong_one(kernels: Any) -> None:
    pack = kernels.Pack()
    ptx = kernels.compiled(pack.cuda(), "sm_90a")
    with Workers() as solve:
        assert validate(ptx, pack.effect(), solve=solve).holds
        wrong = ptx.replace(
            "%tid.x;", "%laneid;\n setp.eq.u32 %p1, %r5, 17;\n selp.u32 %r5, 5, %r5, %p1;"
        )
        wrong = wrong.replace(".reg .b64", ".reg .pred %p<2>;\n.reg .b64", 1)
        validation = validate(wrong, pack.effect(), solve=solve)
    failures = [v.failure for v in validation.failures]
    assert {f.thread for f in failures if f} == {17}
    assert not validation.undecided


class Reply:
    """A process that always says the same."""

    def __init__(self, **reply: Any) -> None:
        self.reply = reply

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        return self.reply

    def stop(self) -> None:
        """There is nothing to stop."""


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        (Reply(answer="unsat"), Reply(answer="unsat"), "holds"),
        (Reply(answer="sat", model={}), Reply(answer="sat", model={}), "fails"),
        (Reply(answer="unsat"), Reply(answer="sat", model={}), "disagreement"),
        (Reply(answer="unsat"), Reply(missing="cvc5"), "missing"),
        (Reply(answer="unsat"), Reply(answer="unknown"), "unknown"),
        (Reply(answer="unsat"), Reply(), "unknown"),  # killed
    ],
)
def test_only_agreement_counts(
    first: Reply, second: Reply, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers = Workers()
    monkeypatch.setattr(workers, "_processes", [first, second])
    assert workers(["(assert false)"]) == [verdict]


def test_patience_is_for_all_questions_together(monkeypatch: pytest.MonkeyPatch) -> None:
    workers = Workers(seconds=5.0, patience=7.0)
    monkeypatch.setattr(workers, "_processes", [Reply(answer="unsat", cpu=3.0), Reply()])
    # The second was killed after five seconds, and has two left.
    questions = [f"(assert false) ; {number}" for number in range(4)]
    assert workers(questions[:2]) == ["unknown"] * 2
    assert workers.is_spent
    monkeypatch.setattr(workers, "_processes", [Reply(answer="unsat", cpu=3.0)] * 2)
    assert workers(questions[2:3]) == ["unknown"]
    fresh = Workers(patience=7.0)
    monkeypatch.setattr(fresh, "_processes", [Reply(answer="unsat", cpu=3.0)] * 2)
    assert fresh(questions) == ["holds"] * 3 + ["unknown"]


def test_no_question_is_asked_again_whether_decided_or_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workers = Workers()
    monkeypatch.setattr(workers, "_processes", [Reply(answer="unsat"), Reply()])
    assert workers(["one", "one"]) == ["unknown"] * 2
    monkeypatch.setattr(workers, "_processes", [Reply(answer="unsat")] * 2)
    assert workers(["one", "two", "one"]) == ["unknown", "holds", "unknown"]
    monkeypatch.setattr(workers, "_processes", [Reply(answer="sat")] * 2)
    assert workers(["two", "three", "one"]) == ["holds", "fails", "unknown"]


def test_a_hard_question_is_given_up_and_the_next_one_answered() -> None:
    # A product of two 48-bit factors that is prime has no solution, which no solver sees in time.
    hard = (
        "(set-logic QF_BV)(declare-const a (_ BitVec 96))(declare-const b (_ BitVec 96))"
        "(assert (= (bvmul a b) (_ bv618970019642690137449562111 96)))"
        "(assert (bvult a (_ bv281474976710656 96)))(assert (bvult b (_ bv281474976710656 96)))"
        "(assert (bvugt a (_ bv1 96)))(assert (bvugt b (_ bv1 96)))(check-sat)"
    )
    with Workers(seconds=0.5) as solve:
        assert solve([hard, "(assert false)\n(check-sat)"]) == ["unknown", "holds"]
