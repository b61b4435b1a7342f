"""Validation: does this PTX have that effect, for every thread, block and base address?

`validate` states the obligations and asks solvers about each. Only a unanimous "holds" counts; a
violated obligation is reported with the least thread that violates it.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tylo.layouts.errors import PtxError
from tylo.proofs.effects import Effect, assumptions, uncovered
from tylo.proofs.ptx import inprocess
from tylo.proofs.ptx.bitvector import Expression, evaluate
from tylo.proofs.ptx.obligations import Obligation, obligations
from tylo.proofs.ptx.samples import launches
from tylo.proofs.ptx.scene import Scene

Solve: TypeAlias = Callable[[Sequence[str]], Sequence[str]]
"""SMT-LIB scripts to verdicts: "holds" (unsatisfiable), "fails", "unknown" or "missing"."""

_MOST_TRIES, _MOST_LAUNCHES = 4_000, 5
# Failures whose least thread is looked for, besides the first of each kind.
_MOST_SEARCHED = 4
_FEW_BLOCKS = 3  # of a launch where nothing says how many
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


_UNSEARCHED = Failure(-1, -1, "some thread, not looked for after so many failures")


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

    @property
    def uncovered(self) -> tuple[str, ...]:
        """The values that are computed, and not proven, by name."""
        return uncovered(self.effect)


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
        if not decided(verdicts[index]) and obligation.linear:
            (answer,) = solve([script]) if (script := obligation.judged(judge)) else ("",)
            if answer == "holds" or (answer == "fails" and obligation.exact):
                verdicts[index] = answer
    hits: dict[Obligation, Obligation] = {}
    for index, obligation in enumerate(stated):
        # Products of sizes make solvers slow: a launch of known sizes may show the fault.
        if not verdicts[index] and obligation.linear:
            there = _refuted(obligation, solve)
            if there is not None:
                hits[obligation], verdicts[index] = there, "fails"
    open_questions = [o.script for o, v in zip(stated, verdicts, strict=True) if not decided(v)]
    answers = _ask(open_questions, solve)
    result: list[Verdict] = []
    searched: Counter[str] = Counter()
    for obligation, known in zip(stated, verdicts, strict=True):
        verdict = known if decided(known) else answers[obligation.script]
        where, failure = hits.get(obligation, obligation), None
        if verdict == "fails":
            seen = searched[obligation.label], searched.total()
            searched[obligation.label] += 1
            more = not seen[0] or seen[1] < _MOST_SEARCHED
            failure = _failure(where, solve) if more else _UNSEARCHED
        result.append(Verdict(obligation, verdict, failure))
    return Validation(effect, tuple(result))


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


def _refuted(obligation: Obligation, solve: Solve) -> Obligation | None:
    """The obligation for the first of a few launches in which it fails."""
    few = min(_FEW_BLOCKS, obligation.scene.most_blocks)
    for sizes in launches(obligation.scene.effect):
        there = obligation.at({"blocks": few, **sizes})
        if there.violation.value == 0:
            continue
        if solve([there.restricted()]) == ["fails"]:
            return there
    return None


def _ask(scripts: Sequence[str], solve: Solve) -> dict[str, str]:
    """Each script that is not empty, asked once."""
    once = list(dict.fromkeys(script for script in scripts if script))
    return dict(zip(once, solve(once), strict=True))


def _failure(obligation: Obligation, solve: Solve) -> Failure:
    if obligation.settled:
        return Failure(-1, -1, str(obligation.found))
    scene = obligation.scene
    thread, block = _least_thread(obligation, solve)
    points = list(_points(scene, max(thread, 0), max(block, 0)))
    point = next((p for p in points if _violated(obligation, p)), points[0])
    found, wanted = (
        side if isinstance(side, str) else scene.words(evaluate([side], point)[0])
        for side in (obligation.found, obligation.wanted)
    )
    sizes = "".join(
        f", {parameter.name} {point[f'size{index}']}"
        for index, parameter in enumerate(scene.effect.parameters)
        if scene.effect.preconditions
    )
    some = sizes if _violated(obligation, point) else " for some bases or sizes"
    counters = {"round": scene.rounds(), "step": scene.repeats()}
    step = "".join(f", {each} {point[each]}" for each, found in counters.items() if found)
    message = f"thread {thread}, block {block}{step}: found {found}, wanted {wanted}{some}"
    return Failure(thread, block, message)


def _probe(obligation: Obligation) -> tuple[int, int] | None:
    """The first thread, and its first block, at which a sample launch violates the obligation."""
    scene, tries = obligation.scene, 0
    if obligation.linear:
        return None  # solvers are quick there, or slow everywhere
    for thread in range(scene.effect.threads):
        for block in _PROBE_BLOCKS:
            if block >= scene.most_blocks:
                continue
            for point in _points(scene, thread, block):
                tries += 1
                if _violated(obligation, point):
                    return thread, block
        if tries > _MOST_TRIES:
            return None
    return None


def _points(scene: Scene, thread: int, block: int) -> Iterator[dict[str, int]]:
    """Sample launches that contain a thread."""
    steps = range(3 if scene.repeats() else 1)
    known = launches(scene.effect)
    fitting = [sizes for sizes in known if sizes.get("blocks", block + 1) > block]
    for sizes in (fitting or known)[:_MOST_LAUNCHES]:
        for number, step in itertools.product(range(3 if scene.rounds() else 1), steps):
            yield scene.point(thread, block, step, sizes=sizes) | {"round": number}


def _violated(obligation: Obligation, point: dict[str, int]) -> bool:
    """Whether a point is one of a launch that is allowed, and violates the obligation."""
    return all(evaluate([*obligation.assumed, obligation.violation], point))


def _least_thread(obligation: Obligation, solve: Solve) -> tuple[int, int]:
    """The least violating thread and its least block: probed, then confirmed by the solvers."""
    scene = obligation.scene
    domain, effect = scene.domain, scene.effect
    if obligation.linear and not obligation.exact:
        return -1, -1
    hit = _probe(obligation)
    thread = _least(obligation, scene.thread, effect.threads, hit and hit[0], (), solve)
    if thread < 0:
        return hit or (-1, -1)
    here = domain.equal(
        scene.thread, domain.constant(thread, scene.thread.width), scene.thread.width
    )
    probed = hit[1] if hit and hit[0] == thread else None
    block = _least(obligation, scene.block, scene.most_blocks, probed, (here,), solve)
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
