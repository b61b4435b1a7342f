"""The generated test of a softmax kernel compares log-sum-exps, with probabilities or alone."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy
import pytest

from tylo.codegen.nvrtc import compile
from tylo.codegen.primitives import primitive
from tylo.codegen.run_cpu import MachineModule
from tylo.codegen.softmax.oracle import near_logarithm
from tylo.codegen.softmax.run import compared_rows
from tylo.proofs.ptx.machine.launch import Unwritten, launch
from tylo.proofs.specifications import specification

FIVE_ROWS = {"vector": 4, "lanes": 8, "warps": 1, "row_warps": 2, "repeats": 1, "lse": 1}
STORED = "given.lse[row] = result[0];"
OUTPUTS = pytest.mark.parametrize("out_dtype", ["f32", "bf16", "none"])
FAULTS = pytest.mark.parametrize(
    ("stored", "row"),
    [
        ("result[0] * 1.0001f", 0),
        ("result[0] + 1e-4f", 0),
        ("result[0] < -1e30f ? -60000.0f : result[0]", 1),
        ("result[0] < -1e30f ? -result[0] : result[0]", 1),
        ("result[0] == result[0] ? result[0] : 0.0f", 2),
    ],
)


@cache
def texts(out_dtype: str) -> tuple[str, Any, Any]:
    """The kernel's text, its generated test, and the parameters."""
    parameters = specification("softmax", {"out_dtype": out_dtype, **FIVE_ROWS}).parameters
    (test,) = primitive("softmax").tests(parameters)
    return primitive("softmax").source(parameters), test, parameters


def made_and_failed(out_dtype: str, stored: str) -> list[int]:
    """Checks made, failed, and the number of the first that failed."""
    _, test, _ = texts(out_dtype)
    source = test.source.replace(STORED, f"given.lse[row] = {stored};")
    assert source.count(f"given.lse[row] = {stored};") == 1
    ptx = compile(source, "sm_80", kernels=[test.entry]).ptx
    result = numpy.full(test.result_words, 0xFFFFFFFF, numpy.uint32)
    launch(ptx, test.entry, 1, test.threads, [Unwritten(result)], seed=3)
    return [int(each) for each in result[:3]]


@OUTPUTS
def test_the_right_kernel_passes(out_dtype: str) -> None:
    _, test, _ = texts(out_dtype)
    assert made_and_failed(out_dtype, "result[0]")[:2] == [test.checks, 0]
    assert test.checks % 5 == 0
    assert (test.checks == 5) == (out_dtype == "none")


@OUTPUTS
@FAULTS
def test_a_wrong_log_sum_exp_fails(out_dtype: str, stored: str, row: int) -> None:
    made, failed, first = made_and_failed(out_dtype, stored)
    assert failed >= 1
    assert first == made - 5 + row


@OUTPUTS
@FAULTS
def test_the_kernel_of_a_bundle_fails_too(out_dtype: str, stored: str, row: int) -> None:
    source, _, parameters = texts(out_dtype)
    wrong = source.replace(STORED, f"given.lse[row] = {stored};")
    stated = specification("softmax", parameters).effect
    assert stated is not None
    ptx = compile(wrong, "sm_80", kernels=[stated.entry]).ptx
    _, failed, first = compared_rows(MachineModule(ptx, 1), parameters)
    assert failed.any()
    assert first == f"log-sum-exp of row {row}"


def test_an_infinity_is_near_nothing_else() -> None:
    wanted = numpy.array([-numpy.inf, -numpy.inf, 0.0])
    assert (
        near_logarithm(numpy.array([-1e30, numpy.inf, -numpy.inf]), wanted).tolist() == [False] * 3
    )
