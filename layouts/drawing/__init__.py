r"""Drawings of layouts: as text, as SVG, as LaTeX.

A drawing is a table. The first mode of a layout runs down and the second runs right, and a cell
holds the offset. For an ownership the table is the tile itself, and a cell says who holds the
element: `T6V3` is value 3 of thread 6.

>>> from tylo.layouts.layout import Layout
>>> from tylo.layouts.swizzle import ComposedLayout, Swizzle
>>> print(draw(ComposedLayout(Swizzle(2, 0, 2), 0, Layout((4, 4), (4, 1)))))
Sw<2,0,2> o 0 o (4,4):(4,1)
    0   1   2   3
0   0   1   2   3
1   5   4   7   6
2  10  11   8   9
3  15  14  13  12

Colours of layouts are shared-memory banks: 32 banks of 32 bits, so that the bank of an offset
depends on how wide an element is (`bits`). Eight hues are the eight 16-byte chunks of a 128-byte
row, four shades the words of a chunk. Colours of ownerships are threads: a hue is a quad of lanes.

| form   | what it is                                          | at most      |
|--------|-----------------------------------------------------|--------------|
| `text` | a grid of characters                                | 64 x 64      |
| `svg`  | self-contained, light and dark; tooltips on cells   | 256 x 256    |
| `tikz` | a LaTeX document that compiles as it stands         | 64 x 64      |

What lies past that is cropped, and the drawing says so. An SVG of more than 4096 cells has colours
only, and says that too.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from tylo.layouts.drawing import svg, text, tikz
from tylo.layouts.drawing.grid import Cell, Grid
from tylo.layouts.drawing.sources import grid_of, symbols_of
from tylo.layouts.errors import LayoutError

FORMS: dict[str, ModuleType] = {"text": text, "svg": svg, "tikz": tikz}


def draw(value: Any, form: str = "text", *, bits: int | None = None) -> str:
    """The drawing of a layout, swizzle, linear layout or ownership, in one of `FORMS`.

    `bits` is the width of an element, for the colours of banks: 32 unless it is given, or the unit
    of a swizzle says otherwise. Raises `LayoutError` for what has no table: numbers, and sizes
    that are symbols.

    >>> from tylo.layouts.atoms import atom
    >>> drawn = draw(atom("mma.m16n8k16.bf16").operand("C").ownership, "svg")
    >>> drawn[:4], "<title>(9,5): T6V3</title>" in drawn
    ('<svg', True)
    """
    if form not in FORMS:
        raise LayoutError(f"no form {form!r} of a drawing", hint=f"there are {', '.join(FORMS)}")
    render: Callable[[Grid], str] = FORMS[form].render
    return render(grid_of(value, FORMS[form].SIDE, bits))


def notebook_svg(value: Any) -> str | None:
    """What a notebook shows of a value; None, so that it shows text, where sizes are symbols."""
    return None if symbols_of(value) else draw(value, "svg")


__all__ = ["FORMS", "Cell", "Grid", "draw", "grid_of", "notebook_svg"]
