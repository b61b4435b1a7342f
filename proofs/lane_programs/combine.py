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
from tylo.proofs.lane_programs.expression import Expression, operation, part, shuffle
from tylo.proofs.lane_programs.rows import Rows


def combine_rows(operator: str, values: Sequence[Expression], rows: Rows) -> tuple[Expression, ...]:
    """`operator` over each row: the lane's values, then lanes, then the parts of other warps.

    Parts combine pairwise in their own order, which is the same in every warp.
    """
    inside = [
        combine(operator, [values[value] for value in group], rows.masks) for group in rows.groups
    ]
    if rows.parts == 1:
        return tuple(inside)
    return tuple(
        combine(operator, [part(inside, row, number) for number in range(rows.parts)], ())
        for row in range(rows.results)
    )


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
