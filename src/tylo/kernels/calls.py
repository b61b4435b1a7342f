"""What calls of any kernel share: plans kept by geometry, outputs made, outputs refused."""

from __future__ import annotations

import threading
from typing import Any, TypeVar

from tylo.codegen.tensors import Tensor, view
from tylo.codegen.tensors.allocation import allocated, immutable
from tylo.layouts.errors import LaunchError

# What the widest load of a kernel and the copy engine need, in bytes.
ALIGNMENT = 16
_lock = threading.Lock()
_Plan = TypeVar("_Plan")


class Plans(dict[tuple[Any, ...], _Plan]):
    """Plans by all that decides them, looked up as in any dictionary.

    Plans are small; a program that sees ever new shapes must not collect them without end.

    >>> plans = Plans[str](most=1)
    >>> plans.keep(("one",), "first"), plans.keep(("two",), "second")
    ('first', 'second')
    >>> plans
    {('two',): 'second'}
    """

    def __init__(self, most: int = 1024) -> None:
        super().__init__()
        self.most = most

    def keep(self, key: tuple[Any, ...], plan: _Plan) -> _Plan:
        """The plan, which the next call with this key finds."""
        with _lock:
            if len(self) >= self.most:
                self.clear()
            self[key] = plan
        return plan


def described(tensor: Tensor | None) -> tuple[Any, ...] | None:
    """All of a tensor that a plan depends on, but for its device; hashable."""
    if tensor is None:
        return None
    return tensor.shape, tensor.strides, tensor.dtype, tensor.address % ALIGNMENT


def require_writable(name: str, seen: Tensor | None, given: object) -> None:
    """Refuse an output, `seen` of what was `given`, that its library does not let be written."""
    if seen is not None and (seen.read_only or immutable(given)):
        raise LaunchError(
            f"{name} is read-only: its library does not let it be written",
            hint="pass an output of torch, CuPy or Numba; JAX arrays never change",
        )


def made(
    like: Any,
    shape: tuple[int, ...],
    order: tuple[int, ...],
    dtype: str,
    device: int,
    handle: int | None,
) -> tuple[Any, int]:
    """A new output and its address; `handle` is the stream to order it on, None for its own.

    What torch allocates on its own stream needs no view: it is as its allocator makes it.
    """
    new = allocated(like, shape, order, dtype, device=device)
    if handle is None:
        address: int = new.data_ptr()
    else:
        address = view(new, handle, name="the new output", device=device).address
    if address % ALIGNMENT:
        raise LaunchError(
            f"an output was allocated at {address:#x}, no multiple of {ALIGNMENT} bytes",
            hint="pass out=",
        )
    return new, address
