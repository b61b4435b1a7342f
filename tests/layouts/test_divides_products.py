"""Divides and products against their defining equations, over whole domains."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tylo.layouts as tl
from layout_strategies import any_layout, permuted_compact, table
from tylo.layouts import Layout, LayoutError


@given(any_layout, any_layout)
@settings.get_profile("properties")
def test_logical_product_places_copies_side_by_side(a: Layout, b: Layout) -> None:
    try:
        result = tl.logical_product(a, b)
    except LayoutError:
        return
    places = tl.complement(a, a.size() * b.cosize())
    assert result[0] == a
    assert tl.compatible(b, result[1])
    assert table(result[1]) == [places.extended(i) for i in table(b)]
    if tl.is_injective(a) and tl.is_injective(b):
        assert tl.is_injective(result)


@given(permuted_compact(), permuted_compact())
@settings.get_profile("properties")
def test_blocked_and_raked_products_pair_the_modes(a: Layout, b: Layout) -> None:
    assume(a.size() * b.size() < 2000)
    try:
        whole = tl.logical_product(a, b)
    except LayoutError:
        return
    blocked, raked = tl.blocked_product(a, b), tl.raked_product(a, b)
    assert len(blocked) == len(raked) == max(len(a), len(b))
    for mode in range(max(len(a), len(b))):
        assert blocked[mode][0] == (a[mode] if mode < len(a) else Layout(1, 0))
        assert (blocked[mode][1], blocked[mode][0]) == tuple(raked[mode])
    assert Counter(table(blocked)) == Counter(table(raked)) == Counter(table(whole))


def test_products_by_mode_and_by_number() -> None:
    a = Layout((2, 3))
    assert tl.logical_product(a, None) is a
    assert tl.logical_product(Layout((2, 2)), 5) == Layout(((2, 2), 5), ((1, 2), 4))
    by_mode = tl.logical_product(Layout((2, 3), (1, 10)), (4, None))
    assert by_mode == Layout(((2, 4), 3), ((1, 2), 10))
    zipped = tl.zipped_product(Layout((2, 3), (1, 10)), (4, Layout(2)))
    assert zipped == Layout(((2, 3), (4, 2)), ((1, 10), (2, 1)))
    tiled = tl.tiled_product(Layout((2, 3), (1, 10)), (4, Layout(2)))
    assert tiled == Layout(((2, 3), 4, 2), ((1, 10), 2, 1))
    flat = tl.flat_product(Layout((2, 3), (1, 10)), (4, Layout(2)))
    assert flat == Layout((2, 3, 4, 2), (1, 10, 2, 1))
    with pytest.raises(LayoutError, match=r"logical_product\(4:2, 3:1\): composition"):
        tl.logical_product(Layout(4, 2), Layout(3))


@st.composite
def tiled_layouts(draw: st.DrawFn) -> tuple[Layout, tuple[int | None, ...]]:
    modes = draw(st.integers(1, 3))
    tiles = [draw(st.sampled_from([1, 2, 3, 4])) for _ in range(modes)]
    extents = [tile * draw(st.integers(1, 4)) for tile in tiles]
    strides = [draw(st.integers(0, 30)) for _ in range(modes)]
    shown: list[int | None] = [None if draw(st.integers(0, 4)) == 0 else tile for tile in tiles]
    return Layout(tuple(extents), tuple(strides)), tuple(shown[: draw(st.integers(1, modes))])


@given(tiled_layouts())
@settings.get_profile("properties")
def test_the_divides_are_one_division_in_four_nestings(
    case: tuple[Layout, tuple[int | None, ...]],
) -> None:
    a, tiler = case
    zipped = tl.zipped_divide(a, tiler)
    tiled, flat = tl.tiled_divide(a, tiler), tl.flat_divide(a, tiler)
    assert tiled[0] == zipped[0]
    assert list(tiled)[1:] == list(zipped[1])
    assert list(flat) == [*zipped[0], *zipped[1]]
    tiles = [1 if entry is None else entry for entry in tiler]
    whole = [1 if entry is None else None for entry in tiler]
    for tile in itertools.product(*map(range, tiles)):
        for rest in itertools.product(*[range(m.size()) for m in zipped[1]]):
            at = [
                r if w else t + n * r for t, n, r, w in zip(tile, tiles, rest, whole, strict=False)
            ] + list(rest[len(tiler) :])
            assert zipped(tile, rest) == flat(*tile, *rest) == a(tuple(at))
    predicate = tl.in_bounds(tl.zipped_divide, a, tiler)
    assert predicate.always
    assert predicate.count() == zipped.size()


@pytest.mark.parametrize("divide", [tl.zipped_divide, tl.tiled_divide, tl.flat_divide])
def test_predicates_of_every_divide(divide: Callable[..., Layout]) -> None:
    a = Layout((10, 26), (26, 1))
    predicate = tl.in_bounds(divide, a, (16, 8))
    result = divide(a, (16, 8))
    real = [result(i) for i in range(result.size()) if predicate(i)]
    assert sorted(real) == list(range(260))
    assert predicate.count() == 260
    assert result.max_offset() == 421


def test_tilers_longer_than_the_layout() -> None:
    for operation in tl.zipped_divide, tl.zipped_product:
        with pytest.raises(LayoutError, match="2 entries"):
            operation(Layout(4), (2, 2))
