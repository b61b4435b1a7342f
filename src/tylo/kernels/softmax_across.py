"""Rows that run across memory: which of the other dimensions lie side by side, and which in runs.

Along an axis that is not the innermost, the kernels take `inner` rows side by side; the columns of
a row have one stride, and the next `inner` rows begin one stride further on. Which dimensions make
up the inner rows is the same for all tensors of a call. Images without gaps, (batch, channel,
height, width), along the channels:

>>> shape, strides = (8, 21, 64, 64), (86016, 4096, 64, 1)
>>> across((0, 2, 3), shape, 1, {"x": strides})
(4096, {'x': Runs(outer=8, stride=86016, column_stride=4096)})

Rows further apart have no neighbours: they are runs of one.

>>> across((0,), (4, 8), 1, {"x": (16, 2)})
(1, {'x': Runs(outer=4, stride=16, column_stride=2)})
>>> across((0, 1), (4, 3, 8), 2, {"x": (100, 20, 2)})  # doctest: +ELLIPSIS
Traceback (most recent call last):
tylo.layouts.errors.LaunchError: the rows of x along axis 2 lie in no runs of one stride: ...
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tylo.codegen.tensors.rows import count, fold
from tylo.layouts.errors import LaunchError


@dataclass(frozen=True)
class Runs:
    """Runs of rows side by side: how many, from run to run, and from column to column."""

    outer: int
    stride: int
    column_stride: int


def across(
    order: Sequence[int],
    shape: Sequence[int],
    axis: int,
    tensors: Mapping[str, Sequence[int]],
) -> tuple[int, dict[str, Runs]]:
    """Rows of a run, and the runs of each tensor, given the strides of each by name.

    Runs are as long as all tensors allow. LaunchError names the tensor that has none.
    """
    wrong = ""
    for split in range(len(order) + 1):
        outer, inner = order[:split], order[split:]
        found = {}
        for name, strides in tensors.items():
            modes = fold(shape, strides, outer)
            beside = fold(shape, strides, inner)
            if len(modes) > 1 or (count(shape, inner) > 1 and beside != ((beside[0][0], 1),)):
                wrong = name
                break
            found[name] = Runs(modes[0][0], modes[0][1], strides[axis] if shape[axis] > 1 else 0)
        else:
            return count(shape, inner), found
    raise LaunchError(
        f"the rows of {wrong} along axis {axis} lie in no runs of one stride: shape "
        f"{tuple(shape)}, strides {tuple(tensors[wrong])}",
        hint="pass a tensor without gaps, for example with contiguous(), or call once for each "
        "index of the outer dimensions",
    )


def require_no_overlap(columns: int, inner: int, runs: Runs) -> None:
    """Refuse an output of which two elements share memory."""
    width = 1
    for extent, stride in sorted(
        ((inner, 1), (columns, runs.column_stride), (runs.outer, runs.stride)),
        key=lambda each: each[1],
    ):
        if extent == 1:
            continue
        if stride < width:
            raise LaunchError(
                f"out may overlap itself: {extent} of its parts, {width} elements wide, are "
                f"{stride} apart",
                hint="pass an output in which no two elements share memory",
            )
        width += (extent - 1) * stride
