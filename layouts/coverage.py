"""Coverage: whether every element of a tile has an owner, and equally many of them.

This is the structural check of an instruction table: it enumerates, and uses nothing but the
table. An accumulator owns each element once; a digit that moves nothing adds owners evenly.

>>> from tylo.layouts.atoms import atom
>>> from tylo.layouts.tiling import tile_operand
>>> mma = atom("mma.m16n8k16.bf16")
>>> require_covers(mma.operand("C").ownership)
1
>>> require_covers(tile_operand(mma, "A", warps_n=2))
2

A table whose upper lanes broadcast leaves half of its tile unowned:

>>> from tylo.layouts.ownership import Ownership
>>> broken = Ownership.of(
...     axes={"m": 2, "k": 8}, bits=16,
...     values={"value": [(4, "k", 1)]}, threads={"lane": [(2, None, 0), (2, "m", 1)]},
... )
>>> require_covers(broken)
Traceback (most recent call last):
tylo.layouts.errors.OwnershipError: 8 of 16 elements have an owner, 8 have none \
(witness: {'m': 0, 'k': 4}); the digits must reach every coordinate of the tile
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence

from tylo.layouts.errors import OwnershipError
from tylo.layouts.ownership import Ownership


def require_covers(ownership: Ownership) -> int:
    """How many owners each element of the tile has.

    Raises `OwnershipError` with the counts and the first coordinate, in row-major order, with the
    fewest owners, unless all have as many; and where sizes are symbolic.
    """
    threads, values = ownership.thread_count, ownership.value_count
    shape = [extent for extent in ownership.shape if isinstance(extent, int)]
    if ownership.symbols or not (isinstance(threads, int) and isinstance(values, int)):
        raise OwnershipError(
            f"sizes {', '.join(ownership.symbols)} are symbolic",
            hint="substitute the sizes, or prove the claim that each element is owned once",
        )
    held = Counter(
        ownership.coordinates(thread, value) for thread in range(threads) for value in range(values)
    )
    least, most = min(held[each] for each in _tile(shape)), max(held.values())
    if least == most:
        return most
    first = next(each for each in _tile(shape) if held[each] == least)
    witness = dict(zip(ownership.axis_names, first, strict=True))
    if least:
        raise OwnershipError(
            f"an element has {least} owners, another {most}",
            hint="replicate a tile evenly, by a digit that moves nothing",
            witness=witness,
        )
    elements = math.prod(shape)
    raise OwnershipError(
        f"{len(held)} of {elements} elements have an owner, {elements - len(held)} have none",
        hint="the digits must reach every coordinate of the tile",
        witness=witness,
    )


def _tile(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    return itertools.product(*map(range, shape))
