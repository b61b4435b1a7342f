"""What the proof says of many mutants of one kernel, and how that is held against a judge.

The proof's verdict is that of `validate`, come to sooner: the first obligation that does not hold
settles it, and a script that was asked before is not asked again.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import process_time
from typing import Any

from ptx_mutants import PtxMutant
from tylo.layouts.errors import PtxError
from tylo.proofs.effects import Effect
from tylo.proofs.ptx.inprocess import solve
from tylo.proofs.ptx.obligation import Obligation
from tylo.proofs.ptx.obligations import obligations
from tylo.proofs.ptx.samples import launches

# Of z3's work on a script: at first, and where the judge found a fault that must not be accepted.
_QUICK, _PATIENT = 300_000, 3_000_000
# Processor time for a mutant to end in: so many seconds, and so many times what the original takes.
_SECONDS, _TIMES = 1, 4


@dataclass(eq=False)
class Prover:
    """The proof against the effect that PTX is to have; it remembers what it was asked."""

    meant: Callable[[str], Effect]
    answers: dict[str, str] = field(default_factory=dict)

    def verdict(self, ptx: str, patient: bool = True) -> str:
        """``"accepted"``, ``"refused"``, or ``"undecided"``, which no check takes for proven."""
        import z3

        context = z3.Context()

        def ask(script: str, effort: int) -> str:
            if self.answers.get(script, "unknown") == "unknown":
                (self.answers[script],) = solve([script], effort=effort, context=context)
            return self.answers[script]

        try:
            stated = obligations(ptx, self.meant(ptx))
        except (PtxError, RecursionError):
            return "refused"
        if any(each.settled == "fails" for each in stated):
            return "refused"
        # What was not asked before is what the change is about.
        left = [each for each in stated if not each.settled]
        left.sort(key=lambda each: (each.linear or each.script) in self.answers)
        for effort in (_QUICK, _PATIENT)[: 1 + patient]:
            hard = []
            for each in left:
                found = _answer(each, lambda script: ask(script, effort))  # noqa: B023
                if found == "fails":
                    return "refused"
                if found != "holds":
                    hard.append(each)
                    if effort == _PATIENT:
                        return "undecided"
            left = hard
        return "undecided" if left else "accepted"


def _answer(obligation: Obligation, ask: Callable[[str], str]) -> str:
    """What is said of an obligation, in the order in which `validate` asks."""
    if linear := obligation.linear:
        answer = ask(linear)
        if answer == "holds" or (answer == "fails" and obligation.exact):
            return answer
        for sizes in launches(obligation.scene.effect):
            there = obligation.at(sizes)
            if there.violation.value != 0 and ask(there.restricted()) == "fails":
                return "fails"
    return ask(obligation.script)


@dataclass(eq=False)
class Counts:
    """What became of mutants, and those that are accepted though the judge finds them wrong."""

    numbers: Counter[str] = field(default_factory=Counter)
    wrong: list[PtxMutant] = field(default_factory=list)

    def __str__(self) -> str:
        n = self.numbers
        return (
            f"{n.total()} mutants: {n['refused, wrong'] + n['refused, right']} refused, "
            f"{n['undecided, wrong'] + n['undecided, right']} undecided, "
            f"{n['accepted, wrong'] + n['accepted, right']} accepted, "
            f"{n['accepted, wrong']} of them wrong; "
            f"{n['refused, right'] + n['undecided, right']} not accepted though nothing is wrong"
        )


def sweep(
    prover: Prover,
    right: Callable[[str], bool],
    ptx: str,
    every: Iterable[PtxMutant],
    few: bool = False,
) -> Counts:
    """Judge mutants of PTX that is right, and ask the proof about each.

    Where it is about a `few` of them, only about those that are wrong, and with little patience:
    whether a mutant that does nothing wrong is accepted says nothing about soundness.
    """
    started = process_time()
    assert right(ptx)
    seconds = _SECONDS + _TIMES * (process_time() - started)
    assert prover.verdict(ptx) == "accepted"
    counts = Counts()
    for mutant in every:
        fine = judged(right, mutant.text, seconds)
        if fine and few:
            counts.numbers["not asked, right"] += 1
            continue
        verdict = prover.verdict(mutant.text, patient=not few and not fine)
        counts.numbers[f"{verdict}, {'right' if fine else 'wrong'}"] += 1
        if verdict == "accepted" and not fine:
            counts.wrong.append(mutant)
    return counts


def judged(right: Callable[[str], bool], ptx: str, seconds: float) -> bool:
    """Whether the judge finds nothing wrong; what does not come to an end is wrong."""
    try:
        with _limited(seconds):
            return right(ptx)
    except (PtxError, TimeoutError):
        return False


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raise `TimeoutError` after so many seconds of processor time."""

    def stop(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
