"""Who works on the last rows: blocks that stay share them out so that all end together.

Under a causal mask blocks that stay take pairs of row blocks, an early one and a late one, and all
pairs take alike. But pairs do not divide among blocks: of 1024 pairs, 132 blocks would take 8 turns
where 7.76 would do. So the pairs of the last turns are taken apart, and their halves given out one
by one, the longest first, always to the block that has the least to do (R. L. Graham, "Bounds on
Multiprocessing Timing Anomalies", 1969).

>>> import numpy
>>> shared = share_out(numpy.array([(3, 1)] * 5), blocks=2)
>>> shared.whole_turns, shared.halves
(1, ((0, 4), (2, 1, 3, 5)))

A half is numbered 2 * pair + (1 if it is the early one), counted from the first pair after the
whole turns. Here both blocks take 10 steps, where whole turns would leave 12 to one.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any

from tylo.layouts.errors import GenerationError
from tylo.proofs.specifications.attention_arguments import MOST_SHARES, SHARE_PLACES

NO_SHARE = 0xFFFF  # beyond all that is taken apart
_TURNS = 2  # at most, that are taken apart


@dataclass(frozen=True, slots=True)
class Shares:
    """Turns that every block takes whole, then the halves of each block, in its order."""

    whole_turns: int
    halves: tuple[tuple[int, ...], ...] = ()

    @property
    def places(self) -> int:
        """Places of a block in the table: one more than the most halves that a block has."""
        return 1 + max(map(len, self.halves), default=-1)

    def table(self) -> list[int]:
        """Halves of all blocks one after the other, each block's filled up with `NO_SHARE`."""
        return [
            half
            for own in self.halves
            for half in (*own, *(NO_SHARE,) * (self.places - len(own)))
        ]  # fmt: skip


def share_out(pairs: Any, *, blocks: int) -> Shares:
    """Shares of so many blocks in pairs, whole turns alone where there are too many for a table.

    `pairs` is an array (pairs, 2): how long the late and the early half take; 0 is no half. Raises
    `GenerationError` where a half would be given out twice or not at all.
    """
    most = min(MOST_SHARES, SHARE_PLACES // blocks) - 1
    turns = min(_TURNS, most // 2)
    if turns < 1:
        return Shares(-(-len(pairs) // blocks))
    whole = max(0, len(pairs) // blocks - turns + 1)
    first = whole * blocks
    before = pairs[:first].sum(axis=1).reshape(whole, blocks).sum(axis=0)
    halves = sorted(
        (-time, half) for half, time in enumerate(pairs[first:].ravel().tolist()) if time
    )
    given: list[list[int]] = [[] for _ in range(blocks)]
    loads = [(load, block) for block, load in enumerate(before.tolist())]
    heapq.heapify(loads)
    for time, half in halves:
        load, block = heapq.heappop(loads)
        given[block].append(half)
        if len(given[block]) < most:
            heapq.heappush(loads, (load - time, block))
    if sorted(half for own in given for half in own) != sorted(half for _, half in halves):
        raise GenerationError("halves are shared out twice, or not at all")
    return Shares(whole, tuple(map(tuple, given)))
