"""What may not meet in shared memory: two accesses to one byte, one of which writes it.

Accesses by two threads do not meet between two barriers. A copy is on its way from where it was
asked for to where it was waited for, through all barriers between, and may land at any time: even
its own thread keeps away until then. What the lanes of a warp load and store together is no
thread's alone: such an access keeps away from all others of its interval.

Where places depend on threads alone, all threads are gone through first: what never shares a byte
needs no condition.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tylo.proofs.ptx.by_thread import flags, values
from tylo.proofs.ptx.meetings import any_thread, overlap
from tylo.proofs.ptx.scene import Scene
from tylo.proofs.ptx.shared_memory import SharedAccess, landing

if TYPE_CHECKING:
    from tylo.proofs.ptx.symbolic import Fact, Machine

_SEVERAL = -1


def races(machine: Machine) -> Iterator[Fact]:
    """For each access: nothing else touches its bytes in its time, if one of them writes."""
    from tylo.proofs.ptx.symbolic import Fact

    domain, scene = machine.domain, machine.scene
    touched_by = {id(access): _touched(scene, access) for access in machine.record.shared}
    other = any_thread(scene)
    apart = scene.differ(other, scene.thread)
    accesses = machine.record.shared
    for index, first in enumerate(accesses):
        met = [second for second in accesses[index:] if _may_meet(machine, first, second)]
        anything = domain.constant(0, 1)
        for second in met:
            ordered = _in_order(machine, first, second)
            if _apart(touched_by[id(first)], touched_by[id(second)], ordered):
                continue
            place, performed = scene.at_thread([second.offset, second.guard], other)
            touched = overlap(scene, first.offset, first.bits, place, second.bits)
            both = domain.bit_and(performed, touched, 1)
            if ordered:
                both = domain.bit_and(both, apart, 1)
            anything = domain.bit_or(anything, both, 1)
        if met:
            yield Fact(
                "shared: no race",
                first.instruction,
                domain.bit_and(first.guard, anything, 1),
                first.offset,
                "bytes of its own between two barriers",
            )


def _touched(scene: Scene, access: SharedAccess) -> dict[int, int] | None:
    """The thread that may touch each byte, -1 for several; `None` where more decides than it."""
    places = values(scene, access.offset)
    if places is None:
        return None
    may, _ = flags(scene, access.guard)
    found: dict[int, int] = {}
    for thread, place in enumerate(places):
        for byte in range(place, place + access.bits // 8) if may[thread] else ():
            found[byte] = thread if found.get(byte, thread) == thread else _SEVERAL
    return found


def _apart(first: dict[int, int] | None, second: dict[int, int] | None, ordered: bool) -> bool:
    """Whether two accesses share no byte, or each byte in one thread alone, which orders them."""
    if first is None or second is None:
        return False
    return all(
        ordered and first[byte] == second[byte] != _SEVERAL for byte in first.keys() & second.keys()
    )


def _may_meet(machine: Machine, first: SharedAccess, second: SharedAccess) -> bool:
    """Whether one of two accesses writes, and there is a time at which both may take place."""
    if first.variable != second.variable or (first.value is None and second.value is None):
        return False
    return _ends(machine, first) >= second.interval and _ends(machine, second) >= first.interval


def _ends(machine: Machine, access: SharedAccess) -> float:
    """The interval at whose end an access surely is complete."""
    found = landing(machine, access)
    return float("inf") if found is None else found.interval


def _in_order(machine: Machine, first: SharedAccess, second: SharedAccess) -> bool:
    """Whether one thread's two accesses, the first before the second, need no barrier."""
    if first is second:
        return True
    if first.collective or second.collective or second.group is not None:
        return False
    found = landing(machine, first)
    return found is not None and found.position <= second.position
