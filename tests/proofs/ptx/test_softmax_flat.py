"""Narrow rows side by side, through shared memory: generated kernels, for every number of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tylo.codegen.softmax.flat import FlatKernel
from tylo.proofs.ptx.validate import Validation, validate
from tylo.proofs.specifications.softmax_flat import FlatCase, effect
from tylo.proofs.specifications.softmax_flat_tiles import FlatTile

# Of 33 columns in lanes of nine, those of the last one are not all there.
_WIDE, _SMALL = FlatTile(4, 64, 4, 9, 256), FlatTile(4, 32, 4, 2, 64)
CASES: dict[str, tuple[FlatTile, int, dict[str, Any]]] = {
    "seven columns": (_SMALL, 7, {"lse": True}),
    "33 columns": (_WIDE, 33, {}),
    "log-sum-exp alone": (_WIDE, 33, {"writes": False, "lse": True}),
    "lanes beside each other": (FlatTile(4, 32, 4, 2, 64, False), 7, {}),
    "BF16, two passes": (FlatTile(8, 64, 2, 3, 64), 5, {"dtype": "bf16"}),
    "F16, a lane a row": (FlatTile(8, 64, 1, 3, 32), 3, {"dtype": "f16", "lse": True}),
    "a mask": (_SMALL, 7, {"mask": 1}),
    "two modes": (_SMALL, 7, {"mask": 2}),
    "three modes": (_WIDE, 33, {"mask": 3, "lse": True}),
    "two modes, lanes beside each other": (FlatTile(4, 32, 4, 2, 64, False), 7, {"mask": 2}),
    "a mask, 63 columns": (FlatTile(4, 32, 8, 8, 256), 63, {"mask": 1}),
    "a mask, BF16, two passes": (FlatTile(8, 64, 2, 3, 64), 5, {"dtype": "bf16", "mask": 1}),
    "two modes, F16, a lane a row": (
        FlatTile(8, 64, 1, 3, 32),
        3,
        {"dtype": "f16", "lse": True, "mask": 2},
    ),
    "a mask, log-sum-exp alone": (_SMALL, 7, {"writes": False, "lse": True, "mask": 1}),
    "two modes, log-sum-exp alone": (_SMALL, 7, {"writes": False, "lse": True, "mask": 2}),
}
_QUICK = ("seven columns", "a mask", "log-sum-exp alone", "a mask, log-sum-exp alone")
# The first takes a minute; of the others each part is in a shorter case: masks of one mode and of
# two, each element type, lanes beside each other, log-sum-exp alone, three modes across memory.
_LONG = (
    "a mask, 63 columns",
    "three modes",
    "two modes, lanes beside each other",
    "a mask, BF16, two passes",
    "two modes, F16, a lane a row",
    "two modes, log-sum-exp alone",
)


def judged(name: str, *changes: tuple[str, str]) -> Validation:
    from tylo.codegen.nvrtc import compile as compile_cuda

    tile, columns, given = CASES[name]
    case = FlatCase(tile, columns, **{"dtype": "f32", **given})
    kernel = FlatKernel(tile, columns, case.dtype, case.writes, case.mask or None, case.lse)
    text = kernel.source()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    ptx = compile_cuda(text, "sm_90a", kernels=[kernel.entry]).ptx
    return validate(ptx, effect(case))


@pytest.mark.parametrize(
    "name",
    [
        n
        if n in _QUICK
        else pytest.param(n, marks=[pytest.mark.slow, *[pytest.mark.nightly] * (n in _LONG)])
        for n in CASES
    ],
)
def test_they_hold_for_every_number_of_rows(name: str) -> None:
    validation = judged(name)
    assert validation.holds, "\n".join(map(str, validation.failures + validation.undecided))


_READ = "? tile[row * columns_of_row + column]"


# Three of them in every run.
_OFTEN = ("written", "bounds", "address")


_WRONG = [
    # Nobody waits: for copies, for other threads before reading, or before writing.
    ("    wait_for_copies();\n    __syncthreads();", "    __syncthreads();", "written"),
    ("    wait_for_copies();\n    __syncthreads();", "    wait_for_copies();", "no race"),
    ("    }\n    __syncthreads();\n#pragma", "    }\n#pragma", "no race"),
    # A row, or a column, of its neighbour.
    (_READ, "? tile[(row ^ 1) * columns_of_row + column]", "no race"),
    (_READ, "? tile[row * columns_of_row + column + 1]", "no race"),
    ("column < columns_of_row ?", "column <= columns_of_row ?", "no race"),
    # What is copied: too much, from elsewhere, to elsewhere.
    ("at + vector <= count) {\n            copy", "at < count) {\n            copy", "bounds"),
    ("copy_16(tile + at, x + at)", "copy_16(tile + at, x + (at ^ 4))", "origin"),
    ("copy_16(tile + at, x + at)", "copy_16(tile + (at ^ 4), x + at)", "written"),
    ("take_cut(x + at, tile + at", "take_cut(x + at, tile + at - vector", "written"),
    # What is written: early, twice, past the end, for a row that is not there.
    ("store_16(out + at,", "store_16(out + (at ^ 4),", "address"),
    ("at + vector <= count) {\n            const", "at < count) {\n            const", "where"),
    ("row < rows_here", "row <= rows_here", "written"),
    ("put_cut(tile + at, out + at, count - at)", "put_cut(tile + at, out + at, 2)", "where"),
    ("first < given.rows ? given.rows - first", "true ? given.rows - first", "bounds"),
]


# Of masks: the flag of another row, of no column, without a guard, or of a wrong stride.
_ROW, _FLAG = "live ? first + row : 0", "load_flag(flags + column * given.mask_column_stride, "
_WRONG_MASKS = [
    ("a mask", _ROW, "live ? first + (row ^ 1) : 0", "origin"),
    ("a mask", _ROW, "live ? first + row / 2 : 0", "origin"),
    ("a mask", _ROW, "live ? row : 0", "origin"),
    ("a mask", _ROW, "live ? first : 0", "origin"),
    ("a mask", _ROW, "live ? first + (row + 1) % block_rows : 0", "origin"),
    ("a mask", _FLAG, _FLAG.replace("column *", "(column + 1) *"), "origin"),
    ("a mask", _FLAG, _FLAG.replace("column *", "(column + row) *"), "origin"),
    ("a mask", _FLAG, _FLAG.replace("mask_column_stride", "mask_stride_0"), "origin"),
    ("a mask", _FLAG + "live && column < columns_of_row)", _FLAG + "live)", "bounds"),
    ("a mask", _FLAG + "live && column", _FLAG + "column", "origin"),
    ("a mask", "? tile[row * columns_of_row + column]", "? tile[(row ^ 1) * 7 + column]", "race"),
    ("a mask", "    }\n    __syncthreads();\n#pragma", "    }\n#pragma", "no race"),
    ("a mask", "given.mask + mask_at", "given.mask + mask_at + rest", "origin"),
    ("two modes", "rest /= given.mask_extent_0;", "", "origin"),
    ("two modes", "rest % given.mask_extent_0", "rest % given.mask_extent_1", "origin"),
    ("two modes", "(rest) * given.mask_stride_1", "(rest) * given.mask_stride_0", "origin"),
    ("two modes", "rest /= given.mask_extent_0;", "rest /= given.mask_extent_0 + 1;", "origin"),
]
_OFTEN_MASKS = (0, 2, 5)


def _members() -> Iterator[Any]:
    often = {label: wrong for *wrong, label in reversed(_WRONG)}
    for *wrong, label in _WRONG:
        rare = label not in _OFTEN or often[label] != wrong
        marks = [pytest.mark.nightly] if rare else []
        yield pytest.param("seven columns", *wrong, label, marks=marks)
    for number, each in enumerate(_WRONG_MASKS):
        marks = [] if number in _OFTEN_MASKS else [pytest.mark.nightly]
        yield pytest.param(*each, marks=marks)


@pytest.mark.parametrize(("name", "old", "new", "label"), list(_members()))
def test_wrong_kernels_fail(name: str, old: str, new: str, label: str) -> None:
    found = {verdict.obligation.label for verdict in judged(name, (old, new)).failures}
    assert any(label in each for each in found), found
