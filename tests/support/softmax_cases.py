"""Softmax kernels on the PTX machine: inputs with every special row, poisoned outputs, an oracle.

A `Case` is one call. `run(case)` chooses a kernel, or takes the one it is given, runs it on the
machine and returns what it wrote, with everything around it: gaps between rows, and elements before
and after the output, all poisoned beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tylo.codegen.cache import compile_cached
from tylo.codegen.launch.choice import Choice
from tylo.codegen.nvrtc import require_full_speed
from tylo.codegen.softmax import MaskGeometry, SoftmaxRequest, choose, oracle
from tylo.codegen.softmax.choose import chosen
from tylo.codegen.softmax.kernel import SoftmaxKernel
from tylo.codegen.softmax.request import BYTES, Across
from tylo.proofs.ptx.machine.launch import Placed, launch
from tylo.proofs.specifications.softmax_tiles import SoftmaxTile

WORDS = {"f32": np.uint32, "bf16": np.uint16, "f16": np.uint16}
POISON = {"f32": 0xFFFFFFFF, "bf16": 0xFFFF, "f16": 0xFFFF}
_AROUND = 16


@dataclass(frozen=True)
class Case:
    """Rows, columns and types; `pad` elements between rows, `start` before the first of x.

    With `inner`, rows run across memory, so many side by side, and `pad` lies between columns.
    """

    rows: int
    columns: int
    dtype: str = "f32"
    out_dtype: str | None = "f32"
    pad: int = 0
    start: int = 0
    out_pad: int = 0
    out_start: int = 0
    lse: bool = False
    mask: str = ""
    seed: int | None = None
    inner: int = 0

    def strides(self, *, out: bool = False) -> tuple[int, int, int]:
        """Elements from the rows of one run to those of the next, from row to row, and columns."""
        pad = self.out_pad if out else self.pad
        if not self.inner:
            return self.columns + pad, 0, 1
        return self.columns * (self.inner + pad) + pad, 1, self.inner + pad

    @property
    def runs(self) -> tuple[int, int, int]:
        """Runs of rows, rows of a run, columns."""
        inner = self.inner or 1
        return self.rows // inner, inner, self.columns


CHOSEN = [
    Case(9, 64, lse=True),
    Case(7, 257, lse=True),
    Case(7, 258, "f32", "bf16", pad=5, start=3, out_pad=1, out_start=2),
    Case(6, 515, "bf16", "bf16", pad=3, start=5, out_pad=3, out_start=5, lse=True),
    Case(6, 514, "bf16", "f32", start=1),
    Case(6, 1024, "f16", "f16"),
    Case(6, 1000, "bf16", "bf16", lse=True, seed=3),
    Case(7, 100, "f16", "f32", pad=1),
    # Several rows to a vector, with a vector that the last row does not fill.
    Case(1001, 1, "bf16", "bf16", lse=True),
    Case(1003, 2, "f32", "bf16", lse=True),
    Case(131, 4, "f16", "f16"),
    # Through shared memory.
    Case(77, 33, "bf16", "bf16", lse=True),
    Case(130, 17, "f32", "f32", seed=1),
    Case(40, 3, "f16", None, lse=True),
    # Log-sum-exp alone, held and streamed.
    Case(6, 300, "f32", None, lse=True),
    Case(6, 9001, "bf16", None, lse=True),
]
MASKED = [
    Case(6, 96, mask="whole", lse=True),
    Case(6, 264, "bf16", "bf16", mask="columns"),
    Case(6, 261, "bf16", "bf16", mask="whole", lse=True),
    Case(7, 130, "f32", "f32", mask="strided"),
    Case(6, 9, "f16", "f16", mask="heads", lse=True),
    Case(6, 40, "f32", "f32", pad=1, mask="rows"),
    Case(6, 264, "f16", "f16", mask="whole", lse=True),
    Case(6, 521, "f16", "f32", mask="whole", lse=True),
]
ACROSS = [
    Case(128, 5, inner=64, lse=True),
    Case(66, 40, "bf16", "bf16", inner=33, lse=True, seed=1),
    Case(48, 300, "f16", "f16", inner=24, lse=True),
    Case(6, 7, "f32", "bf16", pad=1, out_pad=2, inner=2, lse=True),
    Case(72, 9, "bf16", "f32", pad=8, out_pad=4, inner=24, lse=True, seed=3),
    Case(7, 33, inner=1, pad=2, start=1, out_start=3, lse=True),
    Case(200, 3, "bf16", None, inner=8, lse=True),
    Case(20, 64, "f16", "f16", inner=20, mask="whole", lse=True),
    Case(12, 10, "f32", "f32", inner=4, mask="heads", lse=True),
    Case(8, 2100, "f32", "f32", inner=8, lse=True, seed=2),
    Case(10, 700, "bf16", "bf16", inner=5, mask="columns", lse=True),
    Case(6, 9001, "f32", None, inner=6, lse=True),
]
SHAPES = {
    "warps along a row": SoftmaxKernel(SoftmaxTile(4, 32, 2, 2, 2), "f32", "f32", lse=True),
    "words kept": SoftmaxKernel(SoftmaxTile(8, 32, 2, 3), "bf16", "bf16", ragged=True, held=False),
    "words kept, f16": SoftmaxKernel(SoftmaxTile(8, 32, 1, 3), "f16", "f16", held=False, lse=True),
    "streaming, warp a row": SoftmaxKernel(
        SoftmaxTile(4, 32, 1, 1, 4), "f32", "f32", "stream", lse=True
    ),
    "streaming, block a row": SoftmaxKernel(
        SoftmaxTile(4, 32, 2, 1), "bf16", "f16", "stream", ragged=True
    ),
    "streaming, 64-bit columns": SoftmaxKernel(
        SoftmaxTile(4, 32, 2, 2), "f32", "f32", "stream", ragged=True, wide=True
    ),
    "three passes": SoftmaxKernel(
        SoftmaxTile(1, 32, 1, 1, 4), "bf16", "bf16", "three_pass", lse=True
    ),
}


@dataclass(frozen=True)
class Result:
    """What a run gave beside what it should have; `around` is every poisoned element outside."""

    choice: Choice
    probabilities: Any
    expected: Any
    logarithm: Any
    expected_logarithm: Any
    around: Any


def scores(case: Case) -> Any:
    """Random logits; the first rows are special: masked out, NaN, +inf, one kept, huge, equal."""
    generator = np.random.default_rng(case.rows * 1009 + case.columns)
    x = generator.normal(0, 3, (case.rows, case.columns))
    big = 6e4 if case.dtype == "f16" else 3e38
    special = [-np.inf, None, None, -np.inf, None, 1.5]
    for row, value in enumerate(special[: case.rows]):
        if value is not None:
            x[row] = value
    if case.rows > 5:
        x[1, case.columns // 2] = np.nan
        x[2, case.columns - 1] = np.inf
        x[3, case.columns - 1] = -7.0
        x[4] = np.where(np.arange(case.columns) % 2, -big, big)
    return x


def request(case: Case, capability: tuple[int, int] = (8, 0)) -> SoftmaxRequest:
    """What the chooser is asked."""
    out = case.out_dtype or "f32"
    strides, out_strides = case.strides(), case.strides(out=True)
    pitches = [
        (start * size, ((run if case.runs[0] > 1 else 0) | (case.inner and column)) * size)
        for start, (run, _, column), size in (
            (case.start, strides, BYTES[case.dtype]),
            (case.out_start, out_strides, BYTES[out]),
        )
    ]
    every = [_alignment(start | pitch) for start, pitch in pitches]
    return SoftmaxRequest(
        rows=case.rows,
        columns=case.columns,
        dtype=case.dtype,
        out_dtype=case.out_dtype,
        row_stride=strides[0],
        out_row_stride=out_strides[0],
        alignment=every[0],
        out_alignment=every[1],
        mask=_geometry(case),
        lse=case.lse,
        capability=capability,
        start_alignment=min(_alignment(start) for start, _ in pitches),
        across=Across(case.inner, strides[2], out_strides[2]) if case.inner else None,
    )


Execute = Callable[[Choice, Mapping[str, Any], "int | None"], None]


def on_machine(choice: Choice, values: Mapping[str, Any], seed: int | None) -> None:
    """Run on the PTX machine; arrays come as (array, first element) and are written in place."""
    kernel = choice.kernel
    compiled = compile_cached(kernel.source(), "sm_80", kernels=[kernel.entry])
    require_full_speed(compiled)
    given = (values[each.name] for each in choice.parameters)
    # Where an array begins in a vector of 16 bytes is part of what is tested.
    arguments = [
        Placed(each[0][each[1] :], each[1] * each[0].itemsize) if isinstance(each, tuple) else each
        for each in given
    ]
    launch(
        compiled.ptx,
        kernel.entry,
        choice.grid,
        choice.block,
        arguments,
        seed=seed,
        shared_bytes=choice.shared,
    )


def run(case: Case, choice: Choice | None = None, execute: Execute = on_machine) -> Result:
    """Run a kernel; raises what the machine finds wrong with it."""
    choice = choice or choose(request(case))
    x, keep = scores(case), _keep(case)
    strides, out_strides = case.strides(), case.strides(out=True)
    held = np.zeros(case.start + case.runs[0] * strides[0] + _AROUND, WORDS[case.dtype])
    given = _rows(held, case.start, strides, case.runs)
    given[...] = oracle.narrowed(x, case.dtype).reshape(case.runs)
    out_dtype = case.out_dtype or "f32"
    whole = case.out_start + case.runs[0] * out_strides[0] + _AROUND
    out = np.full(whole, POISON[out_dtype], WORDS[out_dtype])
    lse = np.full(case.rows + 1, -1, np.int32).view(np.float32)
    values = {
        "x": (held, case.start),
        "out": (out, case.out_start),
        "lse": (lse, 0),
        "rows": case.rows,
        "columns": case.columns,
        "row_stride": strides[0],
        "out_row_stride": out_strides[0],
        "inner": case.inner,
        "column_stride": strides[2],
        "out_column_stride": out_strides[2],
        **_mask_arguments(case, keep),
    }
    execute(choice, values, case.seed)
    wanted, wanted_lse = oracle.softmax(
        oracle.widened(given.copy(), case.dtype).reshape(x.shape), keep
    )
    written = _rows(out, case.out_start, out_strides, case.runs)
    found = oracle.widened(written.copy(), out_dtype).reshape(x.shape)
    written[...] = POISON[out_dtype]
    assert np.isnan(lse[-1])
    return Result(choice, found, wanted, lse[:-1], wanted_lse, out)


def require_right(
    case: Case, choice: Choice | None = None, execute: Execute = on_machine
) -> Choice:
    """Run and compare; the choice that was run."""
    result = run(case, choice, execute)
    assert (result.around == POISON[case.out_dtype or "f32"]).all(), "wrote beside the rows"
    if case.out_dtype is not None:
        relative, absolute = oracle.tolerance(case.out_dtype)
        wanted = result.expected
        off = np.abs(result.probabilities - wanted)
        both = np.isnan(result.probabilities) & np.isnan(wanted)
        with np.errstate(divide="ignore", invalid="ignore"):
            # The exponent is rounded in proportion to its size.
            exponent = np.where(wanted > 0, -np.log2(wanted), 0)
        right = both | (off <= (relative + exponent * 2.0**-23) * wanted + absolute)
        assert right.all(), f"first wrong at {np.argwhere(~right)[0]}: {result.choice.reason}"
    if case.lse:
        same = oracle.near_logarithm(result.logarithm, result.expected_logarithm)
        assert same.all(), f"log-sum-exp of row {np.argwhere(~same)[0]}"
    return result.choice


def _geometry(case: Case) -> MaskGeometry | None:
    return {
        "": None,
        "whole": MaskGeometry(((case.rows, case.columns),), 1),
        "columns": MaskGeometry(((case.rows, 0),), 1),
        "rows": MaskGeometry(((case.rows, 1),), 0),
        "heads": MaskGeometry(((case.rows // 3, 0), (3, case.columns)), 1),
        "strided": MaskGeometry(((case.rows, 2 * case.columns),), 2),
    }[case.mask]


def _keep(case: Case) -> Any:
    """The mask as an array of rows by columns, with a row that keeps nothing."""
    if not case.mask:
        return None
    keep = np.random.default_rng(7).random((case.rows, case.columns)) < 0.6
    keep[min(3, case.rows - 1)] = False
    if case.mask == "columns":
        keep[:] = keep[0]
    if case.mask == "rows":
        keep[:] = keep[:, :1]
    if case.mask == "heads":
        keep = keep[np.arange(case.rows) % 3]
    return keep


def _mask_arguments(case: Case, keep: Any) -> dict[str, Any]:
    geometry = _geometry(case)
    if geometry is None:
        return {}
    stored = {
        "whole": lambda: keep,
        "columns": lambda: keep[0],
        "rows": lambda: keep[:, 0],
        "heads": lambda: keep[:3],
        "strided": lambda: np.repeat(keep, 2, axis=1),
    }[case.mask]()
    found: dict[str, Any] = {
        "mask": (np.ascontiguousarray(stored).astype(np.uint8).reshape(-1), 0),
        "mask_column_stride": geometry.column_stride,
    }
    for index, (extent, stride) in enumerate(reversed(geometry.rows)):
        found |= {f"mask_extent_{index}": extent, f"mask_stride_{index}": stride}
    return found


def _rows(array: Any, start: int, strides: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """The rows by run, place in the run, and column, whatever lies between them."""
    size = array.itemsize
    apart = tuple(each * size for each in strides)
    return np.lib.stride_tricks.as_strided(array[start:], shape, apart)


def _alignment(number: int) -> int:
    return (number | 16) & -(number | 16)


def shape_case(kernel: SoftmaxKernel, name: str) -> tuple[Case, Choice]:
    """A case that `kernel` computes, half as wide as it holds, and the choice of it."""
    whole = (kernel.capacity or 520) // 2
    columns = whole + 1 if kernel.ragged else whole - whole % kernel.tile.vector
    pad = 3 if kernel.ragged else 0
    case = Case(7, columns, kernel.dtype, kernel.out_dtype, lse=kernel.lse, seed=2, out_pad=pad)
    return case, chosen(kernel, replace(request(case), multiprocessors=2), name)
