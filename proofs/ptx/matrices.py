"""What a warp does with matrices: moves between registers and shared memory, and products.

The moves are maps between lanes (PTX ISA 9.7.14.5.15 to 17). A matrix has 8 rows of 8 elements of
16 bits. Lane 8 i + r gives the address of row r of matrix i, and register i of lane t holds

    elements 2 (t % 4) and 2 (t % 4) + 1 of row t / 4         or, transposed,
    element t / 4 of rows 2 (t % 4) and 2 (t % 4) + 1         least significant first.

So what a lane reads is at an address that another lane has: its expression, with that lane put in.
Each piece counts as read or written by the lane that holds it; with what else it may meet is said
in `races`. All lanes of the warp take part. The elements of a product are values that are computed
from what all lanes of the warp hold; only their origin is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tylo.proofs.ptx import shared_memory
from tylo.proofs.ptx.nodes import Expression
from tylo.proofs.ptx.opcodes import Form
from tylo.proofs.ptx.program import Instruction, Operand, Vector
from tylo.proofs.ptx.shared_memory import Place
from tylo.proofs.ptx.shuffles import elsewhere, in_warp, whole_warp

if TYPE_CHECKING:
    from tylo.proofs.ptx.symbolic import Machine

_ROW_BYTES = 16


def load(machine: Machine, instruction: Instruction, form: Form) -> None:
    """`ldmatrix`: what earlier stores wrote where the lanes of the warp say."""
    kind, target = form.opcode.operands[0], instruction.operands[0]
    assert isinstance(target, Vector)
    rows = _rows(machine, instruction, instruction.operands[1], len(target.elements))
    registers = []
    for matrix in range(len(target.elements)):
        pieces = []
        for place, bits in _pieces(machine, form, rows, matrix):
            access = shared_memory.record(
                machine, instruction, place, bits, None, machine.guard, collective=True
            )
            pieces.append(shared_memory.read(machine, access, 0, bits))
        registers.append(machine.domain.concatenate(pieces, [each.width for each in pieces]))
    machine.write(instruction, form, kind, target, registers)


def store(machine: Machine, instruction: Instruction, form: Form) -> None:
    """`stmatrix`: the inverse of `load`."""
    kind, operand = form.opcode.operands[1], instruction.operands[1]
    registers = machine.source(instruction, form, kind, operand)
    rows = _rows(machine, instruction, instruction.operands[0], len(registers))
    for matrix, register in enumerate(registers):
        low = 0
        for place, bits in _pieces(machine, form, rows, matrix):
            value = machine.domain.extract(register, low, bits)
            low += bits
            shared_memory.record(
                machine, instruction, place, bits, value, machine.guard, collective=True
            )


def move(machine: Machine, instruction: Instruction, form: Form) -> None:
    """`movmatrix.trans`: element t / 4 of rows 2 (t % 4) and the next, from where they are held."""
    whole_warp(machine, instruction)
    domain, thread = machine.domain, machine.scene.thread
    kind = form.opcode.operands[1]
    held = machine.source(instruction, form, kind, instruction.operands[1])
    pieces = []
    for half in range(2):
        # Row 2 (t % 4) + half lies in lanes 4 row to 4 row + 3, two columns in each.
        parts = [domain.extract(thread, 3, 2), domain.constant(half, 1)]
        lane = domain.concatenate([*parts, domain.extract(thread, 0, 2)], [2, 1, 2])
        source = in_warp(machine, lane)
        low, high = (
            elsewhere(machine, domain.extract(held, start, 16), source, "shuffled")
            for start in (0, 16)
        )
        pieces.append(domain.select(domain.extract(thread, 2, 1), high, low, 16))
    word = domain.concatenate(pieces, [16, 16])
    machine.write(instruction, form, form.opcode.operands[0], instruction.operands[0], word)


def multiply(machine: Machine, instruction: Instruction, form: Form) -> None:
    """`mma.sync`: values made of what all lanes of the warp hold of A, B and C."""
    whole_warp(machine, instruction)
    pairs = list(zip(form.opcode.operands, instruction.operands, strict=True))
    held: list[Expression] = []
    for kind, operand in pairs[1:]:
        held += machine.source(instruction, form, kind, operand)
    (kind, target), width = pairs[0], form.operand_width(pairs[0][0])
    assert isinstance(target, Vector)
    thread = machine.domain.extend(machine.scene.thread, machine.scene.thread.width, 32, False)
    made = [
        machine.domain.function(f"{instruction.mnemonic} {number}", [*held, thread], width)
        for number in range(len(target.elements))
    ]
    machine.write(instruction, form, kind, target, made)


def _rows(machine: Machine, instruction: Instruction, operand: Operand, count: int) -> Place:
    """The row whose address a lane gives; the first 8 lanes for each matrix do."""
    whole_warp(machine, instruction)
    domain = machine.domain
    place = shared_memory.placed(machine, instruction, operand)
    lane = machine.special["%laneid"]
    gives = domain.less(lane, domain.constant(8 * count, 32), 32, False)
    guard = domain.bit_and(machine.guard, gives, 1)
    shared_memory.inside(machine, instruction, place, 8 * _ROW_BYTES, guard)
    return place


def _pieces(machine: Machine, form: Form, rows: Place, matrix: int) -> Iterator[tuple[Place, int]]:
    """Where the parts of a register lie, and their widths."""
    domain, thread = machine.domain, machine.scene.thread
    group, member = domain.extract(thread, 2, 3), domain.extract(thread, 0, 2)
    number = domain.constant(matrix, 2)
    if "trans" in form.chosen:
        lanes = [([domain.constant(half, 1), member, number], [1, 2, 2]) for half in range(2)]
        within, bits = group, 16
    else:
        lanes = [([group, number], [3, 2])]
        within, bits = member, 32
    column = domain.extend(within, within.width, 32, False)
    start = domain.multiply(column, domain.constant(bits // 8, 32), 32)
    for parts, widths in lanes:
        giver = in_warp(machine, domain.concatenate(parts, widths))
        (row,) = machine.scene.at_thread([rows.offset], giver)
        yield Place(rows.variable, domain.add(row, start, 32)), bits
