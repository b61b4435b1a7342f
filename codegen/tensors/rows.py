"""A tensor of any rank as rows of columns: which dimensions fold into one row stride.

Softmax runs along one axis; all other dimensions only count rows. A kernel wants those in one
stride: row r starts `r * stride` elements after the first. Whether a tensor has that is a question
about its strides alone, and about the order in which its dimensions are counted.

The order is free, as long as all tensors of a call use the same one: rows are independent. So the
outer dimensions are counted as they lie in memory, the widest stride first, and a transposed batch
is as good as a plain one:

>>> order = row_order((3, 2, 5), (5, 15, 1), axis=2)
>>> order
(1, 0)
>>> fold((3, 2, 5), (5, 15, 1), order)
((6, 5),)

Neighbouring dimensions fold when one step of the outer is a whole run of the inner. What does not
fold stays a mode of its own, (extent, stride), outermost first. Padding between batches does that:

>>> fold((2, 3, 5), (20, 5, 1), (0, 1))
((2, 20), (3, 5))

This is `coalesce` of CuTe's algebra on the outer modes, counted from the other end.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tylo.layouts.errors import LaunchError

Modes = tuple[tuple[int, int], ...]


def row_order(shape: Sequence[int], strides: Sequence[int], axis: int) -> tuple[int, ...]:
    """All dimensions but `axis` (all for -1): the widest stride first, equal ones as they stand."""
    outer = [each for each in range(len(shape)) if each != axis]
    # The stride of a dimension of extent 1 is never used: it stays beside the next one that counts.
    ranks: dict[int, int] = {}
    beside = 0
    for each in reversed(outer):
        beside = beside if shape[each] == 1 else strides[each]
        ranks[each] = beside
    return tuple(sorted(outer, key=lambda each: -ranks[each]))


def output_order(shape: Sequence[int], strides: Sequence[int], axis: int) -> tuple[int, ...]:
    """The dimensions of an output in memory, outermost first: as in the input, rows together.

    Where the elements of a row lie side by side, so do those of the output, the axis innermost;
    where rows run across memory, the output has the order of the input.

    >>> output_order((2, 3, 5), (15, 5, 1), 2), output_order((2, 3, 5), (15, 5, 1), 1)
    ((0, 1, 2), (0, 1, 2))
    >>> output_order((3, 2, 5), (5, 15, 1), 2), output_order((3, 2, 5), (5, 15, 1), 0)
    ((1, 0, 2), (1, 0, 2))
    """
    if shape[axis] > 1 and strides[axis] != 1:
        return row_order(shape, strides, -1)
    return (*row_order(shape, strides, axis), axis)


def dense_strides(shape: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    """The strides of a tensor without gaps whose dimensions lie in that order.

    >>> dense_strides((3, 2, 5), (1, 0, 2))
    (5, 15, 1)
    """
    found = [0] * len(shape)
    stride = 1
    for each in reversed(order):
        found[each], stride = stride, stride * shape[each]
    return tuple(found)


def fold(shape: Sequence[int], strides: Sequence[int], order: Sequence[int]) -> Modes:
    """The dimensions in `order` as the fewest (extent, stride) modes, outermost first.

    No dimension, or only such of extent 1, gives ((1, 0),).
    """
    modes: list[tuple[int, int]] = []
    for each in order:
        size, stride = shape[each], strides[each]
        if size == 1:
            continue
        if modes and modes[-1][1] == size * stride:
            modes[-1] = (modes[-1][0] * size, stride)
        else:
            modes.append((size, stride))
    return tuple(modes) or ((1, 0),)


def row_stride(
    shape: Sequence[int], strides: Sequence[int], order: Sequence[int], *, name: str, axis: int
) -> int:
    """The one stride of all rows, or LaunchError that names the strides and the way out.

    >>> row_stride((2, 3, 5), (20, 5, 1), (0, 1), name="x", axis=2)
    Traceback (most recent call last):
    tylo.layouts.errors.LaunchError: the rows of x along axis 2 have no common stride: shape \
(2, 3, 5), strides (20, 5, 1) fold to rows (2, 20), (3, 5) as (extent, stride); call once for each \
index of the outer dimensions, or pass a contiguous tensor
    """
    modes = fold(shape, strides, order)
    if len(modes) > 1:
        raise LaunchError(
            f"the rows of {name} along axis {axis} have no common stride: shape {tuple(shape)}, "
            f"strides {tuple(strides)} fold to rows "
            + ", ".join(map(str, modes))
            + " as (extent, stride)",
            hint="call once for each index of the outer dimensions, or pass a contiguous tensor",
        )
    return modes[0][1]


def broadcast_strides(
    shape: Sequence[int], strides: Sequence[int], target: Sequence[int], *, name: str
) -> tuple[int, ...]:
    """The strides with which a tensor of `shape` is read as one of `target`: 0 where it repeats.

    >>> broadcast_strides((3, 1), (1, 1), (2, 3, 5), name="mask")
    (0, 1, 0)
    """
    missing = len(target) - len(shape)
    fits = missing >= 0 and all(
        size in (1, whole) for size, whole in zip(shape, target[missing:], strict=True)
    )
    if not fits:
        raise LaunchError(
            f"{name} has the shape {tuple(shape)}, which does not broadcast to {tuple(target)}",
            hint="its dimensions, counted from the last, must be 1 or those of x",
        )
    own = [0 if size == 1 else stride for size, stride in zip(shape, strides, strict=True)]
    return (0,) * missing + tuple(own)


def count(shape: Sequence[int], order: Sequence[int]) -> int:
    """How many rows the dimensions in `order` count."""
    return prod(shape[each] for each in order)
