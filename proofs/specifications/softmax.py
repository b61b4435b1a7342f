"""What a softmax kernel must do to memory, for every number of rows, columns and every stride.

Each block takes whole rows, and each thread the vectors that the tile's ownership gives it: store k
writes vector k of a thread, where its row and its first column exist. Every probability is computed
from its own row and from nothing else (where several rows share a warp, from the input and nothing
else); log-sum-exp is written by copy 0 of those who know it. Which value is written is not an
integer and not covered: that is the state's algebra (`softmax_state`), bounded by tests.

>>> case = SoftmaxCase(SoftmaxTile(vector=4, lanes=32, warps=4, repeats=2), "f32", "f32")
>>> [store.bits for store in effect(case).stores], effect(case).parameters[1].maximum
([128, 128], 1024)
>>> len(claims(case))
19

Rows are whole aligned vectors here, without a mask, and in one block. Kernels for ragged rows,
masks, clusters and asynchronous copies are generated from the same tiles and run on the PTX machine
(clusters on devices), and have no effect of this kind yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

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
from tylo.proofs.specifications.softmax_tiles import SoftmaxTile

ENTRY = "tylo_softmax"
FORMS = ("rows", "stream")
_BITS = {"f32": 32, "bf16": 16, "f16": 16}
_STORE_BITS = 128
_ROWS, _STRIDE = 1 << 28, 1 << 30  # at most, so that every byte offset stays below 2^64


@dataclass(frozen=True, slots=True)
class SoftmaxCase:
    """A tile, element types, whether rows are held or streamed, and whether log-sum-exp is asked.

    Raises `GenerationError` for what has no effect: a cluster, an unknown type or form.
    """

    tile: SoftmaxTile
    dtype: str
    out_dtype: str
    form: str = "rows"
    lse: bool = False

    def __post_init__(self) -> None:
        for label, given, known in (
            ("dtype", self.dtype, tuple(_BITS)),
            ("dtype", self.out_dtype, tuple(_BITS)),
            ("form", self.form, FORMS),
        ):
            if given not in known:
                raise GenerationError(f"no {label} {given!r}", hint=f"use {', '.join(known)}")
        if self.tile.cluster > 1:
            raise GenerationError(
                "a softmax bundle of a cluster", hint="clusters are not proven; use one block"
            )
        if self.tile.vector * _BITS[self.dtype] > _STORE_BITS:
            raise GenerationError(
                f"vectors of {self.tile.vector} {self.dtype}", hint="a load has at most 16 bytes"
            )


def claims(case: SoftmaxCase) -> tuple[Claim, ...]:
    """The claims behind the kernel: its tile, who combines what in which order, and the state."""
    tile = case.tile
    found = [_closed_form(tile), *_named("tile", reduction.claims(tile.ownership, 1))]
    if tile.parts > 1:
        found += _named("parts", reduction.claims(tile.part_tile, 1))
    found += _named("state", softmax_state.claims())
    return tuple(found)


def _closed_form(tile: SoftmaxTile) -> Claim:
    """The threads of a row lie side by side, so that its ownership has a shorter spelling."""
    thread = name("thread")
    conjuncts = [Conjunct("row", "=", tile.row(thread), _row_in_block(tile))]
    conjuncts += [
        Conjunct(
            f"column of vector {number}", "=", tile.column(thread, number), _column(tile, number)
        )
        for number in range(tile.repeats)
    ]
    return Claim(
        name="tile_closed_form",
        kind="same_lane",
        statement="Row and column of each vector of a thread, in the terms of the effect.",
        parameters={},
        variables=[("thread", tile.threads)],
        conjuncts=conjuncts,
    )


def _row_in_block(tile: SoftmaxTile) -> Integer:
    return name("thread") // tile.row_threads


def _column(tile: SoftmaxTile, number: int) -> Integer:
    return name("thread") % tile.row_threads * tile.vector + number * tile.step


def theorem(case: SoftmaxCase) -> str:
    """What the certificate says, in a sentence or two."""
    return (
        "Every column of every row of the tile is one value of one thread; shuffles and the "
        "exchange between warps combine each of them exactly once, and leave the same statistics "
        f"in every copy. {softmax_state.THEOREM}"
    )


def effect(case: SoftmaxCase) -> Effect:
    """The stores of the kernel: where, when, and of which row."""
    tile, size = case.tile, _BITS[case.dtype] // 8
    rows, columns = name("rows"), name("columns")
    stride, out_stride = name("row_stride"), name("out_row_stride")
    buffers = [
        Buffer(
            "x",
            "in",
            8 * size,
            None,
            tile.vector * size,
            elements=rows * stride - stride + columns,
        ),
        Buffer(
            "out",
            "out",
            _BITS[case.out_dtype],
            None,
            _piece(case) * _BITS[case.out_dtype] // 8,
            elements=rows * out_stride - out_stride + columns,
            written=Matrix(rows, columns, out_stride),
        ),
    ]
    if case.lse:
        buffers.append(Buffer("lse", "out", 32, None, 4, elements=rows, written=Matrix(rows, 1, 1)))
    return Effect(
        entry=ENTRY,
        threads=tile.threads,
        buffers=tuple(buffers),
        stores=(*_probabilities(case), *(_log_sum_exp(case) if case.lse else ())),
        maximum_blocks=-(-_ROWS // tile.block_rows),
        parameters=(
            Parameter("rows", 64, 1, _ROWS),
            Parameter("columns", 32, 1, tile.capacity if case.form == "rows" else _STRIDE),
            Parameter("row_stride", 64, 1, _STRIDE),
            Parameter("out_row_stride", 64, 1, _STRIDE),
        ),
        preconditions=(
            Less(columns, stride + 1),
            Less(columns, out_stride + 1),
            *(Less(each % tile.vector, 1) for each in (columns, stride, out_stride)),
            Less(rows, name("blocks") * tile.block_rows + 1),
        ),
    )


def _probabilities(case: SoftmaxCase) -> Iterator[Store]:
    tile, bits = case.tile, _BITS[case.out_dtype]
    here, own = _row(tile), _own_row(case)
    columns, piece = name("columns"), _piece(case)
    step = name("step") * tile.capacity if case.form == "stream" else 0
    repeat = (columns + (tile.capacity - 1)) // tile.capacity if case.form == "stream" else 1
    for number in range(tile.repeats):
        first = step + _column(tile, number)
        for start in range(0, tile.vector, piece):
            at = first + start
            yield Store(
                "out",
                (here * name("out_row_stride") + at) * (bits // 8),
                tuple(computed(bits, "probability", own) for _ in range(piece)),
                repeat,
                (Less(here, name("rows")), Less(first, columns)),
                replace(_writer(case), row=here, column=at),
            )


def _log_sum_exp(case: SoftmaxCase) -> Iterator[Store]:
    tile = case.tile
    here = _row(tile)
    writer = _writer(case, column=0)
    yield Store(
        "lse",
        here * 4,
        (computed(32, "log-sum-exp", _own_row(case)),),
        1,
        (Less(here, name("rows")), Less(name("thread") % tile.row_threads, 1)),
        replace(writer, row=here, column=0, step=0),
    )


def _writer(case: SoftmaxCase, column: Integer | None = None) -> Element:
    """Who writes an element: the inverse of row and column of a thread's vectors."""
    tile, row = case.tile, name("row")
    where = name("column") if column is None else column
    return Element(
        row=0,
        column=0,
        block=row // tile.block_rows,
        thread=row % tile.block_rows * tile.row_threads + where // tile.vector % tile.row_threads,
        step=where // tile.capacity if case.form == "stream" else 0,
    )


def _row(tile: SoftmaxTile) -> Integer:
    return name("block") * tile.block_rows + _row_in_block(tile)


def _own_row(case: SoftmaxCase) -> Source:
    if case.tile.lanes < 32:
        # What a shuffle may bring is known by warps, and here a warp holds several rows.
        return Source("x")
    here, size = _row(case.tile), _BITS[case.dtype] // 8
    start = here * name("row_stride")
    return Source("x", start * size, (start + name("columns")) * size)


def _piece(case: SoftmaxCase) -> int:
    """Elements of one store."""
    return min(case.tile.vector, _STORE_BITS // _BITS[case.out_dtype])


def _named(prefix: str, found: tuple[Claim, ...]) -> list[Claim]:
    return [replace(each, name=f"{prefix}_{each.name}") for each in found]
