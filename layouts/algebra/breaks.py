"""A layout as a straight line with breaks, and the exact decisions that follow from it.

Let a layout have flat modes `(N_0,d_0), .., (N_k,d_k)`, the last running on, and let
`P_j = N_0*..*N_(j-1)`. Then

    A(x) = d_0*x + sum over j >= 1 of  jump_j * (x // P_j),     jump_j = d_j - N_(j-1)*d_(j-1).

The line has slope `d_0`, and at multiples of `P_j` it jumps by `jump_j`. Contiguous modes have
jump 0 and vanish from the sum: `(4,2,3):(1,4,100)` has the one break `(8, 92)`.

>>> slope_and_breaks((4, 2, 3), (1, 4, 100))
(1, [(8, 92)])

Everything that composition must decide is one question (docs/algebra.md, theorem 2): given steps
`u_0, .., u_m` with extents `n_0, .., n_m`, is

    A(sum c_l*u_l) == sum c_l*A(u_l)    for all c in the box?

The difference of the two sides is `sum over j of jump_j * K_j(c)`, with the carries
`K_j(c) = (sum c_l * (u_l mod P_j)) // P_j >= 0`. No carry, no difference: the closed condition
`sum (n_l - 1) * (u_l mod P_j) < P_j` for each j is sufficient, and necessary when the jumps have
one sign. Jumps of both signs can cancel; `first_difference` decides those by bisection.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import Any

from tylo.layouts.errors import Undecided

Breaks = list[tuple[int, int]]

# Cancelling carries need a search. Every search observed on real layouts takes under a hundred
# steps; the bound keeps a hostile one from running for ever, and passing it is not a verdict.
SEARCH_STEPS = 100_000


def slope_and_breaks(extents: Sequence[Any], strides: Sequence[Any]) -> tuple[Any, Breaks]:
    """`d_0` and the `(P_j, jump_j)` with a jump other than 0, in increasing order."""
    breaks: Breaks = []
    last = len(extents) - 1
    slope = following = None
    position = 1
    for mode, (extent, stride) in enumerate(zip(extents, strides, strict=True)):
        if extent == 1 and mode != last:
            continue
        if slope is None:
            slope = stride
        elif stride != following:
            breaks.append((position, stride - following))
        position *= extent
        following = extent * stride
    return slope or 0, breaks


def carries(breaks: Breaks, steps: Sequence[int]) -> list[tuple[int, int, tuple[int, ...]]]:
    """`(weight, modulus, residues)` of each distinct carry count over the given steps.

    Breaks whose residues stand in the same ratio to their modulus carry together, always; their
    jumps add up, and a sum of 0 removes them.
    """
    weights: dict[tuple[int, tuple[int, ...]], int] = {}
    for position, jump in breaks:
        residues = tuple(step % position for step in steps)
        if not any(residues):
            continue
        shared = gcd(position, *residues)
        key = (position // shared, tuple(residue // shared for residue in residues))
        weights[key] = weights.get(key, 0) + jump
    return [(weight, modulus, rs) for (modulus, rs), weight in weights.items() if weight]


def straight_run(breaks: Breaks, step: int, extent: int) -> int:
    """The greatest `n <= extent` with `A(c*step) == c*A(step)` for all `c < n`.

    >>> straight_run([(4, 6)], 1, 8), straight_run([(4, 6)], 4, 8)
    (4, 8)
    """
    active = [(weight, modulus, residue) for weight, modulus, (residue,) in carries(breaks, [step])]
    counts = [0] * len(active)
    # Past a whole period without a difference there is none: the sum is linear plus periodic.
    horizon = min(extent, max((modulus for _, modulus, _ in active), default=0) + 1)
    for _ in range(SEARCH_STEPS):
        upcoming = [
            -(-(count + 1) * modulus // residue)
            for count, (_, modulus, residue) in zip(counts, active, strict=True)
        ]
        c = min(upcoming, default=horizon)
        if c >= horizon:
            return extent
        counts = [count + (at == c) for count, at in zip(counts, upcoming, strict=True)]
        if sum(count * weight for count, (weight, _, _) in zip(counts, active, strict=True)):
            return c
    raise Undecided(
        f"whether steps of {step} stay straight for {extent} elements: too many carries"
    )


def first_difference(
    breaks: Breaks, steps: Sequence[int], extents: Sequence[int]
) -> tuple[int, ...] | None:
    """The first `c`, in index order, where `A(sum c*u) != sum c*A(u)`; None when none exists.

    Carries never fall as `c` grows, so that a box on whose two extreme corners each carry count
    agrees is settled by one point; other boxes are halved, last coordinate first, low half first.

    >>> first_difference([(6, 1)], [2, 3], [3, 2])
    (2, 1)
    """
    active = carries(breaks, steps)

    def counts(c: Sequence[int]) -> list[int]:
        return [
            sum(x * residue for x, residue in zip(c, residues, strict=True)) // modulus
            for _, modulus, residues in active
        ]

    pending = [((0,) * len(extents), tuple(extent - 1 for extent in extents))]
    for _ in range(SEARCH_STEPS):
        if not pending:
            return None
        low, high = pending.pop()
        at_low = counts(low)
        if at_low == counts(high):
            if sum(k * weight for k, (weight, _, _) in zip(at_low, active, strict=True)):
                return low
            continue
        mode = max(m for m, (a, b) in enumerate(zip(low, high, strict=True)) if a != b)
        middle = (low[mode] + high[mode]) // 2
        pending.append(((*low[:mode], middle + 1, *low[mode + 1 :]), high))
        pending.append((low, (*high[:mode], middle, *high[mode + 1 :])))
    raise Undecided(f"whether steps {steps} over extents {extents} add up: too many carries")
