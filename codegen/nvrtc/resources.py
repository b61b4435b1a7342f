"""What a compiled kernel takes: registers, shared memory, local memory, spills.

The assembler reports it in its verbose log, which every `Compiled` keeps:

    ptxas info    : Compiling entry function 'k' for 'sm_90a'
    ptxas info    : Function properties for k
    ptxas         .     256 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
    ptxas info    : Used 32 registers, used 0 barriers, 256 bytes cumulative stack size

A function that was not inlined is listed after the kernels, without saying who calls it. Its
local memory and its spills are therefore charged to every kernel of the program: the numbers can
be too high, never too low.

Slow code rarely fails a test, so it has a gate of its own. Spilled registers and local arrays live
in device memory; a message `(C75..)` says that the assembler serialised matrix instructions, which
costs most of their speed.

Source: CUDA C++ Best Practices Guide, "Register Pressure"; NVCC documentation, `--resource-usage`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from tylo.layouts.errors import CompileError

_ENTRY = re.compile(r"Compiling entry function '(?P<name>[^']+)'")
_PROPERTIES = re.compile(r"Function properties for (?P<name>\S+)")
_FRAME = re.compile(
    r"(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, "
    r"(?P<loads>\d+) bytes spill loads"
)
_USED = re.compile(r"Used (?P<registers>\d+) registers(?P<rest>.*)")
_SHARED = re.compile(r"(\d+) bytes smem")
_CUMULATIVE = re.compile(r"(\d+) bytes cumulative stack size")
_SERIALISED = re.compile(r"^.*\(C75\d*\).*$", re.MULTILINE)


class Assembled(Protocol):
    """Whatever keeps the assembler's verbose log, as `Compiled` does."""

    @property
    def log(self) -> str: ...


@dataclass(frozen=True)
class Resources:
    """Per kernel: registers per thread, static shared bytes per block, local and spill bytes.

    `local` is the stack of one thread; `spills` is what spill stores and loads move, in bytes.
    """

    registers: int
    shared: int
    local: int
    spills: int


def resources(compiled: Assembled) -> dict[str, Resources]:
    """The resources of every kernel in `compiled`, by kernel name.

    >>> from types import SimpleNamespace
    >>> resources(SimpleNamespace(log='''
    ... ptxas info    : Compiling entry function 'k' for 'sm_90a'
    ... ptxas info    : Function properties for k
    ... ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
    ... ptxas info    : Used 10 registers, used 1 barriers, 128 bytes smem
    ... '''))
    {'k': Resources(registers=10, shared=128, local=0, spills=0)}
    """
    entries: list[str] = []
    frames: dict[str, tuple[int, int]] = {}
    used: dict[str, tuple[int, int, int]] = {}
    function = ""
    for line in compiled.log.splitlines():
        if match := _ENTRY.search(line):
            entries.append(match["name"])
        elif match := _PROPERTIES.search(line):
            function = match["name"]
        elif match := _FRAME.search(line):
            frames[function] = (int(match["stack"]), int(match["stores"]) + int(match["loads"]))
        elif match := _USED.search(line):
            rest = match["rest"]
            used[entries[-1]] = (
                int(match["registers"]),
                _number(_SHARED, rest),
                _number(_CUMULATIVE, rest),
            )
    called = [frame for name, frame in frames.items() if name not in entries]
    called_local = sum(stack for stack, _ in called)
    called_spills = sum(spills for _, spills in called)
    return {
        name: Resources(
            registers=used[name][0],
            shared=used[name][1],
            local=max(used[name][2], frames[name][0] + called_local),
            spills=frames[name][1] + called_spills,
        )
        for name in entries
    }


def require_full_speed(compiled: Assembled) -> None:
    """The gate of every shipped kernel: no spill, no local memory, no serialised matrix work.

    >>> from types import SimpleNamespace
    >>> require_full_speed(SimpleNamespace(log='''
    ... ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async is serialized
    ... '''))
    Traceback (most recent call last):
    tylo.layouts.errors.CompileError: ptxas info    : (C7510) Potential Performance Loss: \
wgmma.mma_async is serialized; wait for every wgmma before its registers are read or written
    """
    serialised = [match[0].strip() for match in _SERIALISED.finditer(compiled.log)]
    if serialised:
        raise CompileError(
            "\n".join(serialised),
            hint="wait for every wgmma before its registers are read or written",
        )
    every = resources(compiled)
    if not every:
        raise CompileError(
            "the assembler reported no kernel, so that nothing is known of spills",
            hint="compile with --ptxas-options=-v and --no-cache",
        )
    for name, taken in every.items():
        if taken.spills or taken.local:
            raise CompileError(
                f"kernel {name!r} spills {taken.spills} bytes and keeps {taken.local} bytes of "
                f"local memory per thread with {taken.registers} registers",
                hint="index arrays by constants only, unroll, or launch fewer threads per block",
                witness=name,
            )


def _number(pattern: re.Pattern[str], text: str) -> int:
    match = pattern.search(text)
    return int(match[1]) if match else 0
