"""Two solvers in processes of their own: agreement, disagreement, absence, time-outs."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tylo.proofs import solver_worker
from tylo.proofs.ptx.validate import validate
from tylo.proofs.ptx.workers import Workers, reduced
from tylo.proofs.solver_process import SolverProcess


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


THREE = """(set-logic QF_BV)
(declare-const a (_ BitVec 8))
(assert (bvult a (_ bv3 8)))
(assert (bvult a (_ bv9 8)))
(assert (bvugt a (_ bv5 8)))
(check-sat)"""


@pytest.mark.parametrize("solver", ["z3", "cvc5"])
def test_a_solver_says_which_assertions_it_needed(solver: str) -> None:
    process = SolverProcess(solver)
    request = {"script": THREE, "unknowns": [], "options": {}}
    assert "core" not in process.ask(request, 5.0)
    assert process.ask(request | {"core": True}, 5.0)["core"] == [0, 2]
    process.stop()


class Slow:
    """A solver that has no time for a script with all three assertions."""

    def __init__(self, solver: str) -> None:
        self.process = SolverProcess(solver)
        self.asked: list[int] = []

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        self.asked.append(request["script"].count("(assert "))
        return {} if self.asked[-1] == 3 else self.process.ask(request, seconds)

    def stop(self) -> None:
        self.process.stop()


@pytest.mark.parametrize("slow", [0, 1])
def test_what_one_solver_needed_helps_the_other(slow: int, monkeypatch: pytest.MonkeyPatch) -> None:
    helped = Slow(("z3", "cvc5")[slow])
    with Workers() as solve:
        processes: list[Any] = [SolverProcess("z3"), SolverProcess("cvc5")]
        processes[slow] = helped
        monkeypatch.setattr(solve, "_processes", processes)
        assert solve([THREE]) == ["holds"]
    assert helped.asked == [3, 2]


@pytest.mark.parametrize("core", [[0, 1], [1], [0], [7], []])
def test_a_wrong_hint_decides_nothing(core: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    helped = Slow("cvc5")
    with Workers() as solve:
        processes = [Reply(answer="unsat", core=core), helped]
        monkeypatch.setattr(solve, "_processes", processes)
        assert solve([THREE]) == ["unknown"]
    assert set(helped.asked) <= {1, 2, 3}


def test_a_part_of_a_script_is_none_where_lines_hide_assertions() -> None:
    assert reduced(THREE, [1]) == "\n".join(
        line for line in THREE.split("\n") if "bv3" not in line and "bv5" not in line
    )
    assert reduced(THREE.replace(")\n(assert", ") (assert"), [1]) is None
    assert reduced(THREE, [3]) is None


def test_a_solver_that_got_no_processor_is_asked_for_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(solver_worker.resource, "setrlimit", lambda *_: None)
    limits = []

    def starved(request: dict[str, Any], seconds: float) -> dict[str, Any]:
        limits.append(seconds)
        return {"answer": "unknown" if len(limits) == 1 else "unsat"}

    assert solver_worker._answered(starved, {"seconds": 2.0})["answer"] == "unsat"
    assert limits == [2.0, 10.0]

    def busy(request: dict[str, Any], seconds: float) -> dict[str, Any]:
        limits.append(seconds)
        until = time.process_time() + seconds
        while time.process_time() < until:
            pass
        return {"answer": "unknown"}

    assert solver_worker._answered(busy, {"seconds": 0.1})["answer"] == "unknown"
    assert limits[2:] == [0.1]
