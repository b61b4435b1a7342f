"""The online softmax as lane programs: update, weights, normalisation, merging, log-sum-exp.

A state is a maximum m and a sum l for each row; (-inf, 0) is empty. With scores x:

    m' = max(m, max x)            r  = reference(m')
    p  = ex2((x - r) * c)         a  = ex2((m - r) * c)         l' = a * l + sum p

The reference is m' where that is finite, 0 where it is -inf (nothing was kept yet), and NaN where
it is +inf or NaN. So no difference of two infinities is evaluated: the operands are selected, not
the result. For a finite m' every argument is at most 0, the greatest score weighs ex2(0) = 1, and
l' is at least 1; a masked score, -inf, weighs 0; a row that met +inf or NaN is NaN from then on,
and never looks empty.

>>> program = update(Rows(groups=((0, 1),), masks=(), row_of=(0, 0)), Exponent(1))
>>> [each.name for each in program.inputs], list(program.outputs)
(['scores', 'maximum', 'sum'], ['maximum', 'sum', 'weights', 'rescale'])

These graphs are what `tylo.proofs.specifications.softmax_state` proves statements about, what the
numpy reading runs, and what is printed as CUDA.
"""

from __future__ import annotations

import math

from tylo.proofs.lane_programs.combine import combine_rows
from tylo.proofs.lane_programs.exponent import Exponent
from tylo.proofs.lane_programs.expression import (
    Expression,
    constant,
    float32,
    operation,
    select,
)
from tylo.proofs.lane_programs.program import Array, LaneProgram
from tylo.proofs.lane_programs.rows import Rows

MINUS_INFINITY, INFINITY = constant(-math.inf), constant(math.inf)
ZERO, ONE, NAN = constant(0.0), constant(1.0), constant(math.nan)
_LN2 = constant(float32(math.log(2)))


def reference(maximum: Expression) -> Expression:
    """What is subtracted from scores under `maximum`: finite, or NaN for a row that is NaN."""
    empty = operation("equal", maximum, MINUS_INFINITY)
    finite = operation("select", empty, ZERO, maximum, label="finite")
    return operation("select", maximum < INFINITY, finite, NAN, label="reference")


def weight(score: Expression, under: Expression, exponent: Exponent) -> Expression:
    """The power that `score` weighs under the reference."""
    if exponent.factor == 0:
        # 0 for a masked score, else 1, and NaN under NaN; r - r is of a finite number or NaN.
        nothing = under - under
        return select(operation("equal", score, MINUS_INFINITY), nothing, nothing + ONE)
    argument = score - under
    if exponent.factor != 1:
        argument = argument * constant(exponent.factor)
    return operation("ex2", argument)


def update(rows: Rows, exponent: Exponent, *, masked: bool = False) -> LaneProgram:
    """A tile of scores enters the state; `masked` adds an array of Booleans, true = keep."""
    scores = Array("scores", "f32", rows.values)
    keep = Array("keep", "bool", rows.values)
    state = Array("maximum", "f32", rows.results), Array("sum", "f32", rows.results)
    values = scores.registers()
    if masked:
        # Selected before anything is computed, so that what stands under a mask does not matter.
        pairs = zip(keep.registers(), values, strict=True)
        values = tuple(select(each, value, MINUS_INFINITY) for each, value in pairs)
    maxima, sums, references, rescales, weights = [], [], [], [], list(values)
    for old, tile in zip(state[0].registers(), combine_rows("maximum", values, rows), strict=True):
        maxima.append(operation("maximum", old, tile))
        references.append(reference(maxima[-1]))
        rescales.append(weight(old, references[-1], exponent))
    for value, row in enumerate(rows.row_of):
        weights[value] = weight(values[value], references[row], exponent)
    tiles = combine_rows("add", weights, rows)
    for rescale, old, tile in zip(rescales, state[1].registers(), tiles, strict=True):
        sums.append(operation("fma", rescale, old, tile))
    return LaneProgram(
        "A tile of scores enters the state: its weights, and the factor for what was accumulated "
        "before.",
        inputs=(scores, *([keep] if masked else []), *state),
        outputs={
            "maximum": tuple(maxima),
            "sum": tuple(sums),
            "weights": tuple(weights),
            "rescale": tuple(rescales),
        },
    )


def inverse(sum: Expression) -> tuple[Expression, Expression]:
    """Whether the row is empty, and the reciprocal of its sum (of 1, where it is)."""
    empty = operation("equal", sum, ZERO)
    return empty, operation("reciprocal", select(empty, ONE, sum))


def normalize(rows: Rows) -> LaneProgram:
    """Divides what was accumulated by the sums; an empty row gives zeros."""
    output = Array("output", "f32", rows.values)
    sums = Array("sum", "f32", rows.results)
    factors = [inverse(each) for each in sums.registers()]
    results = []
    for value, row in zip(output.registers(), rows.row_of, strict=True):
        empty, factor = factors[row]
        results.append(select(empty, ZERO, value) * factor)
    return LaneProgram(
        "What was accumulated, divided by the sums; an empty row gives zeros.",
        inputs=(output, sums),
        outputs={"output": tuple(results)},
    )


def probabilities(rows: Rows, exponent: Exponent, *, masked: bool = False) -> LaneProgram:
    """Normalised weights of scores that the state has already seen."""
    scores = Array("scores", "f32", rows.values)
    keep = Array("keep", "bool", rows.values)
    state = Array("maximum", "f32", rows.results), Array("sum", "f32", rows.results)
    values = scores.registers()
    if masked:
        pairs = zip(keep.registers(), values, strict=True)
        values = tuple(select(each, value, MINUS_INFINITY) for each, value in pairs)
    references = [reference(each) for each in state[0].registers()]
    factors = [inverse(each)[1] for each in state[1].registers()]
    return LaneProgram(
        "Normalised weights of scores that the state has already seen.",
        inputs=(scores, *([keep] if masked else []), *state),
        outputs={
            "probabilities": tuple(
                weight(value, references[row], exponent) * factors[row]
                for value, row in zip(values, rows.row_of, strict=True)
            )
        },
    )


def merge(results: int, exponent: Exponent) -> LaneProgram:
    """Two states of the same rows become one; the factors are for what each accumulated."""
    state = Array("maximum", "f32", results), Array("sum", "f32", results)
    other = Array("other_maximum", "f32", results), Array("other_sum", "f32", results)
    outputs: dict[str, list[Expression]] = {
        name: [] for name in ("maximum", "sum", "rescale", "other_rescale")
    }
    for row in range(results):
        (m, total), (n, other_total) = (
            [array.registers()[row] for array in arrays] for arrays in (state, other)
        )
        both = operation("maximum", m, n)
        under = reference(both)
        left, right = weight(m, under, exponent), weight(n, under, exponent)
        for name, result in zip(
            outputs, (both, left * total + right * other_total, left, right), strict=True
        ):
            outputs[name].append(result)
    return LaneProgram(
        "Two states become one; each numerator is multiplied by its own factor.",
        inputs=(*state, *other),
        outputs={name: tuple(each) for name, each in outputs.items()},
    )


def merge_lanes(rows: Rows, exponent: Exponent) -> LaneProgram:
    """Partial states, one in each register of each lane, become one state for each row.

    The reduction is one of the partial states' own ownership. The maximum goes first, so that each
    sum is rescaled once.
    """
    parts = Array("part_maximum", "f32", rows.values), Array("part_sum", "f32", rows.values)
    maxima, sums = parts[0].registers(), parts[1].registers()
    totals = combine_rows("maximum", maxima, rows)
    references = [reference(total) for total in totals]
    rescales = [
        weight(each, references[row], exponent)
        for each, row in zip(maxima, rows.row_of, strict=True)
    ]
    return LaneProgram(
        "Partial states of lanes and registers become one state for each row.",
        inputs=parts,
        outputs={
            "maximum": totals,
            "sum": combine_rows(
                "add", [each * total for each, total in zip(rescales, sums, strict=True)], rows
            ),
            "rescale": tuple(rescales),
        },
    )


def log_sum_exp(results: int, exponent: Exponent) -> LaneProgram:
    """The natural logarithm of the sum of powers of what was kept; -inf where nothing was."""
    state = Array("maximum", "f32", results), Array("sum", "f32", results)
    logarithms = []
    for m, total in zip(state[0].registers(), state[1].registers(), strict=True):
        empty = operation("equal", m, MINUS_INFINITY)
        logarithm = operation("lg2", select(empty, ONE, total))
        offset = reference(m) * constant(exponent.natural)
        logarithms.append(select(empty, MINUS_INFINITY, operation("fma", logarithm, _LN2, offset)))
    return LaneProgram(
        "The natural logarithm of the sum of powers; -inf for an empty row.",
        inputs=state,
        outputs={"log_sum_exp": tuple(logarithms)},
    )


def reduce(rows: Rows, operator: str, result: str) -> LaneProgram:
    """`add` or `maximum` over the reduced axis."""
    values = Array("values", "f32", rows.values)
    held = values.registers()
    return LaneProgram(
        f"The {result} of each row, in every lane that shares it.",
        inputs=(values,),
        outputs={result: combine_rows(operator, held, rows)},
    )
