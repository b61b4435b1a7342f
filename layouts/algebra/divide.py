"""Logical division: a layout seen as a tile and the repetitions of the tile.

Rule: `logical_divide(A, B) == composition(A, (B, complement(B, size(A))))`: mode 0 is the tile,
the elements of `A` that `B` points at; mode 1 the places where a shifted tile begins. Together
they visit every index of `A` exactly once when `B` is injective and `size(B)*size(rest)` equals
`size(A)`.

>>> from tylo.layouts.layout import Layout
>>> print(logical_divide(Layout(16), Layout(4, 4)))
(4,4):(4,1)

A tiler may be a tuple, applied mode by mode; None leaves a mode whole. A layout as tiler is never
applied by mode, also when its rank is that of `A`: it tiles `A`'s index.

>>> print(logical_divide(Layout((12, 32)), (4, 8)))
((4,3),(8,4)):((1,4),(12,96))
>>> print(logical_divide(Layout((12, 32)), Layout((4, 8))))
((4,8),12):((1,4),32)

When the tiles overhang, as in ten elements by tiles of four, the result runs past the end of `A`,
and only some coordinates are real. The answer carries its predicate: `in_bounds` gives the exact
test, as integer conditions on the coordinate.

>>> print(logical_divide(Layout(10), 4))
(4,3):(1,4)
>>> predicate = in_bounds(logical_divide, Layout(10), 4)
>>> predicate(1, 2), predicate(2, 2), predicate.count(), predicate.always
(True, False, 10, False)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tylo.layouts.algebra.coalesce import by_profile
from tylo.layouts.algebra.complement import complement
from tylo.layouts.algebra.composition import after
from tylo.layouts.algebra.unzip import hier_unzip
from tylo.layouts.errors import LayoutError
from tylo.layouts.int_tuple import IntTuple, crd2idx, prefix_product, show
from tylo.layouts.layout import Layout, compact, joined, require_numbers, size, trusted


def logical_divide(a: Layout, b: Any) -> Layout:
    """`A` divided into tiles `B`: a layout of rank 2, or one such mode for each entry of a tuple.

    Raises `LayoutError` when `B` has no complement, or when no layout is `A` after the tiles.
    """
    if isinstance(b, Layout):
        try:
            rest = complement(b, size(a))
            return after(a, joined((b, rest)), inside=False)
        except LayoutError as error:
            raise LayoutError(
                f"logical_divide({a}, {b}): {error.message}",
                hint=error.hint,
                witness=error.witness,
            ) from error
    if b is None:
        return a
    if isinstance(b, tuple):
        return by_profile(logical_divide, a, b, "logical_divide")
    return logical_divide(a, compact(b))


def zipped_divide(a: Layout, b: Any) -> Layout:
    """`logical_divide` with all tiles in mode 0 and all rests in mode 1.

    >>> from tylo.layouts.layout import Layout
    >>> print(zipped_divide(Layout((64, 50, 80), (16000, 160, 1)), (32, None, 40)))
    ((32,1,40),(2,50,2)):((16000,0,1),(512000,160,40))
    """
    return hier_unzip(logical_divide, a, b)


def tiled_divide(a: Layout, b: Any) -> Layout:
    """`zipped_divide` with the rests as modes of their own: `(tile, rest0, rest1, ..)`.

    >>> from tylo.layouts.layout import Layout
    >>> print(tiled_divide(Layout((8, 8), (8, 1)), (4, 2)))
    ((4,2),2,4):((8,1),32,2)
    """
    tile, rest = zipped_divide(a, b)
    return joined([tile, *rest])


def flat_divide(a: Layout, b: Any) -> Layout:
    """`zipped_divide` with tiles and rests as modes of their own.

    >>> from tylo.layouts.layout import Layout
    >>> print(flat_divide(Layout((8, 8), (8, 1)), (4, 2)))
    (4,2,2,4):(8,1,32,2)
    """
    tile, rest = zipped_divide(a, b)
    return joined([*tile, *rest])


@dataclass(frozen=True, slots=True)
class Predicate:
    """Which coordinates of a divided layout are real.

    A coordinate is real when each `(index, bound)` has `index(coordinate) < bound`: `index` is
    the layout that gives the place in one mode of the undivided layout, over the same domain.
    """

    shape: IntTuple
    conditions: tuple[tuple[Layout, int], ...]

    def __call__(self, *coordinate: Any) -> bool:
        """Whether the coordinate (or index) of the divided layout is real."""
        at = crd2idx(coordinate[0] if len(coordinate) == 1 else coordinate, self.shape)
        return all(index(at) < bound for index, bound in self.conditions)

    @property
    def always(self) -> bool:
        """Whether every coordinate is real: the tiles do not overhang."""
        return all(index.max_offset() < bound for index, bound in self.conditions)

    def count(self) -> int:
        """How many coordinates are real.

        Each index takes every value of its interval equally often, so that the share of real
        coordinates is `bound / cosize` for each condition, and the conditions are independent.
        """
        total = int(size(self.shape))
        for index, bound in self.conditions:
            total = total * min(bound, index.cosize()) // index.cosize()
        return total


def in_bounds(divide: Callable[[Layout, Any], Layout], a: Layout, tiler: Any) -> Predicate:
    """The predicate of `divide(a, tiler)`, for any of the divides.

    Ten rows in tiles of sixteen, and 26 columns in tiles of eight: of 512 coordinates 260 are
    real, those with a row below 10 and a column below 26.

    >>> from tylo.layouts.layout import Layout
    >>> predicate = in_bounds(logical_divide, Layout((10, 26), (26, 1)), (16, 8))
    >>> predicate.count(), predicate((9, 0), (1, 3)), predicate((10, 0), (1, 3))
    (260, True, False)
    """
    require_numbers("in_bounds", a)
    conditions = tuple((divide(index, tiler), bound) for index, bound in _indices(a.shape, tiler))
    return Predicate(divide(a, tiler).shape, conditions)


def _indices(shape: IntTuple, tiler: Any) -> list[tuple[Layout, int]]:
    """For each part of the shape that the tiler divides as one, the layout of its own index."""
    if not isinstance(tiler, tuple):
        return [(trusted(shape, prefix_product(shape)), size(shape))]
    if not isinstance(shape, tuple) or len(shape) < len(tiler):
        raise LayoutError(f"the tiler {show(tiler)} has more modes than the shape {show(shape)}")
    found = []
    zeros = tuple(_zeros(mode) for mode in shape)
    for place, (mode, entry) in enumerate(zip(shape, tiler, strict=False)):
        if entry is None:
            continue
        for index, bound in _indices(mode, entry):
            stride = (*zeros[:place], index.stride, *zeros[place + 1 :])
            found.append((trusted(shape, stride), bound))
    return found


def _zeros(shape: IntTuple) -> IntTuple:
    return tuple(map(_zeros, shape)) if isinstance(shape, tuple) else 0
