"""Combining the values of a row: in the lane first, then over lane bits.

The schedule is that of a `Reduction`: the values that one result combines, in order, pairwise and
then pairs pairwise (so that an error grows with the logarithm of their number, and instructions do
not wait for each other), then one shuffle for each mask. Afterwards every lane whose number differs
only in the masks' bits holds the same result, to the bit: both partners of a round combine the same
two values, and addition and maximum do not depend on the order of two operands.

>>> from tylo.proofs.lane_programs.expression import register
>>> total = combine("add", [register("x", index) for index in range(3)], masks=(2, 1))
>>> total.operator, total.operands[1].operator, total.operands[1].detail
('add', 'shuffle', (1,))
"""

from __future__ import annotations

from collections.abc import Sequence

from tylo.layouts.errors import GenerationError
from tylo.proofs.lane_programs.expression import Expression, operation, shuffle


def combine(operator: str, values: Sequence[Expression], masks: Sequence[int]) -> Expression:
    """`operator` over `values` of this lane and of the lanes that `masks` reach."""
    if not values:
        raise GenerationError("nothing to combine", hint="a result combines one value at least")
    level = list(values)
    while len(level) > 1:
        pairs = zip(level[0::2], level[1::2], strict=False)
        last = level[len(level) // 2 * 2 :]
        level = [operation(operator, left, right) for left, right in pairs] + last
    (result,) = level
    for mask in masks:
        result = operation(operator, result, shuffle(result, mask))
    return result
