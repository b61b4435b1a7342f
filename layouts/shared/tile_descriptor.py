"""Descriptors of tiles: how `wgmma` reads what TMA wrote, and where a read may start.

`tile_descriptor` gives the descriptor that reads `extent` rows or columns by one K step from a
`SharedTile`. A K-major tile holds K along its columns, an MN-major tile along its rows.

>>> from tylo.layouts.shared.shared_tile import SharedTile
>>> keys = SharedTile(rows=64, columns=128, element_bytes=2, swizzle=128)
>>> read = tile_descriptor(keys, "K", extent=64, k=80)
>>> read.start, read.stride, read.address(3, 4) == keys(3, 84)
(8224, 1024, True)
>>> values = tile_descriptor(keys, "MN", extent=128, k=16)
>>> values.start, values.leading, values.stride, values.address(70, 3) == keys(19, 70)
(2048, 8192, 1024, True)

Inside a swizzle row a start may advance by any 16-byte chunk from which the read stays in the row:
the exclusive-or takes row bits of the absolute address, and those the advance leaves alone.
`row_advances` lists them. From elsewhere the read runs over the row's end into the next row, which
belongs to other elements, and is refused with the first element that goes wrong:

>>> row_advances(keys, "K", extent=64)
(0, 16, 32, 48, 64, 80, 96)
>>> row_advances(keys, "MN", extent=32)
(0, 16, 32, 48, 64)
>>> tile_descriptor(keys, "K", extent=64, k=56)
Traceback (most recent call last):
tylo.layouts.errors.LayoutError: reading K-major from byte 112 of a 128-byte swizzle row takes 32 \
bytes and leaves the row (witness: (0, 8)); start at a chunk from 0 to 96
"""

from __future__ import annotations

from tylo.layouts.errors import LayoutError
from tylo.layouts.shared.matrix_descriptor import K_BYTES, MAJORS, MatrixDescriptor
from tylo.layouts.shared.shared_tile import ROW_GROUP, SharedTile
from tylo.layouts.shared.swizzle_mode import CHUNK

UNUSED_LEADING = CHUNK  # what a swizzled K-major descriptor carries in the field nobody reads


def tile_descriptor(
    tile: SharedTile, major: str, *, extent: int, mn: int = 0, k: int = 0, base: int = 0
) -> MatrixDescriptor:
    """The descriptor that reads elements (mn.., k..) of a tile at shared address `base`.

    `extent` is 64 for A and N for B. Raises `LayoutError` for a base that is no multiple of the
    swizzle's repeat (of 128 without one), a start inside a group of eight rows or inside a chunk, a
    read that leaves its swizzle row, and one that leaves the tile.
    """
    width, row_stride = tile.mode.width, ROW_GROUP * tile.mode.width
    k_extent = K_BYTES // tile.element_bytes
    if base < 0 or base % tile.mode.repeat:
        raise LayoutError(
            f"a tile at shared address {base}: under swizzle {tile.swizzle} the base is a multiple "
            f"of {tile.mode.repeat}",
            hint=f"align the buffer to {tile.mode.repeat} bytes",
            witness=base,
        )
    if major not in MAJORS:
        raise LayoutError(f"no major {major!r}", hint="use 'K' or 'MN'", witness=major)
    # Rows and columns of the tile, as (first, count).
    rows, columns = ((mn, extent), (k, k_extent)) if major == "K" else ((k, k_extent), (mn, extent))
    for what, (first, count), limit in (
        ("rows", rows, tile.rows),
        ("columns", columns, tile.columns),
    ):
        if first < 0 or count < 1 or first + count > limit:
            raise LayoutError(
                f"{what} {first}..{first + count - 1} of a tile of {limit} {what}",
                hint="read inside the tile",
                witness=first + count - 1,
            )
    if extent % 8 or rows[0] % ROW_GROUP:
        raise LayoutError(
            f"a read of {extent} from row {rows[0]}: extents and first rows are multiples of 8, "
            "because the swizzle starts again every eight rows",
            hint="start at a whole group of eight rows",
            witness=rows[0] if rows[0] % ROW_GROUP else extent,
        )
    panel, inside = divmod(columns[0] * tile.element_bytes, width)
    _require_in_row(tile, major, inside, columns[1] * tile.element_bytes)
    start = base + panel * tile.panel_bytes + rows[0] * width + inside
    leading, stride = {
        ("K", True): (UNUSED_LEADING, row_stride),
        ("K", False): (tile.panel_bytes, row_stride),
        ("MN", True): (tile.panel_bytes, row_stride),
        ("MN", False): (row_stride, tile.panel_bytes),
    }[major, bool(tile.swizzle)]
    return MatrixDescriptor(major, tile.swizzle, leading, stride, tile.element_bytes, start)


def row_advances(tile: SharedTile, major: str, *, extent: int) -> tuple[int, ...]:
    """The bytes by which a start may advance inside a swizzle row, for reads of that extent."""
    columns = K_BYTES // tile.element_bytes if major == "K" else extent
    reach = columns * tile.element_bytes
    return tuple(
        inside for inside in range(0, tile.mode.width, CHUNK) if _stays(tile, major, inside, reach)
    )


def _stays(tile: SharedTile, major: str, inside: int, reach: int) -> bool:
    """Whether a read of `reach` bytes along the row, from `inside` it, finds the tile's elements.

    MN-major reads from a row's start go on in the next panel, by the leading offset. Without a
    swizzle, chunks are panels of their own. K-major swizzled reads never leave their row.
    """
    continues = not tile.swizzle or (major == "MN" and inside == 0)
    return continues or inside + reach <= tile.mode.width


def _require_in_row(tile: SharedTile, major: str, inside: int, reach: int) -> None:
    if inside % CHUNK:
        raise LayoutError(
            f"a read from byte {inside} of a {tile.mode.width}-byte swizzle row: starts are whole "
            f"{CHUNK}-byte chunks",
            hint=f"start at a multiple of {CHUNK // tile.element_bytes} elements",
            witness=inside,
        )
    if not _stays(tile, major, inside, reach):
        width, first = tile.mode.width, (tile.mode.width - inside) // tile.element_bytes
        last = width - reach
        raise LayoutError(
            f"reading {major}-major from byte {inside} of a {width}-byte swizzle row takes {reach} "
            "bytes and leaves the row",
            hint=f"start at a chunk from 0 to {last}" if last > 0 else "start at the row's start",
            witness=(0, first) if major == "K" else (first, 0),
        )
