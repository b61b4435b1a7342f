"""`Swizzle`: an exclusive-or of some bits of an offset into others.

`Swizzle(bits, base, shift)` keeps the low `base` bits, and adds, without carry, `bits` bits that
lie `shift` places higher into the `bits` bits above the base:

    0b .. YYY .. ZZZ ....      becomes  0b .. YYY .. (ZZZ xor YYY) ....
             shift  base

For `Sw<2,0,2>` on the offsets 0..15 of a 4x4 tile, row by row, each row is permuted by its number:

| row | offsets        | swizzled       |
|-----|----------------|----------------|
| 0   | 0 1 2 3        | 0 1 2 3        |
| 1   | 4 5 6 7        | 5 4 7 6        |
| 2   | 8 9 10 11      | 10 11 8 9      |
| 3   | 12 13 14 15    | 15 14 13 12    |

>>> [Swizzle(2, 0, 2)(x) for x in range(4, 8)]
[5, 4, 7, 6]

A negative shift moves bits up instead. With `|shift| >= bits` the source bits are never changed,
so that a swizzle is its own inverse; a smaller shift is refused, with the first offset where
applying it twice goes wrong.

>>> Swizzle(2, 0, 1)
Traceback (most recent call last):
tylo.layouts.errors.LayoutError: Sw<2,0,1> overlaps its own source bits and is not its own inverse \
(witness: 4); keep |shift| >= bits

Bits, bytes and elements are never mixed: `unit` is the number of bits that one step of the offset
stands for (1 a bit, 8 a byte, 16 a half), and None where offsets count elements of no stated
width. Hardware swizzles are stated in bytes; `recast` moves them to elements.

>>> Swizzle(1, 4, 3, unit=8).recast(16)
Swizzle(1, 3, 3, unit=16)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tylo.layouts.errors import LayoutError
from tylo.layouts.int_tuple import IntTuple, crd2idx, has_none, slice_
from tylo.layouts.layout import Layout, require_numbers, trusted


@dataclass(frozen=True, slots=True)
class Swizzle:
    """`x ^ ((x & source) >> shift)`; see the module for the picture and the meaning of `unit`."""

    bits: int
    base: int
    shift: int
    unit: int | None = None

    def __post_init__(self) -> None:
        if self.bits < 0 or self.base < 0:
            raise LayoutError(
                f"{self}: bits and base are at least 0", witness=min(self.bits, self.base)
            )
        if self.unit is not None and self.unit < 1:
            raise LayoutError(f"{self}: a unit has at least one bit", witness=self.unit)
        if abs(self.shift) < self.bits:
            twice = next(x for x in range(self.size()) if self._apply(self._apply(x)) != x)
            raise LayoutError(
                f"{self} overlaps its own source bits and is not its own inverse",
                hint="keep |shift| >= bits",
                witness=twice,
            )

    def source(self) -> int:
        """The mask of the bits that are read."""
        return ((1 << self.bits) - 1) << (self.base + max(self.shift, 0))

    def target(self) -> int:
        """The mask of the bits that change."""
        return ((1 << self.bits) - 1) << (self.base + max(-self.shift, 0))

    def _apply(self, offset: int) -> int:
        read = offset & self.source()
        return offset ^ (read >> self.shift if self.shift >= 0 else read << -self.shift)

    def __call__(self, offset: int) -> int:
        """The swizzled offset. Higher bits pass through, so any offset from 0 on has one."""
        if offset < 0:
            raise LayoutError(f"{self}: the offset {offset} is negative", witness=offset)
        return self._apply(offset)

    def size(self) -> int:
        """The length of the block that the swizzle permutes; it repeats from there on."""
        return 1 << (self.bits + self.base + abs(self.shift))

    def cosize(self) -> int:
        """The same as `size`: a permutation."""
        return self.size()

    def recast(self, unit: int) -> Swizzle:
        """The same permutation of memory, for offsets in steps of `unit` bits.

        Raises `LayoutError` when there is none: widths that are no power of two apart, or a wider
        unit that would straddle the bits that move.
        """
        if self.unit is None:
            raise LayoutError(f"{self} counts elements of no stated width", hint="give its unit")
        wide, narrow = max(unit, self.unit), min(unit, self.unit)
        ratio = wide // narrow
        if wide % narrow or ratio & (ratio - 1):
            raise LayoutError(
                f"{self}: {self.unit} and {unit} bits are no power of two apart", witness=unit
            )
        change = ratio.bit_length() - 1
        base = self.base + (change if unit < self.unit else -change)
        if base < 0 and self.bits:
            raise LayoutError(
                f"{self} moves bits inside a unit of {unit} bits", witness=self.unit << self.base
            )
        return Swizzle(self.bits, max(base, 0), self.shift, unit)

    def __str__(self) -> str:
        suffix = "" if self.unit is None else f"@{self.unit}"
        return f"Sw<{self.bits},{self.base},{self.shift}>{suffix}"

    def __repr__(self) -> str:
        unit = "" if self.unit is None else f", unit={self.unit}"
        return f"Swizzle({self.bits}, {self.base}, {self.shift}{unit})"


@dataclass(frozen=True, slots=True)
class ComposedLayout:
    """`outer(offset + inner(c))`: a swizzle, or a layout, after a layout and a shift.

    The domain is that of `inner`. Slicing keeps the offset of what was fixed, because an outer
    swizzle does not commute with it.

    >>> composed = ComposedLayout(Swizzle(3, 4, 3), 0, Layout((10, 2), (2, 1)))
    >>> print(composed, "|", composed(None, 1))
    Sw<3,4,3> o 0 o (10,2):(2,1) | Sw<3,4,3> o 1 o (10):(2)
    """

    outer: Swizzle | Layout
    offset: int
    inner: Layout

    def __call__(self, *coordinate: Any) -> Any:
        """The offset of a coordinate, or the composed layout that a coordinate with None leaves."""
        crd = coordinate[0] if len(coordinate) == 1 else coordinate
        shape, stride = self.inner.shape, self.inner.stride
        index = self.offset + crd2idx(crd, shape, stride)
        if has_none(crd):
            rest = trusted(slice_(crd, shape), slice_(crd, stride))
            return ComposedLayout(self.outer, index, rest)
        if isinstance(self.outer, Layout):
            return self.outer.extended(index)
        return self.outer(index)

    def __len__(self) -> int:
        return len(self.inner)

    def __getitem__(self, mode: int) -> ComposedLayout:
        return ComposedLayout(self.outer, self.offset, self.inner[mode])

    @property
    def shape(self) -> IntTuple:
        """The shape of the domain."""
        return self.inner.shape

    def size(self) -> Any:
        """The number of coordinates."""
        return self.inner.size()

    def through(self, operation: Callable[..., Layout], *arguments: Any) -> ComposedLayout:
        """The same outer map after `operation(inner, *arguments)`.

        Divides, reshapes and regroupings of the domain commute with what comes after it:

        >>> from tylo.layouts.algebra.divide import zipped_divide
        >>> composed = ComposedLayout(Swizzle(2, 0, 3), 0, Layout((8, 8)))
        >>> print(composed.through(zipped_divide, (4, 2)))
        Sw<2,0,3> o 0 o ((4,2),(2,4)):((1,8),(4,16))
        """
        return ComposedLayout(self.outer, self.offset, operation(self.inner, *arguments))

    def simplified(self) -> Layout | ComposedLayout:
        """The plain layout where the outer swizzle changes no offset, else the same value.

        A swizzle is inactive below its lowest source bit.

        >>> print(ComposedLayout(Swizzle(3, 4, 3), 0, Layout((10, 2), (2, 1))).simplified())
        (10,2):(2,1)
        """
        if isinstance(self.outer, Layout) or self.offset:
            return self
        lowest = 1 << (self.outer.base + max(self.outer.shift, 0))
        inactive = self.outer.bits == 0 or self.inner.max_offset() < lowest
        return self.inner if inactive and self.inner.min_offset() >= 0 else self

    def __str__(self) -> str:
        return f"{self.outer} o {self.offset} o {self.inner}"


def make_swizzle_layout(swizzle: Swizzle, layout: Layout) -> ComposedLayout:
    """`swizzle` after `layout`, refused where an offset is negative."""
    require_numbers("composition", layout)
    if layout.min_offset() < 0:
        raise LayoutError(
            f"composition({swizzle}, {layout}): the layout reaches the negative offset "
            f"{layout.min_offset()}",
            hint="compose with an offset",
            witness=layout.min_offset(),
        )
    return ComposedLayout(swizzle, 0, layout)
