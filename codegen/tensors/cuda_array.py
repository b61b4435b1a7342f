"""Reading `__cuda_array_interface__`: a dictionary becomes a `Tensor`, without a copy.

Versions 2 and 3. Strides are in bytes there, and absent for row-major order without gaps. The
dictionary names no device: the driver is asked whose memory the address is. Version 3 may name
the stream on which the data are being written; what comes next on the caller's stream is then made
to wait for it, on the device. The host never waits.

bfloat16 has no type string, and an entry called `mask` means missing values, which no kernel here
knows: both are refused.

>>> from types import SimpleNamespace
>>> interface = {"shape": (2, 3), "typestr": "<f4", "data": (0x7000, True), "version": 3}
>>> array = SimpleNamespace(__cuda_array_interface__={**interface, "strides": (32, 4)})
>>> view = from_cuda_array(array, 0, name="x", device_of=lambda address: 0, order=print)
>>> view.strides, view.dtype, view.read_only
((8, 1), 'f32', True)

Source: Numba documentation, "CUDA Array Interface (Version 3)".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import index
from typing import Any

from tylo.codegen.tensors.dlpack import require_same_device
from tylo.codegen.tensors.tensor import ITEM_BITS, Tensor, addressable, compact_strides
from tylo.layouts.errors import LaunchError

_VERSIONS = (2, 3)
_LEGACY_STREAM = 1
_KINDS = {"b": "bool", "i": "i", "u": "u", "f": "f", "c": "c"}


def from_cuda_array(
    value: Any,
    stream: int,
    *,
    name: str,
    device_of: Callable[[int], int],
    order: Callable[[int, int, int], None],
    device: int | None = None,
) -> Tensor:
    """View `value`; `device_of(address)` asks the driver, as does `order(device, first, then)`.

    `order` makes the stream `then` wait for what the stream `first` holds at this moment.
    """
    try:
        interface = dict(value.__cuda_array_interface__)
        shape = tuple(map(index, interface["shape"]))
        typestr = str(interface["typestr"])
        address, read_only = interface["data"]
        address = index(address)
        version = int(interface["version"])
        given = interface.get("strides")
        byte_strides = None if given is None else tuple(map(index, given))
        producer = interface.get("stream")
        producer = None if producer is None else index(producer)
    except Exception as error:  # whatever a property of another library raises
        raise LaunchError(
            f"the __cuda_array_interface__ of {name} is incomplete "
            f"({type(error).__name__}: {error})",
            hint="it needs shape, typestr, data and version, all of them whole numbers but typestr",
        ) from error
    if version not in _VERSIONS:
        raise LaunchError(
            f"{name} has version {version} of __cuda_array_interface__, read here are 2 and 3",
            hint="update the library that made it",
        )
    if interface.get("mask") is not None:
        raise LaunchError(
            f"{name} has missing values (the entry mask of its __cuda_array_interface__)",
            hint="pass the data alone, and a Boolean mask as an argument",
        )
    dtype = _dtype(typestr, name)
    strides = _strides(byte_strides, shape, ITEM_BITS[dtype] // 8, name)
    seen = Tensor(address, shape, strides, dtype, device or 0, bool(read_only), value)
    if not addressable(seen, name).empty:
        seen = replace(seen, device=device_of(address))
    require_same_device(seen.device, device, name)
    if producer is not None and producer <= 0:
        raise LaunchError(
            f"{name} names stream {producer} in its __cuda_array_interface__, which the interface "
            "forbids",
            hint="its library must say 1 for the legacy default stream, 2 for the per-thread one",
        )
    if producer is not None and not seen.empty:
        first = 0 if producer == _LEGACY_STREAM else producer
        if first != stream:
            order(seen.device, first, stream)
    return seen


def _dtype(typestr: str, name: str) -> str:
    order, kind, size = typestr[:1], typestr[1:2], typestr[2:]
    dtype = _KINDS.get(kind, "")
    if dtype != "bool" and size.isdecimal() and size.isascii():
        dtype += str(8 * int(size))
    if order not in "<|" or dtype not in ITEM_BITS:
        raise LaunchError(
            f"{name} has elements of type {typestr!r}, which no kernel here reads",
            hint="use little-endian float32 or float16; bfloat16 has no name in "
            "__cuda_array_interface__, pass it by DLPack",
        )
    return dtype


def _strides(
    given: Sequence[int] | None, shape: tuple[int, ...], itemsize: int, name: str
) -> tuple[int, ...]:
    if given is None:
        return compact_strides(shape)
    odd = [stride for stride in given if stride % itemsize]
    if odd or len(given) != len(shape):
        raise LaunchError(
            f"{name} has the byte strides {tuple(given)} for the shape {shape} and elements of "
            f"{itemsize} bytes",
            hint="strides must be one per dimension and whole elements",
        )
    return tuple(stride // itemsize for stride in given)
