"""z3 and cvc5 on PTX obligations, each in a process of its own that can be killed.

The verdict on a script is what both say: "holds" or "fails" when they agree, "disagreement" when
they contradict each other, "missing" when one is not installed, and "unknown" otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from math import inf
from types import TracebackType
from typing import Any

from tylo.proofs.solver_process import MEANING, SOLVERS, SolverProcess

# Of a processor. What one solver sees in no time may take the other minutes, unless it is told
# which of the assumptions to look at.
_BRIEFLY = 1.0
# That may be no easier for it: then the whole is left most of the time.
_HELPED = 3.0


class Workers:
    """Both solvers, kept running until the end of a `with` block; call it with scripts.

    A question may take `seconds` of a processor; all of them together `patience` of them for each
    solver, after which nothing more is asked, and "unknown" is said of what is left.

    What one solver alone refutes, the other is asked about the assertions that the first needed:
    whoever refutes some of them has refuted all.

    The PTX for several architectures mostly asks the same, and one obligation may ask the same in
    two ways: no question is asked again, whether it was decided or given up.

    >>> with Workers() as solve:
    ...     solve(["(assert false)\\n(check-sat)", "(assert true)\\n(check-sat)"])
    ['holds', 'fails']
    """

    def __init__(self, seconds: float = 20.0, patience: float = inf) -> None:
        self.seconds = seconds
        self.patience = patience
        self._processes = [SolverProcess(name) for name in SOLVERS]
        self._spent = [0.0] * len(SOLVERS)
        self._told: dict[str, str] = {}

    @property
    def is_spent(self) -> bool:
        """Whether a solver has used up its patience."""
        return max(self._spent) >= self.patience

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in self._processes:
            process.stop()

    def __call__(self, scripts: Sequence[str]) -> list[str]:
        """One verdict for each script."""
        new = [script for script in dict.fromkeys(scripts) if script not in self._told]
        said = self._both(new, min(self.seconds, _BRIEFLY))
        for script, brief in zip(new, said, strict=True):
            self._told[script] = _agreed(set(self._settled(script, brief)))
        return [self._told[script] for script in scripts]

    def _both(self, scripts: Sequence[str], seconds: float) -> list[list[str]]:
        """What each solver says of each script."""

        def said(number: int) -> list[str]:
            return [self._said(number, script, seconds) for script in scripts]

        with ThreadPoolExecutor(len(self._processes)) as pool:
            answers = list(pool.map(said, range(len(self._processes))))
        return [list(each) for each in zip(*answers, strict=True)]

    def _settled(self, script: str, said: list[str]) -> list[str]:
        """What they say once the one that was slow was helped by the other, and asked longer."""
        left = self.seconds - _BRIEFLY
        if set(said) == {"unknown"} and left > 0:
            [said] = self._both([script], left)
            left = 0.0
        if set(said) == {"holds", "unknown"}:
            slow = said.index("unknown")
            core = self._ask(1 - slow, script, self.seconds, core=True).get("core")
            part = core and reduced(script, core)
            if part and self._said(slow, part, min(_HELPED, self.seconds)) == "holds":
                return ["holds", "holds"]
            left -= _HELPED
        if "unknown" in said and len(set(said)) > 1 and left > 0:
            slow = said.index("unknown")
            said[slow] = self._said(slow, script, left)
        return said

    def _said(self, number: int, script: str, seconds: float) -> str:
        reply = self._ask(number, script, seconds)
        if "missing" in reply:
            return "missing"
        return MEANING.get(reply.get("answer", ""), "unknown")

    def _ask(
        self, number: int, script: str, seconds: float, *, core: bool = False
    ) -> dict[str, Any]:
        left = min(seconds, self.patience - self._spent[number])
        if left <= 0:
            return {}
        request = {"script": script, "unknowns": [], "options": {}, "core": core}
        reply = self._processes[number].ask(request, left)
        self._spent[number] += reply.get("cpu", 0.0 if "missing" in reply else left)
        return reply


def reduced(script: str, core: Sequence[int]) -> str | None:
    r"""A script that asserts only those of a core, counted from zero; None if lines hide them.

    Where some assertions cannot hold together, all of them cannot: "unsat" of the part says so of
    the whole, and nothing else that is said of the part says anything.

    >>> reduced("(assert a)\n(assert b)\n(assert c)\n(check-sat)", [0, 2])
    '(assert a)\n(assert c)\n(check-sat)'
    """
    lines = script.split("\n")
    asserting = [place for place, line in enumerate(lines) if line.startswith("(assert ")]
    if script.count("(assert ") != len(asserting) or max(core) >= len(asserting):
        return None
    dropped = set(asserting) - {asserting[number] for number in core}
    return "\n".join(line for place, line in enumerate(lines) if place not in dropped)


def _agreed(verdicts: set[str]) -> str:
    if len(verdicts) == 1:
        return verdicts.pop()
    if {"holds", "fails"} <= verdicts:
        return "disagreement"
    return "missing" if "missing" in verdicts else "unknown"
