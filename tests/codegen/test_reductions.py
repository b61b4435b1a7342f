"""`sum` and `maximum` of fragments: the schedule, the values, and the same from printed CUDA."""

from __future__ import annotations

import math
from typing import Any

import numpy
import pytest

from lane_harness import kernel_text, run_on_machine
from tylo.codegen.lane_programs.numpy_reading import run
from tylo.codegen.nvrtc import compile
from tylo.codegen.reductions import cuda_function, maximum, sum
from tylo.layouts.atoms import atom
from tylo.layouts.errors import GenerationError, OwnershipError, PendingError
from tylo.layouts.fragment import Fragment, gather, scatter
from tylo.layouts.ownership import Ownership
from tylo.layouts.pending import Pending
from tylo.layouts.reduction import reduction
from tylo.layouts.row_tiles import lane_local, row_tile
from tylo.layouts.tiling import tile_operand
from tylo.proofs.lane_programs.rows import rows_of
from tylo.proofs.lane_programs.softmax import reduce

MMA = atom("mma.m16n8k16.bf16")
TILES = {
    "mma columns": (MMA.operand("C").ownership, 1),
    "mma rows": (MMA.operand("C").ownership, 0),
    "mma tiled": (tile_operand(MMA, "C", m=2, n=4, warps_m=2), 1),
    "mma tiled rows": (tile_operand(MMA, "C", m=2, n=2), 0),
    "wgmma": (atom("wgmma.m64n32k16.bf16").operand("C").ownership, 1),
    "lane-local": (lane_local(columns=4), 1),
    "row tile": (row_tile(vector=4, repeats=2), 1),
    "eight lanes": (row_tile(vector=4, lanes=8), 1),
}


def matrix_of(ownership: Ownership, seed: int = 0, batch: int = 1) -> Any:
    shape: Any = (batch, *ownership.shape)
    return numpy.random.default_rng(seed).normal(size=shape).astype(numpy.float32)


@pytest.mark.parametrize("label", TILES)
def test_values_are_those_of_the_matrix(label: str) -> None:
    ownership, axis = TILES[label]
    matrix = matrix_of(ownership)
    fragment = gather(matrix, ownership)
    # Scattering also sees that all replicas of a result are equal, to the bit.
    assert (scatter(maximum(fragment, axis)) == matrix.max(axis=1 + axis)).all()
    exact = matrix.astype(numpy.float64).sum(axis=1 + axis)
    size = numpy.abs(matrix).astype(numpy.float64).sum(axis=1 + axis)
    bound = math.ceil(math.log2(matrix.shape[1 + axis])) * 2.0**-24 * size
    assert (numpy.abs(scatter(sum(fragment, axis)) - exact) <= bound).all()


@pytest.mark.parametrize("kind", ["sum", "maximum"])
@pytest.mark.parametrize("label", TILES)
def test_cuda_and_numpy_agree_to_the_bit(label: str, kind: str) -> None:
    ownership, axis = TILES[label]
    found = reduction(ownership, axis)
    program = reduce(rows_of(found), {"sum": "add"}.get(kind, kind), kind)
    data = gather(matrix_of(ownership, batch=2), ownership).data
    data[1].flat[3] = math.nan
    text = kernel_text(program, cuda_function(found, kind, "lane_program_function"))
    results, report = run_on_machine(program, text=text, values=data)
    expected = run(program, values=data)[kind]
    assert numpy.array_equal(results[kind], expected, equal_nan=True)
    assert numpy.isnan(expected[1]).any()
    assert not report.approximate


def test_the_schedule_is_pairs_in_order_then_shuffles() -> None:
    """Values are chosen so that every other order of additions gives another float32."""
    ownership = row_tile(vector=4, lanes=2)
    row = numpy.array([1.0, 2.0**-24, 2.0**-24, 1.0, 2.0**24, 1.0, 1.0, 2.0**-30], numpy.float32)
    data = gather(numpy.tile(row, (16, 1)), ownership)
    lanes = [(row[0] + row[1]) + (row[2] + row[3]), (row[4] + row[5]) + (row[6] + row[7])]
    assert (sum(data, 1).data == lanes[0] + lanes[1]).all()


def test_a_maximum_orders_zeros_and_keeps_nan() -> None:
    ownership = lane_local(columns=2)
    matrix = numpy.zeros((32, 2), numpy.float32)
    matrix[:, 0] = -0.0
    matrix[1] = (math.nan, math.inf)
    result = scatter(maximum(gather(matrix, ownership), 1))
    assert not numpy.signbit(result[0])
    assert numpy.isnan(result[1])


def test_only_the_lane_bits_of_the_axis_are_shuffled() -> None:
    for axis, masks in ((1, (1, 2)), (0, (4, 8, 16))):
        text = cuda_function(reduction(MMA.operand("C").ownership, axis), "sum", "f")
        used = {int(part.split(")")[0]) for part in text.split(", ") if part[0].isdigit()}
        assert used == set(masks)


def test_refusals() -> None:
    C = MMA.operand("C").ownership
    fragment = gather(numpy.zeros((16, 8), numpy.float32), C)
    with pytest.raises(PendingError, match="still writing"):
        sum(Pending(fragment), 1)
    with pytest.raises(OwnershipError, match="no axis 2"):
        maximum(fragment, 2)
    with pytest.raises(GenerationError, match="holds float64"):
        sum(Fragment(fragment.data.astype(numpy.float64), C), 1)
    with pytest.raises(GenerationError, match="of type ndarray"):
        sum(fragment.data, 1)  # type: ignore[arg-type]  # what a user may do
    with pytest.raises(GenerationError, match="no reduction 'mean'"):
        cuda_function(reduction(C, 1), "mean", "f")
    warps = tile_operand(MMA, "C", warps_n=2)
    with pytest.raises(OwnershipError, match="warps 0, 1 hold parts"):
        sum(gather(numpy.zeros((16, 16), numpy.float32), warps), 1)


def test_the_printed_functions_assemble_for_hopper() -> None:
    found = reduction(atom("wgmma.m64n64k16.bf16").operand("C").ownership, 1)
    program = reduce(rows_of(found), "add", "sum")
    assert compile(kernel_text(program), "sm_90a", kernels=["lane_program"]).cubin
