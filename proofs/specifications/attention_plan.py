"""One attention kernel: its sizes, its schedule, and where everything lies in shared memory.

Each tile is a `SharedTile` under the 128-byte swizzle, each at a multiple of 1024 bytes, the
barriers behind them. What is launched dynamically may start anywhere, so that 1024 bytes more are
needed.

>>> worked = Plan(depth=64, dtype="bf16", groups=2, keys=64, stages=4)
>>> print(worked.place("k"), worked.tile("k").layout())
16384 Sw<3,4,3>@8 o 0 o (64,(64,1)):(128,(2,8192))
>>> [(each.name, worked.barrier_place(each.name)) for each in worked.schedule.barriers][:3]
[('q_full', 98304), ('q_empty', 98312), ('k_full', 98320)]
>>> worked.threads, worked.shared_bytes, worked.registers
(384, 99472, (32, 232))
"""

from __future__ import annotations

from dataclasses import dataclass

from tylo.layouts.shared import SharedTile
from tylo.proofs.pipelines.schedule import Schedule, attention_schedule

GROUP_ROWS, GROUP_THREADS = 64, 128
SWIZZLE = 128
ALIGNMENT = 1024  # the swizzle's repeat; dynamic shared memory itself starts anywhere
BARRIER_BYTES = 8
ELEMENT_BYTES = 2
# Shared memory of a multiprocessor of compute capability 9.0, where a block's has to lie.
SHARED_BYTES = 233472
FIRST_TURN = 1  # named barrier 0 is that of the whole block

# (producer, consumer) registers per thread after the roles have parted, by groups and residents.
# What is given up and taken sums to no more than the block was launched with.
REGISTERS = {
    (1, 1): (56, 240),
    (1, 2): (40, 216),
    (1, 3): (32, 128),
    (2, 1): (32, 232),
    (3, 1): (32, 160),
}


@dataclass(frozen=True, slots=True)
class Plan:
    """See the module. `turns` is whether groups start their products in turn; `reference` what a
    row's exponents are taken from; `residents` how many blocks a multiprocessor holds; `mask`
    whether steps of keys and scores are left out that a packed mask drops.
    """

    depth: int
    dtype: str
    groups: int
    keys: int
    stages: int
    residents: int = 1
    turns: bool = True
    reference: str = "lagging"
    mask: bool = False

    @property
    def threads(self) -> int:
        """Threads of a block: the consumer groups, and the producer's."""
        return (self.groups + 1) * GROUP_THREADS

    @property
    def rows(self) -> int:
        """Query rows of a block."""
        return self.groups * GROUP_ROWS

    @property
    def registers(self) -> tuple[int, int]:
        """Registers per thread of the producer and of a consumer."""
        return REGISTERS[self.groups, self.residents]

    @property
    def schedule(self) -> Schedule:
        """Who waits for what."""
        return attention_schedule(self.groups, self.stages, self.turns)

    def tile(self, name: str) -> SharedTile:
        """The tile of ``q``, ``k``, ``v`` or ``out``; q and out are those of one group."""
        rows = {"q": GROUP_ROWS, "k": self.keys, "v": self.keys, "out": GROUP_ROWS}[name]
        return SharedTile(rows, self.depth, element_bytes=ELEMENT_BYTES, swizzle=SWIZZLE)

    def copies(self, name: str) -> int:
        """How many such tiles lie one after the other: one per group, or one per stage."""
        return {"q": self.groups, "k": self.stages, "v": self.stages, "out": self.groups}[name]

    def place(self, name: str) -> int:
        """Where the first of them starts, in bytes from the aligned base."""
        start = 0
        for each in ("q", "k", "v", "out"):
            if each == name:
                return start
            start += self.tile(each).bytes * self.copies(each)
        return start

    def barrier_place(self, name: str) -> int:
        """Where a barrier's first slot lies."""
        start = self.place("barriers")
        for each in self.schedule.barriers:
            if each.name == name:
                return start
            start += BARRIER_BYTES * self.schedule.ring(each.ring).slots
        return start

    @property
    def shared_bytes(self) -> int:
        """Dynamic shared memory, with what aligning its start may cost."""
        return ALIGNMENT + self.barrier_place("end")
