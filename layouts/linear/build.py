"""Linear layouts to start from, and the exact bridges from and to `Layout` and `Swizzle`.

>>> from tylo.layouts.layout import Layout, require_numbers
>>> from_layout(Layout((4, 8), (8, 1))).bases
{'index': [(8,), (16,), (1,), (2,), (4,)]}
>>> print(to_layout(from_layout(Layout((4, 8), (8, 1)))))
(4,8):(8,1)

A strided layout adds; a linear one takes exclusive-ors. The two agree exactly when the extents are
powers of two and no two of the images `2^k * stride` share a bit: then nothing is ever carried.
The condition is necessary, since two images that share a bit already differ in their sum.
"""

from __future__ import annotations

from tylo.layouts.algebra.coalesce import from_modes, merged
from tylo.layouts.errors import LayoutError
from tylo.layouts.int_tuple import flatten
from tylo.layouts.layout import Layout, require_numbers
from tylo.layouts.linear.solve import compose
from tylo.layouts.linear.value import LinearLayout, packed, require_power_of_two
from tylo.layouts.swizzle import ComposedLayout, Swizzle


def identity(size: int, source: str, target: str) -> LinearLayout:
    """`size` inputs, each sent to itself.

    >>> identity(4, "lane", "row").bases
    {'lane': [(1,), (2,)]}
    """
    bits = require_power_of_two(size, source)
    columns = tuple(1 << bit for bit in range(bits))
    return packed(((source, size),), ((target, size),), columns)


def strided(size: int, stride: int, source: str, target: str) -> LinearLayout:
    """`size` inputs, `stride` apart; both powers of two.

    >>> strided(4, 2, "lane", "row").bases
    {'lane': [(2,), (4,)]}
    """
    low = require_power_of_two(stride, f"the stride of {source}")
    bits = require_power_of_two(size, source)
    columns = tuple(1 << (low + bit) for bit in range(bits))
    return packed(((source, size),), ((target, size * stride),), columns)


def zeros(size: int, source: str, target: str, target_size: int = 1) -> LinearLayout:
    """`size` inputs, all sent to 0: replication.

    >>> zeros(4, "warp", "row").bases
    {'warp': [(0,), (0,)]}
    """
    require_power_of_two(target_size, target)
    bits = require_power_of_two(size, source)
    return packed(((source, size),), ((target, target_size),), (0,) * bits)


def from_layout(
    layout: Layout | Swizzle | ComposedLayout,
    source: str = "index",
    target: str = "offset",
    *,
    target_size: int | None = None,
) -> LinearLayout:
    """The linear layout of the same function, from the index to the offset.

    `target_size` is the size of the offsets' dimension, by default the least power of two that
    holds the image. Raises `LayoutError` for a size that is no power of two, a negative stride,
    offsets that carry, and an affine map: `ComposedLayout` with an offset.
    """
    if isinstance(layout, Swizzle):
        size = target_size or layout.size()
        bits = require_power_of_two(size, target)
        columns = tuple(layout(1 << bit) for bit in range(bits))
        if max(columns, default=0) >= size:
            raise LayoutError(
                f"{layout} moves offsets below {size} out of 0..{size - 1}", witness=max(columns)
            )
        return packed(((source, size),), ((target, size),), columns)
    if isinstance(layout, ComposedLayout):
        return _from_composed(layout, source, target, target_size)
    require_numbers("from_layout", layout)
    images: list[int] = []
    for extent, stride in zip(flatten(layout.shape), flatten(layout.stride), strict=True):
        bits = require_power_of_two(extent, f"the extent {extent} of {layout}")
        images += [stride << bit for bit in range(bits)]
    for bit, image in enumerate(images):
        if image < 0:
            raise LayoutError(f"{layout} has a negative offset {image}", witness=1 << bit)
        for other, earlier in enumerate(images[:bit]):
            if image & earlier:
                raise LayoutError(
                    f"{layout} is not linear over bits: at the indices {1 << other} and {1 << bit} "
                    f"the offsets {earlier} and {image} share a bit, so that their sum carries",
                    hint="keep the strided form",
                    witness=(1 << other) + (1 << bit),
                )
    size = target_size or 1 << max(map(int.bit_length, images), default=0)
    return LinearLayout({source: [(image,) for image in images]}, {target: size})


def _from_composed(
    layout: ComposedLayout, source: str, target: str, target_size: int | None
) -> LinearLayout:
    if layout.offset:
        raise LayoutError(
            f"{layout} is affine, not linear: index 0 goes to the offset {layout.offset}",
            hint="keep the offset apart and convert the rest",
            witness=0,
        )
    inner = from_layout(layout.inner, source, target)
    if isinstance(layout.outer, Layout):
        return compose(inner, from_layout(layout.outer, target, target, target_size=target_size))
    size = max(dict(inner.out_dims)[target], layout.outer.size(), target_size or 1)
    return compose(inner, from_layout(layout.outer, target, target, target_size=size))


def to_layout(layout: LinearLayout) -> Layout:
    """The strided layout of the same function, from packed inputs to packed outputs, coalesced.

    One mode for each input dimension would lose nothing either, but functions are what is equal.
    Raises `LayoutError` when two images share a bit: then exclusive-or is not a sum, and no
    strided layout is the function.

    >>> to_layout(LinearLayout({"x": [(1,), (3,)]}, {"out": 4}))
    Traceback (most recent call last):
    tylo.layouts.errors.LayoutError: F2[x=[(1),(3)]->out:4] is no strided layout: the images \
of input bits 0 and 1 share a bit (witness: 3); split off a swizzle first
    """
    seen = 0
    for bit, column in enumerate(layout.columns):
        if column & seen:
            other = next(b for b, earlier in enumerate(layout.columns) if earlier & column)
            raise LayoutError(
                f"{layout} is no strided layout: the images of input bits {other} and {bit} share "
                "a bit",
                hint="split off a swizzle first",
                witness=(1 << other) + (1 << bit),
            )
        seen |= column
    return from_modes(*merged([2] * len(layout.columns), layout.columns))


def to_swizzle(layout: LinearLayout, unit: int | None = None) -> Swizzle:
    """The swizzle of the same function; `LayoutError` names the first bit that no swizzle moves so.

    >>> to_swizzle(from_layout(Swizzle(2, 3, 4)))
    Swizzle(2, 3, 4)
    """
    moved = {
        bit: column ^ (1 << bit) for bit, column in enumerate(layout.columns) if column != 1 << bit
    }
    if not moved:
        return Swizzle(0, 0, 0, unit)
    first, delta = next(iter(moved.items()))
    shift = first - (delta.bit_length() - 1)
    base = first - max(shift, 0)
    # Too small a shift is no swizzle at all; the identity then stands in, and fails at `first`.
    bits = len(moved) if abs(shift) >= len(moved) else 0
    swizzle = Swizzle(bits, base, shift, unit)
    for bit, column in enumerate(layout.columns):
        if swizzle(1 << bit) != column:
            raise LayoutError(
                f"{layout} is no swizzle",
                hint="a swizzle adds adjacent bits to adjacent bits, a fixed distance away",
                witness=1 << bit,
            )
    return swizzle
