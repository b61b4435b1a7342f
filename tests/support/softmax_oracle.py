"""Softmax in float64 from its definition, and the error that the documentation allows for.

Nothing of Tylo is used here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

UNIT = 2.0**-24


def softmax_rows(
    scores: Any, keep: Any = None, scale: float = 1.0, base: float = math.e
) -> tuple[Any, Any, Any, Any]:
    """Maximum, sum of powers under it, probabilities and natural log-sum-exp of each row."""
    x = numpy.asarray(scores, numpy.float64)
    kept = numpy.ones(x.shape, bool) if keep is None else numpy.asarray(keep)
    kept = kept & (x != -math.inf)
    maxima, sums, logarithms = (numpy.empty(x.shape[:-1]) for _ in range(3))
    probabilities = numpy.zeros(x.shape)
    for row in numpy.ndindex(x.shape[:-1]):
        values = x[row][kept[row]]
        if not len(values):
            maxima[row], sums[row], logarithms[row] = -math.inf, 0.0, -math.inf
        elif numpy.isnan(values).any() or math.inf in values:
            maxima[row] = math.nan if numpy.isnan(values).any() else math.inf
            sums[row] = logarithms[row] = math.nan
            probabilities[row] = math.nan
        else:
            top = maxima[row] = values.max()
            powers = numpy.exp((values - top) * (scale * math.log(base)))
            sums[row] = math.fsum(powers)
            probabilities[row][kept[row]] = powers / sums[row]
            logarithms[row] = top * (scale * math.log(base)) + math.log(sums[row])
    return maxima, sums, probabilities, logarithms


def sum_bound(count: int, steps: int, height: int) -> float:
    """The relative error of the sum of `count` scores, after `steps` updates or merges."""
    return (2.1 * math.log2(max(count, 1)) + 6 * steps + height + 5) * UNIT


def weight_bound(exponent: Any) -> Any:
    """The relative error of a weight ``2 ** exponent``."""
    return (2.1 * numpy.abs(exponent) + 4) * UNIT


def logarithm_bound(maximum: Any, total: Any, scale: float, relative: float) -> Any:
    """The error of a log-sum-exp whose sum is off by `relative`."""
    offset = numpy.abs(maximum) * scale
    logarithm = numpy.maximum(1.0, numpy.log2(numpy.maximum(total, 1.0)))
    return 3 * offset * UNIT + 6 * logarithm * UNIT + 1.01 * relative
