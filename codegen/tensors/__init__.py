"""Tensors of other libraries as a kernel sees them: no copy, no import, the producer's order kept.

`view(x, stream)` reads anything that speaks one of three ways and returns a frozen `Tensor`:

1. a torch tensor, by its attributes (`torch_tensors`);
2. `__dlpack__` and `__dlpack_device__` (`dlpack`): CuPy, JAX, cuda.core, and the rest;
3. `__cuda_array_interface__` (`cuda_array`): Numba.

`stream` is where the tensor will be read or written. What its library has queued before is made to
come first, on the device, as each protocol says. Memory on the host is refused, never moved:

>>> import numpy
>>> view(numpy.zeros(3, numpy.float32), 0, name="x")
Traceback (most recent call last):
tylo.layouts.errors.LaunchError: x, a numpy.ndarray, lies in host memory; move it to a CUDA device \
first; nothing is copied silently

Around it: `streams` reads a stream of any library, `allocation` makes a new tensor of the library
of another, `rows` folds dimensions into rows, `overlap` decides whether rows share a byte.
"""

from __future__ import annotations

from typing import Any

from tylo.codegen.launch.devices import order_streams, pointer_device
from tylo.codegen.tensors.cuda_array import from_cuda_array
from tylo.codegen.tensors.dlpack import from_dlpack
from tylo.codegen.tensors.streams import stream_handle
from tylo.codegen.tensors.tensor import Tensor
from tylo.codegen.tensors.torch_tensors import current_stream, from_torch, torch_of
from tylo.layouts.errors import LaunchError

__all__ = ["Tensor", "stream_of", "view"]


def view(value: Any, stream: int, *, name: str, device: int | None = None) -> Tensor:
    """See `value` as a `Tensor`, for use on `stream` (a handle, 0 the legacy default stream).

    `name` is what errors call it; with `device`, a CUDA ordinal, it must lie there. Raises
    LaunchError for memory a kernel does not reach, for what none of the protocols can express, and
    for a torch tensor that requires a gradient.
    """
    torch = torch_of(value)
    if torch is not None:
        return from_torch(torch, value, stream, name=name, device=device)
    if _speaks(value, name, "__dlpack_device__", "__dlpack__"):
        return from_dlpack(value, stream, name=name, device=device)
    if _speaks(value, name, "__cuda_array_interface__"):
        return from_cuda_array(
            value,
            stream,
            name=name,
            device=device,
            device_of=pointer_device,
            order=order_streams,
        )
    raise LaunchError(
        f"{name} is a {type(value).__name__}, which speaks neither DLPack nor "
        "__cuda_array_interface__",
        hint="pass a tensor of torch, CuPy, JAX, Numba or another library that does",
    )


def _speaks(value: Any, name: str, *attributes: str) -> bool:
    try:
        return all(hasattr(value, each) for each in attributes)
    except Exception as error:  # an attribute may be a property, which may raise anything
        raise LaunchError(
            f"{name} is a {type(value).__name__} that does not answer for "
            f"{' and '.join(attributes)} ({type(error).__name__}: {error})",
            hint="pass a tensor that its library can export",
        ) from error


def stream_of(stream: Any, value: Any) -> int:
    """The handle of `stream`; without one, torch's current stream if `value` is a torch tensor on a
    CUDA device, else the legacy default stream, 0.
    """
    if stream is not None:
        return stream_handle(stream)
    torch = torch_of(value)
    if torch is None or not value.is_cuda:
        return 0
    return current_stream(torch, int(value.device.index))
