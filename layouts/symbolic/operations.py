"""Coalescing, composition, complement and inverses when sizes are symbols.

The same rules as for numbers, decided for all positive integers at once: where a step needs one
case of several, and the facts do not settle it, the case in which modes fit is taken and becomes
a condition of the result. Under its conditions the result equals the concrete computation; where
no case can be chosen, `Undecided` says what to substitute.

>>> import sympy
>>> from tylo.layouts.algebra.composition import composition
>>> from tylo.layouts.layout import Layout
>>> n = sympy.Symbol("n")
>>> result = composition(Layout((n, 8), (8, 1)), Layout((4, 8), (1, n)))
>>> print(result, "where", *result.conditions)
(4,8):(8,1) where 4 <= n
"""

from __future__ import annotations

from typing import Any

from tylo.layouts.errors import LayoutError, Undecided
from tylo.layouts.int_tuple import flatten, product, unflatten
from tylo.layouts.layout import Layout
from tylo.layouts.symbolic.facts import (
    Condition,
    at_most,
    divides,
    equal,
    exact_quotient,
    never,
    never_negative,
    tidy,
)
from tylo.layouts.symbolic.layout import conditions_of, symbolic

Modes = list[tuple[Any, Any]]


def flat_modes(layout: Layout) -> Modes:
    """The leaves of a layout."""
    return list(zip(flatten(layout.shape), flatten(layout.stride), strict=True))


def merged_modes(modes: Modes) -> Modes:
    """Without extents of 1, and with neighbours joined that are contiguous for all values."""
    merged: Modes = []
    for extent, stride in modes:
        if extent == 1:
            continue
        if merged and equal(merged[-1][0] * merged[-1][1], stride):
            merged[-1] = (tidy(merged[-1][0] * extent), merged[-1][1])
        else:
            merged.append((extent, stride))
    return merged


def from_flat(modes: Modes, conditions: tuple[Condition, ...]) -> Layout:
    """A flat layout; without parentheses when it has one mode, `1:0` when it has none."""
    if len(modes) > 1:
        return symbolic(tuple(n for n, _ in modes), tuple(d for _, d in modes), conditions)
    extent, stride = modes[0] if modes else (1, 0)
    return symbolic(extent, stride, conditions)


def coalesce(layout: Layout) -> Layout:
    """The layout with the modes joined that are contiguous for all values of the symbols."""
    return from_flat(merged_modes(flat_modes(layout)), conditions_of(layout))


def ordered(modes: Modes, what: str) -> Modes:
    """The modes by stride, as far as one stride is at most another for all values."""
    remaining, found = list(modes), []
    while remaining:
        for mode in remaining:
            others = [other for other in remaining if other is not mode]
            if all(never_negative(_minus(other[1], mode[1])) for other in others):
                break
        else:
            raise Undecided(
                f"{what}: the order of the strides {[d for _, d in remaining]} depends on the "
                "values",
                hint="substitute values first",
            )
        remaining.remove(mode)
        found.append(mode)
    return found


def _minus(a: Any, b: Any) -> Any:
    return tidy(a - b)


def complement(layout: Layout, cotarget: Any) -> Layout:
    """The complement, with the divisibility of strides by what lies below as conditions."""
    name = f"complement({layout}, {cotarget})"
    modes = ordered([m for m in flat_modes(layout) if m[0] != 1 and m[1] != 0], name)
    conditions = list(conditions_of(layout))
    result: Modes = []
    covered: Any = 1
    for extent, stride in modes:
        if isinstance(stride, int) and isinstance(covered, int) and stride % covered:
            raise LayoutError(
                f"{name}: the stride {stride} is not a multiple of the {covered} offsets below it",
                hint="pad the smaller modes or change the stride",
                witness=max(stride - stride % covered, stride if stride < covered else 0),
            )
        quotient, needed = divides(covered, stride)
        conditions += needed
        if quotient != 1:
            # A mode of extent 1 leaves no gap to fill: that is another complement.
            conditions += at_most(2, extent)
        result.append((quotient, covered))
        covered = tidy(stride * extent)
    total = tidy(product(cotarget))
    rest = exact_quotient(total, covered)
    if rest is None:
        import sympy

        rest = sympy.ceiling(sympy.sympify(total) / covered)
    result.append((rest, covered))
    return from_flat(merged_modes(result), tuple(conditions))


def composition(a: Layout, b: Layout, *, inside: bool) -> Layout:
    """`A` after `B`; with `inside`, that `B` stays in `A` is a condition too.

    Every leaf of `B` walks up the modes of `A`: past those that divide its step, then it either
    fits into one mode, or fills it and goes on. Between leaves, the sum of all steps below each
    break of `A` must stay below the break.
    """
    name = f"composition({a}, {b})"
    conditions = list(conditions_of(a, b))
    modes = merged_modes(flat_modes(a)[:-1]) + flat_modes(a)[-1:]
    if len(modes) > 1 and equal(modes[-2][0] * modes[-2][1], modes[-1][1]):
        modes[-2:] = [(tidy(modes[-2][0] * modes[-1][0]), modes[-2][1])]
    positions: list[Any] = [1]
    for extent, _ in modes[:-1]:
        positions.append(tidy(positions[-1] * extent))
    loads: list[Any] = [0] * len(positions)
    shapes, strides = [], []
    for extent, step in flat_modes(b):
        pieces: Modes = []
        if extent == 1 or step == 0:
            pieces = [(extent, 0)]
        else:
            _walk(modes, positions, loads, extent, step, pieces, conditions, name)
        shapes.append(pieces[0][0] if len(pieces) == 1 else tuple(n for n, _ in pieces))
        strides.append(pieces[0][1] if len(pieces) == 1 else tuple(d for _, d in pieces))
    for load, position in zip(loads[1:], positions[1:], strict=True):
        _require(load + 1, position, conditions, f"{name}: a carry passes the break at {position}")
    if inside:
        reach = sum(((n - 1) * d for n, d in flat_modes(b)), start=0)
        conditions += at_most(reach + 1, a.size())
    return symbolic(
        unflatten(tuple(shapes), b.shape), unflatten(tuple(strides), b.shape), conditions
    )


def _walk(
    modes: Modes,
    positions: list[Any],
    loads: list[Any],
    extent: Any,
    step: Any,
    pieces: Modes,
    conditions: list[Condition],
    name: str,
) -> None:
    """One leaf of B, cut at the modes of A; appends its pieces and what they need."""
    within = step  # the step relative to the current mode of A
    for number, (size, stride) in enumerate(modes[:-1]):
        above = exact_quotient(within, size)
        if above is not None:
            within = above
            continue
        position = positions[number]
        if not never_negative(size - _sympy(extent) * within):
            fills = exact_quotient(size, within)
            rest = None if fills is None else exact_quotient(extent, fills)
            if fills is not None and rest is not None:
                pieces.append((fills, tidy(within * stride)))
                _load(loads, number, (fills - 1) * within * position)
                extent, within = rest, 1
                continue
            _require(extent * within, size, conditions, f"{name}: {extent} steps of {step}")
        pieces.append((extent, tidy(within * stride)))
        _load(loads, number, (extent - 1) * within * position)
        return
    pieces.append((extent, tidy(within * modes[-1][1])))


def _load(loads: list[Any], number: int, reach: Any) -> None:
    for above in range(number + 1, len(loads)):
        loads[above] = tidy(loads[above] + reach)


def _require(left: Any, right: Any, conditions: list[Condition], what: str) -> None:
    if never(left, right):
        raise LayoutError(
            f"{what}: needs {tidy(left)} <= {tidy(right)}, which no values satisfy",
            witness=(tidy(left), tidy(right)),
        )
    conditions += at_most(left, right)


def _sympy(entry: Any) -> Any:
    import sympy

    return sympy.sympify(entry)


def weighted(layout: Layout, name: str) -> list[tuple[Any, Any, Any]]:
    """`(stride, extent, weight in the index)` of the modes that move, by stride."""
    weights, weight = {}, 1
    modes = []
    for number, (extent, stride) in enumerate(flat_modes(layout)):
        weights[number] = weight
        weight = tidy(weight * extent)
        if extent != 1:
            modes.append((number, extent, stride))
    by_stride = ordered([(m, m[2]) for m in modes], name)
    return [(stride, extent, weights[number]) for (number, extent, _), stride in by_stride]


def right_inverse(layout: Layout) -> Layout:
    """The right inverse over the modes that follow one another for all values."""
    covered: Any = 1
    result: Modes = []
    for stride, extent, weight in weighted(layout, f"right_inverse({layout})"):
        if not equal(stride, covered):
            break
        result.append((extent, weight))
        covered = tidy(covered * extent)
    return from_flat(merged_modes(result), conditions_of(layout))


def left_inverse(layout: Layout) -> Layout:
    """The left inverse, with the divisions and gaps between strides as conditions."""
    conditions = list(conditions_of(layout))
    result: Modes = []
    reached: Any = 1
    weight: Any = 0
    covered: Any = 1
    last: Any = 1
    name = f"left_inverse({layout})"
    for stride, extent, next_weight in weighted(layout, name):
        if stride == 0:
            raise LayoutError(
                f"{name}: not injective, a mode is broadcast", hint="filter it first", witness=0
            )
        _require(covered, stride, conditions, name)
        quotient, needed = divides(reached, stride)
        conditions += needed
        result.append((quotient, weight))
        reached, weight, last, covered = stride, next_weight, extent, tidy(stride * extent)
    result.append((last, weight))
    return from_flat(merged_modes(result), tuple(conditions))
