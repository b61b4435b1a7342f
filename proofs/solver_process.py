"""A solver in a process of its own, which can be killed and then starts again."""

from __future__ import annotations

import json
import select
import subprocess
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

SOLVERS = ("z3", "cvc5")
START_SECONDS = 60.0
# A worker sees to its seconds of a processor itself. This is for one that hangs.
CLOCK_PER_PROCESSOR = 8.0
# What a solver's answer about a negated goal says of the goal; anything else is "unknown".
MEANING: Mapping[str, str] = MappingProxyType({"unsat": "holds", "sat": "fails"})


class SolverProcess:
    """A solver's worker, restarted whenever it had to be killed."""

    def __init__(self, solver: str) -> None:
        self.solver = solver
        self.version = ""
        self.missing = False
        self.worker: subprocess.Popen[str] | None = None

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """The reply, ``{}`` after a time-out or a crash, or ``{"missing": ...}``.

        The seconds are those of a processor, so that an answer does not depend on what else runs.
        """
        if self.worker is None and not self.missing:
            self._start()
        if self.missing:
            return {"missing": self.solver}
        if self.worker is None or self.worker.stdin is None:
            return {}
        try:
            self.worker.stdin.write(json.dumps({**request, "seconds": seconds}) + "\n")
            self.worker.stdin.flush()
        except BrokenPipeError:
            self.stop()
            return {}
        return self._read(seconds * CLOCK_PER_PROCESSOR + 0.2)

    def stop(self) -> None:
        """Kill the worker; the next question starts another."""
        if self.worker is not None:
            self.worker.kill()
            self.worker.communicate()
            self.worker = None

    def _start(self) -> None:
        self.worker = subprocess.Popen(
            [sys.executable, "-m", "tylo.proofs.solver_worker", self.solver],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        greeting = self._read(START_SECONDS)
        self.version = greeting.get("version", self.version)
        self.missing = "missing" in greeting

    def _read(self, seconds: float) -> dict[str, Any]:
        if self.worker is None or self.worker.stdout is None:
            return {}
        # One line is written per question, so nothing can wait in the buffer behind the descriptor.
        ready, _, _ = select.select([self.worker.stdout], [], [], seconds)
        line = self.worker.stdout.readline() if ready else ""
        if not line:
            self.stop()
            return {}
        reply: dict[str, Any] = json.loads(line)
        return reply
