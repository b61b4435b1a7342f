"""Solver answers that a test run remembers: the same text is asked once.

z3 and cvc5 decide every text that is new, in processes of their own, as always. A bundle that was
forged in one place asks for hundreds of texts that the honest one has asked for already.
"""

from __future__ import annotations

from typing import Any

import pytest

from tylo.proofs.solver_process import SolverProcess

_ask = SolverProcess.ask
_decided: dict[tuple[str, str, bool, tuple[str, ...]], tuple[str, dict[str, Any]]] = {}


def remember_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the test ends; what was not decided, a time-out say, is asked again."""
    monkeypatch.setattr(SolverProcess, "ask", _remembered)


def _remembered(process: SolverProcess, request: dict[str, Any], seconds: float) -> dict[str, Any]:
    core = bool(request.get("core"))
    key = process.solver, request["script"], core, tuple(request["unknowns"])
    if key not in _decided:
        reply = _ask(process, request, seconds)
        if reply.get("answer") not in ("sat", "unsat"):
            return reply
        _decided[key] = process.version, reply
    process.version, reply = _decided[key]
    return reply
