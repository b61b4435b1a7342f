"""Every operation against its defining equation over whole domains, and algebraic laws."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tylo.layouts as tl
from tylo.layouts import Layout, LayoutError
from tylo.layouts.algebra import fit
from tylo.layouts.algebra.fit import fitted
from tylo.layouts.errors import Undecided

EXTENTS = st.sampled_from([1, 2, 2, 3, 4, 6])
STRIDES = st.sampled_from([0, 1, 1, 2, 3, 4, 6, 8, 12, 24])


def layouts(max_modes: int = 3, strides: st.SearchStrategy[int] = STRIDES) -> Any:
    return st.lists(st.tuples(EXTENTS, strides), min_size=1, max_size=max_modes).map(
        lambda modes: Layout(tuple(n for n, _ in modes), tuple(d for _, d in modes))
    )


@st.composite
def permuted_compact(draw: st.DrawFn) -> Layout:
    """Compact layouts with their modes in any order, sometimes padded."""
    extents = draw(st.lists(st.sampled_from([1, 2, 3, 4, 5]), min_size=1, max_size=4))
    order = draw(st.permutations(range(len(extents))))
    strides, step = [0] * len(extents), 1
    for mode in order:
        strides[mode] = step
        step *= extents[mode] * draw(st.sampled_from([1, 1, 1, 2]))
    return Layout(tuple(extents), tuple(strides))


any_layout = st.one_of(layouts(), permuted_compact())


def outcome(call: Callable[[], Any]) -> Any:
    """The result, or the refusal."""
    try:
        return call()
    except LayoutError as refused:
        return refused


def table(layout: Any) -> list[int]:
    return [layout(i) for i in range(layout.size())]


@given(layouts(4, st.integers(-6, 12)))
@settings(max_examples=300, deadline=None)
def test_coalesce_is_the_shortest_same_function(layout: Layout) -> None:
    result = tl.coalesce(layout)
    assert table(result) == table(layout)
    assert tl.coalesce(result) == result
    modes = [(mode.shape, mode.stride) for mode in result]
    assert all(n * d != e for (n, d), (_, e) in itertools.pairwise(modes))
    by_mode = tl.coalesce(tl.make_layout(layout, layout), (1, 1))
    assert by_mode == tl.make_layout(result, result)


@given(any_layout, any_layout)
@settings(max_examples=200, deadline=None)
def test_two_coalesced_layouts_are_equal_exactly_when_the_functions_are(
    a: Layout, b: Layout
) -> None:
    assert (tl.coalesce(a) == tl.coalesce(b)) == (table(a) == table(b))


@given(layouts(4))
@settings(max_examples=200, deadline=None)
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
@settings(max_examples=300, deadline=None)
def test_right_inverse(layout: Layout) -> None:
    inverse = tl.right_inverse(layout)
    steps = table(inverse)
    assert [layout(i) for i in steps] == list(range(len(steps)))
    if tl.is_injective(layout):
        # Then it is the longest there can be: the next offset is not reached at all.
        assert len(steps) not in table(layout)


@given(any_layout)
@settings(max_examples=300, deadline=None)
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
@settings(max_examples=200, deadline=None)
def test_padded_compact_layouts_have_a_left_inverse(layout: Layout) -> None:
    inverse = tl.left_inverse(layout)
    assert [inverse.extended(layout(i)) for i in range(layout.size())] == list(range(layout.size()))


def test_left_inverse_of_a_reversed_layout_is_refused() -> None:
    with pytest.raises(LayoutError, match="offset -1 is negative"):
        tl.left_inverse(Layout(4, -1))


@given(any_layout, any_layout)
@settings(max_examples=200, deadline=None)
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
@settings(max_examples=200, deadline=None)
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
@settings(max_examples=200, deadline=None)
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


@given(any_layout, any_layout)
@settings(max_examples=300, deadline=None)
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
@settings(max_examples=100, deadline=None)
def test_a_layout_has_all_of_its_right_inverse_in_common_with_itself(layout: Layout) -> None:
    assert tl.max_common_vector(layout, layout) == tl.right_inverse(layout).size()


@given(layouts(3), st.sampled_from([1, 2, 3, 4, 6]))
@settings(max_examples=400, deadline=None)
def test_upcast_groups_neighbours_exactly(layout: Layout, n: int) -> None:
    result = outcome(lambda: tl.upcast(layout, n))
    if isinstance(result, LayoutError):
        assert result.witness is not None
        return
    assert tl.congruent(result, layout)
    parts = Counter(n * r + t for r in table(result) for t in range(n))
    assert parts == Counter(table(layout))


@given(layouts(3), st.sampled_from([1, 2, 3, 4]))
@settings(max_examples=300, deadline=None)
def test_downcast_splits_elements_exactly_and_upcast_joins_them(layout: Layout, n: int) -> None:
    try:
        result = tl.downcast(layout, n)
    except LayoutError:
        return
    assert Counter(table(result)) == Counter(n * r + t for r in table(layout) for t in range(n))
    assert tl.upcast(result, n) == layout


def test_common_run_that_carries_between_two_modes() -> None:
    a, b = Layout((2, 2, 3), (1, 1, 0)), Layout((3, 2, 2), (4, 2, 1))
    assert tl.right_inverse(b) == Layout((2, 2, 3), (6, 3, 1))
    assert (a(6), a(3), a(9)) == (1, 2, 1)
    assert tl.max_common_layout(a, b) == Layout(2, 6)


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
@settings(max_examples=100, deadline=None)
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


@given(any_layout, layouts(2), layouts(2))
@settings(max_examples=200, deadline=None)
def test_composition_is_associative_where_it_exists(a: Layout, b: Layout, c: Layout) -> None:
    try:
        left = tl.composition(tl.composition(a, b), c)
        right = tl.composition(a, tl.composition(b, c))
    except LayoutError:
        return
    if c.max_offset() < b.size():
        assert table(left) == table(right)


@given(any_layout)
@settings(max_examples=100, deadline=None)
def test_identity_laws(a: Layout) -> None:
    assert table(tl.composition(a, Layout(a.size()))) == table(a)
    assert table(tl.composition(Layout(a.cosize()), a)) == table(a)
    assert tl.logical_divide(a, Layout(1, 0))[0].size() == 1


@given(permuted_compact(), st.integers(1, 60))
@settings(max_examples=100, deadline=None)
def test_complement_of_a_pair_is_trivial(a: Layout, cotarget: int) -> None:
    rest = tl.complement(a, cotarget)
    both = tl.make_layout(tl.coalesce(a), rest)
    assert tl.complement(both, 1).size() == 1
    assert sorted(table(both)) == list(range(both.size()))
