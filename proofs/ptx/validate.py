"""Validation: does this PTX have that effect, for every thread, block and base address?

`validate` states the obligations and asks solvers about each. Only a unanimous "holds" counts; a
violated obligation is reported with the least thread that violates it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tylo.layouts.errors import PtxError
from tylo.proofs.effects import Effect, assumptions
from tylo.proofs.ptx import inprocess
from tylo.proofs.ptx.bitvector import Expression, evaluate
from tylo.proofs.ptx.obligations import Obligation, obligations
from tylo.proofs.ptx.scene import Scene

Solve: TypeAlias = Callable[[Sequence[str]], Sequence[str]]
"""SMT-LIB scripts to verdicts: "holds" (unsatisfiable), "fails", "unknown" or "missing"."""

_PROBE_BLOCKS = (0, 1, 2, 3, 5, 1 << 7, 1 << 15, 1 << 16, 1 << 22, 1 << 24, 1 << 30)


@dataclass(frozen=True, slots=True)
class Failure:
    """The least thread that violates an obligation, and its least block; -1 where no solver said.

    `message` says what is found there and what was wanted.
    """

    thread: int
    block: int
    message: str

    @property
    def lane(self) -> int:
        """The lane within the warp."""
        return self.thread % 32


@dataclass(frozen=True, slots=True)
class Verdict:
    """An obligation and what became of it: "holds", "fails", "unknown" or "missing"."""

    obligation: Obligation
    verdict: str
    failure: Failure | None = None

    def __str__(self) -> str:
        at = self.obligation
        where = f"line {at.line}: `{at.text}`" if at.line else at.text
        reason = f": {self.failure.message}" if self.failure else ""
        return f"{self.verdict}: {at.label} ({where}){reason}"


@dataclass(frozen=True, slots=True)
class Validation:
    """The verdicts on every obligation, and what they take for granted."""

    effect: Effect
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
        return assumptions(self.effect)


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
    stated = obligations(ptx_text, effect, architecture)
    answers = _ask([obligation.abstract for obligation in stated], solve)
    weak = {o for o in stated if answers.get(o.abstract) == "holds"}
    hits = {o: hit for o in stated if o.abstract and o not in weak and (hit := _probe(o))}
    answers |= _ask([o.script for o in stated if o not in weak and o not in hits], solve)
    verdicts = []
    for obligation in stated:
        script = obligation.abstract if obligation in weak else obligation.script
        verdict = "fails" if obligation in hits else obligation.settled or answers[script]
        failure = _failure(obligation, solve) if verdict == "fails" else None
        verdicts.append(Verdict(obligation, verdict, failure))
    return Validation(effect, tuple(verdicts))


def _ask(scripts: Sequence[str], solve: Solve) -> dict[str, str]:
    """Each script that is not empty, asked once."""
    once = list(dict.fromkeys(script for script in scripts if script))
    return dict(zip(once, solve(once), strict=True))


def _failure(obligation: Obligation, solve: Solve) -> Failure:
    if obligation.settled:
        return Failure(-1, -1, str(obligation.found))
    scene = obligation.scene
    thread, block = _least_thread(obligation, solve)
    points = [scene.point(max(thread, 0), max(block, 0), step) for step in _probe_steps(scene)]
    point = next((p for p in points if evaluate([obligation.violation], p)[0]), points[0])
    found, wanted = (
        side if isinstance(side, str) else scene.words(evaluate([side], point)[0])
        for side in (obligation.found, obligation.wanted)
    )
    some = "" if evaluate([obligation.violation], point)[0] else " for some bases or sizes"
    step = f", step {point['step']}" if scene.repeats() else ""
    message = f"thread {thread}, block {block}{step}: found {found}, wanted {wanted}{some}"
    return Failure(thread, block, message)


def _probe(obligation: Obligation) -> tuple[int, int] | None:
    """The first thread, and its first block, at which a sample launch violates the obligation."""
    scene, violation = obligation.scene, obligation.violation
    for thread in range(scene.effect.threads):
        for block in _PROBE_BLOCKS:
            for step in _probe_steps(scene):
                point = scene.point(thread, block, step)
                if block < scene.effect.maximum_blocks and evaluate([violation], point)[0]:
                    return thread, block
    return None


def _probe_steps(scene: Scene) -> range:
    return range(3 if scene.repeats() else 1)


def _least_thread(obligation: Obligation, solve: Solve) -> tuple[int, int]:
    """The least violating thread and its least block: probed, then confirmed by the solvers."""
    scene = obligation.scene
    domain, effect = scene.domain, scene.effect
    hit = _probe(obligation)
    if hit and obligation.abstract:
        # Products of sizes make solvers slow; the least thread among the probed ones will do.
        return hit
    thread = _least(obligation, scene.thread, effect.threads, hit and hit[0], (), solve)
    if thread < 0:
        return hit or (-1, -1)
    here = domain.equal(
        scene.thread, domain.constant(thread, scene.thread.width), scene.thread.width
    )
    probed = hit[1] if hit and hit[0] == thread else None
    block = _least(obligation, scene.block, effect.maximum_blocks, probed, (here,), solve)
    return thread, block


def _least(
    obligation: Obligation,
    variable: Expression,
    size: int,
    known: int | None,
    conditions: tuple[Expression, ...],
    solve: Solve,
) -> int:
    """The least value of a variable at which the violation can be satisfied."""
    low, high = 0, size - 1 if known is None else known
    middle = high - 1 if known else (low + high) // 2
    domain, width = obligation.scene.domain, variable.width
    while low < high:
        bound = domain.constant(middle + 1, width)
        below = domain.less(variable, bound, width, False)
        (verdict,) = solve([obligation.restricted(*conditions, below)])
        if verdict == "fails":
            high = middle
        elif verdict == "holds":
            low = middle + 1
        else:
            return -1
        middle = (low + high) // 2
    return high
