"""Swizzles, their units, and layouts under them."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tylo.layouts as tl
from tylo.layouts import ComposedLayout, Layout, LayoutError, Swizzle


@given(st.integers(0, 3), st.integers(0, 3), st.integers(-5, 5), st.integers(0, 1 << 14))
@settings.get_profile("properties")
def test_a_swizzle_is_its_picture(bits: int, base: int, shift: int, x: int) -> None:
    assume(abs(shift) >= bits)
    swizzle = Swizzle(bits, base, shift)
    digits = [x >> b & 1 for b in range(24)]
    source = base + max(shift, 0)
    for bit in range(bits):
        digits[source - shift + bit] ^= x >> (source + bit) & 1
    assert swizzle.source() == ((1 << bits) - 1) << source
    assert swizzle.target() == ((1 << bits) - 1) << (source - shift)
    expected = sum(digit << b for b, digit in enumerate(digits))
    assert swizzle(x) == expected
    assert swizzle(swizzle(x)) == x
    assert sorted(map(swizzle, range(swizzle.size()))) == list(range(swizzle.cosize()))


@given(st.integers(0, 3), st.integers(0, 5), st.integers(0, 5), st.sampled_from([4, 8, 16, 32]))
@settings.get_profile("properties")
def test_recast_is_the_same_permutation_of_memory(
    bits: int, base: int, shift: int, unit: int
) -> None:
    assume(shift >= bits)
    in_bytes = Swizzle(bits, base, shift, unit=8)
    if unit > 8 << base and bits:
        with pytest.raises(LayoutError, match="inside a unit") as refused:
            in_bytes.recast(unit)
        assert refused.value.witness == 8 << base
        return
    other = in_bytes.recast(unit)
    assert other.unit == unit
    for address in range(0, 4 * in_bytes.size() * 8, max(unit, 8)):
        assert other(address // unit) * unit == in_bytes(address // 8) * 8


def test_units_are_part_of_the_value() -> None:
    assert Swizzle(3, 4, 3) != Swizzle(3, 4, 3, unit=8) != Swizzle(3, 4, 3, unit=16)
    assert str(Swizzle(3, 4, 3, unit=8)) == "Sw<3,4,3>@8"
    assert repr(Swizzle(3, 4, 3)) == "Swizzle(3, 4, 3)"
    assert eval(repr(Swizzle(3, 4, 3, 8))) == Swizzle(3, 4, 3, 8)
    assert pickle.loads(pickle.dumps(Swizzle(3, 4, 3, 8))) == Swizzle(3, 4, 3, 8)
    with pytest.raises(LayoutError, match="no stated width"):
        Swizzle(3, 4, 3).recast(16)
    with pytest.raises(LayoutError, match="no power of two apart"):
        Swizzle(3, 4, 3, unit=8).recast(24)
    with pytest.raises(LayoutError, match="no power of two apart"):
        Swizzle(3, 4, 3, unit=6).recast(8)


@pytest.mark.parametrize(
    ("parameters", "message", "witness"),
    [
        ((2, 0, 1), "overlaps its own source", 4),
        ((1, 2, 0), "overlaps its own source", 4),
        ((-1, 0, 1), "at least 0", -1),
        ((1, -2, 1), "at least 0", -2),
        ((1, 0, 1, 0), "at least one bit", 0),
    ],
)
def test_what_is_no_swizzle(parameters: tuple[int, ...], message: str, witness: int) -> None:
    with pytest.raises(LayoutError, match=message) as refused:
        Swizzle(*parameters)
    assert refused.value.witness == witness


def test_negative_offsets_have_no_swizzle() -> None:
    with pytest.raises(LayoutError, match="negative"):
        Swizzle(1, 0, 1)(-1)
    with pytest.raises(LayoutError, match="negative offset -3") as refused:
        tl.composition(Swizzle(1, 0, 1), Layout(4, -1))
    assert refused.value.witness == -3


def test_composed_layouts() -> None:
    swizzle, tile = Swizzle(2, 0, 3), Layout((8, (4, 2)), (8, (1, 4)))
    composed = tl.composition(swizzle, tile)
    assert str(composed) == f"Sw<2,0,3> o 0 o {tile}"
    assert (len(composed), composed.size(), composed.shape) == (2, 64, tile.shape)
    assert [composed(i) for i in range(64)] == [swizzle(tile(i)) for i in range(64)]
    assert composed[1](5) == swizzle(tile[1](5))
    column = composed(3, None)
    assert [column(c) for c in range(8)] == [composed(3, c) for c in range(8)]
    tiles = tl.composition(composed, (4, None))
    assert tiles(1, (2, 1)) == composed(1, (2, 1))
    divided = composed.through(tl.zipped_divide, (4, None))
    assert divided((3, 0), (1, (2, 1))) == composed(7, (2, 1))
    outer = ComposedLayout(Layout((4, 16), (16, 1)), 5, Layout(8, 2))
    assert [outer(i) for i in range(8)] == [outer.outer.extended(5 + 2 * i) for i in range(8)]
    with pytest.raises(LayoutError, match="only layouts"):
        tl.composition(swizzle, swizzle)


def test_simplified() -> None:
    tile = Layout((10, 2), (2, 1))
    inactive = ComposedLayout(Swizzle(3, 4, 3), 0, tile)
    assert inactive.simplified() == tile
    for active in (
        ComposedLayout(Swizzle(3, 0, 3), 0, tile),
        ComposedLayout(Swizzle(3, 4, 3), 1, tile),
        ComposedLayout(Swizzle(3, 4, 3), 0, Layout(4, -1)),
        ComposedLayout(tile, 0, tile),
    ):
        assert active.simplified() is active
    assert ComposedLayout(Swizzle(0, 0, 0), 0, Layout(99)).simplified() == Layout(99)
