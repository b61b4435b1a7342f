"""`cp.async`: stores to shared memory whose bytes come from global memory, and land later.

A copy is asked for in one place and complete, for the thread that asked, at a wait (PTX ISA
9.7.9.25.3): `wait_group n` leaves the n groups that were committed last on their way, `wait_all`
none. Others see it after the next barrier. What may touch its bytes meanwhile is said in `races`;
nothing is read from them before.

A copy that takes fewer bytes than it writes fills up with zeros. Here it takes all or none
("copied bytes"), and in the thread that asked for it it is waited for ("waited for").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tylo.proofs.ptx import shared_memory
from tylo.proofs.ptx.opcodes import Form
from tylo.proofs.ptx.program import Instruction, Number
from tylo.proofs.ptx.shared_memory import Landing

if TYPE_CHECKING:
    from tylo.proofs.ptx.symbolic import Machine

_PIECE = 4  # bytes: the least that one instruction copies


def copy(machine: Machine, instruction: Instruction, form: Form) -> None:
    """Ask for a copy of 4, 8 or 16 bytes."""
    domain, scene = machine.domain, machine.scene
    place = shared_memory.placed(machine, instruction, instruction.operands[0])
    source = machine.address(instruction, instruction.operands[1])
    counted = instruction.operands[2]
    assert isinstance(counted, Number)
    size, guard = counted.value, machine.taken(instruction)
    shared_memory.inside(machine, instruction, place, 8 * size, guard)
    loads = [
        domain.load(domain.add(source, domain.constant(start, 64), 64), 8 * _PIECE)
        for start in range(0, size, _PIECE)
    ]
    value, performed = domain.concatenate(loads, [8 * _PIECE] * len(loads)), guard
    if len(instruction.operands) > len(form.opcode.operands[:3]):
        taken = machine.scalar(instruction, instruction.operands[3], 32, False)
        if taken.opaque:
            raise instruction.error("a number of bytes that depends on memory")
        all_of_it = domain.equal(taken, domain.constant(size, 32), 32)
        none = domain.equal(taken, domain.constant(0, 32), 32)
        some = scene.negate(domain.bit_or(all_of_it, none, 1))
        violation = domain.bit_and(guard, some, 1)
        machine.fact("copied bytes", instruction, violation, taken, f"0 or {size}")
        performed = domain.bit_and(guard, all_of_it, 1)
        zero = domain.constant(0, 8 * _PIECE)
        pieces = [domain.select(all_of_it, load, zero, 8 * _PIECE) for load in loads]
        value = domain.concatenate(pieces, [8 * _PIECE] * len(pieces))
    machine.reads(instruction, source, 8 * size, performed)
    shared_memory.record(machine, instruction, place, 8 * size, value, guard, group=machine.groups)


def commit(machine: Machine, instruction: Instruction) -> None:
    """Close the group of the copies asked for since the last one."""
    _together(machine, instruction)
    machine.groups += 1


def wait(machine: Machine, instruction: Instruction, form: Form) -> None:
    """All copies but those of the last groups are complete in the thread that waits."""
    _together(machine, instruction)
    before = machine.groups + 1
    if form.opcode.action == "wait":
        (left,) = instruction.operands
        assert isinstance(left, Number)
        before = machine.groups - left.value
    domain, record = machine.domain, machine.record
    for access in record.shared:
        if access.group is None or access.group >= before:
            continue
        if shared_memory.landing(machine, access) is not None:
            continue
        unseen = domain.bit_and(access.guard, machine.scene.negate(machine.guard), 1)
        at = access.instruction
        machine.fact("waited for", at, unseen, "threads that leave before", "all wait")
        record.landings.append(Landing(access, len(record.shared), machine.interval))


def _together(machine: Machine, instruction: Instruction) -> None:
    """Groups are counted alike in all threads that come here."""
    if instruction.guard is not None or machine.parted:
        raise instruction.error("groups of copies where threads part", hint="not covered")
    if machine.looped:
        raise instruction.error("groups of copies inside a loop of any number of steps")
