"""What a kernel with roles is launched with: threads by lane, warp and group, arguments, memory.

A `Launch` says what parameters there are and what is assumed of them. Tensor maps are known by
where they lie; of a structure each field is a variable, or a constant where the launch says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tylo.layouts.errors import PtxError
from tylo.proofs.ptx.asynchronous.terms import Level, Terms
from tylo.proofs.ptx.bitvector import Expression
from tylo.proofs.ptx.program import Instruction, Module

WARPS, LANE_BITS, WARP_BITS, GROUP_BITS = 4, 5, 2, 3


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a structure: its name, bits, and its value where the launch fixes it."""

    name: str
    bits: int
    value: int | None = None


@dataclass(frozen=True, slots=True)
class Argument:
    """A parameter by value: a tensor map, or a structure of fields, each at its offset in bytes."""

    name: str
    bytes: int
    alignment: int
    fields: tuple[tuple[int, Field], ...] = ()


@dataclass(frozen=True)
class Launch:
    """Groups of four warps, arguments, dynamic shared memory and where it ends at most; bytes of a
    table in static shared memory, and where in the last argument 16-bit numbers for it begin.

    `assumed` makes conditions of the scene's variables.
    """

    entry: str
    groups: int
    arguments: tuple[Argument, ...]
    shared_bytes: int
    most_shared: int
    table_bytes: int
    table_offset: int
    assumed: Callable[[Scene], list[Expression]]

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * WARPS * self.groups


class Scene:
    """The variables of one launch."""

    def __init__(self, launch: Launch) -> None:
        self.launch, self.terms = launch, Terms()
        terms = self.terms
        self.lane = terms.named("lane", LANE_BITS, Level.LANE)
        self.warp = terms.named("warp", WARP_BITS, Level.WARP)
        self.group = terms.named("group", GROUP_BITS, Level.GROUP)
        self.block = terms.named("block", 32, Level.BLOCK)
        self.blocks = terms.named("blocks", 32, Level.BLOCK)
        self.elected = terms.named("elected", 1, Level.LANE)
        self.memory = terms.named("memory", 32, Level.BLOCK)
        self.table = terms.named("table", 32, Level.BLOCK)
        self.fields = {
            field.name: terms.constant(field.value, field.bits)
            if field.value is not None
            else terms.named(field.name, field.bits, Level.BLOCK)
            for argument in launch.arguments
            for _, field in argument.fields
        }
        self._places = [
            terms.named(f"parameter.{number}", 64, Level.BLOCK)
            for number in range(len(launch.arguments))
        ]
        self.maps = {
            argument.name: place
            for argument, place in zip(launch.arguments, self._places, strict=True)
            if not argument.fields
        }
        zero, one = terms.constant(0, 32), terms.constant(1, 32)
        parts = [self.lane, self.warp, self.group]
        rest = 32 - sum(part.width for part in parts)
        thread = terms.concatenate(
            [*parts, terms.constant(0, rest)], [*(part.width for part in parts), rest]
        )
        self.special = {
            "%tid.x": thread,
            "%laneid": terms.extend(self.lane, LANE_BITS, 32, False),
            "%ntid.x": terms.constant(launch.threads, 32),
            "%ctaid.x": self.block,
            "%nctaid.x": self.blocks,
            **{f"%{name}.{axis}": zero for name in ("tid", "ctaid") for axis in "yz"},
            **{f"%{name}.{axis}": one for name in ("ntid", "nctaid") for axis in "yz"},
        }
        self.symbols: dict[str, Expression] = {}
        # By what their terms give at a few points.
        self.defined: dict[tuple[int, ...], list[tuple[Expression, Expression]]] = {}

    def define(self, names: Sequence[tuple[Expression, Expression]]) -> None:
        """Names for terms: registers that hold one of them are said to hold its variable."""
        for variable, term in names:
            self.defined.setdefault(self.terms.fingerprint(term), []).append((variable, term))

    def facts(self) -> list[Expression]:
        """What is assumed of every variable."""
        terms = self.terms
        count = terms.constant(self.launch.groups, GROUP_BITS)
        low = terms.extract(self.memory, 0, 4)
        most = terms.constant(self.launch.most_shared - self.launch.shared_bytes + 1, 32)
        return [
            terms.less(self.group, count, GROUP_BITS, False),
            terms.equal(low, terms.constant(0, 4), 4),
            terms.less(self.memory, most, 32, False),
            terms.less(self.block, self.blocks, 32, False),
            *self.launch.assumed(self),
        ]

    def enter(self, module: Module, architecture: str) -> None:
        """Take a module's names; `PtxError` for one that is not of this launch."""
        launch = self.launch
        if module.target != (architecture,):
            raise PtxError(f"the module is for {', '.join(module.target)}", hint=architecture)
        entry = module.entry(launch.entry)
        where = f"line {entry.line}: {entry.name}"
        if entry.limits.get("maxntid", ()) != (launch.threads, 1, 1) or "reqntid" in entry.limits:
            raise PtxError(
                f"{where} is limited to {entry.limits.get('maxntid')} threads",
                hint=f"the launch has {launch.threads}",
            )
        if entry.limits.get("maxclusterrank"):
            raise PtxError(f"{where} is for clusters", hint="the launch has none")
        declared = [(p.size, p.alignment, p.type) for p in entry.parameters]
        wanted = [(each.bytes, each.alignment, "b8") for each in launch.arguments]
        if declared != wanted:
            raise PtxError(f"{where} has parameters {declared}", hint=f"the launch has {wanted}")
        variables = [*module.variables, *entry.variables]
        wanted_variables = [("shared", 0, 16), ("shared", launch.table_bytes, 2)]
        if [(v.space, v.size, v.alignment) for v in variables] != wanted_variables:
            raise PtxError(
                f"{where} has other variables than dynamic shared memory and a table",
                hint="declare one array of unstated length, aligned to 16 bytes, and the table",
            )
        names = [variable.name for variable in variables]
        self.symbols = dict(zip(names, (self.memory, self.table), strict=True)) | {
            parameter.name: place
            for parameter, place in zip(entry.parameters, self._places, strict=True)
        }

    def symbol(self, instruction: Instruction, name: str, width: int) -> Expression:
        """The address that a name means."""
        value = self.symbols.get(name)
        if value is None or width < value.width:
            raise instruction.error(f"{name} is no name of an address of {width} bits")
        return self.terms.extend(value, value.width, width, False)

    def parameter_of(self, instruction: Instruction, address: Expression) -> tuple[int, int]:
        """The number of the parameter that an address lies in, and the offset there."""
        base, offset = address, 0
        if address.operator == "bvadd" and address.operands[1].value is not None:
            base, offset = address.operands[0], int(address.operands[1].value)
        for number, place in enumerate(self._places):
            if base is place and 0 <= offset < self.launch.arguments[number].bytes:
                return number, offset
        raise instruction.error("an address that is in no parameter")

    def listed(self, index: Expression) -> Expression:
        """The number at a place of the last argument's table; the place in 32 bits."""
        form = self.terms.normal(index)
        return self.terms.named(f"listed.{form.serial}", 16, Level.LANE)

    def place_in_table(self, instruction: Instruction, address: Expression) -> Expression:
        """The place, in 32 bits, of an address ``parameter + offset + 2 * place``."""
        terms, offset = self.terms, self.launch.table_offset
        start = terms.add(self._places[-1], terms.constant(offset, 64), 64)
        inner = terms.normal(terms.subtract(address, start, 64))
        if inner.operator == "bvmul" and inner.operands[1].value == 2:
            place = inner.operands[0]
            if place.operator == "sign_extend" and place.operands[0].width == 32:
                return place.operands[0]
        raise instruction.error("an address that is in no parameter")

    def field(self, instruction: Instruction, address: Expression, bits: int) -> Expression:
        """The field of a structure at an address of the parameters."""
        number, offset = self.parameter_of(instruction, address)
        field = dict(self.launch.arguments[number].fields).get(offset)
        if field is None or field.bits != bits:
            raise instruction.error(f"no field of {bits} bits at byte {offset} of a parameter")
        return self.fields[field.name]

    def in_lane(self, value: Expression, lane: int) -> Expression:
        """What a lane of the warp holds of a value; `value` if that is unknown."""
        terms = self.terms
        known = terms.constant(lane, LANE_BITS)
        moved = terms.substitute([value], {"lane": known})[0]
        if terms.level(moved) <= Level.WARP:
            return moved
        return terms.fresh(value.width, Level.WARP)

    def at(self, offset: int, *parts: Expression) -> Expression:
        """A sum of 32-bit terms and a constant."""
        total = self.terms.constant(offset, 32)
        for part in parts:
            total = self.terms.add(part, total, 32)
        return total

    def times(self, value: Expression, factor: int) -> Expression:
        """A value of any width up to 32 bits, times a constant, in 32 bits."""
        wide = self.terms.extend(value, value.width, 32, False)
        return self.terms.multiply(wide, self.terms.constant(factor, 32), 32)
