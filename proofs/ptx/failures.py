"""Where an obligation fails: the least thread, its least block, and what happens there.

What a solver finds is looked for among sample launches first, since a small launch is easy to read.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tylo.layouts.terms import evaluate as evaluate_term
from tylo.proofs.effects.axes import AXES, blocks_of, thread_along
from tylo.proofs.ptx.bitvector import Expression, evaluate
from tylo.proofs.ptx.obligation import Obligation
from tylo.proofs.ptx.remedies import remedy
from tylo.proofs.ptx.samples import allowed, launches
from tylo.proofs.ptx.scene import Scene

Solve: TypeAlias = Callable[[Sequence[str]], Sequence[str]]
"""SMT-LIB scripts to verdicts: "holds" (unsatisfiable), "fails", "unknown" or "missing"."""

_MOST_TRIES, _MOST_LAUNCHES = 4_000, 5
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


@dataclass(frozen=True, slots=True)
class Refuted:
    """An obligation for one launch alone, in which it fails."""

    obligation: Obligation
    sizes: Mapping[str, int]


def refuted(obligation: Obligation, solve: Solve) -> Refuted | None:
    """The first of a few launches in which an obligation fails; the largest is one of them."""
    scene = obligation.scene
    few = {"blocks": min(_FEW_BLOCKS, scene.most_blocks)}
    known = [few | sizes for sizes in launches(scene.effect)]
    largest = {name: scene.ranges[name][1] for name in (*scene.sizes, "blocks")}
    if allowed(scene.effect, largest):
        known.append(largest)
    for sizes in known:
        there = obligation.at(sizes)
        if there.violation.value == 0:
            continue
        if solve([there.restricted()]) == ["fails"]:
            return Refuted(there, sizes)
    return None


def failure_of(
    obligation: Obligation, hit: Refuted | None, solve: Solve, judge: Callable[[str], bool]
) -> Failure:
    """What is found and wanted where an obligation fails, in a launch of known sizes if given."""
    if obligation.settled:
        return Failure(-1, -1, str(obligation.found))
    there, sizes = (hit.obligation, hit.sizes) if hit else (obligation, None)
    scene = obligation.scene
    thread, block = _least_thread(there, solve)
    points = list(_points(scene, max(thread, 0), max(block, 0), sizes))
    point = next((p for p in points if _violated(there, p)), points[0])
    if thread >= 0 and not _violated(there, point):
        point = _least_counters(there, point, solve)
    found, wanted = (
        side if isinstance(side, str) else scene.words(evaluate([side], point)[0])
        for side in (obligation.found, obligation.wanted)
    )
    seen = _violated(there, point)
    named = [*scene.sizes, *(["blocks"] if scene.counts_blocks else [])]
    values = [point[each if each == "blocks" else f"size{i}"] for i, each in enumerate(named)]
    some = " for some bases or sizes"
    if seen:
        shown = zip(named, values, strict=True) if scene.effect.preconditions or hit else ()
        some = "".join(f", {name} {value}" for name, value in shown)
    counters = {"round": scene.rounds(), "step": scene.repeats()}
    step = "".join(f", {each} {point[each]}" for each, counts in counters.items() if counts)
    where = _where(scene, thread, block, point) + step
    if thread < 0 and not seen:
        # No launch that was tried shows it: places in one of those would mislead.
        where = "some thread"
        found = obligation.found if isinstance(obligation.found, str) else "another place"
        wanted = obligation.wanted if isinstance(obligation.wanted, str) else "the claim's place"
    message = f"{where}: found {found}, wanted {wanted}{some}"
    return Failure(thread, block, message + remedy(obligation, point if seen else None, judge))


def _where(scene: Scene, thread: int, block: int, point: Mapping[str, int]) -> str:
    """A thread and its block; with a coordinate for each axis, where there are several."""
    shape, further = scene.effect.block_shape, scene.further
    threads, blocks = str(thread), str(block)
    if len(shape) > 1 and thread >= 0:
        places = [evaluate_term(thread_along(shape, axis), {"thread": thread}) for axis in AXES]
        threads = f"({', '.join(map(str, places[: len(shape)]))})"
    if further:
        blocks = f"({', '.join(map(str, (block, *(point[each] for each in further))))})"
    return f"thread {threads}, block {blocks}"


def _least_counters(obligation: Obligation, point: dict[str, int], solve: Solve) -> dict[str, int]:
    """The point in the least block, round and step in which the obligation fails there."""
    scene, domain = obligation.scene, obligation.scene.domain
    here = [
        domain.equal(variable, domain.constant(point[name], variable.width), variable.width)
        for name, variable in (("thread", scene.thread), ("block", scene.block))
    ]
    found = dict(point)
    for name, variable in (*scene.further.items(), ("round", scene.round), ("step", scene.step)):
        if variable.value is None:
            least = _least(obligation, variable, scene.ranges[name][1] + 1, None, (*here,), solve)
            if least < 0:
                return point
            found[name] = least
            number = domain.constant(least, variable.width)
            here.append(domain.equal(variable, number, variable.width))
    return found


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


def _points(
    scene: Scene, thread: int, block: int, launch: Mapping[str, int] | None = None
) -> Iterator[dict[str, int]]:
    """Sample launches that contain a thread."""
    steps = range(3 if scene.repeats() else 1)
    known = [launch] if launch else launches(scene.effect)
    fitting = [sizes for sizes in known if sizes.get("blocks", block + 1) > block]
    for sizes in (fitting or known)[:_MOST_LAUNCHES]:
        extents = (min(_FEW_BLOCKS, sizes[blocks_of(axis)]) for axis in scene.effect.further)
        counts = (3 if scene.rounds() else 1, *extents)
        for step, *places in itertools.product(steps, *map(range, counts)):
            named = dict(zip(("round", *scene.further), places, strict=True))
            yield scene.point(thread, block, step, sizes=sizes) | named


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
    """The least value of a variable at which the violation can be satisfied.

    It is mostly a small one, so that small ones are asked about first.
    """
    low, high = 0, size - 1 if known is None else known
    middle = high - 1 if known else 0
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
        middle = min((low + high) // 2, 4 * low)
    return high
