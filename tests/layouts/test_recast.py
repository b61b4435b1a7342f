"""Recasting, reshaping and rearranging modes, over whole domains."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tylo.layouts as tl
from layout_strategies import any_layout, layouts, outcome, table
from tylo.layouts import Layout, LayoutError


@given(layouts(3), st.sampled_from([1, 2, 3, 4, 6]))
@settings.get_profile("properties")
def test_upcast_groups_neighbours_exactly(layout: Layout, n: int) -> None:
    result = outcome(lambda: tl.upcast(layout, n))
    if isinstance(result, LayoutError):
        assert result.witness is not None
        return
    assert tl.congruent(result, layout)
    parts = Counter(n * r + t for r in table(result) for t in range(n))
    assert parts == Counter(table(layout))


@given(layouts(3), st.sampled_from([1, 2, 3, 4]))
@settings.get_profile("properties")
def test_downcast_splits_elements_exactly_and_upcast_joins_them(layout: Layout, n: int) -> None:
    try:
        result = tl.downcast(layout, n)
    except LayoutError:
        return
    assert Counter(table(result)) == Counter(n * r + t for r in table(layout) for t in range(n))
    assert tl.upcast(result, n) == layout


def test_recast_by_bits() -> None:
    a = Layout((8, 4))
    assert tl.recast(a, 16, 16) == a
    assert tl.recast(a, 8, 16) == Layout((4, 4))
    assert tl.recast(a, 16, 4) == Layout((32, 4), (1, 32))
    with pytest.raises(LayoutError, match="6 and 8 bits"):
        tl.recast(Layout(16), 6, 8)
    with pytest.raises(LayoutError, match="0 modes of stride 1"):
        tl.downcast(Layout(4, 2), 2)
    with pytest.raises(LayoutError, match="2 modes of stride 1"):
        tl.downcast(Layout((4, 4), (1, 1)), 2)
    with pytest.raises(LayoutError, match="neither divides"):
        tl.upcast(Layout(4, 3), 2)
    with pytest.raises(LayoutError, match="reaches 1 of the 4"):
        tl.upcast(Layout(4, 4), 4)


@given(any_layout)
@settings.get_profile("properties")
def test_with_shape_keeps_the_order(layout: Layout) -> None:
    n = layout.size()
    assert table(tl.with_shape(layout, layout.shape)) == table(layout)
    for first in range(1, n + 1):
        if n % first == 0:
            result = outcome(lambda shape=(first, n // first): tl.with_shape(layout, shape))
            if isinstance(result, LayoutError):
                assert "composition" in str(result)
            else:
                assert table(result) == table(layout)
    with pytest.raises(LayoutError, match="do not fill"):
        tl.with_shape(layout, n + 1)


def test_rearranging_modes() -> None:
    a = Layout((2, 3, 4, 5))
    assert tl.group(a, 1, 3) == Layout((2, (3, 4), 5), (1, (2, 6), 24))
    assert table(tl.group(a, 0, 4)) == table(a)
    assert tl.append(a, Layout(2, 200)) == Layout((2, 3, 4, 5, 2), (1, 2, 6, 24, 200))
    assert tl.append(Layout(4), None, 3) == Layout((4, 1, 1), (1, 0, 0))
    assert tl.append(a, None, 2) is a
    assert tl.prepend(Layout(4), Layout(2, 4)) == Layout((2, 4), (4, 1))
    assert tl.prepend(Layout(4), None, 3) == Layout((1, 1, 4), (0, 0, 1))
    assert tl.prepend(a, None, 2) is a
    assert tl.replace(a, 3, Layout(7, 9)) == Layout((2, 3, 4, 7), (1, 2, 6, 9))
    assert tl.slice((None, 0, None, 0), a) == Layout((2, 4), (1, 6))
    assert tl.dice((None, 0, None, 0), a) == Layout((3, 5), (2, 24))
    assert tl.slice((None, (0, None)), (1, (2, 3))) == (1, 3)
    assert tl.dice((None, (0, None)), (1, (2, 3))) == (2,)
    assert tl.flatten((2, (3, 4))) == (2, 3, 4)
    assert tl.flatten(Layout(4)) == Layout(4)
    assert tl.flatten(Layout(((2, 3), 4))) == Layout((2, 3, 4))
    for wrong in (
        lambda: tl.group(a, 2, 2),
        lambda: tl.group(a, 0, 5),
        lambda: tl.replace(a, 4, a),
        lambda: tl.slice((None, 0), a),
        lambda: tl.dice((None, 0), (1, 2, 3)),
    ):
        with pytest.raises(LayoutError):
            wrong()
