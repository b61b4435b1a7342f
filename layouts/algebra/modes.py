"""Rearranging modes: the same elements in another nesting.

>>> from tylo.layouts.layout import Layout
>>> layout = Layout((2, 3, 4))
>>> print(group(layout, 0, 2), append(layout, Layout(5, 24)), replace(layout, 1, Layout(3, 100)))
((2,3),4):((1,2),6) (2,3,4,5):(1,2,6,24) (2,3,4):(1,100,6)
>>> print(slice((None, 1, None), layout), dice((None, 1, None), layout))
(2,4):(1,6) (3):(2)
"""

from __future__ import annotations

from typing import Any

from tylo.layouts.algebra.composition import composition
from tylo.layouts.errors import LayoutError
from tylo.layouts.int_tuple import IntTuple, dice_, product, show, slice_
from tylo.layouts.int_tuple import flatten as leaves
from tylo.layouts.layout import Layout, joined, like, trusted


def slice(crd: IntTuple | None, layout: Any) -> Any:
    """The modes that face a None; of an integer tuple, the entries that do."""
    if isinstance(layout, Layout):
        return like(layout, slice_(crd, layout.shape), slice_(crd, layout.stride))
    return slice_(crd, layout)


def dice(crd: IntTuple | None, layout: Any) -> Any:
    """The modes that face no None: what `slice` leaves out."""
    if isinstance(layout, Layout):
        return like(layout, dice_(crd, layout.shape), dice_(crd, layout.stride))
    return dice_(crd, layout)


def flatten(value: Any) -> Any:
    """A layout, or an integer tuple, without nesting; an integer tuple gives a tuple.

    >>> from tylo.layouts.layout import Layout
    >>> print(flatten(Layout((2, (3, 4)))), flatten((2, (3, 4))), flatten(Layout(4)))
    (2,3,4):(1,2,6) (2, 3, 4) 4:1
    """
    if not isinstance(value, Layout):
        return leaves(value)
    if not isinstance(value.shape, tuple):
        return value
    return like(value, leaves(value.shape), leaves(value.stride))


def group(layout: Layout, begin: int, end: int) -> Layout:
    """Modes `begin .. end-1` as one nested mode."""
    if not 0 <= begin < end <= len(layout):
        raise LayoutError(f"group({layout}, {begin}, {end}): no such modes", witness=end)
    modes = list(layout)
    return joined([*modes[:begin], joined(modes[begin:end]), *modes[end:]])


def append(layout: Layout, mode: Layout | None = None, rank: int | None = None) -> Layout:
    """The layout with `mode` (default `1:0`) as its last; with `rank`, until it has that rank."""
    missing = 1 if rank is None else rank - len(layout)
    added = trusted(1, 0) if mode is None else mode
    return joined([*layout, *[added] * missing]) if missing > 0 else layout


def prepend(layout: Layout, mode: Layout | None = None, rank: int | None = None) -> Layout:
    """The layout with `mode` (default `1:0`) as its first; with `rank`, until it has that rank."""
    missing = 1 if rank is None else rank - len(layout)
    added = trusted(1, 0) if mode is None else mode
    return joined([*[added] * missing, *layout]) if missing > 0 else layout


def replace(layout: Layout, mode: int, by: Layout) -> Layout:
    """The layout with one mode exchanged."""
    if not 0 <= mode < len(layout):
        raise LayoutError(f"replace({layout}, {mode}, {by}): no such mode", witness=mode)
    modes = list(layout)
    modes[mode] = by
    return joined(modes)


def with_shape(layout: Layout, shape: IntTuple) -> Layout:
    """The same elements in the same order, over another shape of the same size.

    >>> from tylo.layouts.layout import Layout
    >>> print(with_shape(Layout((4, 4), (4, 1)), (8, 2)))
    ((4,2),2):((4,1),2)
    """
    if product(shape) != layout.size():
        raise LayoutError(
            f"with_shape({layout}, {show(shape)}): {layout.size()} elements do not fill a shape of "
            f"{product(shape)}",
            witness=min(product(shape), layout.size()),
        )
    return composition(layout, Layout(shape))
