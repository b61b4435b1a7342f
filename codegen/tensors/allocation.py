"""A new tensor from the library of another one, so that callers get back what they passed in.

torch, CuPy and Numba allocate on the device of the tensor that they are given as a pattern. Others
cannot: JAX arrays never change once they exist, and of a library that is not listed nobody here
knows how it allocates. Then the caller passes the output.

The result's dimensions lie in memory in the order that is asked for, the last one innermost. With
the order (1, 0, 2), the shape (2, 3, 4) has the strides (4, 8, 1).
"""

from __future__ import annotations

from functools import cache
from typing import Any

from tylo.codegen.tensors.torch_tensors import torch_dtype, torch_of
from tylo.layouts.errors import LaunchError

_NUMPY = {"f32": "float32", "f16": "float16", "bool": "bool"}


def library_of(value: object) -> str:
    """The top-level package that made `value`, by the module of its type.

    >>> library_of(3), library_of("text")
    ('builtins', 'builtins')
    """
    return "torch" if torch_of(value) else type(value).__module__.partition(".")[0]


def allocated(
    like: Any, shape: tuple[int, ...], order: tuple[int, ...], dtype: str, *, device: int
) -> Any:
    """An uninitialised tensor of `like`'s library and device, dimensions in memory as `order`."""
    if torch := torch_of(like):
        kind, where = torch_dtype(torch, dtype), like.device
        if _in_order(order):
            return torch.empty(shape, dtype=kind, device=where)
        stored = tuple(shape[axis] for axis in order)
        return torch.empty(stored, dtype=kind, device=where).permute(_inverse(order))
    library = library_of(like)
    allocate = _ALLOCATORS.get(library)
    if allocate is None:
        raise LaunchError(
            f"{library} {_REASONS.get(library, 'is not known to allocate device memory')}",
            hint="pass out=, for example a torch, CuPy or Numba array",
        )
    stored = tuple(shape[axis] for axis in order)
    return allocate(like, stored, order, dtype, device)


_REASONS = {
    "jax": "arrays never change once they exist, and order their own streams",
    "jaxlib": "arrays never change once they exist, and order their own streams",
}


def immutable(value: object) -> bool:
    """Whether `value` belongs to a library whose arrays must not be written, whatever flags say."""
    return library_of(value) in _REASONS


def _cupy(
    like: Any, stored: tuple[int, ...], order: tuple[int, ...], dtype: str, device: int
) -> Any:
    import cupy

    with cupy.cuda.Device(device):
        made = cupy.empty(stored, dtype=like.dtype if dtype == "bf16" else _NUMPY[dtype])
    return made if _in_order(order) else made.transpose(_inverse(order))


def _numba(
    like: Any, stored: tuple[int, ...], order: tuple[int, ...], dtype: str, device: int
) -> Any:
    from numba import cuda

    if dtype not in _NUMPY or not _in_order(order):
        raise LaunchError(
            f"numba allocates no {dtype} array whose dimensions lie in the order {order}",
            hint="pass out=",
        )
    with cuda.gpus[device]:
        return cuda.device_array(stored, dtype=_NUMPY[dtype])


_ALLOCATORS = {
    "cupy": _cupy,
    "numba": _numba,
    "numba_cuda": _numba,
}


@cache
def _in_order(order: tuple[int, ...]) -> bool:
    return order == tuple(range(len(order)))


def _inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(order.index(axis) for axis in range(len(order)))
