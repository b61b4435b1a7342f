"""What the softmax kernels add to the online state: weights of a part become probabilities.

Warps that hold parts of one row each weigh their scores under their own maximum n, because a warp
knows it without waiting for the others. Once the maximum m and the sum l of the whole row are
known, a weight ex2((x - n) * c) is multiplied by

    ex2((n - reference(m)) * c) / l

which gives the probability: the invariance of a softmax in its reference, proven of the state. A
part in which nothing was kept has weights 0 and the factor ex2(-inf) = 0; a row that met NaN or
+inf has the reference NaN, and so has every factor of it.

>>> [each.name for each in share(2, Exponent()).inputs]
['weights', 'part_maximum', 'maximum', 'sum']

A kernel that reads a row once more for its sum has the maximum before: `raise_maximum` and
`add_weights` take the steps of the online update apart. From the empty state, all chunks together,
they are that update: the old maximum is -inf, so that nothing is rescaled. The same holds of rows
that enter all at once (`enter`); and the only column of a row needs no power (`enter_alone`).
"""

from __future__ import annotations

from tylo.proofs.lane_programs.combine import combine, combine_rows
from tylo.proofs.lane_programs.exponent import Exponent
from tylo.proofs.lane_programs.expression import operation, select
from tylo.proofs.lane_programs.program import Array, LaneProgram
from tylo.proofs.lane_programs.rows import Rows
from tylo.proofs.lane_programs.softmax import (
    MINUS_INFINITY,
    ONE,
    ZERO,
    inverse,
    reference,
    weight,
)


def share(values: int, exponent: Exponent) -> LaneProgram:
    """The weights of a part, all of one row, times what turns them into probabilities."""
    weights = Array("weights", "f32", values)
    part, maximum, total = (Array(each, "f32", 1) for each in ("part_maximum", "maximum", "sum"))
    (under_part,), (whole,), (sum_,) = (each.registers() for each in (part, maximum, total))
    factor = weight(under_part, reference(whole), exponent) * inverse(sum_)[1]
    return LaneProgram(
        "Weights under a part's own maximum become probabilities of the whole row.",
        inputs=(weights, part, maximum, total),
        outputs={"weights": tuple(each * factor for each in weights.registers())},
    )


def enter(rows: Rows, exponent: Exponent) -> LaneProgram:
    """Whole rows enter the empty state: the update without what was there before."""
    scores = Array("scores", "f32", rows.values)
    held = scores.registers()
    maxima = combine_rows("maximum", held, rows)
    under = [reference(each) for each in maxima]
    weights = tuple(
        weight(each, under[row], exponent) for each, row in zip(held, rows.row_of, strict=True)
    )
    return LaneProgram(
        "Whole rows enter the empty state.",
        inputs=(scores,),
        outputs={
            "maximum": maxima,
            "sum": combine_rows("add", weights, rows),
            "weights": weights,
        },
    )


def enter_alone(values: int) -> LaneProgram:
    """Rows of one column enter the empty state: weight and sum are 1, or 0 for -inf, or NaN.

    What is subtracted from itself is 0, or NaN for +inf and NaN. The weight is the probability.
    """
    scores = Array("scores", "f32", values)
    held = scores.registers()
    weights = []
    for score in held:
        empty = operation("equal", score, MINUS_INFINITY)
        finite = select(empty, ZERO, score)
        weights.append(select(empty, ZERO, finite - finite + ONE))
    return LaneProgram(
        "Rows of one column enter the empty state, and are normalised.",
        inputs=(scores,),
        outputs={"maximum": tuple(held), "sum": tuple(weights), "weights": tuple(weights)},
    )


def raise_maximum(values: int) -> LaneProgram:
    """The maximum of the scores that a lane has seen; NaN where one was."""
    scores, maximum = Array("scores", "f32", values), Array("maximum", "f32", 1)
    (old,) = maximum.registers()
    return LaneProgram(
        "The greatest score so far.",
        inputs=(scores, maximum),
        outputs={
            "maximum": (operation("maximum", old, combine("maximum", scores.registers(), ())),)
        },
    )


def raise_by_words(words: int, dtype: str) -> LaneProgram:
    """The same from packed 16-bit scores, two at a time: the greatest is the same number."""
    packed, maximum = Array("words", "b32", words), Array("maximum", "f32", 1)
    (old,) = maximum.registers()
    both = combine(f"maximum_{dtype}", packed.registers(), ())
    halves = [operation(f"{half}_{dtype}", both) for half in ("low", "high")]
    return LaneProgram(
        "The greatest score so far, of packed scores.",
        inputs=(packed, maximum),
        outputs={"maximum": (operation("maximum", old, operation("maximum", *halves)),)},
    )


def add_weights(values: int, exponent: Exponent) -> LaneProgram:
    """The sum of a lane's weights so far, under a maximum that is known already."""
    scores = Array("scores", "f32", values)
    maximum, total = Array("maximum", "f32", 1), Array("sum", "f32", 1)
    under = reference(maximum.registers()[0])
    weights = [weight(each, under, exponent) for each in scores.registers()]
    (old,) = total.registers()
    return LaneProgram(
        "The sum of weights so far, under a maximum that is known already.",
        inputs=(scores, maximum, total),
        outputs={"sum": (old + combine("add", weights, ()),)},
    )
