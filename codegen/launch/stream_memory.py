"""Device memory for the time of one launch, ordered by its stream.

It is taken and given back in the stream's own order: a kernel queued in between has it, nobody
waits, and in a CUDA graph both become nodes.

>>> from types import SimpleNamespace
>>> calls = []
>>> driver = SimpleNamespace(
...     cuCtxGetCurrent=lambda: (0, 0xA),
...     cuMemAllocAsync=lambda size, stream: calls.append(f"take {size}") or (0, 0x7000),
...     cuMemFreeAsync=lambda address, stream: calls.append(f"give {address:x}") or (0,),
... )
>>> with stream_memory(DeviceState(driver, 0, 0xA, (9, 0), 132, 232448), 512, 3) as address:
...     calls.append("launch")
>>> calls
['take 512', 'launch', 'give 7000']

Source: CUDA Driver API, "Stream Ordered Memory Allocator".
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tylo.codegen.launch.devices import DeviceState, current
from tylo.codegen.launch.driver import checked


@contextmanager
def stream_memory(device: DeviceState, size: int, stream: int) -> Iterator[int]:
    """The address of `size` bytes, a multiple of 256; `LaunchError` if there are none."""
    with current(device):
        address = int(checked(device.driver, "cuMemAllocAsync", size, stream))
    try:
        yield address
    finally:
        with current(device):
            checked(device.driver, "cuMemFreeAsync", address, stream)
