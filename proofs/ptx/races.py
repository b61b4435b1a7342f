"""What may not meet in shared memory: two accesses to one byte, one of which writes it.

Accesses by two threads do not meet between two barriers. A copy is on its way from where it was
asked for to where it was waited for, through all barriers between, and may land at any time: even
its own thread keeps away until then. What the lanes of a warp load and store together is no
thread's alone: such an access keeps away from all others of its interval.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tylo.proofs.ptx.shared_memory import SharedAccess, any_thread, landing, overlap

if TYPE_CHECKING:
    from tylo.proofs.ptx.symbolic import Fact, Machine


def races(machine: Machine) -> Iterator[Fact]:
    """For each access: nothing else touches its bytes in its time, if one of them writes."""
    from tylo.proofs.ptx.symbolic import Fact

    domain, scene = machine.domain, machine.scene
    other = any_thread(scene)
    apart = scene.differ(other, scene.thread)
    accesses = machine.record.shared
    for index, first in enumerate(accesses):
        met = [second for second in accesses[index:] if _may_meet(machine, first, second)]
        anything = domain.constant(0, 1)
        for second in met:
            place, performed = scene.at_thread([second.offset, second.guard], other)
            touched = overlap(scene, first.offset, first.bits, place, second.bits)
            both = domain.bit_and(performed, touched, 1)
            if _in_order(machine, first, second):
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
