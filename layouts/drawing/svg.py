"""A table as SVG: one self-contained picture, readable on light and dark pages.

It brings its own panel, which turns dark where the reader prefers that; cells keep light colours
and dark text. Up to 4096 cells carry text and a tooltip. More are drawn small, one path for each
colour: 256 x 256 cells stay under two megabytes, and a note says what was left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from tylo.layouts.drawing.grid import Grid
from tylo.layouts.drawing.palette import INK, colour

SIDE = 256
LABELLED = 4096

_MARGIN, _LINE, _CHARACTER = 12, 18, 7.3  # pixels: around all, a text line, a 12-pixel letter

_STYLE = (
    "<style>.tylo-grid text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}"
    ".tylo-grid .b{font-weight:bold}.tylo-grid .m{text-anchor:middle}.tylo-grid .e{text-anchor:end}"
    f".tylo-grid .c rect{{stroke:#8a919c;stroke-width:.5}}.tylo-grid .c rect:hover{{stroke:{INK};"
    "stroke-width:2}.tylo-grid .c text{pointer-events:none}"
    "@media (prefers-color-scheme:dark){.tylo-grid .p{fill:#1b1f27}.tylo-grid .l{fill:#e3e6eb}}"
    "</style>"
)


def render(grid: Grid) -> str:
    """The SVG text of a table."""
    labelled = grid.width * grid.height <= LABELLED
    footer = [f"colour: {grid.colours}", *grid.notes]
    if not labelled:
        footer.append(f"more than {LABELLED} cells: drawn without text and tooltips")
    if labelled:
        longest = max(len(cell.text) for row in grid.cells for cell in row)
        wide, high = max(26, round(_CHARACTER * longest) + 10), 24
    else:
        wide = high = 4 if max(grid.width, grid.height) > 128 else 8
    gutter = max(len(grid.corner), len(str(grid.height - 1)))
    left = _MARGIN + round(_CHARACTER * gutter) + 8
    top = _MARGIN + 2 * _LINE + 4
    right, bottom = left + wide * grid.width, top + high * grid.height
    text_width = max(len(line) for line in (grid.title, *footer)) * _CHARACTER
    width = round(max(right, _MARGIN + text_width)) + _MARGIN
    height = bottom + _LINE * len(footer) + _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tylo-grid" role="img" '
        f'aria-label="{escape(grid.title)}" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">',
        _STYLE,
        f'<rect class="p" width="{width}" height="{height}" rx="6" fill="#fff"/>',
        _text(_MARGIN, _MARGIN + 12, grid.title, "l b"),
        *_numbers(grid, left, top, wide, high, 1 if labelled else 64 // wide),
        *(_labelled if labelled else _plain)(grid, left, top, wide, high),
        *(
            _text(_MARGIN, bottom + _LINE * (number + 1), line, "l")
            for number, line in enumerate(footer)
        ),
        "</svg>",
    ]
    return "\n".join(parts)


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x}" y="{y}" fill="{INK}">{escape(text, quote=False)}</text>'


def _numbers(grid: Grid, left: int, top: int, wide: int, high: int, every: int) -> Iterator[str]:
    """Row and column numbers, and what they count in the corner."""
    if grid.corner:
        yield _text(left - 6, top - 6, grid.corner, "l e")
    for column in range(0, grid.width, every):
        yield _text(left + wide * column + wide / 2, top - 6, str(column), "l m")
    for row in range(0, grid.height, every):
        yield _text(left - 6, top + high * row + high / 2 + 4, str(row), "l e")


def _labelled(grid: Grid, left: int, top: int, wide: int, high: int) -> Iterator[str]:
    yield '<g class="c">'
    for number, row in enumerate(grid.cells):
        y = top + high * number
        for place, cell in enumerate(row):
            x = left + wide * place
            yield (
                f'<g><title>{escape(cell.tooltip, quote=False)}</title><rect x="{x}" y="{y}" '
                f'width="{wide}" height="{high}" fill="{colour(cell.key)}"/>'
                f"{_text(x + wide / 2, y + 16, cell.text, 'm')}</g>"
            )
    yield "</g>"


def _plain(grid: Grid, left: int, top: int, wide: int, high: int) -> Iterator[str]:
    """One path for each colour; neighbours in a row of one colour are one stroke of it."""
    strokes: dict[str, list[str]] = {}
    for number, row in enumerate(grid.cells):
        y = top + high * number
        start, current = 0, colour(row[0].key)
        for place in range(1, len(row) + 1):
            here = colour(row[place].key) if place < len(row) else ""
            if here == current:
                continue
            run = wide * (place - start)
            strokes.setdefault(current, []).append(
                f"M{left + wide * start} {y}h{run}v{high}h-{run}z"
            )
            start, current = place, here
    yield '<g shape-rendering="crispEdges">'
    for fill, path in strokes.items():
        yield f'<path fill="{fill}" d="{"".join(path)}"/>'
    yield "</g>"
