"""Recasting: the same memory in wider or narrower elements.

Rule of `upcast(A, n)`: the offsets of `A`, in groups of `n` neighbours, are exactly the offsets of
the result: `{A(i)} == {n*R(j) + t : t < n}`, each as often. `downcast(A, n)` is the reverse.

>>> from tylo.layouts.layout import Layout
>>> print(upcast(Layout((2, 512), (512, 1)), 2), downcast(Layout((4, 8), (8, 1)), 2))
(2,256):(256,1) (4,16):(16,1)
>>> print(recast(Layout((8, 4)), 16, 32))
(4,4):(1,4)

A group that `A` only reaches in part is refused, where others round:

>>> upcast(Layout((3, 4)), 2)
Traceback (most recent call last):
tylo.layouts.errors.LayoutError: upcast((3,4):(1,3), 2): the extent 3 is no multiple of 2 \
(witness: 3); choose a width that groups whole modes
"""

from __future__ import annotations

from typing import NoReturn

from tylo.layouts.errors import LayoutError
from tylo.layouts.int_tuple import flatten, unflatten
from tylo.layouts.layout import Layout, require_numbers, trusted


def upcast(layout: Layout, n: int) -> Layout:
    """The layout of groups of `n` neighbouring elements.

    A stride that `n` divides is divided; a smaller one must divide `n`, and its mode gives up the
    part that lies inside a group. Together those parts must be the whole group.
    """
    require_numbers("upcast", layout)
    if n == 1:
        return layout
    shape: list[int] = []
    strides: list[int] = []
    inside: list[tuple[int, int]] = []
    for extent, stride in zip(flatten(layout.shape), flatten(layout.stride), strict=True):
        if stride % n == 0:
            shape.append(extent)
            strides.append(stride // n)
        elif stride < 0 or n % stride:
            _no_upcast(layout, n, f"the stride {stride} neither divides {n} nor is divided by it")
        else:
            part = min(extent, n // stride)
            if extent % part:
                _no_upcast(layout, n, f"the extent {extent} is no multiple of {part}", extent)
            inside.append((stride, part))
            shape.append(extent // part)
            strides.append(1)
    covered = 1
    for stride, part in sorted(inside):
        if part > 1 and stride != covered:
            _no_upcast(layout, n, f"inside a group the stride {stride} follows {covered} offsets")
        covered *= part
    if covered != n:
        _no_upcast(layout, n, f"the layout reaches {covered} of the {n} neighbours in a group")
    return _like(layout, shape, strides)


def downcast(layout: Layout, n: int) -> Layout:
    """The layout of the `n` parts of each element: the mode of stride 1 is `n` times as long."""
    require_numbers("downcast", layout)
    if n == 1:
        return layout
    leaves = list(zip(flatten(layout.shape), flatten(layout.stride), strict=True))
    unit = [mode for mode, (_, stride) in enumerate(leaves) if stride == 1]
    if len(unit) != 1:
        raise LayoutError(
            f"downcast({layout}, {n}): {len(unit)} modes of stride 1, so that the parts of an "
            "element have no one mode to go to",
            hint="append a mode of extent 1 and stride 1" if not unit else "make it injective",
            witness=n - 1,
        )
    return _like(
        layout,
        [n * extent if stride == 1 else extent for extent, stride in leaves],
        [1 if stride == 1 else n * stride for extent, stride in leaves],
    )


def recast(layout: Layout, old_bits: int, new_bits: int) -> Layout:
    """The layout for elements of `new_bits`, of memory laid out in elements of `old_bits`.

    Raises `LayoutError` when neither width divides the other: no whole number of 6-bit elements
    fits a byte.
    """
    if new_bits % old_bits == 0:
        return upcast(layout, new_bits // old_bits)
    if old_bits % new_bits == 0:
        return downcast(layout, old_bits // new_bits)
    raise LayoutError(
        f"recast({layout}, {old_bits}, {new_bits}): neither of {old_bits} and {new_bits} bits is "
        "a multiple of the other",
        hint="go through a width that both divide",
        witness=new_bits % old_bits,
    )


def _no_upcast(layout: Layout, n: int, why: str, witness: int | None = None) -> NoReturn:
    raise LayoutError(
        f"upcast({layout}, {n}): {why}",
        hint="choose a width that groups whole modes",
        witness=n if witness is None else witness,
    )


def _like(layout: Layout, shape: list[int], strides: list[int]) -> Layout:
    return trusted(unflatten(tuple(shape), layout.shape), unflatten(tuple(strides), layout.stride))
