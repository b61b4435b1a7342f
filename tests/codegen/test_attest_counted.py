"""The kernels that attest `ex2` and `lg2`, on the machine: counters count, references are exact."""

from __future__ import annotations

import struct
from functools import cache

import numpy
import pytest

from tylo.codegen.attest.counted import Counts, Instruction, counting_source, judge_counts
from tylo.codegen.attest.ex2 import EX2
from tylo.codegen.attest.lg2 import LG2
from tylo.codegen.nvrtc import compile, require_full_speed
from tylo.proofs.ptx.machine.launch import Unwritten, launch

COUNT = 4
BOTH = pytest.mark.parametrize("instruction", [EX2, LG2], ids=lambda each: each.spelling)


@cache
def compiled(source: str, entry: str) -> str:
    return compile(source, "sm_80", kernels=[entry]).ptx


def tried(instruction: Instruction, first: int, fault: str = "") -> Counts:
    """What 32 threads count of 128 patterns from `first` on; `fault` spoils the result."""
    source = counting_source(instruction)
    if fault:
        assert source.count("    return result;\n") == 1
        source = source.replace("    return result;\n", f"    {fault}\n    return result;\n")
    results = numpy.zeros((32, instruction.slots), numpy.uint64)
    arguments = [first, COUNT, Unwritten(results)]
    launch(compiled(source, instruction.entry), instruction.entry, 1, 32, arguments)
    return judge_counts(instruction, results.tolist())


PLACES = {
    "zero": 0x00000000,
    "-zero": 0x80000000,
    "least normal": 0x007FFFC0,
    "1/2": 0x3EFFFFC0,
    "sqrt(1/2)": 0x3F3504B0,
    "1": 0x3F7FFFC0,
    "2": 0x3FFFFFC0,
    "inf": 0x7F7FFFC0,
    "-1": 0xBF7FFFC0,
    "-126": 0xC2FBFFC0,
    "-inf": 0xFF7FFFC0,
    "nan": 0xFFFFFF80,
}


@BOTH
@pytest.mark.parametrize("first", PLACES.values(), ids=PLACES)
def test_the_machine_has_the_facts(instruction: Instruction, first: int) -> None:
    found = tried(instruction, first)
    assert found.inputs == 128
    assert found.failures == {}
    # The machine's result is the nearest float32, half an ulp away at most.
    assert max(found.errors) <= 2.0**-24 * 1.0000001
    assert not found.passed  # 2^32 inputs are asked for


@pytest.mark.parametrize(
    ("check", "first", "fault"),
    [
        (0, 0x80000000, "result = result * 0.5f;"),
        (1, 0xBF7FFFC0, "result = result + 1.0f;"),
        (2, 0xBF7FFFC0, "result = -result;"),
        (3, 0xBF7FFFC0, "result = pattern & 1u ? result : result * 0.75f;"),
        (4, 0xFFFFFF80, "result = 0.0f;"),
        (5, 0xBF7FFFC0, "result = __uint_as_float(0x7fffffffu);"),
        (6, 0xFF7FFFC0, "result = result + 0.5f;"),
        (7, 0x7F7FFFC0, "result = 3.0f;"),
    ],
    ids=EX2.checks,
)
def test_each_fact_of_ex2_is_looked_at(check: int, first: int, fault: str) -> None:
    assert EX2.checks[check] in tried(EX2, first, fault).failures


@pytest.mark.parametrize(
    ("check", "first", "fault"),
    [
        (0, 0x3F7FFFC0, "result = result + 0x1p-30f;"),
        (1, 0x3F7FFFC0, "result = -result;"),
        (2, 0x3F7FFFC0, "result = -result;"),
        (3, 0x7F7FFFC0, "result = result * __uint_as_float(0x7f7fffffu);"),
        (4, 0x00000000, "result = -149.0f;"),
        (4, 0x80000000, "result = -149.0f;"),
        (5, 0x7F7FFFC0, "result = 128.0f;"),
        (6, 0xBF7FFFC0, "result = 0.0f;"),
        (6, 0xFF7FFFC0, "if (pattern == 0xff800000u) result = -__uint_as_float(0x7f800000u);"),
        (7, 0xFFFFFF80, "result = 0.0f;"),
    ],
)
def test_each_fact_of_lg2_is_looked_at(check: int, first: int, fault: str) -> None:
    assert LG2.checks[check] in tried(LG2, first, fault).failures


@pytest.mark.parametrize(
    ("instruction", "kind", "first"),
    [(EX2, 0, 0xBF7FFFC0), (LG2, 1, 0x41000000), (LG2, 1, 0x01000000)],
)
def test_a_relative_error_is_measured(instruction: Instruction, kind: int, first: int) -> None:
    error = tried(instruction, first, "result = result * 0x1.00002p0f;").errors[kind]
    assert 2.0**-19.1 < error < 2.0**-18.9


@pytest.mark.parametrize("first", [0x3F7FFFC0, 0x3F3504B0])
def test_an_absolute_error_of_lg2_is_measured(first: int) -> None:
    error = tried(LG2, first, "result = result + 0x1p-19f;").errors[0]
    assert 2.0**-19.1 < error < 2.0**-18.9


def test_the_kinds_of_error_of_lg2_meet_at_a_half_and_at_two() -> None:
    inside, outside = (
        tried(LG2, first, "result = result + 1.0f;") for first in (0x3F000001, 0x40000000)
    )
    assert inside.errors[0] > 0.9
    assert inside.errors[1] == 0
    assert outside.errors[0] == 0
    assert outside.errors[1] > 0.9


@pytest.mark.parametrize(
    ("instruction", "kind", "error"),
    [(EX2, 0, 2.0**-21), (LG2, 0, 2.0**-21), (LG2, 1, 2.0**-21), (LG2, 1, float("nan"))],
)
def test_a_bound_that_is_passed_fails(instruction: Instruction, kind: int, error: float) -> None:
    row = [0] * len(instruction.checks) + [1 << 32] + [0] * len(instruction.errors)
    assert judge_counts(instruction, [row]).passed
    row[len(instruction.checks) + 1 + kind] = struct.unpack("<Q", struct.pack("<d", error))[0]
    found = judge_counts(instruction, [row])
    assert not found.passed
    assert ("2^-21.00" in found.summary()) == (error == error)


@BOTH
def test_rows_of_threads_add_up_and_the_largest_error_stays(instruction: Instruction) -> None:
    rows = numpy.arange(2 * instruction.slots, dtype=numpy.uint64).reshape(2, -1)
    found = judge_counts(instruction, rows)
    assert list(found.failed) == rows.sum(axis=0)[: len(instruction.checks)].tolist()
    largest = [struct.unpack("<Q", struct.pack("<d", error))[0] for error in found.errors]
    assert largest == rows[1, len(instruction.checks) + 1 :].tolist()


@BOTH
def test_the_kernel_runs_at_full_speed(instruction: Instruction) -> None:
    require_full_speed(compile(counting_source(instruction), "sm_90a", kernels=[instruction.entry]))
