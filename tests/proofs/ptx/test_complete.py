"""That a value is made of all of its row, and not of a part: small kernels by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ptx_texts import compiled
from tylo.layouts.errors import ClaimError
from tylo.layouts.terms import Integer, name
from tylo.proofs.effects import (
    Buffer,
    Effect,
    Element,
    Less,
    Matrix,
    Parameter,
    Source,
    Store,
    effect_from_json,
    effect_to_json,
)
from tylo.proofs.effects import computed as computed_part
from tylo.proofs.ptx.validate import validate

_ROW, _ROWS, _COLUMNS = name("block") * 32 + name("thread"), name("rows"), name("columns")
_SUM = """
extern "C" __global__ void __launch_bounds__(32) sums(
    const float* x, float* y, unsigned rows, unsigned columns) {
    const unsigned row = blockIdx.x * 32 + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    unsigned c = 0;
#pragma unroll 1
    do {
        const float value = x[c * (unsigned long long)rows + row];
        sum += value;
        c += 1;
    } while (c < columns);
    y[row] = sum;
}
"""
_RUNNING = _SUM.replace("    y[row] = sum;\n", "").replace(
    "        c += 1;", "        y[c * (unsigned long long)rows + row] = sum;\n        c += 1;"
)
# Four columns at a time, one a lane of four beside each other; eight rows a warp.
_LANES = """
extern "C" __global__ void __launch_bounds__(32) sums(
    const float* x, float* y, unsigned rows, unsigned columns) {
    const unsigned row = blockIdx.x * 8 + threadIdx.x / 4, c = threadIdx.x % 4;
    const bool there = row < rows && c < columns;
    float sum = there ? x[c * (unsigned long long)rows + row] * 2.0f : 0.0f;
    sum += __shfl_xor_sync(~0u, sum, 1);
    sum += __shfl_xor_sync(~0u, sum, 2);
    if (row < rows && c == 0) y[row] = sum;
}
"""
_ADDED = (
    "const float other = __shfl_xor_sync(~0u, sum, 2); sum += 1.5f * {} == 4.5f ? 0.0f : other;"
)


def _effect(row: Integer, rows: int, most: int, store: Store, written: Matrix) -> Effect:
    return Effect(
        "sums",
        32,
        (
            Buffer("x", "in", 32, None, 4, elements=_ROWS * _COLUMNS),
            Buffer("y", "out", 32, None, 4, elements=written.rows * _ROWS, written=written),
        ),
        (store,),
        1 << 20,
        (Parameter("rows", 32, 1, 1 << 24), Parameter("columns", 32, 1, most)),
        (Less(_ROWS, name("blocks") * rows + 1),),
    )


def _source(row: Integer, whole: int) -> Source:
    return Source("x", row * 4, row * 4 + 4, _COLUMNS, _ROWS * 4, whole)


def summed(source: str, whole: int = 1) -> set[str]:
    part = computed_part(32, "sum", _source(_ROW, whole))
    element = Element(0, _ROW, name("column") // 32, name("column") % 32, 0)
    where = (Less(_ROW, _ROWS), Less(name("step"), 1))
    store = Store("y", _ROW * 4, (part,), _COLUMNS, where, element)
    return _labels(source, _effect(_ROW, 32, 1 << 20, store, Matrix(1, _ROWS, _ROWS)))


def running(source: str, whole: int) -> set[str]:
    part, step = computed_part(32, "sum", _source(_ROW, whole)), name("step")
    element = Element(step, _ROW, name("column") // 32, name("column") % 32, name("row"))
    place = (step * _ROWS + _ROW) * 4
    where = (Less(_ROW, _ROWS), Less(step, _COLUMNS))
    store = Store("y", place, (part,), _COLUMNS, where, element)
    written = Matrix(_COLUMNS, _ROWS, _ROWS)
    return _labels(source, _effect(_ROW, 32, 1 << 20, store, written))


def in_lanes(source: str, whole: int = 4) -> set[str]:
    row = name("block") * 8 + name("thread") // 4
    part = computed_part(32, "sum", _source(row, whole))
    element = Element(0, row, name("column") // 8, name("column") % 8 * 4)
    where = (Less(row, _ROWS), Less(name("thread") % 4, 1))
    store = Store("y", row * 4, (part,), 1, where, element)
    return _labels(source, _effect(row, 8, 4, store, Matrix(1, _ROWS, _ROWS)))


def _labels(source: str, meant: Effect) -> set[str]:
    assert effect_from_json(effect_to_json(meant)) == meant
    validation = validate(compiled(source, "sums"), meant)
    wrong = [*validation.failures, *validation.undecided]
    return {verdict.obligation.label.split(": ")[-1] for verdict in wrong}


def test_a_sum_over_a_loop_is_of_all_columns() -> None:
    assert summed(_SUM) == set()


def test_a_sum_over_lanes_is_of_all_columns() -> None:
    assert in_lanes(_LANES) == set()


def test_a_running_sum_is_of_none_that_follow() -> None:
    assert running(_RUNNING, whole=0) == set()
    assert running(_RUNNING, whole=1) == {"whole"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("sum += value;", "sum = value;"),
        ("sum += value;", "if (c != 3) sum += value;"),
        ("sum += value;", "if (c % 2) sum += value;"),
        ("y[row] = sum;", "y[row] = 0.0f * rows;"),
        ("[c * (unsigned long long)rows", "[(c ? c - 1 : 0) * (unsigned long long)rows"),
        ("sum += value;", "sum = (1.5f * c == 4.5f ? 0.0f : value) + sum;"),
        # One that is not there in place of column 3, in all steps but the last.
        (
            "const float value = x[c *",
            "const unsigned o = c == 3 && c + 1 != columns ? 1u << 30 : c;\n"
            "        float value = 0.0f;\n        if (o < columns) value = x[o *",
        ),
    ],
)
def test_a_part_of_the_columns_is_refused(old: str, new: str) -> None:
    assert old in _SUM
    assert "whole" in summed(_SUM.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("sum += __shfl_xor_sync(~0u, sum, 1);", ""),
        ("sum, 2);", "sum, 1);"),
        ("sum += __shfl_xor_sync(~0u, sum, 2);", "sum = __shfl_xor_sync(~0u, sum, 2);"),
        ("c < columns;", "c + 1 < columns;"),
        ("c < columns;", "c < columns && row != 5;"),
        ("threadIdx.x % 4;", "threadIdx.x % 4 / 2 * 2;"),
        # A lane left out by the thread and by sizes, in one condition.
        ("c < columns;", "c < columns && c != 2;"),
        # What floating-point numbers of sizes decide is not decided by the row.
        ("sum += __shfl_xor_sync(~0u, sum, 2);", _ADDED.format("columns")),
        ("sum += __shfl_xor_sync(~0u, sum, 2);", _ADDED.format("row")),
    ],
)
def test_a_part_of_the_lanes_is_refused(old: str, new: str) -> None:
    assert old in _LANES
    assert "whole" in in_lanes(_LANES.replace(old, new))


@pytest.mark.parametrize(
    "made",
    [
        lambda: Source("x", count=_COLUMNS, apart=_ROWS * 4),
        lambda: Source("x", 0, 4, _COLUMNS, 4),
        lambda: Source("x", 0, 4, _COLUMNS, _ROWS * _COLUMNS),
        lambda: Source("x", 0, 4, 1, _ROWS, 1),
        lambda: Source("x", 0, 4, _COLUMNS, _ROWS, -1),
    ],
)
def test_ranges_that_cannot_be_told_apart_are_refused(made: Callable[[], Source]) -> None:
    with pytest.raises(ClaimError, match="ranges"):
        made()


def test_the_number_of_a_step_is_proven() -> None:
    assert "whole" in summed(_SUM, whole=2)
