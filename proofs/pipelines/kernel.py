"""A kernel with roles: its schedule, what its PTX is held to, and what no proof covers, by name.

Threads of such a kernel do different things, and its instructions (`wgmma`, `mbarrier`, tensor
copies) work beside the threads that issue them, so that no effect says what it does. What is
checked of it are the index claims that it was printed from; its text, made again, and its barriers,
read back and explored; and that in its PTX every thread makes exactly the steps of its protocol.

>>> from tylo.proofs.pipelines.schedule import attention_schedule
>>> found = RoleKernel("attention", 384, ("sm_90a",), attention_schedule(1, 2), (), (), validated)
>>> found.bounds
({'one_item': True}, 'one item of work, of any number of tiles')
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from tylo.layouts.errors import PtxError
from tylo.proofs.pipelines.schedule import Schedule
from tylo.proofs.ptx.failures import Solve
from tylo.proofs.ptx.validate import Validation

Validated: TypeAlias = Callable[[str, str, Solve], Validation]
"""PTX text, architecture and solvers to the verdicts on every obligation."""


def validated(text: str, architecture: str, solve: Solve) -> Validation:
    """What is said of PTX that nothing is known to hold of."""
    raise PtxError("no protocol is stated for this kernel")


@dataclass(frozen=True, slots=True)
class RoleKernel:
    """Entry, threads of a block, architectures it is for, schedule, and what its launch assumes.

    `uncovered` names what no proof covers, `validate` is what its PTX is held to.
    """

    entry: str
    threads: int
    architectures: tuple[str, ...]
    schedule: Schedule
    assumptions: tuple[str, ...]
    uncovered: tuple[str, ...]
    validate: Validated

    @property
    def bounds(self) -> tuple[Mapping[str, Any], str]:
        """How far its barriers are explored in a check, for `explore` and in words."""
        if self.schedule.groups <= 2:
            return {"one_item": True}, "one item of work, of any number of tiles"
        # Enough tiles for every slot to come round twice.
        tiles = 2 * max(ring.slots for ring in self.schedule.rings) + 1
        return {"trips": (tiles,)}, f"one item of {tiles} tiles"
