"""What an attention kernel is told at its launch: four tensor maps, and one structure of numbers.

>>> [(offset, name) for offset, name, _ in fields()][-3:]
[(168, 'factor'), (172, 'lag'), (176, 'zero')]
>>> table_offset(), structure_bytes()
(180, 1768)
"""

from __future__ import annotations

MAPS = ("q", "k", "v", "out")
MAP_BYTES, MAP_ALIGNMENT = 128, 64
# `Arguments` of `cuda/attention/work.cuh`, field by field.
ARGUMENTS = (
    *((name, "u64") for name in ("lse", "out", "bits", "kept")),
    *((f"bits_{axis}", "s64") for axis in ("batch", "head", "record", "row")),
    *((f"kept_{axis}", "s64") for axis in ("batch", "head", "row")),
    *((f"out_{axis}", "s64") for axis in ("batch", "head", "row")),
    *(
        (name, "s32")
        for name in (
            "queries", "keys", "heads", "sharing", "diagonal",
            "row_tiles", "places", "all_heads", "run", "paired", "whole_turns", "shares",
        )
    ),
    *((name, "f32") for name in ("unit", "scale", "factor", "lag")),
    ("zero", "u32"),
)  # fmt: skip
ARGUMENTS_ALIGNMENT = 8
# Behind them lies a table of 16-bit numbers: the halves of items that each block takes last.
SHARE_PLACES = 792  # six for each of 132 blocks; long parameters make a launch slower
MOST_SHARES = 16  # places of one block
SHARE_BYTES = 2
# Lengths beyond leave no room in 32 bits for the rows of a block that has more rows than there are.
MOST_LENGTH = 2**31 - 1024
MOST_ITEMS = 2**30


def fields() -> list[tuple[int, str, str]]:
    """Offset, name and type of each field: each at a multiple of its size."""
    found, offset = [], 0
    for name, kind in ARGUMENTS:
        size = int(kind[1:]) // 8
        offset = -(-offset // size) * size
        found.append((offset, name, kind))
        offset += size
    return found


def table_offset() -> int:
    """Where the table of shares begins."""
    offset, _, kind = fields()[-1]
    return offset + int(kind[1:]) // 8


def structure_bytes() -> int:
    """The bytes of the structure."""
    end = table_offset() + SHARE_PLACES * SHARE_BYTES
    return -(-end // ARGUMENTS_ALIGNMENT) * ARGUMENTS_ALIGNMENT
