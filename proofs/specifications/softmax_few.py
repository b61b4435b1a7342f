"""What the kernel of rows of few columns must do to memory, for every number of rows.

Rows of `columns` elements lie side by side and fill vectors of 16 bytes; thread t of a block takes
vectors t, t + threads, ... of the block's. A vector that lies inside the array is stored whole, the
last one, if it does not, element by element. Every probability is computed from its own row alone.

>>> case = FewCase(FewTile(vector=4, columns=2, repeats=2, threads=128), "f32", "f32", lse=True)
>>> [store.bits for store in effect(case).stores][:6], len(effect(case).stores)
([128, 32, 32, 32, 128, 32], 12)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tylo.layouts.errors import GenerationError
from tylo.layouts.terms import Integer, evaluate, name
from tylo.proofs.claims import Claim, Conjunct
from tylo.proofs.effects import (
    Buffer,
    Effect,
    Element,
    Less,
    Matrix,
    Parameter,
    Part,
    Source,
    Store,
    computed,
)
from tylo.proofs.specifications import reduction, softmax_state
from tylo.proofs.specifications.softmax import BITS, ENTRY, ROWS, STORE_BITS, known_types, named
from tylo.proofs.specifications.softmax_flat_tiles import FewTile

_THREAD = name("thread")


@dataclass(frozen=True, slots=True)
class FewCase:
    """A tile, element types, and whether log-sum-exp is asked; see the module."""

    tile: FewTile
    dtype: str
    out_dtype: str | None
    lse: bool = False

    def __post_init__(self) -> None:
        known_types(self.dtype, self.out_dtype, self.lse)
        if self.tile.vector * BITS[self.dtype] != STORE_BITS:
            raise GenerationError(
                f"vectors of {self.tile.vector} {self.dtype}", hint="several rows fill 16 bytes"
            )


def claims(case: FewCase) -> tuple[Claim, ...]:
    """The claims behind the kernel: its tile, each row in one lane, and the state."""
    found = [_closed_form(case.tile)]
    found += named("tile", reduction.claims(case.tile.ownership, 1))
    found += named("state", softmax_state.claims())
    return tuple(found)


def theorem(case: FewCase) -> str:
    """What the certificate says, in a sentence or two."""
    return (
        "Every column of every row of the tile is one value of one lane, which combines them "
        f"exactly once. {softmax_state.THEOREM}"
    )


def _closed_form(tile: FewTile) -> Claim:
    conjuncts = [
        Conjunct(f"element {repeat}", "=", tile.element(_THREAD, repeat), _first(tile, repeat))
        for repeat in range(tile.repeats)
    ]
    conjuncts += [
        Conjunct(
            f"row {number} of vector {repeat}",
            "=",
            tile.row(_THREAD, repeat, number),
            _row(tile, repeat, number),
        )
        for repeat in range(tile.repeats)
        for number in range(tile.vector // tile.columns)
    ]
    return Claim(
        name="tile_closed_form",
        kind="same_lane",
        statement="First element and rows of each vector of a thread, in the terms of the effect.",
        parameters={},
        variables=[("thread", tile.threads)],
        conjuncts=conjuncts,
    )


def _first(tile: FewTile, repeat: int) -> Integer:
    """The first element of a thread's vector, in its block."""
    return _THREAD * tile.vector + repeat * tile.vector * tile.threads


def _row(tile: FewTile, repeat: int, number: int) -> Integer:
    """Row `number` of those in a thread's vector, in its block."""
    held = tile.vector // tile.columns
    return _THREAD * held + (repeat * held * tile.threads + number)


def effect(case: FewCase) -> Effect:
    """The stores of the kernel: where, when, and of which row."""
    tile, rows = case.tile, name("rows")
    total = rows * tile.columns
    buffers = [Buffer("x", "in", BITS[case.dtype], None, 16, elements=total)]
    if case.out_dtype:
        # Rows touch: together they are one array.
        written = Matrix(1, total, total)
        buffers.append(
            Buffer("out", "out", BITS[case.out_dtype], None, 16, elements=total, written=written)
        )
    if case.lse:
        buffers.append(Buffer("lse", "out", 32, None, 4, elements=rows, written=Matrix(rows, 1, 1)))
    return Effect(
        entry=ENTRY,
        threads=tile.threads,
        buffers=tuple(buffers),
        stores=(*_probabilities(case), *_log_sum_exp(case)),
        maximum_blocks=-(-ROWS // tile.block_rows),
        parameters=(Parameter("rows", 64, 1, ROWS),),
        preconditions=(Less(rows, name("blocks") * tile.block_rows + 1),),
    )


def _probabilities(case: FewCase) -> Iterator[Store]:
    """Whole vectors in stores of at most 16 bytes, and each element of the one that is not."""
    if not case.out_dtype:
        return
    tile, bits = case.tile, BITS[case.out_dtype]
    elements = tile.block_rows * tile.columns
    most = min(tile.vector, STORE_BITS // bits)
    total = name("rows") * tile.columns
    for repeat in range(tile.repeats):
        first = name("block") * elements + _first(tile, repeat)
        whole, cut = Less(first + (tile.vector - 1), total), Less(total, first + tile.vector)
        for size, where in ((most, whole), (1, cut)):
            for start in range(0, tile.vector - (size == 1), size):
                at = first + start
                inside = (where,) if size > 1 else (where, Less(at, total))
                parts = tuple(_own_row(case, at + each) for each in range(size))
                element = Element(0, at, *_writer(tile, elements))
                yield Store("out", at * (bits // 8), parts, 1, inside, element)


def _log_sum_exp(case: FewCase) -> Iterator[Store]:
    tile, rows = case.tile, name("rows")
    for repeat in range(tile.repeats if case.lse else 0):
        for number in range(tile.vector // tile.columns):
            row = name("block") * tile.block_rows + _row(tile, repeat, number)
            part = computed(32, "log-sum-exp", _source(case, row))
            writer = _writer(tile, tile.block_rows * tile.columns)
            at = {"column": name("row") * tile.columns}
            element = Element(row, 0, *(evaluate(each, at) for each in writer))
            yield Store("lse", row * 4, (part,), 1, (Less(row, rows),), element)


def _writer(tile: FewTile, elements: int) -> tuple[Integer, Integer]:
    """Block and thread that hold an element of the whole array."""
    return name("column") // elements, name("column") // tile.vector % tile.threads


def _own_row(case: FewCase, element: Integer) -> Part:
    assert case.out_dtype
    row = element // case.tile.columns
    return computed(BITS[case.out_dtype], "probability", _source(case, row))


def _source(case: FewCase, row: Integer) -> Source:
    size = case.tile.columns * BITS[case.dtype] // 8
    return Source("x", row * size, row * size + size)
