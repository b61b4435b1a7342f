"""The lane programs that the kernels add to the state, read on numpy, against the state itself."""

from __future__ import annotations

import numpy as np

from tylo.codegen.lane_programs.numpy_reading import run
from tylo.codegen.rounding import rounded_bits
from tylo.proofs.lane_programs.exponent import Exponent
from tylo.proofs.lane_programs.rows import Rows
from tylo.proofs.lane_programs.softmax import normalize, update
from tylo.proofs.lane_programs.softmax_rows import (
    add_weights,
    enter,
    enter_alone,
    raise_by_words,
    raise_maximum,
    share,
)

INFINITY = np.float32(np.inf)


def column(*values: float) -> np.ndarray:
    return np.array(values, np.float32).reshape(1, -1)


def test_a_share_is_the_probability() -> None:
    scores, part, whole = column(1.0, -2.0, -INFINITY), column(1.0), column(3.0)
    weights = np.exp(scores - part)
    found = run(
        share(3, Exponent()), weights=weights, part_maximum=part, maximum=whole, sum=column(4.0)
    )["weights"]
    np.testing.assert_allclose(found, np.exp(scores - whole) / 4, rtol=1e-6)


def test_a_share_of_nothing_and_of_nan() -> None:
    nothing = run(
        share(1, Exponent()),
        weights=column(0.0),
        part_maximum=column(-INFINITY),
        maximum=column(-INFINITY),
        sum=column(0.0),
    )["weights"]
    assert nothing.tolist() == [[0.0]]
    bad = run(
        share(1, Exponent()),
        weights=column(0.5),
        part_maximum=column(1.0),
        maximum=column(INFINITY),
        sum=column(2.0),
    )["weights"]
    assert np.isnan(bad).all()


def test_the_greatest_of_words_is_that_of_their_scores() -> None:
    generator = np.random.default_rng(4)
    for dtype in ("bf16", "f16"):
        scores = generator.normal(0, 50, (32, 8)).astype(np.float32)
        scores[3, 2], scores[4, 5] = np.nan, -INFINITY
        halves = rounded_bits(scores, dtype).astype(np.uint32)
        words = halves[:, 0::2] | halves[:, 1::2] << 16
        old = np.full((32, 1), -INFINITY, np.float32)
        packed = run(raise_by_words(4, dtype), words=words, maximum=old)["maximum"]
        shift = 16 if dtype == "bf16" else 0
        exact = (
            (halves << shift).astype(np.uint32).view(np.float32)
            if dtype == "bf16"
            else halves.astype(np.uint16).view(np.float16).astype(np.float32)
        )
        plain = run(raise_maximum(8), scores=exact, maximum=old)["maximum"]
        np.testing.assert_array_equal(packed, plain)


def test_weights_add_up_to_the_state_of_all_chunks() -> None:
    scores = column(0.5, -1.0, 2.0, -INFINITY)
    greatest = column(-INFINITY)
    for at in (0, 2):
        held = scores[:, at : at + 2]
        greatest = run(raise_maximum(2), scores=held, maximum=greatest)["maximum"]
    total = column(0.0)
    for at in (0, 2):
        held = scores[:, at : at + 2]
        total = run(add_weights(2, Exponent()), scores=held, maximum=greatest, sum=total)["sum"]
    assert greatest.tolist() == [[2.0]]
    np.testing.assert_allclose(total, [[np.exp(-1.5) + np.exp(-3) + 1]], rtol=1e-6)


def entered(rows: Rows, scores: np.ndarray) -> dict[str, np.ndarray]:
    """What the update of the empty state gives, and the probabilities after it."""
    threads = scores.shape[:-1]
    nothing = np.full((*threads, rows.results), -INFINITY), np.zeros((*threads, rows.results))
    state = {"maximum": nothing[0].astype(np.float32), "sum": nothing[1].astype(np.float32)}
    found = run(update(rows, Exponent()), scores=scores, **state)
    normal = run(normalize(rows), output=found["weights"], sum=found["sum"])
    return {**found, "normal": normal["output"]}


def test_rows_that_enter_at_once_are_the_update_of_the_empty_state() -> None:
    rows = Rows(groups=((0, 2), (1, 3)), masks=(), row_of=(0, 1, 0, 1))
    scores = np.random.default_rng(8).normal(0, 20, (32, 4)).astype(np.float32)
    scores[0], scores[1, 1], scores[2, 2], scores[3, :3] = -INFINITY, np.nan, INFINITY, -INFINITY
    wanted, found = entered(rows, scores), run(enter(rows, Exponent()), scores=scores)
    for each in ("maximum", "sum", "weights"):
        np.testing.assert_array_equal(found[each], wanted[each])


def test_a_column_alone_is_the_update_for_every_16_bit_score() -> None:
    one = Rows(groups=((0,),), masks=(), row_of=(0,))
    halves = np.arange(1 << 16, dtype=np.uint32)
    for scores in ((halves << 16).view(np.float32), halves.astype(np.uint16).view(np.float16)):
        given = scores.astype(np.float32).reshape(-1, 1)
        wanted, found = entered(one, given), run(enter_alone(1), scores=given)
        for each in ("maximum", "sum"):
            np.testing.assert_array_equal(found[each], wanted[each])
        np.testing.assert_array_equal(found["weights"], wanted["normal"])
