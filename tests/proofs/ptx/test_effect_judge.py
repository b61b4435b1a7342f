"""The judge of mutants finds faults of every kind: it does not say "right" of what is wrong."""

from __future__ import annotations

import pytest

from effect_judge import Judge, Launch
from mutant_sweep import settled
from ptx_kernels import KINDS, SOFTMAX, softmax_effect
from ptx_texts import compiled
from tylo.layouts.errors import PtxError

_SIZES = {"rows": 5, "columns": 33, "sx": 40, "sy": 37}


def ragged(old: str, new: str) -> bool:
    source, effect = KINDS["ragged"]
    assert old in source
    ptx = compiled(source.replace(old, new), "ragged")
    return Judge(Launch(effect, {"columns": 130}, 3), seed=1).right(ptx)


def softmax(old: str, new: str) -> bool:
    assert old in SOFTMAX
    ptx = compiled(SOFTMAX.replace(old, new), "softmax")
    return Judge(Launch(softmax_effect(), _SIZES, 3), seed=1).right(ptx)


def test_what_is_right() -> None:
    assert ragged("", "")
    assert softmax("", "")
    # Another value, of the same row: not covered.
    assert softmax("/ l", "/ (l + 1)")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("= x[i]", "= x[i] + 1"),
        ("= x[i]", "= x[i ^ 1 && i + 1 < columns ? i + 1 : i]"),
        ("(i < columns)", "(i < columns - 1)"),
        ("y[i] = x[i];", "{ y[i] = x[i]; const_cast<int*>(x)[i] = 0; }"),
        ("y[i] = x[i];", "y[i / 2 * 2] = x[i];"),
    ],
)
def test_moved_values_and_what_is_written(old: str, new: str) -> None:
    assert not settled(lambda _: ragged(old, new), "", seconds=20)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # Of another row, of all rows, of no row but always the same in the gaps.
        ("x + row * sx;", "x + (row ^ 1 && row + 1 < rows ? row + 1 : row) * sx;"),
        ("float m = least", "float m = x[0]"),
        ("/ l;", "/ l + (row + 1 < rows ? from[columns] : 0);"),
        # A row is not written, or half a value, or what lies between rows.
        ("y[row * sy + c] =", "if (row != 2) y[row * sy + c] ="),
        ("exp2f(from[c] - whole) / l", "row == 1 && c == 3 ? y[row * sy + c] : from[c]"),
        ("y[row * sy + c] =", "y[row * sy + c + (c == 32 && row < 2)] ="),
        # Nobody's: what a register held before.
        ("/ l;", '/ l + [] { float u; asm volatile("" : "=f"(u)); return u; }();'),
    ],
)
def test_computed_values_are_of_their_own_row(old: str, new: str) -> None:
    assert not settled(lambda _: softmax(old, new), "", seconds=20)


def test_what_the_machine_finds_wrong_is_raised() -> None:
    with pytest.raises(PtxError, match="outside of"):
        ragged("(i < columns)", "(i <= columns)")


def test_what_does_not_end_is_wrong() -> None:
    def endless(_: str) -> bool:
        while True:
            pass

    assert not settled(endless, "", seconds=0.1)
