"""From one tile and one rest for each mode to one tile and one rest for all.

`logical_divide` by a tuple gives `((tile0, rest0), (tile1, rest1))`. `hier_unzip` runs any such
splitter and gathers `((tile0, tile1), (rest0, rest1, ..))`; the modes beyond the tiler are rests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tylo.layouts.errors import LayoutError
from tylo.layouts.int_tuple import show
from tylo.layouts.layout import Layout, joined, like

Splitter = Callable[[Layout, Any], Layout]


def hier_unzip(splitter: Splitter, a: Layout, tiler: Any) -> Layout:
    """`(tiles, rests)` of `splitter(mode, entry)` over a tuple tiler; None has the tile `1:0`."""
    if tiler is None:
        return like(a, (1, a.shape), (0, a.stride))
    if not isinstance(tiler, tuple):
        return splitter(a, tiler)
    if not isinstance(a.shape, tuple) or len(a.shape) < len(tiler):
        raise LayoutError(
            f"{len(tiler)} entries of the tiler {show(tiler)} for {a}, of rank {len(a)}",
            hint="give at most one entry for each mode",
        )
    tiles, rests = [], []
    for mode, entry in zip(a, tiler, strict=False):
        tile, rest = hier_unzip(splitter, mode, entry)
        tiles.append(tile)
        rests.append(rest)
    rests += [a[mode] for mode in range(len(tiler), len(a))]
    return joined([joined(tiles), joined(rests)])
