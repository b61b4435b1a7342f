"""Wrong kernels of rows that run across memory are found: numbers, races, accesses outside."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from softmax_cases import Case, request, require_right
from tylo.codegen.launch.choice import Choice
from tylo.codegen.softmax import choose
from tylo.codegen.softmax.across import AcrossKernel
from tylo.layouts.errors import TyloError
from tylo.proofs.specifications.softmax_across_tiles import AcrossTile

# Two runs that do not fill blocks, rows over several warps and lanes, columns that fill no step.
CASE = Case(48, 19, inner=24, lse=True, seed=1)
KERNELS = {
    "held": AcrossKernel(AcrossTile(4, 8, 3, 2), "f32", "f32", lse=True),
    "streamed": AcrossKernel(AcrossTile(4, 8, 1, 2), "f32", "f32", held=False, lse=True),
}
BOTH = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
BARRIER = "    __syncthreads();\n#pragma unroll\n"


@dataclass(frozen=True)
class Text:
    """A kernel that is only text."""

    text: str
    entry: str

    def source(self) -> str:
        return self.text


def of_kernel(kernel: AcrossKernel, text: str) -> Choice:
    tile = kernel.tile
    return replace(
        choose(request(CASE)),
        kernel=Text(text, kernel.entry),
        grid=(-(-CASE.rows // tile.block_rows), 1, 1),
        block=(tile.threads, 1, 1),
        parameters=kernel.parameters,
    )


def require_found(kernel: AcrossKernel, old: str, new: str, count: int = 1) -> None:
    text = kernel.source()
    assert old in text, "the fault changes nothing"
    choice = of_kernel(kernel, text.replace(old, new, count))
    with pytest.raises((AssertionError, TyloError)):
        require_right(CASE, choice)


@BOTH
def test_the_right_kernel_is_right(kernel: AcrossKernel) -> None:
    require_right(CASE, of_kernel(kernel, kernel.source()))


@pytest.mark.parametrize(
    ("old", "new", "count"),
    [
        pytest.param(f"{BARRIER}    for (unsigned turn", "    for (unsigned turn", 1, id="before"),
        pytest.param(f"{BARRIER}    for (unsigned value", "    for (unsigned value", 1, id="after"),
        pytest.param("outer * given.row_stride", "0 * given.row_stride", 1, id="first run alone"),
        pytest.param("outer * given.out_row_stride", "0", 1, id="written over"),
        pytest.param("= row % inner", "= row / inner", 1, id="run for row"),
        pytest.param("u < given.columns", "u <= given.columns", -1, id="beyond columns"),
        pytest.param("const bool live = row < given.rows", "const bool live = true", 1, id="rows"),
        pytest.param("masked_word = 4286578688u", "masked_word = 0", 1, id="zeros beyond columns"),
        pytest.param("held_parts[part_slot(row, part)]", "held_parts[row]", 1, id="one part"),
        pytest.param("part_copy(thread) == 0u", "part_copy(thread) == 4u", 1, id="no copy"),
        pytest.param("whole[row_of(thread) + value]", "whole[row_of(thread)]", 1, id="one row"),
        pytest.param(
            "merge_lanes(maxima, sums, part_maximum, part_sum, rescales);",
            "for (unsigned each = 0; each < results; ++each) part_maximum[each] = maxima[each], "
            "part_sum[each] = sums[each];",
            1,
            id="lanes not merged",
        ),
        pytest.param("given.lse[row + 0u]", "given.lse[row + 1u]", 1, id="lse beside"),
    ],
)
def test_a_wrong_kernel_is_found(old: str, new: str, count: int) -> None:
    require_found(KERNELS["held"], old, new, count)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("first += step_columns;", "first += step_columns + 1u;"),
        ("    first = 0;\n    do {", "    do {"),
        ("while (!held && first < given.columns)", "while (false)"),
    ],
)
def test_a_wrong_step_is_found(old: str, new: str) -> None:
    require_found(KERNELS["streamed"], old, new)
