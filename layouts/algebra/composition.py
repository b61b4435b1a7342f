"""Composition: a layout after a layout.

Rule: `composition(A, B)(c) == A(B(c))` for every coordinate `c` of `B`, and the shape refines
that of `B` (each extent of `B` becomes an extent or a nested mode), so that every coordinate of
`B` is one of the result. `A` runs on in its last leaf when `B` reaches past its size.

>>> from tylo.layouts.layout import Layout
>>> print(composition(Layout((10, 2), (16, 4)), Layout((3, 4), (1, 5))))
(3,(2,2)):(16,(80,4))

Most pairs of layouts have no such result, and then none is returned:

>>> composition(Layout((6, 2), (1, 7)), Layout((3, 2), (2, 3)))
Traceback (most recent call last):
tylo.layouts.errors.LayoutError: composition((6,2):(1,7), (3,2):(2,3)): A(B(2,1)) is 8, but the \
modes of B alone add up to 7, so that no layout over (3,2) is A after B (witness: (2, 1)); \
compose with one mode at a time, or coalesce B first
>>> composition(Layout((4, 3), (1, 10)), Layout(6))
Traceback (most recent call last):
tylo.layouts.errors.LayoutError: composition((4,3):(1,10), 6:1): the step changes after 4 of the \
6 elements of the mode 6:1, and 4 does not divide 6 (witness: 4); choose extents that divide

How it decides. With `A` as a line with breaks (`breaks.py`), each extent of `B` is split where
the line first bends; theorem 3 of docs/algebra.md shows that no other split can work. What is
left is one closed condition for each break `P`: over all pieces, `sum (n-1)*(u mod P) < P`. It is
sufficient. Where it fails, the exact search of `breaks.py` decides, and finds the first witness.
Cost: extents of `B` times breaks of `A`, whatever the size of the domain.
"""

from __future__ import annotations

from typing import Any, NoReturn, overload

from tylo.layouts.algebra.breaks import Breaks, first_difference, slope_and_breaks, straight_run
from tylo.layouts.algebra.coalesce import by_profile, from_modes, merged
from tylo.layouts.coordinates import CoordinateLayout, compose_coordinates
from tylo.layouts.errors import LayoutError
from tylo.layouts.int_tuple import IntTuple, flatten, show, unflatten
from tylo.layouts.layout import Layout, compact, trusted
from tylo.layouts.swizzle import ComposedLayout, Swizzle, make_swizzle_layout

Pieces = list[tuple[int, int, int]]  # extent, step in A's index, step in A's offset


@overload
def composition(a: Layout, b: Any) -> Layout: ...
@overload
def composition(a: ComposedLayout | Swizzle, b: Any) -> ComposedLayout: ...
def composition(a: Any, b: Any) -> Any:
    """`A` after `B`: the layout `R` with `R(c) == A(B(c))`.

    `b` is a layout; an integer or shape entry means the compact layout over it; None leaves `A`
    whole; a tuple is applied mode by mode, with the remaining modes of `A` left as they are.
    A `CoordinateLayout` gives `A` at its coordinates.

    `a` may also be a swizzle, with a layout `b`, or a `ComposedLayout`; the result then is one.

    Raises `LayoutError` with a coordinate of `B` when no layout over `B`'s shape is `A` after
    `B`, or when `B` has a negative index.

    >>> from tylo.layouts.layout import Layout
    >>> a = Layout((12, (4, 8)), (59, (13, 1)))
    >>> print(composition(a, (Layout(3, 4), Layout(8, 2))))
    (3,(2,4)):(236,(26,1))
    >>> print(composition(a, (None, 4)))
    (12,4):(59,13)
    """
    if isinstance(a, Layout):
        return _of_layout(a, b)
    if isinstance(a, ComposedLayout):
        return ComposedLayout(a.outer, a.offset, _of_layout(a.inner, b))
    if isinstance(a, Swizzle) and isinstance(b, Layout):
        return make_swizzle_layout(a, b)
    raise LayoutError(f"composition({a}, {b}): only layouts, and swizzles before them, compose")


def _of_layout(a: Layout, b: Any) -> Layout:
    if isinstance(b, Layout):
        return after(a, b)
    if b is None:
        return a
    if isinstance(b, CoordinateLayout):
        return compose_coordinates(a, b, after)
    if isinstance(b, tuple):
        return by_profile(_of_layout, a, b, "composition")
    return after(a, compact(b))


def after(a: Layout, b: Layout, *, inside: bool = True) -> Layout:
    """`A` after the layout `B`. Where sizes are symbols, `inside` claims that `B` stays in `A`."""
    if type(a) is Layout and type(b) is Layout:
        return _composed(a, b)
    from tylo.layouts.symbolic import operations

    return operations.composition(a, b, inside=inside)


def _composed(a: Layout, b: Layout) -> Layout:
    slope, breaks = slope_and_breaks(flatten(a.shape), flatten(a.stride))
    extents, strides = flatten(b.shape), flatten(b.stride)
    if not breaks and min(strides, default=0) >= 0:
        return _nested(b, list(extents), [slope * step for step in strides])
    loads = [0] * len(breaks)
    shapes: list[IntTuple] = []
    results: list[IntTuple] = []
    for extent, step in zip(extents, strides, strict=True):
        if step < 0:
            if extent > 1:
                _negative(a, b)
            step = 0  # an extent of 1 is never stepped
        pieces = _split(slope, breaks, loads, extent, step)
        if pieces is None:
            return _decided(a, b, slope, breaks)
        _append(shapes, results, pieces)
    for load, (position, _) in zip(loads, breaks, strict=True):
        if load >= position:
            return _decided(a, b, slope, breaks)
    return _nested(b, shapes, results)


def _split(slope: int, breaks: Breaks, loads: list[int], extent: int, step: int) -> Pieces | None:
    """One mode of B cut at A's breaks as if no two jumps cancelled; None where that fails."""
    pieces: Pieces = []
    while True:
        offset = slope * step
        run = extent
        residues = []
        for position, jump in breaks:
            quotient, residue = divmod(step, position)
            offset += jump * quotient
            residues.append(residue)
            if residue * (run - 1) >= position:
                run = -(-position // residue)
        if extent % run:
            return None
        for number, residue in enumerate(residues):
            loads[number] += (run - 1) * residue
        pieces.append((run, step, offset))
        if run == extent:
            return pieces
        extent //= run
        step *= run


def _decided(a: Layout, b: Layout, slope: int, breaks: Breaks) -> Layout:
    """The composition when carries occur: exact, for jumps that cancel and jumps that do not."""
    extents, strides = flatten(b.shape), flatten(b.stride)
    shapes: list[IntTuple] = []
    results: list[IntTuple] = []
    flat: Pieces = []
    owners: list[tuple[int, int]] = []  # for each piece: its mode of B, and its weight there
    for mode, (extent, step) in enumerate(zip(extents, strides, strict=True)):
        pieces: Pieces = []
        weight, rest = 1, extent
        while True:
            run = straight_run(breaks, step * weight, rest)
            if rest % run:
                raise LayoutError(
                    f"composition({a}, {b}): the step changes after {run} of the {rest} elements "
                    f"of the mode {rest}:{step * weight}, and {run} does not divide {rest}",
                    hint="choose extents that divide",
                    witness=_coordinate(b, [(mode, run * weight)]),
                )
            pieces.append((run, step * weight, _offset(slope, breaks, step * weight)))
            owners.append((mode, weight))
            weight *= run
            rest //= run
            if rest == 1:
                break
        flat += pieces
        _append(shapes, results, pieces)
    witness = first_difference(breaks, [u for _, u, _ in flat], [n for n, _, _ in flat])
    if witness is None:
        return _nested(b, shapes, results)
    coordinate = _coordinate(
        b, [(mode, c * weight) for c, (mode, weight) in zip(witness, owners, strict=True)]
    )
    index = sum(c * u for c, (_, u, _) in zip(witness, flat, strict=True))
    alone = sum(c * offset for c, (_, _, offset) in zip(witness, flat, strict=True))
    raise LayoutError(
        f"composition({a}, {b}): A(B{_call(coordinate)}) is {_offset(slope, breaks, index)}, but "
        f"the modes of B alone add up to {alone}, so that no layout over {show(b.shape)} is A "
        "after B",
        hint="compose with one mode at a time, or coalesce B first",
        witness=coordinate,
    )


def _negative(a: Layout, b: Layout) -> NoReturn:
    strides = flatten(b.stride)
    mode = min(
        m for m, (n, d) in enumerate(zip(flatten(b.shape), strides, strict=True)) if d < 0 and n > 1
    )
    raise LayoutError(
        f"composition({a}, {b}): B reaches the negative index {strides[mode]}, which A does not "
        "have",
        hint="reverse with an explicit offset instead: A at (n-1) - i",
        witness=_coordinate(b, [(mode, 1)]),
    )


def _offset(slope: int, breaks: Breaks, index: int) -> int:
    return slope * index + sum(jump * (index // position) for position, jump in breaks)


def _append(shapes: list[IntTuple], results: list[IntTuple], pieces: Pieces) -> None:
    if len(pieces) == 1:
        shapes.append(pieces[0][0])
        results.append(pieces[0][2])
    else:
        mode = from_modes(*merged([n for n, _, _ in pieces], [d for _, _, d in pieces]))
        shapes.append(mode.shape)
        results.append(mode.stride)


def _nested(b: Layout, shapes: list[IntTuple], results: list[IntTuple]) -> Layout:
    """The pieces in the nesting of B."""
    shape = b.shape
    if not isinstance(shape, tuple):
        return trusted(shapes[0], results[0])
    if len(shapes) == len(shape) and tuple not in map(type, shape):
        return trusted(tuple(shapes), tuple(results))
    return trusted(unflatten(tuple(shapes), shape), unflatten(tuple(results), shape))


def _coordinate(b: Layout, entries: list[tuple[int, int]]) -> IntTuple:
    """The coordinate of B with the given entries summed into its flat modes."""
    flat = [0] * len(flatten(b.shape))
    for mode, value in entries:
        flat[mode] += value
    return unflatten(tuple(flat), b.shape)


def _call(coordinate: IntTuple) -> str:
    return show(coordinate) if isinstance(coordinate, tuple) else f"({coordinate})"
