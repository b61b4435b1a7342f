"""Softmax kernels on the PTX machine against float64: special rows, strides, masks, types.

Rows are right where they begin anywhere and end anywhere, elements beside them stay as they were,
and every element of the output was written.
"""

from __future__ import annotations

import pytest

from softmax_cases import CHOSEN, MASKED, SHAPES, Case, request, require_right, shape_case
from tylo.codegen.softmax.choose import choose


@pytest.mark.parametrize("case", CHOSEN, ids=lambda case: f"{case.columns}-{case.dtype}")
def test_what_is_chosen(case: Case) -> None:
    require_right(case)


@pytest.mark.parametrize("case", MASKED, ids=lambda case: f"{case.columns}-{case.mask}")
def test_masks(case: Case) -> None:
    require_right(case)


@pytest.mark.parametrize("name", SHAPES)
def test_every_form(name: str) -> None:
    require_right(*shape_case(SHAPES[name], name))


def test_rows_that_do_not_fill_the_last_block() -> None:
    for rows in (1, 5, 16, 17):
        require_right(Case(rows, 32))


def test_in_place() -> None:
    assert choose(request(Case(6, 64))).in_place
