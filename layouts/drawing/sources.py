"""From each kind of value to its table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tylo.layouts.coordinates import CoordinateLayout
from tylo.layouts.drawing.from_layout import (
    composed_grid,
    coordinate_grid,
    layout_grid,
    swizzle_grid,
)
from tylo.layouts.drawing.from_linear import linear_grid
from tylo.layouts.drawing.from_ownership import ownership_grid
from tylo.layouts.drawing.grid import Grid
from tylo.layouts.errors import LayoutError
from tylo.layouts.int_tuple import flatten
from tylo.layouts.layout import Layout
from tylo.layouts.linear.value import LinearLayout
from tylo.layouts.ownership import Ownership
from tylo.layouts.swizzle import ComposedLayout, Swizzle
from tylo.layouts.symbolic.layout import conditions_of

_SOURCES: dict[type, Callable[[Any, int, int | None], Grid]] = {
    Layout: layout_grid,
    ComposedLayout: composed_grid,
    Swizzle: swizzle_grid,
    CoordinateLayout: coordinate_grid,
    LinearLayout: linear_grid,
    Ownership: ownership_grid,
}


def grid_of(value: Any, side: int, bits: int | None) -> Grid:
    """The table of a value, cropped to `side` rows and columns."""
    if bits is not None and bits < 1:
        raise LayoutError(f"elements of {bits} bits", hint="an element has at least one bit")
    symbols = symbols_of(value)
    if symbols:
        raise LayoutError(
            f"{value if isinstance(value, Layout) else 'the ownership'} has the symbolic sizes "
            f"{', '.join(symbols)}: there is no table to draw",
            hint="substitute the sizes first",
        )
    for kind, source in _SOURCES.items():
        if isinstance(value, kind):
            table = source(value, side, bits)
            needs = tuple(f"only where {condition}" for condition in needs_of(value))
            return replace(table, notes=(*table.notes, *needs))
    raise LayoutError(
        f"{value!r} is no layout: there is nothing to draw",
        hint="write a layout as shape:stride, such as (4,2):(1,4)",
    )


def symbols_of(value: Any) -> tuple[str, ...]:
    """The symbols in the sizes of a layout or an ownership, sorted."""
    if isinstance(value, Ownership):
        return value.symbols
    entries = [e for part in _parts(value) for e in flatten((part.shape, part.stride))]
    symbolic = [entry for entry in entries if not isinstance(entry, int)]
    return tuple(sorted({symbol.name for entry in symbolic for symbol in entry.free_symbols}))


def needs_of(value: Any) -> tuple[str, ...]:
    """The conditions on symbols under which a layout is right.

    They may outlive the symbols: `composition((n,8):(8,1), 4:2)` is `4:16` only from n = 8 on.
    """
    return tuple(map(str, conditions_of(*_parts(value))))


def _parts(value: Any) -> list[Layout]:
    parts: list[Any] = [value]
    if isinstance(value, CoordinateLayout):
        parts = [layout for _, layout in value.entries]
    elif isinstance(value, ComposedLayout):
        parts = [value.outer, value.inner]
    return [part for part in parts if isinstance(part, Layout)]
