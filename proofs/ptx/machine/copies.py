"""`cp.async`: copies from global to shared memory that complete late (PTX ISA 9.7.9.25.3).

A copy reads its source and writes its destination at any time between its issue and the wait for
it: here at a random one. Its bytes are in flight until the lane that issued it has waited; then
they are that lane's write, and need a barrier before other lanes may touch them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tylo.proofs.ptx.machine.accesses import check_write, faulty
from tylo.proofs.ptx.machine.decode import Step
from tylo.proofs.ptx.machine.state import State


@dataclass(eq=False)
class Copy:
    """One lane's copy: `taken` bytes from `source`, zeros up to `size`."""

    step: Step
    warp: int
    lane: int
    group: int
    target: int
    source: int
    size: int
    taken: int
    cells: Any
    done: bool = False

    def carry_out(self, state: State) -> None:
        """Move the bytes."""
        if self.done:
            return
        self.done = True
        fault = faulty(state, self.step, [self.warp] * 4, [self.lane] * 4)
        offsets = np.arange(0, self.size, 4, dtype=np.uint64)
        values = np.zeros(len(offsets), np.uint64)
        taken = offsets < self.taken
        if taken.any():
            sources = np.uint64(self.source) + offsets[taken]
            values[taken] = state.spaces["global"].read(sources, 4, fault)
        state.spaces["shared"].write(np.uint64(self.target) + offsets, values, 4, fault)


def copy(state: State, step: Step, rows: Any, mask: Any) -> None:
    """Issue; the destination counts as written from now on."""
    assert step.address is not None
    source, size, *rest = step.sources
    warps, lanes = state.active(rows, mask)
    if not len(warps):
        return
    targets = state.lanes(step.address(rows), rows, mask)
    sources = state.lanes(source(rows), rows, mask)
    taken = state.lanes(rest[0](rows) if rest else np.uint64(size), rows, mask)
    for addresses in (targets, sources):
        misaligned = addresses % np.uint64(size) != 0
        if misaligned.any():
            at = int(np.argmax(misaligned))
            message = f"a copy at an address that is no multiple of {size}"
            raise state.fault(step, "alignment", message, warps[at], lanes[at], int(addresses[at]))
    _, within = state.access(step, "shared", targets, warps, lanes, size)
    cells = check_write(state, step, "shared", within, warps, lanes, size, flying=True)
    for index in range(len(warps)):
        warp, lane = int(warps[index]), int(lanes[index])
        state.copies.append(
            Copy(
                step,
                warp,
                lane,
                int(state.groups[warp, lane]),
                int(within[index]),
                int(sources[index]),
                size,
                min(int(taken[index]), size),
                None if cells is None else cells[index],
            )
        )


def commit(state: State, step: Step, rows: Any, mask: Any) -> None:
    """Close the lane's group of copies."""
    warps, lanes = state.active(rows, mask)
    state.groups[warps, lanes] += 1


def wait(state: State, step: Step, rows: Any, mask: Any) -> None:
    """All but the most recent n groups of the lane have landed."""
    (recent,) = step.sources
    _land(state, rows, mask, state.groups - recent)


def wait_all(state: State, step: Step, rows: Any, mask: Any) -> None:
    """Every copy of the lane has landed, committed or not."""
    _land(state, rows, mask, state.groups + 1)


def _land(state: State, rows: Any, mask: Any, before: Any) -> None:
    warps, lanes = state.active(rows, mask)
    waiting = set(zip(warps.tolist(), lanes.tolist(), strict=True))
    remaining = []
    for item in state.copies:
        if (item.warp, item.lane) in waiting and item.group < before[item.warp, item.lane]:
            item.carry_out(state)
            if state.shadow is not None:
                state.shadow.land(item.cells[None, :], np.array([item.warp]))
        else:
            remaining.append(item)
    state.copies[:] = remaining


def drift(state: State) -> None:
    """Some copies that are in flight complete by themselves."""
    if state.copies and state.generator.random() < 0.5:
        count = int(state.generator.integers(1, 9))
        for index in state.generator.integers(len(state.copies), size=count):
            state.copies[index].carry_out(state)
