"""Symbolic registers: what one instruction does, for every thread and block at once.

Registers hold `Expression`s over ``thread``, ``block``, ``blocks``, sizes and one base address for
each pointer parameter. Memory accesses are recorded, with the condition under which they are
performed. A predicated instruction selects between its result and the old value. Where control goes
is the business of `paths`; what lanes and threads tell each other that of `shuffles` and
`shared_memory`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from tylo.proofs.ptx import copies, matrices, shared_memory, shuffles
from tylo.proofs.ptx.bitvector import BitVectors, Expression
from tylo.proofs.ptx.destinations import destination
from tylo.proofs.ptx.handed_over import Owners
from tylo.proofs.ptx.load_guards import LoadGuards
from tylo.proofs.ptx.opcodes import Form, OperandKind
from tylo.proofs.ptx.opcodes.unspecified import unspecified
from tylo.proofs.ptx.program import (
    Address,
    Entry,
    Instruction,
    Negated,
    Number,
    Operand,
    Register,
    Symbol,
    Variable,
    Vector,
)
from tylo.proofs.ptx.scene import Scene
from tylo.proofs.ptx.shared_memory import Landing, SharedAccess

_MOST_IMMEDIATE = 255  # a truth table of three bits


@dataclass(frozen=True, slots=True)
class Access:
    """A load or a store of `bits` at `address`; `value` is what a store writes.

    It is performed where `guard` is one: once, or in a loop once for each value of its `counters`,
    ``round`` and ``step``, for which the guard is one.
    """

    instruction: Instruction
    address: Expression
    bits: int
    value: Expression | None
    guard: Expression
    counters: frozenset[str] = frozenset()

    @property
    def looped(self) -> bool:
        """Whether it is performed in steps."""
        return "step" in self.counters


@dataclass(frozen=True, slots=True)
class Unspecified:
    """An instruction whose result PTX leaves open where `condition` is one: what must not be."""

    instruction: Instruction
    condition: Expression


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that must hold of a loop, a shuffle or a barrier, stated by its violation."""

    label: str
    instruction: Instruction
    violation: Expression
    found: Expression | str
    wanted: Expression | str
    spoken: tuple[tuple[Expression, Expression], ...] = ()  # as an `Obligation` has them


@dataclass(slots=True)
class Record:
    """What a kernel does to memory, in the order of the text, and what must hold of it."""

    accesses: list[Access] = field(default_factory=list)
    unspecified: list[Unspecified] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    shared: list[SharedAccess] = field(default_factory=list)
    landings: list[Landing] = field(default_factory=list)
    owners: dict[str, Owners] = field(default_factory=dict)  # worked out from `shared`
    loads: LoadGuards = field(default_factory=LoadGuards)

    @property
    def _lists(self) -> tuple[list[Any], ...]:
        return self.accesses, self.unspecified, self.facts, self.shared, self.landings

    def mark(self) -> tuple[int, ...]:
        """Where the record stands, to come back to by `rewind`."""
        return tuple(map(len, self._lists))

    def rewind(self, mark: tuple[int, ...]) -> None:
        """Forget what came after a mark."""
        for kept, length in zip(self._lists, mark, strict=True):
            del kept[length:]
        self.loads.seen = min(self.loads.seen, len(self.accesses))

    def guards(self, domain: BitVectors) -> LoadGuards:
        """Where each address is loaded from; by loads that were forgotten too, which says less."""
        new = [each for each in self.accesses[self.loads.seen :] if each.value is None]
        for each in new:
            self.loads.add(domain, each.address, each.bits, each.guard)
        self.loads.seen = len(self.accesses)
        return self.loads


@dataclass(slots=True)
class Machine:
    """The registers along one path; what it does to memory goes into the `record`."""

    scene: Scene
    entry: Entry
    parameters: dict[str, Expression]
    special: dict[str, Expression]
    variables: dict[str, Variable]
    guard: Expression
    record: Record
    registers: dict[str, Expression] = field(default_factory=dict)
    counters: frozenset[str] = frozenset()  # of the loops around, of any number of steps
    # Ways that parted and have not met again: nobody may wait for a barrier there.
    parted: bool = False
    interval: int = 0  # barriers passed
    groups: int = 0  # of copies, committed
    # Registers that a loop changes from step to step in no form that is known.
    unknown: frozenset[str] = frozenset()

    @property
    def domain(self) -> BitVectors:
        """The domain of all expressions."""
        return self.scene.domain

    @property
    def looped(self) -> bool:
        """Whether a loop of any number of steps is around."""
        return bool(self.counters)

    def fork(self, condition: Expression | None = None) -> Machine:
        """A copy that goes its own way, where a condition holds."""
        guard = self.guard
        if condition is not None:
            guard = self.domain.bit_and(guard, condition, 1)
        return replace(self, guard=guard, registers=dict(self.registers))

    def condition(self, instruction: Instruction) -> Expression:
        """The guard of an instruction; one where it has none."""
        if instruction.guard is None:
            return self.domain.constant(1, 1)
        return self.scalar(instruction, instruction.guard, 1, False)

    def step(self, instruction: Instruction, form: Form) -> None:
        """Carry out an instruction that is not control flow."""
        space = form.chosen.get("space", "generic")
        match form.opcode.action:
            case "" if space.startswith("shared"):
                shared_memory.convert(self, instruction, form)
            case "" if space not in ("generic", "global"):
                raise instruction.error("not in the global space")
            case "":
                self._compute(instruction, form)
            case "parameter":
                self._parameter(instruction, form)
            case "load" if space == "global":
                self._load(instruction, form)
            case "store" if space == "global":
                self._store(instruction, form)
            case "load" if space.startswith("shared"):
                shared_memory.load(self, instruction, form)
            case "store" if space.startswith("shared"):
                shared_memory.store(self, instruction, form)
            case "load" | "store":
                raise instruction.error("not in the global space")
            case "barrier":
                shared_memory.barrier(self, instruction, form)
            case "shuffle":
                shuffles.shuffle(self, instruction, form)
            case "vote" | "ballot" | "match" | "reduce":
                shuffles.opaque(self, instruction, form)
            case "warp barrier" | "fence":
                shuffles.no_change(self, instruction, form)
            case "copy":
                copies.copy(self, instruction, form)
            case "commit":
                copies.commit(self, instruction)
            case "wait" | "wait all":
                copies.wait(self, instruction, form)
            case "load matrix":
                matrices.load(self, instruction, form)
            case "store matrix":
                matrices.store(self, instruction, form)
            case "move matrix":
                matrices.move(self, instruction, form)
            case "multiply":
                matrices.multiply(self, instruction, form)
            case action:
                raise instruction.error(f"a {action}", hint="the proof does not cover it")

    def _compute(self, instruction: Instruction, form: Form) -> None:
        assert form.opcode.semantics is not None
        pairs = list(zip(form.opcode.operands, instruction.operands, strict=True))
        sources = [
            self.source(instruction, form, kind, operand)
            for kind, operand in pairs
            if not kind.destination
        ]
        self._refuse_unspecified(instruction, form, sources)
        result = form.opcode.semantics(self.domain, form, *sources)
        ((kind, operand),) = [pair for pair in pairs if pair[0].destination]
        self.write(instruction, form, kind, operand, result)

    def _refuse_unspecified(self, instruction: Instruction, form: Form, sources: list[Any]) -> None:
        """Record where the instruction has no specified result, if there is any such place."""
        where = unspecified(self.domain, form, sources)
        if where is not None:
            self.unspecified(instruction, where)

    def unspecified(self, instruction: Instruction, where: Expression) -> None:
        """Record that an instruction has no specified result where a condition is one."""
        both = self.domain.bit_and(self.condition(instruction), where, 1)
        condition = self.domain.bit_and(self.guard, both, 1)
        if condition.value == 0:
            return
        if condition.opaque:
            raise instruction.error(
                "an operand that depends on memory, and for which the result may be unspecified"
            )
        self.record.unspecified.append(Unspecified(instruction, condition))

    def _parameter(self, instruction: Instruction, form: Form) -> None:
        kind, source = form.opcode.operands[0], instruction.operands[1]
        assert isinstance(source, Address)
        if not isinstance(source.base, Symbol) or source.base.name not in self.parameters:
            raise instruction.error("a parameter that the entry does not declare")
        value = self.parameters[source.base.name]
        if value.operator == "variable" and form.width < value.width:
            value = self.domain.extract(value, 0, form.width)  # the low bytes of a size come first
        if source.offset or value.width != form.width:
            raise instruction.error("part of a parameter", hint="parameters are read whole")
        self.write(instruction, form, kind, instruction.operands[0], value)

    def address(self, instruction: Instruction, operand: Operand) -> Expression:
        """The address that an operand of the global space means."""
        assert isinstance(operand, Address)
        if not isinstance(operand.base, Register):
            raise instruction.error("an address that is not a register")
        base = self.register(instruction, operand.base, 64, False)
        if base.opaque:
            raise instruction.error(
                "an address that depends on memory",
                hint="claims say where elements are by thread, block and sizes, so that a gather "
                "by an index in memory has none; check the kernel with a term for the index",
            )
        return self.domain.add(base, self.domain.constant(operand.offset, 64), 64)

    def _load(self, instruction: Instruction, form: Form) -> None:
        kind = form.opcode.operands[0]
        address = self.address(instruction, instruction.operands[1])
        count = form.operand_count(kind)
        elements = [
            self.domain.load(
                self.domain.add(address, self.domain.constant(index * form.width // 8, 64), 64),
                form.width,
            )
            for index in range(count or 1)
        ]
        self._record(instruction, address, form.width * len(elements), None)
        self.write(
            instruction, form, kind, instruction.operands[0], elements if count else elements[0]
        )

    def _store(self, instruction: Instruction, form: Form) -> None:
        kind, operand = form.opcode.operands[1], instruction.operands[1]
        address = self.address(instruction, instruction.operands[0])
        value = self.source(instruction, form, kind, operand)
        elements = value if isinstance(value, list) else [value]
        word = self.domain.concatenate(elements, [form.width] * len(elements))
        self._record(instruction, address, word.width, word)

    def fact(
        self,
        label: str,
        instruction: Instruction,
        violation: Expression,
        found: Expression | str,
        wanted: Expression | str,
    ) -> None:
        """Record something that must hold, by its violation."""
        self.record.facts.append(Fact(label, instruction, violation, found, wanted))

    def taken(self, instruction: Instruction) -> Expression:
        """Where an instruction is performed: what depends on memory may be so or not."""
        condition = self.scene.decision(self.condition(instruction))
        return self.domain.bit_and(self.guard, condition, 1)

    def _record(
        self, instruction: Instruction, address: Expression, bits: int, value: Expression | None
    ) -> None:
        access = Access(instruction, address, bits, value, self.taken(instruction), self.counters)
        self.record.accesses.append(access)

    def reads(
        self, instruction: Instruction, address: Expression, bits: int, guard: Expression
    ) -> None:
        """Record a read of global memory where a condition holds."""
        self.record.accesses.append(Access(instruction, address, bits, None, guard, self.counters))

    def source(
        self, instruction: Instruction, form: Form, kind: OperandKind, operand: Operand
    ) -> Any:
        """The value of a source operand; a list for a vector."""
        if kind.mark == "immediate":
            if not isinstance(operand, Number) or operand.bits:
                raise instruction.error(f"{kind.name} must be an integer constant")
            if not 0 <= operand.value <= _MOST_IMMEDIATE:
                raise instruction.error(f"{kind.name} must be from 0 to {_MOST_IMMEDIATE}")
            return operand.value
        width = form.operand_width(kind)
        if isinstance(operand, Vector):
            return [self.scalar(instruction, part, width, kind.loose) for part in operand.elements]
        return self.scalar(instruction, operand, width, kind.loose)

    def scalar(
        self, instruction: Instruction, operand: Operand, width: int, loose: bool
    ) -> Expression:
        """The value of an operand that is no vector."""
        match operand:
            case Register():
                return self.register(instruction, operand, width, loose)
            case Negated(register):
                if width != 1:
                    raise instruction.error("only predicates are negated")
                value = self.register(instruction, register, width, loose)
                return self.domain.bit_xor(value, self.domain.constant(1, 1), width)
            case Number(value, bits):
                if (bits and bits != width) or not -(1 << (width - 1)) <= value < 1 << width:
                    raise instruction.error(f"the constant {value} does not fit {width} bits")
                return self.domain.constant(value, width)
            case Symbol(name) if name in self.variables and width in (32, 64):
                return self.domain.extend(
                    self.scene.shared_base(self.variables[name]), 32, width, False
                )
        raise instruction.error("an operand that is neither a register nor a constant")

    def register(
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

    def write(
        self,
        instruction: Instruction,
        form: Form,
        kind: OperandKind,
        operand: Operand,
        result: Expression | list[Expression],
    ) -> None:
        """Give a destination its value, where the instruction is performed."""
        operands = operand.elements if isinstance(operand, Vector) else (operand,)
        results = result if isinstance(result, list) else [result]
        for target, value in zip(operands, results, strict=True):
            found = destination(self.domain, self.entry, instruction, form, kind, target, value)
            if found is not None:
                register, fitted = found
                self.registers[register.name] = self._guarded(instruction, register, fitted)

    def _guarded(self, instruction: Instruction, target: Register, value: Expression) -> Expression:
        if instruction.guard is None:
            return value
        guard = self.scalar(instruction, instruction.guard, 1, False)
        old = self.register(instruction, target, value.width, False)
        return self.domain.select(guard, value, old, value.width)
