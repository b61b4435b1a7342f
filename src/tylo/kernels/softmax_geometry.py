"""What a softmax call asks for, as sizes and strides, or why it cannot be asked.

Rows are counted over all dimensions but the axis, in the order in which `x` holds them; output,
mask and log-sum-exp are read in the same order. Everything that shapes, strides and types can get
wrong is refused here, before a device is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tylo.codegen.softmax.request import BYTES, Across, MaskGeometry
from tylo.codegen.tensors import Tensor
from tylo.codegen.tensors.rows import (
    broadcast_strides,
    count,
    dense_strides,
    fold,
    output_order,
    row_order,
    row_stride,
)
from tylo.kernels.softmax_across import across, require_no_overlap
from tylo.layouts.errors import LaunchError

_TYPES = "float32, bfloat16 or float16"


@dataclass(frozen=True)
class SoftmaxGeometry:
    """Rows and columns of one call, type and device of x. Strides in elements; the mask's in bytes.

    Where rows run `across` memory, row strides are those from one run of rows to the next. `order`
    and `lse_order` are the dimensions of the outputs, outermost in memory first. A stride
    between rows is that of the tensor, or of one allocated in that order. All strides and the mask
    are of no meaning when there are no rows or no columns.
    """

    shape: tuple[int, ...]
    order: tuple[int, ...]
    lse_shape: tuple[int, ...]
    lse_order: tuple[int, ...]
    rows: int
    columns: int
    dtype: str
    device: int
    row_stride: int = 0
    out_row_stride: int = 0
    mask: MaskGeometry | None = None
    across: Across | None = None


def softmax_geometry(
    axis: int, x: Tensor, mask: Tensor | None, out: Tensor | None, lse: Tensor | None
) -> SoftmaxGeometry:
    """The geometry of softmax along `axis`; LaunchError names what does not fit."""
    axis = _axis(axis, len(x.shape))
    _require_float("x", x)
    if mask is not None:
        _require_boolean(mask)
    # A tensor without dimensions is one row of one column.
    shape, strides = (x.shape, x.strides) if x.shape else ((1,), (1,))
    order = row_order(shape, strides, axis)
    found = SoftmaxGeometry(
        shape=x.shape,
        order=output_order(shape, strides, axis) if x.shape else (),
        lse_shape=tuple(size for each, size in enumerate(x.shape) if each != axis),
        lse_order=tuple(each - (each > axis) for each in order),
        rows=count(shape, order),
        columns=shape[axis],
        dtype=x.dtype,
        device=x.device,
    )
    mask_strides: tuple[int, ...] = ()
    if mask is not None:
        mask_strides = broadcast_strides(mask.shape, mask.strides, shape, name="mask")
    if out is not None:
        _require_float("out", out)
        _require_shape("out", out.shape, x.shape)
    if lse is not None:
        _require_lse(lse, found)
    if not found.rows or not found.columns:
        return found
    folded = _mask(mask_strides, shape, order, axis) if mask is not None else None
    named = {"x": x} | ({} if out is None else {"out": out})
    if any(_apart(each, axis) for each in named.values()):
        strided = _across(found, order, axis, named)
    else:
        strided = {
            "row_stride": _rows_apart("x", x, shape, order, axis),
            "out_row_stride": _out_rows_apart(out, shape, order, axis),
        }
    return SoftmaxGeometry(**vars(found) | strided | {"mask": folded})


def _apart(tensor: Tensor, axis: int) -> bool:
    """Whether the elements of a row lie apart."""
    return bool(tensor.shape) and tensor.shape[axis] > 1 and tensor.strides[axis] != 1


def _across(
    found: SoftmaxGeometry, order: Sequence[int], axis: int, named: Mapping[str, Tensor]
) -> dict[str, Any]:
    """The strides of rows that run across memory."""
    strides = {name: each.strides for name, each in named.items()}
    for name, each in strides.items():
        _require_forward(name, each)
    strides = {"out": dense_strides(found.shape, found.order)} | strides
    # x first: where it has gaps, an output that the caller did not pass is not to blame.
    inner, runs = across(order, found.shape, axis, {"x": strides["x"], **strides})
    x, out = runs["x"], runs["out"]
    if "out" in named:
        require_no_overlap(found.columns, inner, out)
    return {
        "row_stride": x.stride,
        "out_row_stride": out.stride,
        "across": Across(inner, x.column_stride, out.column_stride),
    }


def _axis(axis: int, rank: int) -> int:
    least = max(rank, 1)
    if not isinstance(axis, int) or not -least <= axis < least:
        raise LaunchError(
            f"axis {axis!r} is none of a tensor with {rank} dimensions",
            hint=f"pass an integer from {-least} to {least - 1}",
        )
    return axis % least


def _require_float(name: str, tensor: Tensor) -> None:
    if tensor.dtype not in BYTES:
        raise LaunchError(
            f"{name} has elements of type {tensor.dtype}", hint=f"softmax takes {_TYPES}"
        )
    if tensor.address % BYTES[tensor.dtype]:
        raise LaunchError(
            f"{name} lies at {tensor.address:#x}, no multiple of its {BYTES[tensor.dtype]} bytes "
            "per element",
            hint="pass memory that is aligned for its own elements",
        )


def _require_boolean(mask: Tensor) -> None:
    if mask.dtype != "bool":
        raise LaunchError(
            f"mask has elements of type {mask.dtype}",
            hint="pass a Boolean mask, True = keep; numbers that are added to scores are none",
        )


def _require_shape(name: str, found: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    if found != wanted:
        raise LaunchError(
            f"{name} has the shape {found}, the result has {wanted}",
            hint=f"pass {name} of exactly that shape, or leave it out",
        )


def _require_lse(lse: Tensor, geometry: SoftmaxGeometry) -> None:
    if lse.dtype != "f32" or lse.address % BYTES["f32"]:
        raise LaunchError(
            f"lse has elements of type {lse.dtype} at {lse.address:#x}",
            hint="the log-sum-exp is float32, aligned to 4 bytes",
        )
    _require_shape("lse", lse.shape, geometry.lse_shape)
    modes = fold(lse.shape, lse.strides, geometry.lse_order)
    if geometry.rows > 1 and modes != ((geometry.rows, 1),):
        raise LaunchError(
            f"lse of shape {lse.shape} has the strides {lse.strides}, and does not hold its rows "
            f"side by side in the order of x, dimensions {geometry.lse_order}",
            hint="leave it out, and it is allocated so",
        )


def _rows_apart(
    name: str, tensor: Tensor, shape: tuple[int, ...], order: Sequence[int], axis: int
) -> int:
    strides = tensor.strides if tensor.shape else (1,)
    _require_forward(name, strides)
    if count(shape, order) == 1:
        return shape[axis]
    return row_stride(shape, strides, order, name=name, axis=axis)


def _out_rows_apart(
    out: Tensor | None, shape: tuple[int, ...], order: Sequence[int], axis: int
) -> int:
    columns = shape[axis]
    if out is None:
        return columns
    apart = _rows_apart("out", out, shape, order, axis)
    if apart < columns:
        raise LaunchError(
            f"out overlaps itself: rows of {columns} elements are {apart} apart",
            hint="pass an output in which no two elements share memory",
        )
    return apart


def _mask(
    strides: tuple[int, ...], shape: tuple[int, ...], order: Sequence[int], axis: int
) -> MaskGeometry:
    _require_forward("mask", strides)
    return MaskGeometry(fold(shape, strides, order), strides[axis] if shape[axis] > 1 else 0)


def _require_forward(name: str, strides: tuple[int, ...]) -> None:
    if any(stride < 0 for stride in strides):
        raise LaunchError(
            f"{name} has the strides {strides}, and a tensor that runs backwards is not read",
            hint="pass a copy that runs forwards, for example with contiguous()",
        )
