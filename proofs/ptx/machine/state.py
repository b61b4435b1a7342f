"""The state of a launch: warps of 32 lanes, their registers, memories, and where they stand.

All warps of all resident blocks lie in arrays of shape (warps, 32). An instruction runs for `rows`
(a slice or an index array over warps) and a mask of active lanes (`None` for all of them).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tylo.proofs.ptx.machine.arrays import Arrays
from tylo.proofs.ptx.machine.decode import Registers, Step, Target
from tylo.proofs.ptx.machine.faults import MachineFault, place
from tylo.proofs.ptx.machine.memory import Space
from tylo.proofs.ptx.machine.races import Shadow
from tylo.proofs.ptx.opcodes.movement import WINDOWS


@dataclass(eq=False)
class State:
    """Registers, memories and clocks of the resident blocks; `first_block` numbers them."""

    warps: int  # of one block
    blocks: int
    first_block: int
    registers: Registers
    spaces: dict[str, Space]
    shared_size: int
    shared_pitch: int
    local_size: int
    local_pitch: int
    shadow: Shadow | None
    generator: np.random.Generator
    groups: Any  # committed groups of asynchronous copies, by warp and lane
    copies: list[Any] = field(default_factory=list)  # asynchronous copies not waited for
    domain: Arrays = field(default_factory=Arrays)
    approximate: set[str] = field(default_factory=set)

    def indices(self, rows: Any) -> Any:
        """The numbers of the warps that rows stand for."""
        return np.arange(self.blocks * self.warps)[rows]

    def fault(
        self, step: Step, kind: str, message: str, warp: int, lane: int, address: int | None = None
    ) -> MachineFault:
        """A fault of one lane, to be raised."""
        where = place(
            step.instruction, int(warp) + self.first_block * self.warps, int(lane), self.warps
        )
        return MachineFault(kind, message, where, address)

    def write(self, target: Target | None, rows: Any, mask: Any, value: Any) -> None:
        """Set a register in the active lanes."""
        if target is None:
            return
        if target.to != target.width and target.signed:
            value = self.domain.extend(value, target.width, target.to, True)
        register = self.registers[target.name]
        if mask is None:
            register[rows] = value
        elif isinstance(rows, slice):
            np.copyto(register[rows], value, where=mask)
        else:
            register[rows] = np.where(mask, value, register[rows])

    def active(self, rows: Any, mask: Any) -> tuple[Any, Any]:
        """The warp and lane number of every active lane, in order."""
        warps = self.indices(rows)
        if mask is None:
            mask = np.ones((len(warps), 32), np.bool_)
        row, lane = np.nonzero(mask)
        return warps[row], lane

    def lanes(self, value: Any, rows: Any, mask: Any) -> Any:
        """The active lanes of a value that may be one for all."""
        count = len(self.indices(rows))
        full = np.broadcast_to(np.asarray(value), (count, 32))
        return full[np.nonzero(mask)] if mask is not None else full.reshape(-1)

    def access(
        self, step: Step, space: str, addresses: Any, warps: Any, lanes: Any, size: int
    ) -> tuple[Space, Any]:
        """The space, and the addresses in it, of lanes' addresses; checks a lane's own bounds."""
        if not space:
            space = self._window(step, addresses, warps, lanes)
            addresses = addresses - np.uint64(WINDOWS[space])
        space = space.removesuffix("::cta")
        if space in ("global", "const"):
            return self.spaces[space], addresses
        size_of, pitch = (
            (self.shared_size, self.shared_pitch)
            if space == "shared"
            else (self.local_size, self.local_pitch)
        )
        outside = addresses > np.uint64(max(size_of - size, 0))
        outside |= size > size_of
        if outside.any():
            at = int(np.argmax(outside))
            message = f"{space} memory: outside of its {size_of} bytes"
            raise self.fault(step, "bounds", message, warps[at], lanes[at], int(addresses[at]))
        owner = warps // self.warps if space == "shared" else warps * 32 + lanes
        return self.spaces[space], addresses + owner.astype(np.uint64) * np.uint64(pitch)

    def _window(self, step: Step, addresses: Any, warps: Any, lanes: Any) -> str:
        """The space that generic addresses fall into, one for all lanes of an access."""
        found = addresses >> np.uint64(56)
        if (found != found[0]).any():
            at = int(np.argmax(found != found[0]))
            raise self.fault(
                step,
                "space",
                "lanes mix state spaces in one generic access",
                warps[at],
                lanes[at],
                int(addresses[at]),
            )
        return {1: "shared", 2: "local"}.get(int(found[0]), "global")
