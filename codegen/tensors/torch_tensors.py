"""Torch tensors, read by their attributes: an order of magnitude cheaper than an export.

torch is never imported here. A value can only be one of its tensors when it is already loaded.

A tensor's memory belongs to torch's current stream. A kernel that runs on another one waits for it
on the device, and torch is told (`record_stream`) not to reuse the memory until the kernel is done.
A gradient would be lost without a word, so a tensor that wants one is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

from tylo.codegen.tensors.dlpack import require_same_device
from tylo.codegen.tensors.tensor import Tensor
from tylo.layouts.errors import LaunchError

# Kernels choose their loads by how far addresses are off a multiple of this, in bytes.
_ALIGNMENT = 16


def torch_of(value: object) -> Any:
    """The torch module when `value` is one of its tensors, else None."""
    torch = sys.modules.get("torch")
    kind = getattr(torch, "Tensor", None)
    return torch if kind is not None and isinstance(value, kind) else None


def current_stream(torch: Any, ordinal: int) -> int:
    """The handle of torch's current stream on a device."""
    return int(_raw_stream(torch)(ordinal))


def from_torch(
    torch: Any, value: Any, stream: int, *, name: str, device: int | None = None
) -> Tensor:
    """View a torch tensor, whose work is ordered before what `stream` runs next."""
    where = value.device
    if where.type != "cuda":
        raise LaunchError(
            f"{name}, a torch tensor, lies on {where}",
            hint="move it to a CUDA device first; nothing is copied silently",
        )
    if value.requires_grad:
        raise LaunchError(
            f"{name} requires a gradient, which a plain kernel launch would drop",
            hint="pass x.detach(), or use the operator that tylo.kernels.torch_operator() returns",
        )
    dtype = dtype_of(torch, value)
    if dtype is None or value.layout is not torch.strided or value.is_neg() or value.is_conj():
        raise LaunchError(
            f"{name} is a {value.dtype} tensor of layout {value.layout}"
            + (" with a pending negation or conjugation" if dtype else ""),
            hint="pass a strided float32, bfloat16 or float16 tensor, a mask as torch.bool; "
            "resolve_neg() and resolve_conj() carry out what is pending",
        )
    ordinal = int(where.index)
    require_same_device(ordinal, device, name)
    try:
        address = value.data_ptr()
    except RuntimeError as error:
        raise LaunchError(
            f"{name} has no memory of its own ({error})",
            hint="while torch traces, use the operator that tylo.kernels.torch_operator() returns",
        ) from error
    if current_stream(torch, ordinal) != stream:
        _order(torch, value, ordinal, stream)
    return Tensor(address, tuple(value.shape), value.stride(), dtype, ordinal, owner=value)


def torch_description(values: Sequence[Any], stream: Any, handle: int) -> tuple[Any, ...] | None:
    """All that decides how plain torch tensors are viewed, but for their addresses; hashable.

    None when a value that is given is no plain torch tensor on a CUDA device, or when the stream is
    not torch's current one: those need the views. The first value is given.
    """
    found = torch_description_and_addresses(values, stream, handle)
    return None if found is None else found[0]


def torch_description_and_addresses(
    values: Sequence[Any], stream: Any, handle: int
) -> tuple[tuple[Any, ...], list[int]] | None:
    """The same, and the addresses: 0 for a value that is None."""
    first = values[0]
    torch = torch_of(first)
    if torch is None or not first.is_cuda:
        return None
    if stream is not None and handle != current_stream(torch, first.device.index):
        return None
    described: list[Any] = []
    addresses: list[int] = []
    plain = torch.Tensor
    for value in values:
        if value is None:
            described.append(None)
            addresses.append(0)
            continue
        if type(value) is not plain:
            return None
        try:
            address = value.data_ptr()
        except RuntimeError:
            return None
        addresses.append(address)
        described.append(
            (
                value.shape,
                value.stride(),
                value.dtype,
                value.device,
                value.layout,
                value.requires_grad,
                value.is_neg(),
                address % _ALIGNMENT,
            )
        )
    return tuple(described), addresses


def dtype_of(torch: Any, value: Any) -> str | None:
    """The name of a torch tensor's element type; None for one that kernels do not know."""
    return _dtypes(torch).get(value.dtype)


@cache
def torch_dtype(torch: Any, name: str) -> Any:
    """torch's own element type of that name."""
    return next(dtype for dtype, known in _dtypes(torch).items() if known == name)


def _order(torch: Any, value: Any, ordinal: int, stream: int) -> None:
    with torch.cuda.device(ordinal):
        other = (
            torch.cuda.ExternalStream(stream, ordinal)
            if stream
            else torch.cuda.default_stream(ordinal)
        )
        other.wait_stream(torch.cuda.current_stream(ordinal))
        value.record_stream(other)


@cache
def _raw_stream(torch: Any) -> Any:
    # What torch's own compiler calls: the public way makes a stream object each time.
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return raw or (lambda ordinal: torch.cuda.current_stream(ordinal).cuda_stream)


@cache
def _dtypes(torch: Any) -> dict[Any, str]:
    names = {"float32": "f32", "bfloat16": "bf16", "float16": "f16", "float64": "f64"}
    names |= {"bool": "bool", "uint8": "u8", "int8": "i8", "int16": "i16"}
    names |= {"int32": "i32", "int64": "i64", "complex64": "c64", "complex128": "c128"}
    return {getattr(torch, name): dtype for name, dtype in names.items()}
