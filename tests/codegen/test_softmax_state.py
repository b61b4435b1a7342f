"""The online softmax on fragments, against float64 and against answers worked out elsewhere."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy
import pytest

from softmax_oracle import softmax_rows, sum_bound
from tylo.codegen.softmax_state import (
    SoftmaxState,
    log_sum_exp,
    softmax_merge,
    softmax_merge_lanes,
    softmax_normalize,
    softmax_probabilities,
    softmax_update,
)
from tylo.layouts.atoms import atom
from tylo.layouts.errors import GenerationError, OwnershipError, PendingError, TyloError
from tylo.layouts.fragment import Fragment, gather, scatter
from tylo.layouts.ownership import Ownership
from tylo.layouts.pending import Pending
from tylo.layouts.reduction import reduction
from tylo.layouts.row_tiles import lane_local, row_tile
from tylo.layouts.tiling import tile_operand

CASES = json.loads((Path(__file__).parents[1] / "data" / "cases.json").read_text(encoding="utf-8"))
SOFTMAX = {case["id"]: case for case in CASES if case["area"] == "softmax"}
ROWS = [name for name, case in SOFTMAX.items() if case["input"]["op"] == "softmax_row"]
MMA = atom("mma.m16n8k16.bf16")
C = MMA.operand("C").ownership


def numbers(values: Any) -> Any:
    return numpy.array([float(value) for value in values], numpy.float32)


def one_row(x: Any, width: int) -> tuple[Ownership, Fragment]:
    """A lane-local tile whose every row is x."""
    ownership = lane_local(columns=width)
    return ownership, gather(numpy.tile(x, (32, 1)), ownership)


def run_row(x: Any, keep: Any, blocks: list[int], scale: float) -> tuple[Any, float, SoftmaxState]:
    """Probabilities and log-sum-exp of one row that arrives in blocks."""
    state, start = None, 0
    for width in blocks:
        ownership, scores = one_row(x[start : start + width], width)
        _, mask = one_row(keep[start : start + width], width)
        state = state or SoftmaxState(ownership, 1, scale)
        state = softmax_update(state, scores, mask).state
        start += width
    assert state is not None
    parts, start = [], 0
    for width in blocks:
        _, scores = one_row(x[start : start + width], width)
        _, mask = one_row(keep[start : start + width], width)
        parts.append(scatter(softmax_probabilities(scores, state, mask))[0])
        start += width
    return numpy.concatenate(parts), float(log_sum_exp(state).data[0, 0]), state


@pytest.mark.parametrize("name", ROWS)
def test_collected_rows(name: str) -> None:
    case = SOFTMAX[name]["input"]
    expected = SOFTMAX[name]["expected"]
    x = numbers(case["x"])
    keep = numpy.array(case.get("mask_keep", [True] * len(x)))
    for blocks in {(len(x),), tuple(case.get("blocks", [len(x)])), (1,) * len(x)}:
        weights, logarithm, _ = run_row(x, keep, list(blocks), case["scale"])
        assert numpy.allclose(
            weights, numbers(expected["p"]), rtol=1e-5, atol=1e-37, equal_nan=True
        )
        wanted = float(expected["lse"])
        assert logarithm == pytest.approx(wanted, rel=1e-6, abs=1e-6, nan_ok=True)


def state_of(lse: float) -> SoftmaxState:
    """A state with that log-sum-exp: one score of it, or none."""
    ownership, scores = one_row(numpy.full(1, lse, numpy.float32), 1)
    return softmax_update(SoftmaxState(ownership, 1), scores).state


@pytest.mark.parametrize("name", ["S11", "S14"])
def test_collected_merges(name: str) -> None:
    case, expected = SOFTMAX[name]["input"], SOFTMAX[name]["expected"]
    a, b = (state_of(float(case[each]["lse"])) for each in "ab")
    merged = softmax_merge(a, b)
    ownership = lane_local(columns=len(expected["o"]))
    first, second = (
        gather(numpy.tile(numbers(case[each]["o"]), (32, 1)), ownership) for each in "ab"
    )
    numerator = first.map(
        lambda o, p: o * merged.rescale.data + p * merged.other_rescale.data, second
    )
    assert scatter(softmax_normalize(numerator, merged.state))[0].tolist() == expected["o"]
    assert float(log_sum_exp(merged.state).data[0, 0]) == float(expected["lse"])


def test_bases_do_not_mix() -> None:
    """S12 and S13: a base-2 state enters no natural one; log-sum-exp is natural for both."""
    case, expected = SOFTMAX["S13"]["input"], SOFTMAX["S13"]["expected"]
    ownership, scores = one_row(numbers(case["x"]), 3)
    natural = softmax_update(SoftmaxState(ownership, 1), scores).state
    assert float(log_sum_exp(natural).data[0, 0]) == pytest.approx(expected["natural"], rel=1e-6)
    binary = softmax_update(SoftmaxState(ownership, 1, base=2), scores).state
    powers = math.log(sum(2.0**value for value in case["x"]))
    assert float(log_sum_exp(binary).data[0, 0]) == pytest.approx(powers, rel=1e-6)
    with pytest.raises(GenerationError, match="differ in base: scale 1, base 2 against"):
        softmax_merge(natural, binary)
    halves = SoftmaxState(ownership, 1, scale=0.5)
    with pytest.raises(GenerationError, match=r"differ in scale: scale 0\.5"):
        softmax_merge(natural, halves)


def test_the_suffix_keeps_its_share() -> None:
    """S12: 64 keys after 3072 equal ones weigh 64 / 3136."""
    states = []
    for count in (3072, 64):
        ownership, scores = one_row(numpy.zeros(count, numpy.float32), count)
        states.append(softmax_update(SoftmaxState(ownership, 1), scores).state)
    merged = softmax_merge(*states)
    share = merged.other_rescale.data * states[1].sum.data / merged.state.sum.data
    assert float(share[0, 0]) == pytest.approx(
        SOFTMAX["S12"]["expected"]["weight_suffix"], rel=1e-6
    )


@pytest.mark.parametrize("width", [1, 2, 257, 781, 1023])
def test_uniform_rows(width: int) -> None:
    """S16: every width, not only powers of two."""
    ownership, scores = one_row(numpy.full(width, 3.5, numpy.float32), width)
    state = softmax_update(SoftmaxState(ownership, 1), scores).state
    found = scatter(softmax_probabilities(scores, state))
    assert (found == numpy.float32(1) / numpy.float32(width)).all()
    assert float(state.sum.data[0, 0]) == width


def test_weights_rounded_to_bf16_stay_in_their_bound() -> None:
    """S21: the denominator stays float32."""
    import ml_dtypes

    case, expected = SOFTMAX["S21"]["input"], SOFTMAX["S21"]["expected"]
    ownership, scores = one_row(numbers(case["logits"]), 4)
    updated = softmax_update(SoftmaxState(ownership, 1), scores)
    rounded = updated.weights.data[0].astype(ml_dtypes.bfloat16).astype(numpy.float32)
    found = float((rounded * numbers(case["v"])).sum() / updated.state.sum.data[0, 0])
    assert found == pytest.approx(expected["unnormalised_bf16_p_over_f32_sum"], rel=1e-6)
    assert abs(found - 1) <= expected["bound"]


def test_two_zeros_into_an_empty_state() -> None:
    ownership, scores = one_row(numpy.zeros(2, numpy.float32), 2)
    updated = softmax_update(SoftmaxState(ownership, 1), scores)
    assert updated.state.maximum.data[0, 0] == 0
    assert updated.state.sum.data[0, 0] == 2
    assert updated.rescale.data[0, 0] == 0
    normalised = scatter(softmax_normalize(updated.weights, updated.state))
    assert normalised[0].tolist() == [0.5, 0.5]


@pytest.mark.parametrize("scale", [1.0, 0.0, 0.125])
def test_empty_states_and_empty_updates(scale: float) -> None:
    ownership, nothing = one_row(numpy.full(3, -math.inf, numpy.float32), 3)
    empty = SoftmaxState(ownership, 1, scale)
    updated = softmax_update(empty, nothing)
    assert (updated.state.maximum.data == -math.inf).all()
    for part in (updated.state.sum, updated.weights, updated.rescale):
        assert (part.data == 0).all()
    poison = Fragment(numpy.full((32, 3), math.nan, numpy.float32), ownership)
    assert (softmax_normalize(poison, updated.state).data == 0).all()
    assert (log_sum_exp(updated.state).data == -math.inf).all()
    merged = softmax_merge(empty, updated.state)
    assert (merged.rescale.data == 0).all()
    assert (merged.other_rescale.data == 0).all()
    _, some = one_row(numpy.array([1.0, -2.0, 7.0], numpy.float32), 3)
    filled = softmax_update(empty, some).state
    for after in (
        softmax_update(filled, nothing).state,
        softmax_merge(filled, empty).state,
        softmax_merge(empty, filled).state,
    ):
        assert (after.maximum.data == filled.maximum.data).all()
        assert (after.sum.data == filled.sum.data).all()
    assert (softmax_update(filled, nothing).rescale.data == 1).all()


@pytest.mark.parametrize("scale", [1.0, 0.0])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_nan_and_infinity_make_the_row_nan_for_good(bad: float, scale: float) -> None:
    ownership, some = one_row(numpy.array([1.0, 2.0], numpy.float32), 2)
    matrix = numpy.tile(numpy.array([1.0, 2.0], numpy.float32), (32, 1))
    matrix[5, 1] = bad
    matrix[6] = bad
    for before in (SoftmaxState(ownership, 1, scale),):
        state = softmax_update(before, gather(matrix, ownership)).state
        for _ in range(2):
            assert numpy.isnan(scatter(state.sum)[5:7]).all()
            assert numpy.isnan(scatter(log_sum_exp(state))[5:7]).all()
            assert numpy.isnan(scatter(softmax_normalize(some, state))[5:7]).all()
            assert numpy.isfinite(scatter(state.sum)[:5]).all()
            updated = softmax_update(state, some)
            assert numpy.isnan(scatter(updated.weights)[5:7]).all()
            assert numpy.isnan(scatter(updated.rescale)[5:7]).all()
            state = softmax_merge(updated.state, SoftmaxState(ownership, 1, scale)).state
    kept = gather(numpy.isfinite(matrix), ownership)
    masked = softmax_update(SoftmaxState(ownership, 1, scale), gather(matrix, ownership), kept)
    assert not numpy.isnan(masked.state.sum.data).any()
    assert scatter(masked.state.sum)[6] == 0


def test_scores_at_the_ends_of_the_range() -> None:
    largest = float(numpy.finfo(numpy.float32).max)
    for scale in (1.0, 0.0, 2.0**-99, 2.0**99):
        ownership, scores = one_row(numpy.array([largest, -largest], numpy.float32), 2)
        updated = softmax_update(SoftmaxState(ownership, 1, scale), scores)
        assert updated.weights.data[0].tolist() == ([1.0, 1.0] if scale == 0 else [1.0, 0.0])
    _, low = one_row(numpy.full(2, -largest, numpy.float32), 2)
    updated = softmax_update(SoftmaxState(ownership, 1), low)
    assert updated.weights.data[0].tolist() == [1.0, 1.0]
    assert float(log_sum_exp(updated.state).data[0, 0]) == -largest


@pytest.mark.parametrize(
    ("scale", "base", "part"),
    [
        (-1.0, "e", "scale -1.0 is negative; negate the scores"),
        (math.nan, "e", "not finite"),
        (math.inf, "e", "not finite"),
        (2.0**-101, "e", "factor of the exponent"),
        (2.0**101, "e", "factor of the exponent"),
        (1e-300, "e", "factor of the exponent"),
        (1e300, "e", "factor of the exponent"),
        (True, "e", "is no number"),
        ("1", "e", "is no number"),
        (None, "e", "is no number"),
        (10**400, "e", "is no number"),
        (1.0, 10, "base 10"),
        (1.0, True, "base True"),
        (1.0, [], "base"),
    ],
)
def test_scales_and_bases_that_are_refused(scale: Any, base: Any, part: str) -> None:
    with pytest.raises(GenerationError, match=part):
        SoftmaxState(C, 1, scale, base)


REDUCED = {
    "M decomposition": (
        lambda: softmax_update(SoftmaxState(C, 1), zeros(tile_operand(MMA, "C", m=2))),
        "M decomposition: 32 of m, not 16 of m",
    ),
    "M warps": (
        lambda: softmax_update(
            SoftmaxState(tile_operand(MMA, "C", m=2), 1),
            zeros(tile_operand(MMA, "C", warps_m=2)),
        ),
        "M decomposition",
    ),
    "lane-local against warp": (
        lambda: softmax_update(SoftmaxState(lane_local(columns=4), 1), zeros(row_tile(vector=4))),
        "warp against lane-local",
    ),
    "several N warps": (
        lambda: SoftmaxState(tile_operand(MMA, "C", warps_n=2), 1),
        "warps 0, 1 hold parts",
    ),
    "N warps of an output": (
        lambda: softmax_normalize(zeros(tile_operand(MMA, "C", warps_n=2)), SoftmaxState(C, 1)),
        "warps 0, 1 hold parts",
    ),
    "merge across axes": (
        lambda: softmax_merge(SoftmaxState(C, 0), SoftmaxState(C, 1)),
        r"axis: 1 \(n\) is reduced, not 0 \(m\)",
    ),
    "a foreign reduction": (
        lambda: softmax_merge_lanes(SoftmaxState(C, 1), reduction(lane_local(columns=4), 1)),
        "not one of the state's own ownership",
    ),
}


def zeros(ownership: Ownership) -> Fragment:
    shape: Any = ownership.shape
    return gather(numpy.zeros(shape, numpy.float32), ownership)


@pytest.mark.parametrize("label", REDUCED)
def test_what_does_not_share_a_state_is_refused_with_the_part_that_differs(label: str) -> None:
    attempt, part = REDUCED[label]
    with pytest.raises(OwnershipError, match=part):
        attempt()


def test_scores_of_32_columns_and_an_output_of_64_share_a_state() -> None:
    scores, output = (tile_operand(MMA, "C", m=2, n=n, warps_m=2) for n in (4, 8))
    state = softmax_update(SoftmaxState(scores, 1), zeros(scores)).state
    normalised = softmax_normalize(zeros(output), state)
    assert normalised.ownership == output


def test_other_refusals() -> None:
    state, fragment = SoftmaxState(C, 1), zeros(C)
    attempts: list[tuple[Any, type[TyloError], str]] = [
        (lambda: softmax_update(state, Pending(fragment)), PendingError, "still writing"),
        (lambda: SoftmaxState(Pending(fragment), 1), PendingError, "still writing"),
        (lambda: SoftmaxState([1.0], 1), GenerationError, "a state of a list"),
        (lambda: SoftmaxState(C, 2), OwnershipError, "no axis 2"),
        (lambda: softmax_update(C, fragment), GenerationError, "no SoftmaxState"),
        (lambda: softmax_update(state, fragment, fragment), GenerationError, "mask is float32"),
        (lambda: softmax_update(state, fragment, 1), GenerationError, "mask is int"),
        (
            lambda: softmax_update(
                state, fragment, Fragment(numpy.ones((32, 2), bool), lane_local(columns=2))
            ),
            OwnershipError,
            "different ownerships",
        ),
        (
            lambda: softmax_update(state, Fragment(fragment.data.astype(numpy.float16), C)),
            GenerationError,
            "holds float16",
        ),
        (
            lambda: SoftmaxState.of(state.type, numpy.zeros((32, 2)), numpy.zeros((32, 2))),
            GenerationError,
            "holds float64",
        ),
    ]
    for attempt, error, part in attempts:
        with pytest.raises(error, match=part):
            attempt()


def test_lanes_merge_only_when_asked() -> None:
    """Four values a lane, whatever the width: each lane streams, then lanes become one row."""
    streams = Ownership.of(
        axes={"row": 1, "lane": 32, "column": 4},
        values={"value": [(4, "column", 1)]},
        threads={"lane": [(32, "lane", 1)]},
        bits=32,
    )
    random = numpy.random.default_rng(3)
    row = (random.normal(size=(1, 6, 32, 4)) * 9).astype(numpy.float32)
    row[0, :, 7] = -math.inf
    state = SoftmaxState(streams, 2)
    for step in range(6):
        state = softmax_update(state, gather(row[:, step], streams)).state
    merged, rescale = softmax_merge_lanes(state, reduction(state.type.reduced, 1))
    maxima, sums, _, _ = softmax_rows(row.reshape(1, -1))
    assert (merged.maximum.data == maxima[0]).all()
    assert numpy.abs(merged.sum.data - sums[0]).max() <= sums[0] * sum_bound(row.size, 7, 7)
    assert (scatter(rescale)[0, 7] == 0).all()
    with pytest.raises(OwnershipError, match="do not share the state"):
        softmax_update(state, gather(row[0, :1, :, :], reshaped()))


def reshaped() -> Ownership:
    return Ownership.of(
        axes={"row": 1, "lane": 32, "column": 4},
        values={"value": [(4, "column", 1)]},
        threads={"lane": [(2, "lane", 16), (16, "lane", 1)]},
        bits=32,
    )


def test_batches_carry_over() -> None:
    random = numpy.random.default_rng(4)
    batch = gather(random.normal(size=(3, 16, 8)).astype(numpy.float32), C)
    together = softmax_update(SoftmaxState(batch, 1), batch).state
    alone = softmax_update(SoftmaxState(C, 1), Fragment(batch.data[2], C)).state
    assert (together.sum.data[2] == alone.sum.data).all()
    assert together.axis == 1
