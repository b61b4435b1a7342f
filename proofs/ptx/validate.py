"""Validation: does this PTX have that effect, for every thread, block and base address?

`validate` states the obligations and asks solvers about each. Only a unanimous "holds" counts; a
violated obligation is reported with the least thread that violates it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tylo.layouts.errors import PtxError
from tylo.proofs.effects import Effect, assumptions, uncovered
from tylo.proofs.ptx import inprocess
from tylo.proofs.ptx.bitvector import Expression
from tylo.proofs.ptx.failures import Failure, Refuted, Solve, failure_of, refuted
from tylo.proofs.ptx.obligation import Obligation, Spoken
from tylo.proofs.ptx.obligations import obligations

# Failures whose least thread is looked for, besides the first of each kind.
_MOST_SEARCHED = 4


_UNSEARCHED = Failure(-1, -1, "some thread, not looked for after so many failures")


@dataclass(frozen=True, slots=True)
class Stated:
    """What an obligation is about, without the means to look for the least thread that violates it:
    a label, and the line and text of an instruction, or line 0.
    """

    label: str
    line: int
    text: str

    @property
    def name(self) -> str:
        """The label, which is the name."""
        return self.label


@dataclass(frozen=True, slots=True)
class Verdict:
    """An obligation and what became of it: "holds", "fails", "unknown" or "missing"."""

    obligation: Obligation | Stated
    verdict: str
    failure: Failure | None = None

    def __str__(self) -> str:
        at = self.obligation
        where = f"line {at.line}: `{at.text}`" if at.line else at.text
        reason = f": {self.failure.message}" if self.failure else ""
        return f"{self.verdict}: {at.name} ({where}){reason}"


@dataclass(frozen=True, slots=True)
class Validation:
    """The verdicts on every obligation, and what they take for granted.

    `effect` is None for a kernel with roles, of which a specification says what is assumed.
    """

    effect: Effect | None
    verdicts: tuple[Verdict, ...]

    @property
    def holds(self) -> bool:
        """Whether every obligation holds; undecided is not enough."""
        return all(verdict.verdict == "holds" for verdict in self.verdicts)

    @property
    def failures(self) -> tuple[Verdict, ...]:
        """The violated obligations."""
        return tuple(verdict for verdict in self.verdicts if verdict.verdict == "fails")

    @property
    def undecided(self) -> tuple[Verdict, ...]:
        """The obligations no solver answered."""
        return tuple(v for v in self.verdicts if v.verdict not in ("holds", "fails"))

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the launch must guarantee."""
        return assumptions(self.effect) if self.effect else ()

    @property
    def uncovered(self) -> tuple[str, ...]:
        """The values that are computed, and not proven, by name."""
        return uncovered(self.effect) if self.effect else ()


def validate(
    ptx_text: str,
    effect: Effect,
    *,
    solve: Solve = inprocess.solve,
    architecture: str | None = None,
) -> Validation:
    """The verdict on every obligation; raises `PtxError` for PTX outside what is covered.

    With an `architecture`, such as ``"sm_90a"``, the PTX must be for exactly that one.
    """
    try:
        return _validated(ptx_text, effect, solve, architecture)
    except RecursionError:
        raise PtxError(
            "values that are nested too deeply", hint="the proof covers shorter chains of values"
        ) from None


def _validated(ptx_text: str, effect: Effect, solve: Solve, architecture: str | None) -> Validation:
    every = obligations(ptx_text, effect, architecture)
    # What is said of several stores in the same words is decided once.
    first: dict[tuple[Expression, str, Spoken], Obligation] = {}
    for obligation in every:
        first.setdefault(_asked(obligation), obligation)
    stated = list(first.values())
    answers = _ask([obligation.linear for obligation in stated], solve)
    verdicts = []
    for obligation in stated:
        verdict = obligation.settled or answers.get(obligation.linear, "")
        if verdict == "fails" and not obligation.settled and not obligation.exact:
            verdict = ""
        verdicts.append(verdict)
    judge = _Judge(solve)
    for index, obligation in enumerate(stated):
        # Nothing that follows from bounds alone: what is assumed may say what wraps.
        for apart in (False, True):
            if decided(verdicts[index]) or not obligation.linear:
                break
            (answer,) = solve([script]) if (script := obligation.judged(judge, apart)) else ("",)
            if answer == "holds" or (answer == "fails" and obligation.exact):
                verdicts[index] = answer
    hits: dict[Obligation, Refuted] = {}
    for index, obligation in enumerate(stated):
        # Products of sizes make solvers slow: a launch of known sizes may show the fault.
        if not verdicts[index] and obligation.linear:
            there = refuted(obligation, solve)
            if there is not None:
                hits[obligation], verdicts[index] = there, "fails"
    open_questions = [o.script for o, v in zip(stated, verdicts, strict=True) if not decided(v)]
    answers = _ask(open_questions, solve)
    found: dict[Obligation, str] = {}
    for obligation, known in zip(stated, verdicts, strict=True):
        found[obligation] = known if decided(known) else answers[obligation.script]
    result: list[Verdict] = []
    searched: Counter[str] = Counter()
    for obligation in every:
        same = first[_asked(obligation)]
        verdict, hit, failure = found[same], hits.get(same), None
        if verdict == "fails":
            seen = searched[obligation.label], searched.total()
            searched[obligation.label] += 1
            more = not seen[0] or seen[1] < _MOST_SEARCHED
            failure = failure_of(obligation, hit, solve, judge) if more else _UNSEARCHED
        result.append(Verdict(obligation, verdict, failure))
    return Validation(effect, tuple(result))


def _asked(obligation: Obligation) -> tuple[Expression, str, Spoken]:
    """What an obligation asks, whatever it is called."""
    return obligation.violation, obligation.settled, obligation.spoken


class _Judge:
    """Whether a script cannot be satisfied, asked once."""

    def __init__(self, solve: Solve) -> None:
        self.solve = solve
        self.known: dict[str, bool] = {}

    def __call__(self, script: str) -> bool:
        if script not in self.known:
            self.known[script] = list(self.solve([script])) == ["holds"]
        return self.known[script]


def decided(verdict: str) -> bool:
    """Whether a verdict settles an obligation."""
    return verdict in ("holds", "fails", "missing", "disagreement")


def _ask(scripts: Sequence[str], solve: Solve) -> dict[str, str]:
    """Each script that is not empty, asked once."""
    once = list(dict.fromkeys(script for script in scripts if script))
    return dict(zip(once, solve(once), strict=True))
