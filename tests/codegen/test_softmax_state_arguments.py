"""Reductions and states of odd arguments: refused by name, never a partial or another's result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

from tylo.codegen.reductions import cuda_function, sum
from tylo.codegen.softmax_state import (
    SoftmaxState,
    log_sum_exp,
    softmax_merge,
    softmax_merge_lanes,
    softmax_normalize,
    softmax_probabilities,
    softmax_update,
)
from tylo.layouts.errors import GenerationError, OwnershipError, TyloError
from tylo.layouts.exchange import ExchangePlan
from tylo.layouts.fragment import Fragment, gather, scatter
from tylo.layouts.ownership import Ownership
from tylo.layouts.reduction import reduction
from tylo.layouts.row_tiles import row_tile
from tylo.proofs.lane_programs.exponent import Exponent

TILE = row_tile(vector=2, lanes=4)
QUAD = {"lane": [(4, "n", 2), (8, "m", 1)]}
HALVES = {"value": [(2, "n", 1)]}


def scores(*batch: int) -> Fragment:
    return gather(numpy.ones((*batch, *TILE.shape), numpy.float32), TILE)


def mask(*batch: int) -> Fragment:
    return gather(numpy.ones((*batch, *TILE.shape), bool), TILE)


def ownership(threads: dict[str, Any], rows: int) -> Ownership:
    return Ownership.of(axes={"m": rows, "n": 8}, bits=32, values=HALVES, threads=threads)


@pytest.mark.parametrize(
    ("first", "rows"),
    [({"warp": [(2, "m", 8)]}, 16), ({"warp": [(2, None, 0)]}, 8), ({"quad": [(2, "m", 8)]}, 16)],
)
def test_lanes_that_are_not_numbered_first_do_not_exchange(first: Any, rows: int) -> None:
    """A shuffle by 1 would reach the other warp's number, and add another row."""
    with pytest.raises(OwnershipError, match="lane indexes n and is numbered after"):
        reduction(ownership({**first, **QUAD}, rows), 1)
    after = ownership({**QUAD, **first}, rows)
    matrix = numpy.arange(rows * 8, dtype=numpy.float32).reshape(rows, 8)
    assert (scatter(sum(gather(matrix, after), 1)) == matrix.sum(1)).all()


def test_a_digit_of_one_before_the_lanes_is_none() -> None:
    assert reduction(ownership({"warp": [(1, "m", 8)], **QUAD}, 8), 1).lane_masks == (1, 2)


def test_an_exchange_is_between_whole_warps() -> None:
    """`bar.sync` counts threads in multiples of 32."""
    narrow = Ownership.of(
        axes={"m": 4, "n": 12},
        bits=32,
        values={},
        threads={"lane": [(4, "n", 1), (4, "m", 1)], "warp": [(3, "n", 4)]},
    )
    found = reduction(narrow, 1, exchange=ExchangePlan("partials", 12, 1))
    with pytest.raises(GenerationError, match="a barrier of 48 threads"):
        cuda_function(found, "sum", "row_sum")


@pytest.mark.parametrize(
    "call",
    [
        lambda: softmax_update(SoftmaxState(scores(3), 1), scores(2)),
        lambda: softmax_update(SoftmaxState(scores(3), 1), scores(3), mask(2)),
        lambda: softmax_probabilities(scores(2), SoftmaxState(scores(3), 1)),
        lambda: softmax_normalize(scores(2), SoftmaxState(scores(3), 1)),
        lambda: softmax_merge(SoftmaxState(scores(3), 1), SoftmaxState(scores(2), 1)),
    ],
)
def test_batches_that_do_not_fit(call: Callable[[], Any]) -> None:
    with pytest.raises(GenerationError, match=r"batch axes do not fit: .*\(3,\).*\(2,\)|\(2,\).*3"):
        call()


def test_batches_that_broadcast() -> None:
    assert softmax_update(SoftmaxState(TILE, 1), scores(2)).state.sum.data.shape[0] == 2
    updated = softmax_update(SoftmaxState(scores(3), 1), scores())
    assert log_sum_exp(updated.state).data.shape[0] == 3


def test_a_state_has_as_many_sums_as_maxima() -> None:
    kind = SoftmaxState(TILE, 1).type
    rows: Any = (kind.reduced.thread_count, kind.reduced.value_count)
    with pytest.raises(GenerationError, match="a maximum of shape"):
        SoftmaxState.of(
            kind, numpy.zeros((2, *rows), numpy.float32), numpy.zeros(rows, numpy.float32)
        )


@pytest.mark.parametrize(
    "call",
    [
        lambda: softmax_merge_lanes(SoftmaxState(TILE, 1), None),  # type: ignore[arg-type]
        lambda: SoftmaxState.of(None, 0, 0),  # type: ignore[arg-type]
        lambda: cuda_function(TILE, "sum", "row_sum"),  # type: ignore[arg-type]
        lambda: cuda_function(reduction(TILE, 1), ["sum"], "row_sum"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_reduction_and_no_type(call: Callable[[], Any]) -> None:
    with pytest.raises(TyloError):
        call()


def test_a_scale_of_minus_zero_is_zero() -> None:
    assert str(Exponent(-0.0)) == "scale 0, base e"
