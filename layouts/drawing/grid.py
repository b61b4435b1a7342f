"""The model of a drawing: a table of cells, each with its text, its colour key and its tooltip.

Renderers know nothing of layouts, and layouts nothing of SVG: this is all they share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Cell(NamedTuple):
    """What a cell says, what it is coloured by (None: by nothing), and what hovering over it says.

    Keys are reduced modulo the 32 colours that there are.
    """

    text: str
    key: int | None
    tooltip: str


@dataclass(frozen=True, slots=True)
class Grid:
    """A table, row by row.

    `axes` name what rows and columns count, and are empty where that goes without saying;
    `colours` says what a colour stands for; `notes` say what is not shown, and on what it rests.
    """

    title: str
    axes: tuple[str, str]
    colours: str
    cells: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...]

    @property
    def height(self) -> int:
        """The number of rows."""
        return len(self.cells)

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.cells[0])

    @property
    def corner(self) -> str:
        """The axes' names, for the corner between the row and the column numbers."""
        return "/".join(filter(None, self.axes))


def crop_notes(rows: int, columns: int, side: int) -> tuple[str, ...]:
    """What cropping a table to `side` rows and columns hides, in words.

    >>> crop_notes(100, 8, 64)
    ('cropped: rows 0-63 of 100',)
    """
    parts = [
        f"{label} 0-{side - 1} of {count}"
        for label, count in (("rows", rows), ("columns", columns))
        if count > side
    ]
    return (f"cropped: {', '.join(parts)}",) if parts else ()
