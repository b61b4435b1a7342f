"""Products: copies of one layout, arranged by another.

Rule: `logical_product(A, B) == (A, composition(complement(A, size(A)*cosize(B)), B))`: mode 0 is
the block `A`, and mode 1 places one copy of it for each coordinate of `B`, in the order of `B`, in
the gaps of `A` first.

>>> from tylo.layouts.layout import Layout
>>> print(logical_product(Layout((2, 2), (1, 2)), 5))
((2,2),5):((1,2),4)
>>> print(logical_product(Layout(4, 2), Layout(2)))
(4,2):(2,1)

`blocked_product` and `raked_product` pair mode `i` of the block with mode `i` of the tiler, block
first or tiler first:

>>> block, tiler = Layout((2, 2), (1, 2)), Layout((2, 3))
>>> print(blocked_product(block, tiler), raked_product(block, tiler))
((2,2),(2,3)):((1,4),(2,8)) ((2,2),(3,2)):((4,1),(8,2))
"""

from __future__ import annotations

from typing import Any

from tylo.layouts.algebra.coalesce import by_profile
from tylo.layouts.algebra.complement import complement
from tylo.layouts.algebra.composition import composition
from tylo.layouts.algebra.modes import append
from tylo.layouts.algebra.unzip import hier_unzip
from tylo.layouts.errors import LayoutError
from tylo.layouts.layout import Layout, as_layout, compact, joined


def logical_product(a: Layout, b: Any) -> Layout:
    """Copies of `A` for each element of `B`; an integer `n` is `n` copies, a tuple is by mode.

    Raises `LayoutError` when `A` has no complement, or when no layout is `B` after it.
    """
    if isinstance(b, Layout):
        try:
            places = composition(complement(a, a.size() * b.cosize()), b)
        except LayoutError as error:
            raise LayoutError(
                f"logical_product({a}, {b}): {error.message}",
                hint=error.hint,
                witness=error.witness,
            ) from error
        return joined((a, places))
    if b is None:
        return a
    if isinstance(b, tuple):
        return by_profile(logical_product, a, b, "logical_product")
    return logical_product(a, compact(b))


def zipped_product(a: Layout, b: Any) -> Layout:
    """`logical_product` with all blocks in mode 0 and all copies in mode 1."""
    return hier_unzip(logical_product, a, b)


def tiled_product(a: Layout, b: Any) -> Layout:
    """`zipped_product` with the copies as modes of their own: `(block, copies0, copies1, ..)`."""
    block, copies = zipped_product(a, b)
    return joined([block, *copies])


def flat_product(a: Layout, b: Any) -> Layout:
    """`zipped_product` with blocks and copies as modes of their own."""
    block, copies = zipped_product(a, b)
    return joined([*block, *copies])


def blocked_product(a: Layout, b: Any) -> Layout:
    """Mode `i` is `(block i, copies i)`: blocks stay together."""
    block, copies = _of_one_rank(a, as_layout(b))
    return joined(joined(pair) for pair in zip(block, copies, strict=True))


def raked_product(a: Layout, b: Any) -> Layout:
    """Mode `i` is `(copies i, block i)`: blocks are spread through the copies."""
    block, copies = _of_one_rank(a, as_layout(b))
    return joined(joined(pair) for pair in zip(copies, block, strict=True))


def _of_one_rank(a: Layout, b: Layout) -> tuple[Layout, Layout]:
    rank = max(len(a), len(b))
    block, copies = logical_product(append(a, None, rank), append(b, None, rank))
    return block, copies
