"""The opcode table: every PTX instruction Tylo understands, in families.

Adding an opcode is adding an entry to its family: the syntax line of the PTX ISA, the section, the
alternatives of each segment, and what it does to values of any `Domain`.
"""

from __future__ import annotations

from tylo.proofs.ptx.opcodes.arithmetic import ARITHMETIC, COMPARISON
from tylo.proofs.ptx.opcodes.bits import BITS
from tylo.proofs.ptx.opcodes.collective import COLLECTIVE
from tylo.proofs.ptx.opcodes.floating import FLOATING
from tylo.proofs.ptx.opcodes.movement import CONTROL, MEMORY, MOVEMENT
from tylo.proofs.ptx.opcodes.table import Form, Opcode, OperandKind, find

OPCODES: tuple[Opcode, ...] = (
    *ARITHMETIC,
    *COMPARISON,
    *BITS,
    *FLOATING,
    *MOVEMENT,
    *MEMORY,
    *CONTROL,
    *COLLECTIVE,
)

__all__ = ["OPCODES", "Form", "Opcode", "OperandKind", "find"]
