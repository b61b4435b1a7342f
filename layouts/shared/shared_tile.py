"""`SharedTile`: a matrix in shared memory, in panels as wide as a swizzle row.

A swizzled box is never wider than its swizzle row, so that a wider matrix lies in *panels*, one
after the other. Element (row, column) of 128 halves by 64 rows under the 128-byte swizzle:

    panel = column div 64,  offset = panel * 64 * 128 + row * 128 + (column mod 64) * 2,  swizzled

>>> tile = SharedTile(rows=64, columns=128, element_bytes=2, swizzle=128)
>>> print(tile.layout())
Sw<3,4,3>@8 o 0 o (64,(64,2)):(128,(2,8192))
>>> tile(3, 64 + 8), 64 * 128 + 3 * 128 + 16 * (1 ^ 3)
(8608, 8608)

`boxes` lists the copies that fill it: a destination offset, the coordinate of the box's first
element (innermost first, as a copy has it), and the box. Rows beyond 256 take further boxes.

>>> for offset, origin, box in tile.boxes():
...     print(offset, origin, box)
0 (0, 0) box 64x64 of 2-byte elements, swizzle 128
8192 (64, 0) box 64x64 of 2-byte elements, swizzle 128

Without a swizzle the panels are 16 bytes wide: the core matrices of `wgmma`, one below the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tylo.layouts.errors import LayoutError
from tylo.layouts.layout import Layout
from tylo.layouts.shared.swizzle_mode import SwizzleMode, swizzle_mode
from tylo.layouts.shared.tma_box import ELEMENT_BYTES, LARGEST_EXTENT, TmaBox
from tylo.layouts.swizzle import ComposedLayout

ROW_GROUP = 8  # rows of a core matrix


@dataclass(frozen=True, slots=True)
class SharedTile:
    """`rows` by `columns` elements, columns contiguous; see the module.

    Raises `LayoutError` unless rows come in eights and columns fill whole panels.
    """

    rows: int
    columns: int
    element_bytes: int
    swizzle: int

    def __post_init__(self) -> None:
        width = swizzle_mode(self.swizzle).width
        if self.element_bytes not in ELEMENT_BYTES:
            raise LayoutError(
                f"elements of {self.element_bytes} bytes",
                hint=f"use one of {ELEMENT_BYTES}",
                witness=self.element_bytes,
            )
        panel = width // self.element_bytes
        for what, count, unit in (
            ("rows", self.rows, ROW_GROUP),
            ("columns", self.columns, panel),
        ):
            if count < 1 or count % unit:
                raise LayoutError(
                    f"a tile of {count} {what}, no multiple of {unit}: under swizzle "
                    f"{self.swizzle} a panel is {panel} elements wide and rows come in "
                    f"{ROW_GROUP}s",
                    hint=f"pad it to {max(1, -(-count // unit)) * unit} {what}"
                    + (", or use a narrower swizzle" if what == "columns" else ""),
                    witness=count,
                )

    @property
    def mode(self) -> SwizzleMode:
        """The swizzle with its codes."""
        return swizzle_mode(self.swizzle)

    @property
    def panel_columns(self) -> int:
        """Columns of one panel."""
        return self.mode.width // self.element_bytes

    @property
    def panels(self) -> int:
        """How many panels lie one after the other."""
        return self.columns // self.panel_columns

    @property
    def panel_bytes(self) -> int:
        """Bytes from one panel to the next."""
        return self.rows * self.mode.width

    @property
    def bytes(self) -> int:
        """Bytes of the whole tile."""
        return self.panels * self.panel_bytes

    def layout(self) -> ComposedLayout:
        """(row, column) to byte offsets from a base that is a multiple of the repeat."""
        width = self.mode.width
        inner = Layout(
            (self.rows, (self.panel_columns, self.panels)),
            (width, (self.element_bytes, self.panel_bytes)),
        )
        return ComposedLayout(self.mode.swizzle, 0, inner)

    def __call__(self, row: int, column: int) -> Any:
        """The byte offset of an element."""
        return self.layout()(row, column)

    def boxes(self) -> Iterator[tuple[int, tuple[int, int], TmaBox]]:
        """Destination offset, origin (column, row) and box of every copy that fills the tile."""
        for panel in range(self.panels):
            for row in range(0, self.rows, LARGEST_EXTENT):
                rows = min(LARGEST_EXTENT, self.rows - row)
                yield (
                    panel * self.panel_bytes + row * self.mode.width,
                    (panel * self.panel_columns, row),
                    TmaBox((self.panel_columns, rows), self.element_bytes, self.swizzle),
                )
