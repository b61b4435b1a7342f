"""What the operands of an instruction mean in a state, and where results go."""

from __future__ import annotations

from typing import Any

from tylo.proofs.ptx.asynchronous.decisions import ALWAYS
from tylo.proofs.ptx.asynchronous.progress import Progress
from tylo.proofs.ptx.asynchronous.scene import Scene
from tylo.proofs.ptx.asynchronous.state import State
from tylo.proofs.ptx.bitvector import Expression
from tylo.proofs.ptx.destinations import destination
from tylo.proofs.ptx.opcodes import Form, OperandKind
from tylo.proofs.ptx.program import (
    TYPES,
    Address,
    Entry,
    Instruction,
    Negated,
    Number,
    Operand,
    Register,
    Symbol,
    Vector,
    registers_of,
)

_MOST_IMMEDIATE = 255
_SMALL, _HALF = 1 << 16, 1 << 31  # what terms of different meaning may both be by luck


class Operands:
    """Operands of the instructions of one entry."""

    def __init__(self, scene: Scene, entry: Entry, progress: Progress) -> None:
        self.scene, self.entry, self.progress = scene, entry, progress
        self.terms, self.reasoning = scene.terms, progress.reasoning
        self.decisions = self.reasoning.decisions
        self.guarded = progress.guarded

    def condition(self, state: State, instruction: Instruction) -> Expression:
        """The guard of an instruction; one where it has none."""
        if instruction.guard is None:
            return self.terms.constant(1, 1)
        return self.scalar(state, instruction, instruction.guard, 1, False)

    def shared_at(self, state: State, instruction: Instruction, place: int) -> Expression:
        operand = instruction.operands[place]
        assert isinstance(operand, Address)
        return self.address(state, instruction, operand, 32)

    def value(self, state: State, instruction: Instruction, place: int, width: int) -> Expression:
        return self.scalar(state, instruction, instruction.operands[place], width, False)

    def read_all(self, state: State, instruction: Instruction, operand: Operand) -> None:
        for register in registers_of(operand):
            width = TYPES[self.entry.registers[register.name]]
            self.register(state, instruction, register, width, False)

    # Operands.

    def immediate(self, instruction: Instruction, place: int) -> int:
        operand = instruction.operands[place]
        if not isinstance(operand, Number) or operand.bits:
            raise instruction.error("an operand that must be an integer constant")
        return operand.value

    def address(
        self, state: State, instruction: Instruction, operand: Address, width: int
    ) -> Expression:
        """What an address operand means."""
        match operand.base:
            case Register():
                base = self.register(state, instruction, operand.base, width, False)
            case Symbol(name):
                base = self.scene.symbol(instruction, name, width)
            case _:
                raise instruction.error("an address that is a number")
        return self.terms.add(base, self.terms.constant(operand.offset, width), width)

    def source(
        self, state: State, instruction: Instruction, form: Form, kind: OperandKind, place: int
    ) -> Any:
        """The value of a source operand; a list for a vector."""
        operand = instruction.operands[place]
        if kind.mark == "immediate":
            number = self.immediate(instruction, place)
            if not 0 <= number <= _MOST_IMMEDIATE:
                raise instruction.error(f"{kind.name} must be from 0 to {_MOST_IMMEDIATE}")
            return number
        width = form.operand_width(kind)
        if isinstance(operand, Vector):
            return [
                self.scalar(state, instruction, part, width, kind.loose)
                for part in operand.elements
            ]
        return self.scalar(state, instruction, operand, width, kind.loose)

    def scalar(
        self, state: State, instruction: Instruction, operand: Operand, width: int, loose: bool
    ) -> Expression:
        """The value of an operand that is no vector."""
        match operand:
            case Register():
                return self.register(state, instruction, operand, width, loose)
            case Negated(register):
                return self.terms.negate(self.register(state, instruction, register, 1, False))
            case Number(value, bits):
                if (bits and bits != width) or not -(1 << (width - 1)) <= value < 1 << width:
                    raise instruction.error(f"the constant {value} does not fit {width} bits")
                return self.terms.constant(value, width)
            case Symbol(name):
                return self.scene.symbol(instruction, name, width)
        raise instruction.error("an operand that is neither a register nor a constant")

    def register(
        self, state: State, instruction: Instruction, register: Register, width: int, loose: bool
    ) -> Expression:
        """What a register holds."""
        value = self.scene.special.get(register.name) or state.registers.get(register.name)
        if value is None:
            known = register.name in self.entry.registers
            raise instruction.error(
                f"{register.name} is read before it is written"
                if known
                else f"unknown register {register.name}"
            )
        if value.width != width and not (loose and value.width > width):
            raise instruction.error(f"{register.name} has {value.width} bits, {width} are read")
        return self.terms.extract(value, 0, width)

    def write(
        self, state: State, instruction: Instruction, form: Form, place: int, result: Any
    ) -> None:
        """Give a destination its value."""
        kind, operand = form.opcode.operands[place], instruction.operands[place]
        targets = operand.elements if isinstance(operand, Vector) else (operand,)
        results = result if isinstance(result, list) else [result]
        for target, value in zip(targets, results, strict=True):
            self.put(state, instruction, form, kind, target, value)

    def recognised(self, here: int, value: Expression) -> Expression:
        """The name that the scene has for a term, if it has one; else the term."""
        if value.width != 32 or not value.operands or self.guarded.within(value):
            return value
        sample = self.terms.fingerprint(value)
        for variable, term in self.scene.defined.get(sample, ()):
            # Where ways meet, one may have come with the name: it is the term on every way.
            (whole,) = self.terms.substitute([value], {str(variable.attribute): term})
            if self.terms.normal(whole) is self.terms.normal(term):
                return variable
            # Of values that hardly differ many are alike by luck: not worth to look at the way,
            # nor, unless one was chosen, to ask a solver.
            telling = any(_SMALL < each < _HALF - _SMALL for each in sample)
            rich = telling or len(set(sample)) > len(sample) // 2
            if (rich or value.operator == "ite") and self.reasoning.equal(
                here if rich else ALWAYS, whole, term
            ):
                return variable
        return value

    def put(
        self,
        state: State,
        instruction: Instruction,
        form: Form,
        kind: OperandKind,
        target: Operand,
        value: Expression,
    ) -> None:
        found = destination(self.terms, self.entry, instruction, form, kind, target, value)
        if found is None:
            return
        register, fitted = found
        value = self.recognised(state.here, fitted)
        if instruction.guard is not None:
            guard = self.condition(state, instruction)
            old = self.register(state, instruction, register, fitted.width, False)
            value = self.terms.select(guard, value, old, fitted.width)
        state.registers[register.name] = value
        state.written.add(register.name)
