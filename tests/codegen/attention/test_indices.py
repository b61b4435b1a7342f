"""Printed maps against formulas typed from the manual, for every lane, value and member."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from tylo.codegen.attention import copies, indices, products, recompute
from tylo.codegen.attention.member import WORKED, Member
from tylo.layouts.atoms import atom
from tylo.layouts.errors import GenerationError
from tylo.layouts.ownership import Ownership
from tylo.layouts.shared.matrix_descriptor import decoded

MEMBERS = (
    WORKED,
    Member(64, "f16", 3, 128, 3),
    Member(128, "bf16", 2, 128, 2),
    Member(128, "f16", 1, 80, 3),
)
LANES, WARPS = range(32), (0, 3)


def accumulator(warp: int, lane: int, value: int) -> tuple[int, int]:
    """PTX ISA, register fragments of wgmma.m64nNk16, D."""
    row = 16 * warp + lane // 4 + 8 * (value // 2 % 2)
    return row, 8 * (value // 4) + 2 * (lane % 4) + value % 2


def operand_a(warp: int, lane: int, value: int) -> tuple[int, int]:
    """PTX ISA, register fragments of wgmma.m64nNk16, A."""
    row = 16 * warp + lane // 4 + 8 * (value in (2, 3, 6, 7))
    return row, 2 * (lane % 4) + value % 2 + 8 * (value >= 4)


def run(text: str, **names: int) -> int:
    """A printed index expression, as Python computes it."""
    value: int = eval(re.sub(r"(\d)u\b", r"\1", text).replace("/", "//"), {}, names)
    return value


@pytest.mark.parametrize("member", MEMBERS, ids=str)
def test_words_pack_what_the_next_product_reads(member: Member) -> None:
    lines = re.findall(
        r"words\[(\d+)\] = convert_x2\(scores\[(\d+)\], scores\[(\d+)\]\)",
        indices.pack_weights(member),
    )
    assert [int(word) for word, _, _ in lines] == list(range(member.keys // 4))
    for word, *halves in (map(int, line) for line in lines):
        for half, value in enumerate(halves):
            for warp in WARPS:
                for lane in LANES:
                    row, column = operand_a(warp, lane, 2 * (word % 4) + half)
                    assert accumulator(warp, lane, value) == (row, column + 16 * (word // 4))


def test_a_conversion_that_crosses_lanes_is_refused() -> None:
    operand = atom("wgmma.m64n64k16.bf16").operand("A").ownership
    other = Ownership.of(
        axes={"m": 64, "n": 64},
        values={"value": [(2, "n", 1), (2, "m", 8), (8, "n", 8)]},
        threads={"lane": [(8, "m", 1), (4, "n", 2)], "warp": [(4, "m", 16)]},
        bits=32,
    )
    with pytest.raises(GenerationError, match="of thread 1 is held by thread 8") as caught:
        indices.packed_pair(other, operand, 1, 0)
    assert caught.value.witness == {"thread": 1, "word": 1, "half": 0}
    renumbered = Ownership.of(
        axes={"m": 64, "n": 64},
        values={"value": [(2, "n", 1), (8, "n", 8), (2, "m", 8)]},
        threads={"lane": [(4, "n", 2), (8, "m", 1)], "warp": [(4, "m", 16)]},
        bits=32,
    )
    with pytest.raises(GenerationError, match="the specification states another accumulator"):
        indices.packed_pair(renumbered, operand, 1, 0)


@pytest.mark.parametrize("member", MEMBERS, ids=str)
def test_rows_and_columns_of_scores(member: Member) -> None:
    rows = re.findall(r"row\[(\d)\] = static_cast<int>\((.*)\);", indices.owned_rows(member))
    (column,) = re.findall(r"static_cast<int>\((.*)\);", indices.drop_keys(member))
    kept = re.findall(r"if \(!\((\d+) < end_(\d)\)\) scores\[(\d+)\]", indices.drop_keys(member))
    assert len(kept) == member.keys // 2
    for own, row, value in (map(int, each) for each in kept):
        for warp in WARPS:
            for lane in LANES:
                wanted = accumulator(warp, lane, value)
                assert run(rows[row][1], lane=lane, warp=warp) == wanted[0]
                assert own + run(column, lane=lane) == wanted[1]
    (owner,) = re.findall(r"return \((.*)\) == 0u;", indices.owned_rows(member))
    assert [lane for lane in LANES if run(owner, lane=lane) == 0] == list(range(0, 32, 4))


@pytest.mark.parametrize("member", MEMBERS, ids=str)
def test_row_reductions_take_every_value_once(member: Member) -> None:
    text = indices.row_maximum(member)
    for row in (0, 1):
        taken = re.findall(rf"highest\[{row}\] = .*scores\[(\d+)\]", text)
        assert sorted(map(int, taken)) == [v for v in range(member.keys // 2) if v // 2 % 2 == row]
    assert re.findall(r"highest\[0\], (\d+)\)", text) == ["1", "2"]
    scaled = re.findall(r"numerator\[(\d+)\] \*= factor\[(\d)\]", indices.scale_rows(member))
    assert [(int(v), int(r)) for v, r in scaled] == [
        (v, v // 2 % 2) for v in range(member.depth // 2)
    ]
    added = re.findall(
        r"sum\[(\d)\] \+= scores\[(\d+)\] \+ scores\[(\d+)\]", indices.exponentials(member)
    )
    assert sorted(int(v) for _, *pair in added for v in pair) == list(range(member.keys // 2))
    assert all(int(v) // 2 % 2 == int(row) for row, *pair in added for v in pair)


@pytest.mark.parametrize("member", MEMBERS, ids=str)
def test_descriptors_read_what_the_copies_write(member: Member) -> None:
    for which, major, extent, steps in (
        ("q", "K", 64, member.depth // 16),
        ("k", "K", member.keys, member.depth // 16),
        ("v", "MN", member.depth, member.keys // 16),
    ):
        tile, base = member.tile(which), 1024 * 5
        low, _ = products.descriptor_base(member, which)
        printed = list(products.descriptor_steps(member, which))
        assert len(printed) == steps
        for number, (step, high) in enumerate(printed):
            word = (base // 16 + low + step) + (high << 32)
            read = decoded(word, major=major, element_bytes=2)
            for mn in range(0, extent, 7):
                for k in range(16):
                    at = 16 * number + k
                    place = tile(mn, at) if major == "K" else tile(at, mn)
                    assert read.address(mn, k) == base + place


@pytest.mark.parametrize("member", MEMBERS, ids=str)
def test_copies_fill_a_tile_once(member: Member) -> None:
    for which in "qkv":
        tile, box = member.tile(which), copies.box(member, which)
        filled: set[int] = set()
        lines = [line for line in copies.copy_lines(member, which) if "load_box" in line]
        groups = member.groups if which == "q" else 1
        assert len(lines) == groups * tile.panels
        for line in lines:
            offset, column, row = re.findall(
                r"\+ (\d+)u, ._map, ._full \+ 8u \* ring.slot, (\d+), [\w.]+(?: \+ (\d+))?,", line
            )[0]
            group, first = divmod(int(row or 0), tile.rows)
            for r in range(box.box[1]):
                for c in range(0, box.box[0], 8):
                    place = int(offset) + box(c, r)
                    assert place - group * tile.bytes == tile(first + r, int(column) + c)
                    filled.add(place)
        assert len(filled) == groups * tile.bytes // 16


@pytest.mark.parametrize("member", MEMBERS, ids=str)
def test_the_output_tile_is_written_once_and_rightly(member: Member) -> None:
    """stmatrix, from the manual: lane 8 i + r points to row r of matrix i, whose elements 2 c and
    2 c + 1 of row r are in word i of lane 4 r + c."""
    text = copies.store_function(member)
    (row_text,) = re.findall(r"const unsigned row = (.*);", text)
    calls = re.findall(
        r"store_matrices\(tile \+ (.*),\n"
        + r"\s+convert_x2\(numerator\[(\d+)\], "
        r"numerator\[(\d+)\])[,)]".replace("\\])[", "\\]\\)[")
        * 4,
        text,
    )
    assert len(calls) == member.depth // 16
    tile = member.tile("out")
    written = set()
    for place, *values in calls:
        pairs = [(int(a), int(b)) for a, b in zip(values[::2], values[1::2], strict=True)]
        for warp in WARPS:
            for lane in LANES:
                matrix, line = divmod(lane, 8)
                row = run(row_text, lane=lane, warp=warp)
                start = run(place, lane=lane, row=row)
                for c in range(4):
                    for half, value in enumerate(pairs[matrix]):
                        element = accumulator(warp, 4 * line + c, value)
                        assert start + 4 * c + 2 * half == tile(*element)
                        written.add(element)
    assert len(written) == 16 * len(WARPS) * member.depth


def test_float_output_is_written_once() -> None:
    member = Member(64, "bf16", 2, 64, 4, output="f32")
    text = copies.float_function(member)
    (column,) = re.findall(r"const unsigned column = (.*);", text)
    stored: list[tuple[int, int, int]] = []
    for block in text.split("if (row[")[1:]:
        stored += [
            (int(block[0]), int(c), int(v))
            for c, v in re.findall(r"at\[(\d+)\] = numerator\[(\d+)\]", block)
        ]
    assert sorted(v for _, _, v in stored) == list(range(32))
    for row, own, value in stored:
        for lane in LANES:
            wanted: Any = accumulator(0, lane, value)
            assert (lane // 4 + 8 * row, own + run(column, lane=lane)) == wanted


@pytest.mark.parametrize("member", MEMBERS, ids=str)
def test_scores_computed_again_are_the_same_elements(member: Member) -> None:
    """ldmatrix, from the manual: lane 8 i + r points to row r of matrix i, and word i of lane
    4 r + c holds its elements 2 c and 2 c + 1. mma.m16n8k16: A words 0 to 3 are the quarters
    (0, 0), (8, 0), (0, 8), (8, 8); B word w of lane l holds k = 8 w + 2 (l mod 4), n = l div 4."""
    text = recompute.recompute(replace(member, reference="first"))
    assert f"k < {member.depth // 16}u" in text
    (q_place,) = re.findall(r"load_words\(q_tile \+ (.*), a\);", text)
    pairs = re.findall(r"load_words\(k_tile \+ (.*), b\);\n(.*)\n(.*)\n", text)
    assert len(pairs) == member.keys // 16
    q_tile, k_tile = member.tile("q"), member.tile("k")
    for k in range(member.depth // 16):
        for warp in WARPS:
            for lane in LANES:
                matrix, line = divmod(lane, 8)
                row, half = line + 8 * (matrix % 2), matrix // 2
                place = run(q_place, lane=lane, warp=warp, k=k)
                assert place == q_tile(16 * warp + row, 16 * k + 8 * half)
        for number, (k_place, *products_of) in enumerate(pairs):
            for lane in LANES:
                matrix, line = divmod(lane, 8)
                key, half = 16 * number + line + 8 * (matrix // 2), matrix % 2
                assert run(k_place, lane=lane, k=k) == k_tile(key, 16 * k + 8 * half)
            for eight, product in enumerate(products_of):
                values = [int(v) for v in re.findall(r"scores\[(\d+)\]", product)]
                assert re.findall(r"b\[(\d)\]", product) == [str(2 * eight), str(2 * eight + 1)]
                for lane in LANES:
                    for place, value in enumerate(values):
                        # mma C: row l / 4 (+ 8 from c2), column 2 (l mod 4) + i mod 2
                        row = lane // 4 + 8 * (place // 2)
                        column = 2 * (lane % 4) + place % 2 + 16 * number + 8 * eight
                        assert accumulator(0, lane, value) == (row, column)
