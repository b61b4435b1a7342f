"""A member made ready for one problem on one device; what is left is a launch.

    go = Ready(member, problem, device_state(0), persistent=True)
    go(q=q.data_ptr(), k=..., v=..., out=..., lse=0, mask=0, workspace=0, stream=0)

Tensor maps hold addresses, so that they are encoded anew when an address changes, and kept when it
does not. A launch copies its parameters; it allocates nothing on the device and waits for nothing.
A Boolean mask is packed first, by a kernel of its own on the same stream, into a workspace that the
caller passes.
"""

from __future__ import annotations

import ctypes
import threading
from typing import Any

from tylo.codegen.attention.copies import box
from tylo.codegen.attention.mask_bits import PackMask
from tylo.codegen.attention.member import Member
from tylo.codegen.attention.packed_mask import MASK_PARAMETERS, MaskArguments, PackedMask
from tylo.codegen.attention.problem import Arguments, Problem
from tylo.codegen.attention.tensor_maps import (
    MapWriter,
    strides_in_bytes,
)
from tylo.codegen.launch.choice import Choice, KernelText
from tylo.codegen.launch.devices import DeviceState, current
from tylo.codegen.launch.launcher import loaded_function
from tylo.layouts.errors import LaunchError
from tylo.proofs.specifications.attention_arguments import MAP_ALIGNMENT, MAP_BYTES

CAPABILITY = (9, 0)
ARCHITECTURE = "sm_90a"
_TENSORS = ("q", "k", "v", "out")
ALIGNMENT = 16


class Ready:
    """See the module. Raises `LaunchError` for a device that is not of capability 9.0.

    `function` is a kernel that is loaded, and allowed its shared memory, already.
    """

    def __init__(
        self,
        member: Member,
        problem: Problem,
        device: DeviceState,
        *,
        persistent: bool,
        function: int | None = None,
    ) -> None:
        if device.capability != CAPABILITY:
            major, minor = device.capability
            raise LaunchError(
                f"attention kernels are for compute capability 9.0, device {device.ordinal} has "
                f"{major}.{minor}",
                hint="wgmma exists on H100 and H200 alone",
                witness=device.capability,
            )
        items = problem.items(member.rows, persistent=persistent)
        blocks = min(items, device.multiprocessors * member.residents) if persistent else items
        choice = _choice(member, blocks, member.threads, member.shared_bytes)
        packed = problem.packed_mask(member.rows, member.keys) if member.mask else None
        self._pack = None if packed is None else _Packing(member, packed, device)
        # Device memory that a call needs for its own use until the kernel is done.
        self.workspace_bytes = 0 if packed is None else packed.bytes
        self._device, self._lock = device, threading.Lock()
        self._function = loaded_function(choice, device) if function is None else function
        self._geometry = (*choice.grid, *choice.block, choice.shared)
        self._writers = [_writer(member, problem, name) for name in _TENSORS]
        self._memory = ctypes.create_string_buffer(MAP_ALIGNMENT + MAP_BYTES * len(_TENSORS))
        start = ctypes.addressof(self._memory)
        self._maps = [
            -(-start // MAP_ALIGNMENT) * MAP_ALIGNMENT + MAP_BYTES * number
            for number in range(len(_TENSORS))
        ]
        self._encoded: tuple[int, ...] = ()
        self._arguments: Arguments = problem.arguments(
            member.rows, persistent=persistent, packed=packed, keys=member.keys, blocks=blocks
        )
        pointers = [*self._maps, ctypes.addressof(self._arguments)]
        self._table = (ctypes.c_void_p * len(pointers))(*pointers)
        self._table_address = ctypes.addressof(self._table)
        self._floats = member.output == "f32"

    def __call__(
        self,
        q: int,
        k: int,
        v: int,
        mask: int,
        out: int,
        lse: int,
        stream: int,
        workspace: int = 0,
    ) -> None:
        """Queue the kernel on `stream`; addresses are of device memory, 0 for no lse or mask.

        `workspace` is a multiple of 16, and has `workspace_bytes`.
        """
        # What is never read or written through a map may have no memory of its own.
        keys = (k, v) if self._arguments.keys else (q, q)
        addresses = (q, *keys, q if self._floats else out)
        driver = self._device.driver
        with self._lock:
            if addresses != self._encoded:
                self._encode(addresses)
            arguments = self._arguments
            arguments.lse, arguments.out = lse, out
            if self._pack is not None:
                arguments.bits, arguments.kept = self._pack.place(mask, workspace)
            error, found = driver.cuCtxGetCurrent()
            if int(error) == 0 and int(found) == self._device.context:
                self._launch(driver, stream)
            else:
                with current(self._device):
                    self._launch(driver, stream)

    def _encode(self, addresses: tuple[int, ...]) -> None:
        before, self._encoded = self._encoded, ()
        for number, address in enumerate(addresses):
            if before[number : number + 1] != (address,):
                self._writers[number].write(self._maps[number], address)
        self._encoded = addresses

    def _launch(self, driver: Any, stream: int) -> None:
        if self._pack is not None:
            self._pack.launch(driver, stream)
        (error,) = driver.cuLaunchKernel(
            self._function, *self._geometry, stream, self._table_address, 0
        )
        _require_launched(error, self._device)


class _Packing:
    """The kernel that packs a mask, ready for one geometry."""

    def __init__(self, member: Member, mask: PackedMask, device: DeviceState) -> None:
        self._bits_bytes, self._device = mask.bits_bytes, device
        kernel = PackMask(member.groups, member.keys)
        choice = _choice(kernel, mask.blocks, kernel.threads, 0)
        self._function = loaded_function(choice, device)
        self._geometry = (*choice.grid, *choice.block, choice.shared)
        self._arguments = mask.arguments()
        start = ctypes.addressof(self._arguments)
        places = [start + getattr(MaskArguments, name).offset for name in MASK_PARAMETERS]
        self._table = (ctypes.c_void_p * len(places))(*places)
        self._table_address = ctypes.addressof(self._table)

    def place(self, mask: int, workspace: int) -> tuple[int, int]:
        """Set the addresses; where bits lie, and what each step keeps."""
        arguments = self._arguments
        kept = workspace + self._bits_bytes
        arguments.mask, arguments.bits, arguments.kept = mask, workspace, kept
        return workspace, kept

    def launch(self, driver: Any, stream: int) -> None:
        (error,) = driver.cuLaunchKernel(
            self._function, *self._geometry, stream, self._table_address, 0
        )
        _require_launched(error, self._device)


def _require_launched(error: Any, device: DeviceState) -> None:
    if int(error) != 0:
        raise LaunchError(
            f"launching attention on device {device.ordinal} failed with {error.name}",
            hint="the stream must belong to that device, and an earlier kernel may have failed",
        )


def _choice(kernel: KernelText, blocks: int, threads: int, shared: int) -> Choice:
    return Choice(
        kernel=kernel,
        architecture=ARCHITECTURE,
        grid=(blocks, 1, 1),
        block=(threads, 1, 1),
        parameters=(),
        reason="",
        shared=shared,
        in_place=False,
    )


def _writer(member: Member, problem: Problem, name: str) -> MapWriter:
    """The map of one tensor; where there are no keys, of queries, because it is never read."""
    unread = name == "out" and member.output == "f32"
    name_of = "q" if unread or (problem.keys == 0 and name in "kv") else name
    heads = problem.key_heads if name_of in "kv" else problem.heads
    length = problem.keys if name_of in "kv" else problem.queries
    shape = (problem.batch, heads, length, problem.depth)
    strides: Any = getattr(problem, name_of)
    in_bytes = strides_in_bytes(shape, (*strides, 1), name)
    return MapWriter(shape, in_bytes, problem.dtype, box(member, name), name)
