"""Inverses: from offsets back to indices.

Right inverse: `A(R(i)) == i` for every `i < size(R)`, for the longest run of offsets 0, 1, 2, ..
that whole modes of `A` cover. Left inverse: `L(A(i)) == i` for every `i < size(A)`, where `L` runs
on past its size as composition has it.

Both sort the modes of `A` by stride. `(2,4,6):(4,1,8)` has, with the weight of each mode in the
index of `A`:

| stride | extent | weight in the index |
|--------|--------|---------------------|
| 1      | 4      | 2                   |
| 4      | 2      | 1                   |
| 8      | 6      | 8                   |

Each stride is the previous stride times its extent, so reading extents and weights down the table
gives the inverse `(4,2,6):(2,1,8)`.

>>> from tylo.layouts.layout import Layout
>>> print(right_inverse(Layout((2, 4, 6), (4, 1, 8))))
(4,2,6):(2,1,8)
>>> print(left_inverse(Layout((3, 7), (1, 4))))
(4,7):(1,3)
"""

from __future__ import annotations

from typing import Any

from tylo.layouts.algebra import fit
from tylo.layouts.algebra.coalesce import from_modes, merged
from tylo.layouts.algebra.injective import collision
from tylo.layouts.errors import LayoutError, Undecided
from tylo.layouts.int_tuple import flatten
from tylo.layouts.layout import Layout, as_layout


def _sorted_modes(layout: Layout) -> list[tuple[int, int, int]]:
    """`(stride, extent, weight in the index)` of the modes that move, by stride, longest first."""
    modes = []
    weight = 1
    for extent, stride in zip(flatten(layout.shape), flatten(layout.stride), strict=True):
        if extent != 1:
            modes.append((stride, extent, weight))
            weight *= extent
    modes.sort(key=lambda mode: (mode[0], -mode[1]))
    return modes


def right_inverse(layout: Any) -> Layout:
    """The layout `R` with `A(R(i)) == i`, over the longest run of offsets found.

    Takes modes in order of stride as long as each begins where the last ended, and the largest
    of several equal strides. Every layout has one: at least `1:0`, which says that offset 0 is at
    index 0. Right by construction: the digits of `i` in the extents taken are the coordinates,
    and their strides multiply up to the digits' weights.

    >>> from tylo.layouts.layout import Layout
    >>> print(right_inverse(Layout((4, 2), (2, 1))), right_inverse(Layout(4, 2)))
    (2,4):(4,1) 1:0
    """
    layout = as_layout(layout)
    if type(layout) is not Layout:
        from tylo.layouts.symbolic import operations

        return operations.right_inverse(layout)
    covered = 1
    shape: list[int] = []
    strides: list[int] = []
    for stride, extent, weight in _sorted_modes(layout):
        if stride > covered:
            break
        if stride == covered:
            shape.append(extent)
            strides.append(weight)
            covered *= extent
    return from_modes(*merged(shape, strides))


def left_inverse(layout: Any) -> Layout:
    """The layout `L` with `L(A(i)) == i` for every index `i` of `A`.

    Offsets that `A` does not reach map anywhere: `left_inverse(4:2)` is `(2,4):(0,1)`, which
    sends 2*i and 2*i+1 to i.

    Raises `LayoutError` with two colliding coordinates when `A` is not injective, and with a
    negative offset when it has one, which no layout accepts as an index. For an injective layout
    whose sorted strides do not divide one another no rule is known here: offsets up to 127 are
    searched, and the witness of a refusal is the first index that no layout reaches; beyond, the
    answer is `Undecided`.

    >>> from tylo.layouts.layout import Layout
    >>> left_inverse(Layout((4, 4), (0, 1)))
    Traceback (most recent call last):
    tylo.layouts.errors.LayoutError: left_inverse((4,4):(0,1)): not injective, two coordinates \
share an offset (witness: ((0, 0), (1, 0))); filter it first
    """
    layout = as_layout(layout)
    if type(layout) is not Layout:
        from tylo.layouts.symbolic import operations

        return operations.left_inverse(layout)
    modes = _sorted_modes(layout)
    shape: list[int] = []
    strides: list[int] = []
    reached, weight = 1, 0
    covered = 1
    for stride, extent, next_weight in modes:
        if stride < covered or stride % reached:
            return _no_left_inverse(layout, modes[0][0])
        shape.append(stride // reached)
        strides.append(weight)
        reached, weight, covered = stride, next_weight, stride * extent
    shape.append(covered // reached)
    strides.append(weight)
    return from_modes(*merged(shape, strides))


def _no_left_inverse(layout: Layout, least_stride: int) -> Layout:
    name = f"left_inverse({layout})"
    pair = collision(layout)
    if pair is not None:
        raise LayoutError(
            f"{name}: not injective, two coordinates share an offset",
            hint="filter it first",
            witness=pair,
        )
    if least_stride < 0:
        raise LayoutError(
            f"{name}: the offset {least_stride} is negative, so no index of a layout",
            hint="add an offset that makes every stride's reach positive",
            witness=least_stride,
        )
    if layout.max_offset() > fit.LARGEST_POINT:
        raise Undecided(
            f"{name}: the layout is injective, but its strides do not divide one another, and its "
            "offsets are too large to search",
            hint="invert it mode by mode",
        )
    indices = range(layout.size())
    found, reached = fit.fitted([layout(index) for index in indices], indices)
    if found is None:
        raise LayoutError(
            f"{name}: no layout sends the offsets back to more than the first {reached} indices",
            hint="invert it mode by mode",
            witness=reached,
        )
    return found
