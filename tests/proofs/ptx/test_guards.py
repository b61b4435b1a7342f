"""Guarded stores, total extents and strided rows: proven for every size, and refuted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ptx_kernels import (
    blocks,
    column,
    columns,
    ragged_effect,
    row,
    rows,
    strided_effect,
    sx,
    sy,
    thread,
)
from ptx_texts import compiled
from tylo.layouts.errors import ClaimError
from tylo.layouts.terms import name
from tylo.proofs.effects import (
    Buffer,
    Effect,
    Less,
    Matrix,
    assumptions,
    effect_from_json,
    effect_to_json,
)
from tylo.proofs.ptx.validate import Validation, validate
from tylo.proofs.ptx.workers import Workers

n = name("n")

RAGGED = r"""
extern "C" __global__ void __launch_bounds__(256)
ragged(const int* __restrict__ x, int* __restrict__ y, unsigned n) {
  unsigned long long i = (unsigned long long)blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = x[i];
}"""

STRIDED = r"""
extern "C" __global__ void __launch_bounds__(128)
strided(const int* __restrict__ x, int* __restrict__ y,
        unsigned rows, unsigned columns, long long sx, long long sy) {
  unsigned row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row < rows && lane < columns) y[row * sy + lane] = x[row * sx + lane];
}"""


def ragged() -> Effect:
    return ragged_effect(256, 1 << 24, 1 << 31, "n")


def labels(validation: Validation) -> list[str]:
    return [verdict.obligation.label for verdict in validation.failures]


def store_of(effect: Effect, **changes: Any) -> Effect:
    (store,) = effect.stores
    return replace(effect, stores=(replace(store, **changes),))


@pytest.mark.parametrize(("source", "effect"), [(RAGGED, ragged()), (STRIDED, strided_effect())])
def test_right_kernels_hold_under_both_solvers(source: str, effect: Effect) -> None:
    assert effect_from_json(effect_to_json(effect)) == effect
    ptx = compiled(source, effect.entry)
    with Workers() as solve:
        validation = validate(ptx, effect, solve=solve)
    assert validation.holds, "\n".join(str(v) for v in validation.verdicts if v.verdict != "holds")
    stated = {verdict.obligation.label for verdict in validation.verdicts}
    assert {"y: nothing left out", "y: rows apart", "store 0: where", "y: extent"} <= stated


@pytest.mark.parametrize(
    ("old", "new", "label", "thread"),
    [
        ("i < n", "i <= n", "store 0: where", 0),
        ("i < n", "i + 1 < n", "store 0: made", 0),
        ("y[i] = x[i]", "y[i] = x[i + 1]", "store 0: part 0", 0),
        ("y[i] = x[i]", "y[i] = x[i + (i == 9)]", "store 0: part 0", 9),
        ("(unsigned long long)blockIdx.x", "blockIdx.x", None, None),
        ("(unsigned long long)blockIdx.x * 256", "blockIdx.x * 255", "store 0: address", 0),
    ],
)
def test_wrong_ragged_copies_fail(old: str, new: str, label: str | None, thread: int) -> None:
    assert old in RAGGED
    validation = validate(compiled(RAGGED.replace(old, new), "ragged"), ragged())
    if label is None:
        # 2^24 blocks of 256 threads wrap in 32 bits in no thread: the last index is 2^32 - 1.
        assert validation.holds
        return
    assert label in labels(validation), labels(validation)
    (verdict,) = (v for v in validation.failures if v.obligation.label == label)
    assert verdict.obligation.line > 0
    assert verdict.failure is not None
    assert thread is None or verdict.failure.thread == thread, str(verdict)


def test_a_load_is_in_bounds_under_its_own_guard_alone() -> None:
    ptx = compiled(RAGGED, "ragged")
    bare = "\n".join(line for line in ptx.splitlines() if "@%p1 bra" not in line)
    assert len(bare) < len(ptx)
    assert labels(validate(bare, ragged())) == [
        "store 0: where",
        "store 0: bounds",
        "load 0: bounds",
    ]


@pytest.mark.parametrize(
    ("old", "new", "label"),
    [
        ("row < rows &&", "row <= rows &&", "store 0: where"),
        ("lane < columns", "lane <= columns", "store 0: where"),
        ("row < rows && lane < columns", "row < rows", "store 0: where"),
        ("x[row * sx + lane]", "x[row * sy + lane]", "store 0: part 0"),
        ("y[row * sy", "y[row * sx", "store 0: address"),
        ("blockIdx.x * 4", "blockIdx.x * 8", "store 0: address"),
    ],
)
def test_wrong_strided_copies_fail(old: str, new: str, label: str) -> None:
    assert old in STRIDED
    validation = validate(compiled(STRIDED.replace(old, new), "strided"), strided_effect())
    assert label in labels(validation), list(map(str, validation.verdicts))


def test_contracts_that_do_not_write_each_element_once_fail() -> None:
    ptx = compiled(STRIDED, "strided")
    good = strided_effect()
    (store,) = good.stores
    assert store.element is not None
    small_grid = replace(good, preconditions=(*good.preconditions[:2], Less(rows, blocks * 4 + 2)))
    assert labels(validate(ptx, small_grid)) == ["y: nothing left out"]
    overlapping = replace(good, preconditions=(good.preconditions[0], good.preconditions[2]))
    assert "y: rows apart" in labels(validate(ptx, overlapping))
    for change, label in (
        ({"thread": row % 4 * 32 + column % 16}, "no other thread (thread, element 0)"),
        ({"block": row // 8}, "no other thread (block, element 0)"),
        ({"column": thread % 32 + 1}, "element"),
    ):
        wrong = store_of(good, element=replace(store.element, **change))
        assert f"store 0: {label}" in labels(validate(ptx, wrong))
    buffers = good.buffers[0], replace(good.buffers[1], written=Matrix(rows, 16, sy))
    assert "store 0: inside" in labels(validate(ptx, replace(good, buffers=buffers)))
    short = replace(good.buffers[0], elements=rows * sx - sx + columns - 1)
    assert "load 0: bounds" in labels(
        validate(ptx, replace(good, buffers=(short, good.buffers[1])))
    )
    twice = replace(good, stores=(store, store))
    assert "store 0: no other store (element 0)" in labels(validate(ptx, twice))


def test_guarded_effects_say_what_they_assume_and_need() -> None:
    lines = assumptions(strided_effect())
    assert "rows < blocks * 4 + 1" in lines
    assert any(
        line.startswith("x: (rows * sx - sx + columns) * 4 bytes, readable") for line in lines
    )
    with pytest.raises(ClaimError, match="disagree on whether elements are said"):
        store_of(ragged(), element=None)
    with pytest.raises(ClaimError, match="has no extent, or two"):
        Buffer("x", "in", 32, 4, 4, elements=n)
    with pytest.raises(ClaimError, match="mentions rows"):
        store_of(ragged(), where=(Less(thread, rows),))
    with pytest.raises(ClaimError, match="not a condition"):
        effect_from_json(effect_to_json(ragged()) | {"preconditions": [["<=", 1, 2]]})
