"""Run a compiled kernel on a device: arrays in, arrays out.

    device = Device()
    module = device.load(compiled.cubin, compiled.architecture)
    (doubled,) = module.launch(
        "double", grid=1, block=32,
        arguments=[Input(x), Output(x.shape, x.dtype), numpy.int32(x.size)],
    )

Arguments stand in the kernel's own order. An `Input` is copied to the device, an `Output` comes
back as an array, a scalar is a numpy scalar, whose type fixes its width; `Pointer` is memory that
somebody else owns, such as a torch tensor's. Before the launch every byte of an output is set to
0xFF: an element that the kernel forgets to write comes back as NaN or -1, never as a lucky zero.

What can be refused before the launch is: machine code for another architecture, an argument of
another size than the kernel's parameter, a misaligned address, an element type without a meaning
on the device.

The driver (`libcuda.so.1`) is looked for when the first `Device` is made, not before.

Source: CUDA Driver API, "Module Management", "Execution Control"; `cuda.core`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tylo.codegen.architecture import parse_architecture
from tylo.codegen.launch.arguments import (
    Argument,
    Input,
    Output,
    Pointer,
    require_aligned,
    require_dimensions,
    require_sizes,
)
from tylo.codegen.launch.driver import (
    checked,
    cuda_core,
    driver_version,
    initialised_driver,
    reported,
)
from tylo.layouts.errors import LaunchError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

__all__ = [
    "POISON",
    "Argument",
    "Device",
    "DeviceInfo",
    "Input",
    "Module",
    "Output",
    "Pointer",
    "device_info",
]

POISON = 0xFF


@dataclass(frozen=True)
class DeviceInfo:
    """A device as reports name it; `cuda_version` is the newest CUDA its driver speaks."""

    name: str
    compute_capability: tuple[int, int]
    driver_version: str
    cuda_version: str


class Device:
    """A CUDA device by its ordinal, made current for this thread, with a stream of its own.

    Raises LaunchError when there is no driver, no device, or no `cuda.core`.
    """

    def __init__(self, ordinal: int = 0) -> None:
        self.driver = initialised_driver()
        self.core = cuda_core()
        with reported(f"opening device {ordinal}"):
            self.handle = self.core.Device(ordinal)
            self.handle.set_current()
            self.stream = self.handle.create_stream()
            capability = self.handle.compute_capability
        self.ordinal = ordinal
        self.capability = (int(capability.major), int(capability.minor))

    def load(self, cubin: bytes, architecture: str) -> Module:
        """Load machine code that was compiled for `architecture`, if this device runs it."""
        target = parse_architecture(architecture)
        if not target.runs_on(self.capability):
            major, minor = self.capability
            raise LaunchError(
                f"machine code for {target.name} does not run on {self.handle.name}, whose "
                f"compute capability is {major}.{minor}",
                hint=f"compile for sm_{major}{minor}",
            )
        with reported(f"loading machine code for {target.name}"):
            return Module(self, self.core.ObjectCode.from_cubin(cubin))

    def load_ptx(self, ptx: str) -> Module:
        """Load PTX, which the driver assembles for this device."""
        with reported("assembling PTX"):
            return Module(self, self.core.ObjectCode.from_ptx(ptx.encode()))

    def info(self) -> DeviceInfo:
        version = int(checked(self.driver, "cuDriverGetVersion"))
        return DeviceInfo(
            name=str(self.handle.name),
            compute_capability=self.capability,
            driver_version=driver_version(),
            cuda_version=f"{version // 1000}.{version % 1000 // 10}",
        )


class Module:
    """Machine code on a device; `Device.load` and `Device.load_ptx` make it."""

    def __init__(self, device: Device, code: Any) -> None:
        self._device = device
        self._code = code

    @property
    def ordinal(self) -> int:
        """The device that it is loaded on."""
        return self._device.ordinal

    def function(self, kernel: str) -> int:
        """The driver's handle of a kernel."""
        with reported(f"looking up kernel {kernel!r}"):
            return int(self._code.get_kernel(kernel)._handle)

    def launch(
        self,
        kernel: str,
        grid: int | tuple[int, ...],
        block: int | tuple[int, ...],
        arguments: Sequence[Argument],
        shared: int = 0,
    ) -> list[Array]:
        """Run `kernel` once and wait for it; the outputs, in the order of their arguments.

        `grid` is in blocks, `block` in threads, `shared` is dynamic shared memory in bytes.
        A fault inside the kernel is a LaunchError here, and leaves the process without a usable
        device: start another one.
        """
        require_dimensions("grid", grid)
        require_dimensions("block", block)
        device = self._device
        limit = int(device.handle.properties.max_shared_memory_per_block_optin)
        if not 0 <= shared <= limit:
            raise LaunchError(
                f"{kernel!r} asks for {shared} bytes of dynamic shared memory, "
                f"{device.handle.name} has {limit} per block",
                hint="choose smaller tiles or fewer stages",
            )
        with reported(f"looking up kernel {kernel!r}"):
            handle = self._code.get_kernel(kernel)
            sizes = [int(size) for _, size in handle.arguments_info]
        require_sizes(kernel, arguments, sizes)
        with reported(f"running kernel {kernel!r}"), contextlib.ExitStack() as buffers:
            transfer = _Transfer(device, buffers)
            values = [transfer.passed(index, one) for index, one in enumerate(arguments)]
            if shared:
                attribute = device.driver.CUfunction_attribute
                checked(
                    device.driver,
                    "cuKernelSetAttribute",
                    attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                    shared,
                    handle._handle,
                    device.ordinal,
                )
            config = device.core.LaunchConfig(grid=grid, block=block, shmem_size=shared)
            device.core.launch(device.stream, config, handle, *values)
            return transfer.outputs()


class _Transfer:
    """The buffers of one launch: filled before it, read after it, freed with it.

    Host arrays stay referenced until the stream is drained, because copies are asynchronous.
    """

    def __init__(self, device: Device, buffers: contextlib.ExitStack) -> None:
        self._device = device
        self._buffers = buffers
        self._stream = device.stream.handle
        self._sources: list[Array] = []
        self._targets: list[tuple[int, Array]] = []

    def passed(self, index: int, argument: Argument) -> Any:
        """What the kernel gets for `argument`: an address, or the scalar itself."""
        import numpy

        if isinstance(argument, Pointer):
            require_aligned(index, argument.address, argument.alignment)
            return argument.address
        if isinstance(argument, Input):
            array = numpy.ascontiguousarray(argument.array)
            address = self._allocated(index, array.nbytes, argument.alignment)
            if array.nbytes:
                source = array.ctypes.data
                self._call("cuMemcpyHtoDAsync", address, source, array.nbytes, self._stream)
            self._sources.append(array)
            return address
        if isinstance(argument, Output):
            target = numpy.empty(argument.shape, argument.dtype)
            address = self._allocated(index, target.nbytes, argument.alignment)
            if target.nbytes:
                self._call("cuMemsetD8Async", address, POISON, target.nbytes, self._stream)
            self._targets.append((address, target))
            return address
        return argument

    def outputs(self) -> list[Array]:
        for address, target in self._targets:
            if target.nbytes:
                host = target.ctypes.data
                self._call("cuMemcpyDtoHAsync", host, address, target.nbytes, self._stream)
        self._device.stream.sync()
        return [target for _, target in self._targets]

    def _allocated(self, index: int, size: int, alignment: int) -> int:
        buffer = self._device.handle.allocate(max(1, size), stream=self._device.stream)
        self._buffers.callback(buffer.close, self._device.stream)
        address = int(buffer.handle)
        require_aligned(index, address, alignment)
        return address

    def _call(self, name: str, *arguments: object) -> None:
        checked(self._device.driver, name, *arguments)


def device_info(ordinal: int = 0) -> DeviceInfo:
    """Name, compute capability, driver version and CUDA version of a device."""
    return Device(ordinal).info()
