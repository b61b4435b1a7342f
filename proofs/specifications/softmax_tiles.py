"""Which thread holds which element of a row: the tiles of the softmax kernels, as terms.

A row lies in memory, its columns side by side. A block (or a cluster of blocks) takes whole rows,
and each of its threads takes vectors of `vector` columns: `lanes` lanes of a warp lie side by side
along a row, then `warps` warps, then the `cluster` blocks, and that again `repeats` times. What is
left of a block holds further rows.

>>> from tylo.layouts.terms import name, show
>>> tile = SoftmaxTile(vector=4, lanes=32, warps=2, repeats=2)
>>> tile.threads, tile.block_rows, tile.capacity
(64, 1, 512)
>>> show(tile.column(name("thread"), 1)), tile.column(35, 1)
('256 + thread % 32 * 4 + thread / 32 * 128', 396)

A block of a cluster is further warps along the row, so that nothing new has to be said of it:

>>> SoftmaxTile(vector=4, lanes=32, warps=2, cluster=2).column(0, 0, rank=1)
256

Rows narrower than a warp's share leave lanes for more rows:

>>> narrow = SoftmaxTile(vector=4, lanes=8, row_warps=4)
>>> narrow.block_rows, narrow.row(35), narrow.column(35, 0)
(16, 4, 12)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tylo.layouts.errors import GenerationError
from tylo.layouts.exchange import ExchangePlan, replica, slot
from tylo.layouts.ownership import Ownership
from tylo.layouts.reduction import Reduction, reduction
from tylo.layouts.row_tiles import row_tile

_LANES, _BLOCK_THREADS, _CLUSTER = 32, 1024, 16
_VALUES = 510


@dataclass(frozen=True, slots=True)
class SoftmaxTile:
    """Vectors of a row over lanes, warps, blocks of a cluster and repeats; all numbers.

    Raises `GenerationError` for a block of more than 1024 threads, several warps or blocks along
    rows that do not fill a warp, and several rows in the blocks of a cluster.
    """

    vector: int
    lanes: int
    warps: int = 1
    repeats: int = 1
    row_warps: int = 1
    cluster: int = 1

    def __post_init__(self) -> None:
        if isinstance(self.repeats, int) and self.vector * self.repeats > _VALUES:
            raise GenerationError(
                f"{self.vector * self.repeats} values a thread",
                hint=f"255 registers hold {_VALUES} at most, two to a register",
            )
        _ = self.ownership  # its own refusals first
        if self.threads > _BLOCK_THREADS:
            raise GenerationError(
                f"{self.threads} threads a block", hint=f"a block holds {_BLOCK_THREADS}"
            )
        if self.lanes < _LANES and self.warps * self.cluster > 1:
            raise GenerationError(
                f"rows over {self.lanes} lanes of {self.warps * self.cluster} warps",
                hint="spread a row over whole warps, or over part of one",
            )
        powers = {1, 2, 4, 8, 16, 32}
        if self.warps not in powers or self.cluster not in powers or self.cluster > _CLUSTER:
            raise GenerationError(
                f"{self.warps} warps in {self.cluster} blocks along a row",
                hint="use powers of two, and at most 16 blocks",
            )
        if self.cluster > 1 and self.row_warps > 1:
            raise GenerationError(
                f"{self.row_warps} rows in the blocks of a cluster", hint="give a cluster one row"
            )

    @property
    def ownership(self) -> Ownership:
        """(row, column) of every value of every thread of a block, or of a cluster."""
        return row_tile(
            vector=self.vector,
            lanes=self.lanes,
            warps=self.warps * self.cluster,
            repeats=self.repeats,
            row_warps=self.row_warps,
        )

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return _LANES * self.warps * self.row_warps

    @property
    def block_rows(self) -> int:
        """Rows of a block."""
        return _LANES // self.lanes * self.row_warps

    @property
    def row_threads(self) -> int:
        """Threads along one row, in all blocks of a cluster."""
        return self.lanes * self.warps * self.cluster

    @property
    def step(self) -> int:
        """Columns from one repeat to the next."""
        return self.vector * self.row_threads

    @property
    def capacity(self) -> int:
        """Columns that all repeats hold."""
        return self.step * self.repeats

    @property
    def parts(self) -> int:
        """Warps that hold parts of one row, in all blocks of a cluster."""
        return self.warps * self.cluster

    def owner(self, thread: Any, rank: Any = 0) -> dict[str, Any]:
        """Lane and warp of a thread of block `rank` of its cluster."""
        warp = thread // _LANES
        if self.cluster > 1:
            warp = warp + rank * self.warps
        return {"lane": thread % _LANES, "warp": warp}

    def row(self, thread: Any) -> Any:
        """The row of a thread among those of its block."""
        row, _ = self.ownership(**self.owner(thread))
        return row

    def column(self, thread: Any, repeat: Any, rank: Any = 0) -> Any:
        """The first column of a thread's vector number `repeat`."""
        _, column = self.ownership(**self.owner(thread, rank), repeat_column=repeat)
        return column

    @property
    def singles(self) -> SoftmaxTile:
        """The same threads, each with a single column: who takes what no vector reaches."""
        return SoftmaxTile(1, self.lanes, self.warps, 1, self.row_warps, self.cluster)

    @property
    def exchange(self) -> Reduction:
        """The reduction along a row with the exchange between its warps; parts must be several."""
        plan = ExchangePlan("part", self.block_rows * self.parts, 0)
        return reduction(self.ownership, 1, plan)

    def own_slot(self, thread: Any, rank: Any = 0) -> Any:
        """The slot into which the statistics of a thread's warp go."""
        held = self.exchange.partial
        return slot(held, held(**self.owner(thread, rank)))

    def part_slot(self, thread: Any, part: Any) -> Any:
        """The slot of part number `part` of a thread's row."""
        held = self.exchange.partial
        row, _ = held(**self.owner(thread))
        return slot(held, (row, part))

    def part_copy(self, thread: Any) -> Any:
        """Which of a warp's lanes this is, all of which know the warp's statistics."""
        held = self.exchange.partial
        return replica(held, **self.owner(thread))

    def copy(self, thread: Any, rank: Any = 0) -> Any:
        """Which of the threads that know a row's statistics this is; number 0 writes them."""
        return replica(reduction_result(self), **self.owner(thread, rank))

    @property
    def part_tile(self) -> Ownership:
        """Who reads which part: lanes side by side, and copies where parts are fewer than lanes."""
        lanes = min(self.parts, _LANES)
        return Ownership.of(
            axes={"row": 1, "part": self.parts},
            values={"value": [(self.parts // lanes, "part", lanes)]},
            threads={"lane": [(lanes, "part", 1), (_LANES // lanes, None, 0)]},
            bits=32,
        )


def reduction_result(tile: SoftmaxTile) -> Ownership:
    """Who holds a row's statistics once warps have told each other."""
    found = tile.exchange if tile.parts > 1 else reduction(tile.ownership, 1)
    return found.result
