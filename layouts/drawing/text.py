"""A table as a grid of characters."""

from __future__ import annotations

from tylo.layouts.drawing.grid import Grid

SIDE = 64


def render(grid: Grid) -> str:
    """The title, the table with row and column numbers, and what is not shown in brackets."""
    return "\n".join([grid.title, table(grid), *(f"[{note}]" for note in grid.notes)])


def table(grid: Grid) -> str:
    """The table alone.

    >>> from tylo.layouts.drawing.from_layout import layout_grid
    >>> from tylo.layouts.layout import Layout
    >>> print(table(layout_grid(Layout((2, 3), (1, 8)), SIDE, None)))
       0  1   2
    0  0  8  16
    1  1  9  17
    """
    lines = [
        [grid.corner, *map(str, range(grid.width))],
        *([str(number), *(cell.text for cell in row)] for number, row in enumerate(grid.cells)),
    ]
    head, *widths = (max(map(len, column)) for column in zip(*lines, strict=True))
    return "\n".join(
        first.ljust(head)
        + "".join(f"  {text.rjust(width)}" for text, width in zip(rest, widths, strict=True))
        for first, *rest in lines
    )
