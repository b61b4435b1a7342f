"""What a drawing says, read back from each form and compared with tables computed here by hand."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pytest

from tylo.layouts import ComposedLayout, Layout, LinearLayout, Swizzle, evaluate
from tylo.layouts.atoms import atom
from tylo.layouts.drawing import draw
from tylo.layouts.ownership import Ownership

Table = list[list[str]]
SPACE = "{http://www.w3.org/2000/svg}"


def from_text(drawn: str) -> Table:
    lines = [line for line in drawn.splitlines()[2:] if not line.startswith("[")]
    return [line.split()[1:] for line in lines]


def arranged(found: list[tuple[float, float, str]]) -> Table:
    """Texts at (y, x), top down and left to right."""
    rows = sorted({y for y, _, _ in found})
    return [[text for _, _, text in sorted(cell for cell in found if cell[0] == y)] for y in rows]


def svg_cells(drawn: str) -> list[tuple[float, float, str, str, str]]:
    """(y, x, text, colour, tooltip) of each cell."""
    cells = []
    for group in ElementTree.fromstring(drawn).iter(f"{SPACE}g"):
        rect, text, title = (group.find(SPACE + tag) for tag in ("rect", "text", "title"))
        if rect is not None and text is not None and title is not None:
            box = {name: float(rect.get(name) or "nan") for name in ("x", "y", "width", "height")}
            assert box["x"] < float(text.get("x") or "nan") < box["x"] + box["width"]
            assert box["y"] < float(text.get("y") or "nan") < box["y"] + box["height"]
            cells.append(
                (box["y"], box["x"], text.text or "", rect.get("fill") or "", title.text or "")
            )
    return cells


def from_svg(drawn: str) -> Table:
    return arranged([(y, x, text) for y, x, text, _, _ in svg_cells(drawn)])


def from_tikz(drawn: str) -> Table:
    found = re.findall(r"\\node\[cell, fill=\w+\] at \((\S+),(\S+)\) \{(.*)\};", drawn)
    return arranged([(-float(y), float(x), text) for x, y, text in found])


READERS: dict[str, Callable[[str], Table]] = {
    "text": from_text,
    "svg": from_svg,
    "tikz": from_tikz,
}


def leaves(entry: Any) -> list[Any]:
    return (
        [leaf for part in entry for leaf in leaves(part)] if isinstance(entry, tuple) else [entry]
    )


def mode_offset(shape: Any, stride: Any, index: int) -> int:
    total = 0
    for extent, step in zip(leaves(shape), leaves(stride), strict=True):
        total, index = total + index % extent * step, index // extent
    return total


def count(shape: Any) -> int:
    product = 1
    for extent in leaves(shape):
        product *= extent
    return product


def offsets(shape: Any, stride: Any) -> list[list[int]]:
    """The first two modes of a layout, or its one mode as a row."""
    if not isinstance(shape, tuple):
        shape, stride = (shape,), (stride,)
    shape, stride = ((1,) * (2 - len(shape)) + e for e in (shape, stride))
    return [
        [
            mode_offset(shape[0], stride[0], row) + mode_offset(shape[1], stride[1], column)
            for column in range(count(shape[1]))
        ]
        for row in range(count(shape[0]))
    ]


LAYOUTS: list[tuple[Any, Any]] = [
    (1, 0),
    (7, 3),
    ((32,), (1,)),
    (((4, 2),), ((2, 1),)),
    ((4, 8), (8, 1)),
    ((5, 3), (1, 100)),
    ((4, 2), (-1, 8)),
    (((2, 2), 3), ((24, 2), 8)),
    (((2, (3, 2)), (4, 2)), ((0, (1, 7)), (3, 50))),
    ((4, 2, 3), (1, 4, 8)),
    ((4, (2, 2), 3, 5), (1, (4, 9), 8, 2)),
    ((64, 64), (64, 1)),
]


@pytest.mark.parametrize("form", READERS)
@pytest.mark.parametrize(("shape", "stride"), LAYOUTS, ids=str)
def test_a_layout_is_drawn_cell_by_cell(form: str, shape: Any, stride: Any) -> None:
    drawn = draw(Layout(shape, stride), form)
    expected = [[str(offset) for offset in row] for row in offsets(shape, stride)]
    assert READERS[form](drawn) == expected
    assert str(Layout(shape, stride)) in drawn
    more = isinstance(shape, tuple) and len(shape) > 2
    assert ("modes 0 and 1 of" in drawn) is more


def swizzled(bits: int, base: int, shift: int, offset: int) -> int:
    """Bit by bit: bit base+i is flipped where bit base+shift+i is set."""
    result = offset
    for i in range(bits):
        if offset & (1 << (base + shift + i)):
            result ^= 1 << (base + i)
    return result


@pytest.mark.parametrize("form", READERS)
def test_swizzles(form: str) -> None:
    composed = ComposedLayout(Swizzle(3, 3, 3), 0, Layout((8, 64), (64, 1)))
    table = [[swizzled(3, 3, 3, 64 * row + column) for column in range(64)] for row in range(8)]
    assert READERS[form](draw(composed, form)) == [[str(x) for x in row] for row in table]
    alone = [[swizzled(2, 1, 3, 16 * row + column) for column in range(16)] for row in range(4)]
    assert READERS[form](draw(Swizzle(2, 1, 3), form)) == [[str(x) for x in row] for row in alone]


@pytest.mark.parametrize("form", READERS)
def test_a_layout_after_a_layout(form: str) -> None:
    composed = ComposedLayout(Layout((4, 8), (100, 1)), 3, Layout((2, 3), (1, 4)))
    numbers = [[3 + row + 4 * column for column in range(3)] for row in range(2)]
    expected = [[str(n % 4 * 100 + n // 4) for n in row] for row in numbers]
    assert READERS[form](draw(composed, form)) == expected


@pytest.mark.parametrize("form", READERS)
def test_linear_layouts(form: str) -> None:
    layout = LinearLayout(
        {"register": [(0, 1), (0, 2)], "lane": [(1, 1), (2, 2)], "warp": [(0, 0)]},
        {"row": 4, "col": 4},
    )
    expected = [[f"({lane},{register ^ lane})" for lane in range(4)] for register in range(4)]
    drawn = draw(layout, form)
    assert READERS[form](drawn) == expected
    assert "at 0: warp" in drawn
    assert "register/lane" in drawn
    row = LinearLayout({"i": [(2,), (1,)]}, {"offset": 4})
    assert READERS[form](draw(row, form)) == [["0", "2", "1", "3"]]
    assert READERS[form](draw(LinearLayout({}, {"offset": 4}), form)) == [["0"]]
    assert READERS[form](draw(LinearLayout({"i": [()]}, {}), form)) == [["()", "()"]]


@pytest.mark.parametrize("form", READERS)
def test_coordinate_layouts(form: str) -> None:
    expected = [[f"({i},{4 * j})" for j in range(2)] for i in range(4)]
    assert READERS[form](draw(evaluate("(4,2):(E<0>,4*E<1>)"), form)) == expected


def fragment_a(lane: int, value: int) -> tuple[int, int]:
    """PTX ISA, Matrix Fragments for mma.m16n8k16: operand A of 16-bit elements."""
    row = lane >> 2 if value < 2 or 4 <= value < 6 else (lane >> 2) + 8
    return row, (lane & 3) * 2 + (value & 1) + (8 if value >= 4 else 0)


def fragment_c(lane: int, value: int) -> tuple[int, int]:
    return (lane >> 2) + (8 if value >= 2 else 0), (lane & 3) * 2 + (value & 1)


@pytest.mark.parametrize("form", READERS)
@pytest.mark.parametrize(
    ("operand", "values", "columns", "place"), [("A", 8, 16, fragment_a), ("C", 4, 8, fragment_c)]
)
def test_ownerships(
    form: str,
    operand: str,
    values: int,
    columns: int,
    place: Callable[[int, int], tuple[int, int]],
) -> None:
    expected = [[""] * columns for _ in range(16)]
    for lane in range(32):
        for value in range(values):
            row, column = place(lane, value)
            expected[row][column] = f"T{lane}V{value}"
    ownership = atom("mma.m16n8k16.bf16").operand(operand).ownership
    assert READERS[form](draw(ownership, form)) == expected


def test_replicas_gaps_and_other_ranks() -> None:
    shared = Ownership.of(
        axes={"i": 3}, bits=32, values={"value": [(2, "i", 1)]}, threads={"lane": [(10, None, 0)]}
    )
    assert from_text(draw(shared)) == [["T0V0+9", "T0V1+9", "-"]]
    tooltips = [cell[4] for cell in svg_cells(draw(shared, "svg"))]
    assert tooltips[0] == "(0): " + ", ".join(f"T{t}V0" for t in range(8)) + " and 2 more"
    assert tooltips[2] == "(2): no owner"
    cube = Ownership.of(
        axes={"x": 2, "y": 2, "z": 4},
        bits=32,
        values={"value": [(2, "z", 1), (2, "y", 1)]},
        threads={"lane": [(2, "x", 1), (2, "z", 2)]},
    )
    drawn = draw(cube)
    assert from_text(drawn) == [["T0V0", "T0V2"], ["T1V0", "T1V2"]]
    assert "[axes x and y; at 0: z]" in drawn
    assert "x/y" in drawn
    alone = Ownership(axes=(), values=(), threads=(), bits=32)
    assert from_text(draw(alone)) == [["T0V0"]]


def test_a_cropped_tile_shows_what_is_inside_and_nothing_else() -> None:
    tall = Ownership.of(
        axes={"m": 96, "n": 2},
        bits=32,
        values={"value": [(48, "m", 1)]},
        threads={"lane": [(2, "m", 48), (2, "n", 1)]},
    )
    # Lane 1 (row 48) and value 20 both lie inside the drawn rows, and their sum, row 68, does not.
    shown = from_text(draw(tall))
    assert 48 < len(shown) < 68
    assert shown == [
        [f"T{row // 48 + 2 * column}V{row % 48}" for column in (0, 1)] for row in range(len(shown))
    ]


def test_tooltips_hold_the_natural_coordinate() -> None:
    cells = svg_cells(draw(Layout(((2, 2), 3, 5), ((24, 2), 8, 1)), "svg"))
    assert [cell[4] for cell in cells][-1] == "((1,1),2,0) -> 42"
    assert [cell[4] for cell in svg_cells(draw(Layout(3, 2), "svg"))][-1] == "2 -> 4"
    assert [cell[4] for cell in svg_cells(draw(Layout((3,), (2,)), "svg"))][-1] == "(2) -> 4"
