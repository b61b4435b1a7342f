"""Coalescing, filters, inverses and the algebraic laws, over whole domains."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tylo.layouts as tl
from layout_strategies import any_layout, layouts, outcome, permuted_compact, table
from tylo.layouts import Layout, LayoutError
from tylo.layouts.algebra import fit
from tylo.layouts.algebra.fit import fitted
from tylo.layouts.errors import Undecided


@given(layouts(4, st.integers(-6, 12)))
@settings.get_profile("properties")
def test_coalesce_is_the_shortest_same_function(layout: Layout) -> None:
    result = tl.coalesce(layout)
    assert table(result) == table(layout)
    assert tl.coalesce(result) == result
    modes = [(mode.shape, mode.stride) for mode in result]
    assert all(n * d != e for (n, d), (_, e) in itertools.pairwise(modes))
    by_mode = tl.coalesce(tl.make_layout(layout, layout), (1, 1))
    assert by_mode == tl.make_layout(result, result)


@given(any_layout, any_layout)
@settings.get_profile("properties")
def test_two_coalesced_layouts_are_equal_exactly_when_the_functions_are(
    a: Layout, b: Layout
) -> None:
    assert (tl.coalesce(a) == tl.coalesce(b)) == (table(a) == table(b))


@given(layouts(4))
@settings.get_profile("properties")
def test_filter_keeps_the_image_and_nullspace_the_repetition(layout: Layout) -> None:
    kept = tl.filter(layout)
    assert set(table(kept)) == set(table(layout))
    flat = [kept.stride] if len(kept) == 1 else list(kept.stride)
    assert 0 not in flat or kept == Layout(1, 0)
    null = tl.nullspace(layout)
    assert all(layout(i) == 0 for i in table(null))
    assert kept.size() * null.size() == layout.size()
    assert len(set(table(null))) == null.size()
    assert tl.filter(tl.make_layout(layout, layout), (1,)) == tl.make_layout(kept, layout)


@given(any_layout)
@settings.get_profile("properties")
def test_right_inverse(layout: Layout) -> None:
    inverse = tl.right_inverse(layout)
    steps = table(inverse)
    assert [layout(i) for i in steps] == list(range(len(steps)))
    if tl.is_injective(layout):
        # Then it is the longest there can be: the next offset is not reached at all.
        assert len(steps) not in table(layout)


@given(any_layout)
@settings.get_profile("properties")
def test_left_inverse(layout: Layout) -> None:
    try:
        inverse = outcome(lambda: tl.left_inverse(layout))
    except Undecided:
        assert tl.is_injective(layout)
        return
    if isinstance(inverse, LayoutError) and tl.is_injective(layout):
        assert inverse.witness < layout.size()
        return
    if isinstance(inverse, LayoutError):
        first, second = inverse.witness
        assert first != second
        assert layout(first) == layout(second)
        return
    assert [inverse.extended(layout(i)) for i in range(layout.size())] == list(range(layout.size()))


def layouts_up_to(largest: int) -> Iterator[Layout]:
    """Every layout of at most three modes, as a function on 0..largest, by its modes."""
    for count in 1, 2, 3:
        for shape in itertools.product(range(2, largest + 1), repeat=count - 1):
            for stride in itertools.product(range(-2, 4), repeat=count):
                yield Layout((*shape, 1), stride)


def test_left_inverses_are_found_whenever_there_is_one() -> None:
    """Against every layout L with small strides: none may exist where none is found."""
    candidates = [[other.extended(x) for x in range(9)] for other in layouts_up_to(8)]
    found = 0
    for stride in itertools.product(range(1, 6), repeat=2):
        layout = Layout((2, 2), stride)
        if not tl.is_injective(layout):
            continue
        offsets = [layout(i) for i in range(4)]
        if max(offsets) > 8:
            continue
        exists = any([values[x] for x in offsets] == [0, 1, 2, 3] for values in candidates)
        result = outcome(lambda layout=layout: tl.left_inverse(layout))
        if exists:
            assert [result.extended(x) for x in offsets] == [0, 1, 2, 3]
            found += 1
        if isinstance(result, LayoutError):
            assert not exists
    assert found > 5


def test_no_layout_moves_the_origin_whatever_else_it_fits() -> None:
    assert fitted([0, fit.LARGEST_POINT], [1, 0]) == (None, 0)


def test_a_left_inverse_that_no_stride_rule_gives() -> None:
    layout = Layout((2, 2), (2, 3))
    inverse = tl.left_inverse(layout)
    assert [inverse.extended(layout(i)) for i in range(4)] == [0, 1, 2, 3]
    with pytest.raises(LayoutError, match="no layout sends") as refused:
        tl.left_inverse(Layout((4, 4), (8, 6)))
    assert refused.value.witness == 12
    with pytest.raises(Undecided, match="too large to search"):
        tl.left_inverse(Layout((4, 2), (300, 700)))


@given(permuted_compact())
@settings.get_profile("properties")
def test_padded_compact_layouts_have_a_left_inverse(layout: Layout) -> None:
    inverse = tl.left_inverse(layout)
    assert [inverse.extended(layout(i)) for i in range(layout.size())] == list(range(layout.size()))


def test_left_inverse_of_a_reversed_layout_is_refused() -> None:
    with pytest.raises(LayoutError, match="offset -1 is negative"):
        tl.left_inverse(Layout(4, -1))


@given(any_layout, any_layout)
@settings.get_profile("properties")
def test_max_common_layout(a: Layout, b: Layout) -> None:
    common = tl.max_common_layout(a, b)
    steps = table(common)
    assert all(i < a.size() and i < b.size() for i in steps)
    assert [a(i) for i in steps] == [b(i) for i in steps] == list(range(len(steps)))
    assert tl.max_common_vector(a, b) == len(steps)
    if tl.is_injective(b) and a.size() == b.size():
        where = {b(i): i for i in range(b.size())}
        next_offset = len(steps)
        in_reach = next_offset in where and a(where[next_offset]) == next_offset
        # The next offset agrees too only where it starts a mode the walk can't take in part.
        assert not in_reach or not _extends(where, next_offset)


def _extends(where: dict[int, int], n: int) -> bool:
    """Whether the indices of offsets 0..n are one layout of n + 1 elements: a straight run."""
    return all(where[i] == i * where[1] for i in range(n + 1)) if n else False


@given(permuted_compact())
@settings.get_profile("properties")
def test_a_layout_has_all_of_its_right_inverse_in_common_with_itself(layout: Layout) -> None:
    assert tl.max_common_vector(layout, layout) == tl.right_inverse(layout).size()


def test_common_run_that_carries_between_two_modes() -> None:
    a, b = Layout((2, 2, 3), (1, 1, 0)), Layout((3, 2, 2), (4, 2, 1))
    assert tl.right_inverse(b) == Layout((2, 2, 3), (6, 3, 1))
    assert (a(6), a(3), a(9)) == (1, 2, 1)
    assert tl.max_common_layout(a, b) == Layout(2, 6)


@given(any_layout, layouts(2), layouts(2))
@settings.get_profile("properties")
def test_composition_is_associative_where_it_exists(a: Layout, b: Layout, c: Layout) -> None:
    try:
        left = tl.composition(tl.composition(a, b), c)
        right = tl.composition(a, tl.composition(b, c))
    except LayoutError:
        return
    if c.max_offset() < b.size():
        assert table(left) == table(right)


@given(any_layout)
@settings.get_profile("properties")
def test_identity_laws(a: Layout) -> None:
    assert table(tl.composition(a, Layout(a.size()))) == table(a)
    assert table(tl.composition(Layout(a.cosize()), a)) == table(a)
    assert tl.logical_divide(a, Layout(1, 0))[0].size() == 1


@given(permuted_compact(), st.integers(1, 60))
@settings.get_profile("properties")
def test_complement_of_a_pair_is_trivial(a: Layout, cotarget: int) -> None:
    rest = tl.complement(a, cotarget)
    both = tl.make_layout(tl.coalesce(a), rest)
    assert tl.complement(both, 1).size() == 1
    assert sorted(table(both)) == list(range(both.size()))
