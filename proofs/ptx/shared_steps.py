"""What instructions that share the steps of a store must do: the obligations of `unrolled`."""

from __future__ import annotations

from collections.abc import Iterator

from tylo.proofs.ptx.extents import inside
from tylo.proofs.ptx.load_guards import LoadGuards
from tylo.proofs.ptx.obligation import Obligation
from tylo.proofs.ptx.parts import part_obligations
from tylo.proofs.ptx.scene import Scene
from tylo.proofs.ptx.unrolled import Unrolled


def shared_steps(
    scene: Scene, unrolled: Unrolled, index: int, guards: LoadGuards
) -> Iterator[Obligation]:
    """What instructions that share the steps of a store must do."""
    label, store = f"store {index}", unrolled.store
    buffer = scene.effect.buffer(store.buffer)
    for access in unrolled.accesses:
        where = access.instruction.line, access.instruction.text, scene
        spoken = unrolled.spoken(access)
        yield Obligation(
            f"{label}: address",
            *where,
            unrolled.misplaced(access),
            access.address,
            "a step's",
            spoken=spoken,
        )
        yield Obligation(
            f"{label}: where",
            *where,
            unrolled.unwanted(access),
            "performed",
            f"performed only where {unrolled.conditions()}",
            spoken=spoken,
        )
        yield from inside(scene, unrolled.placed(access), label, buffer, spoken)
        meeting = unrolled.meeting(access)
        for name, violation, found, goal in part_obligations(scene, meeting, store, guards):
            yield Obligation(f"{label}: {name}", *where, violation, found, goal)
    first = unrolled.accesses[0].instruction
    for missing, spoken in unrolled.missing():
        yield Obligation(
            f"{label}: all steps",
            first.line,
            first.text,
            scene,
            missing,
            "a step that is not made",
            unrolled.address,
            spoken=spoken,
        )
    for access, violation in unrolled.twice():
        yield Obligation(
            f"{label}: once",
            access.instruction.line,
            access.instruction.text,
            scene,
            violation,
            access.address,
            "written once",
        )
