"""Symbolic registers: what one instruction does, for every thread and block at once.

Registers hold `Expression`s over ``thread``, ``block``, ``blocks``, sizes and one base address for
each pointer parameter. Memory accesses are recorded, with the condition under which the path at
hand is taken. A predicated move or arithmetic instruction selects between its result and the old
value. Where control goes is the business of `paths`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tylo.proofs.ptx.bitvector import BitVectors, Expression
from tylo.proofs.ptx.opcodes import Form, OperandKind
from tylo.proofs.ptx.opcodes.unspecified import unspecified
from tylo.proofs.ptx.program import (
    TYPES,
    Address,
    Entry,
    Instruction,
    Negated,
    Number,
    Operand,
    Register,
    Sink,
    Symbol,
    Vector,
)

_MOST_IMMEDIATE = 255  # a truth table of three bits


@dataclass(frozen=True, slots=True)
class Access:
    """A load or a store of `bits` at `address`; `value` is what a store writes.

    It is performed where `guard` is one, and once for each step below `steps` (64 bits) when it
    stands in a loop; the guard then says that the step is one of them.
    """

    instruction: Instruction
    address: Expression
    bits: int
    value: Expression | None
    guard: Expression
    steps: Expression | None


@dataclass(frozen=True, slots=True)
class Unspecified:
    """An instruction whose result PTX leaves open where `condition` is one: what must not be."""

    instruction: Instruction
    condition: Expression


@dataclass(slots=True)
class Machine:
    """The registers along one path, and what it has done to memory so far."""

    domain: BitVectors
    entry: Entry
    parameters: dict[str, Expression]
    special: dict[str, Expression]
    guard: Expression
    registers: dict[str, Expression] = field(default_factory=dict)
    accesses: list[Access] = field(default_factory=list)
    unspecified: list[Unspecified] = field(default_factory=list)
    steps: Expression | None = None
    # Registers that a loop changes from step to step in no form that is known.
    unknown: frozenset[str] = frozenset()

    def fork(self) -> Machine:
        """A copy that goes its own way."""
        return Machine(
            self.domain,
            self.entry,
            self.parameters,
            self.special,
            self.guard,
            dict(self.registers),
            list(self.accesses),
            list(self.unspecified),
            self.steps,
            self.unknown,
        )

    def condition(self, instruction: Instruction) -> Expression:
        """The guard of an instruction; one where it has none."""
        if instruction.guard is None:
            return self.domain.constant(1, 1)
        return self._scalar(instruction, instruction.guard, 1, False)

    def step(self, instruction: Instruction, form: Form) -> None:
        """Carry out an instruction that is not control flow; memory accesses have no guard."""
        match form.opcode.action:
            case "" if form.chosen.get("space", "global") != "global":
                raise instruction.error("not in the global space")
            case "":
                self._compute(instruction, form)
            case "parameter":
                self._parameter(instruction, form)
            case "load" | "store" if form.chosen.get("space") != "global":
                raise instruction.error("not in the global space")
            case "load":
                self._load(instruction, form)
            case "store":
                self._store(instruction, form)
            case action:
                raise instruction.error(f"a {action}", hint="the proof does not cover it")

    def _compute(self, instruction: Instruction, form: Form) -> None:
        assert form.opcode.semantics is not None
        pairs = list(zip(form.opcode.operands, instruction.operands, strict=True))
        sources = [
            self._source(instruction, form, kind, operand)
            for kind, operand in pairs
            if not kind.destination
        ]
        self._refuse_unspecified(instruction, form, sources)
        result = form.opcode.semantics(self.domain, form, *sources)
        ((kind, operand),) = [pair for pair in pairs if pair[0].destination]
        self._write(instruction, form, kind, operand, result)

    def _refuse_unspecified(self, instruction: Instruction, form: Form, sources: list[Any]) -> None:
        """Record where the instruction has no specified result, if there is any such place."""
        where = unspecified(self.domain, form, sources)
        if where is None:
            return
        both = self.domain.bit_and(self.condition(instruction), where, 1)
        condition = self.domain.bit_and(self.guard, both, 1)
        if condition.value == 0:
            return
        if condition.opaque:
            raise instruction.error(
                "an operand that depends on memory, and for which the result may be unspecified"
            )
        self.unspecified.append(Unspecified(instruction, condition))

    def _parameter(self, instruction: Instruction, form: Form) -> None:
        kind, source = form.opcode.operands[0], instruction.operands[1]
        assert isinstance(source, Address)
        if not isinstance(source.base, Symbol) or source.base.name not in self.parameters:
            raise instruction.error("a parameter that the entry does not declare")
        value = self.parameters[source.base.name]
        if source.offset or value.width != form.width:
            raise instruction.error("part of a parameter", hint="parameters are read whole")
        self._write(instruction, form, kind, instruction.operands[0], value)

    def _address(self, instruction: Instruction, operand: Operand) -> Expression:
        assert isinstance(operand, Address)
        if not isinstance(operand.base, Register):
            raise instruction.error("an address that is not a register")
        base = self._register(instruction, operand.base, 64, False)
        if base.opaque:
            raise instruction.error("an address that depends on memory")
        return self.domain.add(base, self.domain.constant(operand.offset, 64), 64)

    def _load(self, instruction: Instruction, form: Form) -> None:
        kind = form.opcode.operands[0]
        address = self._address(instruction, instruction.operands[1])
        count = form.operand_count(kind)
        elements = [
            self.domain.load(
                self.domain.add(address, self.domain.constant(index * form.width // 8, 64), 64),
                form.width,
            )
            for index in range(count or 1)
        ]
        self._record(instruction, address, form.width * len(elements), None)
        self._write(
            instruction, form, kind, instruction.operands[0], elements if count else elements[0]
        )

    def _store(self, instruction: Instruction, form: Form) -> None:
        kind, operand = form.opcode.operands[1], instruction.operands[1]
        address = self._address(instruction, instruction.operands[0])
        value = self._source(instruction, form, kind, operand)
        elements = value if isinstance(value, list) else [value]
        word = self.domain.concatenate(elements, [form.width] * len(elements))
        self._record(instruction, address, word.width, word)

    def _record(
        self, instruction: Instruction, address: Expression, bits: int, value: Expression | None
    ) -> None:
        access = Access(instruction, address, bits, value, self.guard, self.steps)
        self.accesses.append(access)

    def _source(
        self, instruction: Instruction, form: Form, kind: OperandKind, operand: Operand
    ) -> Any:
        if kind.mark == "immediate":
            if not isinstance(operand, Number) or operand.bits:
                raise instruction.error(f"{kind.name} must be an integer constant")
            if not 0 <= operand.value <= _MOST_IMMEDIATE:
                raise instruction.error(f"{kind.name} must be from 0 to {_MOST_IMMEDIATE}")
            return operand.value
        width = form.operand_width(kind)
        if isinstance(operand, Vector):
            return [self._scalar(instruction, part, width, kind.loose) for part in operand.elements]
        return self._scalar(instruction, operand, width, kind.loose)

    def _scalar(
        self, instruction: Instruction, operand: Operand, width: int, loose: bool
    ) -> Expression:
        match operand:
            case Register():
                return self._register(instruction, operand, width, loose)
            case Negated(register):
                if width != 1:
                    raise instruction.error("only predicates are negated")
                value = self._register(instruction, register, width, loose)
                return self.domain.bit_xor(value, self.domain.constant(1, 1), width)
            case Number(value, bits):
                if (bits and bits != width) or not -(1 << (width - 1)) <= value < 1 << width:
                    raise instruction.error(f"the constant {value} does not fit {width} bits")
                return self.domain.constant(value, width)
        raise instruction.error("an operand that is neither a register nor a constant")

    def _register(
        self, instruction: Instruction, register: Register, width: int, loose: bool
    ) -> Expression:
        value = self.special.get(register.name) or self.registers.get(register.name)
        if value is None:
            if register.name in self.unknown:
                raise instruction.error(
                    f"{register.name} changes from step to step in a form that is not covered",
                    hint="a loop may change registers by constants",
                )
            known = register.name in self.entry.registers
            raise instruction.error(
                f"{register.name} is read before it is written"
                if known
                else f"unknown register {register.name}"
            )
        if value.width != width and not (loose and value.width > width):
            raise instruction.error(f"{register.name} has {value.width} bits, {width} are read")
        return self.domain.extract(value, 0, width)

    def _write(
        self,
        instruction: Instruction,
        form: Form,
        kind: OperandKind,
        operand: Operand,
        result: Expression | list[Expression],
    ) -> None:
        operands = operand.elements if isinstance(operand, Vector) else (operand,)
        results = result if isinstance(result, list) else [result]
        for target, value in zip(operands, results, strict=True):
            if isinstance(target, Sink):
                continue
            if not isinstance(target, Register) or target.name not in self.entry.registers:
                raise instruction.error("the destination is not a declared register")
            width = TYPES[self.entry.registers[target.name]]
            if value.width != width:
                if not (kind.loose and value.width < width):
                    raise instruction.error(
                        f"{target.name} has {width} bits, {value.width} are written"
                    )
                signed = form.operand_type(kind)[0] == "s"
                value = self.domain.extend(value, value.width, width, signed)
            self.registers[target.name] = self._guarded(instruction, target, value)

    def _guarded(self, instruction: Instruction, target: Register, value: Expression) -> Expression:
        if instruction.guard is None:
            return value
        guard = self._scalar(instruction, instruction.guard, 1, False)
        old = self._register(instruction, target, value.width, False)
        return self.domain.select(guard, value, old, value.width)
