"""What a launch on other people's memory needs of a device: its primary context and its limits.

torch, CuPy, JAX and Numba all work in a device's primary context, so memory and streams of theirs
are used there. It is retained once per device and never given back. `current(device)` makes it the
thread's context for as long as a `with` lasts, unless it is already, and leaves what was there.

>>> from types import SimpleNamespace
>>> calls = []
>>> driver = SimpleNamespace(
...     cuCtxGetCurrent=lambda: (0, 0xB),
...     cuCtxPushCurrent=lambda context: calls.append(f"push {context:x}") or (0,),
...     cuCtxPopCurrent=lambda: calls.append("pop") or (0, 0xA),
... )
>>> with current(DeviceState(driver, 0, 0xA, (9, 0), 132, 232448)):
...     calls.append("launch")
>>> calls
['push a', 'launch', 'pop']

Source: CUDA Driver API, "Primary Context Management", "Context Management", "Unified Addressing".
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from tylo.codegen.launch.driver import checked, initialised_driver
from tylo.layouts.errors import LaunchError


@dataclass(frozen=True, eq=False)
class DeviceState:
    """A device by its ordinal: driver module, primary context, capability, and limits.

    `shared_limit` is how many bytes of dynamic shared memory a block may ask for.
    """

    driver: Any
    ordinal: int
    context: int
    capability: tuple[int, int]
    multiprocessors: int
    shared_limit: int


@cache
def found_driver() -> Any:
    """The driver module, looked for and initialised once."""
    return initialised_driver()


@cache
def device_state(ordinal: int) -> DeviceState:
    """The device of that ordinal; LaunchError when there is no driver or no such device."""
    driver = found_driver()
    count = int(checked(driver, "cuDeviceGetCount"))
    if not 0 <= ordinal < count:
        raise LaunchError(
            f"CUDA device {ordinal} does not exist: the driver sees {count}",
            hint="CUDA_VISIBLE_DEVICES decides what is seen",
        )
    device = checked(driver, "cuDeviceGet", ordinal)

    def attribute(name: str) -> int:
        code = getattr(driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(checked(driver, "cuDeviceGetAttribute", code, device))

    return DeviceState(
        driver=driver,
        ordinal=ordinal,
        context=int(checked(driver, "cuDevicePrimaryCtxRetain", device)),
        capability=(
            attribute("COMPUTE_CAPABILITY_MAJOR"),
            attribute("COMPUTE_CAPABILITY_MINOR"),
        ),
        multiprocessors=attribute("MULTIPROCESSOR_COUNT"),
        shared_limit=attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"),
    )


@contextmanager
def current(device: DeviceState) -> Iterator[None]:
    """Run the body with the device's primary context current; leave the context as it was."""
    driver = device.driver
    if int(checked(driver, "cuCtxGetCurrent")) == device.context:
        yield
        return
    checked(driver, "cuCtxPushCurrent", device.context)
    try:
        yield
    finally:
        checked(driver, "cuCtxPopCurrent")


def pointer_device(address: int) -> int:
    """The ordinal of the device that holds the memory at `address`; the driver knows."""
    driver = found_driver()
    code = driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    error, ordinal = driver.cuPointerGetAttribute(code, address)
    if int(error) != 0 or int(ordinal) < 0:
        raise LaunchError(
            f"the driver knows no device memory at {address:#x} ({error.name})",
            hint="pass memory that was allocated on a CUDA device and is still alive",
        )
    return int(ordinal)


def order_streams(ordinal: int, first: int, then: int) -> None:
    """Make stream `then` wait, on the device, for all that stream `first` holds at this moment."""
    device = device_state(ordinal)
    driver = device.driver
    with current(device):
        event = checked(driver, "cuEventCreate", driver.CUevent_flags.CU_EVENT_DISABLE_TIMING.value)
        try:
            checked(driver, "cuEventRecord", event, first)
            checked(driver, "cuStreamWaitEvent", then, event, 0)
        finally:
            checked(driver, "cuEventDestroy", event)


def fill_words(device: DeviceState, address: int, word: int, count: int, stream: int) -> None:
    """Queue on `stream` that `count` 32-bit words from `address` become `word`."""
    with current(device):
        checked(device.driver, "cuMemsetD32Async", address, word, count, stream)
