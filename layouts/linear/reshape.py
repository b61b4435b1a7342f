"""Other names, orders and sizes for the same bits.

>>> from tylo.layouts.linear.build import identity
>>> from tylo.layouts.linear.product import product
>>> tile = product(identity(4, "register", "col"), identity(8, "lane", "row"))
>>> reshape_outs(tile, {"offset": 32}).bases
{'register': [(1,), (2,)], 'lane': [(4,), (8,), (16,)]}
>>> transpose_outs(tile, ["row", "col"]).bases
{'register': [(0, 1), (0, 2)], 'lane': [(1, 0), (2, 0), (4, 0)]}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tylo.layouts.errors import LayoutError
from tylo.layouts.linear.solve import repacked
from tylo.layouts.linear.value import LinearLayout, Sizes, packed, require_power_of_two, total_bits


def reshape_ins(layout: LinearLayout, dims: Mapping[str, int]) -> LinearLayout:
    """The same input bits, first dimension lowest, under other names and sizes."""
    return packed(_resized(layout.in_dims, dims, "reshape_ins"), layout.out_dims, layout.columns)


def reshape_outs(layout: LinearLayout, dims: Mapping[str, int]) -> LinearLayout:
    """The same output bits, first dimension lowest, under other names and sizes."""
    return packed(layout.in_dims, _resized(layout.out_dims, dims, "reshape_outs"), layout.columns)


def transpose_ins(layout: LinearLayout, order: Sequence[str]) -> LinearLayout:
    """The input dimensions in another order."""
    ins = _reordered(layout.in_dims, order, "transpose_ins")
    images, columns = iter(layout.columns), {}
    for name, size in layout.in_dims:
        columns[name] = [next(images) for _ in range(size.bit_length() - 1)]
    moved = tuple([column for name, _ in ins for column in columns[name]])
    return packed(ins, layout.out_dims, moved)


def transpose_outs(layout: LinearLayout, order: Sequence[str]) -> LinearLayout:
    """The output dimensions in another order."""
    outs = _reordered(layout.out_dims, order, "transpose_outs")
    return packed(
        layout.in_dims, outs, repacked(layout.columns, layout.out_dims, outs, "transpose_outs")
    )


def sublayout(layout: LinearLayout, ins: Iterable[str], outs: Iterable[str]) -> LinearLayout:
    """The part from some inputs to some outputs: other inputs 0, other outputs dropped.

    >>> from tylo.layouts.linear.build import identity
    >>> from tylo.layouts.linear.product import product
    >>> tile = product(identity(4, "register", "col"), identity(8, "lane", "row"))
    >>> sublayout(tile, ["lane"], ["row"]).bases
    {'lane': [(1,), (2,), (4,)]}
    """
    names = [name for name, _ in layout.out_dims]
    kept = list(outs)
    for name in kept:
        if name not in names:
            raise LayoutError(f"sublayout: {layout} has no output {name}", witness=name)
    bases = layout.bases
    chosen = {}
    for name in ins:
        if name not in bases:
            raise LayoutError(f"sublayout: {layout} has no input {name}", witness=name)
        chosen[name] = [
            tuple(e for out, e in zip(names, image, strict=True) if out in kept)
            for image in bases[name]
        ]
    return LinearLayout(chosen, {n: s for n, s in layout.out_dims if n in kept})


def _resized(old: Sizes, dims: Mapping[str, int], rule: str) -> Sizes:
    new = tuple((str(name), int(size)) for name, size in dict(dims).items())
    bits = sum(require_power_of_two(size, name) for name, size in new)
    if bits != total_bits(old):
        raise LayoutError(
            f"{rule}: {dict(new)} has {bits} bits where {dict(old)} has {total_bits(old)}",
            witness=bits,
        )
    return new


def _reordered(old: Sizes, order: Sequence[str], rule: str) -> Sizes:
    sizes = dict(old)
    if sorted(order) != sorted(sizes):
        raise LayoutError(
            f"{rule}: {list(order)} is no order of the dimensions {list(sizes)}",
            witness=next(iter({*order} ^ {*sizes}), None),
        )
    return tuple((name, sizes[name]) for name in order)
