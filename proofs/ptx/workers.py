"""z3 and cvc5 on PTX obligations, each in a process of its own that can be killed.

The verdict on a script is what both say: "holds" or "fails" when they agree, "disagreement" when
they contradict each other, "missing" when one is not installed, and "unknown" otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from math import inf
from types import TracebackType

from tylo.proofs.solver_process import MEANING, SOLVERS, SolverProcess


class Workers:
    """Both solvers, kept running until the end of a `with` block; call it with scripts.

    A question may take `seconds`; all of them together `patience` seconds of a processor for each
    solver, after which nothing more is asked, and "unknown" is said of what is left.

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
        with ThreadPoolExecutor(len(self._processes)) as pool:
            numbers = range(len(self._processes))
            answers = list(pool.map(lambda number: self._ask(number, new), numbers))
        agreed = [_agreed(set(said)) for said in zip(*answers, strict=True)]
        told = dict(zip(new, agreed, strict=True))
        self._told |= told
        return [self._told[script] for script in scripts]

    def _ask(self, number: int, scripts: Sequence[str]) -> list[str]:
        verdicts = []
        for script in scripts:
            left = min(self.seconds, self.patience - self._spent[number])
            if left <= 0:
                verdicts.append("unknown")
                continue
            reply = self._processes[number].ask(
                {"script": script, "unknowns": [], "options": {}}, left
            )
            self._spent[number] += reply.get("cpu", 0.0 if "missing" in reply else left)
            verdicts.append(
                "missing" if "missing" in reply else MEANING.get(reply.get("answer", ""), "unknown")
            )
        return verdicts


def _agreed(verdicts: set[str]) -> str:
    if len(verdicts) == 1:
        return verdicts.pop()
    if {"holds", "fails"} <= verdicts:
        return "disagreement"
    return "missing" if "missing" in verdicts else "unknown"
