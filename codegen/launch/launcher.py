"""A chosen kernel, loaded on a device, ready to be launched again and again.

`launcher(choice, device, constants)` compiles the kernel's text for the choice's architecture, or
finds it compiled (`tylo.codegen.cache`), loads it once per device, allows it the shared memory and
the cluster size that it asks for, and checks the geometry. What is left is a launch:

    go = launcher(choice, device, {"rows": 4096, "columns": 1024}, pointers=("x", "out"))
    go((x.address, out.address), stream)

A launch writes the addresses into a block of parameters (`parameters`), hands it to the driver, and
returns: it allocates nothing on the device, waits for nothing, and can be captured in a CUDA graph.

Source: CUDA Driver API, "Library Management", "Execution Control" (`cuLaunchKernelEx`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tylo.codegen.architecture import parse_architecture
from tylo.codegen.cache import compile_cached
from tylo.codegen.launch.choice import Choice, KernelText
from tylo.codegen.launch.devices import DeviceState, current
from tylo.codegen.launch.driver import checked
from tylo.codegen.launch.parameters import Block, Parameters
from tylo.layouts.errors import LaunchError

_GRID_LIMITS = (2**31 - 1, 65535, 65535)
_BLOCK_THREADS = 1024
_PORTABLE_CLUSTER = 8
# What needs no leave of its own: every device gives a block this much, in bytes.
_SHARED_WITHOUT_LEAVE = 48 * 1024

_lock = threading.RLock()
_functions: dict[tuple[KernelText, str, DeviceState], int] = {}
_allowed: dict[tuple[int, DeviceState, str], int] = {}


class Launcher:
    """One kernel in one geometry, with its constants; called with addresses and a stream."""

    def __init__(
        self,
        device: DeviceState,
        choice: Choice,
        function: int,
        parameters: Parameters,
    ) -> None:
        self._device = device
        self._driver = device.driver
        self._entry = choice.kernel.entry
        self._function = function
        self._geometry = (*choice.grid, *choice.block, choice.shared)
        self._clustered = choice.cluster != (1, 1, 1)
        self._choice = choice
        self._parameters = parameters

    def __call__(self, addresses: list[Any], stream: int) -> None:
        """Queue the kernel on `stream`, a handle of the device's primary context."""
        block = self._parameters.taken()
        block.addresses[:] = addresses
        try:
            error, found = self._driver.cuCtxGetCurrent()
            if int(error) == 0 and int(found) == self._device.context:
                self._launch(block, stream)
            else:
                with current(self._device):
                    self._launch(block, stream)
        finally:
            self._parameters.given_back(block)

    def _launch(self, block: Block, stream: int) -> None:
        if self._clustered:
            # Kept with the block: to build one costs more than the launch.
            config = block.config = block.config or _clustered(self._driver, self._choice)
            config.hStream = stream
            (error,) = self._driver.cuLaunchKernelEx(config, self._function, block.table, 0)
        else:
            (error,) = self._driver.cuLaunchKernel(
                self._function, *self._geometry, stream, block.table, 0
            )
        if int(error) != 0:
            raise LaunchError(
                f"launching {self._entry!r} on device {self._device.ordinal}, stream {stream:#x}, "
                f"failed with {error.name}",
                hint="the stream must belong to that device, and an earlier kernel may have failed",
            )


def launcher(
    choice: Choice,
    device: DeviceState,
    constants: Mapping[str, int | float],
    *,
    pointers: Sequence[str],
) -> Launcher:
    """Compile or find, load or find, and check; then only launches are left.

    `constants` has a value for each parameter that is no pointer, `pointers` the order in which
    addresses are passed. Raises LaunchError for a geometry or an architecture that the device does
    not have, CompileError for text that NVRTC refuses.
    """
    parameters = Parameters(choice, constants, pointers)
    return Launcher(device, choice, loaded_function(choice, device), parameters)


def loaded_function(choice: Choice, device: DeviceState) -> int:
    """The kernel's handle on a device, compiled, loaded and allowed what it asks for; once each."""
    _require_geometry(choice, device)
    with _lock:
        key = (choice.kernel, choice.architecture, device)
        function = _functions.get(key)
        if function is None:
            function = _functions[key] = _load(choice, device)
        _allow(choice, device, function)
    return function


def _require_geometry(choice: Choice, device: DeviceState) -> None:
    entry = choice.kernel.entry
    if not parse_architecture(choice.architecture).runs_on(device.capability):
        major, minor = device.capability
        raise LaunchError(
            f"{entry!r} is made for {choice.architecture}, device {device.ordinal} has compute "
            f"capability {major}.{minor}",
            hint="run it on such a device",
        )
    for axis, blocks, limit in zip("xyz", choice.grid, _GRID_LIMITS, strict=True):
        if not 1 <= blocks <= limit:
            raise LaunchError(
                f"{entry!r} needs {blocks} blocks along {axis}, a grid has 1 to {limit}",
                hint="split the tensor along its rows into several calls",
                witness=blocks,
            )
    threads = choice.block[0] * choice.block[1] * choice.block[2]
    if not 1 <= threads <= _BLOCK_THREADS:
        raise LaunchError(
            f"{entry!r} has blocks of {threads} threads, a block has 1 to {_BLOCK_THREADS}",
            hint="choose smaller blocks",
        )
    if not 0 <= choice.shared <= device.shared_limit:
        raise LaunchError(
            f"{entry!r} asks for {choice.shared} bytes of dynamic shared memory, device "
            f"{device.ordinal} has {device.shared_limit} per block",
            hint="choose smaller tiles or fewer stages",
        )
    if any(blocks % size for blocks, size in zip(choice.grid, choice.cluster, strict=True)):
        raise LaunchError(
            f"{entry!r} has a grid of {choice.grid} blocks in clusters of {choice.cluster}",
            hint="a grid is a whole number of clusters along each axis",
        )


def _load(choice: Choice, device: DeviceState) -> int:
    """The kernel's handle: of a library, so that it is valid in every context of the device."""
    entry = choice.kernel.entry
    compiled = compile_cached(choice.kernel.source(), choice.architecture, kernels=[entry])
    driver = device.driver
    with current(device), _capture_allowed(driver):
        library = checked(driver, "cuLibraryLoadData", compiled.cubin, [], [], 0, [], [], 0)
        return int(checked(driver, "cuLibraryGetKernel", library, entry.encode()))


def _allow(choice: Choice, device: DeviceState, function: int) -> None:
    driver = device.driver
    wanted = {}
    if choice.shared > _SHARED_WITHOUT_LEAVE:
        wanted["MAX_DYNAMIC_SHARED_SIZE_BYTES"] = choice.shared
    if choice.cluster[0] * choice.cluster[1] * choice.cluster[2] > _PORTABLE_CLUSTER:
        wanted["NON_PORTABLE_CLUSTER_SIZE_ALLOWED"] = 1
    for name, value in wanted.items():
        key = (function, device, name)
        # One kernel may be launched with several sizes: what was allowed once stays allowed.
        if _allowed.get(key, 0) < value:
            attribute = getattr(driver.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
            checked(driver, "cuKernelSetAttribute", attribute, value, function, device.ordinal)
            _allowed[key] = value


@contextmanager
def _capture_allowed(driver: Any) -> Iterator[None]:
    """Loading is no work of a stream, yet a capture that runs on some stream would forbid it."""
    relaxed = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
    before = checked(driver, "cuThreadExchangeStreamCaptureMode", relaxed)
    try:
        yield
    finally:
        checked(driver, "cuThreadExchangeStreamCaptureMode", before)


def _clustered(driver: Any, choice: Choice) -> Any:
    value = driver.CUlaunchAttributeValue()
    value.clusterDim.x, value.clusterDim.y, value.clusterDim.z = choice.cluster
    attribute = driver.CUlaunchAttribute()
    attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
    attribute.value = value
    config = driver.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = choice.grid
    config.blockDimX, config.blockDimY, config.blockDimZ = choice.block
    config.sharedMemBytes = choice.shared
    config.attrs = [attribute]
    config.numAttrs = 1
    return config
