"""Tiles of rows that lie side by side in memory, taken as one array of elements.

A row of 33 BF16 begins anywhere, but 64 of them together are whole vectors. `FlatTile` is such a
piece of `rows` rows: threads copy vectors of it, and `lanes` lanes take `each` columns of a row.

>>> tile = FlatTile(vector=8, rows=64, lanes=4, each=9, threads=256)
>>> tile.passes, tile.copied(3, 1), tile.copies(33)
(1, 2072, 2)
>>> tile.row(5, 0), tile.column(5, 2)
(1, 11)

Rows of very few columns fit into a vector several at a time (`FewTile`):

>>> few = FewTile(vector=8, columns=2, repeats=2, threads=128)
>>> few.rows_of_lane, few.element(3, 1), few.row(3, 1, 2)
(8, 1048, 526)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tylo.layouts.errors import GenerationError
from tylo.layouts.ownership import Ownership
from tylo.proofs.specifications.softmax_tiles import SoftmaxTile

_LANES = 32


@dataclass(frozen=True, slots=True)
class FlatTile:
    """Rows of a block, copied in vectors and taken by `lanes` lanes of `each` columns a row.

    With `beside`, the columns of a lane lie side by side; else those of neighbouring lanes do.
    Raises `GenerationError` where passes over the rows or the copy do not come out even.
    """

    vector: int
    rows: int
    lanes: int
    each: int
    threads: int
    beside: bool = True

    def __post_init__(self) -> None:
        if self.threads % _LANES or self.rows * self.lanes % self.threads:
            raise GenerationError(
                f"{self.rows} rows of {self.lanes} lanes on {self.threads} threads",
                hint="give every thread the same number of rows",
            )

    @property
    def taken(self) -> SoftmaxTile:
        """Who takes which column of the rows of one pass."""
        warps = self.threads // _LANES
        if self.beside:
            return SoftmaxTile(self.each, self.lanes, row_warps=warps)
        return SoftmaxTile(1, self.lanes, repeats=self.each, row_warps=warps)

    @property
    def capacity(self) -> int:
        """The widest row."""
        return self.lanes * self.each

    @property
    def passes(self) -> int:
        """How often a thread takes a row."""
        return self.rows * self.lanes // self.threads

    @property
    def _copies(self) -> SoftmaxTile:
        return _along(self.vector, self.threads)

    def copied(self, thread: Any, number: Any) -> Any:
        """The first element of vector `number` of those that a thread copies."""
        return self._copies.column(thread, 0) + number * self._copies.step

    def copies(self, columns: int) -> int:
        """How many vectors of rows of so many columns a thread copies at most."""
        return -(-self.rows * columns // self._copies.step)

    def require(self, columns: int) -> None:
        """Raise `GenerationError` for rows that do not fit, or together end inside a vector."""
        if not 1 <= columns <= self.capacity:
            raise GenerationError(
                f"rows of {columns} columns in {self.lanes} lanes of {self.each}",
                hint=f"a tile of up to {self.capacity} columns; give lanes more of them",
            )
        if self.rows * columns % self.vector:
            raise GenerationError(
                f"{self.rows} rows of {columns} in vectors of {self.vector}",
                hint="take rows that together are whole vectors",
            )

    def row(self, thread: Any, number: Any) -> Any:
        """The row that a thread takes in pass `number`."""
        return self.taken.row(thread) + number * self.taken.block_rows

    def column(self, thread: Any, value: int) -> Any:
        """The column that is value `value` of a thread."""
        if self.beside:
            return self.taken.column(thread, 0) + value
        return self.taken.column(thread, value)


@dataclass(frozen=True, slots=True)
class FewTile:
    """Vectors that hold several rows of `columns` columns each, `repeats` of them a thread."""

    vector: int
    columns: int
    repeats: int
    threads: int

    def __post_init__(self) -> None:
        if self.vector % self.columns:
            raise GenerationError(
                f"rows of {self.columns} in vectors of {self.vector}",
                hint="use a width that divides the vector",
            )

    @property
    def ownership(self) -> Ownership:
        """(row, column) of every value of a lane; all warps are alike."""
        held = self.vector // self.columns
        pace = held * self.threads
        return Ownership.of(
            axes={"row": pace * self.repeats, "column": self.columns},
            values={
                "value": [(self.columns, "column", 1), (held, "row", 1)],
                "repeat_row": [(self.repeats, "row", pace)],
            },
            threads={
                "lane": [(_LANES, "row", held)],
                "warp": [(self.threads // _LANES, "row", held * _LANES)],
            },
            bits=32,
        )

    @property
    def rows_of_lane(self) -> int:
        """Whole rows that a lane holds."""
        return self.vector // self.columns * self.repeats

    @property
    def block_rows(self) -> int:
        """Rows of a block."""
        return self.rows_of_lane * self.threads

    def element(self, thread: Any, repeat: int) -> Any:
        """The first element, in memory, of a thread's vector number `repeat`."""
        row, column = self._owned(thread, repeat, 0)
        return row * self.columns + column

    def row(self, thread: Any, repeat: int, number: int) -> Any:
        """Row `number` of those in a thread's vector number `repeat`."""
        return self._owned(thread, repeat, number * self.columns)[0]

    def _owned(self, thread: Any, repeat: int, value: int) -> tuple[Any, ...]:
        warp = thread // _LANES
        return self.ownership(lane=thread % _LANES, warp=warp, value=value, repeat_row=repeat)


def _along(vector: int, threads: int) -> SoftmaxTile:
    """All threads of a block beside one another, as far as warps are powers of two."""
    return SoftmaxTile(vector, _LANES, threads // _LANES)
