"""Which thread of a softmax kernel stores what, as terms: vectors, single columns, log-sum-exp.

Thread t of a row stores vectors t, t + threads, ... of the row's *body*. Where every row is whole
aligned vectors, that is the row. Elsewhere its body is the aligned vectors that lie inside the row;
the columns before them (head) and after them (tail), less than a vector each, are single ones:
thread e stores column e of the head, thread vector + e column e of the tail.

>>> from tylo.proofs.specifications.softmax_tiles import SoftmaxTile
>>> part = Parts(SoftmaxTile(vector=4, lanes=32), "row_stride", "x_phase")
>>> from tylo.layouts.terms import evaluate
>>> sizes = {"columns": 21, "row_stride": 21, "x_phase": 0}
>>> [evaluate(each(3), sizes) for each in (part.head, part.body, part.tail)]
[1, 20, 0]
>>> [evaluate(each(2), sizes) for each in (part.head, part.body, part.tail)]
[2, 16, 3]

Of an element at (row, column) the owner is written down as well, as an inverse of all this: the
body's vectors are counted from a few before it, so that no term is negative.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tylo.layouts.terms import Integer, name
from tylo.proofs.effects import Element, Less, Part, Store
from tylo.proofs.specifications.softmax_tiles import SoftmaxTile

_COLUMNS = name("columns")
_BEFORE = 4  # vectors before the body, from where an inverse counts


@dataclass(frozen=True, slots=True)
class Parts:
    """Head, body and tail of a row, given its number; `phase` is empty for whole vectors alone."""

    tile: SoftmaxTile
    stride: str
    phase: str = ""

    def start(self, row: Integer) -> Integer:
        """How many elements after an aligned vector a row starts."""
        return (row * name(self.stride) + name(self.phase)) % self.tile.vector

    def head(self, row: Integer) -> Integer:
        """Columns before the body."""
        if not self.phase:
            return 0
        return (self.tile.vector - self.start(row)) % self.tile.vector

    def tail(self, row: Integer) -> Integer:
        """Columns after the body."""
        if not self.phase:
            return 0
        return (_COLUMNS + self.tile.vector - self.head(row)) % self.tile.vector

    def body(self, row: Integer) -> Integer:
        """Columns of the body."""
        return _COLUMNS - self.head(row) - self.tail(row)


@dataclass(frozen=True, slots=True)
class Stores:
    """The stores of one kernel: its tile, and what the terms of its rows are."""

    tile: SoftmaxTile
    streamed: bool
    given: Parts  # of the input
    wanted: Parts  # of the output
    bits: int  # of an element of the output
    most: int  # elements of one store

    def probabilities(self, value: Part) -> Iterator[Store]:
        """All stores of probabilities."""
        together = [] if not self.given.phase else [self._together(False)]
        yield from self._vectors(value, self.most, together)
        if self.given.phase:
            yield from self._vectors(value, 1, [self._together(True)])
            yield from self._singles(value)

    def log_sum_exp(self, value: Part, alone: bool) -> Store:
        """By the first thread of a row, once; alone, it is what tells how many steps there are."""
        here = row_of(self.tile)
        element = replace(self._writer(), row=here, thread=self._thread(0), step=0)
        where = [self._exists(), Less(in_row(self.tile), 1)]
        if not (alone and self.streamed):
            return Store("lse", here * 4, (value,), 1, tuple(where), element)
        where.append(Less(name("step"), 1))
        return Store("lse", here * 4, (value,), self._repeat(), tuple(where), element)

    def _vectors(self, value: Part, size: int, where: list[Less]) -> Iterator[Store]:
        """Vectors of the body, in stores of `size` elements."""
        tile, here = self.tile, row_of(self.tile)
        step: Integer = name("step") * tile.capacity if self.streamed else 0
        for number in range(tile.repeats):
            first = step + column_of(tile, number)
            inside = Less(first, self.given.body(here))
            for start in range(0, tile.vector, size):
                at = self.given.head(here) + (first + start)
                element = replace(self._writer(), row=here, column=at)
                conditions = [self._exists(), inside, *where]
                yield self._store(at, value, size, self._repeat(), conditions, element)

    def _singles(self, value: Part) -> Iterator[Store]:
        """The columns of a head, and those of a tail."""
        tile, here = self.tile, row_of(self.tile)
        single = in_row(tile)
        element = replace(self._writer(), row=here, step=0)
        for at, where, who in (
            (
                single,
                [Less(single, self.given.head(here))],
                (name("column") + 2 * tile.row_threads) % tile.row_threads,
            ),
            (
                self.given.head(here) + self.given.body(here) + (single - tile.vector),
                [
                    Less(tile.vector - 1, single),
                    Less(single, self.given.tail(here) + tile.vector),
                ],
                self._after() % tile.vector + tile.vector,
            ),
        ):
            owner = replace(element, column=at, thread=self._thread(who))
            conditions = [self._exists(), *where, *([Less(name("step"), 1)] * self.streamed)]
            yield self._store(at, value, 1, self._repeat(), conditions, owner)

    def _store(
        self,
        at: Integer,
        value: Part,
        size: int,
        repeat: Integer,
        where: list[Less],
        element: Element,
    ) -> Store:
        offset = (element.row * name(self.wanted.stride) + at) * (self.bits // 8)
        return Store("out", offset, (value,) * size, repeat, tuple(where), element)

    def _repeat(self) -> Integer:
        """Steps of the widest row: others have no more."""
        capacity = self.tile.capacity
        return (_COLUMNS + (capacity - 1)) // capacity if self.streamed else 1

    def _exists(self) -> Less:
        return Less(row_of(self.tile), name("rows"))

    def _together(self, apart: bool) -> Less:
        """Whether output and input begin alike in a vector, or not."""
        here, vector = row_of(self.tile), self.tile.vector
        difference = (self.given.start(here) + vector - self.wanted.start(here)) % vector
        return Less(0, difference) if apart else Less(difference, 1)

    def _writer(self) -> Element:
        """Who writes an element of the body; row and column are for the store to say."""
        tile, row = self.tile, name("row")
        after, threads, vectors = self._after(), tile.row_threads, tile.capacity // tile.vector
        vector = (after // tile.vector + (threads - _BEFORE)) % threads
        step: Integer = 0
        if self.streamed:
            step = (after // tile.vector + (vectors - _BEFORE)) // vectors - 1
        if not self.given.phase:
            vector = name("column") // tile.vector % tile.row_threads
            step = name("column") // tile.capacity if self.streamed else 0
        return Element(0, 0, row // tile.block_rows, self._thread(vector), step)

    def _after(self) -> Integer:
        """How far a column is from some vectors before the body."""
        return name("column") + _BEFORE * self.tile.vector - self.given.head(name("row"))

    def _thread(self, number: Integer) -> Integer:
        """The thread of a block that has a number among those of its row."""
        return name("row") % self.tile.block_rows * self.tile.row_threads + number


def row_of(tile: SoftmaxTile) -> Integer:
    """The row of a thread."""
    return name("block") * tile.block_rows + row_in_block(tile)


def row_in_block(tile: SoftmaxTile) -> Integer:
    """The row of a thread among those of its block."""
    return name("thread") // tile.row_threads if tile.block_rows > 1 else 0


def in_row(tile: SoftmaxTile) -> Integer:
    """The number of a thread among those of its row."""
    return name("thread") % tile.row_threads if tile.block_rows > 1 else name("thread")


def column_of(tile: SoftmaxTile, number: int) -> Integer:
    """The first column of a thread's vector number `number`, from the body on."""
    return in_row(tile) * tile.vector + number * tile.step
