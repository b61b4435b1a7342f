"""The online softmax as CUDA device functions on register arrays, for one reduction.

>>> from tylo.layouts.reduction import reduction
>>> from tylo.layouts.row_tiles import row_tile
>>> rows = reduction(row_tile(vector=2, lanes=1), 1)
>>> print(update_function(rows, Exponent(), "softmax_update"))
// A tile of scores enters the state: its weights, and the factor for what was accumulated before.
__device__ __forceinline__ void softmax_update(
    const float (&scores)[2],
    float (&maximum)[1],
    float (&sum)[1],
    float (&weights)[2],
    float (&rescale)[1]) {
    const float new_maximum_0 = lane_maximum(maximum[0], lane_maximum(scores[0], scores[1]));
    const float finite_0 = ((new_maximum_0 == -lane_infinity()) ? 0.0f : new_maximum_0);
    const float reference_0 = ((new_maximum_0 < lane_infinity()) ? finite_0 : lane_nan());
    const float rescale_0 = lane_ex2(__fmul_rn(__fsub_rn(maximum[0], reference_0), 0x1.715476p0f));
    const float weights_0 = lane_ex2(__fmul_rn(__fsub_rn(scores[0], reference_0), 0x1.715476p0f));
    const float weights_1 = lane_ex2(__fmul_rn(__fsub_rn(scores[1], reference_0), 0x1.715476p0f));
    const float new_sum_0 = __fmaf_rn(rescale_0, sum[0], __fadd_rn(weights_0, weights_1));
    maximum[0] = new_maximum_0;
    sum[0] = new_sum_0;
    weights[0] = weights_0;
    weights[1] = weights_1;
    rescale[0] = rescale_0;
}
<BLANKLINE>

Names are the caller's. An array may be passed for two parameters where one is read and the other
written, such as scores and weights. What a kernel does not use (the weights, where only statistics
are wanted) costs nothing after inlining. Whole warps call these functions: lanes without a row of
their own take part with masked scores. A reduction with an exchange plan adds two parameters to
updates and merges of lanes: the plan's buffer, and the thread's number in the tile. Before them
goes the text of `tylo.codegen.lane_programs.cuda_reading.operator_functions`.
"""

from __future__ import annotations

from tylo.codegen.lane_programs.cuda_reading import device_function
from tylo.layouts.reduction import Reduction
from tylo.proofs.lane_programs import softmax
from tylo.proofs.lane_programs.exponent import Exponent
from tylo.proofs.lane_programs.rows import rows_of


def update_function(
    reduction: Reduction, exponent: Exponent, name: str, *, masked: bool = False
) -> str:
    """``name(const scores[V], [const bool keep[V],] maximum[R], sum[R], weights[V], rescale[R])``.

    The state is changed in place; it begins as -inf and 0.
    """
    program = softmax.update(rows_of(reduction), exponent, masked=masked)
    return device_function(program, name, reduction)


def normalize_function(reduction: Reduction, name: str) -> str:
    """``name(output[V], const sum[R])``, in place."""
    return device_function(softmax.normalize(rows_of(reduction)), name)


def probabilities_function(
    reduction: Reduction, exponent: Exponent, name: str, *, masked: bool = False
) -> str:
    """``name(const scores[V], [const bool keep[V],] const maximum[R], const sum[R],
    probabilities[V])``: normalised weights of scores that the state has seen."""
    program = softmax.probabilities(rows_of(reduction), exponent, masked=masked)
    return device_function(program, name)


def merge_function(rows: int, exponent: Exponent, name: str) -> str:
    """``name(maximum[R], sum[R], const other_maximum[R], const other_sum[R], rescale[R],
    other_rescale[R])``: the first state becomes that of both. `rows` is R."""
    return device_function(softmax.merge(rows, exponent), name)


def merge_lanes_function(reduction: Reduction, exponent: Exponent, name: str) -> str:
    """``name(const part_maximum[P], const part_sum[P], maximum[R], sum[R], rescale[P])``.

    `reduction` is one of the partial states' own ownership: P of them in a lane, over lane bits.
    """
    return device_function(softmax.merge_lanes(rows_of(reduction), exponent), name, reduction)


def log_sum_exp_function(rows: int, exponent: Exponent, name: str) -> str:
    """``name(const maximum[R], const sum[R], log_sum_exp[R])``: natural logarithms."""
    return device_function(softmax.log_sum_exp(rows, exponent), name)
