"""What the kernel of narrow rows side by side must do to memory, for every number of rows.

A block takes `rows` rows of `columns` elements, which together are whole vectors: thread t stores
vectors t, t + threads, ... of them. A vector that lies inside the array is stored whole, the last
one, if it does not, element by element. The elements lie in shared memory on the way, where each
row is taken by lanes that know nothing of vectors. Every probability is computed from its own row
of the input, and of the mask, alone.

>>> tile = FlatTile(vector=4, rows=64, lanes=4, each=9, threads=256)
>>> case = FlatCase(tile, 33, "f32")
>>> [store.bits for store in effect(case).stores][:5]
[128, 32, 32, 32, 128]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tylo.layouts.errors import GenerationError
from tylo.layouts.terms import Integer, name
from tylo.proofs.claims import Claim, Conjunct
from tylo.proofs.effects import (
    Buffer,
    Effect,
    Element,
    Less,
    Matrix,
    Parameter,
    Source,
    Store,
    computed,
)
from tylo.proofs.specifications import reduction, softmax_state
from tylo.proofs.specifications.softmax import BITS, ENTRY, ROWS, STORE_BITS, known_types, named
from tylo.proofs.specifications.softmax_flat_tiles import FlatTile
from tylo.proofs.specifications.softmax_masks import (
    MODES,
    mask_end,
    mask_parameters,
    mask_row,
    rows_fit,
)

_THREAD, _BLOCK = name("thread"), name("block")


@dataclass(frozen=True, slots=True)
class FlatCase:
    """A tile, the width of its rows, and what is computed of them; see the module."""

    tile: FlatTile
    columns: int
    dtype: str
    writes: bool = True
    lse: bool = False
    mask: int = 0

    def __post_init__(self) -> None:
        known_types(self.dtype, self.out_dtype, self.lse)
        self.tile.require(self.columns)
        if self.tile.vector * BITS[self.dtype] != STORE_BITS:
            raise GenerationError(
                f"vectors of {self.tile.vector} {self.dtype}", hint="rows are copied by 16 bytes"
            )
        if not 0 <= self.mask <= MODES:
            raise GenerationError(
                f"a mask whose rows have {self.mask} modes", hint=f"up to {MODES} are proven"
            )

    @property
    def out_dtype(self) -> str | None:
        """The type of the probabilities, if there are any."""
        return self.dtype if self.writes else None

    @property
    def elements(self) -> int:
        """Elements of a block."""
        return self.tile.rows * self.columns


def claims(case: FlatCase) -> tuple[Claim, ...]:
    """The claims behind the kernel: its tile, who combines what in which order, and the state."""
    found = [_closed_form(case)]
    found += named("tile", reduction.claims(case.tile.taken.ownership, 1))
    found += named("state", softmax_state.claims())
    return tuple(found)


def theorem(case: FlatCase) -> str:
    """What the certificate says, in a sentence or two."""
    return (
        "Every column of every row of the tile is one value of one lane; shuffles combine each of "
        f"them exactly once. {softmax_state.THEOREM}"
    )


def _closed_form(case: FlatCase) -> Claim:
    tile = case.tile
    conjuncts = [
        Conjunct(f"vector {number}", "=", tile.copied(_THREAD, number), _first(case, number))
        for number in range(tile.copies(case.columns))
    ]
    conjuncts += [
        Conjunct(f"row in pass {number}", "=", tile.row(_THREAD, number), _row(case, number))
        for number in range(tile.passes)
    ]
    return Claim(
        name="tile_closed_form",
        kind="same_lane",
        statement="Copied vectors and taken rows of a thread, in the terms of the effect.",
        parameters={},
        variables=[("thread", tile.threads)],
        conjuncts=conjuncts,
    )


def _first(case: FlatCase, number: int) -> Integer:
    """The first element of a thread's vector, in its block."""
    return _THREAD * case.tile.vector + number * case.tile.vector * case.tile.threads


def _row(case: FlatCase, number: int) -> Integer:
    """The row of a thread in a pass, in its block."""
    lanes = case.tile.lanes
    first = _THREAD // lanes if lanes > 1 else _THREAD
    return first + number * (case.tile.threads // lanes)


def effect(case: FlatCase) -> Effect:
    """The stores of the kernel: where, when, and of which row."""
    tile, rows = case.tile, name("rows")
    total = rows * case.columns
    buffers = [Buffer("x", "in", BITS[case.dtype], None, 16, elements=total)]
    if case.writes:
        # Rows touch: together they are one array.
        written = Matrix(1, total, total)
        buffers.append(
            Buffer("out", "out", BITS[case.dtype], None, 16, elements=total, written=written)
        )
    if case.lse:
        buffers.append(Buffer("lse", "out", 32, None, 4, elements=rows, written=Matrix(rows, 1, 1)))
    if case.mask:
        flags = mask_end(case.mask, case.columns)
        buffers.append(Buffer("mask", "in", 8, None, 1, elements=flags))
    preconditions = [Less(rows, name("blocks") * tile.rows + 1)]
    preconditions += rows_fit(case.mask)
    return Effect(
        entry=ENTRY,
        threads=tile.threads,
        buffers=tuple(buffers),
        stores=(*_probabilities(case), *_log_sum_exp(case)),
        maximum_blocks=-(-ROWS // tile.rows),
        parameters=(Parameter("rows", 64, 1, ROWS), *mask_parameters(case.mask)),
        preconditions=tuple(preconditions),
    )


def _probabilities(case: FlatCase) -> Iterator[Store]:
    """Whole vectors, and each element of the one that is not."""
    tile, bits, total = case.tile, BITS[case.dtype], name("rows") * case.columns
    vector = tile.vector
    for number in range(tile.copies(case.columns) if case.writes else 0):
        first = _first(case, number)
        at = _BLOCK * case.elements + first
        held = Less(first, case.elements)
        whole, cut = Less(at + (vector - 1), total), Less(total, at + vector)
        for size, last in ((vector, 1), (1, vector - 1)):
            for start in range(last):
                inside = (whole,) if size > 1 else (cut, Less(at + start, total))
                parts = tuple(
                    computed(bits, "probability", *_own_row(case, first + (start + each)))
                    for each in range(size)
                )
                where = (held, *inside)
                element = Element(
                    0,
                    at + start,
                    name("column") // case.elements,
                    name("column") % case.elements // vector % tile.threads,
                )
                yield Store("out", (at + start) * (bits // 8), parts, 1, where, element)


def _log_sum_exp(case: FlatCase) -> Iterator[Store]:
    """By the first lane of each row."""
    tile, row = case.tile, name("row")
    at_once = tile.threads // tile.lanes
    for number in range(tile.passes if case.lse else 0):
        here = _BLOCK * tile.rows + _row(case, number)
        part = computed(32, "log-sum-exp", *_own_row(case, _row(case, number) * case.columns))
        where = [Less(here, name("rows"))]
        where += [Less(_THREAD % tile.lanes, 1)] if tile.lanes > 1 else []
        element = Element(here, 0, row // tile.rows, row % at_once * tile.lanes)
        yield Store("lse", here * 4, (part,), 1, tuple(where), element)


def _own_row(case: FlatCase, element: Integer) -> Iterator[Source]:
    """The row of an element of the block."""
    row = _BLOCK * case.tile.rows + element // case.columns
    size = case.columns * BITS[case.dtype] // 8
    yield Source("x", row * size, row * size + size)
    if case.mask:
        flags, apart = mask_row(case.mask, row), name("mask_column_stride")
        yield Source("mask", flags, flags + (apart * (case.columns - 1) + 1))
