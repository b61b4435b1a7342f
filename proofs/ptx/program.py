"""PTX as values: what the parser returns.

Every instruction keeps the line, the column and the text it came from, so that whatever is said
about it later can point there. `TYPES` are the fundamental types with their widths in bits
(PTX ISA 5.2.1; predicates count as one bit).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

from tylo.layouts.errors import PtxError

TYPES: Mapping[str, int] = MappingProxyType(
    {
        "pred": 1,
        **{f"{kind}{width}": width for kind in "bus" for width in (8, 16, 32, 64)},
        "b128": 128,
        **{"f16": 16, "f32": 32, "f64": 64, "bf16": 16},
        **{"f16x2": 32, "bf16x2": 32},
    }
)


@dataclass(frozen=True, slots=True)
class Register:
    """A register, or a special register such as ``%tid.x``."""

    name: str


@dataclass(frozen=True, slots=True)
class Number:
    """An integer constant; `bits` is the width of a ``0f`` or ``0d`` bit pattern, else zero."""

    value: int
    bits: int = 0


@dataclass(frozen=True, slots=True)
class Symbol:
    """The name of a parameter, a variable or a label."""

    name: str


@dataclass(frozen=True, slots=True)
class Sink:
    """The bit bucket ``_``: a destination nobody reads."""


@dataclass(frozen=True, slots=True)
class Address:
    """``[base+offset]``."""

    base: Register | Symbol | Number
    offset: int


@dataclass(frozen=True, slots=True)
class Box:
    """``[base, {c0, c1, ...}]``: where a box of a tensor starts; its map is at `base`."""

    base: Register
    coordinates: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Vector:
    """``{a, b, ...}``."""

    elements: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """``d|p``: a destination and the predicate beside it."""

    first: Register | Sink
    second: Register | Sink


@dataclass(frozen=True, slots=True)
class Negated:
    """``!p``: a predicate read as its complement."""

    register: Register


Operand: TypeAlias = Register | Number | Symbol | Sink | Address | Box | Vector | Pair | Negated


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction, ``@guard mnemonic operands;``, and where it stands."""

    mnemonic: str
    operands: tuple[Operand, ...]
    guard: Register | Negated | None
    line: int
    column: int
    text: str

    def error(self, message: str, hint: str = "") -> PtxError:
        """A `PtxError` that points at this instruction."""
        return PtxError(
            f"line {self.line}, column {self.column}: `{self.text}`: {message}", hint=hint
        )


@dataclass(frozen=True, slots=True)
class Variable:
    """A parameter, or a variable of a state space: its type, alignment and number of elements.

    `count` is 1 for a scalar and 0 for an array of unstated length. `pointed` is the state space
    and alignment that ``.ptr`` promises of what a parameter points to; `None` where it does not.
    `initial` is what an initialiser says that the bytes are.
    """

    name: str
    space: str
    type: str
    alignment: int
    count: int
    line: int
    pointed: tuple[str, int] | None = None
    initial: bytes | None = None

    @property
    def size(self) -> int:
        """The extent in bytes."""
        return TYPES[self.type] // 8 * self.count


@dataclass(frozen=True, slots=True)
class Entry:
    """A kernel: parameters, registers by name, variables, and its body.

    `labels` gives the index in `body` of the instruction that follows each label. `limits` keeps
    the performance directives, such as ``{"maxntid": (128, 1, 1)}``. `used_bytes` says of a load,
    by its index in `body`, which of its bytes are used, a bit for each: others may hold anything.
    """

    name: str
    parameters: tuple[Variable, ...]
    registers: Mapping[str, str]
    variables: tuple[Variable, ...]
    limits: Mapping[str, tuple[int, ...]]
    body: tuple[Instruction, ...]
    labels: Mapping[str, int]
    line: int
    used_bytes: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Module:
    """A PTX file: its version, its target, its variables and its entries."""

    version: str
    target: tuple[str, ...]
    address_size: int
    variables: tuple[Variable, ...]
    entries: tuple[Entry, ...]

    def entry(self, name: str) -> Entry:
        """The entry of that name; raises `PtxError` when there is none."""
        for entry in self.entries:
            if entry.name == name:
                return entry
        raise PtxError(
            f"no entry {name!r}",
            hint=f"the module has {', '.join(entry.name for entry in self.entries) or 'none'}",
        )


def registers_of(operand: Operand) -> Iterator[Register]:
    """Every register an operand mentions."""
    match operand:
        case Register():
            yield operand
        case Negated(register):
            yield register
        case Address(base, _):
            yield from registers_of(base)
        case Box(base, elements):
            yield base
            for element in elements:
                yield from registers_of(element)
        case Vector(elements):
            for element in elements:
                yield from registers_of(element)
        case Pair(first, second):
            yield from registers_of(first)
            yield from registers_of(second)
        case _:
            return
