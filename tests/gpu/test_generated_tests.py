"""The generated tests pass for what is generated, and fail for what is not quite that."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tylo.codegen.pack_operand_a.cuda_tests import CudaTest, cuda_tests

SIZES = [(1, 1, 1), (2, 2, 1), (1, 2, 2)]
# Both packing functions convert four pairs of elements: the first four are those of the pair
# function, the last four those of the tiled one.
OPERANDS = re.compile(
    r"convert_x2\(\s*((?:left|right|accumulator)\[[^\n]*\]),\s*"
    r"((?:left|right|accumulator)\[[^\n]*\])\);"
)
FUNCTIONS = {"pair": 0, "tiled": 4}


def passed(test: CudaTest, result: Any) -> bool:
    return int(result[0]) == test.checks and int(result[1]) == 0


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_every_generated_test_passes(
    run_cuda_test: Any, tile_of: Any, dtype: str, sizes: tuple[int, int, int]
) -> None:
    for test in cuda_tests(tile_of(dtype, sizes)):
        result = run_cuda_test(test)
        assert [int(word) for word in result[:2]] == [test.checks, 0], (test.name, result)
        assert int(result[2]) == 0xFFFFFFFF


@pytest.mark.gpu
@pytest.mark.parametrize("sizes", [(4, 4, 1), (2, 1, 8), (1, 8, 4)], ids=str)
def test_larger_tiles_pass_on_a_device(
    run_on_device: Any, tile_of: Any, sizes: tuple[int, int, int]
) -> None:
    for test in cuda_tests(tile_of("bf16", sizes)):
        result = run_on_device(test)
        assert [int(word) for word in result[:2]] == [test.checks, 0], (test.name, result)


def with_operands(source: str, change: Callable[[list[tuple[str, str]]], None], at: int) -> str:
    """`source` with the four operand pairs from number `at` changed in place."""
    found = OPERANDS.findall(source)
    assert len(found) == 8
    four = list(found[at : at + 4])
    change(four)
    pairs = iter([*found[:at], *four, *found[at + 4 :]])
    return OPERANDS.sub(lambda _: "convert_x2({}, {});".format(*next(pairs)), source)


def swapped_words(*words: tuple[int, int]) -> Callable[[list[tuple[str, str]]], None]:
    def change(four: list[tuple[str, str]]) -> None:
        for one, other in words:
            four[one], four[other] = four[other], four[one]

    return change


def swapped_halves(word: int) -> Callable[[list[tuple[str, str]]], None]:
    def change(four: list[tuple[str, str]]) -> None:
        four[word] = four[word][::-1]

    return change


def low_half_twice(word: int) -> Callable[[list[tuple[str, str]]], None]:
    def change(four: list[tuple[str, str]]) -> None:
        four[word] = (four[word][0], four[word][0])

    return change


CHANGES = {
    "atoms swapped": swapped_words((0, 2), (1, 3)),
    "rows swapped": swapped_words((0, 1), (2, 3)),
    "one word of the wrong row": swapped_words((2, 3)),
    **{f"halves of word {word} swapped": swapped_halves(word) for word in range(4)},
    "low half of word 3 twice": low_half_twice(3),
}
# Text changes of the tiled function, which only several repeats or pairs can show.
STUCK = {
    "reads M repeat 0 only": (r"accumulator\[(.*)\bm\b", r"accumulator[\g<1>0u * m"),
    "reads pair 0 only": (r"accumulator\[(.*)\bk\b", r"accumulator[\g<1>0u * k"),
    "writes M repeat 0 only": (r"( words\[.*)\bm\b(.*\] = )", r"\g<1>0u * m\g<2>"),
    "writes pair 0 only": (r"( words\[.*)\bk\b(.*\] = )", r"\g<1>0u * k\g<2>"),
}
ROUNDING = {
    "truncates": ("cvt.rn.", "cvt.rz."),
    "clamps negative numbers": ("cvt.rn.", "cvt.rn.relu."),
}


def caught(run: Any, tests: Sequence[CudaTest], change: Callable[[str], str]) -> dict[str, Any]:
    """The tests that fail once their text is changed, with their results."""
    failing = {}
    for test in tests:
        source = change(test.source)
        assert source != test.source
        result = run(replace(test, source=source))
        assert int(result[0]) == test.checks, "a wrong kernel makes as many checks"
        if not passed(test, result):
            failing[test.name] = result
    return failing


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_wrong_operands_are_caught(
    run_cuda_test: Any, tile_of: Any, dtype: str, function: str, change: str
) -> None:
    tests = cuda_tests(tile_of(dtype, (1, 1, 1)))
    failing = caught(
        run_cuda_test,
        tests,
        lambda source: with_operands(source, CHANGES[change], FUNCTIONS[function]),
    )
    assert {"coordinates", "shared_roundtrip"} <= failing.keys()
    # The pair function alone is not what the second instruction is fed by.
    assert ("second_instruction" in failing) == (function == "tiled")


@pytest.mark.parametrize("change", STUCK)
def test_wrong_repeats_are_caught(run_cuda_test: Any, tile_of: Any, change: str) -> None:
    pattern, replacement = STUCK[change]
    failing = caught(
        run_cuda_test,
        cuda_tests(tile_of("bf16", (2, 2, 1))),
        lambda source: re.sub(pattern, replacement, source),
    )
    assert failing.keys() == {"coordinates", "shared_roundtrip", "second_instruction"}


@pytest.mark.gpu
@pytest.mark.parametrize("change", ROUNDING)
def test_wrong_rounding_is_caught(run_on_device: Any, tile_of: Any, change: str) -> None:
    old, new = ROUNDING[change]
    failing = caught(
        run_on_device,
        cuda_tests(tile_of("bf16", (1, 1, 1))),
        lambda source: source.replace(old, new, 1),
    )
    assert "shared_roundtrip" in failing


def test_the_first_failure_is_told(run_cuda_test: Any, tile_of: Any) -> None:
    """Halves 6 and 7 of every thread change places; thread 0 sees it before all others."""
    test = cuda_tests(tile_of("bf16", (1, 1, 1)))[1]
    source = with_operands(test.source, swapped_halves(3), FUNCTIONS["tiled"])
    result = [int(word) for word in run_cuda_test(replace(test, source=source))]
    checks, failures, number, thread, place, expected, actual = result
    assert checks == test.checks
    assert 60 <= failures <= 64
    # Two checks a half, the tiled function first, a row of 32 threads to each.
    assert number // 32 == 2 * place
    assert (number % 32, place) == (thread, 6)
    assert expected != actual
