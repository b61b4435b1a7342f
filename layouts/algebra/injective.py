"""Injectivity: whether two coordinates of a layout share an offset.

With modes sorted by the size of their stride, a layout whose every stride exceeds the sum of all
smaller steps, `|d_i| > sum over j < i of (n_j - 1)*|d_j|`, is injective; compact, padded and tiled
layouts all are of this kind, and the test is one pass. Otherwise the question is whether
`sum x_i*d_i == 0` has a solution with `|x_i| < n_i` that is not all zero: a collision's difference.
Search fixes the largest strides first, and keeps only values from which the smaller strides can
still return to 0, by reach and by common divisor.

>>> from tylo.layouts.layout import Layout
>>> collision(Layout((4, 3), (1, 5))) is None
True
>>> collision(Layout((2, 3), (2, 2)))
((1, 0), (0, 1))
"""

from __future__ import annotations

from itertools import accumulate, combinations
from math import gcd
from typing import Any

from tylo.layouts.errors import Undecided
from tylo.layouts.int_tuple import flatten, unflatten
from tylo.layouts.layout import Layout, require_numbers

SEARCH_STEPS = 100_000


def is_injective(layout: Layout) -> bool:
    """Whether distinct coordinates have distinct offsets.

    >>> from tylo.layouts.layout import Layout
    >>> is_injective(Layout((4, 3), (8, 0))), is_injective(Layout((2, 2), (2, 3)))
    (False, True)
    """
    return collision(layout) is None


def collision(layout: Layout, *, broadcast: bool = True) -> tuple[Any, Any] | None:
    """Two coordinates with the same offset, or None when the layout is injective.

    With `broadcast=False`, modes of stride 0 stay at 0: the question is then whether the layout
    repeats an offset apart from broadcasting it.
    """
    require_numbers("collision", layout)
    extents, strides = flatten(layout.shape), flatten(layout.stride)
    modes = sorted(
        (abs(d), n, d, m)
        for m, (n, d) in enumerate(zip(extents, strides, strict=True))
        if n > 1 and (broadcast or d != 0)
    )
    reach = 0
    for size, extent, _, _ in modes:
        if size <= reach or size == 0:
            break
        reach += (extent - 1) * size
    else:
        return None
    if modes[0][0] == 0:
        difference: tuple[int, ...] | None = (1, *[0] * (len(modes) - 1))
    else:
        difference = _relation([(n, d) for _, n, d, _ in modes])
    if difference is None:
        return None
    first, second = [0] * len(extents), [0] * len(extents)
    for value, (_, _, _, mode) in zip(difference, modes, strict=True):
        first[mode], second[mode] = max(value, 0), max(-value, 0)
    pair = sorted((first, second), key=lambda coordinate: coordinate[::-1])
    return unflatten(tuple(pair[0]), layout.shape), unflatten(tuple(pair[1]), layout.shape)


def _relation(modes: list[tuple[int, int]]) -> tuple[int, ...] | None:
    """`x` with `sum x_i*d_i == 0`, `|x_i| < n_i`, not all zero; None when there is none.

    Two modes collide alone when `d_j/g < n_i` and `d_i/g < n_j`, with g their common divisor.
    """
    for (i, (n, d)), (j, (m, e)) in combinations(enumerate(modes), 2):
        shared = gcd(d, e)
        if abs(e) // shared < n and abs(d) // shared < m:
            pair = {i: -(e // shared), j: d // shared}
            return tuple(pair.get(mode, 0) for mode in range(len(modes)))
    reaches = list(accumulate(((n - 1) * abs(d) for n, d in modes), initial=0))
    divisors = list(accumulate((d for _, d in modes), gcd, initial=0))
    steps = iter(range(SEARCH_STEPS))

    def extend(left: int, offset: int, chosen: tuple[int, ...]) -> tuple[int, ...] | None:
        if left == 0:
            return chosen if any(chosen) else None
        extent, stride = modes[left - 1]
        reach, divisor = reaches[left - 1], divisors[left - 1]
        # |offset + value*stride| <= reach, in whole numbers and for either sign of the stride
        shift, step = (offset, stride) if stride > 0 else (-offset, -stride)
        low, high = -((reach + shift) // step), (reach - shift) // step
        start = -(extent - 1) if any(chosen) else 0
        for value in range(max(start, low), min(extent - 1, high) + 1):
            if next(steps, None) is None:
                raise Undecided(
                    f"whether the modes {modes} repeat an offset: too many combinations"
                )
            rest = offset + value * stride
            if rest % divisor == 0 if divisor else rest == 0:
                found = extend(left - 1, rest, (value, *chosen))
                if found is not None:
                    return found
        return None

    return extend(len(modes), 0, ())
