"""Coalescing: the same function with the fewest modes.

Rule: `coalesce(A)(i) == A(i)` for every index `i < size(A)`. Modes of extent 1 go, and a mode
`(n, d)` followed by `(m, n*d)` becomes `(n*m, d)`; nothing else can merge, so that the result is
the unique shortest flat layout of the function (docs/algebra.md, theorem 1). Both rewrites keep
every digit's contribution, so the rule holds by construction and no check is left to run.

>>> from tylo.layouts.layout import Layout
>>> print(coalesce(Layout((2, (1, 6)), (1, (6, 2)))))
12:1
>>> print(coalesce(Layout((4, 3), (0, 4))))
(4,3):(0,4)
>>> print(coalesce(Layout(((2, 2), (3, 4)), ((1, 2), (4, 12))), (1, 1)))
(4,12):(1,4)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tylo.layouts.errors import LayoutError
from tylo.layouts.int_tuple import IntTuple, flatten, show
from tylo.layouts.layout import Layout, joined, like, trusted


def coalesce(layout: Layout, profile: IntTuple | None = None) -> Layout:
    """The layout with the fewest modes that is the same function.

    With a tuple `profile`, each mode that it names is coalesced by itself (its integers mean
    "one mode here", whatever their value) and the rest stay.
    """
    if isinstance(profile, tuple):
        return by_profile(coalesce, layout, profile, "coalesce")
    if type(layout) is not Layout:
        from tylo.layouts.symbolic import operations

        return operations.coalesce(layout)
    shape, stride = layout.shape, layout.stride
    if not isinstance(shape, tuple):
        return layout if shape != 1 else trusted(1, 0)
    return from_modes(*merged(flatten(shape), flatten(stride)))


def merged(extents: Any, strides: Any) -> tuple[list[Any], list[Any]]:
    """The flat modes without extents of 1 and with contiguous neighbours joined."""
    shape: list[Any] = []
    stride: list[Any] = []
    following = None
    for extent, step in zip(extents, strides, strict=True):
        if extent == 1:
            continue
        if step == following:
            shape[-1] *= extent
        else:
            shape.append(extent)
            stride.append(step)
        following = extent * step
    return shape, stride


def from_modes(shape: list[Any], stride: list[Any]) -> Layout:
    """A flat layout, without parentheses when it has one mode and `1:0` when it has none."""
    if len(shape) > 1:
        return trusted(tuple(shape), tuple(stride))
    return trusted(shape[0], stride[0]) if shape else trusted(1, 0)


def by_profile(
    operation: Callable[[Layout, Any], Layout], layout: Layout, profile: Any, rule: str
) -> Layout:
    """`operation(mode, entry)` for each entry of a tuple, beside the modes it does not reach."""
    shape, stride = layout.shape, layout.stride
    if not isinstance(shape, tuple) or len(shape) < len(profile):
        raise LayoutError(
            f"{rule}({layout}, {show(profile)}): {len(profile)} entries for a layout of rank "
            f"{len(layout)}",
            hint="give at most one entry for each mode",
        )
    modes = [
        operation(like(layout, s, d), entry)
        for s, d, entry in zip(shape, stride, profile, strict=False)
    ]
    return joined([*modes, *[layout[mode] for mode in range(len(modes), len(shape))]])
