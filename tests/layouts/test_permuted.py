"""Axes exchanged, values renumbered, and replicas, against direct lookups."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.ownership_strategies import ownerships

from tylo.layouts.atoms import atom
from tylo.layouts.coverage import require_covers
from tylo.layouts.errors import OwnershipError
from tylo.layouts.ownership import Ownership
from tylo.layouts.permuted import permuted, replicated
from tylo.layouts.terms import name
from tylo.layouts.tiling import tile_operand

C = atom("mma.m16n8k16.bf16").operand("C").ownership
FOUR = Ownership.of(axes={"k": 4}, values={"value": [(4, "k", 1)]}, threads={}, bits=32)


@settings(deadline=None, max_examples=40)
@given(ownerships())
def test_a_transposed_tile_has_its_coordinates_the_other_way_round(ownership: Ownership) -> None:
    turned = permuted(ownership, axes=("column", "row"))
    assert turned.axes == ownership.axes[::-1]
    for thread in range(0, ownership.thread_count, 5):
        for value in range(ownership.value_count):
            assert turned.coordinates(thread, value) == ownership.coordinates(thread, value)[::-1]
    assert permuted(turned, axes=("row", "column")) == ownership
    assert permuted(ownership) is ownership


@settings(deadline=None, max_examples=60)
@given(ownerships(), st.data())
def test_values_are_renumbered_or_refused_with_the_least_one(ownership: Ownership, data) -> None:
    """Digits in any order are digits; any other order is refused, or is digits by chance."""
    sizes = [mode.size for each in ownership.values for mode in each.modes]
    order = data.draw(st.permutations(range(len(sizes))))
    weights = [1]
    for size in sizes:
        weights.append(weights[-1] * size)
    numbers = [range(sizes[place]) for place in reversed(order)]
    values = tuple(
        sum(digit * weights[place] for digit, place in zip(reversed(digits), order, strict=True))
        for digits in itertools.product(*numbers)
    )
    found = permuted(ownership, values=values)
    for value, old in enumerate(values):
        assert found.coordinates(0, value) == ownership.coordinates(0, old)
    shuffled = tuple(data.draw(st.permutations(values)))
    try:
        again = permuted(ownership, values=shuffled)
    except OwnershipError:
        return
    for value, old in enumerate(shuffled):
        assert again.coordinates(0, value) == ownership.coordinates(0, old)


@pytest.mark.parametrize(
    ("values", "witness"),
    [((1, 0, 2, 3), 0), ((0, 1, 3, 2), 3), ((3, 2, 1, 0), 0), ((0, 3, 1, 2), 3)],
)
def test_orders_after_which_values_are_no_digits(values: tuple, witness: int) -> None:
    with pytest.raises(OwnershipError, match="permute digits, or split the tile") as refused:
        permuted(FOUR, values=values)
    assert refused.value.witness == {"value": witness}


def test_three_values_in_a_row_are_one_digit() -> None:
    """A run of even steps that does not divide the number of values is found out."""
    three = Ownership.of(
        axes={"k": 6}, values={"value": [(3, "k", 2), (2, "k", 1)]}, threads={}, bits=32
    )
    assert permuted(three, values=(0, 1, 2, 3, 4, 5)).values[0].modes == three.values[0].modes
    six = Ownership.of(
        axes={"k": 8}, values={"value": [(2, "k", 1), (4, "k", 2)]}, threads={}, bits=32
    )
    with pytest.raises(OwnershipError) as refused:
        permuted(six, values=(0, 1, 2, 7, 4, 5, 6, 3))
    assert refused.value.witness == {"value": 3}


@pytest.mark.parametrize(
    ("ask", "reason"),
    [
        (lambda: permuted(C, axes=("m",)), "does not name each axis once; the axes are m, n"),
        (lambda: permuted(C, axes=("m", "m")), "does not name each axis once"),
        (lambda: permuted(C, axes=(0, 1)), "does not name each axis once"),
        (lambda: permuted(C, values=(0, 1, 2)), "does not name each of 4 values once"),
        (lambda: permuted(C, values=(0, 1, 2, 2)), "does not name each of 4 values once"),
        (lambda: permuted(C, values=(0, True, 2, 3)), "does not name each of 4 values once"),
        (
            lambda: permuted(
                tile_operand(atom("mma.m16n8k16.bf16"), "C", m=name("M")), values=(0, 1)
            ),
            "sizes M are symbolic",
        ),
        (lambda: replicated(C, "lane", 0), "the number of copies is 0"),
    ],
)
def test_what_is_refused(ask, reason: str) -> None:
    with pytest.raises(OwnershipError) as refused:
        ask()
    assert reason in str(refused.value)


@pytest.mark.parametrize("label", ["value", "lane", "warp", "repeat"])
def test_replicas_hold_the_same_elements(label: str) -> None:
    found = replicated(C, label, 3)
    assert require_covers(found) == 3
    assert found.input(label).modes[-1].size == 3
    side = found.threads if label in ("lane", "warp") else found.values
    assert label in [each.name for each in side]
    threads, values = C.thread_count, C.value_count
    for thread, value in itertools.product(
        range(0, found.thread_count, 7), range(found.value_count)
    ):
        assert found.coordinates(thread, value) == C.coordinates(thread % threads, value % values)
