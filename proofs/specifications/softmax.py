"""What a softmax kernel must do to memory, for every number of rows, columns and every stride.

Each block takes whole rows, and each thread the vectors that the tile's ownership gives it: store k
writes vector k of a thread, where its row and its first column exist (`softmax_stores`). Every
probability is computed from its own row and from nothing else; log-sum-exp is written by copy 0 of
those who know it. Which value is written is not an integer and not covered: that is the state's
algebra (`softmax_state`), bounded by tests.

>>> case = SoftmaxCase(SoftmaxTile(vector=4, lanes=32, warps=4, repeats=2), "f32", "f32")
>>> [store.bits for store in effect(case).stores], effect(case).parameters[1].maximum
([128, 128], 1024)
>>> len(claims(case))
19

Rows are whole aligned vectors, or `ragged`: then x and out begin at any element, and rows of a
vector or more lie at any stride. A mask has up to eight modes of rows, each with a stride, and its
columns have another; any may be 0. Narrow rows and rows that run across memory have effects of
their own (`softmax_few`, `softmax_flat`, `softmax_across`); clusters run on devices only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tylo.layouts.errors import GenerationError
from tylo.layouts.terms import name
from tylo.proofs.claims import Claim, Conjunct
from tylo.proofs.effects import (
    Buffer,
    Effect,
    Less,
    Matrix,
    Parameter,
    Source,
    Store,
    computed,
)
from tylo.proofs.specifications import reduction, softmax_state
from tylo.proofs.specifications.softmax_masks import (
    MODES,
    mask_end,
    mask_parameters,
    mask_row,
    rows_fit,
)
from tylo.proofs.specifications.softmax_stores import (
    Parts,
    Stores,
    column_of,
    row_in_block,
    row_of,
)
from tylo.proofs.specifications.softmax_tiles import SoftmaxTile

ENTRY = "tylo_softmax"
FORMS = ("rows", "stream", "three_pass")
BITS = {"f32": 32, "bf16": 16, "f16": 16}
STORE_BITS = 128
_PACKED_BITS = 16  # of an element, of which a register holds two
ROWS, _STRIDE = 1 << 28, 1 << 30  # at most, so that every byte offset stays below 2^64


@dataclass(frozen=True, slots=True)
class SoftmaxCase:
    """A tile, element types, whether rows are held or streamed, and whether log-sum-exp is asked.

    Raises `GenerationError` for what has no effect: a cluster, an unknown type or form.
    """

    tile: SoftmaxTile
    dtype: str
    out_dtype: str | None
    form: str = "rows"
    lse: bool = False
    ragged: bool = False
    held: bool = True
    mask: int = 0

    def __post_init__(self) -> None:
        known_types(self.dtype, self.out_dtype, self.lse)
        if self.form not in FORMS:
            raise GenerationError(f"no form {self.form!r}", hint=f"use {', '.join(FORMS)}")
        if self.tile.cluster > 1:
            raise GenerationError(
                "a softmax bundle of a cluster", hint="clusters are not proven; use one block"
            )
        if self.form == "three_pass" and self.tile.parts > 1:
            raise GenerationError(
                "three passes over several warps", hint="give a row one warp: warps=1"
            )
        if not 0 <= self.mask <= MODES:
            raise GenerationError(
                f"a mask whose rows have {self.mask} modes", hint=f"up to {MODES} are proven"
            )
        if self.ragged and self.tile.row_threads < 2 * self.tile.vector:
            raise GenerationError(
                f"{self.tile.row_threads} threads for the single columns of ragged rows",
                hint=f"{2 * self.tile.vector} or more take vectors of {self.tile.vector}",
            )
        if self.form == "rows" and not self.held and BITS[self.dtype] > _PACKED_BITS:
            raise GenerationError(
                f"rows of {self.dtype} that stay packed", hint="16-bit elements do; leave held=1"
            )
        if self.tile.vector * BITS[self.dtype] > STORE_BITS:
            raise GenerationError(
                f"vectors of {self.tile.vector} {self.dtype}", hint="a load has at most 16 bytes"
            )


def known_types(dtype: str, out_dtype: str | None, lse: bool) -> None:
    """Raise `GenerationError` for an unknown element type, and where nothing is computed."""
    for given in (dtype, out_dtype or dtype):
        if given not in BITS:
            raise GenerationError(f"no dtype {given!r}", hint=f"use {', '.join(BITS)}")
    if out_dtype is None and not lse:
        raise GenerationError("a softmax without a result", hint="ask for log-sum-exp: lse=1")


def claims(case: SoftmaxCase) -> tuple[Claim, ...]:
    """The claims behind the kernel: its tile, who combines what in which order, and the state."""
    tile = case.tile
    found = [_closed_form(tile), *named("tile", reduction.claims(tile.ownership, 1))]
    if tile.parts > 1:
        found += named("parts", reduction.claims(tile.part_tile, 1))
    found += named("state", softmax_state.claims())
    return tuple(found)


def _closed_form(tile: SoftmaxTile) -> Claim:
    """The threads of a row lie side by side, so that its ownership has a shorter spelling."""
    thread = name("thread")
    conjuncts = [Conjunct("row", "=", tile.row(thread), row_in_block(tile))]
    conjuncts += [
        Conjunct(
            f"column of vector {number}", "=", tile.column(thread, number), column_of(tile, number)
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


def theorem(case: SoftmaxCase) -> str:
    """What the certificate says, in a sentence or two."""
    return (
        "Every column of every row of the tile is one value of one thread; shuffles and the "
        "exchange between warps combine each of them exactly once, and leave the same statistics "
        f"in every copy. {softmax_state.THEOREM}"
    )


def effect(case: SoftmaxCase) -> Effect:
    """The stores of the kernel: where, when, and of which row."""
    tile, rows, columns = case.tile, name("rows"), name("columns")
    stores = _stores(case)
    found: list[Store] = []
    if case.out_dtype:
        found += stores.probabilities(
            computed(BITS[case.out_dtype], "probability", *_own_row(case))
        )
    if case.lse:
        value = computed(32, "log-sum-exp", *_own_row(case))
        found.append(stores.log_sum_exp(value, alone=not case.out_dtype))
    strides = [name(each) for each in _strides(case)]
    preconditions = [Less(columns, each + 1) for each in strides]
    if not case.ragged:
        preconditions += [Less(each % tile.vector, 1) for each in (columns, *strides)]
    preconditions.append(Less(rows, name("blocks") * tile.block_rows + 1))
    preconditions += rows_fit(case.mask)
    parameters = tuple(_parameters(case))
    buffers = tuple(_buffers(case))
    called = [each.name for each in buffers] + [each.name for each in parameters]
    phases = {buffer.phase for buffer in buffers} - {0}
    return Effect(
        entry=ENTRY,
        threads=tile.threads,
        buffers=buffers,
        stores=tuple(found),
        maximum_blocks=-(-ROWS // tile.block_rows),
        parameters=parameters,
        preconditions=tuple(preconditions),
        arguments=tuple(each for each in called if name(each) not in phases) if phases else (),
    )


def _stores(case: SoftmaxCase) -> Stores:
    out = case.out_dtype or case.dtype
    return Stores(
        tile=case.tile,
        streamed=case.form != "rows",
        given=Parts(case.tile, "row_stride", "x_phase" if case.ragged else ""),
        wanted=Parts(case.tile, "out_row_stride", "out_phase" if case.ragged else ""),
        bits=BITS[out],
        most=min(case.tile.vector, STORE_BITS // BITS[out]),
    )


def _strides(case: SoftmaxCase) -> list[str]:
    return ["row_stride", *(["out_row_stride"] if case.out_dtype else [])]


def _buffers(case: SoftmaxCase) -> Iterator[Buffer]:
    rows, columns, vector = name("rows"), name("columns"), case.tile.vector
    for label, dtype, stride in (
        ("x", case.dtype, name("row_stride")),
        ("out", case.out_dtype, name("out_row_stride")),
    ):
        if not dtype:
            continue
        # A vector of the output may be wider than one store.
        aligned = vector if case.ragged else min(vector, STORE_BITS // BITS[dtype])
        yield Buffer(
            label,
            "in" if label == "x" else "out",
            BITS[dtype],
            None,
            aligned * BITS[dtype] // 8,
            elements=rows * stride - stride + columns,
            written=None if label == "x" else Matrix(rows, columns, stride),
            phase=name(f"{label}_phase") if case.ragged else 0,
        )
    if case.lse:
        yield Buffer("lse", "out", 32, None, 4, elements=rows, written=Matrix(rows, 1, 1))
    if case.mask:
        yield Buffer("mask", "in", 8, None, 1, elements=mask_end(case.mask))


def _parameters(case: SoftmaxCase) -> Iterator[Parameter]:
    tile = case.tile
    least = tile.vector if case.ragged else 1
    most = tile.capacity + least - 1 if case.form == "rows" else _STRIDE
    yield Parameter("rows", 64, 1, ROWS)
    yield Parameter("columns", 32, least, most)
    for each in _strides(case):
        yield Parameter(each, 64, 1, _STRIDE)
    yield from mask_parameters(case.mask)
    if case.ragged:
        yield Parameter("x_phase", 32, 0, tile.vector - 1)
        if case.out_dtype:
            yield Parameter("out_phase", 32, 0, tile.vector - 1)


def _own_row(case: SoftmaxCase) -> Iterator[Source]:
    here, size, columns = row_of(case.tile), BITS[case.dtype] // 8, name("columns")
    start = here * name("row_stride")
    yield Source("x", start * size, (start + columns) * size)
    if case.mask:
        flags, apart = mask_row(case.mask, here), name("mask_column_stride")
        yield Source("mask", flags, flags + (columns * apart - apart) + 1)


def named(prefix: str, found: tuple[Claim, ...]) -> list[Claim]:
    """Claims under names that begin alike."""
    return [replace(each, name=f"{prefix}_{each.name}") for each in found]
