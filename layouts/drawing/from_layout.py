"""Tables of layouts, swizzled layouts and swizzles: a cell is an offset, coloured by its bank.

The first mode runs down, the second right. A layout of rank 1 is one row; of a higher rank, the
first two modes are shown with the others at 0, and a note says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tylo.layouts.coordinates import CoordinateLayout
from tylo.layouts.drawing.grid import Cell, Grid, crop_notes
from tylo.layouts.int_tuple import IntTuple, flatten, idx2crd, product, show
from tylo.layouts.layout import Layout
from tylo.layouts.swizzle import ComposedLayout, Swizzle

BANKS, BANK_BITS = 32, 32


class Plane:
    """The coordinates of a shape's first two modes, in the order of their indices, cropped."""

    def __init__(self, shape: IntTuple, side: int) -> None:
        modes = shape if isinstance(shape, tuple) else (shape,)
        # A layout of rank 1 is one row: its mode runs right.
        down, right = (modes[0], modes[1]) if len(modes) > 1 else (1, (*modes, 1)[0])
        self.is_row = len(modes) < 2
        self.bare = not isinstance(shape, tuple)
        self.others = tuple(idx2crd(0, mode) for mode in modes[2:])
        self.rank = len(modes)
        rows, columns = product(down), product(right)
        self.rows = [idx2crd(index, down) for index in range(min(rows, side))]
        self.columns = [idx2crd(index, right) for index in range(min(columns, side))]
        self.notes = crop_notes(rows, columns, side)
        if any(product(mode) > 1 for mode in modes[2:]):
            self.notes += (f"modes 0 and 1 of {len(modes)}, the others at 0",)

    def coordinate(self, row: IntTuple, column: IntTuple) -> Any:
        """The coordinate in the shape of a cell."""
        if self.is_row:
            return column if self.bare else (column,)[: self.rank]
        return (row, column, *self.others)

    def cells(self, values: list[list[Any]], key: Callable[[Any], int]) -> Any:
        """The cells of a table of values, with `coordinate -> value` as tooltips."""
        rests = "".join(f",{show(other)}" for other in self.others)
        heads = [[show(c) for c in part] for part in (self.rows, self.columns)]
        if self.is_row:
            names = [[show(self.coordinate(0, column)) for column in self.columns]]
        else:
            names = [[f"({row},{column}{rests})" for column in heads[1]] for row in heads[0]]
        return tuple(
            tuple(
                Cell(text := show(value), key(value), f"{name} -> {text}")
                for name, value in zip(row_names, row, strict=True)
            )
            for row_names, row in zip(names, values, strict=True)
        )


def layout_grid(layout: Layout, side: int, bits: int | None) -> Grid:
    """The table of a layout's offsets."""
    return _offset_grid(str(layout), layout, lambda offset: offset, side, bits)


def composed_grid(composed: ComposedLayout, side: int, bits: int | None) -> Grid:
    """The table of a swizzled layout's offsets; elements are as wide as the swizzle's unit."""
    outer, offset = composed.outer, composed.offset
    if isinstance(outer, Swizzle):
        bits = bits or outer.unit
        return _offset_grid(
            str(composed), composed.inner, lambda inner: outer(offset + inner), side, bits
        )
    return _offset_grid(
        str(composed), composed.inner, lambda inner: outer.extended(offset + inner), side, bits
    )


def swizzle_grid(swizzle: Swizzle, side: int, bits: int | None) -> Grid:
    """The block that a swizzle permutes: one row for each value of its higher bits."""
    columns = 1 << (swizzle.base + abs(swizzle.shift))
    block = Layout((1 << swizzle.bits, columns), (columns, 1))
    return _offset_grid(str(swizzle), block, swizzle, side, bits or swizzle.unit)


def coordinate_grid(layout: CoordinateLayout, side: int, bits: int | None) -> Grid:
    """The table of a layout whose values are coordinates, coloured by their first entry."""
    plane = Plane(layout.shape, side)
    values = [
        [layout(plane.coordinate(row, column)) for column in plane.columns] for row in plane.rows
    ]
    cells = plane.cells(values, lambda value: int(flatten(value)[0]))
    return Grid(str(layout), ("", ""), "first entry of the coordinate", cells, plane.notes)


def _offset_grid(
    title: str, layout: Layout, after: Callable[[int], int], side: int, bits: int | None
) -> Grid:
    plane = Plane(layout.shape, side)
    # An offset is a sum over modes: a row's part and a column's part are each computed once.
    down = [layout(plane.coordinate(row, plane.columns[0])) for row in plane.rows]
    right = [layout(plane.coordinate(plane.rows[0], column)) for column in plane.columns]
    values = [[after(below + beside) for beside in right] for below in down]
    width = bits or BANK_BITS
    colours = f"shared-memory bank of {width}-bit elements"
    cells = plane.cells(values, lambda offset: bank(offset, width))
    return Grid(title, ("", ""), colours, cells, plane.notes)


def bank(offset: int, bits: int) -> int:
    """The shared-memory bank where an element of `bits` bits begins.

    >>> [bank(offset, 16) for offset in (0, 1, 2, 63, 64)]
    [0, 0, 1, 31, 0]
    """
    return offset * bits // BANK_BITS % BANKS
