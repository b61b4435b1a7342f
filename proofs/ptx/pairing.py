"""Which store of the contract each store of the kernel is taken to be: by where they go.

Sample points suggest it; what is paired is then proven, never trusted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tylo.proofs.effects import Buffer, Store
from tylo.proofs.ptx.bitvector import evaluate
from tylo.proofs.ptx.scene import Scene
from tylo.proofs.ptx.symbolic import Access
from tylo.proofs.ptx.unrolled import Unrolled

_SAMPLE_THREADS = 16
_SAMPLE_STEPS = 24
_SAMPLE_PLACES = ((0, 0, 0), (5, 1, 0), (1, 2, 2))  # block, the same along further axes, and step


def pair(scene: Scene, stores: Sequence[Access]) -> dict[int, int]:
    """Which store of the contract each store of the kernel is taken to be."""
    wanted = [scene.address(store.buffer, store.offset) for store in scene.effect.stores]
    roots = [access.address for access in stores]
    agree: Counter[tuple[int, int]] = Counter()
    for point in sample_points(scene):
        values = evaluate(roots + wanted, point)
        goals: dict[int, list[int]] = {}
        for index, address in enumerate(values[len(roots) :]):
            goals.setdefault(address, []).append(index)
        for position, address in enumerate(values[: len(roots)]):
            for index in goals.get(address, []):
                agree[position, index] += 1
    pairing: dict[int, int] = {}
    # A vector and the first of its elements go to one address, in whatever order they stand.
    likely = sorted(
        (pair for pair, _ in agree.most_common()),
        key=lambda pair: not _alike(scene, stores[pair[0]], pair[1]),
    )
    for position, index in likely:
        if position not in pairing and index not in pairing.values():
            pairing[position] = index
    # Several instructions may make one store, each under a condition of its own.
    for position, index in likely:
        pairing.setdefault(position, index)
    pairing = _by_some_step(scene, stores, pairing)
    # What agrees nowhere is paired in order, so that a report can say what was expected.
    rest = [index for index in range(len(wanted)) if index not in pairing.values()]
    for position in range(len(roots)):
        if position not in pairing and rest:
            pairing[position] = rest.pop(0)
    return pairing


def _alike(scene: Scene, access: Access, index: int) -> bool:
    """Whether a store is as wide as one of the contract's."""
    return access.bits == scene.effect.stores[index].bits


def _by_some_step(scene: Scene, stores: Sequence[Access], known: dict[int, int]) -> dict[int, int]:
    """Stores that lie, at a sample point, where a step of the contract's does."""
    pairing, domain = dict(known), scene.domain
    repeated = [i for i, store in enumerate(scene.effect.stores) if store.repeat != 1]
    left = [position for position in range(len(stores)) if position not in pairing]
    if not left or not repeated:
        return pairing
    wanted = [
        domain.substitute(
            [scene.address(store.buffer, store.offset)],
            {"step": domain.constant(step, scene.step.width)},
        )[0]
        for store in (scene.effect.stores[index] for index in repeated)
        for step in range(_SAMPLE_STEPS)
        if step < 1 << scene.step.width
    ]
    points = list(sample_points(scene))
    for position in left:
        votes: Counter[int] = Counter()
        for point in points:
            (found,), goals = evaluate([stores[position].address], point), evaluate(wanted, point)
            per_store = len(wanted) // len(repeated)
            votes.update(
                repeated[number // per_store] for number, goal in enumerate(goals) if goal == found
            )
        if votes:
            alike = [index for index in votes if _alike(scene, stores[position], index)]
            pairing[position] = max(alike or votes, key=lambda index: votes[index])
    return pairing


def sample_points(scene: Scene) -> Sequence[Mapping[str, int]]:
    """Points at which addresses are compared; what they depend on is what the walk has made."""
    shared = ((name, variable.alignment) for name, (variable, _) in scene.shared.items())
    ends = (scene.assumed.get(name, ()) for name in scene.made)
    key = *scene.made, *shared, *ends
    if key not in scene.sampled:
        scene.sampled[key] = tuple(_sample_points(scene))
    return scene.sampled[key]


def _sample_points(scene: Scene) -> Iterator[dict[str, int]]:
    effect = scene.effect
    for thread in range(0, effect.threads, max(1, effect.threads // _SAMPLE_THREADS)):
        for block, other, step in _SAMPLE_PLACES:
            if block < scene.most_blocks and (step == 0 or scene.repeats()):
                for number in range(2 if scene.rounds() else 1):
                    counted = {"round": number, **dict.fromkeys(scene.further, other)}
                    yield scene.settled(scene.point(thread, block, step) | counted)


def sources(scene: Scene, loads: Sequence[Access]) -> list[Buffer | None]:
    """The input buffer that each load most often lies in at sample points."""
    votes: list[Counter[str]] = [Counter() for _ in loads]
    roots = [access.address for access in loads]
    for point in sample_points(scene):
        for count, address in zip(votes, evaluate(roots, point), strict=True):
            found = scene.place(address)
            if found and found[0].direction == "in":
                count[found[0].name] += 1
    return [scene.effect.buffer(max(v, key=lambda name: v[name])) if v else None for v in votes]


def first_round(scene: Scene, access: Access, store: Store) -> Access:
    """An access; what stands in no loop of rounds is done in round zero."""
    if "round" in access.counters or store.rounds == 1:
        return access
    zero = scene.domain.equal(
        scene.round, scene.domain.constant(0, scene.round.width), scene.round.width
    )
    return replace(access, guard=scene.domain.bit_and(access.guard, zero, 1))


def unrolled_stores(
    scene: Scene, stores: Sequence[Access], pairing: dict[int, int]
) -> dict[int, Unrolled]:
    """The stores whose steps are not the trips of one loop, at sample points."""
    found: dict[int, Unrolled] = {}
    for index, store in enumerate(scene.effect.stores):
        mine = [access for position, access in enumerate(stores) if pairing.get(position) == index]
        if store.repeat == 1 or not mine:
            continue
        wanted = scene.address(store.buffer, store.offset)
        roots = [wanted, *(access.address for access in mine)]
        points = list(sample_points(scene))
        apart = any(len(set(evaluate(roots, point))) > 1 for point in points)
        if len(mine) > 1 and apart:
            found[index] = Unrolled(scene, store, [first_round(scene, a, store) for a in mine])
    return found
