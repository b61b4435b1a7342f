"""Descriptors: bits, canonical layouts, and that they read the tile, exhaustively."""

from __future__ import annotations

from typing import Any

import pytest

from tylo.layouts.errors import LayoutError
from tylo.layouts.shared import (
    MatrixDescriptor,
    SharedTile,
    decoded,
    row_advances,
    swizzle_mode,
    tile_descriptor,
)

SPANS = (0, 32, 64, 128)


def hardware_read(word: int, major: str, element_bytes: int, mn: int, k: int) -> int:
    """The address an element is read from, from the bits alone, by CUTLASS's canonical layouts.

    Those are in 16-byte units, T elements each: K-major ((8,m),(T,2)):((WT,SBO),(1,T or LBO)),
    MN-major ((T,W,m),(8,k)):((1,T,LBO),(WT,SBO)), or with LBO and SBO exchanged for W = 1.
    """
    start, leading, stride = (((word >> bit) & 0x3FFF) << 4 for bit in (0, 16, 32))
    bits = {0: 0, 1: 3, 2: 2, 3: 1}[word >> 62]
    w, t = 1 << bits, 16 // element_bytes
    if major == "K":
        second = 16 if bits else leading
        address = (mn % 8) * 16 * w + mn // 8 * stride + k % t * element_bytes + k // t * second
    elif bits:
        address = mn % (t * w) * element_bytes + mn // (t * w) * leading
        address += k % 8 * 16 * w + k // 8 * stride
    else:
        address = mn % t * element_bytes + mn // t * stride + k % 8 * 16 + k // 8 * leading
    address += start
    return address ^ (address >> 7 & (1 << bits) - 1) << 4


@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize("element_bytes", [1, 2, 4])
def test_k_major_reads_the_tile(span: int, element_bytes: int) -> None:
    k_extent = 32 // element_bytes
    columns = max(2 * swizzle_mode(span).width // element_bytes, 2 * k_extent)
    tile = SharedTile(128, columns, element_bytes, span)
    base = 3 * tile.mode.repeat
    chunk = 16 // element_bytes
    reads = 0
    for first in (0, 64):
        for k in range(0, tile.columns - k_extent + 1, chunk):
            inside = k * element_bytes % tile.mode.width
            if inside not in row_advances(tile, "K", extent=64):
                continue
            read = tile_descriptor(tile, "K", extent=64, mn=first, k=k, base=base)
            layout = read.layout(64)
            word = read.encoded()
            assert decoded(word, major="K", element_bytes=element_bytes) == read
            reads += 1
            for mn in range(0, 64, 3):
                for step in range(k_extent):
                    held = base + tile(first + mn, k + step)
                    assert read.address(mn, step) == layout(mn, step) == held
                    assert hardware_read(word, "K", element_bytes, mn, step) == held
    assert reads >= 2 * (tile.columns // k_extent)


@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize("extent", [8, 16, 64, 128])
def test_mn_major_reads_the_tile(span: int, extent: int) -> None:
    tile = SharedTile(48, 256, 2, span)
    base = tile.mode.repeat
    reads = 0
    for k in (0, 24):
        for first in range(0, tile.columns - extent + 1, 24):
            if 2 * first % tile.mode.width not in row_advances(tile, "MN", extent=extent):
                continue
            read = tile_descriptor(tile, "MN", extent=extent, mn=first, k=k, base=base)
            word = read.encoded()
            layout = read.layout(extent)
            reads += 1
            for mn in range(extent):
                for step in range(16):
                    held = base + tile(k + step, first + mn)
                    assert read.address(mn, step) == layout(mn, step) == held
                    assert hardware_read(word, "MN", 2, mn, step) == held
    assert reads >= 2


@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize(("major", "extent"), [("K", 64), ("MN", 8), ("MN", 32), ("MN", 64)])
def test_a_start_may_advance_exactly_where_the_read_finds_the_tile(
    span: int, major: str, extent: int
) -> None:
    """Whether a start inside the row is legal, against all elements of the read."""
    tile = SharedTile(64, 256, 2, span)
    width = tile.mode.width
    whole = tile_descriptor(tile, major, extent=extent)
    legal = []
    for inside in range(0, width, 16):
        moved = MatrixDescriptor(
            major, span, whole.leading, whole.stride, whole.element_bytes, whole.start + inside
        )
        shift = inside // 2
        if all(
            moved.address(mn, k) == (tile(mn, k + shift) if major == "K" else tile(k, mn + shift))
            for mn in range(extent)
            for k in range(16)
        ):
            legal.append(inside)
    assert tuple(legal) == row_advances(tile, major, extent=extent)


def test_attention_operands_by_hand() -> None:
    keys = SharedTile(64, 128, 2, 128)
    for step in range(8):
        read = tile_descriptor(keys, "K", extent=64, k=16 * step)
        assert read.start == step // 4 * 64 * 128 + step % 4 * 32
        assert (read.leading, read.stride) == (16, 1024)
    values = SharedTile(64, 128, 2, 128)
    for step in range(4):
        read = tile_descriptor(values, "MN", extent=128, k=16 * step)
        assert (read.start, read.leading, read.stride) == (2048 * step, 64 * 128, 1024)
    assert tile_descriptor(keys, "K", extent=64, base=1024).encoded() >> 32 == 0x40000040
    assert str(read.layout(128).inner) == "((64,2),(8,2)):((2,8192),(128,1024))"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"major": "N"}, "no major 'N'"),
        ({"swizzle": 16}, "no shared-memory swizzle of 16 bytes"),
        ({"start": 8}, "start of 8 bytes is no multiple of 16"),
        ({"start": 1 << 18}, "start of 262144 bytes"),
        ({"stride": -16}, "stride of -16 bytes"),
        ({"major": "MN", "element_bytes": 1}, "MN-major operand of 8-bit elements"),
        ({"element_bytes": 8}, "no operand of 8-byte elements"),
    ],
)
def test_descriptors_that_do_not_exist(arguments: Any, message: str) -> None:
    fields: dict[str, Any] = {
        "major": "K",
        "swizzle": 128,
        "leading": 16,
        "stride": 1024,
        "element_bytes": 2,
    }
    with pytest.raises(LayoutError, match=message) as refusal:
        MatrixDescriptor(**{**fields, **arguments})
    assert refusal.value.hint


@pytest.mark.parametrize(
    ("major", "arguments", "message", "witness"),
    [
        ("K", {"extent": 64, "k": 56}, "leaves the row .*; start at a chunk from 0 to 96", (0, 8)),
        ("K", {"extent": 64, "k": 4}, "from byte 8 .*whole 16-byte chunks", 8),
        ("K", {"extent": 64, "base": 128}, "the base is a multiple of 1024", 128),
        ("K", {"extent": 32, "mn": 4}, "rows are multiples of 8", 4),
        ("K", {"extent": 60}, "extents and first rows are multiples of 8", 60),
        ("K", {"extent": 128}, "rows 0..127 of a tile of 64 rows", 127),
        ("K", {"extent": 64, "k": 120}, "columns 120..135", 135),
        ("MN", {"extent": 64, "mn": 16}, "leaves the row .*; start at the row's start", (48, 0)),
        ("MN", {"extent": 64, "k": 56}, "rows 56..71", 71),
        ("X", {"extent": 64}, "no major 'X'", "X"),
    ],
)
def test_reads_that_would_find_other_elements(
    major: str, arguments: dict[str, int], message: str, witness: object
) -> None:
    tile = SharedTile(64, 128, 2, 128)
    with pytest.raises(LayoutError, match=message) as refusal:
        tile_descriptor(tile, major, **arguments)
    assert refusal.value.witness == witness
    assert refusal.value.hint


def test_the_witness_of_a_read_that_leaves_its_row_is_its_first_wrong_element() -> None:
    tile = SharedTile(64, 128, 2, 128)
    read = MatrixDescriptor("K", 128, 16, 1024, 2, start=112)
    wrong = [k for k in range(16) if read.address(0, k) != tile(0, 56 + k)]
    assert wrong[0] == 8


def test_layouts_and_bits_without_meaning_are_refused() -> None:
    read = MatrixDescriptor("MN", 128, 8192, 1024, 2)
    with pytest.raises(LayoutError, match="MN-major read of 96"):
        read.layout(96)
    assert read.address(95, 0) == 8192 + 2 * 31
    with pytest.raises(LayoutError, match="outside start, leading, stride and swizzle"):
        decoded(read.encoded() | 1 << 49, major="MN", element_bytes=2)
