"""Where a packed mask lies, and what the kernel that packs it is told.

An axis along which the mask repeats (stride 0) is packed once. Bits come first, records of 128 keys
one after the other, in each record four words for every row; then a byte for each block of rows and
step of keys, a row of them padded to whole words:

>>> found = PackedMask((2, 4, 1000, 700), (700000, 0, 700, 1), rows=128, keys=64)
>>> found.extents, found.records, found.row_tiles, found.tiles
((2, 1, 1000, 700), 6, 8, 12)
>>> found.bits_bytes, found.bytes
(192000, 192192)
>>> found.blocks
96
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from tylo.layouts.errors import LaunchError
from tylo.proofs.specifications.attention_masks import RECORD_KEYS, RECORD_WORDS

_WORD_BYTES, _WORD_TILES = 4, 4
_MOST_BLOCKS = 2**31 - 1


class MaskArguments(ctypes.Structure):
    """The parameters of `cuda/attention/pack_mask.cuh`, one by one."""

    _fields_ = (
        *((name, ctypes.c_uint64) for name in ("mask", "bits", "kept")),
        *((f"mask_{axis}", ctypes.c_int64) for axis in ("batch", "head", "row", "key")),
        *(
            (name, ctypes.c_int32)
            for name in ("heads", "rows", "keys", "row_tiles", "records", "tiles")
        ),
    )


MASK_PARAMETERS = tuple(name for name, *_ in MaskArguments._fields_)


@dataclass(frozen=True, slots=True)
class PackedMask:
    """See the module: sizes and byte strides of batch, head, row and key; a block's rows, a step's
    keys. Raises `LaunchError` for a mask of more blocks than a grid has.
    """

    sizes: tuple[int, int, int, int]
    strides: tuple[int, int, int, int]
    rows: int
    keys: int

    def __post_init__(self) -> None:
        if self.blocks > _MOST_BLOCKS:
            raise LaunchError(
                f"packing a mask of {self.extents} takes {self.blocks} blocks",
                hint="split the batch into several calls",
                witness=self.blocks,
            )

    @property
    def extents(self) -> tuple[int, int, int, int]:
        """How many batches, heads and rows are packed, of how many keys."""
        batch, heads, rows = (
            size if stride else min(size, 1)
            for size, stride in zip(self.sizes[:3], self.strides[:3], strict=True)
        )
        return batch, heads, rows, self.sizes[3]

    @property
    def records(self) -> int:
        """Records of a row."""
        return -(-self.sizes[3] // RECORD_KEYS)

    @property
    def row_tiles(self) -> int:
        """Blocks of rows of a head."""
        return -(-self.extents[2] // self.rows)

    @property
    def tiles(self) -> int:
        """Bytes of a block of rows: its steps, up to whole records and words."""
        steps = self.records * (RECORD_KEYS // self.keys)
        return -(-steps // _WORD_TILES) * _WORD_TILES

    @property
    def blocks(self) -> int:
        """Blocks of the packing kernel."""
        batch, heads, _, _ = self.extents
        return batch * heads * self.row_tiles * self.records

    @property
    def bits_bytes(self) -> int:
        """Bytes of all records; the steps' bytes follow."""
        batch, heads, rows, _ = self.extents
        return batch * heads * self.records * rows * RECORD_WORDS * _WORD_BYTES

    @property
    def bytes(self) -> int:
        """Bytes of everything; the memory starts at a multiple of 16."""
        batch, heads, _, _ = self.extents
        return self.bits_bytes + batch * heads * self.row_tiles * self.tiles

    def arguments(self) -> MaskArguments:
        """What the packing kernel is told; addresses are left at 0."""
        _, heads, rows, keys = self.extents
        return MaskArguments(
            **dict(
                zip(("mask_batch", "mask_head", "mask_row", "mask_key"), self.strides, strict=True)
            ),
            heads=heads,
            rows=rows,
            keys=keys,
            row_tiles=self.row_tiles,
            records=self.records,
            tiles=self.tiles,
        )

    def strides_of_packed(self) -> dict[str, int]:
        """How far batches, heads, records and rows are apart, in words for bits, else in bytes."""
        _, heads, rows, _ = self.extents
        record = rows * RECORD_WORDS
        moves = [bool(stride) for stride in self.strides[:3]]
        return {
            "bits_batch": moves[0] * heads * self.records * record,
            "bits_head": moves[1] * self.records * record,
            "bits_record": record,
            "bits_row": moves[2] * RECORD_WORDS,
            "kept_batch": moves[0] * heads * self.row_tiles * self.tiles,
            "kept_head": moves[1] * self.row_tiles * self.tiles,
            "kept_row": moves[2] * self.tiles,
        }
