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
from functools import partial
from time import process_time
from typing import Any

from ptx_mutants import PtxMutant
from tylo.layouts.errors import PtxError
from tylo.proofs.effects import Effect
from tylo.proofs.ptx.bitvector import Expression
from tylo.proofs.ptx.inprocess import solve
from tylo.proofs.ptx.nodes import evaluate_each
from tylo.proofs.ptx.obligation import Obligation
from tylo.proofs.ptx.obligations import of_contract, of_kernel
from tylo.proofs.ptx.samples import launches
from tylo.proofs.ptx.scene import Scene, build

# Of z3's work on a script: at first, and where the judge found a fault that must not be accepted.
_QUICK, _PATIENT = 300_000, 3_000_000
# Processor time for a mutant to end in: so many seconds, and so many times what the original takes.
_SECONDS, _TIMES = 1, 4
_THREADS = 8  # tried of a block


@dataclass(eq=False)
class Prover:
    """The proof against the effect that PTX is to have; it remembers what it was asked.

    All texts are read in one domain, in which what is equal is the same node: an obligation that a
    mutant has in common with another text is known without its script.
    """

    meant: Callable[[str], Effect]
    answers: dict[str, str] = field(default_factory=dict)
    scenes: dict[int, Scene] = field(default_factory=dict)
    about: dict[int, tuple[Effect, list[Obligation]]] = field(default_factory=dict)
    proven: set[tuple[Expression, ...]] = field(default_factory=set)

    def verdict(self, ptx: str, patient: bool = True) -> str:
        """``"accepted"``, ``"refused"``, or ``"undecided"``, which no check takes for proven.

        Without patience the first obligation that takes more than a little work ends it.
        """
        import z3

        context = z3.Context()

        def ask(script: str, effort: int) -> str:
            if self.answers.get(script, "unknown") == "unknown":
                (self.answers[script],) = solve([script], effort=effort, context=context)
            return self.answers[script]

        left: Iterable[Obligation] = self._stated(ptx)
        for effort in (_QUICK, _PATIENT)[: 1 + patient]:
            hard = []
            try:
                for each in left:
                    found = self._found(each, partial(ask, effort=effort))
                    if found == "fails":
                        return "refused"
                    if found != "holds":
                        hard.append(each)
                        if effort == _PATIENT or not patient:
                            return "undecided"
            except (PtxError, RecursionError):
                return "refused"
            left = hard
        return "undecided" if hard else "accepted"

    def _stated(self, ptx: str) -> Iterator[Obligation]:
        """What is to be proven, one after the other: often the first one settles it."""
        effect = self.meant(ptx)
        if id(effect) not in self.scenes:
            self.scenes[id(effect)] = scene = build(effect)
            self.about[id(effect)] = effect, list(of_contract(scene.anew()))
        yield from self.about[id(effect)][1]
        yield from of_kernel(self.scenes[id(effect)].anew(), ptx)

    def _found(self, obligation: Obligation, ask: Callable[[str], str]) -> str:
        if obligation.settled:
            return obligation.settled
        if obligation.violation.value == 0:
            return "holds"
        key = obligation.violation, *obligation.assumed
        if key in self.proven:
            return "holds"
        found = _answer(obligation, ask)
        if found == "holds":
            self.proven.add(key)
        return found


def _answer(obligation: Obligation, ask: Callable[[str], str]) -> str:
    """What is said of an obligation, in the order in which `validate` asks."""
    if linear := obligation.linear:
        answer = ask(linear)
        if answer == "holds" or (answer == "fails" and obligation.exact):
            return answer
        for apart in (False, True):
            script = obligation.judged(lambda script: ask(script) == "holds", apart)
            if script and ask(script) == "holds":
                return "holds"
        if _shown(obligation):
            return "fails"
        for sizes in launches(obligation.scene.effect):
            there = obligation.at(sizes)
            if there.violation.value != 0 and ask(there.restricted()) == "fails":
                return "fails"
    return ask(obligation.script)


def _shown(obligation: Obligation) -> bool:
    """Whether some thread of a sample launch violates an obligation, and all that is assumed."""
    scene, stated = obligation.scene, [obligation.violation, *obligation.assumed]
    named = frozenset[str]().union(*(each.variables for each in stated))
    settle = scene.settled if any(name.startswith("last.") for name in named) else dict
    threads = range(0, scene.effect.threads, max(1, scene.effect.threads // _THREADS))
    points = (
        settle(scene.point(thread, block, step, sizes=sizes))
        for sizes in launches(scene.effect)
        for block in sorted({0, 1, sizes.get("blocks", 1) - 1})
        for step in range(2)
        for thread in threads
    )
    return any(map(all, evaluate_each(stated, points)))


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
        fine = settled(right, mutant.text, seconds)
        if fine and few:
            counts.numbers["not asked, right"] += 1
            continue
        verdict = prover.verdict(mutant.text, patient=not few and not fine)
        counts.numbers[f"{verdict}, {'right' if fine else 'wrong'}"] += 1
        if verdict == "accepted" and not fine:
            counts.wrong.append(mutant)
    return counts


def settled(right: Callable[[str], bool], ptx: str, seconds: float) -> bool:
    """Whether the judge finds nothing wrong; what does not come to an end is wrong."""
    try:
        with limited(seconds):
            return right(ptx)
    except (PtxError, TimeoutError):
        return False


@contextmanager
def limited(seconds: float) -> Iterator[None]:
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
