"""The oracle against tables and roundings that others made, and its independence of Tylo."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy
import pytest

from tylo.codegen import oracle
from tylo.codegen.rounding import rounded_bits

TABLES = json.loads(
    (Path(__file__).parents[1] / "data" / "atoms_m16n8k16.json").read_text(encoding="utf-8")
)["atoms"]
REFERENCES = {"bf16": ml_dtypes.bfloat16, "f16": numpy.float16}
FORMULAS = {"A": oracle.operand_a, "B": oracle.operand_b, "C": oracle.accumulator}


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names.add(str(node.module))
    return {name.split(".")[0] for name in names}


def test_it_imports_numpy_and_the_standard_library_only() -> None:
    names = imported(Path(oracle.__file__))
    assert "numpy" in names
    assert names - {"numpy"} <= set(sys.stdlib_module_names)


@pytest.mark.parametrize("letter", "ABC")
def test_closed_forms_give_the_vendor_s_tables(letter: str) -> None:
    assert len(TABLES) == 2
    for table in TABLES:
        expected = table["operands"][letter]["table"]
        assert len(expected) == 32
        found = [
            [list(FORMULAS[letter](lane, value)) for value in range(len(expected[lane]))]
            for lane in range(32)
        ]
        assert found == expected


@pytest.mark.parametrize("sizes", [(1, 1, 1), (2, 3, 4)])
def test_packed_coordinates_cover_the_tile_once(sizes: tuple[int, int, int]) -> None:
    repeats_m, pairs, warps_m = sizes
    held = oracle.packed_coordinates(*sizes).reshape(-1, 2)
    every = {(r, c) for r in range(16 * repeats_m * warps_m) for c in range(16 * pairs)}
    assert len(held) == len(every)
    assert {(int(row), int(column)) for row, column in held} == every


def test_product_coordinates_cover_the_product_once() -> None:
    held = oracle.product_coordinates(3, 2).reshape(-1, 2)
    every = {(row, column) for row in range(96) for column in range(16)}
    assert len(held) == len(every)
    assert {(int(row), int(column)) for row, column in held} == every


def reference(words: Any, dtype: str) -> Any:
    with numpy.errstate(all="ignore"):
        return words.view(numpy.float32).astype(REFERENCES[dtype]).view(numpy.uint16)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_rounding_of_special_and_random_words(dtype: str) -> None:
    special = oracle.special_words(dtype)
    words = numpy.concatenate([special, oracle.random_words(10_000_000, 99)])
    found = oracle.rounded(words.view(numpy.float32), dtype)
    same = oracle.same_patterns(reference(words, dtype), found, dtype)
    assert same.all(), hex(words[~same][0])


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_it_agrees_with_the_rounding_that_fragments_use(dtype: str) -> None:
    words = numpy.concatenate([oracle.special_words(dtype), oracle.random_words(2_000_000, 17)])
    values = words.view(numpy.float32)
    same = oracle.same_patterns(oracle.rounded(values, dtype), rounded_bits(values, dtype), dtype)
    assert same.all(), hex(words[~same][0])


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_every_16_bit_number_rounds_to_itself_and_every_tie_to_even(dtype: str) -> None:
    patterns = numpy.arange(1 << 16, dtype=numpy.uint16)
    numbers = oracle.widened(patterns, dtype)
    with numpy.errstate(invalid="ignore"):
        known = patterns.view(REFERENCES[dtype]).astype(numpy.float64)
    assert numpy.array_equal(numbers, known, equal_nan=True)
    back = oracle.rounded(numbers.astype(numpy.float32), dtype)
    assert oracle.same_patterns(patterns, back, dtype).all()

    infinity = oracle.FORMATS[dtype].infinity
    below = patterns[:infinity][:-1]
    middle = ((oracle.widened(below, dtype) + oracle.widened(below + 1, dtype)) / 2).astype(
        numpy.float32
    )
    assert numpy.array_equal(oracle.rounded(middle, dtype), below + below % 2)


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_special_words_hold_every_kind(dtype: str) -> None:
    words = oracle.special_words(dtype)
    values = words.view(numpy.float32)
    patterns = oracle.rounded(values, dtype)
    magnitudes = patterns & 0x7FFF
    infinity = oracle.FORMATS[dtype].infinity
    smallest_normal = 1 << (oracle.FORMATS[dtype].digits - 1)
    assert {0, 0x80000000} <= set(words.tolist())
    assert numpy.isnan(values).sum() >= 8
    assert (numpy.isfinite(values) & (magnitudes == infinity)).any(), "overflow"
    assert (numpy.isfinite(values) & (magnitudes == infinity - 1)).any(), "largest"
    assert ((values != 0) & (magnitudes == 0)).any(), "underflow"
    assert ((magnitudes > 0) & (magnitudes < smallest_normal)).any(), "subnormal"


def test_a_nan_is_a_nan_and_nothing_else() -> None:
    expected = numpy.array([0x7FC0, 0x7F80, 0x0000, 0x7FC0], numpy.uint16)
    actual = numpy.array([0xFFC1, 0x7FC0, 0x8000, 0x7F80], numpy.uint16)
    assert oracle.same_patterns(expected, actual, "bf16").tolist() == [True, False, False, False]


def test_the_interval_holds_every_order_of_truncated_sums() -> None:
    """A model of the hardware: addends cut at the largest's last digit, in random order."""
    generator = numpy.random.default_rng(5)
    left = oracle.widened(
        oracle.rounded(generator.normal(size=(64, 32)).astype(numpy.float32), "bf16"), "bf16"
    )
    right = oracle.widened(
        oracle.rounded(generator.normal(size=(32, 16)).astype(numpy.float32), "bf16"), "bf16"
    )
    low, high = oracle.product_interval(left, right)
    for _ in range(20):
        total = numpy.zeros((64, 16))
        for step in generator.permutation(32).reshape(4, 8):
            addends = numpy.stack([total, *(left[:, [k]] * right[[k]] for k in step)])
            unit = numpy.exp2(numpy.floor(numpy.log2(abs(addends).max(0))) - 23)
            total = (numpy.trunc(addends / unit) * unit).sum(0)
            unit = numpy.exp2(numpy.floor(numpy.log2(abs(total))) - 23)
            total = numpy.trunc(total / unit) * unit
        assert (low <= total).all()
        assert (total <= high).all()
    assert ((high - low) < 1e-3).all()


def test_random_words_are_the_same_everywhere() -> None:
    # SplitMix64 from state 0: 0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F.
    assert [hex(word) for word in oracle.random_words(3, 0)] == [
        "0xe220a839",
        "0x6e789e6a",
        "0x6c45d18",
    ]
