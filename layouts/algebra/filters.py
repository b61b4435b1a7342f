"""What a layout repeats, and what is left without it.

`filter` keeps the image: the modes of stride 0 and of extent 1 go. `nullspace` keeps the
repetition: the indices of the modes of stride 0.

>>> from tylo.layouts.layout import Layout, like
>>> layout = Layout((2, 3, 4), (1, 0, 2))
>>> print(filter(layout), nullspace(layout))
8:1 3:2
"""

from __future__ import annotations

from typing import Any

from tylo.layouts.algebra.coalesce import by_profile, from_modes, merged
from tylo.layouts.int_tuple import IntTuple, flatten
from tylo.layouts.layout import Layout, like


def filter(layout: Layout, profile: IntTuple | None = None) -> Layout:
    """The coalesced layout with the same image and no broadcast modes.

    With a tuple `profile`, mode by mode, as `coalesce` has it.
    """
    if isinstance(profile, tuple):
        return by_profile(filter, layout, profile, "filter")
    kept = [
        (extent, stride)
        for extent, stride in zip(flatten(layout.shape), flatten(layout.stride), strict=True)
        if stride != 0
    ]
    extents, strides = [extent for extent, _ in kept], [stride for _, stride in kept]
    if type(layout) is not Layout:
        from tylo.layouts.symbolic import operations

        return operations.coalesce(like(layout, tuple(extents), tuple(strides)))
    return from_modes(*merged(extents, strides))


def nullspace(layout: Layout) -> Layout:
    """The layout `N` of the indices that broadcast modes step through: `A(N(i)) == 0`.

    It holds every mode of stride 0; offsets that cancel between modes are no part of it.
    """
    shape: list[Any] = []
    strides: list[Any] = []
    weight = 1
    for extent, stride in zip(flatten(layout.shape), flatten(layout.stride), strict=True):
        if stride == 0:
            shape.append(extent)
            strides.append(weight)
        weight *= extent
    if type(layout) is not Layout:
        from tylo.layouts.symbolic import operations

        return operations.coalesce(like(layout, tuple(shape), tuple(strides)))
    return from_modes(*merged(shape, strides))
