"""Two SMT solvers, z3 and cvc5, must agree that a claim holds.

Each solver works through the obligations in one killable process with a time limit per attempt and
a cap on memory. An answer is ``holds``, ``fails`` (with a model that really violates the claim),
``unknown``, or ``missing`` (the wheel is not installed). The verdict needs both: anything short of
agreement is ``undecided``, which is never success, and contrary answers are a ``disagreement``.

>>> from tylo.layouts.terms import name
>>> from tylo.proofs.claims import Claim, Conjunct
>>> lane = name("lane")
>>> claim = Claim(
...     name="quad", kind="equal", statement="A lane is its quad and its place.", parameters={},
...     variables=[("lane", 32)],
...     conjuncts=[Conjunct("lane", "=", 4 * (lane // 4) + lane % 4, lane)],
... )
>>> [judgement] = solve(claim, solvers=())
>>> judgement.verdict
'undecided'
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tylo.layouts.errors import ClaimError
from tylo.layouts.terms import evaluate
from tylo.proofs.claims import Claim
from tylo.proofs.smt import Obligation, obligations
from tylo.proofs.solver_process import SOLVERS, SolverProcess

# cvc5's simplex may wander for ever on a linear obligation that another pivoting or decision rule
# decides in milliseconds, so it tries several, shortly first and then again for longer.
_RULES: tuple[dict[str, str], ...] = (
    {"use-soi": "true", "decision": "stoponly"},
    {"decision": "stoponly"},
    {"decision": "justification"},
    {"use-soi": "true"},
    {},
)
_TURNS: dict[str, tuple[tuple[float, dict[str, str]], ...]] = {
    "z3": ((1.0, {}),),
    "cvc5": tuple((share, rule) for share in (0.01, 0.05, 0.14) for rule in _RULES),
}


@dataclass(frozen=True)
class Answer:
    """What one solver said about one obligation."""

    solver: str
    version: str
    verdict: str
    seconds: float
    model: Mapping[str, int] | None = None


@dataclass(frozen=True)
class Judgement:
    """What all solvers said about one obligation."""

    obligation: Obligation
    answers: tuple[Answer, ...]

    @property
    def verdict(self) -> str:
        """``holds``, ``fails``, ``undecided`` or ``disagreement``."""
        verdicts = {answer.verdict for answer in self.answers}
        if {"holds", "fails"} <= verdicts:
            return "disagreement"
        # One solver alone decides nothing, whatever it says.
        if (
            len(self.answers) < len(SOLVERS)
            or len(verdicts) > 1
            or verdicts & {"unknown", "missing"}
        ):
            return "undecided"
        return verdicts.pop()


def solve(
    claim: Claim, *, seconds: float = 20.0, solvers: Sequence[str] = SOLVERS
) -> tuple[Judgement, ...]:
    """Each obligation of a claim judged by all solvers; see `solve_all`."""
    return solve_all(obligations(claim), seconds=seconds, solvers=solvers)


def solve_all(
    work: Sequence[Obligation], *, seconds: float = 20.0, solvers: Sequence[str] = SOLVERS
) -> tuple[Judgement, ...]:
    """Judge obligations, each within `seconds` per solver; the solvers run side by side."""
    for solver in solvers:
        if solver not in SOLVERS:
            raise ClaimError(f"unknown solver {solver!r}", hint=f"use {SOLVERS}")
    answers: dict[str, list[Answer]] = {}

    def serve(solver: str) -> None:
        answers[solver] = list(_answers(solver, work, seconds))

    threads = [threading.Thread(target=serve, args=(solver,)) for solver in solvers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return tuple(
        Judgement(obligation, tuple(answers[solver][place] for solver in solvers))
        for place, obligation in enumerate(work)
    )


def overall(judgements: Sequence[Judgement]) -> str:
    """The worst verdict, from ``disagreement`` over ``fails`` and ``undecided`` to ``holds``."""
    verdicts = {judgement.verdict for judgement in judgements} or {"undecided"}
    return next(
        verdict
        for verdict in ("disagreement", "fails", "undecided", "holds")
        if verdict in verdicts
    )


def _answers(solver: str, work: Sequence[Obligation], seconds: float) -> Iterator[Answer]:
    process = SolverProcess(solver)
    try:
        for obligation in work:
            started = time.monotonic()
            verdict, model = _attempt_all(process, obligation, seconds)
            yield Answer(solver, process.version, verdict, time.monotonic() - started, model)
    finally:
        process.stop()


def _attempt_all(
    process: SolverProcess, obligation: Obligation, seconds: float
) -> tuple[str, Mapping[str, int] | None]:
    scripts = [(obligation.script, True)]
    if obligation.linear is not None:
        scripts.insert(0, (obligation.linear, False))
    for script, exact in scripts:
        for share, options in _TURNS[process.solver]:
            reply = process.ask(
                {"script": script, "unknowns": obligation.unknowns, "options": options},
                seconds * share / len(scripts),
            )
            if "missing" in reply:
                return "missing", None
            if reply.get("answer") == "unsat":
                return "holds", None
            if reply.get("answer") == "sat":
                if not exact:
                    break
                model = _violation(obligation, reply["model"])
                return ("unknown", None) if model is None else ("fails", model)
    return "unknown", None


def _violation(obligation: Obligation, model: Mapping[str, int]) -> Mapping[str, int] | None:
    """The model, completed to a point in the claim's domain, if the conjunct fails there."""
    claim, conjunct = obligation.claim, obligation.conjunct
    free = [parameter for parameter in claim.parameters if parameter not in model]
    point = {name: 0 for name, _ in claim.variables} | dict(claim.parameters) | dict(model)
    for _ in range(64):
        if all(
            point[name] >= 0 and (bound is None or point[name] < evaluate(bound, point))
            for name, bound in claim.variables
        ):
            break
        point.update({parameter: 2 * point[parameter] + 1 for parameter in free})
    else:
        return None
    left, right = (evaluate(side, point) for side in (conjunct.left, conjunct.right))
    holds = {"=": left == right, "<": left < right, "<=": left <= right}[conjunct.relation]
    return None if holds else point
