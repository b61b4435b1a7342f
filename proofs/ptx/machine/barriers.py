"""Block barriers: who has arrived, who waits, and what goes wrong (PTX ISA 9.7.13.1).

A barrier opens once as many threads have arrived as it expects: a stated count, or all threads of
the block that have not exited. `sync` waits, `arrive` does not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tylo.proofs.ptx.machine.decode import Step
from tylo.proofs.ptx.machine.state import State


@dataclass(eq=False)
class Barrier:
    """One of a block's sixteen; `expected` is 0 for all threads."""

    expected: int
    arrived: int = 0
    waiting: list[tuple[int, Any, Step]] = field(default_factory=list)
    gathered: Any = None


class Barriers:
    """The barriers of all resident blocks."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.open: dict[tuple[int, int], Barrier] = {}

    def arrive(self, step: Step, warp: int, mask: Any, number: int, count: int, wait: bool) -> None:
        """Lanes of one warp arrive, and wait unless they only `arrive`."""
        state = self.state
        lane = int(np.argmax(mask))
        if not 0 <= number < 16:
            raise state.fault(step, "barrier", f"there is no barrier {number}", warp, lane)
        if count % 32 or not 0 <= count <= 32 * state.warps:
            message = f"{count} threads are no whole number of the block's warps"
            raise state.fault(step, "barrier", message, warp, lane)
        barrier = self.open.setdefault((warp // state.warps, number), Barrier(count))
        if barrier.expected != count:
            expected, given = barrier.expected or "all", count or "all"
            message = f"barrier {number} expects {expected} threads, not {given}"
            raise state.fault(step, "barrier", message, warp, lane)
        barrier.arrived += int(np.count_nonzero(mask))
        if count and barrier.arrived > count:
            message = f"barrier {number} expects {count} threads, more arrive"
            raise state.fault(step, "barrier", message, warp, lane)
        if state.shadow is not None:
            if barrier.gathered is None:
                barrier.gathered = np.full(state.warps, -1, np.int32)
            state.shadow.release(warp, barrier.gathered)
        if wait:
            barrier.waiting.append((warp, mask, step))

    def complete(self, live: Any, only: tuple[int, int] | None = None) -> list[tuple[int, Any]]:
        """Open every barrier that is full, or one if it is; returns who goes on."""
        freed: list[tuple[int, Any]] = []
        for block, number in list(self.open) if only is None else [only]:
            barrier = self.open[block, number]
            first = block * self.state.warps
            threads = barrier.expected or int(
                np.count_nonzero(live[first : first + self.state.warps])
            )
            if barrier.arrived < threads:
                continue
            for warp, mask, _ in barrier.waiting:
                if self.state.shadow is not None:
                    self.state.shadow.acquire(warp, barrier.gathered)
                freed.append((warp, mask))
            del self.open[block, number]
        return freed

    def stuck(self) -> tuple[Step, int, int] | None:
        """A lane that waits."""
        for barrier in self.open.values():
            for warp, mask, step in barrier.waiting:
                return step, warp, int(np.argmax(mask))
        return None
