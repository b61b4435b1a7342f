"""Shared-memory races, by vector clocks (one component per warp) and a shadow of every granule.

Two accesses to a granule race when different lanes make them, one of them writes, and nothing
orders them. What orders: a block barrier, among the warps that arrive and those that wait; a
`bar.warp.sync` or a block barrier, among the lanes of one warp. Lanes of a warp are not ordered by
running in lock step: since Volta nothing promises that they do. A copy that is in flight conflicts
with everything, its own lane included, until that lane has waited for it. Atomic updates do not
race with each other, but do with plain reads and writes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

IN_FLIGHT = 1 << 30  # later than any clock
READ, UPDATE = "read", "update"

Clocks = npt.NDArray[np.int32]


class Shadow:
    """Who last wrote each granule and who has used it since, for `blocks` blocks."""

    def __init__(self, blocks: int, warps: int, size: int, granule: int) -> None:
        self.warps = warps
        self.granule = granule
        self.pitch = -(-size // granule)
        cells = blocks * self.pitch
        self.clock: Clocks = np.zeros((blocks * warps, warps), np.int32)
        self.clock[:, :] = -1
        self.clock[np.arange(blocks * warps), np.arange(blocks * warps) % warps] = 0
        self.inner = np.zeros(blocks * warps, np.int32)
        self.writer = np.full(cells, -1, np.int32)  # 32 * warp + lane, within the block
        self.written = np.zeros((cells, 2), np.int32)  # the writer's clock, and its inner clock
        # Since that write: lanes (as bits of each warp) that have read it, and that have updated
        # it atomically; and when their warp last did.
        self.users = {kind: np.zeros((cells, warps), np.uint32) for kind in (READ, UPDATE)}
        self.used = {kind: np.zeros((cells, warps, 2), np.int32) for kind in (READ, UPDATE)}

    def cells(self, warps: Any, addresses: Any, size: int) -> Any:
        """For each access, the granules it touches."""
        count = max(1, size // self.granule)
        first = addresses.astype(np.int64) // self.granule + warps // self.warps * self.pitch
        return first[:, None] + np.arange(count)

    def _unordered_write(self, cells: Any, warps: Any, lanes: Any) -> Any:
        """Where the last write does not come before an access by these lanes."""
        writer = self.writer[cells]
        local = (warps % self.warps)[:, None]
        by, other = writer // 32, writer != local * 32 + lanes[:, None]
        flying = self.written[cells, 0] >= IN_FLIGHT
        same = by == local
        later = self.written[cells, 0] > self.clock[warps[:, None], np.maximum(by, 0)]
        inner = self.written[cells, 1] >= self.inner[warps][:, None]
        return (writer >= 0) & (flying | (other & np.where(same, inner, later)))

    def _unordered_use(self, kind: str, cells: Any, warps: Any, lanes: Any) -> Any:
        """Where a use by another lane does not come before an access by these lanes."""
        local = warps % self.warps
        mine = np.arange(self.warps)[None, None, :] == local[:, None, None]
        bit = np.left_shift(np.uint32(1), lanes.astype(np.uint32))
        users, used = self.users[kind][cells], self.used[kind][cells]
        others = np.where(mine, users & ~bit[:, None, None], users)
        later = used[..., 0] > self.clock[warps][:, None, :]
        inner = used[..., 1] >= self.inner[warps][:, None, None]
        return ((others != 0) & np.where(mine, inner, later)).any(axis=2)

    def _use(self, kind: str, cells: Any, warps: Any, lanes: Any) -> None:
        users, used = self.users[kind], self.used[kind]
        local = warps % self.warps
        own, inner = self.clock[warps, local], self.inner[warps]
        bits = np.left_shift(np.uint32(1), lanes.astype(np.uint32))
        for cell in cells.T:
            stale = (used[cell, local, 0] != own) | (used[cell, local, 1] != inner)
            users[cell[stale], local[stale]] = 0
            np.bitwise_or.at(users, (cell, local), bits)
            used[cell, local, 0] = own
            used[cell, local, 1] = inner

    def check_read(self, cells: Any, warps: Any, lanes: Any) -> Any:
        """Record reads; returns which of them race."""
        raced = self._unordered_write(cells, warps, lanes)
        raced |= self._unordered_use(UPDATE, cells, warps, lanes)
        self._use(READ, cells, warps, lanes)
        return raced

    def check_update(self, cells: Any, warps: Any, lanes: Any) -> Any:
        """Record atomic updates, which do not race with each other; returns which race."""
        raced = self._unordered_write(cells, warps, lanes)
        raced |= self._unordered_use(READ, cells, warps, lanes)
        self._use(UPDATE, cells, warps, lanes)
        return raced

    def check_write(self, cells: Any, warps: Any, lanes: Any, flying: bool = False) -> Any:
        """Record writes; returns which of them race."""
        raced = self._unordered_write(cells, warps, lanes)
        local = warps % self.warps
        for kind in (READ, UPDATE):
            raced |= self._unordered_use(kind, cells, warps, lanes)
            self.users[kind][cells] = 0
        self.writer[cells] = (local * 32 + lanes)[:, None]
        self.written[cells, 0] = IN_FLIGHT if flying else self.clock[warps, local][:, None]
        self.written[cells, 1] = IN_FLIGHT if flying else self.inner[warps][:, None]
        return raced

    def land(self, cells: Any, warps: Any) -> None:
        """Copies that were in flight count as written now."""
        local = warps % self.warps
        self.written[cells, 0] = self.clock[warps, local][:, None]
        self.written[cells, 1] = self.inner[warps][:, None]

    def order_lanes(self, warp: int) -> None:
        """All lanes of a warp have met."""
        self.inner[warp] += 1

    def release(self, warp: int, gathered: Clocks) -> None:
        """A warp arrives: what it has done is gathered, and what it does next is not."""
        np.maximum(gathered, self.clock[warp], out=gathered)
        self.clock[warp, warp % self.warps] += 1
        self.inner[warp] += 1

    def acquire(self, warp: int, gathered: Clocks) -> None:
        """A warp that waited learns of all that was gathered."""
        np.maximum(self.clock[warp], gathered, out=self.clock[warp])
