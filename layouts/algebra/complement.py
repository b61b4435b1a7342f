"""Complement: the layout that repeats another until an interval is full.

Rule: with `F` the layout `A` without its broadcast (stride 0) modes and `R = complement(A, M)`,
the offsets `F(i) + R(j)` are pairwise distinct and fill exactly `0 .. size(F)*size(R) - 1`, which
is the first such interval of at least `M` offsets, and `R` is increasing.

>>> from tylo.layouts.layout import Layout
>>> print(complement(Layout(4, 2), 24))
(2,3):(1,8)

| F(i) + R(j) | R = 0      | 1          | 8            | 9            | 16 .. |
|-------------|------------|------------|--------------|--------------|-------|
| F = 0,2,4,6 | 0, 2, 4, 6 | 1, 3, 5, 7 | 8,10,12,14   | 9,11,13,15   | ..    |

The complement is that of A's image: a broadcast mode adds nothing to fill, so that
`complement(4:0, 24)` is `24:1`, and the pair (A, R) is then not injective, only (F, R) is. Any
other repetition, `(2,3):(2,2)` say, is refused: no `R` makes the offsets distinct.

When it exists. Sort `F`'s modes by stride. An interval is the direct sum of `F`'s arithmetic
progressions and a rest exactly when each stride is a multiple of the previous stride times its
extent (theorem 4 of docs/algebra.md, after de Bruijn). That closed condition is what runs.
"""

from __future__ import annotations

from typing import Any, NoReturn

from tylo.layouts.algebra.coalesce import from_modes
from tylo.layouts.algebra.injective import collision
from tylo.layouts.errors import LayoutError
from tylo.layouts.int_tuple import flatten, product
from tylo.layouts.layout import Layout, as_layout


def complement(layout: Any, cotarget: Any = 1) -> Layout:
    """The increasing layout that completes the image of `layout` to an interval.

    `cotarget` is the least length of that interval, as a number or a shape. When it is not a
    multiple of what one repetition covers, the interval is the next multiple: the complement of
    `4:1` in 10 is `3:4` and reaches 12.

    Raises `LayoutError` when two coordinates collide (the witness is the pair), or when an offset
    can't be covered (the witness is that offset).

    >>> from tylo.layouts.layout import Layout
    >>> complement(Layout((4, 6), (1, 7)), 100)
    Traceback (most recent call last):
    tylo.layouts.errors.LayoutError: complement((4,6):(1,7), 100): the stride 7 is not a multiple \
of the 4 offsets below it, so that no shifted copies fill the gap (witness: 4); pad the smaller \
modes or change the stride
    """
    layout = as_layout(layout)
    if type(layout) is not Layout or type(product(cotarget)) is not int:
        from tylo.layouts.symbolic import operations

        return operations.complement(layout, cotarget)
    pairs = [
        (stride, extent)
        for extent, stride in zip(flatten(layout.shape), flatten(layout.stride), strict=True)
        if extent != 1 and stride != 0
    ]
    pairs.sort()
    shape: list[int] = []
    strides: list[int] = []
    covered = 1
    for stride, extent in pairs:
        if stride < covered or stride % covered:
            _refuse(layout, cotarget, stride, covered)
        if stride != covered:
            shape.append(stride // covered)
            strides.append(covered)
        covered = stride * extent
    rest = -(-product(cotarget) // covered)
    if rest > 1:
        shape.append(rest)
        strides.append(covered)
    return from_modes(shape, strides)


def _refuse(layout: Layout, cotarget: Any, stride: int, covered: int) -> NoReturn:
    name = f"complement({layout}, {cotarget})"
    if stride < 0:
        raise LayoutError(
            f"{name}: the stride {stride} reaches negative offsets, outside every interval from 0",
            hint="complement the layout with its strides made positive",
            witness=stride,
        )
    pair = collision(layout, broadcast=False)
    if pair is not None:
        raise LayoutError(
            f"{name}: the layout is not injective, two coordinates share an offset",
            hint="filter it, or change the strides",
            witness=pair,
        )
    raise LayoutError(
        f"{name}: the stride {stride} is not a multiple of the {covered} offsets below it, so "
        "that no shifted copies fill the gap",
        hint="pad the smaller modes or change the stride",
        witness=stride - stride % covered if stride > covered else stride,
    )
