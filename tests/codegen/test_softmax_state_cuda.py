"""The printed softmax functions, executed on the machine, against the numpy reading."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy
import pytest

from lane_harness import kernel_text, run_on_machine
from tylo.codegen.lane_programs.numpy_reading import run
from tylo.codegen.nvrtc import compile, require_full_speed
from tylo.codegen.softmax_state.cuda import (
    log_sum_exp_function,
    merge_function,
    merge_lanes_function,
    normalize_function,
    probabilities_function,
    update_function,
)
from tylo.layouts.atoms import atom
from tylo.layouts.ownership import Ownership
from tylo.layouts.reduction import Reduction, reduction
from tylo.layouts.row_tiles import lane_local, row_tile
from tylo.layouts.tiling import tile_operand
from tylo.proofs.lane_programs import softmax
from tylo.proofs.lane_programs.exponent import Exponent
from tylo.proofs.lane_programs.program import LaneProgram
from tylo.proofs.lane_programs.rows import rows_of

MMA = atom("mma.m16n8k16.bf16")
REDUCTIONS = {
    "mma columns": reduction(MMA.operand("C").ownership, 1),
    "mma rows": reduction(MMA.operand("C").ownership, 0),
    "mma tiled": reduction(tile_operand(MMA, "C", m=2, n=4, warps_m=2), 1),
    "wgmma": reduction(atom("wgmma.m64n32k16.bf16").operand("C").ownership, 1),
    "lane-local": reduction(lane_local(columns=4), 1),
    "row tile": reduction(row_tile(vector=4, repeats=2), 1),
    "eight lanes": reduction(row_tile(vector=2, lanes=8), 1),
}
EXPONENTS = {"natural": Exponent(), "scaled": Exponent(0.125, 2), "zero": Exponent(0)}
# The machine's ex2 and lg2 are the nearest float32 too: what differs could only be the last bit of
# float64 before rounding, once in 2^28 results. What the hardware adds is bounded in the docs.
NEAREST = 2.0**-23

Print = Callable[[Reduction, Exponent], str]
State = Callable[[Reduction, Exponent], LaneProgram]
FUNCTIONS: dict[str, tuple[Print, State]] = {
    "update": (
        lambda found, exponent: update_function(found, exponent, "lane_program_function"),
        lambda found, exponent: softmax.update(rows_of(found), exponent),
    ),
    "masked update": (
        lambda found, exponent: update_function(
            found, exponent, "lane_program_function", masked=True
        ),
        lambda found, exponent: softmax.update(rows_of(found), exponent, masked=True),
    ),
    "probabilities": (
        lambda found, exponent: probabilities_function(found, exponent, "lane_program_function"),
        lambda found, exponent: softmax.probabilities(rows_of(found), exponent),
    ),
    "normalize": (
        lambda found, exponent: normalize_function(found, "lane_program_function"),
        lambda found, exponent: softmax.normalize(rows_of(found)),
    ),
    "merge": (
        lambda found, exponent: merge_function(
            len(found.groups), exponent, "lane_program_function"
        ),
        lambda found, exponent: softmax.merge(len(found.groups), exponent),
    ),
    "merge lanes": (
        lambda found, exponent: merge_lanes_function(found, exponent, "lane_program_function"),
        lambda found, exponent: softmax.merge_lanes(rows_of(found), exponent),
    ),
    "log-sum-exp": (
        lambda found, exponent: log_sum_exp_function(
            len(found.groups), exponent, "lane_program_function"
        ),
        lambda found, exponent: softmax.log_sum_exp(len(found.groups), exponent),
    ),
}


def inputs_of(program: LaneProgram, found: Reduction, seed: int = 0) -> dict[str, Any]:
    """Batches: ordinary scores, nothing kept, a NaN, a +inf, huge scores; states of all kinds.

    Lanes that share a row are given one state, as a kernel would.
    """
    random = numpy.random.default_rng(seed)
    threads: Any = found.source.thread_count
    rows = len(found.groups)
    row_of = numpy.array(
        [[hash_of(found.result, thread, row) for row in range(rows)] for thread in range(threads)]
    )
    made: dict[str, Any] = {}
    for array in program.inputs:
        shape = (6, threads, array.count)
        if array.type == "bool":
            made[array.name] = random.random(shape) < 0.7
        elif array.name in ("scores", "output", "part_maximum"):
            values = (random.normal(size=shape) * 20).astype(numpy.float32)
            values[1] = 0.0 if array.name == "output" else -math.inf
            values[2, threads // 3, 0] = math.nan
            values[3, threads // 2, -1] = math.inf
            values[4] *= 1e36
            made[array.name] = values
        elif array.name in ("part_sum",):
            made[array.name] = 1 + random.random(shape, numpy.float32)
            made[array.name][1] = 0
        elif array.name.endswith("maximum"):
            values = (random.normal(size=(6, 4096)) * 20).astype(numpy.float32)
            values[1] = -math.inf
            values[0, ::3] = -math.inf
            made[array.name] = values[:, row_of]
        else:
            values = 1 + random.random((6, 4096), numpy.float32) * 100
            values[1] = 0
            values[0, ::3] = 0
            made[array.name] = values[:, row_of]
    return made


def hash_of(result: Ownership, thread: int, value: int) -> int:
    """A number for the row that a value of a thread stands for."""
    (row,) = result.coordinates(thread, value)
    return int(row)


@pytest.mark.parametrize("exponent", EXPONENTS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_reads_alike(function: str, exponent: str) -> None:
    for label in ("mma columns", "mma rows"):
        compare(function, REDUCTIONS[label], EXPONENTS[exponent])


@pytest.mark.parametrize("label", list(REDUCTIONS)[2:])
@pytest.mark.parametrize("function", ["update", "probabilities", "merge lanes"])
def test_other_ownerships_read_alike(label: str, function: str) -> None:
    compare(function, REDUCTIONS[label], EXPONENTS["natural"])


def compare(function: str, found: Reduction, exponent: Exponent) -> None:
    """Both readings on the same inputs: to the bit, but for approximate instructions."""
    printed, stated = FUNCTIONS[function]
    program = stated(found, exponent)
    inputs = inputs_of(program, found)
    text = kernel_text(program, printed(found, exponent))
    results, report = run_on_machine(program, text=text, **inputs)
    expected = run(program, **inputs)
    for name, wanted in expected.items():
        if report.approximate:
            close = numpy.isclose(results[name], wanted, rtol=NEAREST, atol=0, equal_nan=True)
            assert close.all(), name
        else:
            assert numpy.array_equal(results[name], wanted, equal_nan=True), name
    assert report.approximate <= {"ex2.approx.ftz.f32", "lg2.approx.ftz.f32"}


def test_scores_and_weights_may_be_one_array() -> None:
    found = REDUCTIONS["mma columns"]
    program = softmax.update(rows_of(found), Exponent())
    text = kernel_text(program)
    call = "lane_program_function(scores, maximum, sum, weights, rescale);"
    assert call in text
    shared = text.replace(call, call.replace("weights", "scores")).replace(
        "] = weights[i];", "] = scores[i];"
    )
    inputs = inputs_of(program, found)
    results, _ = run_on_machine(program, text=shared, **inputs)
    expected = run(program, **inputs)
    for name in expected:
        assert numpy.array_equal(results[name], expected[name], equal_nan=True)


@pytest.mark.parametrize("label", ["wgmma", "row tile"])
def test_the_functions_assemble_without_spills(label: str) -> None:
    for function, (printed, stated) in FUNCTIONS.items():
        program = stated(REDUCTIONS[label], Exponent())
        text = kernel_text(program, printed(REDUCTIONS[label], Exponent()))
        compiled = compile(text, "sm_90a", kernels=["lane_program"], name=f"{function}.cu")
        require_full_speed(compiled)


def test_nothing_branches() -> None:
    """The element operations select: the only branch of the PTX is the kernel's return."""
    program = softmax.update(rows_of(REDUCTIONS["mma tiled"]), Exponent(), masked=True)
    ptx = compile(kernel_text(program), "sm_90a", kernels=["lane_program"]).ptx
    assert "bra" not in ptx
    assert "max.NaN.f32" in ptx
    assert "ex2.approx.ftz.f32" in ptx


def test_statistics_alone_cost_no_weights() -> None:
    """What a kernel does not read is gone: one ex2 for each score and row, and no more."""
    found = REDUCTIONS["lane-local"]
    program = softmax.update(rows_of(found), Exponent())
    text = kernel_text(program)
    start = text.index("out_weights[thread")
    loop = text.rindex("#pragma", 0, start)
    quiet = text[:loop] + text[text.index(";", start) + 1 :]
    ptx = compile(quiet, "sm_90a", kernels=["lane_program"]).ptx
    assert ptx.count("ex2.approx.ftz.f32") == 5
    assert ptx.count("st.global") == 3
