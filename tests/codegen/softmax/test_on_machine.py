"""Softmax kernels on the PTX machine against float64: special rows, strides, masks, types.

Rows are right where they begin anywhere and end anywhere, elements beside them stay as they were,
and every element of the output was written.
"""

from __future__ import annotations

import importlib
from dataclasses import replace

import pytest

from softmax_cases import ACROSS, CHOSEN, MASKED, SHAPES, Case, request, require_right, shape_case
from tylo.codegen.softmax.choose import choose
from tylo.codegen.softmax.elements import ELEMENTS


@pytest.mark.parametrize("case", CHOSEN, ids=lambda case: f"{case.columns}-{case.dtype}")
def test_what_is_chosen(case: Case) -> None:
    require_right(case)


@pytest.mark.parametrize(
    "case", MASKED, ids=lambda case: f"{case.columns}-{case.dtype}-{case.mask}"
)
def test_masks(case: Case) -> None:
    require_right(case)


@pytest.mark.parametrize(
    "case", ACROSS, ids=lambda case: f"{case.inner}x{case.columns}-{case.dtype}"
)
def test_rows_that_run_across_memory(case: Case) -> None:
    require_right(case)


@pytest.mark.parametrize("name", SHAPES)
def test_every_form(name: str) -> None:
    require_right(*shape_case(SHAPES[name], name))


def test_rows_that_do_not_fill_the_last_block() -> None:
    for rows in (1, 5, 16, 17):
        require_right(Case(rows, 32))


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f16"])
@pytest.mark.parametrize("mask", ["", "whole"])
def test_a_finite_number_in_place_of_minus_infinity_is_found(
    dtype: str, mask: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lies beyond a row, or under its mask, must not be the least finite number instead."""
    least = {"f32": 0xFF7FFFFF, "bf16": 0xFF7FFF7F, "f16": 0xFBFFFBFF}[dtype]
    wrong = {**ELEMENTS, dtype: replace(ELEMENTS[dtype], masked=least)}
    for module in ("memory", "masks", "kernel"):
        found = importlib.import_module(f"tylo.codegen.softmax.{module}")
        if hasattr(found, "ELEMENTS"):
            monkeypatch.setattr(found, "ELEMENTS", wrong)
    with pytest.raises(AssertionError, match="log-sum-exp of row"):
        require_right(Case(6, 264, dtype, None, mask=mask, lse=True))


def test_in_place() -> None:
    assert choose(request(Case(6, 64))).in_place
