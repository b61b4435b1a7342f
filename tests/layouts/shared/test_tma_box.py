"""Boxes and tiles: offsets by hand, by an independent implementation, and every refusal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tylo.layouts.errors import LayoutError
from tylo.layouts.layout import Layout
from tylo.layouts.shared import SharedTile, TmaBox, swizzle_mode
from tylo.layouts.swizzle import Swizzle

DATA = Path(__file__).parents[2] / "data"
ORACLE = json.loads((DATA / "shared_layouts.json").read_text())["shared_layouts"]
CASES = {case["id"]: case for case in json.loads((DATA / "cases.json").read_text())}


def in_bytes(numbers: list[int]) -> Swizzle:
    bits, base, shift = numbers
    return Swizzle(bits, base, shift, unit=8)


def place(case: dict[str, Any], offset: int) -> tuple[int, int]:
    """The coordinate at an element offset, by the bases of Triton's linear layout."""
    row = column = 0
    for bit, (first, second) in enumerate(case["offset_bases"]):
        if offset >> bit & 1:
            row, column = row ^ first, column ^ second
    return row, column


@pytest.mark.parametrize("case", ORACLE, ids=lambda case: case["id"])
def test_boxes_are_tritons_shared_layouts(case: dict[str, Any]) -> None:
    rows, columns = reversed(case["shape"]) if case["transposed"] else case["shape"]
    box = TmaBox((columns, rows), case["elem_bits"] // 8, case["swizzle"])
    elements = box.element_layout()
    for offset in range(rows * columns):
        row, column = place(case, offset)
        if case["transposed"]:
            row, column = column, row
        assert elements(column, row) == offset
        assert box(column, row) == offset * box.element_bytes
    if "byte_swizzle" in case and case["swizzle"]:
        assert box.mode.swizzle == in_bytes(case["byte_swizzle"])


def test_a_printed_table_counts_elements_not_bytes() -> None:
    case = CASES["L28"]
    stated = case["input"]
    box = TmaBox((16, 8), stated["element_bytes"], swizzle=32)
    assert box.mode.swizzle == in_bytes(stated["swizzle_bytes"])
    elements = box.element_layout()
    row, column = stated["coord"]
    assert isinstance(elements.outer, Swizzle)
    assert elements(column, row) == case["expected"]["element_index_hardware"] == 72
    assert (elements.outer.bits, elements.outer.base, elements.outer.shift) == tuple(
        case["expected"]["element_unit_swizzle"]
    )
    confused = in_bytes(stated["swizzle_bytes"])(Layout((8, 16), (16, 1))(row, column))
    assert confused == case["expected"]["element_index_if_units_confused"] != 72


@pytest.mark.parametrize("span", [0, 32, 64, 128])
@pytest.mark.parametrize("element_bytes", [1, 2, 4])
def test_a_tile_fills_each_byte_once_as_its_boxes_do(span: int, element_bytes: int) -> None:
    columns = 3 * swizzle_mode(span).width // element_bytes
    tile = SharedTile(264, columns, element_bytes, span)
    chunk = 16 // element_bytes
    offsets = {tile(r, c) for r in range(tile.rows) for c in range(0, tile.columns, chunk)}
    assert offsets == set(range(0, tile.bytes, 16))
    copied = set()
    for offset, (column, row), box in tile.boxes():
        assert offset % box.alignment == 0
        assert box.bytes == element_bytes * box.box[0] * box.box[1]
        for y in range(box.box[1]):
            for x in range(0, box.box[0], chunk):
                assert offset + box(x, y) == tile(row + y, column + x)
                last = x + chunk - 1
                assert box(last, y) - box(x, y) == 16 - element_bytes
                copied.add((row + y, column + x))
    assert len(copied) == len(offsets)


def test_chunks_by_hand() -> None:
    # Figures of the CUDA programming guide: chunk numbers of rows 0..7, first and second chunk.
    first = {
        128: [0, 1, 2, 3, 4, 5, 6, 7],
        64: [0, 0, 1, 1, 2, 2, 3, 3],
        32: [0, 0, 0, 0, 1, 1, 1, 1],
    }
    for span, chunks in first.items():
        box = TmaBox((span // 2, 8), 2, span)
        assert [(box(0, row) - span * row) // 16 for row in range(8)] == chunks
        assert [(box(8, row) - span * row) // 16 for row in range(8)] == [c ^ 1 for c in chunks]


def test_rank_five_is_dense_beyond_the_rows() -> None:
    box = TmaBox((64, 4, 2, 1, 3), 2, 128)
    assert box.bytes == 64 * 4 * 2 * 3 * 2
    assert box(0, 1, 1, 0, 2) == 2 * 1024 + 5 * 128 + 16 * 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((128, 8), 2, 128), "inner extent of 256 bytes exceeds the 128-byte swizzle span"),
        (((32, 8), 2, 128), "does not fill the 128-byte swizzle span"),
        (((64, 257), 2, 128), "box dimension 1 is 257, outside 1..256"),
        (((64, 0), 2, 128), "box dimension 1 is 0, outside 1..256"),
        (((12, 8), 2, 0), "24 bytes, no multiple of 16 .*; pad it to 16 elements"),
        (((64, 8), 2, 96), "no shared-memory swizzle of 96 bytes .*; use 0 .none., 32, 64 or 128"),
        (((64, 8), 3, 0), "elements of 3 bytes"),
        (((16, 1, 1, 1, 1, 1), 2, 32), "rank 6"),
        (((), 2, 0), "rank 0"),
    ],
)
def test_boxes_the_tensor_map_refuses(arguments: Any, message: str) -> None:
    with pytest.raises(LayoutError, match=message) as refusal:
        TmaBox(*arguments)
    assert refusal.value.hint
    assert refusal.value.witness is not None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((60, 64, 2, 128), "60 rows, no multiple of 8: .*pad it to 64 rows"),
        ((64, 96, 2, 128), "96 columns, no multiple of 64: .*pad it to 128 columns, or use"),
        ((64, 64, 16, 128), "elements of 16 bytes"),
        ((0, 64, 2, 128), "0 rows"),
    ],
)
def test_tiles_that_panels_do_not_make(arguments: Any, message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        SharedTile(*arguments)
