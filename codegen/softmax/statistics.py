"""The statistics of a softmax kernel: the online state's functions, printed for its registers.

Which registers of a lane hold which columns does not matter to a maximum or a sum; that all of them
are of one row does. So the functions are those of a row tile with as many values a lane.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tylo.codegen.lane_programs.cuda_reading import device_function
from tylo.codegen.printing import expression
from tylo.codegen.reductions import cuda_function as reduced
from tylo.codegen.softmax_state.cuda import (
    log_sum_exp_function,
    merge_lanes_function,
    normalize_function,
    probabilities_function,
    update_function,
)
from tylo.layouts.reduction import Reduction, reduction
from tylo.layouts.row_tiles import row_tile
from tylo.layouts.terms import name
from tylo.proofs.lane_programs.exponent import Exponent
from tylo.proofs.lane_programs.rows import rows_of
from tylo.proofs.lane_programs.softmax_rows import (
    add_weights,
    enter,
    enter_alone,
    raise_by_words,
    raise_maximum,
    share,
)

if TYPE_CHECKING:
    from tylo.codegen.softmax.kernel import SoftmaxKernel

_FORCED = "__device__ __forceinline__"
_UNIT = "const float (&maximum)[1], const float (&sum)[1]"


def in_warp(kernel: SoftmaxKernel) -> Reduction:
    """The reduction of a lane's values and of the lanes along a row."""
    return reduction(row_tile(vector=kernel.values, lanes=kernel.tile.lanes), 1)


def in_lane(kernel: SoftmaxKernel) -> Reduction:
    """The reduction of a lane's values alone."""
    return reduction(row_tile(vector=kernel.values, lanes=1), 1)


def across_lanes(kernel: SoftmaxKernel) -> Reduction:
    """The reduction of the lanes' own states along a row."""
    return reduction(row_tile(vector=1, lanes=kernel.tile.lanes), 1)


def functions(kernel: SoftmaxKernel) -> str:
    """Every state function that the kernel's skeleton calls."""
    exponent = kernel.exponent
    if kernel.form == "rows" and not kernel.chunked:
        texts = [update_function(in_warp(kernel), exponent, "softmax_update"), _finish(kernel)]
    else:
        texts = [probabilities_function(in_lane(kernel), exponent, "softmax_probabilities")]
    if kernel.form == "stream":
        lanes = across_lanes(kernel)
        texts.append(update_function(in_lane(kernel), exponent, "softmax_update"))
        texts.append(merge_lanes_function(lanes, exponent, "merge_lanes"))
    if kernel.form == "three_pass" or kernel.chunked:
        texts += _apart(kernel)
    if kernel.tile.parts > 1:
        parts = reduction(kernel.tile.part_tile, 1)
        texts.append(merge_lanes_function(parts, exponent, "merge_parts"))
    if kernel.lse:
        texts.append(log_sum_exp_function(1, exponent, "log_sum_exp"))
    return "\n".join(texts)


def _apart(kernel: SoftmaxKernel) -> list[str]:
    """Maximum and sum by themselves: of a lane's values, then of the lanes along a row."""
    exponent, lanes = kernel.exponent, across_lanes(kernel)
    texts = [
        device_function(add_weights(kernel.values, exponent), "add_weights"),
        reduced(lanes, "maximum", "row_maximum"),
        reduced(lanes, "sum", "row_sum"),
    ]
    if not kernel.chunked:
        return [*texts, device_function(raise_maximum(kernel.values), "raise_maximum")]
    single = reduction(row_tile(vector=1, lanes=1), 1)
    return [
        *texts,
        device_function(raise_by_words(kernel.words, kernel.dtype), "raise_maximum"),
        device_function(add_weights(1, exponent), "add_weight_of_edge"),
        probabilities_function(single, exponent, "edge_probabilities"),
    ]


def slots(kernel: SoftmaxKernel) -> str:
    """Who writes which slot of the exchange, and who reads which."""
    tile, thread = kernel.tile, name("thread")
    lane = {"lane": thread % 32}
    _, part = tile.part_tile(**lane)
    lanes = min(tile.parts, 32)
    read = tile.part_slot(thread, part + name("value") * lanes)
    return (
        f"{_FORCED} unsigned own_slot(unsigned thread, unsigned rank) {{\n"
        f"    return {expression(tile.own_slot(thread, name('rank')))};\n}}\n\n"
        f"{_FORCED} unsigned part_copy(unsigned thread) {{\n"
        f"    return {expression(tile.part_copy(thread))};\n}}\n\n"
        f"{_FORCED} unsigned part_slot(unsigned thread, unsigned value) {{\n"
        f"    return {expression(read)};\n}}\n"
    )


def _finish(kernel: SoftmaxKernel) -> str:
    """`finish`: weights become probabilities."""
    text, lines = "", []
    if kernel.out_dtype and kernel.tile.parts == 1:
        text = normalize_function(in_warp(kernel), "softmax_normalize")
        lines = ["softmax_normalize(weights, sum);"]
    elif kernel.out_dtype:
        text = device_function(share(kernel.values, kernel.exponent), "softmax_share")
        lines = ["softmax_share(weights, part_maximum, maximum, sum);"]
    body = "".join(f"    {line}\n" for line in lines)
    return (
        f"{text}\n{_FORCED} void finish(\n"
        "    float (&weights)[values], const float (&part_maximum)[1],\n"
        f"    {_UNIT}) {{\n{body}}}\n"
    )


def in_lanes(rows: Reduction, *, lse: bool) -> str:
    """The functions of rows that no warp shares with another: enter, normalise, log-sum-exp."""
    exponent, found = Exponent(), rows_of(rows)
    texts = [device_function(enter(found, exponent), "softmax_enter", rows)]
    texts.append(normalize_function(rows, "softmax_normalize"))
    return "\n".join([*texts, *_logarithm(len(rows.groups), lse=lse)])


def alone(values: int, *, lse: bool) -> str:
    """The same functions of rows of one column, whose weights are normalised as they enter."""
    values_and_sums = f"float (&)[{values}], const float (&)[{values}]"
    texts = [
        device_function(enter_alone(values), "softmax_enter"),
        f"{_FORCED} void softmax_normalize({values_and_sums}) {{}}\n",
    ]
    return "\n".join([*texts, *_logarithm(values, lse=lse)])


def _logarithm(rows: int, *, lse: bool) -> list[str]:
    return [log_sum_exp_function(rows, Exponent(), "log_sum_exp")] if lse else []
