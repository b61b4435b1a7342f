"""Rounding to 16 bits, against integer arithmetic written here and against ml_dtypes."""

import json
from pathlib import Path

import ml_dtypes
import numpy
import pytest

from tylo.codegen.rounding import rounded_bits
from tylo.layouts.errors import GenerationError

CASE = {
    case["id"]: case
    for case in json.loads((Path(__file__).parents[1] / "data" / "cases.json").read_text())
}["F13"]
# Bits of the significand with the hidden one, exponent of the least subnormal, exponent field.
FORMATS = {"bf16": (8, -133, 8), "f16": (11, -24, 5)}
NUMPY = {"bf16": ml_dtypes.bfloat16, "f16": numpy.float16}
CHUNK = 1 << 20


def nearest_even(words: numpy.ndarray, dtype: str) -> numpy.ndarray:
    """float32 patterns to 16-bit patterns: an integer significand, cut with its remainder."""
    precision, least, exponent_bits = FORMATS[dtype]
    words = words.astype(numpy.int64)
    sign, exponent, fraction = words >> 31, words >> 23 & 0xFF, words & 0x7FFFFF
    significand = numpy.where(exponent > 0, fraction | 1 << 23, fraction)
    scale = numpy.maximum(exponent, 1) - 150
    length = numpy.frexp(significand.astype(numpy.float64))[1]
    quantum = numpy.maximum(scale + length - precision, least)
    cut = numpy.minimum(quantum - scale, 40)
    kept, rest = significand >> cut, significand & (1 << cut) - 1
    half = 1 << (cut - 1)
    kept = kept + ((rest > half) | ((rest == half) & (kept % 2 == 1)))
    carried = kept == 1 << precision
    kept, quantum = numpy.where(carried, kept >> 1, kept), quantum + carried
    hidden = 1 << (precision - 1)
    field = numpy.where(kept >= hidden, quantum - least + 1, 0)
    infinite = (field >= (1 << exponent_bits) - 1) | (exponent == 0xFF)
    magnitude = numpy.where(
        infinite, ((1 << exponent_bits) - 1) * hidden, field * hidden + kept % hidden
    )
    quiet = ((1 << exponent_bits) - 1) * hidden + hidden // 2
    magnitude = numpy.where((exponent == 0xFF) & (fraction > 0), quiet, magnitude)
    return (sign << 15 | magnitude).astype(numpy.uint16)


def is_nan(bits: numpy.ndarray, dtype: str) -> numpy.ndarray:
    precision, _, exponent_bits = FORMATS[dtype]
    return (bits & 0x7FFF) > ((1 << exponent_bits) - 1) << (precision - 1)


def assert_rounds(words: numpy.ndarray, dtype: str) -> None:
    found, expected = rounded_bits(words.view(numpy.float32), dtype), nearest_even(words, dtype)
    assert found.dtype == numpy.uint16
    nan = is_nan(expected, dtype)
    assert numpy.array_equal(is_nan(found, dtype), nan)
    wrong = numpy.flatnonzero((found != expected) & ~nan)
    assert wrong.size == 0, [hex(words[wrong[0]]), hex(found[wrong[0]]), hex(expected[wrong[0]])]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", FORMATS)
def test_ten_million_random_words(dtype: str) -> None:
    generator = numpy.random.default_rng(20)
    for _ in range(10):
        assert_rounds(generator.integers(0, 1 << 32, CHUNK, dtype=numpy.uint32), dtype)


@pytest.mark.parametrize("dtype", FORMATS)
def test_every_tie_and_its_neighbours(dtype: str) -> None:
    """Around every 16-bit number, halfway to the next, and one pattern to either side."""
    every = numpy.arange(1 << 16, dtype=numpy.uint16).view(NUMPY[dtype])
    with numpy.errstate(invalid="ignore"):
        exact = every.astype(numpy.float32).view(numpy.uint32).astype(numpy.int64)
    gap = numpy.diff(exact, append=exact[-1:])
    halfway = exact + gap // 2
    near = numpy.concatenate([base + step for base in (exact, halfway) for step in (-1, 0, 1)])
    assert_rounds((near % (1 << 32)).astype(numpy.uint32), dtype)


@pytest.mark.parametrize("dtype", FORMATS)
def test_every_exponent_with_telling_fractions(dtype: str) -> None:
    fractions = {0, 1, 0x7FFFFF, 0x400000, 0x3FFFFF, 0x400001}
    for bit in range(23):
        fractions |= {1 << bit, (1 << bit) - 1, 0x7FFFFF ^ (1 << bit), (1 << bit) | 1}
    words = [
        sign << 31 | exponent << 23 | fraction
        for sign in (0, 1)
        for exponent in range(256)
        for fraction in sorted(fractions)
    ]
    assert_rounds(numpy.array(words, dtype=numpy.uint32), dtype)


@pytest.mark.parametrize("dtype", FORMATS)
def test_a_second_reference_agrees(dtype: str) -> None:
    words = numpy.random.default_rng(3).integers(0, 1 << 32, CHUNK, dtype=numpy.uint32)
    values = words.view(numpy.float32)
    with numpy.errstate(over="ignore", under="ignore", invalid="ignore"):
        expected = values.astype(NUMPY[dtype]).view(numpy.uint16)
    found = rounded_bits(values, dtype)
    numbers = ~numpy.isnan(values)
    numpy.testing.assert_array_equal(found[numbers], expected[numbers])
    assert is_nan(found[~numbers], dtype).all()


@pytest.mark.parametrize(
    ("value", "bf16", "f16"),
    [
        (0.0, 0x0000, 0x0000),
        (-0.0, 0x8000, 0x8000),
        (numpy.inf, 0x7F80, 0x7C00),
        (-numpy.inf, 0xFF80, 0xFC00),
        (1.0, 0x3F80, 0x3C00),
        (3.4028235e38, 0x7F80, 0x7C00),
        (-3.4028235e38, 0xFF80, 0xFC00),
        (3.3895314e38, 0x7F7F, 0x7C00),
        (65504.0, 0x4780, 0x7BFF),
        (65519.996, 0x4780, 0x7BFF),
        (65520.0, 0x4780, 0x7C00),
        (1e-45, 0x0000, 0x0000),
        (-1e-45, 0x8000, 0x8000),
        (1e-40, 0x0001, 0x0000),
        (2.0**-24, 0x3380, 0x0001),
        (2.0**-25, 0x3300, 0x0000),
        (2.0**-25 * (1 + 2.0**-23), 0x3300, 0x0001),
        (3 * 2.0**-25, 0x33C0, 0x0002),
        (2.0**-14, 0x3880, 0x0400),
        (2.0**-14 * (1 - 2.0**-12), 0x3880, 0x0400),
        (1.00390625, 0x3F80, 0x3C04),
        (1.01171875, 0x3F82, 0x3C0C),
    ],
)
def test_telling_values(value: float, bf16: int, f16: int) -> None:
    array = numpy.array([value], numpy.float32)
    assert hex(rounded_bits(array, "bf16")[0]) == hex(bf16)
    assert hex(rounded_bits(array, "f16")[0]) == hex(f16)


def test_case_f13() -> None:
    values = numpy.array(CASE["input"]["values"], numpy.float32)
    expected = [int(bits, 16) for bits in CASE["expected"]["bf16_bits"]]
    assert rounded_bits(values, "bf16").tolist() == expected


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("pattern", [0x7F800001, 0x7FC00000, 0x7FFFFFFF, 0xFF800001, 0xFFFFFFFF])
def test_nan_stays_nan(pattern: int, dtype: str) -> None:
    words = numpy.full((2, 3), pattern, numpy.uint32)
    assert is_nan(rounded_bits(words.view(numpy.float32), dtype), dtype).all()


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (4, 5, 6)])
def test_shapes_are_kept(shape: tuple, dtype: str) -> None:
    assert rounded_bits(numpy.full(shape, -numpy.nan, numpy.float32), dtype).shape == shape


@pytest.mark.parametrize("dtype", FORMATS)
def test_strided_views(dtype: str) -> None:
    values = numpy.random.default_rng(1).standard_normal((8, 6)).astype(numpy.float32)
    for view in (values.T, values[::2, ::-1], numpy.broadcast_to(values[:1], (8, 6))):
        numpy.testing.assert_array_equal(
            rounded_bits(view, dtype), rounded_bits(view.copy(), dtype)
        )


@pytest.mark.parametrize("kind", [numpy.float64, numpy.float16, numpy.int32, numpy.uint32])
@pytest.mark.parametrize("dtype", FORMATS)
def test_only_float32_is_rounded(kind, dtype: str) -> None:
    with pytest.raises(GenerationError, match="elements; the conversions read float32"):
        rounded_bits(numpy.ones(3, kind), dtype)


@pytest.mark.parametrize("dtype", ["e4m3", "f32", "", "BF16"])
def test_other_targets(dtype: str) -> None:
    with pytest.raises(GenerationError, match=f"cannot round to '{dtype}'; round to bf16 or f16"):
        rounded_bits(numpy.ones(3, numpy.float32), dtype)
