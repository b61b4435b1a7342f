"""The stream a kernel runs on, from whatever the caller has: always a CUDA handle, as an integer.

| given | read |
|---|---|
| an integer | as it is: a `CUstream` or `cudaStream_t` handle |
| anything with `__cuda_stream__` (cuda.core, torch, ...) | its second entry |
| `torch.cuda.Stream` | `cuda_stream` |
| `cupy.cuda.Stream` | `ptr` |
| `numba.cuda` streams | `handle` |

0 and 1 both name the legacy default stream, 2 the per-thread one. Here the legacy one is 0.

>>> stream_handle(1), stream_handle(2), stream_handle(0x55D0)
(0, 2, 21968)
>>> stream_handle("main")
Traceback (most recent call last):
tylo.layouts.errors.LaunchError: 'main' of type str is no CUDA stream; pass a handle as an \
integer, or a stream of cuda.core, torch, CuPy or Numba

Source: CUDA Runtime API, "Stream synchronization behavior"; cuda.core, "CUDA Stream Protocol".
"""

from __future__ import annotations

from typing import Any

from tylo.layouts.errors import LaunchError

_LEGACY_STREAM = 1
_ATTRIBUTES = ("cuda_stream", "ptr", "handle")
_LARGEST = 2**64 - 1


def stream_handle(stream: Any) -> int:
    """The handle of `stream`; 0 for the legacy default stream."""
    try:
        handle = _handle(stream)
    except LaunchError:
        raise
    except Exception as error:  # whatever a stream object of another library raises
        raise LaunchError(
            f"the stream, a {type(stream).__name__}, does not give its handle "
            f"({type(error).__name__}: {error})",
            hint="pass a handle as an integer, or a stream of cuda.core, torch, CuPy or Numba",
        ) from error
    if not 0 <= handle <= _LARGEST:
        raise LaunchError(
            f"stream {handle} is no CUDA stream handle",
            hint="pass a handle, or leave the stream out for the default",
        )
    return 0 if handle == _LEGACY_STREAM else handle


def _handle(stream: Any) -> int:
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        _, handle = protocol() if callable(protocol) else protocol
        return int(handle)
    if isinstance(stream, int) and not isinstance(stream, bool):
        return stream
    for attribute in _ATTRIBUTES:
        handle = getattr(stream, attribute, None)
        # A handle may be a ctypes pointer, which holds None for null.
        if handle is not None:
            return int(getattr(handle, "value", handle) or 0)
    raise LaunchError(
        f"{stream!r} of type {type(stream).__name__} is no CUDA stream",
        hint="pass a handle as an integer, or a stream of cuda.core, torch, CuPy or Numba",
    )
