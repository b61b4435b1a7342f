"""Fragments: dealing a matrix out and putting it back, and what cannot be."""

import dataclasses
import json
from pathlib import Path

import numpy
import pytest

from tylo.layouts.atoms import atom
from tylo.layouts.errors import OwnershipError
from tylo.layouts.fragment import Fragment, gather, indices, scatter
from tylo.layouts.ownership import Ownership
from tylo.layouts.terms import name
from tylo.layouts.tiling import tile_operand

DATA = Path(__file__).parents[1] / "data"
TABLE = json.loads((DATA / "atoms_m16n8k16.json").read_text())["atoms"][0]["operands"]
MMA = atom("mma.m16n8k16.bf16")
C = MMA.operand("C").ownership
TILES = {
    "C": C,
    "A": MMA.operand("A").ownership,
    "B": MMA.operand("B").ownership,
    "C tiled": tile_operand(MMA, "C", m=2, n=4, warps_m=2, warps_n=2),
    "A shared by warps": tile_operand(MMA, "A", m=2, k=2, warps_n=2),
    "B blocked": tile_operand(MMA, "B", n=3, k=2, warps_n=2, arrangement="blocked"),
}
ROW = Ownership.of(axes={"m": 8}, values={}, threads={"lane": [(4, None, 0), (8, "m", 1)]}, bits=32)


@pytest.mark.parametrize("batch", [(), (3,), (2, 1, 3), (0,)])
@pytest.mark.parametrize("tile", TILES)
def test_gathering_and_scattering_returns_the_matrix(tile: str, batch: tuple) -> None:
    ownership = TILES[tile]
    shape = (*batch, *ownership.shape)
    matrix = numpy.random.default_rng(1).standard_normal(shape).astype(numpy.float32)
    fragment = gather(matrix, ownership)
    assert fragment.data.shape == (*batch, ownership.thread_count, ownership.value_count)
    numpy.testing.assert_array_equal(scatter(fragment), matrix)
    assert scatter(fragment).dtype == matrix.dtype


@pytest.mark.parametrize("letter", "ABC")
def test_gathering_follows_the_table(letter: str) -> None:
    ownership = MMA.operand(letter).ownership
    matrix = numpy.arange(numpy.prod(ownership.shape)).reshape(ownership.shape)
    fragment = gather(matrix, ownership)
    for lane, row in enumerate(TABLE[letter]["table"]):
        assert fragment.data[lane].tolist() == [matrix[tuple(where)] for where in row]
    for axis, part in enumerate(indices(ownership)):
        assert part.tolist() == [[at[axis] for at in row] for row in TABLE[letter]["table"]]


@pytest.mark.parametrize("dtype", [numpy.int8, numpy.uint16, numpy.float64, bool])
def test_any_element_type(dtype) -> None:
    matrix = (numpy.arange(128).reshape(16, 8) % 2).astype(dtype)
    back = scatter(gather(matrix, C))
    assert back.dtype == dtype
    numpy.testing.assert_array_equal(back, matrix)


def test_special_values_survive() -> None:
    matrix = numpy.zeros((16, 8), numpy.float32)
    matrix[3, :5] = [numpy.nan, numpy.inf, -numpy.inf, -0.0, 1e-45]
    back = scatter(gather(matrix, C))
    assert back.tobytes() == matrix.tobytes()


def test_nan_replicas_agree() -> None:
    row = numpy.array([0, 1, numpy.nan, 3, 4, 5, 6, 7], numpy.float32)
    numpy.testing.assert_array_equal(scatter(gather(row, ROW)), row)


@pytest.mark.parametrize("odd_one", [5.0, numpy.nan])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_replicas_that_disagree(odd_one: float, batch: tuple) -> None:
    data = gather(numpy.broadcast_to(numpy.arange(8.0), (*batch, 8)), ROW).data.copy()
    data[..., 9, 0] = odd_one
    with pytest.raises(OwnershipError, match="replicas of one element differ") as refused:
        scatter(Fragment(data, ROW))
    assert refused.value.witness == (2,)


def test_elements_without_an_owner() -> None:
    half = Ownership.of(axes={"m": 8}, values={}, threads={"lane": [(4, "m", 1)]}, bits=32)
    with pytest.raises(OwnershipError, match="an element of the tile has no owner") as refused:
        scatter(gather(numpy.arange(8.0), half))
    assert refused.value.witness == (4,)


@pytest.mark.parametrize(
    ("matrix", "reason"),
    [
        (numpy.zeros((8, 16)), "a matrix of shape (8, 16) for a tile of (16, 8)"),
        (numpy.zeros((16, 8, 1)), "a matrix of shape (16, 8, 1)"),
        (numpy.zeros(128), "a matrix of shape (128,)"),
        (numpy.float32(1), "a float32 is no array"),
        ([[0.0] * 8] * 16, "a list is no array; make it one with numpy.asarray"),
        (None, "a NoneType is no array"),
    ],
)
def test_matrices_of_another_shape(matrix, reason: str) -> None:
    with pytest.raises(OwnershipError) as refused:
        gather(matrix, C)
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (numpy.zeros((32, 3)), "data of shape (32, 3) does not end in (threads, values) = (32, 4)"),
        (numpy.zeros((4, 32)), "data of shape (4, 32)"),
        (numpy.zeros(4), "data of shape (4,)"),
        ([[0.0] * 4] * 32, "a list is no array"),
    ],
)
def test_data_of_another_shape(data, reason: str) -> None:
    with pytest.raises(OwnershipError) as refused:
        Fragment(data, C)
    assert reason in str(refused.value)


def test_symbolic_tiles_hold_no_data() -> None:
    tall = tile_operand(MMA, "C", m=name("M"), n=2)
    with pytest.raises(OwnershipError, match="sizes M are symbolic"):
        Fragment(numpy.zeros((32, 4)), tall)
    with pytest.raises(OwnershipError, match="sizes M are symbolic"):
        indices(tall)


def test_elementwise_operations_need_one_ownership() -> None:
    ones = gather(numpy.ones((16, 8), numpy.float32), C)
    total = ones.map(numpy.add, ones)
    assert (scatter(total) == 2).all()
    other = gather(numpy.ones((8, 16), numpy.float32), TILES_OF_OTHER_SHAPE)
    with pytest.raises(OwnershipError, match="fragments of different ownerships"):
        ones.map(numpy.add, other)
    with pytest.raises(OwnershipError, match="does not end in"):
        ones.map(lambda data: data.sum(axis=-1))


TILES_OF_OTHER_SHAPE = Ownership.of(
    axes={"n": 8, "m": 16},
    values={"value": [(2, "n", 1), (2, "m", 8)]},
    threads={"lane": [(4, "n", 2), (8, "m", 1)]},
    bits=32,
)


def test_fragments_compare_by_identity_and_are_frozen() -> None:
    one, other = (gather(numpy.ones((16, 8)), C) for _ in range(2))
    assert one != other
    assert len({one, other}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.data = other.data
