"""Composition against its definition: whole domains, and every candidate layout tried."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tylo.layouts import Layout, LayoutError, compatible, composition, flatten, product
from tylo.layouts.algebra import breaks, injective
from tylo.layouts.errors import Undecided

Flat = tuple[tuple[int, ...], tuple[int, ...]]


def offset(layout: Flat, index: int) -> int:
    """The definition, written out: digits, and the last mode running on."""
    total = 0
    for extent, stride in zip(layout[0][:-1], layout[1][:-1], strict=True):
        total += index % extent * stride
        index //= extent
    return total + index * layout[1][-1]


@cache
def factorisations(n: int) -> tuple[tuple[int, ...], ...]:
    """Every ordered factorisation of n into factors of at least 2."""
    found: list[tuple[int, ...]] = [(n,)] if n > 1 else [()]
    for first in range(2, n):
        if n % first == 0:
            found += [(first, *rest) for rest in factorisations(n // first)]
    return tuple(found)


def is_layout_table(table: Sequence[int]) -> bool:
    """Whether some layout of that size has the table: every candidate shape is tried."""
    for shape in factorisations(len(table)):
        strides, weight = [], 1
        for extent in shape:
            strides.append(table[weight])
            weight *= extent
        candidate = ((*shape, 1), (*strides, 0))
        if all(offset(candidate, i) == value for i, value in enumerate(table)):
            return True
    return False


def defined_table(a: Flat, b: Flat) -> list[int] | None:
    """A(B(c)) over B's domain, or None when no layout refining B's modes has it."""
    for extent, stride in zip(*b, strict=True):
        if not is_layout_table([offset(a, c * stride) for c in range(extent)]):
            return None
    table = []
    for reversed_c in itertools.product(*(range(n) for n in reversed(b[0]))):
        c = reversed_c[::-1]
        value = offset(a, sum(x * d for x, d in zip(c, b[1], strict=True)))
        if value != sum(offset(a, x * d) for x, d in zip(c, b[1], strict=True)):
            return None
        table.append(value)
    return table


def assert_decided(a: Flat, b: Flat) -> bool:
    expected = defined_table(a, b)
    la, lb = Layout(*a), Layout(*b)
    if expected is None:
        with pytest.raises(LayoutError) as refused:
            composition(la, lb)
        assert refused.value.witness is not None
        lb(refused.value.witness)  # the witness is a coordinate of B
        return False
    result = composition(la, lb)
    assert compatible(lb, result)
    assert [result(i) for i in range(result.size())] == expected
    return True


def small_layouts(size: int, modes: int, strides: Sequence[int]) -> Iterator[Flat]:
    for rank in range(1, modes + 1):
        for shape in itertools.product(range(2, size + 1), repeat=rank):
            if product(shape) <= size:
                for stride in itertools.product(strides, repeat=rank):
                    yield shape, stride


def test_every_small_pair_is_decided_without_an_error_either_way() -> None:
    """No wrong answer and no over-rejection, over every pair of small layouts."""
    verdicts = [
        assert_decided(a, b)
        for a in small_layouts(8, 3, (-1, 0, 1, 2, 3))
        for b in small_layouts(6, 2, (0, 1, 2, 3, 5))
    ]
    assert len(verdicts) > 25_000
    assert verdicts.count(True) > 5_000
    assert verdicts.count(False) > 5_000


steps = st.integers(0, 13)
extents = st.sampled_from([1, 2, 2, 3, 3, 4, 5, 6])


@st.composite
def broken_lines(draw: st.DrawFn) -> Flat:
    """Layouts whose strides almost continue each other, so that jumps often cancel."""
    shape = draw(st.lists(extents, min_size=1, max_size=5))
    stride = [draw(st.integers(-4, 9))]
    for extent in shape[:-1]:
        stride.append(extent * stride[-1] + draw(st.sampled_from([-2, -1, -1, 0, 1, 1, 2, 7])))
    return tuple(shape), tuple(stride)


@st.composite
def flat_layouts(draw: st.DrawFn, strides: st.SearchStrategy[int]) -> Flat:
    shape = draw(st.lists(extents, min_size=1, max_size=3))
    return tuple(shape), tuple(draw(strides) for _ in shape)


@given(broken_lines(), flat_layouts(steps))
@settings.get_profile("properties")
def test_composition_is_the_definition_where_jumps_cancel(a: Flat, b: Flat) -> None:
    assert_decided(a, b)


@given(flat_layouts(st.integers(-20, 20)), flat_layouts(steps))
@settings.get_profile("properties")
def test_composition_is_the_definition(a: Flat, b: Flat) -> None:
    assert_decided(a, b)


def test_cancelling_jumps_are_composed() -> None:
    assert composition(Layout((2, 2, 2), (1, 5, 7)), Layout((2, 2), (3, 1))) == Layout(
        (2, 2), (6, 1)
    )
    # Both carries happen together for ever: the answer holds at any extent, without enumeration.
    assert composition(Layout((2, 3, 2), (0, 1, 2)), Layout(10**9, 3)) == Layout(10**9, 1)


def test_searches_that_do_not_end_are_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(breaks, "SEARCH_STEPS", 1)
    with pytest.raises(Undecided, match="stay straight"):
        breaks.straight_run([(2, 1), (4, -1)], 3, 8)
    with pytest.raises(Undecided, match="add up"):
        breaks.first_difference([(6, 1), (36, -1)], [5, 7, 31], [6, 6, 6])
    monkeypatch.setattr(injective, "SEARCH_STEPS", 0)
    with pytest.raises(Undecided, match="repeat an offset"):
        injective.collision(Layout((5, 5, 5, 5), (97, 101, 103, 107)))


def test_large_domains_cost_nothing() -> None:
    a = Layout((2**40, 2**40), (2**40, 1))
    assert composition(a, Layout((2**20, 2**30), (1, 2**40))) == Layout((2**20, 2**30), (2**40, 1))
    with pytest.raises(LayoutError, match="does not divide"):
        composition(a, Layout(2**40 + 1, 1))


def test_nesting_follows_b() -> None:
    b = Layout(((2, (3,)), 4), ((1, (2,)), 6))
    result = composition(Layout((4, 6), (6, 1)), Layout((2, (2, 3)), (1, (2, 4))))
    assert result == Layout((2, (2, 3)), (6, (12, 1)))
    assert compatible(b, composition(Layout(24, 5), b))
    assert flatten(composition(Layout(24, 5), b).stride) == (5, 10, 30)


def test_tilers() -> None:
    a = Layout((12, (4, 8), 5), (59, (13, 1), 1000))
    assert composition(a, None) is a
    assert composition(a, (3, None)) == Layout((3, (4, 8), 5), (59, (13, 1), 1000))
    assert composition(a, (None, (2, Layout(4, 2)))) == Layout((12, (2, 4), 5), (59, (13, 2), 1000))
    with pytest.raises(LayoutError, match="4 entries for a layout of rank 3"):
        composition(a, (1, 1, 1, 1))


def test_a_negative_index_is_refused_with_its_coordinate() -> None:
    with pytest.raises(LayoutError, match="negative index -1") as refused:
        composition(Layout((4, 2), (2, 1)), Layout((2, 4), (4, -1)))
    assert refused.value.witness == (0, 1)
    # An extent of 1 is never stepped, whatever its stride says.
    assert composition(Layout((4, 2), (2, 1)), Layout((1, 4), (-5, 1))) == Layout((1, 4), (0, 2))
