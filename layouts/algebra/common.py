"""What two layouts have in common from offset 0 on: how wide a copy between them can be.

Rule: `V = max_common_layout(A, B)` has `A(V(i)) == B(V(i)) == i` for every `i < size(V)`: the
first `size(V)` offsets hold the same elements in both.

>>> from tylo.layouts.layout import Layout
>>> a, b = Layout((2, 2, 8), (1, 4, 8)), Layout((2, 2, 8), (1, 4, 16))
>>> print(max_common_layout(a, b), max_common_vector(a, b))
2:1 2
>>> max_common_vector(Layout((8, 8), (8, 1)), Layout((8, 8), (8, 1)))
64
"""

from __future__ import annotations

from tylo.layouts.algebra.breaks import first_difference, slope_and_breaks, straight_run
from tylo.layouts.algebra.coalesce import from_modes, merged
from tylo.layouts.algebra.inverse import right_inverse
from tylo.layouts.int_tuple import flatten
from tylo.layouts.layout import Layout, require_numbers


def max_common_layout(a: Layout, b: Layout) -> Layout:
    """The indices of the longest common run of offsets that the right inverse of `B` walks.

    Modes of the inverse are taken while `A` steps by the same amount along them and adds up over
    them; the last may be taken in part.
    """
    require_numbers("max_common_layout", a, b)
    walk = right_inverse(b)
    slope, breaks = slope_and_breaks(flatten(a.shape), flatten(a.stride))
    shape: list[int] = []
    steps: list[int] = []
    covered = 1
    last = a.size() - 1  # indices past the end of A hold nothing, though A runs on there
    for extent, step in zip(flatten(walk.shape), flatten(walk.stride), strict=True):
        offset = slope * step + sum(jump * (step // position) for position, jump in breaks)
        if offset != covered:
            break
        run = straight_run(breaks, step, min(extent, last // step + 1))
        if first_difference(breaks, [*steps, step], [*shape, run]) is not None:
            break
        shape.append(run)
        steps.append(step)
        covered *= run
        last -= (run - 1) * step
        if run != extent:
            break
    return from_modes(*merged(shape, steps))


def max_common_vector(a: Layout, b: Layout) -> int:
    """How many elements from offset 0 on are the same in both: `size(max_common_layout(A, B))`."""
    return int(max_common_layout(a, b).size())
