"""Ragged rows and masks: generated softmax kernels, for every size, stride and start."""

from __future__ import annotations

from typing import Any

import pytest

from tylo.codegen.softmax.cuda_tests import kernel_of
from tylo.proofs.effects import assumptions
from tylo.proofs.ptx.validate import Validation, validate
from tylo.proofs.specifications.softmax import SoftmaxCase, effect
from tylo.proofs.specifications.softmax_tiles import SoftmaxTile

_WARP, _WARPS, _LANES = (
    SoftmaxTile(4, 32, 1, 1),
    SoftmaxTile(4, 32, 1, 1, 4),
    SoftmaxTile(4, 8, 1, 1, 4),
)
_COLUMNS = SoftmaxTile(1, 32, 1, 1, 4)
_STREAMED, _PASSES = "streamed, log-sum-exp alone", "three passes, a mask"
_MODES = "two modes, log-sum-exp alone"
CASES: dict[str, tuple[SoftmaxTile, dict[str, Any]]] = {
    "ragged, a mask": (_WARP, {"ragged": True, "mask": 1}),
    "ragged, streamed": (SoftmaxTile(4, 32, 4, 1), {"ragged": True, "form": "stream"}),
    "a mask, streamed": (_WARPS, {"mask": 1, "form": "stream"}),
    "ragged, log-sum-exp alone": (_WARPS, {"ragged": True, "lse": True, "out_dtype": None}),
    "a mask, log-sum-exp alone": (_WARPS, {"mask": 1, "lse": True, "out_dtype": None}),
    "ragged BF16": (SoftmaxTile(8, 32, 1, 1), {"ragged": True, "dtype": "bf16"}),
    "ragged, eight lanes a row, a mask": (_LANES, {"ragged": True, "mask": 1}),
    "eight lanes a row, two modes": (_LANES, {"mask": 2}),
    "ragged, eight lanes a row, two modes": (_LANES, {"ragged": True, "mask": 2}),
    "ragged, two modes": (_WARP, {"ragged": True, "mask": 2}),
    _MODES: (_WARPS, {"mask": 2, "lse": True, "out_dtype": None}),
    "three modes, log-sum-exp alone": (_WARPS, {"mask": 3, "lse": True, "out_dtype": None}),
    "eight modes, log-sum-exp alone": (_WARPS, {"mask": 8, "lse": True, "out_dtype": None}),
    "eight lanes a row, eight modes, BF16": (
        SoftmaxTile(8, 8, 1, 1, 4),
        {"mask": 8, "dtype": "bf16"},
    ),
    "ragged, eight lanes a row, four modes": (_LANES, {"ragged": True, "mask": 4, "lse": True}),
    "ragged, streamed, five modes": (_WARPS, {"ragged": True, "mask": 5, "form": "stream"}),
    "eight modes, streamed": (_WARPS, {"mask": 8, "form": "stream"}),
    "three passes, six modes": (_COLUMNS, {"form": "three_pass", "mask": 6}),
    "five modes": (_WARPS, {"mask": 5}),
    "two modes, streamed": (_WARPS, {"mask": 2, "form": "stream"}),
    "ragged, streamed, two vectors": (SoftmaxTile(4, 32, 4, 2), {"ragged": True, "form": "stream"}),
    "ragged, streamed, rows of warps, a mask": (
        _WARPS,
        {"ragged": True, "form": "stream", "mask": 1},
    ),
    _STREAMED: (_WARPS, {"form": "stream", "lse": True, "out_dtype": None}),
    "streamed, two modes, log-sum-exp alone": (
        _WARPS,
        {"form": "stream", "lse": True, "out_dtype": None, "mask": 2},
    ),
    _PASSES: (_COLUMNS, {"form": "three_pass", "mask": 1}),
    "three passes, ragged, a mask": (
        _COLUMNS,
        {"form": "three_pass", "mask": 1, "ragged": True, "lse": True},
    ),
}
# A minute and more where others are busy.
_LONG = {"ragged, eight lanes a row, two modes": (pytest.mark.nightly,)}
_QUICK = (
    "ragged, a mask",
    "ragged, log-sum-exp alone",
    "a mask, log-sum-exp alone",
    "eight lanes a row, two modes",
    "eight modes, log-sum-exp alone",
    _STREAMED,
    _PASSES,
)


def judged(name: str, source: tuple[str, str] = ("", "")) -> Validation:
    from tylo.codegen.nvrtc import compile as compile_cuda

    tile, given = CASES[name]
    dtype = given.get("dtype", "f32")
    case = SoftmaxCase(tile, **{"dtype": dtype, "out_dtype": dtype, **given})
    kernel = kernel_of(case)
    text = kernel.source()
    assert source[0] in text
    ptx = compile_cuda(text.replace(*source), "sm_90a", kernels=[kernel.entry]).ptx
    return validate(ptx, effect(case))


@pytest.mark.parametrize(
    "name",
    [
        n if n in _QUICK else pytest.param(n, marks=[pytest.mark.slow, *_LONG.get(n, ())])
        for n in CASES
    ],
)
def test_they_hold_for_every_size(name: str) -> None:
    validation = judged(name)
    assert validation.holds, "\n".join(map(str, validation.failures + validation.undecided))


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("ragged, log-sum-exp alone", "(0 - start) % vector", "(1 - start) % vector"),
        ("ragged, log-sum-exp alone", "rest - tail + (span.single", "rest + (span.single"),
        (
            "a mask, log-sum-exp alone",
            "row < given.rows ? row : 0",
            "row < given.rows ? row ^ 1 : 0",
        ),
        # Rows that are not there, a row for another, a step that is left out or made twice.
        (_STREAMED, "row < given.rows ? given.columns", "true ? given.columns"),
        (_STREAMED, "given.lse[row] =", "given.lse[row ^ 1] ="),
        (_PASSES, "span.out = result_row(given, row)", "span.out = result_row(given, row ^ 1)"),
        (
            _PASSES,
            "store_span(span, thread, rank, 0, weights);",
            "if (span.first) store_span(span, thread, rank, 0, weights);",
        ),
        (_MODES, "rest % given.mask_extent_0", "(rest + 1) % given.mask_extent_0"),
        pytest.param(_MODES, "rest /= given.mask_extent_0;", "", marks=pytest.mark.nightly),
        pytest.param(
            _MODES,
            "rest /= given.mask_extent_0;",
            "rest /= given.mask_extent_0; rest -= rest != 0;",
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            _MODES,
            "(rest) * given.mask_stride_1",
            "(rest) * given.mask_stride_0",
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_wrong_kernels_fail(name: str, old: str, new: str) -> None:
    validation = judged(name, (old, new))
    assert validation.failures, validation.undecided


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("old", "new"),
    [
        # A digit of another mode, a mode left out, what is left taken for a digit.
        ("rest % given.mask_extent_2", "rest % given.mask_extent_3"),
        ("rest /= given.mask_extent_2;", ""),
        ("rest /= given.mask_extent_3;", "rest /= given.mask_extent_2;"),
        ("(rest) * given.mask_stride_4", "(rest + 1) * given.mask_stride_4"),
        ("(rest) * given.mask_stride_4", "(rest % 2) * given.mask_stride_4"),
        ("(rest % given.mask_extent_3) *", "(rest) *"),
        ("unsigned long long rest = ", "unsigned rest = "),
    ],
)
def test_wrong_digits_of_many_modes_do_not_hold(old: str, new: str) -> None:
    # Of products of so many sizes, solvers do not always find an example.
    assert not judged("five modes", (old, new)).holds


def test_where_the_rows_begin_is_not_assumed() -> None:
    tile, given = CASES["ragged, a mask"]
    meant = effect(SoftmaxCase(tile, "f32", "f32", **given))
    assert "x_phase" not in meant.arguments
    lines = assumptions(meant)
    assert any("x_phase elements of 4 bytes after a multiple of 16" in line for line in lines)
