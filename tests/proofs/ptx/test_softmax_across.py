"""Rows that run across memory: generated softmax kernels, for every size and stride."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from tylo.codegen.softmax import choose
from tylo.codegen.softmax.across import AcrossKernel
from tylo.codegen.softmax.cuda_tests import kernel_of
from tylo.codegen.softmax.request import Across, SoftmaxRequest
from tylo.layouts.errors import PtxError
from tylo.proofs.effects import Matrix, effect_from_json, effect_to_json
from tylo.proofs.ptx.validate import Validation, validate
from tylo.proofs.specifications.softmax_across import AcrossCase, effect
from tylo.proofs.specifications.softmax_across_tiles import AcrossTile

# Four lanes beside each other along the columns of eight vectors of rows, in two warps.
_EXCHANGED, _STREAMED = AcrossTile(4, 8, 1, 2), "streamed, over warps"
CASES: dict[str, tuple[AcrossTile, dict[str, Any]]] = {
    "a thread a row": (AcrossTile(4, 32, 2), {"lse": True}),
    "over lanes": (AcrossTile(4, 8, 2), {}),
    "over warps": (_EXCHANGED, {"lse": True}),
    "over warps, BF16": (AcrossTile(8, 4, 2, 4), {"dtype": "bf16"}),
    "single rows, F16": (AcrossTile(1, 1, 2, 4), {"dtype": "f16", "lse": True}),
    "rows of warps, F32 to BF16": (
        AcrossTile(2, 8, 2, 2, 2),
        {"out_dtype": "bf16", "lse": True},
    ),
    "BF16 to F32": (AcrossTile(8, 8, 2, 2), {"dtype": "bf16", "out_dtype": "f32"}),
    "streamed": (AcrossTile(1, 8, 2, 2, 2), {"held": False}),
    _STREAMED: (_EXCHANGED, {"held": False, "lse": True}),
    "streamed, log-sum-exp alone": (_EXCHANGED, {"held": False, "lse": True, "out_dtype": None}),
    "log-sum-exp alone": (AcrossTile(4, 32, 1, 2), {"lse": True, "out_dtype": None}),
    "a mask": (AcrossTile(4, 32, 2), {"mask": 1}),
    "a mask, over warps": (_EXCHANGED, {"lse": True, "mask": 1}),
    "two modes": (AcrossTile(4, 8, 2, 2), {"lse": True, "mask": 2}),
    "three modes, log-sum-exp alone": (
        AcrossTile(2, 8, 1, 2),
        {"mask": 3, "lse": True, "out_dtype": None},
    ),
    "a mask, streamed": (AcrossTile(2, 8, 1, 2), {"held": False, "mask": 1}),
}
# Tens of seconds where others are busy.
_LONG = ("over warps, BF16", "BF16 to F32", "two modes")
_QUICK = ("a thread a row", "over warps", _STREAMED, "a mask, over warps")

# Kernels as they are chosen: columns, rows side by side, type, and whether log-sum-exp is stored.
CHOSEN = {
    "21 columns": (21, 4096, "f32", True),
    "1000 columns": (1000, 4096, "bf16", False),
    "2000 columns": (2000, 8, "f32", False),
    "4096 columns": (4096, 4096, "f32", False),
    "4096 columns, BF16": (4096, 4096, "bf16", True),
    "5 columns of single rows": (5, 33, "f16", True),
}


def require_held(case: AcrossCase, kernel: AcrossKernel | None = None) -> None:
    validation = _judged(case, kernel=kernel)
    assert validation.holds, "\n".join(map(str, validation.failures + validation.undecided))
    assert len(validation.uncovered) == (case.out_dtype is not None) + case.lse


def _judged(
    case: AcrossCase, *changes: tuple[str, str], kernel: AcrossKernel | None = None
) -> Validation:
    from tylo.codegen.nvrtc import compile as compile_cuda

    meant = kernel or kernel_of(case)
    text = meant.source()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return validate(compile_cuda(text, "sm_90a", kernels=[meant.entry]).ptx, effect(case))


def case_of(name: str) -> AcrossCase:
    tile, given = CASES[name]
    dtype = given.get("dtype", "f32")
    return AcrossCase(tile, **{"dtype": dtype, "out_dtype": dtype, **given})


@pytest.mark.parametrize(
    "name",
    [
        n
        if n in _QUICK
        else pytest.param(n, marks=pytest.mark.nightly if n in _LONG else pytest.mark.slow)
        for n in CASES
    ],
)
def test_they_hold_for_every_size(name: str) -> None:
    require_held(case_of(name))


@pytest.mark.nightly
@pytest.mark.parametrize("name", CHOSEN)
def test_chosen_tiles_hold_for_every_size(name: str) -> None:
    columns, inner, dtype, lse = CHOSEN[name]
    alignment = min(16, (inner & -inner) * (4 if dtype == "f32" else 2))
    row = columns * inner
    request = SoftmaxRequest(
        *(8 * inner, columns, dtype, dtype, row, row, alignment, alignment),
        lse=lse,
        across=Across(inner, inner, inner),
    )
    kernel = choose(request).kernel
    assert isinstance(kernel, AcrossKernel)
    require_held(AcrossCase(kernel.tile, dtype, dtype, kernel.held, lse), kernel)


def test_effects_survive_their_file() -> None:
    for name in CASES:
        meant = effect(case_of(name))
        assert effect_from_json(effect_to_json(meant)) == meant


_KEPT = "for (int i = 0; i < 4; ++i) part_maximum[i] = maxima[i], part_sum[i] = sums[i];"
_RESET = "for (int i = 0; i < 4; ++i) maxima[i] = sums[i] = 0.0f;"
_WRONG = [
    # Another row, run or column; one that is not there.
    ("over warps", "outer * given.row_stride", "0 * given.row_stride", "origin"),
    ("over warps", "given.x + (outer", "given.x + ((outer ^ 1)", "bounds"),
    ("over warps", "outer * given.out_row_stride", "outer * given.row_stride", "address"),
    ("over warps", "= row % inner", "= row / inner", "address"),
    ("over warps", "u < given.columns", "u <= given.columns", "bounds"),
    ("over warps", "const bool live = row < given.rows", "const bool live = true", "where"),
    (
        "over warps",
        "x + column * given.column_stride",
        "x + (column ^ 1) * given.column_stride",
        "bounds",
    ),
    (
        "over warps",
        "out + column * given.out_column",
        "out + (column ^ 1) * given.out_column",
        "address",
    ),
    ("over warps", "x + column * given.column_stride", "x + column * given.row_stride", "origin"),
    ("over warps", "given.lse[row + 0u]", "given.lse[row + 1u]", "made"),
    ("over warps", "result[2]", "result[1]", "origin"),
    # Nobody waits.
    (
        "over warps",
        "    __syncthreads();\n#pragma unroll\n    for (unsigned turn",
        "    for (unsigned turn",
        "no race",
    ),
    (
        "over warps",
        "    __syncthreads();\n#pragma unroll\n    for (unsigned value",
        "    for (unsigned value",
        "no race",
    ),
    # Parts of another row; parts that nobody left; a row's statistics for another's.
    ("over warps", "part_slot(row, part)]", "part_slot(row ^ 1, part)]", "origin"),
    ("over warps", "part_copy(thread) == 0u", "part_copy(thread) == 4u", None),
    ("over warps", "own_slot(thread, value)]", "own_slot(thread ^ 1, value)]", "origin"),
    ("over warps", "whole[row_of(thread) + value]", "whole[row_of(thread)]", "origin"),
    ("over warps", "row_of(thread) + value]", "row_of(thread ^ 8) + (value ^ 1)]", "origin"),
    # What is not combined: parts, lanes, steps, the mask.
    ("over warps", "part_slot(row, part)]", "part_slot(row, 0u)]", "whole"),
    (
        "over warps",
        "merge_parts(maxima, sums,",
        "maxima[1] = sums[1] = 0.0f; merge_parts(maxima, sums,",
        "whole",
    ),
    ("over warps", "merge_lanes(maxima, sums, part_maximum, part_sum, rescales);", _KEPT, "whole"),
    (
        _STREAMED,
        "    do {\n        load_columns",
        f"    do {{ {_RESET}\n        load_columns",
        "whole",
    ),
    (
        _STREAMED,
        "        softmax_update",
        "        if (first != step_columns) softmax_update",
        "whole",
    ),
    ("a mask, over warps", "mask_columns(given, row, live, first, thread, words);", "", "whole"),
    # Steps: one left out, one made twice, the second pass from where the first ended.
    (_STREAMED, "first += step_columns;", "first += step_columns + 1u;", "address"),
    (_STREAMED, "    first = 0;\n    do {", "    do {", "made"),
    (_STREAMED, "while (!held && first < given.columns)", "while (false)", "address"),
    (_STREAMED, "u < given.columns", "u <= given.columns", "bounds"),
    # The mask of another row or column.
    ("a mask, over warps", "live ? row + 1u", "live ? row + 2u", "origin"),
    ("a mask, over warps", "column * given.mask_col", "(column + 1u) * given.mask_col", "bounds"),
    ("a mask, over warps", "given.mask + mask_at", "given.mask + 0 * mask_at", "origin"),
]
# Three of them in every run.
_OFTEN = (0, 11, 18)


def _members() -> Iterator[Any]:
    for number, wrong in enumerate(_WRONG):
        yield pytest.param(*wrong, marks=[] if number in _OFTEN else [pytest.mark.nightly])


@pytest.mark.parametrize(("name", "old", "new", "label"), list(_members()))
def test_wrong_kernels_fail(name: str, old: str, new: str, label: str | None) -> None:
    if label is None:
        with pytest.raises(PtxError):
            require_refused(name, old, new, "")
    else:
        require_refused(name, old, new, label)


def require_refused(name: str, old: str, new: str, label: str) -> None:
    found = {verdict.obligation.label for verdict in _judged(case_of(name), (old, new)).failures}
    assert any(label in each for each in found), found


@pytest.mark.parametrize("runs_first", [True, False])
def test_two_elements_are_never_one_place(runs_first: bool) -> None:
    """What the proof asks of strides, against places that are counted."""
    for rows, run, runs, stride, apart in product((1, 2, 3), (1, 2), (1, 3), range(8), range(8)):
        matrix = Matrix(rows, run * runs, stride, run, apart)
        places = [matrix.place(i, j) for i in range(rows) for j in range(run * runs)]
        fits = _fits(runs, run, apart) and _fits(rows, (runs - 1) * apart + run, stride)
        if not runs_first:
            fits = _fits(rows, run, stride) and _fits(runs, (rows - 1) * stride + run, apart)
        if fits:
            assert len(set(places)) == len(places)


def _fits(count: int, width: int, stride: int) -> bool:
    return count < 2 or width <= stride
