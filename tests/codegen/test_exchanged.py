"""Rows over several warps: sums, maxima and softmax updates through a caller's exchange plan."""

from __future__ import annotations

import math
from typing import Any

import numpy
import pytest

from lane_harness import kernel_text, run_on_machine
from softmax_oracle import softmax_rows, sum_bound
from tylo.codegen.lane_programs.cuda_reading import device_function
from tylo.codegen.lane_programs.numpy_reading import run
from tylo.codegen.reductions import cuda_function, maximum, sum
from tylo.codegen.softmax_state import SoftmaxState, softmax_normalize, softmax_update
from tylo.codegen.softmax_state.cuda import update_function
from tylo.layouts.atoms import atom
from tylo.layouts.errors import GenerationError, OwnershipError
from tylo.layouts.exchange import ExchangePlan
from tylo.layouts.fragment import gather, scatter
from tylo.layouts.reduction import Reduction, reduction
from tylo.layouts.row_tiles import row_tile
from tylo.layouts.tiling import tile_operand
from tylo.proofs.lane_programs import softmax
from tylo.proofs.lane_programs.exponent import Exponent
from tylo.proofs.lane_programs.expression import part, register
from tylo.proofs.lane_programs.rows import rows_of
from tylo.proofs.ptx.machine.faults import MachineFault

PLAN = ExchangePlan(buffer="partials", extent=256, barrier=1)
MMA = atom("mma.m16n8k16.bf16")
REDUCTIONS = {
    "row tile": reduction(row_tile(vector=2, warps=2, row_warps=2), 1, PLAN),
    "three warps": reduction(row_tile(vector=1, lanes=16, warps=3), 1, PLAN),
    "mma columns": reduction(tile_operand(MMA, "C", m=2, n=2, warps_m=2, warps_n=2), 1, PLAN),
    "mma rows": reduction(tile_operand(MMA, "C", warps_m=4, warps_n=2), 0, PLAN),
}


def matrix_of(found: Reduction) -> Any:
    shape: Any = (2, *found.source.shape)
    return numpy.random.default_rng(7).normal(size=shape).astype(numpy.float32)


def exchanging(text: str) -> str:
    """The kernel with the buffer that the plan names, passed on."""
    declared = "    __shared__ float partials[256];\n    const unsigned thread ="
    text = text.replace("    const unsigned thread =", declared)
    start = text.rindex("lane_program_function(")
    end = text.index(");", start)
    return text[:end] + ", partials, threadIdx.x" + text[end:]


@pytest.mark.parametrize("label", REDUCTIONS)
def test_values_are_those_of_the_matrix(label: str) -> None:
    found = REDUCTIONS[label]
    matrix = matrix_of(found)
    fragment, axis = gather(matrix, found.source), found.axis
    assert (scatter(maximum(fragment, axis, PLAN)) == matrix.max(axis=1 + axis)).all()
    exact = matrix.astype(numpy.float64).sum(axis=1 + axis)
    size = numpy.abs(matrix).astype(numpy.float64).sum(axis=1 + axis)
    assert (numpy.abs(scatter(sum(fragment, axis, PLAN)) - exact) <= 9 * 2.0**-24 * size).all()
    with pytest.raises(OwnershipError, match="hold parts"):
        sum(fragment, axis)


@pytest.mark.parametrize("label", REDUCTIONS)
def test_cuda_and_numpy_agree_to_the_bit(label: str) -> None:
    found = REDUCTIONS[label]
    program = softmax.reduce(rows_of(found), "add", "sum")
    data = gather(matrix_of(found), found.source).data
    text = exchanging(kernel_text(program, cuda_function(found, "sum", "lane_program_function")))
    for seed in (None, 1):
        results, _ = run_on_machine(program, text=text, seed=seed, values=data)
        assert (results["sum"] == run(program, exchange=found, values=data)["sum"]).all()


@pytest.mark.parametrize("label", REDUCTIONS)
def test_updates_agree_to_the_bit(label: str) -> None:
    found, exponent = REDUCTIONS[label], Exponent(0.5)
    program = softmax.update(rows_of(found), exponent)
    state = SoftmaxState(found.source, found.axis, 0.5, exchange=PLAN)
    matrix = matrix_of(found)
    matrix[1] = -math.inf
    held = numpy.broadcast_to(state.maximum.data, (2, *state.maximum.data.shape))
    inputs = {
        "scores": gather(matrix, found.source).data,
        "maximum": held,
        "sum": numpy.zeros_like(held),
    }
    printed = update_function(found, exponent, "lane_program_function")
    text = exchanging(kernel_text(program, printed))
    results, _ = run_on_machine(program, text=text, seed=3, **inputs)
    for name, wanted in run(program, exchange=found, **inputs).items():
        assert numpy.array_equal(results[name], wanted), name


def test_a_state_of_several_warps() -> None:
    found = REDUCTIONS["mma columns"]
    matrix = matrix_of(found)[0]
    scores = gather(matrix, found.source)
    updated = softmax_update(SoftmaxState(scores, 1, exchange=PLAN), scores)
    maxima, sums, probabilities, _ = softmax_rows(matrix)
    assert (scatter(updated.state.maximum) == maxima).all()
    error = numpy.abs(scatter(updated.state.sum) - sums)
    assert (error <= sums * sum_bound(matrix.shape[1], 1, 6)).all()
    normalised = scatter(softmax_normalize(updated.weights, updated.state))
    assert numpy.allclose(normalised, probabilities, rtol=1e-5, atol=0)


@pytest.mark.parametrize("barriers", [(0,), (1,)])
def test_without_a_barrier_the_machine_sees_a_race(barriers: tuple[int, ...]) -> None:
    found = REDUCTIONS["row tile"]
    program = softmax.update(rows_of(found), Exponent())
    text = exchanging(
        kernel_text(program, device_function(program, "lane_program_function", found))
    )
    pieces = text.split('asm volatile("bar.sync 1, 128;" ::: "memory");')
    assert len(pieces) == 5
    wrong = "".join(
        piece + ("" if place in barriers or place == 4 else "__syncthreads();")
        for place, piece in enumerate(pieces)
    )
    inputs = {
        "scores": gather(matrix_of(found), found.source).data,
        "maximum": numpy.zeros((2, 128, 1), numpy.float32),
        "sum": numpy.ones((2, 128, 1), numpy.float32),
    }
    with pytest.raises(MachineFault):
        run_on_machine(program, text=wrong, seed=1, **inputs)


def test_refusals() -> None:
    found = REDUCTIONS["row tile"]
    program = softmax.reduce(rows_of(found), "add", "sum")
    with pytest.raises(GenerationError, match="exchanges parts between warps"):
        device_function(program, "f")
    with pytest.raises(GenerationError, match="exchanges parts between warps"):
        run(program, values=numpy.zeros((128, 2), numpy.float32))
    with pytest.raises(GenerationError, match="part 0 of row 1 of 1 values"):
        part([register("x", 0)], 1, 0)
    single = SoftmaxState(row_tile(vector=2, row_warps=4), 1)
    scores = gather(matrix_of(found)[0], found.source)
    with pytest.raises(OwnershipError, match="hold parts"):
        softmax_update(single, scores)
