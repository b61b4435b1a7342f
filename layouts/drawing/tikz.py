r"""A table as a LaTeX document with one TikZ picture, which `pdflatex` compiles as it stands.

The picture needs `\usepackage{tikz}` alone: take the lines between `\begin{tikzpicture}` and
`\end{tikzpicture}`, and the colours before them, into a document of your own.
"""

from __future__ import annotations

from collections.abc import Iterator

from tylo.layouts.drawing.grid import Grid
from tylo.layouts.drawing.palette import INK, colour

SIDE = 64

_HIGH, _CHARACTER = 0.55, 0.16  # centimetres: a row, a letter at footnote size

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{symbol: "\\" + symbol for symbol in "#$%&_{}"},
}


def render(grid: Grid) -> str:
    """The document of a table."""
    return "\n".join(
        [
            r"\documentclass[border=4mm]{standalone}",
            r"\usepackage{tikz}",
            r"\begin{document}",
            *_colours(grid),
            r"\begin{tikzpicture}[x=1cm, y=1cm, every node/.style={"
            r"font=\footnotesize\ttfamily, inner sep=0pt, text=tyloink},",
            rf"  cell/.style={{draw=black!50, minimum width={_wide(grid)}cm, "
            rf"minimum height={_HIGH}cm}}]",
            *_picture(grid),
            r"\end{tikzpicture}",
            r"\end{document}",
        ]
    )


def escaped(text: str) -> str:
    r"""Text as LaTeX sets it in a typewriter font.

    >>> escaped("F2[a_b=[]]"), escaped("50%")
    ('F2[a\\_b=[]]', '50\\%')
    """
    return "".join(_SPECIAL.get(symbol, symbol) for symbol in text)


def _name(fill: str) -> str:
    return f"tylo{fill[1:]}"


def _colours(grid: Grid) -> Iterator[str]:
    yield rf"\definecolor{{tyloink}}{{HTML}}{{{INK[1:].upper()}}}"
    for fill in dict.fromkeys(colour(cell.key) for row in grid.cells for cell in row):
        yield rf"\definecolor{{{_name(fill)}}}{{HTML}}{{{fill[1:].upper()}}}"


def _wide(grid: Grid) -> float:
    """The width of a cell."""
    longest = max(len(cell.text) for row in grid.cells for cell in row)
    return round(max(_HIGH, _CHARACTER * longest + 0.25), 2)


def _picture(grid: Grid) -> Iterator[str]:
    wide = _wide(grid)

    def node(options: str, x: float, y: float, text: str) -> str:
        return rf"\node[{options}] at ({x:.2f},{y:.2f}) {{{escaped(text)}}};"

    yield node(r"anchor=west, font=\footnotesize\ttfamily\bfseries", 0, 2 * _HIGH, grid.title)
    if grid.corner:
        yield node("anchor=east", -0.15, _HIGH / 2, grid.corner)
    for column in range(grid.width):
        yield node("", wide * (column + 0.5), _HIGH / 2, str(column))
    for number, row in enumerate(grid.cells):
        y = -_HIGH * (number + 0.5)
        yield node("anchor=east", -0.15, y, str(number))
        for place, cell in enumerate(row):
            yield node(f"cell, fill={_name(colour(cell.key))}", wide * (place + 0.5), y, cell.text)
    for number, line in enumerate((f"colour: {grid.colours}", *grid.notes)):
        yield node("anchor=west", 0, -_HIGH * (grid.height + number + 0.75), line)
