"""Thread-value layouts: an ownership as CuTe writes it, and back.

CuTe gives an operand's ownership as one layout of two modes, (thread, value), whose offsets number
the tile column-major: ``offset = m + 16 * k`` for a 16x16 operand A. CuTe lists the axes of B as
(N, K), so that the order of the axes is an argument here.

>>> from tylo.layouts.atoms import atom
>>> mma = atom("mma.m16n8k16.bf16")
>>> print(to_tv_layout(mma.operand("A").ownership))
((4,8),(2,2,2)):((32,1),(16,8,128))
>>> print(to_tv_layout(mma.operand("B").ownership, order=("n", "k")))
((4,8),(2,2)):((16,1),(8,64))

A stride says along which axis a digit moves only once the tile is known. A digit that runs past the
end of an axis is split there, as a column of 16 rows and the next column:

>>> from tylo.layouts.layout import Layout
>>> column = from_tv_layout(Layout((32, 2), (1, 32)), axes={"m": 16, "k": 4}, bits=32)
>>> column(lane=20), column(lane=20, value=1)
((4, 1), (4, 3))
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tylo.layouts.errors import OwnershipError
from tylo.layouts.indices import require_number
from tylo.layouts.int_tuple import flatten
from tylo.layouts.layout import Layout
from tylo.layouts.ownership import Input, Mode, Ownership


def to_tv_layout(ownership: Ownership, *, order: Sequence[str] | None = None) -> Layout:
    """The layout ``(threads, values) -> column-major offset``, the first axis of `order` fastest.

    Inputs are flattened into one mode for the threads and one for the values, digits of size 1
    kept, so that the rank does not change with a size. Raises `OwnershipError` where sizes are
    symbolic or `order` does not name each axis once.
    """
    axes = tuple(order or ownership.axis_names)
    if sorted(axes) != sorted(ownership.axis_names):
        raise OwnershipError(
            f"the order {axes} does not name each axis once",
            hint=f"the axes are {', '.join(ownership.axis_names)}",
        )
    if ownership.symbols:
        raise OwnershipError(
            f"sizes {', '.join(ownership.symbols)} are symbolic", hint="substitute the sizes first"
        )
    extents = dict(ownership.axes)
    strides = flatten(Layout(tuple(extents[axis] for axis in axes)).stride)
    weights = dict(zip(axes, strides, strict=True))
    modes = [
        [mode for each in inputs for mode in each.modes] or [Mode(1, (0,) * len(axes))]
        for inputs in (ownership.threads, ownership.values)
    ]
    return Layout(
        tuple(tuple(mode.size for mode in part) for part in modes),
        tuple(
            tuple(
                sum(
                    step * weights[axis]
                    for axis, step in zip(ownership.axis_names, mode.steps, strict=True)
                )
                for mode in part
            )
            for part in modes
        ),
    )


def from_tv_layout(layout: Layout, *, axes: Mapping[str, int], bits: int) -> Ownership:
    """The ownership of a thread-value layout whose offsets number `axes`, the first one fastest.

    Its inputs are ``lane`` and ``value``. Raises `OwnershipError` for a layout that is not of two
    modes, and for a digit that does not move along the axes evenly.
    """
    if not isinstance(layout.shape, tuple) or len(layout.shape) != 2:
        raise OwnershipError(
            f"{layout} is no thread-value layout", hint="its two modes are threads and values"
        )
    for label, extent in axes.items():
        require_number(f"the extent of {label}", extent, 1)
    lane, value = (
        Input(
            label,
            tuple(
                mode
                for size, stride in zip(flatten(mode.shape), flatten(mode.stride), strict=True)
                for mode in _modes(size, stride, tuple(axes.items()))
            ),
        )
        for label, mode in (("lane", layout[0]), ("value", layout[1]))
    )
    return Ownership(tuple(axes.items()), values=(value,), threads=(lane,), bits=bits)


def _modes(size: int, stride: int, axes: Sequence[tuple[str, int]]) -> Iterator[Mode]:
    """The digits, one axis at a time, of a digit that moves `stride` in column-major offsets."""
    if not isinstance(size, int) or not isinstance(stride, int) or stride < 0:
        raise OwnershipError(
            f"a digit of size {size} and stride {stride}",
            hint="strides are numbers from 0",
            witness=stride,
        )
    below, steps = stride, []
    for _, extent in axes[:-1]:
        below, step = divmod(below, extent)
        steps.append(step)
    steps.append(below)
    over = [
        (step, extent)
        for step, (_, extent) in zip(steps, axes, strict=True)
        if (size - 1) * step >= extent
    ]
    if not over:
        yield Mode(size, tuple(steps))
        return
    step, extent = over[0]
    fits = extent // step
    if sum(map(bool, steps)) > 1 or extent % step or size % fits or fits == 1:
        raise OwnershipError(
            f"a digit of size {size} and stride {stride} does not move evenly along the axes "
            f"{dict(axes)}",
            hint="its steps must fill an axis before they move along the next",
            # The digit's first step past an end.
            witness=-(-extent // step),
        )
    yield Mode(fits, tuple(steps))
    yield from _modes(size // fits, stride * fits, axes)
