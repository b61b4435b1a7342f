"""Where results go: a declared register, at its width."""

from __future__ import annotations

from tylo.proofs.ptx.bitvector import BitVectors, Expression
from tylo.proofs.ptx.opcodes import Form, OperandKind
from tylo.proofs.ptx.program import TYPES, Entry, Instruction, Operand, Register, Sink


def destination(
    domain: BitVectors,
    entry: Entry,
    instruction: Instruction,
    form: Form,
    kind: OperandKind,
    target: Operand,
    value: Expression,
) -> tuple[Register, Expression] | None:
    """The register that a result goes to, and the result at its width; `None` for a sink.

    A loose operand may be wider than its type, and is extended by the type's sign (PTX ISA 9.4.1).
    """
    if isinstance(target, Sink):
        return None
    if not isinstance(target, Register) or target.name not in entry.registers:
        raise instruction.error("the destination is not a declared register")
    width = TYPES[entry.registers[target.name]]
    if value.width != width:
        if not (kind.loose and value.width < width):
            raise instruction.error(f"{target.name} has {width} bits, {value.width} are written")
        value = domain.extend(value, value.width, width, form.operand_type(kind)[0] == "s")
    return target, value
