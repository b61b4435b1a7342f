"""A kernel whose PTX no contract covers: what is known of it, and what is not, by name.

The instructions of kernels with roles (`wgmma`, `mbarrier`, tensor copies) are not in the opcode
table, so that nothing is proven about their PTX. What can be checked of such a kernel are the index
claims that it was printed from, its text, made again, and its barriers, read back and explored.

>>> from tylo.proofs.pipelines.schedule import attention_schedule
>>> found = RoleKernel("attention", 384, ("sm_90a",), attention_schedule(1, 2), (), ())
>>> found.bounds
({'one_item': True}, 'one item of work, of any number of tiles')
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tylo.proofs.pipelines.schedule import Schedule

NOT_VALIDATED = "PTX not validated"


@dataclass(frozen=True, slots=True)
class RoleKernel:
    """Entry, threads of a block, architectures it is for, schedule, and what its launch assumes.

    `uncovered` names what no proof covers.
    """

    entry: str
    threads: int
    architectures: tuple[str, ...]
    schedule: Schedule
    assumptions: tuple[str, ...]
    uncovered: tuple[str, ...]

    @property
    def bounds(self) -> tuple[Mapping[str, Any], str]:
        """How far its barriers are explored in a check, for `explore` and in words."""
        if self.schedule.groups <= 2:
            return {"one_item": True}, "one item of work, of any number of tiles"
        # Enough tiles for every slot to come round twice.
        tiles = 2 * max(ring.slots for ring in self.schedule.rings) + 1
        return {"trips": (tiles,)}, f"one item of {tiles} tiles"
