"""What PTX itself names: predefined identifiers, and the versions of the language.

A text that declares a predefined identifier anew means one thing to who reads the declaration and
another to who knows the special register, so `parser` refuses it.

>>> {"%tid", "%tid.x", "%clock64", "%pm3", "%envreg31", "WARP_SZ"} <= PREDEFINED
True
>>> VERSIONS[0], VERSIONS[-1]
('2.3', '9.5')
"""

from __future__ import annotations

# Special registers (PTX ISA 10) with four components.
_VECTORS = (
    *("tid", "ntid", "ctaid", "nctaid"),
    *("clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid"),
)
_SCALARS = (
    *("laneid", "warpid", "nwarpid", "smid", "nsmid", "gridid"),
    *("cluster_ctarank", "cluster_nctarank", "is_explicit_cluster"),
    *(f"lanemask_{order}" for order in ("eq", "le", "lt", "ge", "gt")),
    *("clock", "clock_hi", "clock64", "globaltimer", "globaltimer_lo", "globaltimer_hi"),
    *(f"pm{index}" for index in range(8)),
    *(f"pm{index}_64" for index in range(8)),
    *(f"envreg{index}" for index in range(32)),
    *("total_smem_size", "aggr_smem_size", "dynamic_smem_size", "current_graph_exec"),
    *(f"reserved_smem_offset_{part}" for part in ("begin", "end", "cap", "0", "1")),
)

PREDEFINED = frozenset(
    {
        "WARP_SZ",
        *(f"%{name}" for name in (*_VECTORS, *_SCALARS)),
        *(f"%{name}.{axis}" for name in _VECTORS for axis in "xyzw"),
    }
)
"""Identifiers that no text may declare (PTX ISA 4.4, 10)."""

# The last minor version of each major one that has `.address_size` (PTX ISA 13; NVRTC 13.5
# writes 9.5).
_LAST_MINORS = {2: 3, 3: 2, 4: 3, 5: 1, 6: 5, 7: 8, 8: 8, 9: 5}

VERSIONS: tuple[str, ...] = tuple(
    f"{major}.{minor}"
    for major, last in _LAST_MINORS.items()
    for minor in range(3 if major == 2 else 0, last + 1)
)
"""Versions of PTX whose meaning Tylo knows."""
