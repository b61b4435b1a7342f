"""Which thread holds which element of rows that run across memory, as terms.

A softmax along an axis that is not the innermost has rows side by side in memory: element (row,
column) lies beside (row + 1, column), and a row's next column is a whole stride away. So lanes lie
side by side along rows, each with a vector of `vector` rows, and a thread goes down the columns.
Lanes of a warp that are left over, and `warps` warps, take further columns; `row_warps` warps
further rows.

>>> from tylo.layouts.terms import name, show
>>> tile = AcrossTile(vector=4, lanes=32, repeats=8, warps=4)
>>> tile.threads, tile.block_rows, tile.step
(128, 128, 32)
>>> show(tile.row(name("thread"))), show(tile.column(name("thread"), 1))
('thread % 32 * 4', '4 + thread / 32')

Eight lanes along the rows leave four columns side by side in a warp:

>>> narrow = AcrossTile(vector=4, lanes=8, repeats=2)
>>> [(narrow.row(thread), narrow.column(thread, 0)) for thread in (0, 7, 8, 31)]
[(0, 0), (28, 0), (0, 1), (28, 3)]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tylo.layouts.errors import GenerationError
from tylo.layouts.exchange import ExchangePlan, replica, slot
from tylo.layouts.ownership import Ownership
from tylo.layouts.reduction import Reduction, reduction
from tylo.layouts.row_tiles import row_tile
from tylo.proofs.specifications.softmax_tiles import SoftmaxTile

_LANES, _BLOCK_THREADS = 32, 1024


@dataclass(frozen=True, slots=True)
class AcrossTile:
    """Rows over vectors and lanes, columns over left-over lanes, warps and repeats; all numbers.

    Raises `GenerationError` for numbers of warps that are no powers of two, and for a block of more
    than 1024 threads.
    """

    vector: int
    lanes: int
    repeats: int
    warps: int = 1
    row_warps: int = 1

    def __post_init__(self) -> None:
        _ = self.ownership  # its own refusals first
        powers = {1, 2, 4, 8, 16, 32}
        if self.lanes not in powers or self.warps not in powers or self.row_warps not in powers:
            raise GenerationError(
                f"{self.lanes} lanes and {self.row_warps} warps along rows, {self.warps} warps "
                "along columns",
                hint="use powers of two up to 32",
            )
        if self.threads > _BLOCK_THREADS:
            raise GenerationError(
                f"{self.threads} threads a block", hint=f"a block holds {_BLOCK_THREADS}"
            )

    @property
    def ownership(self) -> Ownership:
        """(row, column) of every value of every thread of a block, at one step."""
        return self._owned(self.repeats)

    @property
    def states(self) -> Ownership:
        """Who holds a state of which row, of columns that are told apart by lane and warp alone."""
        return self._owned(1)

    def _owned(self, repeats: int) -> Ownership:
        beside = _LANES // self.lanes
        columns = beside * self.warps
        rows = self.vector * self.lanes
        return Ownership.of(
            axes={"row": rows * self.row_warps, "column": columns * repeats},
            values={
                "value": [(self.vector, "row", 1)],
                "repeat_column": [(repeats, "column", columns)],
            },
            threads={
                "lane": [(self.lanes, "row", self.vector), (beside, "column", 1)],
                "warp": [(self.warps, "column", beside), (self.row_warps, "row", rows)],
            },
            bits=32,
        )

    @property
    def of_lane(self) -> Reduction:
        """The reduction of a lane's own values, into a state for each row of its vector."""
        held = Ownership.of(
            axes={"row": self.vector * _LANES, "column": self.repeats},
            values={
                "value": [(self.vector, "row", 1)],
                "repeat_column": [(self.repeats, "column", 1)],
            },
            threads={"lane": [(_LANES, "row", self.vector)]},
            bits=32,
        )
        return reduction(held, 1)

    @property
    def of_warp(self) -> Reduction:
        """The reduction of the states of lanes that hold columns of the same rows."""
        return reduction(AcrossTile(self.vector, self.lanes, 1).states, 1)

    @property
    def of_parts(self) -> Reduction:
        """The reduction of the states of all warps along one row, in one lane."""
        return reduction(row_tile(vector=self.warps, lanes=1), 1)

    @property
    def exchange(self) -> Reduction:
        """The reduction of all states, with the exchange between warps; these must be several."""
        plan = ExchangePlan("part", self.block_rows * self.warps, 0)
        return reduction(self.states, 1, plan)

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return _LANES * self.warps * self.row_warps

    @property
    def block_rows(self) -> int:
        """Rows of a block."""
        return self.vector * self.lanes * self.row_warps

    @property
    def step(self) -> int:
        """Columns that a block takes at a time."""
        return _LANES // self.lanes * self.warps * self.repeats

    def row(self, thread: Any) -> Any:
        """The first row of a thread's vectors, among those of its block."""
        return self._place(thread, 0)[0]

    def column(self, thread: Any, repeat: Any) -> Any:
        """The column of a thread's vector number `repeat`, in its step."""
        return self._place(thread, repeat)[1]

    def own_slot(self, thread: Any, value: Any) -> Any:
        """The slot into which a thread's state of row number `value` of its vector goes."""
        return self.exchange.write_slot(thread, value)

    def part_copy(self, thread: Any) -> Any:
        """Which of a warp's lanes this is that know the same states; number 0 writes them."""
        held = self.exchange.partial
        return replica(held, **_owner(thread))

    def part_slot(self, row: Any, part: Any) -> Any:
        """The slot of the state of a row of the block in warp number `part` along it."""
        return slot(self.exchange.partial, (row, part))

    @property
    def turns(self) -> int:
        """How often a thread merges the parts of a row."""
        return -(-self.block_rows // self.threads)

    def merged(self, thread: Any, turn: Any) -> Any:
        """The row whose parts a thread merges; there may be fewer rows than threads."""
        along = SoftmaxTile(1, _LANES, self.warps * self.row_warps, self.turns)
        return along.column(thread, turn)

    def copy(self, thread: Any) -> Any:
        """Which of the threads that know the statistics of a row this is; number 0 writes them."""
        found = self.exchange if self.warps > 1 else reduction(self.states, 1)
        return replica(found.result, **_owner(thread))

    def _place(self, thread: Any, repeat: Any) -> tuple[Any, Any]:
        row, column = self.ownership(**_owner(thread), value=0, repeat_column=repeat)
        return row, column


def _owner(thread: Any) -> dict[str, Any]:
    return {"lane": thread % _LANES, "warp": thread // _LANES}
