"""How a drawing looks: colours, contrast, escaping, limits, speed."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import sympy

from tylo.layouts import (
    ComposedLayout,
    Layout,
    LayoutError,
    LinearLayout,
    Swizzle,
    composition,
    evaluate,
)
from tylo.layouts.atoms import atom
from tylo.layouts.drawing import FORMS, draw, notebook_svg
from tylo.layouts.drawing.palette import COLOURS, INK, UNCOLOURED
from tylo.layouts.drawing.tikz import escaped
from tylo.layouts.terms import name
from tylo.layouts.tiling import tile_operand

SPACE = "{http://www.w3.org/2000/svg}"
MMA = atom("mma.m16n8k16.bf16")


def luminance(colour: str) -> float:
    """WCAG 2.1, relative luminance."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a: str, b: str) -> float:
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def test_text_stands_out_in_cells_and_on_both_panels() -> None:
    assert len(set(COLOURS)) == 32
    assert min(contrast(INK, background) for background in (*COLOURS, UNCOLOURED)) > 4.5
    drawn = draw(Layout(4), "svg")
    panel = re.search(r'class="p"[^>]* fill="#fff"', drawn)
    assert panel
    assert contrast(INK, "#ffffff") > 4.5
    dark = dict(re.findall(r"\.tylo-grid \.([pl])\{fill:(#\w{6})\}", drawn))
    assert contrast(dark["p"], dark["l"]) > 4.5
    # Labels, and nothing inside a cell, change with the page.
    kinds = [text.get("class") or "" for text in ElementTree.fromstring(drawn).iter(f"{SPACE}text")]
    assert sum("l" not in kind.split() for kind in kinds) == 4


def fills(drawn: str) -> list[str]:
    cells = (
        group.find(f"{SPACE}rect") for group in ElementTree.fromstring(drawn).iter(f"{SPACE}g")
    )
    return [cell.get("fill") or "" for cell in cells if cell is not None]


@pytest.mark.parametrize(
    ("value", "bits", "banks"),
    [
        (Layout(70), None, [i % 32 for i in range(70)]),
        (Layout(140), 16, [i // 2 % 32 for i in range(140)]),
        (Layout(20), 64, [2 * i % 32 for i in range(20)]),
        (Layout(3, -1), None, [0, 31, 30]),
        (Swizzle(0, 0, 6, unit=8), None, [i // 4 % 32 for i in range(64)]),
        (
            ComposedLayout(Swizzle(0, 0, 6, unit=16), 0, Layout(64)),
            None,
            [i // 2 for i in range(64)],
        ),
        (ComposedLayout(Swizzle(0, 0, 6, unit=16), 0, Layout(32)), 32, list(range(32))),
        (LinearLayout({"i": [(1,), (2,), (4,)]}, {"o": 8}), 8, [0] * 4 + [1] * 4),
    ],
)
def test_layouts_are_coloured_by_bank(value: Any, bits: int | None, banks: list[int]) -> None:
    assert fills(draw(value, "svg", bits=bits)) == [COLOURS[bank] for bank in banks]


def test_a_swizzle_without_conflicts_shows_every_bank_once_in_a_column() -> None:
    """Eight rows of 128 bytes: a column of 16-byte chunks meets all eight hues."""
    swizzled = evaluate("composition(Sw<3,3,3>@16, (8,64):(64,1))")
    plain = Layout((8, 64), (64, 1))
    for value, hues in ((swizzled, 8), (plain, 1)):
        found = fills(draw(value, "svg", bits=16))
        chunk = {found[64 * row] for row in range(8)}
        assert len({COLOURS.index(colour) // 4 for colour in chunk}) == hues


def test_ownerships_are_coloured_by_thread() -> None:
    ownership = MMA.operand("C").ownership
    drawn = draw(ownership, "svg")
    texts = [text for _, text in re.findall(r'class="m"([^>]*)>(T\d+V\d+)<', drawn)]
    threads = [int(re.findall(r"\d+", text)[0]) for text in texts]
    assert fills(drawn) == [COLOURS[thread] for thread in threads]


AWKWARD = LinearLayout({"a<b&\"c'": [(1,)], "x_y^{%$#~\\": [(2,)]}, {"o>": 4})


def test_names_are_escaped() -> None:
    drawn = draw(AWKWARD, "svg")
    root = ElementTree.fromstring(drawn)
    assert root.get("aria-label") == str(AWKWARD)
    assert str(AWKWARD) in {text.text for text in root.iter(f"{SPACE}text")}
    body = draw(AWKWARD, "tikz").split("text=tyloink")[1]
    special = r"x\_y\textasciicircum{}\{\%\$\#\textasciitilde{}\textbackslash{}"
    assert special in body
    assert escaped("a<b&c") == r"a<b\&c"


def test_tikz_defines_each_colour_it_uses_and_closes_what_it_opens() -> None:
    drawn = draw(Layout((8, 8)), "tikz")
    assert drawn.startswith(r"\documentclass")
    used = set(re.findall(r"fill=(\w+)", drawn))
    defined = dict(re.findall(r"\\definecolor\{(\w+)\}\{HTML\}\{(\w{6})\}", drawn))
    assert used < set(defined)
    assert len(used) == 32
    assert all(used_name.lower() == f"tylo{defined[used_name].lower()}" for used_name in used)
    opened = re.findall(r"\\begin\{(\w+)\}", drawn)
    assert opened == re.findall(r"\\end\{(\w+)\}", drawn)[::-1]
    assert drawn.count("{") == drawn.count("}")


def painted(drawn: str) -> dict[tuple[int, int], str]:
    """The colour of each cell of a drawing without text, by row and column."""
    cells: dict[tuple[int, int], str] = {}
    for path in ElementTree.fromstring(drawn).iter(f"{SPACE}path"):
        for numbers in re.findall(r"M(\d+) (\d+)h(\d+)v(\d+)h-\3z", path.get("d") or ""):
            x, y, run, high = map(int, numbers)
            for step in range(run // high):
                assert (y, x + step * high) not in cells
                cells[y, x + step * high] = path.get("fill") or ""
    rows, columns = sorted({y for y, _ in cells}), sorted({x for _, x in cells})
    assert len(cells) == len(rows) * len(columns)
    return {(rows.index(y), columns.index(x)): fill for (y, x), fill in cells.items()}


def test_past_4096_cells_an_svg_keeps_colours_and_says_so() -> None:
    note = "more than 4096 cells"
    full = draw(Layout((64, 64)), "svg")
    assert note not in full
    assert full.count("<title>") == 4096
    drawn = draw(Layout((65, 64), (64, 1)), "svg", bits=16)
    assert note in drawn
    assert "<title>" not in drawn
    assert painted(drawn) == {
        (row, column): COLOURS[(64 * row + column) // 2 % 32]
        for row in range(65)
        for column in range(64)
    }


@pytest.mark.parametrize(("form", "side"), [("text", 64), ("svg", 256), ("tikz", 64)])
def test_what_is_cropped_is_said(form: str, side: int) -> None:
    drawn = draw(Layout((1 << 40, side + 1)), form)
    assert f"cropped: rows 0-{side - 1} of {1 << 40}, columns 0-{side - 1} of {side + 1}" in drawn
    assert "cropped" not in draw(Layout((side, side)), form)
    row = draw(Layout(side + 1), form)
    assert f"cropped: columns 0-{side - 1} of {side + 1}" in row
    tile = tile_operand(MMA, "C", m=1 << 20, n=1 << 20)
    assert f"cropped: rows 0-{side - 1} of {1 << 24}" in draw(tile, form)


def test_a_cropped_ownership_is_a_corner_of_the_whole() -> None:
    def corner(repeats: int) -> list[list[str]]:
        drawn = draw(tile_operand(MMA, "C", m=4, n=repeats))
        return [line.split()[:65] for line in drawn.splitlines()[1:66]]

    assert corner(8) == corner(9)


@pytest.mark.parametrize(
    "value",
    [
        Layout((256, 256), (256, 1)),
        ComposedLayout(Swizzle(3, 3, 3), 0, Layout((256, 256), (256, 1))),
        tile_operand(MMA, "C", m=16, n=32),
        evaluate("(256,256):(E<0>,E<1>)"),
        LinearLayout(
            {d: [tuple((1 << b) * (d == e) for e in "ij") for b in range(8)] for d in "ij"},
            {"i": 256, "j": 256},
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_large_drawings_stay_fast_and_small(value: Any) -> None:
    start = time.perf_counter()
    drawn = draw(value, "svg")
    # Under a second on an idle core; the bound leaves room for a busy one.
    assert time.perf_counter() - start < 8
    assert len(painted(drawn)) == 65536
    assert len(drawn) < 2_000_000


def test_notebooks_show_the_svg_where_there_is_a_table() -> None:
    layout, ownership = Layout((4, 2)), MMA.operand("C").ownership
    assert layout._repr_svg_() == draw(layout, "svg")
    assert ownership._repr_svg_() == draw(ownership, "svg")
    n = sympy.Symbol("n")
    assert Layout((4, n))._repr_svg_() is None
    assert tile_operand(MMA, "C", m=name("M"))._repr_svg_() is None
    assert notebook_svg(evaluate("Sw<2,0,2>")) is not None


@pytest.mark.parametrize(
    ("picture", "value"),
    [
        ("operand-c.svg", MMA.operand("C").ownership),
        ("swizzle.svg", evaluate("composition(Sw<3,2,3>@32, (8,32):(32,1))")),
    ],
)
def test_the_pictures_of_the_docs_are_what_is_drawn_today(picture: str, value: Any) -> None:
    committed = Path(__file__).parents[3] / "docs" / picture
    assert committed.read_text(encoding="utf-8") == draw(value, "svg") + "\n"


@pytest.mark.parametrize("form", FORMS)
def test_a_condition_that_outlives_its_symbol_is_noted(form: str) -> None:
    long = Layout((sympy.Symbol("n"), 8), (8, 1))
    drawn = draw(composition(long, Layout(4, 2)), form)
    assert "4:16" in drawn
    assert "only where 8" in drawn


@pytest.mark.parametrize(
    ("value", "form", "bits", "message"),
    [
        (32, "text", None, "32 is no layout"),
        (Layout((4, sympy.Symbol("n"))), "svg", None, r"symbolic sizes n"),
        (tile_operand(MMA, "C", m=name("M")), "svg", None, r"symbolic sizes M"),
        (Layout(4), "png", None, "no form 'png'.*text, svg, tikz"),
        (Layout(4), "svg", 0, "elements of 0 bits"),
    ],
)
def test_refusals(value: Any, form: str, bits: int | None, message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        draw(value, form, bits=bits)
