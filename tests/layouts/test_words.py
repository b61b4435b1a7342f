"""Words: two 16-bit elements to a register, low half first, and what is no such register."""

import json
from pathlib import Path

import ml_dtypes
import numpy
import pytest

from tylo.layouts.atoms import atom
from tylo.layouts.errors import OwnershipError
from tylo.layouts.fragment import Fragment
from tylo.layouts.ownership import Ownership
from tylo.layouts.terms import name
from tylo.layouts.tiling import tile_operand
from tylo.layouts.words import Words, pack

CASE = {
    case["id"]: case
    for case in json.loads((Path(__file__).parents[1] / "data" / "cases.json").read_text())
}["F12"]
MMA = atom("mma.m16n8k16.bf16")
A = MMA.operand("A").ownership
C = MMA.operand("C").ownership
NUMPY = {"bf16": ml_dtypes.bfloat16, "f16": numpy.float16}
EVERY_PATTERN = numpy.arange(1 << 16, dtype=numpy.uint16).reshape(-1, 32, 8)


@pytest.mark.parametrize("dtype", NUMPY)
def test_every_pattern_packs_and_unpacks_exactly(dtype: str) -> None:
    words = pack(EVERY_PATTERN, A, dtype)
    assert words.data.shape == (256, 32, 4)
    assert words.data.dtype == numpy.uint32
    numpy.testing.assert_array_equal(words.halves(), EVERY_PATTERN)
    with numpy.errstate(invalid="ignore"):
        expected = EVERY_PATTERN.view(NUMPY[dtype]).astype(numpy.float32)
        found = words.unpack().data
    numpy.testing.assert_array_equal(found, expected)
    numpy.testing.assert_array_equal(numpy.signbit(found), numpy.signbit(expected))


def test_value_zero_is_the_low_half() -> None:
    for value in range(8):
        halves = numpy.zeros((32, 8), numpy.uint16)
        halves[3, value] = 0xABCD
        words = pack(halves, A, "bf16")
        expected = numpy.zeros((32, 4), numpy.uint32)
        expected[3, value // 2] = 0xABCD << (16 * (value % 2))
        numpy.testing.assert_array_equal(words.data, expected)
        register, shift = A.register(value)
        assert int(words.data[3, register]) >> shift & 0xFFFF == 0xABCD


def test_an_empty_batch() -> None:
    words = pack(numpy.zeros((0, 32, 8), numpy.uint16), A, "f16")
    assert words.data.shape == (0, 32, 4)
    assert words.halves().shape == words.unpack().data.shape == (0, 32, 8)


def test_a_tile_of_words() -> None:
    tile = tile_operand(MMA, "A", m=2, k=3, warps_m=2)
    halves = numpy.random.default_rng(0).integers(0, 1 << 16, (64, 48)).astype(numpy.uint16)
    numpy.testing.assert_array_equal(pack(halves, tile, "f16").halves(), halves)


ODD = Ownership.of(
    axes={"k": 96}, values={"value": [(3, "k", 32)]}, threads={"lane": [(32, "k", 1)]}, bits=16
)
SINGLE = Ownership.of(
    axes={"k": 32}, values={"value": [(1, "k", 1)]}, threads={"lane": [(32, "k", 1)]}, bits=16
)


@pytest.mark.parametrize(
    ("halves", "ownership", "dtype", "reason"),
    [
        (numpy.zeros((32, 8), numpy.uint32), A, "bf16", "are not uint16"),
        (numpy.zeros((32, 8), numpy.float16), A, "f16", "float16 halves of shape (32, 8)"),
        (numpy.zeros((32, 4), numpy.uint16), A, "bf16", "(threads, values) = (32, 8)"),
        (numpy.zeros((31, 8), numpy.uint16), A, "bf16", "(threads, values) = (32, 8)"),
        (numpy.zeros(8, numpy.uint16), A, "bf16", "(threads, values) = (32, 8)"),
        (numpy.zeros((32, 8), numpy.uint16), A, "f32", "cannot pack 'f32' elements"),
        (numpy.zeros((32, 8), numpy.uint16), A, "s8", "words hold pairs of bf16 or f16"),
        (numpy.zeros((32, 4), numpy.uint16), C, "bf16", "cannot pack 'bf16' elements, 4 of 32"),
        (numpy.zeros((32, 3), numpy.uint16), ODD, "bf16", "3 of 16 bits to a thread"),
        (numpy.zeros((32, 1), numpy.uint16), SINGLE, "bf16", "1 of 16 bits to a thread"),
    ],
)
def test_halves_that_do_not_pack(halves, ownership, dtype: str, reason: str) -> None:
    with pytest.raises(OwnershipError) as refused:
        pack(halves, ownership, dtype)
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    "data",
    [
        numpy.zeros((32, 8), numpy.uint32),
        numpy.zeros((32, 4), numpy.float32),
        numpy.zeros((32, 4), numpy.uint16),
        numpy.zeros((16, 4), numpy.uint32),
        numpy.uint32(0),
    ],
)
def test_data_that_are_no_words(data) -> None:
    with pytest.raises(OwnershipError, match="are not words"):
        Words(data, A, "bf16")


def test_symbolic_tiles_hold_no_words() -> None:
    tall = tile_operand(MMA, "A", m=name("M"))
    with pytest.raises(OwnershipError):
        Words(numpy.zeros((32, 4), numpy.uint32), tall, "bf16")


def test_case_f12_a_scalar_is_no_packed_register() -> None:
    """Half-filled registers give half the products; here one cannot be built from scalars."""
    ones = numpy.full((32, 8), 0x3F80, numpy.uint16)
    filled = pack(ones, A, "bf16").unpack().data
    half_filled = Words(numpy.full((32, 4), 0x3F80, numpy.uint32), A, "bf16").unpack().data
    columns = A(value=numpy.arange(8))[1] + numpy.zeros(8, int)
    assert len(set(columns.tolist())) == 4  # lane 0 holds four of the sixteen columns, twice
    assert filled.sum() / 16 == CASE["expected"]["result_correct"]
    assert half_filled.sum() / 16 == CASE["expected"]["result_if_half_filled"]
    for scalars in (numpy.ones((32, 8), numpy.float32), numpy.ones((32, 4), numpy.float32)):
        with pytest.raises(OwnershipError):
            pack(scalars, A, "bf16")
        with pytest.raises(OwnershipError):
            Words(scalars, A, "bf16")


def test_words_and_fragments_are_different_types() -> None:
    words = pack(numpy.zeros((32, 8), numpy.uint16), A, "bf16")
    assert not isinstance(words, Fragment)
    assert words.ownership == A
    assert words != pack(numpy.zeros((32, 8), numpy.uint16), A, "bf16")
