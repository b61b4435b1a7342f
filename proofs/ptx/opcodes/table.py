"""How an opcode is written down, and how an instruction finds its entry.

A `syntax` is a line as the PTX ISA prints it. Segments in braces are optional, segments listed in
`choices` stand for any of their alternatives, and all others are literal:

>>> add = Opcode("add.type  d, a, b", "9.7.1.1", {"type": ("u32", "s32")})
>>> form = add.match("add.s32")
>>> form.chosen, form.width, form.signed
({'type': 's32'}, 32, True)
>>> add.match("add.f32") is None
True

Each operand has the width of ``.type`` unless a mark follows it: ``d:wide`` is twice as wide,
``a:half`` and ``a:quarter`` are narrower, ``d:pred`` is a predicate, ``b:u32`` has that type,
``d:dtype`` that of another chosen segment, ``d*`` is a vector as long as ``.vec`` says and ``d*2``
one of two. A register may be wider than a ``d~`` or ``a~`` operand: loads, stores and conversions
extend and truncate (PTX ISA 9.4.1). ``[a]`` is an address, ``[a]*4`` a tensor's map with four
coordinates, ``d|p`` a result and the predicate beside it, ``lut:immediate`` an integer constant,
one of its `choices` where it has any, and ``t:label`` a label.

`semantics(domain, form, *sources)` returns the destination's value or, for `multiple` results, one
for each. Instructions that touch more than registers have an `action` in place of semantics, which
whoever executes carries out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

from tylo.proofs.ptx.program import (
    TYPES,
    Address,
    Box,
    Instruction,
    Number,
    Operand,
    Pair,
    Vector,
)

# What a semantics function takes besides the domain depends on its operands: any callable.
Semantics: TypeAlias = Callable[..., Any]

_OPERAND = re.compile(
    r"(?P<address>\[)?(?P<name>\w+)\]?(?P<loose>~)?(?P<vector>\*\d*)?"
    r"(?P<pair>\|p)?(?::(?P<mark>\w+))?$"
)
# Instructions that are known and not read yet: they work beside the threads that issue them, or
# on more blocks than one.
_LATER = {
    "mbarrier": "a barrier object in shared memory (PTX ISA 9.7.13.15)",
    "cp.async.mbarrier": "a copy that arrives at a barrier object (PTX ISA 9.7.13.15)",
    "cp.async.bulk": "a bulk copy (PTX ISA 9.7.9.25.4)",
    "cp.reduce.async.bulk": "a bulk reduction (PTX ISA 9.7.9.25.4)",
    "red.async": "an asynchronous update (PTX ISA 9.7.13.8)",
    "st.async": "an asynchronous store (PTX ISA 9.7.9.12)",
    "wgmma": "a product of a warp group (PTX ISA 9.7.15)",
    "tcgen05": "a product in tensor memory (PTX ISA 9.7.16)",
    "barrier.cluster": "a barrier of a cluster (PTX ISA 9.7.13.3)",
    "mapa": "an address in another block of the cluster (PTX ISA 9.7.9.23)",
    "getctarank": "a rank in the cluster (PTX ISA 9.7.9.24)",
    "fence.proxy": "a fence between ways to memory (PTX ISA 9.7.13.4)",
    "setmaxnreg": "a change of the number of registers (PTX ISA 9.7.19.5)",
    "griddepcontrol": "an order between grids (PTX ISA 9.7.13.14)",
}
# Marks that scale the instruction's type: numerator and denominator.
_SCALED = {"wide": (2, 1), "half": (1, 2), "quarter": (1, 4)}


@dataclass(frozen=True, slots=True)
class OperandKind:
    """One operand of a syntax line: its name, and how wide it is."""

    name: str
    mark: str
    vector: str
    loose: bool
    address: bool
    pair: bool

    @property
    def destination(self) -> bool:
        """Destinations are named d, p or q; all others are sources."""
        return self.name in ("d", "p", "q")


@dataclass(frozen=True, eq=False)
class Opcode:
    """An instruction of the PTX ISA: syntax, section, alternatives, meaning, and the first target
    architecture that has it (80 for ``sm_80``; zero where all of them do)."""

    syntax: str
    section: str
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    semantics: Semantics | None = None
    action: str = ""
    since: int = 0

    @cached_property
    def operands(self) -> tuple[OperandKind, ...]:
        """The operands of the syntax line, in order."""
        _, _, text = self.syntax.partition(" ")
        kinds = []
        for item in filter(None, (part.strip() for part in text.split(","))):
            match = _OPERAND.match(item)
            assert match, f"malformed syntax {self.syntax!r}"
            kinds.append(
                OperandKind(
                    match["name"],
                    match["mark"] or "type",
                    match["vector"] or "",
                    bool(match["loose"]),
                    bool(match["address"]),
                    bool(match["pair"]),
                )
            )
        return tuple(kinds)

    @cached_property
    def _segments(self) -> tuple[tuple[str, bool], ...]:
        head = self.syntax.split(" ")[0]
        return tuple(
            (name, bool(brace)) for brace, name in re.findall(r"(\{?)\.?([\w:]+)\}?", head)
        )

    @property
    def mnemonic(self) -> str:
        """The first segment, by which entries are found."""
        return self._segments[0][0]

    @cached_property
    def _spelling(self) -> re.Pattern[str]:
        text = ""
        for index, (name, optional) in enumerate(self._segments):
            alternatives = "|".join(map(re.escape, self.choices.get(name, (name,))))
            if f"(?P<{name}>" in text:
                part = f"(?P={name})"
            else:
                part = f"(?P<{name}>{alternatives})" if name in self.choices else alternatives
            part = f"\\.{part}" if index else part
            text += f"(?:{part})?" if optional else part
        return re.compile(text)

    def match(self, mnemonic: str) -> Form | None:
        """The form of a written mnemonic, or `None` when the syntax does not allow it."""
        found = self._spelling.fullmatch(mnemonic)
        if found is None:
            return None
        return Form(
            self, mnemonic, {name: each for name, each in found.groupdict().items() if each}
        )


@dataclass(frozen=True)
class Form:
    """An opcode with every alternative chosen."""

    opcode: Opcode
    mnemonic: str
    chosen: Mapping[str, str]

    @property
    def type(self) -> str:
        """The instruction type: the segment called ``.type``."""
        return self.chosen["type"]

    @property
    def width(self) -> int:
        """The width of the instruction type in bits."""
        return TYPES[self.type]

    @property
    def signed(self) -> bool:
        """Whether the instruction type is a signed integer."""
        return self.type[0] == "s"

    @property
    def count(self) -> int:
        """The number of elements that ``.vec`` asks for."""
        return int(self.chosen.get("vec", "v1")[1:])

    def operand_type(self, kind: OperandKind) -> str:
        """The type of one operand, or of one element of a vector operand."""
        if kind.mark in _SCALED:
            numerator, denominator = _SCALED[kind.mark]
            return f"{self.type[0]}{self.width * numerator // denominator}"
        return self.chosen.get(kind.mark, kind.mark)

    def operand_width(self, kind: OperandKind) -> int:
        """The width of `operand_type` in bits."""
        return TYPES[self.operand_type(kind)]

    def operand_count(self, kind: OperandKind) -> int:
        """How many elements a vector operand has; zero says that it is a scalar."""
        if not kind.vector:
            return 0
        if kind.vector == "*":
            return self.count if "vec" in self.chosen else 0
        return int(kind.vector[1:])


def find(
    table: tuple[Opcode, ...], instruction: Instruction, target: Sequence[str] | None = None
) -> Form:
    """The form of an instruction; raises `PtxError` naming its line when no entry covers it.

    `target` is that of the module: an instruction that its architecture lacks is refused.
    """
    head = instruction.mnemonic.partition(".")[0]
    known = _by_name(table).get(head, [])
    for opcode in known:
        form = opcode.match(instruction.mnemonic)
        if form is not None and _operands_fit(form, instruction):
            if target is not None and _architecture(target) < opcode.since:
                raise instruction.error(
                    f"{target[0]} does not have this instruction",
                    hint=f"compile for sm_{opcode.since} or later",
                )
            return form
    later = next((why for name, why in _LATER.items() if _named(name, instruction)), "")
    if later:
        raise instruction.error(
            f"the opcode table does not cover this instruction: {later}",
            hint="it comes with Hopper's asynchronous instructions",
        )
    raise instruction.error(
        "the opcode table does not cover this instruction",
        hint="known forms: "
        + (
            ", ".join(dict.fromkeys(opcode.syntax.split(" ")[0] for opcode in known))
            or "none of this name"
        ),
    )


@lru_cache(maxsize=8)
def _by_name(table: tuple[Opcode, ...]) -> dict[str, list[Opcode]]:
    found: dict[str, list[Opcode]] = {}
    for opcode in table:
        found.setdefault(opcode.mnemonic, []).append(opcode)
    return found


def _named(name: str, instruction: Instruction) -> bool:
    return f"{instruction.mnemonic}.".startswith(f"{name}.")


def _architecture(target: Sequence[str]) -> int:
    """The number of an architecture: 90 for ``sm_90a``; zero where there is none."""
    digits = re.match(r"sm_(\d+)", target[0])
    return int(digits[1]) if digits else 0


def _operands_fit(form: Form, instruction: Instruction) -> bool:
    kinds = form.opcode.operands
    return len(kinds) == len(instruction.operands) and all(
        _fits(form, kind, operand)
        for kind, operand in zip(kinds, instruction.operands, strict=True)
    )


def _fits(form: Form, kind: OperandKind, operand: Operand) -> bool:
    match operand:
        case Address():
            return kind.address and not kind.vector
        case Box(_, coordinates):
            return kind.address and len(coordinates) == form.operand_count(kind)
        case Pair():
            return kind.pair
        case Vector(elements):
            return len(elements) == form.operand_count(kind) and all(
                _fits_scalar(form, kind, element) for element in elements
            )
        case _:
            return not (kind.address or kind.pair or form.operand_count(kind)) and (
                _fits_scalar(form, kind, operand)
            )


def _fits_scalar(form: Form, kind: OperandKind, operand: Operand) -> bool:
    """A constant is one of the choices, where there are any, and none but a float for floats."""
    if kind.name in form.opcode.choices:
        return isinstance(operand, Number) and str(operand.value) in form.opcode.choices[kind.name]
    if isinstance(operand, Number) and kind.mark not in ("immediate", "label"):
        # Integer constants do not become floats, nor floats integers (PTX ISA 4.5).
        type_ = form.operand_type(kind)
        return type_[0] not in "us" and "x2" not in type_ if operand.bits else "f" not in type_
    return True
