"""What instructions do with guarded values: pass them on, or use them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tylo.proofs.ptx.asynchronous.guarded import Tag
from tylo.proofs.ptx.asynchronous.operands import Operands
from tylo.proofs.ptx.asynchronous.state import State
from tylo.proofs.ptx.bitvector import Expression
from tylo.proofs.ptx.opcodes import Form
from tylo.proofs.ptx.program import Instruction, Register, registers_of


class Uses(Operands):
    """Operands, and the scores among them."""

    def of_guarded(
        self, state: State, instruction: Instruction, form: Form, sources: list[Any]
    ) -> Expression | None:
        """What moves, choices and factors make of guarded values; whatever else reads them uses
        them.
        """
        guarded = self.guarded
        flat = [
            part
            for each in sources
            for part in (each if isinstance(each, list) else [each])
            if isinstance(part, Expression)
        ]
        held = [each for each in flat if guarded.within(each)]
        if not held:
            return None
        name, *_ = instruction.mnemonic.split(".")
        if name == "mov" and len(flat) == 1 and form.width == 32:
            return held[0]
        if name == "selp" and form.width == 32:
            assert form.opcode.semantics is not None
            chosen: Expression = form.opcode.semantics(self.terms, form, *sources)
            if guarded.tag(chosen) is not None:
                return chosen
        if name == "mul" and form.type == "f32" and len(held) == 1:
            tag = guarded.pure(held[0])
            if tag is not None:
                return guarded.new(tag)
        for each in held:
            self.progress.use(state, instruction, each)
        return None

    def use_operands(self, state: State, instruction: Instruction, form: Form) -> None:
        """Whatever does more than arithmetic uses the guarded values that it reads."""
        for kind, operand in zip(form.opcode.operands, instruction.operands, strict=True):
            if kind.destination or (form.opcode.action == "multiply" and kind.name == "c"):
                continue
            for register in registers_of(operand):
                value = state.registers.get(register.name)
                if value is not None and self.guarded.within(value):
                    self.progress.use(state, instruction, value)

    def give(
        self,
        state: State,
        instruction: Instruction,
        tags: Sequence[Tag],
        results: Sequence[Register],
        added: Sequence[Expression],
    ) -> None:
        """Registers of results hold their scores; what they are added to are the same scores, or
        values that are used.
        """
        if tags and len(tags) != len(results):
            raise instruction.error(f"{len(results)} results, where {len(tags)} scores are")
        for place, value in enumerate(added):
            tag = self.guarded.pure(value)
            same = len(tags) == len(added) and tag is not None and tag.same(tags[place])
            if self.guarded.within(value) and not same:
                self.progress.use(state, instruction, value)
        facts = {id(fact): fact for tag in tags for fact in tag.known}
        self.reasoning.suppose(list(facts.values()))
        for tag, register in zip(tags, results, strict=False):
            state.registers[register.name] = self.guarded.new(tag)
