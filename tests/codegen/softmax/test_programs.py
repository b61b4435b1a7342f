"""The lane programs that the kernels add to the state, read on numpy, against the state itself."""

from __future__ import annotations

import numpy as np

from tylo.codegen.lane_programs.numpy_reading import run
from tylo.codegen.rounding import rounded_bits
from tylo.proofs.lane_programs.exponent import Exponent
from tylo.proofs.lane_programs.softmax_rows import (
    add_weights,
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
