"""Faults planted in the functions that all softmax programs are built of."""

from __future__ import annotations

import math
from typing import Any

from tylo.proofs.lane_programs import softmax
from tylo.proofs.lane_programs.exponent import Exponent
from tylo.proofs.lane_programs.expression import constant, operation


def no_guard(maximum: Any) -> Any:
    """The maximum itself as reference: -inf - -inf in an empty row."""
    return maximum


def half_a_guard(maximum: Any) -> Any:
    """Only emptiness is guarded: inf - inf under +inf."""
    empty = operation("equal", maximum, constant(-math.inf))
    return softmax.select(empty, constant(0.0), maximum)


def wrong_way(score: Any, under: Any, exponent: Exponent) -> Any:
    """Reference minus score: the exponent's sign is wrong."""
    return operation("ex2", (under - score) * constant(exponent.factor))


def on_the_result(score: Any, under: Any, exponent: Exponent) -> Any:
    """The weight of a masked score is set afterwards, when the difference has been evaluated."""
    right = operation("ex2", (score - under) * constant(exponent.factor))
    return softmax.select(operation("equal", score, constant(-math.inf)), constant(0.0), right)


def plain_product(score: Any, under: Any, exponent: Exponent) -> Any:
    """Scale zero as a product: 0 * inf under a mask."""
    return operation("ex2", (score - under) * constant(exponent.factor))


def finite_sentinel(score: Any, under: Any, exponent: Exponent) -> Any:
    """A finite number in place of -inf as what a masked score and an empty state are."""
    lowest = constant(-3.0e4 * 2)
    replaced = softmax.select(operation("equal", score, constant(-math.inf)), lowest, score)
    return operation("ex2", (replaced - under) * constant(exponent.factor))
