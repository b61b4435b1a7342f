"""What the kernel of rows that run across memory must do to it, for every size and stride.

`inner` rows lie side by side, the columns of a row are `column_stride` apart, and the next `inner`
rows begin `row_stride` further on; there are `runs` of them. A block takes rows side by side, a
thread vectors of rows, and goes down the columns: store k writes vector k of a thread, where its
row and its column exist. Every probability is computed from its own row of the input, element by
element, and of the mask, alone; log-sum-exp is written by one of the threads that know it.

>>> case = AcrossCase(AcrossTile(vector=4, lanes=8, repeats=2, warps=2), "f32", "f32", lse=True)
>>> [store.bits for store in effect(case).stores]
[128, 128, 32, 32, 32, 32]

Where elements lie is a matrix whose rows are the columns of the softmax, because these are what
strides part first.
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
from tylo.proofs.specifications.softmax_across_tiles import AcrossTile
from tylo.proofs.specifications.softmax_masks import (
    MODES,
    mask_end,
    mask_parameters,
    mask_row,
    rows_fit,
)

_LANES = 32
_STRIDE = 1 << 30  # at most, so that every byte offset stays below 2^64
_THREAD, _BLOCK, _STEP = name("thread"), name("block"), name("step")
_ROWS, _COLUMNS, _INNER, _RUNS = name("rows"), name("columns"), name("inner"), name("runs")


@dataclass(frozen=True, slots=True)
class AcrossCase:
    """A tile, element types, whether columns are held, and what else there is; see the module."""

    tile: AcrossTile
    dtype: str
    out_dtype: str | None
    held: bool = True
    lse: bool = False
    mask: int = 0

    def __post_init__(self) -> None:
        known_types(self.dtype, self.out_dtype, self.lse)
        if not 0 <= self.mask <= MODES:
            raise GenerationError(
                f"a mask whose rows have {self.mask} modes", hint=f"up to {MODES} are proven"
            )
        if self.tile.vector * BITS[self.dtype] > STORE_BITS:
            raise GenerationError(
                f"vectors of {self.tile.vector} {self.dtype}", hint="a load has at most 16 bytes"
            )


def claims(case: AcrossCase) -> tuple[Claim, ...]:
    """The claims behind the kernel: its tile, who combines what in which order, and the state."""
    found = [_closed_form(case.tile)]
    found += named("tile", reduction.claims(case.tile.ownership, 1))
    found += named("states", reduction.claims(case.tile.states, 1))
    found += named("state", softmax_state.claims())
    return tuple(found)


def theorem(case: AcrossCase) -> str:
    """What the certificate says, in a sentence or two."""
    return (
        "Every column of every row of the tile is one value of one thread; shuffles and the "
        "exchange between warps combine each of them exactly once, and leave the same statistics "
        f"in every copy. {softmax_state.THEOREM}"
    )


def _closed_form(tile: AcrossTile) -> Claim:
    conjuncts = [Conjunct("row", "=", tile.row(_THREAD), _row(tile))]
    conjuncts += [
        Conjunct(f"column {number}", "=", tile.column(_THREAD, number), _column(tile, number))
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


def _row(tile: AcrossTile) -> Integer:
    """The first row of a thread's vectors, in its block."""
    rows = _THREAD % tile.lanes * tile.vector
    if tile.row_warps > 1:
        rows = rows + _THREAD // (_LANES * tile.warps) * (tile.vector * tile.lanes)
    return rows


def _column(tile: AcrossTile, number: int) -> Integer:
    """The column of a thread's vector, in its step."""
    beside = _LANES // tile.lanes
    column: Integer = number * beside * tile.warps
    if tile.warps > 1:
        column = _THREAD // _LANES % tile.warps * beside + column
    if beside > 1:
        column = _THREAD % _LANES // tile.lanes + column
    return column


def _writer(tile: AcrossTile, row: Integer, column: Integer) -> Integer:
    """The thread of a block that has an element."""
    beside, group = _LANES // tile.lanes, tile.vector * tile.lanes
    thread = row // tile.vector % tile.lanes
    if beside > 1:
        thread = thread + column % beside * tile.lanes
    if tile.warps > 1:
        thread = thread + column // beside % tile.warps * _LANES
    if tile.row_warps > 1:
        thread = thread + row // group % tile.row_warps * (_LANES * tile.warps)
    return thread


def effect(case: AcrossCase) -> Effect:
    """The stores of the kernel: where, when, and of which row."""
    tile = case.tile
    buffers, parameters = tuple(_buffers(case)), tuple(_parameters(case))
    passed = [*(each.name for each in buffers), *(each.name for each in parameters)]
    passed.remove("runs")
    return Effect(
        entry=ENTRY,
        threads=tile.threads,
        buffers=buffers,
        stores=(*_probabilities(case), *_log_sum_exp(case)),
        maximum_blocks=-(-ROWS // tile.block_rows),
        parameters=parameters,
        preconditions=tuple(_preconditions(case)),
        arguments=tuple(passed),
        alternatives=tuple(_alternatives(case)),
    )


def _buffers(case: AcrossCase) -> Iterator[Buffer]:
    vector = case.tile.vector
    for label, dtype, before in (("x", case.dtype, ""), ("out", case.out_dtype, "out_")):
        if not dtype:
            continue
        stride, apart = name(f"{before}row_stride"), name(f"{before}column_stride")
        written = Matrix(_COLUMNS, _ROWS, apart, _INNER, stride)
        # A vector of the output may be wider than one store.
        aligned = min(vector, STORE_BITS // BITS[dtype])
        yield Buffer(
            label,
            "in" if label == "x" else "out",
            BITS[dtype],
            None,
            aligned * BITS[dtype] // 8,
            elements=_RUNS * stride - stride + (_COLUMNS * apart - apart) + _INNER,
            written=None if label == "x" else written,
        )
    if case.lse:
        yield Buffer("lse", "out", 32, None, 4, elements=_ROWS, written=Matrix(1, _ROWS, _ROWS))
    if case.mask:
        yield Buffer("mask", "in", 8, None, 1, elements=mask_end(case.mask))


def _parameters(case: AcrossCase) -> Iterator[Parameter]:
    yield Parameter("rows", 64, 1, ROWS)
    yield Parameter("columns", 32, 1, case.tile.step if case.held else _STRIDE)
    yield Parameter("inner", 64, 1, ROWS)
    yield Parameter("row_stride", 64, 0, _STRIDE)
    yield Parameter("column_stride", 64, 0, _STRIDE)
    if case.out_dtype:
        yield Parameter("out_row_stride", 64, 0, _STRIDE)
        yield Parameter("out_column_stride", 64, 0, _STRIDE)
    yield from mask_parameters(case.mask)
    yield Parameter("runs", 64, 1, ROWS)


def _preconditions(case: AcrossCase) -> Iterator[Less]:
    vector = case.tile.vector
    yield Less(_ROWS, _RUNS * _INNER + 1)
    yield Less(_RUNS * _INNER, _ROWS + 1)
    strides = ["row_stride", "column_stride"]
    if case.out_dtype:
        strides += ["out_row_stride", "out_column_stride"]
        yield Less(_INNER, name("out_column_stride") + 1)
    if vector > 1:
        for each in ("rows", "inner", *strides):
            yield Less(name(each) % vector, 1)
    yield Less(_ROWS, name("blocks") * case.tile.block_rows + 1)
    yield from rows_fit(case.mask)


def _alternatives(case: AcrossCase) -> Iterator[tuple[Less, ...]]:
    """What is written does not overlap: whole rows lie inside of a stride of runs, or all runs
    inside of a stride of columns, or there is one run.
    """
    if case.out_dtype:
        stride, apart = name("out_row_stride"), name("out_column_stride")
        yield (Less(_COLUMNS * apart - apart + _INNER, stride + 1),)
        yield Less(_INNER, stride + 1), Less(_RUNS * stride - stride + _INNER, apart + 1)
        yield (Less(_RUNS, 2),)


def _probabilities(case: AcrossCase) -> Iterator[Store]:
    if not case.out_dtype:
        return
    tile, bits = case.tile, BITS[case.out_dtype]
    most = min(tile.vector, STORE_BITS // bits)
    matrix = Matrix(_COLUMNS, _ROWS, name("out_column_stride"), _INNER, name("out_row_stride"))
    first = 0 if case.held else _STEP * tile.step
    row = _BLOCK * tile.block_rows + _row(tile)
    for number in range(tile.repeats):
        column = first + _column(tile, number)
        for start in range(0, tile.vector, most):
            parts = tuple(
                computed(bits, "probability", *_own_row(case, start + each)) for each in range(most)
            )
            element = _element(case, column, row + start)
            where = (Less(row, _ROWS), Less(column, _COLUMNS))
            place = matrix.place(element.row, element.column)
            yield Store("out", place * (bits // 8), parts, _repeat(case), where, element)


def _log_sum_exp(case: AcrossCase) -> Iterator[Store]:
    """By the thread with the first column of each row."""
    tile = case.tile
    row = _BLOCK * tile.block_rows + _row(tile)
    alone = not case.out_dtype and not case.held
    for value in range(tile.vector if case.lse else 0):
        where = [Less(row, _ROWS), Less(_column(tile, 0), 1)]
        where += [Less(_STEP, 1)] if alone else []
        part = computed(32, "log-sum-exp", *_own_row(case, value))
        element = _element(case, 0, row + value)
        repeat = _repeat(case) if alone else 1
        yield Store("lse", (row + value) * 4, (part,), repeat, tuple(where), element)


def _element(case: AcrossCase, column: Integer, row: Integer) -> Element:
    """An element of the softmax, and who writes it."""
    tile, of_column, of_row = case.tile, name("row"), name("column")
    return Element(
        row=column,
        column=row,
        block=of_row // tile.block_rows,
        thread=_writer(tile, of_row, of_column),
        step=0 if case.held else of_column // tile.step,
    )


def _repeat(case: AcrossCase) -> Integer:
    step = case.tile.step
    return 1 if case.held else (_COLUMNS + (step - 1)) // step


def _own_row(case: AcrossCase, value: int) -> Iterator[Source]:
    """The row that is number `value` of a thread's vector."""
    first, size = _BLOCK * case.tile.block_rows + _row(case.tile), BITS[case.dtype] // 8
    start = (first // _INNER * name("row_stride") + first % _INNER) * size + value * size
    apart = name("column_stride") * size
    yield Source("x", start, start + size, _COLUMNS, apart, case.tile.step)
    if case.mask:
        flags = mask_row(case.mask, first + value)
        apart = name("mask_column_stride")
        yield Source("mask", flags, flags + 1, _COLUMNS, apart, case.tile.step)
