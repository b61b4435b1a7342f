"""Launching PTX on the machine: arguments, blocks in waves, and what came of it.

Arguments are numpy arrays (global memory; written in place), integers, or floats for `.f32` and
`.f64` parameters. `Unwritten(array)` is memory that holds no value yet: to read it is a fault.
Arrays begin at multiples of a large power of two; `Placed(array, n)` begins n bytes after one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tylo.layouts.errors import LaunchError
from tylo.proofs.ptx.machine.decode import Decoder, Registers, Step
from tylo.proofs.ptx.machine.lockstep import Lockstep
from tylo.proofs.ptx.machine.memory import Region, Space, allocate
from tylo.proofs.ptx.machine.races import Shadow
from tylo.proofs.ptx.machine.state import State
from tylo.proofs.ptx.opcodes import OPCODES, Form, find
from tylo.proofs.ptx.parser import parse
from tylo.proofs.ptx.program import TYPES, Entry, Module, Variable

_GLOBAL_STEP = 1 << 40
_WAVE_WARPS = 1024  # resident warps, so that arrays stay in cache and shadows in memory


@dataclass(frozen=True, eq=False)
class Unwritten:
    """An output array: what it holds before the launch must not be read, and stays where nothing
    is written."""

    array: Any


@dataclass(frozen=True, eq=False)
class Placed:
    """An argument, an array or `Unwritten`, that begins so many bytes after an aligned address."""

    argument: Any
    after: int


@dataclass(frozen=True, slots=True)
class Report:
    """What a launch did: warp-instructions executed, and the approximate instructions among them,
    whose results may differ from the hardware's within their documented error."""

    instructions: int
    approximate: frozenset[str]


def launch(
    ptx_text: str,
    entry_name: str,
    grid: int | tuple[int, ...],
    threads: int | tuple[int, ...],
    arguments: Sequence[Any],
    *,
    seed: int | None = None,
    shared_bytes: int = 0,
    races: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Run a kernel to its end; raises `MachineFault` at the first thing that goes wrong.

    With a `seed`, warps run one at a time under a random schedule and asynchronous copies complete
    at random times; without one, all warps run together. `shared_bytes` is the dynamic shared
    memory. Variables of the module hold their initial values at the start of every launch, and
    what a kernel leaves in them is lost. `progress` is called with the blocks done and the blocks
    in all.

    >>> import numpy as np
    >>> ptx = '''.version 8.8 .target sm_90a .address_size 64
    ... .visible .entry negate(.param .u64 x) {
    ...   .reg .b32 %r<4>; .reg .b64 %rd<4>;
    ...   ld.param.u64 %rd1, [x];
    ...   mov.u32 %r1, %tid.x;
    ...   mul.wide.u32 %rd2, %r1, 4;
    ...   add.s64 %rd3, %rd1, %rd2;
    ...   ld.global.u32 %r2, [%rd3];
    ...   neg.s32 %r3, %r2;
    ...   st.global.u32 [%rd3], %r3;
    ...   ret;
    ... }'''
    >>> x = np.arange(4, dtype=np.int32)
    >>> launch(ptx, "negate", 1, 4, [x]).instructions
    8
    >>> x
    array([ 0, -1, -2, -3], dtype=int32)
    >>> launch(ptx, "negate", 1, 5, [x])
    Traceback (most recent call last):
    tylo.proofs.ptx.machine.faults.MachineFault: line 8: `ld.global.u32 %r2, [%rd3]`: block 0, \
warp 0, lane 4, address 0x10000000010: global memory: outside of x [0x10000000000, 0x10000000010)
    """
    module = _parsed(ptx_text)
    entry = module.entry(entry_name)
    extents = _triple(grid), _triple(threads)
    total = int(np.prod(extents[0]))
    warps = -(-int(np.prod(extents[1])) // 32)
    if total < 1 or not 1 <= int(np.prod(extents[1])) <= 1024:
        raise LaunchError(
            f"a grid of {extents[0]} blocks of {extents[1]} threads",
            hint="use at least one block and 1 to 1024 threads",
        )
    regions, parameters = _bind(entry, arguments)
    variables = (*module.variables, *entry.variables)
    initialised, addresses = _initialised(variables, len(regions))
    generator = np.random.default_rng(0 if seed is None else seed)
    instructions, approximate = 0, set()
    wave = max(1, _WAVE_WARPS // warps)
    for first in range(0, total, wave):
        blocks = min(wave, total - first)
        registers = _registers(entry, extents, first, blocks, warps, generator)
        symbols, sizes = _place(variables, shared_bytes)
        pitches = {space: -(-size // 16) * 16 + 16 for space, size in sizes.items()}
        spaces = {
            "global": Space("global", [region for region, _ in regions] + initialised["global"]),
            "const": Space("const", initialised["const"]),
            "shared": Space("shared", [allocate("shared", 0, blocks * pitches["shared"])]),
            "local": Space("local", [allocate("local", 0, blocks * warps * 32 * pitches["local"])]),
        }
        state = State(
            warps,
            blocks,
            first,
            registers,
            spaces,
            sizes["shared"],
            pitches["shared"],
            sizes["local"],
            pitches["local"],
            None,
            generator,
            np.zeros((blocks * warps, 32), np.int64),
        )
        decoder = Decoder(entry, registers, {**addresses, **symbols}, parameters)
        steps = decoder.steps(_forms(ptx_text, entry_name))
        if races and sizes["shared"]:
            state.shadow = Shadow(blocks, warps, sizes["shared"], _granule(steps))
        machine = Lockstep(state, entry, steps, random=seed is not None)
        machine.live &= registers["'inside"]
        machine.run()
        instructions += machine.executed
        approximate |= state.approximate
        if progress:
            progress(first + blocks, total)
    for region, array in regions:
        array.reshape(-1).view(np.uint8)[:] = region.content
    return Report(instructions, frozenset(approximate))


@lru_cache(maxsize=16)
def _parsed(ptx_text: str) -> Module:
    """The module of a text, which is launched again and again under many schedules."""
    return parse(ptx_text)


@lru_cache(maxsize=16)
def _forms(ptx_text: str, entry_name: str) -> tuple[Form, ...]:
    """What each instruction of an entry is."""
    module = _parsed(ptx_text)
    return tuple(find(OPCODES, each, module.target) for each in module.entry(entry_name).body)


def _triple(extent: int | tuple[int, ...]) -> tuple[int, int, int]:
    values = (extent,) if isinstance(extent, int) else tuple(extent)
    x, y, z = (*values, 1, 1)[:3]
    return x, y, z


def _bind(
    entry: Entry, arguments: Sequence[Any]
) -> tuple[list[tuple[Region, Any]], dict[str, tuple[int, int]]]:
    """Global memory, and each parameter's pattern and width."""
    if len(arguments) != len(entry.parameters):
        raise LaunchError(
            f"{entry.name} takes {len(entry.parameters)} arguments, {len(arguments)} are given",
            hint=f"its parameters: {[parameter.name for parameter in entry.parameters]}",
        )
    regions: list[tuple[Region, Any]] = []
    values: dict[str, tuple[int, int]] = {}
    for parameter, argument in zip(entry.parameters, arguments, strict=True):
        width, after = 8 * parameter.size, 0
        if isinstance(argument, Placed):
            argument, after = argument.argument, argument.after
        array = argument.array if isinstance(argument, Unwritten) else argument
        if isinstance(array, np.ndarray):
            if not array.flags.c_contiguous:
                raise LaunchError(
                    f"the argument for {parameter.name} is not contiguous", hint="copy it first"
                )
            content = array.nbytes if isinstance(argument, Unwritten) else array.tobytes()
            base = (len(regions) + 1) * _GLOBAL_STEP + after
            region = allocate(parameter.name, base, content)
            region.content[:] = np.frombuffer(array.tobytes(), np.uint8)
            regions.append((region, array))
            values[parameter.name] = base, width
        elif parameter.type in ("f32", "f64"):
            number = np.float32 if width == 32 else np.float64
            values[parameter.name] = int.from_bytes(number(argument).tobytes(), "little"), width
        else:
            values[parameter.name] = int(argument) % (1 << width), width
    return regions, values


def _initialised(
    variables: Sequence[Variable], arguments: int
) -> tuple[dict[str, list[Region]], dict[str, int]]:
    """Global and constant variables: their regions by space, and their addresses.

    They lie behind the arrays that are arguments, far enough apart to tell them by address.
    """
    regions: dict[str, list[Region]] = {"global": [], "const": []}
    addresses: dict[str, int] = {}
    for variable in variables:
        if variable.space in regions:
            base = (arguments + len(addresses) + 1) * _GLOBAL_STEP
            content = variable.initial or bytes(variable.size)
            writable = variable.space == "global"
            regions[variable.space].append(
                allocate(variable.name, base, content, writable=writable)
            )
            addresses[variable.name] = base
    return regions, addresses


def _place(variables: Sequence[Variable], dynamic: int) -> tuple[dict[str, int], dict[str, int]]:
    """Addresses of shared and local variables, and the bytes each space needs."""
    sizes = {"shared": 0, "local": 0}
    symbols: dict[str, int] = {}
    for variable in sorted(variables, key=lambda variable: variable.count == 0):
        if variable.space not in sizes:
            continue
        start = -(-sizes[variable.space] // variable.alignment) * variable.alignment
        symbols[variable.name] = start
        sizes[variable.space] = start + variable.size
    sizes["shared"] += dynamic
    return symbols, sizes


def _granule(steps: Sequence[Step]) -> int:
    """The smallest access to shared memory, in bytes: races are looked for in units of it."""
    smallest = 16
    for step in steps:
        form = step.form
        if form.opcode.action in ("load", "store", "ordered load", "ordered store", "atomic"):
            smallest = min(smallest, form.width // 8)
        elif form.opcode.action == "copy":
            smallest = min(smallest, 4)
    return smallest


def _registers(
    entry: Entry,
    extents: tuple[tuple[int, int, int], tuple[int, int, int]],
    first: int,
    blocks: int,
    warps: int,
    generator: np.random.Generator,
) -> Registers:
    """Registers with random content, and the special ones (PTX ISA 10)."""
    shape = (blocks * warps, 32)
    registers: Registers = {}
    size = (len(entry.registers), *shape)
    patterns = generator.integers(0, 1 << 63, size=size, dtype=np.uint64)
    for (name, kind), pattern in zip(entry.registers.items(), patterns, strict=True):
        registers[name] = pattern & np.uint64((1 << min(TYPES[kind], 64)) - 1)
    grid, block = extents
    warp = np.repeat(np.arange(warps)[None, :], blocks, axis=0).reshape(-1, 1)
    number = first + np.repeat(np.arange(blocks), warps).reshape(-1, 1)
    lane = np.arange(32)[None, :]
    thread = warp * 32 + lane

    def full(values: Any) -> Any:
        return np.ascontiguousarray(np.broadcast_to(values, shape)).astype(np.uint64)

    for axis, name in enumerate("xyz"):
        before = int(np.prod(block[:axis])), int(np.prod(grid[:axis]))
        registers[f"%tid.{name}"] = full(thread // before[0] % block[axis])
        registers[f"%ntid.{name}"] = full(block[axis])
        registers[f"%ctaid.{name}"] = full(number // before[1] % grid[axis])
        registers[f"%nctaid.{name}"] = full(grid[axis])
    registers["%laneid"] = full(lane)
    registers["%warpid"] = full(warp)
    registers["%nwarpid"] = full(warps)
    for order, bits in {
        "eq": 1 << lane,
        "lt": (1 << lane) - 1,
        "le": (2 << lane) - 1,
        "gt": ~((2 << lane) - 1) & 0xFFFFFFFF,
        "ge": ~((1 << lane) - 1) & 0xFFFFFFFF,
    }.items():
        registers[f"%lanemask_{order}"] = full(bits)
    registers["'inside"] = full(thread < int(np.prod(block))) == 1
    return registers
