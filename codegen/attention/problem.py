"""One attention problem: sizes, strides, scale and masks, and what a kernel is told of them.

Strides count elements, the mask's bytes; each is of batch, head, row, and of columns only for the
mask. What the kernel is told is the same for every call of a problem but for three addresses:

>>> problem = Problem(
...     batch=2, heads=8, key_heads=2, queries=130, keys=67, depth=64, dtype="bf16",
...     q=(66560, 8320, 64), k=(8576, 4288, 64), v=(8576, 4288, 64), out=(66560, 8320, 64),
...     scale=0.125, causal="bottom_right",
... )
>>> problem.diagonal, problem.row_tiles(128)
(-63, 2)

Row i keeps key j when ``j <= i + diagonal`` and j is a key: without a causal mask `diagonal` is the
number of keys.

The exponent of a score is ``unit * (score - maximum)``. A scale that is not positive, or that no
float32 holds with room to spare, goes into the scores first, and the unit is 1.
"""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from typing import Any

from tylo.codegen.attention.packed_mask import PackedMask
from tylo.codegen.attention.shares import Shares, share_out
from tylo.layouts.errors import LaunchError
from tylo.proofs.specifications.attention_arguments import (
    ARGUMENTS,
    MOST_ITEMS,
    MOST_LENGTH,
    SHARE_PLACES,
)

CAUSAL = (None, "top_left", "bottom_right")
LAG = 8.0  # log2 units that a row's maximum may exceed the one in use
_ORDINARY = (2.0**-40, 2.0**40)
_TYPES: dict[str, Any] = {
    "u64": ctypes.c_uint64,
    "s64": ctypes.c_int64,
    "s32": ctypes.c_int32,
    "u32": ctypes.c_uint32,
    "f32": ctypes.c_float,
}
# A run of heads whose keys and values stay in the second-level cache.
_CACHED_BYTES = 32 << 20
_ITEM_STEPS = 2  # what beginning and ending an item takes, in steps of keys

Strides = tuple[int, int, int]


class Arguments(ctypes.Structure):
    """`Arguments` of `cuda/attention/work.cuh`, field by field, as the PTX is held to them."""

    _fields_ = (
        *((name, _TYPES[kind]) for name, kind in ARGUMENTS),
        ("last", ctypes.c_uint16 * SHARE_PLACES),
    )


@dataclass(frozen=True, slots=True)
class Problem:
    """See the module. `mask` holds the byte strides of batch, head, row and key, or is None.

    Raises `LaunchError` for head counts that do not divide, sizes that 32-bit coordinates do not
    hold, and a scale that is no finite number.
    """

    batch: int
    heads: int
    key_heads: int
    queries: int
    keys: int
    depth: int
    dtype: str
    q: Strides
    k: Strides
    v: Strides
    out: Strides
    scale: float
    causal: str | None = None
    mask: tuple[int, int, int, int] | None = None

    def __post_init__(self) -> None:
        if self.causal not in CAUSAL:
            raise LaunchError(
                f"causal is {self.causal!r}",
                hint="use None, 'top_left' (torch's) or 'bottom_right' (FlashAttention's)",
            )
        if not math.isfinite(self.scale):
            raise LaunchError(f"the scale is {self.scale}", hint="pass a finite number")
        if self.heads and (self.key_heads < 1 or self.heads % self.key_heads):
            raise LaunchError(
                f"{self.heads} query heads do not divide over {self.key_heads} key heads",
                hint="every key head serves the same number of query heads",
                witness=(self.heads, self.key_heads),
            )
        if self.queries + self.keys > MOST_LENGTH:
            raise LaunchError(
                f"{self.queries} queries and {self.keys} keys: 32-bit coordinates hold at most "
                f"{MOST_LENGTH} together",
                hint="split the queries into several calls",
            )

    @property
    def empty(self) -> bool:
        """Whether there is nothing to compute."""
        return not (self.batch and self.heads and self.queries)

    @property
    def diagonal(self) -> int:
        """How far right of its own number a row still keeps keys."""
        return {None: self.keys, "top_left": 0, "bottom_right": self.keys - self.queries}[
            self.causal
        ]

    def row_tiles(self, rows: int) -> int:
        """Blocks of `rows` query rows per head."""
        return -(-self.queries // rows)

    def places(self, rows: int, *, persistent: bool) -> int:
        """Rounds of work per head: blocks of rows, or pairs of them where later ones take longer.

        Pairs all take alike, so that blocks that stay can share them out beforehand.
        """
        tiles = self.row_tiles(rows)
        return -(-tiles // 2) if persistent and self.causal is not None else tiles

    def items(self, rows: int, *, persistent: bool) -> int:
        """Places of all heads; `LaunchError` beyond what 32 bits count."""
        items = self.places(rows, persistent=persistent) * self.heads * self.batch
        if items > MOST_ITEMS:
            raise LaunchError(
                f"{items} blocks of {rows} rows",
                hint="split the batch into several calls",
                witness=items,
            )
        return items

    @property
    def run(self) -> int:
        """How many heads take their rows in turn: as many as the cache holds keys and values of."""
        if self.causal is None:
            return 1
        each = max(1, 2 * 2 * self.keys * self.depth * self.key_heads // max(1, self.heads))
        return max(1, min(self.batch * self.heads, _CACHED_BYTES // each))

    def packed_mask(self, rows: int, keys: int) -> PackedMask | None:
        """The mask as blocks of `rows` rows and steps of `keys` keys read it, if there is any."""
        if self.mask is None or not self.keys:
            return None
        return PackedMask((self.batch, self.heads, self.queries, self.keys), self.mask, rows, keys)

    def steps(self, row_tile: int, rows: int, keys: int) -> int:
        """Steps of `keys` keys that rows of block number `row_tile` see."""
        end = min(self.keys, min((row_tile + 1) * rows, self.queries) + self.diagonal)
        return max(0, -(-end // keys))

    def shares(self, rows: int, keys: int, blocks: int) -> Shares:
        """How so many blocks that stay share out pairs of row blocks; see `shares`."""
        import numpy

        tiles, heads = self.row_tiles(rows), self.heads * self.batch
        steps = [_ITEM_STEPS + self.steps(tile, rows, keys) for tile in range(tiles)]
        times = [
            (steps[tiles - 1 - place], steps[place] if 2 * place + 1 < tiles else 0)
            for place in range(self.places(rows, persistent=True))
        ]
        index = numpy.arange(len(times) * heads)
        run, rest = numpy.divmod(index, self.run * len(times))
        place = rest // numpy.minimum(self.run, heads - run * self.run)
        pairs = numpy.array(times).reshape(-1, 2)[place]
        return share_out(pairs, blocks=blocks)

    def arguments(
        self,
        rows: int,
        *,
        persistent: bool,
        packed: PackedMask | None = None,
        keys: int,
        blocks: int,
    ) -> Arguments:
        """What a kernel of so many blocks of `rows` rows and steps of `keys` keys is told.

        Addresses are left at 0.
        """
        paired = persistent and self.causal is not None
        items = self.items(rows, persistent=persistent)
        shares = self.shares(rows, keys, blocks) if paired else Shares(-(-items // blocks))
        unit = self.scale * math.log2(math.e)
        ordinary = _ORDINARY[0] <= unit <= _ORDINARY[1]
        return Arguments(
            **({} if packed is None else packed.strides_of_packed()),
            **dict(zip(("out_batch", "out_head", "out_row"), self.out, strict=True)),
            queries=self.queries,
            keys=self.keys,
            heads=self.heads,
            sharing=self.heads // self.key_heads,
            diagonal=self.diagonal,
            row_tiles=self.row_tiles(rows),
            places=self.places(rows, persistent=persistent),
            all_heads=self.heads * self.batch,
            run=self.run,
            paired=int(paired),
            whole_turns=shares.whole_turns,
            shares=shares.places,
            last=(ctypes.c_uint16 * SHARE_PLACES)(*shares.table()),
            unit=unit if ordinary else 1.0,
            scale=self.scale if ordinary else math.log(2),
            factor=1.0 if ordinary else unit,
            lag=LAG / unit if ordinary else LAG,
            zero=0,
        )
