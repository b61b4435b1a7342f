"""Products of linear layouts and their undoing.

`product(inner, outer)` stacks bits: each input dimension counts through `inner` first and
`outer` above it, and outputs are stacked alike. Quotients remove what a product added.

>>> from tylo.layouts.linear.build import identity
>>> tile = product(identity(4, "register", "col"), identity(8, "lane", "row"))
>>> tile.bases
{'register': [(1, 0), (2, 0)], 'lane': [(0, 1), (0, 2), (0, 4)]}
>>> divide_left(tile, identity(2, "register", "col")).bases
{'register': [(1, 0)], 'lane': [(0, 1), (0, 2), (0, 4)]}
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from tylo.layouts.errors import LayoutError
from tylo.layouts.linear.value import LinearLayout, Sizes, bit_offsets, packed

Images = dict[str, list[tuple[int, ...]]]


def product(inner: LinearLayout, outer: LinearLayout) -> LinearLayout:
    """`inner` in the low bits of every dimension, `outer` in the bits above."""
    ins = _merged(inner.in_dims, outer.in_dims)
    outs = _merged(inner.out_dims, outer.out_dims)
    shifts = dict(zip([name for name, _ in outs], bit_offsets(outs), strict=True))
    below = dict(inner.out_dims)
    low = _moved(inner, [shifts[name] for name, _ in inner.out_dims])
    high = _moved(
        outer,
        [shifts[name] + below.get(name, 1).bit_length() - 1 for name, _ in outer.out_dims],
    )
    columns: list[int] = []
    for name, _ in ins:
        columns += low.get(name, [])
        columns += high.get(name, [])
    return packed(ins, outs, tuple(columns))


def _merged(a: Sizes, b: Sizes) -> Sizes:
    sizes = dict(a)
    for name, size in b:
        sizes[name] = sizes.get(name, 1) * size
    return tuple(sizes.items())


def _moved(layout: LinearLayout, shifts: list[int]) -> dict[str, list[int]]:
    """The columns of each input dimension, with each output dimension moved to its shift."""
    places = [
        (place, size - 1, shift)
        for (_, size), place, shift in zip(
            layout.out_dims, bit_offsets(layout.out_dims), shifts, strict=True
        )
    ]
    moved: dict[str, list[int]] = {}
    columns = iter(layout.columns)
    for name, size in layout.in_dims:
        moved[name] = [
            sum((column >> place & mask) << shift for place, mask, shift in places)
            for column in islice(columns, size.bit_length() - 1)
        ]
    return moved


def divide_left(whole: LinearLayout, inner: LinearLayout) -> LinearLayout:
    """The layout `R` with `product(inner, R) == whole`, up to dimensions of size 1.

    Raises `LayoutError` with the input where `whole` does not begin with `inner`.
    """
    low, above = dict(inner.in_dims), dict(inner.out_dims)
    _require_dims(whole, inner, "divide_left")
    bases, factor = whole.bases, inner.bases
    names = [name for name, _ in whole.out_dims]
    rest: Images = {}
    for name, images in bases.items():
        count = low.get(name, 1).bit_length() - 1
        for bit, image in enumerate(images):
            at = dict(zip(names, image, strict=True))
            inside = tuple(at[out] for out in above)
            if bit < count:
                fits = inside == factor[name][bit] and sum(image) == sum(inside)
            else:
                fits = all(at[out] % size == 0 for out, size in above.items())
            if not fits:
                raise LayoutError(
                    f"divide_left: {whole} does not begin with {inner}", witness={name: 1 << bit}
                )
        rest[name] = [
            tuple(entry // above.get(out, 1) for out, entry in zip(names, image, strict=True))
            for image in images[count:]
        ]
    return LinearLayout(rest, {name: size // above.get(name, 1) for name, size in whole.out_dims})


def divide_right(whole: LinearLayout, outer: LinearLayout) -> LinearLayout:
    """The layout `L` with `product(L, outer) == whole`, up to dimensions of size 1."""
    _require_dims(whole, outer, "divide_right")
    top, high = dict(outer.in_dims), dict(outer.out_dims)
    sizes = {name: size // high.get(name, 1) for name, size in whole.out_dims}
    names = list(sizes)
    factor = outer.bases
    rest: Images = {}
    for name, images in whole.bases.items():
        count = len(images) - (top.get(name, 1).bit_length() - 1)
        for bit, image in enumerate(images):
            at = dict(zip(names, image, strict=True))
            if bit < count:
                fits = all(at[out] < sizes[out] for out in names)
            else:
                lifted = dict(zip(high, factor[name][bit - count], strict=True))
                fits = all(at[out] == lifted.get(out, 0) * sizes[out] for out in names)
            if not fits:
                raise LayoutError(
                    f"divide_right: {whole} does not end with {outer}", witness={name: 1 << bit}
                )
        rest[name] = images[:count]
    return LinearLayout(rest, sizes)


def _require_dims(whole: LinearLayout, part: LinearLayout, rule: str) -> None:
    for kind, larger, smaller in (
        ("input", dict(whole.in_dims), part.in_dims),
        ("output", dict(whole.out_dims), part.out_dims),
    ):
        for name, size in smaller:
            if size > larger.get(name, 1):
                raise LayoutError(
                    f"{rule}: the {kind} {name} of size {size} is not part of {whole}",
                    witness=name,
                )


def quotient(layout: LinearLayout, dims: Iterable[str]) -> LinearLayout:
    """The layout without the dimensions that it only passes through.

    Each of `dims` is an input and an output of one size; the layout must be the identity on it,
    and no other input may reach it.

    >>> from tylo.layouts.linear.build import identity
    >>> quotient(product(identity(4, "block", "block"), identity(8, "x", "y")), ["block"]).bases
    {'x': [(1,), (2,), (4,)]}
    """
    gone = list(dims)
    names = [name for name, _ in layout.out_dims]
    rest: Images = {}
    for name, images in layout.bases.items():
        for bit, image in enumerate(images):
            at = dict(zip(names, image, strict=True))
            expected = {
                out: 1 << bit if out == name else 0 for out in (names if name in gone else gone)
            }
            if any(at.get(out) != value for out, value in expected.items()):
                raise LayoutError(
                    f"quotient: {layout} is not the identity on {', '.join(gone)}",
                    witness={name: 1 << bit},
                )
        if name not in gone:
            rest[name] = [
                tuple(e for out, e in zip(names, image, strict=True) if out not in gone)
                for image in images
            ]
    sizes = dict(layout.in_dims)
    for name, size in layout.out_dims:
        if name in gone and sizes.get(name, 1) != size:
            raise LayoutError(
                f"quotient: {name} has {sizes.get(name, 1)} inputs and {size} outputs", witness=name
            )
    return LinearLayout(rest, {n: s for n, s in layout.out_dims if n not in gone})
