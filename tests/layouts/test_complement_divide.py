"""Complements and divides: their defining equations over whole domains."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tylo.layouts import (
    Layout,
    LayoutError,
    collision,
    complement,
    in_bounds,
    is_injective,
    logical_divide,
    make_layout,
    size,
)

layouts = st.lists(
    st.tuples(st.sampled_from([1, 2, 2, 3, 4, 6]), st.sampled_from([0, 1, 1, 2, 3, 4, 6, 8, 12])),
    min_size=1,
    max_size=3,
).map(lambda modes: Layout(tuple(n for n, _ in modes), tuple(d for _, d in modes)))


def image(layout: Layout) -> list[int]:
    return [layout(i) for i in range(layout.size())]


def shortest_tiled_interval(offsets: set[int]) -> int | None:
    """The length of the first interval that shifted copies fill, placing them left to right.

    Two copies never may overlap and the first free offset must be some copy's first, so that the
    placement is forced. An interval is filled when no offset is left open below the furthest.
    """
    filled: set[int] = set()
    for _ in range(300):
        start = next(i for i in itertools.count() if i not in filled)
        copy = {start + offset for offset in offsets}
        if filled & copy:
            return None
        filled |= copy
        if len(filled) == max(filled) + 1:
            return len(filled)
    return None


@given(layouts, st.integers(1, 100))
@settings.get_profile("properties")
def test_complement_fills_the_interval_or_none_can(layout: Layout, cotarget: int) -> None:
    kept = [(n, d) for n, d in zip(layout.shape, layout.stride, strict=True) if d != 0]
    offsets = [
        sum(c * d for c, (_, d) in zip(cs, kept, strict=True))
        for cs in itertools.product(*(range(n) for n, _ in kept))
    ]
    injective = len(set(offsets)) == len(offsets)
    block = shortest_tiled_interval(set(offsets)) if injective else None
    if block is None:
        with pytest.raises(LayoutError) as refused:
            complement(layout, cotarget)
        if not injective:
            first, second = refused.value.witness
            assert first != second
            assert layout(first) == layout(second)
        return
    rest = complement(layout, cotarget)
    steps = image(rest)
    assert steps == sorted(steps)
    reached = sorted(offset + step for offset in offsets for step in steps)
    assert reached == list(range(len(reached)))
    assert len(reached) == -(-cotarget // block) * block


@given(layouts)
@settings.get_profile("properties")
def test_collision_is_exact(layout: Layout) -> None:
    repeated = len(set(image(layout))) < layout.size()
    pair = collision(layout)
    assert is_injective(layout) == (not repeated)
    assert (pair is not None) == repeated
    if pair is not None:
        assert pair[0] != pair[1]
        assert layout(pair[0]) == layout(pair[1])


@given(
    st.lists(
        st.tuples(st.integers(2, 5), st.integers(-40, 40).filter(bool)), min_size=3, max_size=4
    ).map(lambda ms: Layout(tuple(n for n, _ in ms), tuple(d for _, d in ms)))
)
@settings.get_profile("properties")
def test_collision_is_exact_for_signed_and_crossing_strides(layout: Layout) -> None:
    pair = collision(layout)
    assert (pair is not None) == (len(set(image(layout))) < layout.size())
    if pair is not None:
        assert pair[0] != pair[1]
        assert layout(pair[0]) == layout(pair[1])


@given(layouts, layouts)
@settings.get_profile("properties")
def test_divide_is_a_over_the_tile_and_its_complement(a: Layout, b: Layout) -> None:
    try:
        result = logical_divide(a, b)
    except LayoutError:
        return
    parts = make_layout(b, complement(b, size(a)))
    assert [result(i) for i in range(result.size())] == [
        a.extended(parts(i)) for i in range(parts.size())
    ]
    predicate = in_bounds(logical_divide, a, b)
    real = [predicate(i) for i in range(result.size())]
    assert real == [parts(i) < size(a) for i in range(parts.size())]
    assert predicate.count() == real.count(True)
    assert predicate.always == all(real)


def test_overhang_by_mode() -> None:
    a = Layout((10, 26), (26, 1))
    predicate = in_bounds(logical_divide, a, (16, 8))
    real = [
        ((r, 0), (c, k))
        for k in range(4)
        for c in range(8)
        for r in range(16)
        if predicate((r, 0), (c, k))
    ]
    assert len(real) == predicate.count() == 260
    assert all(r < 10 and c + 8 * k < 26 for (r, _), (c, k) in real)
    assert not predicate.always
    assert in_bounds(logical_divide, a, (5, None)).always
    with pytest.raises(LayoutError, match="more modes"):
        in_bounds(logical_divide, a, (1, 1, 1))


def test_divide_refusals_name_the_divide_and_the_cause() -> None:
    with pytest.raises(LayoutError, match=r"logical_divide\(12:1, \(2,2\):\(1,3\)\): complement"):
        logical_divide(Layout(12), Layout((2, 2), (1, 3)))
    with pytest.raises(LayoutError, match=r"logical_divide.*composition"):
        logical_divide(Layout((4, 3), (1, 10)), Layout(6))


def test_divide_leaves_none_and_the_modes_beyond_the_tiler() -> None:
    a = Layout((8, 6, 5))
    assert logical_divide(a, None) is a
    assert logical_divide(a, (None, 3)) == Layout((8, (3, 2), 5), (1, (8, 24), 48))


def test_complement_of_negative_strides_is_refused() -> None:
    with pytest.raises(LayoutError, match="negative offsets") as refused:
        complement(Layout(4, -1), 8)
    assert refused.value.witness == -1
