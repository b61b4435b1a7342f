"""The parameters of a launch in memory, laid out once and filled in at each launch.

The driver is handed a table of addresses, one for each parameter of the kernel, and reads as many
bytes at each as the parameter has. Where the values lie is free: here each has eight bytes of its
own. First come the pointers, which change from launch to launch and are written in one go, then the
constants. A `Block` belongs to one launch at a time: it is taken from a list and put back, so that
threads never share one, and the driver has copied the values when the launch returns.

Source: CUDA Driver API, "Execution Control" (`kernelParams`).
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from tylo.codegen.launch.choice import PARAMETER_CODES, Choice
from tylo.layouts.errors import LaunchError

_SLOT = 8


class Block:
    """Values of one launch: set `addresses[:]`, pass `table`; `config` is the launcher's own."""

    __slots__ = ("_memory", "_table", "addresses", "config", "table")

    def __init__(self, constants: bytes, slots: Sequence[int], pointers: int) -> None:
        self._memory = ctypes.create_string_buffer(bytes(pointers * _SLOT) + constants)
        base = ctypes.addressof(self._memory)
        self._table = (ctypes.c_void_p * len(slots))(*(base + _SLOT * slot for slot in slots))
        self.addresses = (ctypes.c_uint64 * pointers).from_buffer(self._memory)
        self.table = ctypes.addressof(self._table)
        self.config: Any = None


class Parameters:
    """What every block of one kernel in one geometry has in common, and the blocks not in use."""

    def __init__(
        self, choice: Choice, constants: Mapping[str, int | float], pointers: Sequence[str]
    ) -> None:
        slots, packed = [], b""
        for parameter in choice.parameters:
            known = pointers if parameter.kind == "pointer" else constants
            if parameter.name not in known:
                raise LaunchError(
                    f"{choice.kernel.entry!r} has the {parameter.kind} parameter "
                    f"{parameter.name!r}, given are {sorted(known)}",
                    hint="the chooser names parameters that its caller does not pass",
                )
            if parameter.kind == "pointer":
                slots.append(pointers.index(parameter.name))
            else:
                slots.append(len(pointers) + len(packed) // _SLOT)
                packed += _packed(choice, parameter.name, parameter.kind, constants)
        self._made = (packed, slots, len(pointers))
        self._free: list[Block] = []

    def taken(self) -> Block:
        try:
            return self._free.pop()
        except IndexError:
            return Block(*self._made)

    def given_back(self, block: Block) -> None:
        self._free.append(block)


def _packed(choice: Choice, name: str, kind: str, constants: Mapping[str, int | float]) -> bytes:
    try:
        return struct.pack(PARAMETER_CODES[kind], constants[name]).ljust(_SLOT, b"\0")
    except struct.error as error:
        raise LaunchError(
            f"{name} = {constants[name]} does not fit the {kind} parameter of "
            f"{choice.kernel.entry!r}",
            hint="the kernel with 64-bit offsets should have been chosen",
        ) from error
