"""The kernel that attests `ex2`, on the machine: its counters count, and its reference is exact."""

from __future__ import annotations

import struct
from functools import cache

import numpy
import pytest

from tylo.codegen.attest.ex2 import CHECKS, ENTRY, SLOTS, ex2_source, judge_ex2
from tylo.codegen.nvrtc import compile, require_full_speed
from tylo.proofs.ptx.machine.launch import Unwritten, launch

COUNT = 4


@cache
def compiled(source: str) -> str:
    return compile(source, "sm_80", kernels=[ENTRY]).ptx


def tried(source: str, first: int) -> list[list[int]]:
    """What 32 threads count of 128 patterns from `first` on."""
    ptx = compiled(source)
    results = numpy.zeros((32, SLOTS), numpy.uint64)
    launch(ptx, ENTRY, 1, 32, [first, COUNT, Unwritten(results)])
    return results.tolist()


@pytest.mark.parametrize(
    "first",
    [0x00000000, 0x80000000, 0xC2FBFFC0, 0xBF7FFFC0, 0xFF7FFFC0, 0x7F7FFFC0, 0xFFFFFF80],
    ids=["zero", "-zero", "-126", "-1", "-inf", "inf", "nan"],
)
def test_the_machine_has_the_facts(first: int) -> None:
    found = judge_ex2(tried(ex2_source(), first))
    assert found.inputs == 128
    assert found.failures == {}
    # The machine's result is the nearest float32, half an ulp away at most.
    assert found.largest_error <= 2.0**-24 * 1.0000001
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
    ids=CHECKS,
)
def test_each_fact_is_looked_at(check: int, first: int, fault: str) -> None:
    wrong = ex2_source().replace("    return result;\n", f"    {fault}\n    return result;\n", 1)
    assert CHECKS[check] in judge_ex2(tried(wrong, first)).failures


def test_the_error_is_measured() -> None:
    fault = "result = result * 0x1.00002p0f;"
    wrong = ex2_source().replace("    return result;\n", f"    {fault}\n    return result;\n", 1)
    error = judge_ex2(tried(wrong, 0xBF7FFFC0)).largest_error
    assert 2.0**-19.1 < error < 2.0**-18.9


def test_a_bound_that_is_passed_fails() -> None:
    (bits,) = struct.unpack("<Q", struct.pack("<d", 2.0**-21))
    found = judge_ex2([[0] * 8 + [1 << 32, bits]])
    assert not found.passed
    assert "2^-21.00" in found.summary()


def test_the_kernel_runs_at_full_speed() -> None:
    require_full_speed(compile(ex2_source(), "sm_90a", kernels=[ENTRY]))
