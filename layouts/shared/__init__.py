"""Shared memory on Hopper: TMA boxes, matrix descriptors, bank conflicts, and swizzles to order.

`SharedTile` is a matrix as TMA lays it down; `tile_descriptor` is how `wgmma` reads it back;
`wavefronts` counts what an access costs, and `search_swizzle` finds the swizzle with the fewest.
`docs/shared_memory.md` walks through all of it.
"""

from tylo.layouts.shared.bank_conflicts import (
    Access,
    Wavefronts,
    fragment_accesses,
    wavefronts,
)
from tylo.layouts.shared.matrix_descriptor import MatrixDescriptor, decoded
from tylo.layouts.shared.shared_tile import SharedTile
from tylo.layouts.shared.swizzle_mode import MODES, SwizzleMode, swizzle_mode
from tylo.layouts.shared.swizzle_search import (
    SwizzleSearch,
    family,
    least_wavefronts,
    search_swizzle,
)
from tylo.layouts.shared.tile_descriptor import row_advances, tile_descriptor
from tylo.layouts.shared.tma_box import TmaBox

__all__ = [
    "MODES",
    "Access",
    "MatrixDescriptor",
    "SharedTile",
    "SwizzleMode",
    "SwizzleSearch",
    "TmaBox",
    "Wavefronts",
    "decoded",
    "family",
    "fragment_accesses",
    "least_wavefronts",
    "row_advances",
    "search_swizzle",
    "swizzle_mode",
    "tile_descriptor",
    "wavefronts",
]
