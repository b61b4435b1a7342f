"""Instructions made ready to run: their form, where operands come from, where results go."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tylo.proofs.ptx.machine.arrays import Arrays
from tylo.proofs.ptx.opcodes import OPCODES, Form, Opcode, OperandKind, find
from tylo.proofs.ptx.program import (
    TYPES,
    Address,
    Entry,
    Instruction,
    Negated,
    Number,
    Operand,
    Pair,
    Register,
    Sink,
    Symbol,
    Vector,
)

# Takes the rows (warps) to read and returns a pattern for each lane, or one for all.
Read: TypeAlias = Callable[[Any], Any]
Registers: TypeAlias = dict[str, Any]

SPECIAL = frozenset(
    {
        *(f"%{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"),
        *("%laneid", "%warpid", "%nwarpid"),
        *(f"%lanemask_{order}" for order in ("eq", "lt", "le", "gt", "ge")),
    }
)


@dataclass(frozen=True, slots=True)
class Target:
    """A register to write, the width of the result, and how it widens to the register."""

    name: str
    width: int
    to: int
    signed: bool


@dataclass(frozen=True, slots=True)
class Step:
    """One decoded instruction.

    `sources` and `targets` follow the operands of the form; vectors are lists. `guard` reads the
    predicate, already complemented where it is negated. `label` is where a branch goes.
    """

    instruction: Instruction
    form: Form
    guard: Read | None
    sources: tuple[Any, ...]
    targets: tuple[Target | None, ...]
    address: Read | None
    label: int


@dataclass(frozen=True, slots=True)
class Decoder:
    """Everything names can stand for in one entry."""

    entry: Entry
    registers: Registers
    symbols: Mapping[str, int]
    parameters: Mapping[str, tuple[int, int]]
    target: tuple[str, ...] | None = None
    table: tuple[Opcode, ...] = OPCODES

    def steps(self, forms: Sequence[Form]) -> list[Step]:
        """The body, decoded, given what each instruction is."""
        return [self.decoded(*each) for each in zip(self.entry.body, forms, strict=True)]

    def step(self, instruction: Instruction) -> Step:
        """One instruction, decoded; raises `PtxError` for one that is not covered."""
        return self.decoded(instruction, find(self.table, instruction, self.target))

    def decoded(self, instruction: Instruction, form: Form) -> Step:
        """One instruction of a form, decoded."""
        sources: list[Any] = []
        targets: list[Target | None] = []
        address: Read | None = None
        label = -1
        for kind, operand in zip(form.opcode.operands, instruction.operands, strict=True):
            if isinstance(operand, Vector):
                self._one_width(instruction, operand)
            if isinstance(operand, Address):
                if form.opcode.action == "parameter":
                    sources.append(self._parameter(instruction, form, operand))
                elif address is None:
                    address = self._address(instruction, operand)
                else:
                    sources.append(self._address(instruction, operand))
            elif kind.mark == "label":
                label = self._label(instruction, operand)
            elif kind.destination:
                targets += self._targets(instruction, form, kind, operand)
            else:
                sources.append(self._source(instruction, form, kind, operand))
        guard = (
            self._scalar(instruction, instruction.guard, 1, False) if instruction.guard else None
        )
        return Step(instruction, form, guard, tuple(sources), tuple(targets), address, label)

    def _one_width(self, instruction: Instruction, vector: Vector) -> None:
        """Elements of a vector have one type (PTX ISA 6.4.3)."""
        kinds = {
            TYPES[self.entry.registers[element.name]]
            for element in vector.elements
            if isinstance(element, Register) and element.name in self.entry.registers
        }
        if len(kinds) > 1:
            raise instruction.error(f"a vector of registers of {sorted(kinds)} bits")

    def _label(self, instruction: Instruction, operand: Operand) -> int:
        if not isinstance(operand, Symbol) or operand.name not in self.entry.labels:
            raise instruction.error("a branch to a label that does not exist")
        return self.entry.labels[operand.name]

    def _parameter(self, instruction: Instruction, form: Form, operand: Address) -> Read:
        if not isinstance(operand.base, Symbol) or operand.base.name not in self.parameters:
            raise instruction.error("a parameter that the entry does not declare")
        value, width = self.parameters[operand.base.name]
        low = 8 * operand.offset
        if low < 0 or low + form.width > width:
            raise instruction.error("reads beyond the parameter")
        pattern = np.uint64(value >> low & ((1 << form.width) - 1))
        return lambda rows: pattern

    def _address(self, instruction: Instruction, operand: Address) -> Read:
        offset = np.uint64(operand.offset % (1 << 64))
        match operand.base:
            case Number(value):
                fixed = np.uint64((value + operand.offset) % (1 << 64))
                return lambda rows: fixed
            case Symbol(name):
                if name not in self.symbols:
                    raise instruction.error(f"unknown variable {name}")
                place = np.uint64(self.symbols[name] + operand.offset)
                return lambda rows: place
            case Register(name):
                register = self._register(instruction, operand.base)
                held = 32 if name in SPECIAL else TYPES[self.entry.registers[name]]
                if held < 32:
                    raise instruction.error(f"{name} has {held} bits, addresses have 32 or 64")
                # Shared addresses may be kept in 32 bits; offsets then stay within them.
                if held == 32:
                    low = np.uint64(0xFFFFFFFF)
                    return lambda rows: (register[rows] + offset) & low
                return lambda rows: register[rows] + offset

    def _register(self, instruction: Instruction, register: Register) -> Any:
        if register.name not in self.registers:
            raise instruction.error(f"unknown register {register.name}")
        return self.registers[register.name]

    def _source(
        self, instruction: Instruction, form: Form, kind: OperandKind, operand: Operand
    ) -> Any:
        if kind.mark == "immediate":
            if not isinstance(operand, Number) or operand.bits:
                raise instruction.error(f"{kind.name} must be an integer constant")
            return operand.value
        width = form.operand_width(kind)
        if isinstance(operand, Vector):
            return [self._scalar(instruction, part, width, kind.loose) for part in operand.elements]
        return self._scalar(instruction, operand, width, kind.loose)

    def _scalar(self, instruction: Instruction, operand: Operand, width: int, loose: bool) -> Read:
        match operand:
            case Negated(register):
                read = self._scalar(instruction, register, width, loose)
                return lambda rows: read(rows) ^ np.uint64(1)
            case Number(value, bits):
                if (bits and bits != width) or not -(1 << (width - 1)) <= value < 1 << width:
                    raise instruction.error(f"the constant {value} does not fit {width} bits")
                pattern = np.uint64(value % (1 << width))
                return lambda rows: pattern
            case Symbol(name) if name in self.symbols:
                place = np.uint64(self.symbols[name])
                return lambda rows: place
            case Register(name):
                array = self._register(instruction, operand)
                held = 32 if name in SPECIAL else TYPES[self.entry.registers[name]]
                if held < width or (held > width and not loose):
                    raise instruction.error(f"{name} has {held} bits, {width} are read")
                if held > width:
                    return lambda rows: Arrays().extract(array[rows], 0, width)
                return lambda rows: array[rows]
        raise instruction.error("an operand that is neither a register nor a constant")

    def _targets(
        self, instruction: Instruction, form: Form, kind: OperandKind, operand: Operand
    ) -> list[Target | None]:
        width, signed = form.operand_width(kind), form.operand_type(kind)[0] == "s"
        if isinstance(operand, Pair):
            first = self._target(instruction, operand.first, width, kind.loose, signed)
            return [first, self._target(instruction, operand.second, 1, False, False)]
        parts = operand.elements if isinstance(operand, Vector) else (operand,)
        return [self._target(instruction, part, width, kind.loose, signed) for part in parts]

    def _target(
        self, instruction: Instruction, operand: Operand, width: int, loose: bool, signed: bool
    ) -> Target | None:
        if isinstance(operand, Sink):
            return None
        if not isinstance(operand, Register) or operand.name not in self.entry.registers:
            raise instruction.error("the destination is not a declared register")
        to = TYPES[self.entry.registers[operand.name]]
        if to < width or (to > width and not loose):
            raise instruction.error(f"{operand.name} has {to} bits, {width} are written")
        return Target(operand.name, width, to, signed)
