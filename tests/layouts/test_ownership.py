"""Ownerships: digits, ranges, registers, and what is refused."""

import itertools
import re

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tylo.layouts.atoms import atom
from tylo.layouts.coverage import require_covers
from tylo.layouts.errors import OwnershipError
from tylo.layouts.ownership import Input, Mode, Ownership
from tylo.layouts.same_function import first_difference, same_function
from tylo.layouts.terms import evaluate, name

A = atom("mma.m16n8k16.bf16").operand("A").ownership
C = atom("mma.m16n8k16.bf16").operand("C").ownership


@st.composite
def tables(draw):
    """Random digits over two axes, with extents that hold them, and the digits as plain data."""
    sizes = st.integers(1, 3)
    steps = st.integers(0, 4)
    digits = {
        label: draw(st.lists(st.tuples(sizes, steps, steps), max_size=most))
        for label, most in (("value", 2), ("repeat", 1), ("lane", 2), ("warp", 1))
    }
    everything = list(itertools.chain.from_iterable(digits.values()))
    extents = [1 + sum((digit[0] - 1) * digit[1 + axis] for digit in everything) for axis in (0, 1)]
    return digits, extents


def build(digits, extents) -> Ownership:
    inputs = {
        label: Input(label, tuple(Mode(size, (row, column)) for size, row, column in modes))
        for label, modes in digits.items()
    }
    return Ownership(
        (("row", extents[0]), ("column", extents[1])),
        (inputs["value"], inputs["repeat"]),
        (inputs["lane"], inputs["warp"]),
        32,
    )


def brute(digits, indices):
    """The coordinate digit by digit, by the definition."""
    where = [0, 0]
    for label, index in indices.items():
        for size, row, column in digits[label]:
            index, digit = divmod(index, size)
            where[0] += digit * row
            where[1] += digit * column
    return tuple(where)


def size_of(modes) -> int:
    total = 1
    for size, _, _ in modes:
        total *= size
    return total


@settings(deadline=None, max_examples=60)
@given(tables())
def test_coordinates_are_sums_over_digits(table):
    digits, extents = table
    ownership = build(digits, extents)
    sizes = {label: size_of(modes) for label, modes in digits.items()}
    assert ownership.value_count == sizes["value"] * sizes["repeat"]
    assert ownership.thread_count == sizes["lane"] * sizes["warp"]
    for number, place in enumerate(itertools.product(*(range(sizes[each]) for each in digits))):
        if number == 200:
            break
        indices = dict(zip(digits, place, strict=True))
        expected = brute(digits, indices)
        assert ownership(**indices) == expected
        value = indices["value"] + sizes["value"] * indices["repeat"]
        thread = indices["lane"] + sizes["lane"] * indices["warp"]
        assert ownership.coordinates(thread, value) == expected


@settings(deadline=None, max_examples=60)
@given(tables(), st.data())
def test_arrays_and_terms_agree_with_integers(table, data):
    digits, extents = table
    ownership = build(digits, extents)
    sizes = {label: size_of(modes) for label, modes in digits.items()}
    indices = {label: data.draw(st.integers(0, size - 1)) for label, size in sizes.items()}
    expected = ownership(**indices)
    terms = ownership(**{label: name(label) for label in indices})
    assert tuple(evaluate(part, indices) for part in terms) == expected
    for kind in (numpy.uint8, numpy.int32, numpy.int64):
        arrays = ownership(**{label: numpy.array([i], kind) for label, i in indices.items()})
        assert tuple(int(numpy.asarray(part).reshape(-1)[0]) for part in arrays) == expected


def test_narrow_arrays_do_not_wrap_around():
    wide = Ownership.of(
        axes={"m": 4096}, values={}, threads={"lane": [(32, "m", 128), (128, "m", 1)]}, bits=32
    )
    rows = wide(lane=numpy.arange(32, dtype=numpy.uint8))[0]
    assert rows.tolist() == [128 * lane for lane in range(32)]


@pytest.mark.parametrize(
    ("indices", "reason"),
    [
        ({"lane": 32}, "lane 32 is out of range (witness: {'lane': 32}); lane runs from 0 to 31"),
        ({"lane": -1}, "lane -1 is out of range"),
        ({"value": 4}, "value 4 is out of range (witness: {'value': 4}); value runs from 0 to 3"),
        ({"lane": 1.0}, "lane 1.0 is no integer"),
        ({"lane": True}, "lane True is no integer"),
        ({"lane": "3"}, "lane '3' is no integer"),
        ({"lane": None}, "lane None is no integer"),
        ({"warp": 0}, "no input 'warp'; the inputs are value, lane"),
        ({"lane": numpy.int64(32)}, "lane 32 is out of range"),
        ({"lane": numpy.arange(33)}, "lane 32 is out of range"),
        ({"lane": numpy.arange(-1, 3)}, "lane -1 is out of range"),
        ({"lane": numpy.array([1.0])}, "is no integer"),
        ({"lane": numpy.array([True])}, "is no integer"),
    ],
)
def test_indices_that_are_refused(indices, reason):
    with pytest.raises(OwnershipError) as refused:
        C(**indices)
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    ("thread", "value", "reason"),
    [
        (32, 0, "lane 32 is out of range"),
        (0, 8, "value 8 is out of range"),
        (numpy.arange(40), 0, "lane 39 is out of range"),
        (0, 1.5, "value 1.5 is no integer"),
    ],
)
def test_flat_numbers_that_are_refused(thread, value, reason):
    with pytest.raises(OwnershipError) as refused:
        A.coordinates(thread, value)
    assert reason in str(refused.value)


def test_no_threads_at_all():
    alone = Ownership.of(axes={"k": 4}, values={"value": [(4, "k", 1)]}, threads={}, bits=16)
    assert alone.thread_count == 1
    assert alone.coordinates(0, 3) == (3,)
    with pytest.raises(OwnershipError, match="an empty input 1 is out of range"):
        alone.coordinates(1, 0)


def test_an_empty_array_of_lanes():
    assert [part.size for part in C(lane=numpy.zeros(0, dtype=numpy.int64), value=1)] == [0, 0]


def test_negative_indices_into_a_symbolic_size():
    tall = Ownership.of(
        axes={"m": name("M")}, values={"repeat": [(name("M"), "m", 1)]}, threads={}, bits=32
    )
    assert tall.symbols == ("M",)
    assert tall(repeat=7) == (7,)
    with pytest.raises(
        OwnershipError, match=r"repeat -1 is out of range .*; repeat runs from 0 to M"
    ):
        tall(repeat=-1)


@pytest.mark.parametrize(
    ("bits", "registers"),
    [
        (8, [(0, 0), (0, 8), (0, 16), (0, 24), (1, 0)]),
        (16, [(0, 0), (0, 16), (1, 0), (1, 16), (2, 0)]),
        (32, [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0)]),
        (64, [(0, 0), (2, 0), (4, 0), (6, 0), (8, 0)]),
    ],
)
def test_registers_run_upward_with_the_low_bits_first(bits, registers):
    own = Ownership.of(axes={"k": 5}, values={"value": [(5, "k", 1)]}, threads={}, bits=bits)
    assert [own.register(value) for value in range(5)] == registers
    with pytest.raises(OwnershipError, match="value 5 is out of range"):
        own.register(5)


def of(**changes):
    return Ownership.of(
        **{
            "axes": {"m": 4, "n": 2},
            "values": {"value": [(2, "n", 1)]},
            "threads": {"lane": [(4, "m", 1)]},
            "bits": 32,
            **changes,
        }
    )


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"bits": 12}, "elements of 12 bits; registers hold elements of 8, 16, 32, 64 bits"),
        ({"values": {"lane": [(2, "n", 1)]}}, "two inputs share a name"),
        ({"values": {"value": [(2, "q", 1)]}}, "moves along 'q', which is no axis"),
        ({"values": {"value": [(0, "n", 1)]}}, "the size of a digit of value is 0"),
        ({"values": {"value": [(-2, "n", 1)]}}, "the size of a digit of value is -2"),
        ({"values": {"value": [(True, "n", 1)]}}, "the size of a digit of value is True"),
        ({"values": {"value": [(2.0, "n", 1)]}}, "the size of a digit of value is 2.0"),
        ({"values": {"value": [(2, "n", -1)]}}, "a step of value is -1"),
        ({"values": {"value": [(2, "n", 0.5)]}}, "a step of value is 0.5"),
        ({"axes": {"m": 0, "n": 2}}, "the extent of m is 0"),
        ({"axes": {"m": 4.0, "n": 2}}, "the extent of m is 4.0"),
        ({"axes": {"m": 3, "n": 2}}, "digits along m reach coordinate 3 of a tile of 3"),
    ],
)
def test_tables_that_are_refused(changes, reason):
    with pytest.raises(OwnershipError) as refused:
        of(**changes)
    assert reason in str(refused.value)


def test_a_digit_needs_a_step_for_each_axis():
    with pytest.raises(OwnershipError, match="a digit of value has 1 steps for 2 axes"):
        Ownership((("m", 4), ("n", 4)), (Input("value", (Mode(2, (1,)),)),), (), 32)


def test_ownerships_are_values():
    assert of() == of()
    assert hash(of()) == hash(of())
    assert of() != of(bits=16)
    assert {of(): "found"}[of()] == "found"


@settings(deadline=None, max_examples=60)
@given(tables(), tables())
def test_same_function_is_equality_of_functions(left, right):
    one, other = build(*left), build(*right)
    expected = (
        one.shape == other.shape
        and one.thread_count == other.thread_count
        and one.value_count == other.value_count
        and all(
            one.coordinates(thread, value) == other.coordinates(thread, value)
            for thread in range(one.thread_count)
            for value in range(one.value_count)
        )
    )
    assert same_function(one, other) == expected
    assert (first_difference(one, other) == "") == expected


@settings(deadline=None, max_examples=60)
@given(tables(), st.data())
def test_splitting_a_digit_keeps_the_function(table, data):
    """An input split at a factor, or with a digit of size 1 put in, is the same function."""
    digits, extents = table
    split = {}
    for label, modes in digits.items():
        split[label] = []
        for size, row, column in modes:
            factor = data.draw(st.sampled_from([f for f in range(1, size + 1) if size % f == 0]))
            split[label] += [(factor, row, column), (size // factor, row * factor, column * factor)]
    one, other = build(digits, extents), build(split, extents)
    assert same_function(one, other)
    assert first_difference(one, other) == ""


def test_evenly_stepping_digits_are_one_digit():
    digits = {
        "one": [(4, "m", 1)],
        "two": [(2, "m", 1), (2, "m", 2)],
        "back": [(2, "m", 2), (2, "m", 1)],
    }
    one, two, back = (
        Ownership.of(axes={"m": 4}, values={"value": modes}, threads={}, bits=32)
        for modes in digits.values()
    )
    assert same_function(one, two)
    assert first_difference(one, two) == ""
    assert not same_function(one, back)
    assert first_difference(one, back) == "thread 0 value 1 holds (1,), not (2,)"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"axes": {"m": 4, "n": 3}}, r"it covers \(4, 3\), not \(4, 2\)"),
        ({"bits": 16}, "its elements have 16 bits, not 32"),
        ({"threads": {"lane": [(2, "m", 1)]}}, "it is 2 threads of 2 values, not 4 of 2"),
        (
            {"threads": {"lane": [(2, "m", 2), (2, "m", 1)]}},
            r"thread 1 value 0 holds \(2, 0\), not \(1, 0\)",
        ),
    ],
)
def test_the_first_difference_in_words(change, reason):
    assert not same_function(of(**change), of())
    assert re.search(reason, first_difference(of(**change), of()))


def test_symbolic_sizes_are_not_compared():
    tall = Ownership.of(
        axes={"m": name("M")}, values={"repeat": [(name("M"), "m", 1)]}, threads={}, bits=32
    )
    for compare in (same_function, first_difference):
        with pytest.raises(OwnershipError, match="symbolic"):
            compare(tall, tall)
    with pytest.raises(OwnershipError, match="sizes M are symbolic"):
        require_covers(tall)


def test_coverage_names_the_fewest_owners():
    uneven = Ownership.of(
        axes={"m": 3}, values={"value": [(2, "m", 1), (2, "m", 1)]}, threads={}, bits=32
    )
    with pytest.raises(OwnershipError, match="an element has 1 owners, another 2") as refused:
        require_covers(uneven)
    assert refused.value.witness == {"m": 0}
