"""Scopes of inline assembly: every register under a name that is unique in its entry.

Scopes map the names declared in them to unique ones, the innermost last. Braces in a body open
them (PTX ISA 5.4.3: a name hides those of outer scopes until its brace closes).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tylo.proofs.ptx.program import (
    Address,
    Box,
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


def renamed(instruction: Instruction, scopes: Sequence[Mapping[str, str]]) -> Instruction:
    """The instruction with every register under its unique name.

    A register may be declared without a percent sign, and then looks like a symbol.
    """

    def unique(name: str) -> str:
        return next((scope[name] for scope in reversed(scopes) if name in scope), name)

    def declared(name: str) -> bool:
        return any(name in scope for scope in scopes)

    def base(operand: Register | Symbol | Number) -> Register | Symbol | Number:
        if isinstance(operand, Number) or not declared(operand.name):
            return operand
        return Register(unique(operand.name))

    def side(operand: Register | Sink) -> Register | Sink:
        return operand if isinstance(operand, Sink) else Register(unique(operand.name))

    def rename(operand: Operand) -> Operand:
        match operand:
            case Register() | Symbol() | Number():
                return base(operand)
            case Address(inner, offset):
                return Address(base(inner), offset)
            case Box(inner, elements):
                starts = tuple(rename(element) for element in elements)
                return Box(Register(unique(inner.name)), starts)
            case Vector(elements):
                return Vector(tuple(rename(element) for element in elements))
            case Pair(first, second):
                return Pair(side(first), side(second))
            case Negated(register):
                return Negated(Register(unique(register.name)))
        return operand

    guard = instruction.guard
    if guard is not None:
        name = guard.register.name if isinstance(guard, Negated) else guard.name
        register = Register(unique(name))
        guard = Negated(register) if isinstance(guard, Negated) else register
    operands = tuple(rename(operand) for operand in instruction.operands)
    return replace(instruction, operands=operands, guard=guard)
