"""Owners: the inverse against enumeration, replicas, and where there is none."""

import dataclasses
import itertools
import random

import numpy
import pytest

from tylo.layouts.atoms import atom
from tylo.layouts.errors import OwnershipError
from tylo.layouts.owners import inverse, owners
from tylo.layouts.ownership import Ownership
from tylo.layouts.terms import evaluate, name

C = atom("mma.m16n8k16.bf16").operand("C").ownership


def listed(ownership: Ownership) -> dict:
    """Every coordinate's owners by enumeration of the named inputs."""
    found: dict = {}
    ranges = [range(each.size) for each in ownership.inputs]
    for place in itertools.product(*ranges):
        owner = dict(zip((each.name for each in ownership.inputs), place, strict=True))
        found.setdefault(ownership(**owner), []).append(owner)
    return found


def random_ownership(seed: int) -> Ownership:
    """A mixed radix for each axis, its digits dealt out at random to the inputs, with replicas."""
    draw = random.Random(seed)
    extents, digits = {}, []
    for axis in "mnk"[: draw.randint(1, 3)]:
        step = 1
        for _ in range(draw.randint(0, 3)):
            size = draw.choice((2, 2, 3, 4))
            digits.append((size, axis, step))
            step *= size
        extents[axis] = step
    digits += [(draw.choice((1, 2, 3)), None, 0) for _ in range(draw.randint(0, 2))]
    draw.shuffle(digits)
    inputs: dict = {label: [] for label in ("value", "repeat", "lane", "warp")}
    for digit in digits:
        inputs[draw.choice(list(inputs))].append(digit)
    return Ownership.of(
        axes=extents,
        values={label: inputs[label] for label in ("value", "repeat")},
        threads={label: inputs[label] for label in ("lane", "warp")},
        bits=32,
    )


@pytest.mark.parametrize("seed", range(60))
def test_owners_are_all_owners(seed: int) -> None:
    ownership = random_ownership(seed)
    expected = listed(ownership)
    assert len(expected) == numpy.prod(ownership.shape, dtype=int)
    for coordinate, everyone in expected.items():
        assert owners(ownership, *coordinate) == everyone


@pytest.mark.parametrize("seed", range(20))
def test_the_symbolic_inverse_is_the_concrete_one(seed: int) -> None:
    ownership = random_ownership(seed)
    axes = ownership.axis_names
    closed = inverse(ownership, [name(axis) for axis in axes])
    for coordinate in listed(ownership):
        known = dict(zip(axes, coordinate, strict=True))
        assert {label: evaluate(term, known) for label, term in closed.items()} == inverse(
            ownership, coordinate
        )


def test_replicas_are_listed_in_order() -> None:
    row = Ownership.of(
        axes={"m": 8},
        values={"value": [(2, None, 0)]},
        threads={"lane": [(4, None, 0), (8, "m", 1)]},
        bits=32,
    )
    assert owners(row, 3) == [
        {"value": value, "lane": lane} for value in (0, 1) for lane in (12, 13, 14, 15)
    ]


def test_numpy_coordinates_give_plain_integers() -> None:
    (owner,) = owners(C, numpy.int32(9), numpy.uint8(2))
    assert owner == {"value": 2, "lane": 5}
    assert {type(index) for index in owner.values()} == {int}


@pytest.mark.parametrize("ask", [owners, lambda own, *where: inverse(own, where)])
@pytest.mark.parametrize(
    ("coordinate", "reason"),
    [
        ((16, 0), "m 16 is out of range (witness: {'m': 16}); m runs from 0 to 15"),
        ((0, 8), "n 8 is out of range (witness: {'n': 8}); n runs from 0 to 7"),
        ((-1, 0), "m -1 is out of range"),
        ((0,), "(0,) has 1 entries; give one per axis: m, n"),
        ((0, 0, 0), "has 3 entries"),
        ((1.0, 0), "m 1.0 is no integer"),
        ((True, 0), "m True is no integer"),
    ],
)
def test_coordinates_outside_the_tile(ask, coordinate, reason: str) -> None:
    with pytest.raises(OwnershipError) as refused:
        ask(C, *coordinate)
    assert reason in str(refused.value)


def along(extent: int, *digits) -> Ownership:
    return Ownership.of(
        axes={"m": extent},
        values={"value": [(size, "m", step) for size, step in digits]},
        threads={},
        bits=32,
    )


@pytest.mark.parametrize(
    ("ownership", "fault", "witness"),
    [
        (along(8, (2, 2), (2, 4)), "0 digits step by 1 along m: an element is unowned", 1),
        (along(8, (2, 1), (2, 4)), "0 digits step by 2 along m: an element is unowned", 2),
        (along(8, (2, 1), (2, 1)), "2 digits step by 1 along m: an element is owned twice", 1),
        (along(8, (4, 1), (2, 2)), "0 digits step by 4 along m: an element is owned twice", 2),
        (along(6, (4, 1), (2, 2)), "0 digits step by 4 along m: an element is owned twice", 2),
        (along(9, (2, 1)), "digits along m reach 2 of 9 coordinates", 2),
    ],
)
def test_no_inverse_without_a_mixed_radix(ownership, fault: str, witness: int) -> None:
    with pytest.raises(OwnershipError) as refused:
        owners(ownership, 0)
    assert fault in str(refused.value)
    assert refused.value.witness == {"m": witness}
    count = sum(coordinate == (witness,) for coordinate in map(tuple, _everything(ownership)))
    assert count != 1


def _everything(ownership: Ownership):
    return (ownership(value=value) for value in range(ownership.value_count))


def test_no_closed_inverse_of_a_diagonal() -> None:
    diagonal = Ownership.of(
        axes={"m": 2, "n": 2}, values={"value": [(2, "m", 1)]}, threads={}, bits=32
    )
    mode = diagonal.values[0].modes[0]
    tilted = dataclasses.replace(
        diagonal,
        values=(
            dataclasses.replace(
                diagonal.values[0], modes=(dataclasses.replace(mode, steps=(1, 1)),)
            ),
        ),
    )
    with pytest.raises(OwnershipError, match="moves along several axes") as refused:
        owners(tilted, 1, 1)
    assert refused.value.witness == {"value": 1}


def test_symbolic_sizes_have_an_inverse_and_no_list_of_owners() -> None:
    size = name("M")
    tall = Ownership.of(
        axes={"m": 4 * size},
        values={"repeat": [(size, "m", 4)]},
        threads={"lane": [(4, "m", 1)]},
        bits=32,
    )
    with pytest.raises(OwnershipError, match=r"sizes M are symbolic; use inverse\(\)"):
        owners(tall, 0)
    closed = inverse(tall, [name("m")])
    for count in (1, 2, 5):
        for row in range(4 * count):
            known = {"M": count, "m": row}
            assert {label: evaluate(term, known) for label, term in closed.items()} == {
                "repeat": row // 4,
                "lane": row % 4,
            }


@pytest.mark.parametrize("steps", [(name("W"), 4), (4, name("W"))])
def test_symbolic_digits_that_leave_it_open(steps) -> None:
    unclear = Ownership.of(
        axes={"m": 4 * name("W")},
        values={"value": [(4, "m", 1), (name("W"), "m", steps[0] * 2)]},
        threads={},
        bits=32,
    )
    with pytest.raises(OwnershipError, match="0 digits step by 4 along m"):
        inverse(unclear, [name("m")])


def test_a_symbolic_step_beside_the_first_leaves_it_open() -> None:
    unclear = Ownership.of(
        axes={"m": 8}, values={"value": [(2, "m", name("S"))]}, threads={}, bits=32
    )
    with pytest.raises(
        OwnershipError, match="0 digits step by 1 along m: an element is unowned or"
    ):
        inverse(unclear, [0])


def test_extents_that_are_no_product_are_equal_as_they_are_written() -> None:
    size = name("M") + 1
    tall = Ownership.of(axes={"m": size}, values={"value": [(size, "m", 1)]}, threads={}, bits=32)
    assert inverse(tall, [name("m")]) == {"value": name("m")}


def test_a_fault_after_a_symbolic_digit_leaves_it_open() -> None:
    size = name("M")
    gap = Ownership.of(
        axes={"m": 9 * size}, values={"value": [(size, "m", 1), (2, "m", 5)]}, threads={}, bits=32
    )
    with pytest.raises(
        OwnershipError, match="0 digits step by M along m: an element is unowned or"
    ):
        inverse(gap, [name("m")])


def test_products_of_sums_are_equal_as_they_are_written() -> None:
    size = 2 * (name("M") + 1)
    tall = Ownership.of(axes={"m": size}, values={"value": [(size, "m", 1)]}, threads={}, bits=32)
    assert inverse(tall, [name("m")]) == {"value": name("m")}
