"""Softmax kernels on the PTX machine against float64: special rows, strides, masks, types.

Rows are right where they begin anywhere and end anywhere, elements beside them stay as they were,
and every element of the output was written.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.softmax_cases import Case, request, require_right

from tylo.codegen.softmax.choose import choose, chosen
from tylo.codegen.softmax.kernel import SoftmaxKernel
from tylo.proofs.specifications.softmax_tiles import SoftmaxTile

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
]
SHAPES = {
    "warps along a row": SoftmaxKernel(SoftmaxTile(4, 32, 2, 2, 2), "f32", "f32", lse=True),
    "words kept": SoftmaxKernel(SoftmaxTile(8, 32, 2, 3), "bf16", "bf16", ragged=True, held=False),
    "words kept, f16": SoftmaxKernel(SoftmaxTile(8, 32, 1, 3), "f16", "f16", held=False, lse=True),
    "the next row ahead": SoftmaxKernel(
        SoftmaxTile(8, 32, 2, 2), "bf16", "bf16", "ahead", held=False, ragged=True
    ),
    "the next row ahead, f32": SoftmaxKernel(
        SoftmaxTile(4, 32, 2, 3, 2), "f32", "f32", "ahead", lse=True
    ),
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


@pytest.mark.parametrize("case", CHOSEN, ids=lambda case: f"{case.columns}-{case.dtype}")
def test_what_is_chosen(case: Case) -> None:
    require_right(case)


@pytest.mark.parametrize("case", MASKED, ids=lambda case: f"{case.columns}-{case.mask}")
def test_masks(case: Case) -> None:
    require_right(case)


@pytest.mark.parametrize("name", SHAPES)
def test_every_form(name: str) -> None:
    kernel = SHAPES[name]
    whole = (kernel.capacity or 520) // 2
    columns = whole + 1 if kernel.ragged else whole - whole % kernel.tile.vector
    case = Case(
        7,
        columns,
        kernel.dtype,
        kernel.out_dtype,
        lse=kernel.lse,
        seed=2,
        out_pad=3 * kernel.ragged,
    )
    asked = replace(request(case), multiprocessors=2)
    require_right(case, chosen(kernel, asked, name))


def test_rows_that_do_not_fill_the_last_block() -> None:
    for rows in (1, 5, 16, 17):
        require_right(Case(rows, 32))


def test_in_place() -> None:
    assert choose(request(Case(6, 64))).in_place
