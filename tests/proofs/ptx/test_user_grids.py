"""Blocks and grids of several axes: right kernels hold for every size, wrong ones are refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

import user_grids as grids
import user_loops
from claim_texts import edited
from tylo.layouts.errors import ClaimError, PtxError
from tylo.proofs.ptx.claim_check import Examined, check_text
from tylo.proofs.ptx.claim_file import claim_from_text
from tylo.proofs.ptx.inprocess import solve
from tylo.proofs.ptx.workers import Workers


def checked(source: str, claim: str, architecture: str = "sm_90a") -> Examined:
    ptx = user_loops.compiled(source, architecture)
    return check_text(ptx, claim_from_text(claim, "claim.toml"), solve)


def unproven(found: Examined) -> str:
    return "\n".join(str(each) for each in found.validation.verdicts if each.verdict != "holds")


@pytest.mark.parametrize("name", grids.RIGHT)
def test_right_kernels_hold_for_every_size(name: str) -> None:
    found = checked(*grids.RIGHT[name])
    assert found.verdict == "holds", unproven(found)


@pytest.mark.parametrize("architecture", ["sm_80", "sm_120"])
@pytest.mark.parametrize("name", ["transpose", "tiled transpose"])
def test_they_hold_as_other_architectures_have_them(name: str, architecture: str) -> None:
    found = checked(*grids.RIGHT[name], architecture)
    assert found.verdict == "holds", unproven(found)


@pytest.mark.parametrize("name", ["tiled transpose", "transpose of whole tiles"])
def test_both_solvers_agree(name: str) -> None:
    source, claim = grids.RIGHT[name]
    with Workers(patience=60) as workers:
        ptx = user_loops.compiled(source)
        found = check_text(ptx, claim_from_text(claim, "claim.toml"), workers)
    assert found.verdict == "holds", unproven(found)


# An edit of a right kernel, and an obligation that fails. Of each kernel the first three are tried
# by default.
WRONG = [
    ("copy", "y[r * columns + c]", "y[c * columns + r]", "address"),
    ("copy", "= x[r * columns + c]", "= x[c * rows + r]", "part 0"),
    ("copy", "c < columns", "c <= columns", "where"),
    ("copy", "r < rows && ", "", "where"),
    ("copy", "blockIdx.y * blockDim.y", "blockIdx.y * blockDim.x", "address"),
    ("copy", "blockIdx.x * blockDim.x", "blockIdx.y * blockDim.x", "address"),
    ("copy", "+ threadIdx.y", "+ threadIdx.x", "address"),
    ("transpose", "y[c * rows + r]", "y[c * columns + r]", "address"),
    ("transpose", "y[c * rows + r]", "y[r * columns + c]", "address"),
    ("transpose", "&& c < columns", "", "where"),
    ("transpose", "r < rows", "r < rows - 1", "made"),
    ("tiled transpose", "  __syncthreads();\n", "", "written"),
    (
        "tiled transpose",
        "= tile[threadIdx.x][threadIdx.y + j]",
        "= tile[threadIdx.y + j][threadIdx.x]",
        "part 0",
    ),
    ("tiled transpose", "y[(r + j) * ldy + c]", "y[(r + j) * ldx + c]", "address"),
    ("tiled transpose", "y[(r + j) * ldy + c]", "y[(r + j) * rows + c]", "address"),
    ("tiled transpose", "x[(r + j) * ldx + c]", "x[(r + j) * columns + c]", "part 0"),
    ("tiled transpose", "r + j < rows && c < columns", "r + j < columns && c < rows", "bounds"),
    ("tiled transpose", "r + j < rows && ", "", "bounds"),
    ("tiled transpose", "r + j < columns && c < rows", "r + j < columns", "where"),
    ("tiled transpose", "tile[32][33]", "tile[32][31]", "race"),
    ("tiled transpose", "tile[32][33]", "tile[31][33]", "shared bounds"),
    ("tiled transpose", "c = blockIdx.y * 32", "c = blockIdx.x * 32", "address"),
    (
        "tiled transpose",
        "tile[threadIdx.y + j][threadIdx.x] =",
        "tile[threadIdx.y + j][threadIdx.x ^ 1] =",
        "part 0",
    ),
    ("tiled transpose, an element a thread", "  __syncthreads();\n", "", "written"),
    (
        "tiled transpose, an element a thread",
        "= tile[threadIdx.x][threadIdx.y]",
        "= tile[threadIdx.y][threadIdx.x]",
        "part 0",
    ),
    (
        "tiled transpose, an element a thread",
        "r = blockIdx.x * 32 + threadIdx.y",
        "r = blockIdx.x * 32 + threadIdx.x",
        "address",
    ),
    (
        "tiled transpose of halves",
        "tile[threadIdx.x][threadIdx.y + j]",
        "tile[threadIdx.x][threadIdx.y + (j ^ 8)]",
        "part 0",
    ),
    ("transpose of whole tiles", "* height + c", "* width + c", "address"),
    ("transpose of whole tiles", "* width + c", "* height + c", "part 0"),
    ("transpose of whole tiles", "  __syncthreads();\n", "", "written"),
    ("transpose of whole tiles", "gridDim.y * 32", "gridDim.y * 33", "address"),
    ("transposes in a batch", "y += (size_t)blockIdx.z", "y += (size_t)blockIdx.y", "address"),
    (
        "transposes in a batch",
        "x += (size_t)blockIdx.z * rows * columns",
        "x += (size_t)blockIdx.z * rows * rows",
        "part 0",
    ),
    ("transposes in a batch", "y[(r + j) * rows + c]", "y[(r + j) * columns + c]", "address"),
    (
        "swizzled transpose",
        "tile[threadIdx.x][threadIdx.y ^ threadIdx.x]",
        "tile[threadIdx.x][threadIdx.y]",
        "part 0",
    ),
    ("swizzled transpose", "  __syncthreads();\n", "", "written"),
    (
        "swizzled transpose",
        "tile[threadIdx.y][threadIdx.x ^ threadIdx.y] =",
        "tile[threadIdx.y][threadIdx.x | threadIdx.y] =",
        "race",
    ),
    ("vectors", "c < columns / 4)", "c <= columns / 4)", "where"),
    ("vectors", "] = x[r * (columns / 4)", "] = x[r * columns", "part 0"),
    ("vectors", "y[r * (columns / 4)", "y[r * (columns / 2)", "address"),
    ("rows along y", "    y[r * columns + c]", "    y[c * rows + r]", "address"),
    ("rows along y", "r = blockIdx.y", "r = blockIdx.x", "address"),
    ("rows along y", "c < columns;", "c < columns - 1;", "made"),
    ("pitch", "y + r * py", "y + r * px", "address"),
    ("pitch", "x + r * px", "x + r * columns", "part 0"),
    ("pitch", "c < columns && ", "", "where"),
    ("bias to all rows", "= bias[c]", "= bias[r]", "part 0"),
    ("bias to all rows", "= bias[c]", "= bias[c + 1]", "bounds"),
    ("bias to all rows", "r < rows", "r <= rows", "where"),
    ("columns joined", "row[columns_a + c]", "row[columns_b + c]", "address"),
    ("columns joined", "b[r * columns_b + c]", "b[r * columns_a + c]", "part 0"),
    ("columns joined", "c < columns_b", "c < columns_a + columns_b", "where"),
    ("columns joined", "r >= rows", "r > rows", "where"),
    ("columns split", "+ c - columns_a] =", "+ c] =", "address"),
    ("columns split", "if (c < columns_a)", "if (c <= columns_a)", "where"),
    ("columns split", "c >= columns)", "c > columns)", "where"),
    ("windows", "x[(r + i) * (width + 2) + c + j]", "x[(r + j) * (width + 2) + c + i]", "part 0"),
    ("windows", "x[(r + i) * (width + 2)", "x[(r + i) * width", "part 0"),
    ("windows", "i * 3 + j] =", "j * 3 + i] =", "part 0"),
    ("turned around", "columns - 1 - c)]", "columns - c)]", "address"),
    ("turned around", "(rows - 1 - r)", "(rows - r)", "address"),
    ("turned around", "(columns - 1 - c)", "c", "address"),
    ("an odd block", "blockIdx.x * blockDim.x", "blockIdx.x * 32", "address"),
    ("an odd block", "+ threadIdx.y", "+ threadIdx.x / 24", "address"),
    ("an odd block", "r < rows", "r < rows + 1", "where"),
    ("strides along both axes", "r += gridDim.y * 8", "r += gridDim.x * 8", "address"),
    ("strides along both axes", "c += gridDim.x * 32", "c += gridDim.x * 16", "address"),
    ("strides along both axes", "c < columns", "c < columns - 1", "made"),
    ("a volume", "(r * depth + d)", "(r * rows + d)", "address"),
    ("a volume", "(d * rows + r)", "(r * depth + d)", "part 0"),
    ("a volume", "&& d < depth", "", "where"),
]


def _by_default() -> Iterator[Any]:
    seen: Counter[str] = Counter()
    for case in WRONG:
        seen[case[0]] += 1
        yield pytest.param(*case, marks=[pytest.mark.nightly] * (seen[case[0]] > 3))


@pytest.mark.parametrize(("name", "old", "new", "label"), list(_by_default()))
def test_wrong_kernels_are_refused(name: str, old: str, new: str, label: str) -> None:
    source, claim = grids.RIGHT[name]
    assert source.count(old) == 1
    found = checked(source.replace(old, new), claim)
    assert found.verdict == "fails", unproven(found)
    failures = [v for v in found.validation.failures if label in v.obligation.label]
    assert failures, unproven(found)
    assert all(v.obligation.line for v in failures)
    assert any(v.failure and v.failure.thread >= 0 for v in failures), failures


# An edit of a claim about a kernel that is right, and what is said.
WRONG_CLAIMS = {
    "rows left out": ("copy", ", 'rows <= blocks_y * 8'", "", "nothing left out"),
    "columns left out": (
        "transpose",
        "columns <= blocks_x * 32",
        "columns <= blocks_x * 33",
        "nothing left out",
    ),
    "rows that overlap": ("tiled transpose", ', "rows <= ldy"', "", "rows apart"),
    "an element twice": ("bias to all rows", "y[r, c]", "y[r, thread_x]", "no other thread"),
}


@pytest.mark.parametrize("case", WRONG_CLAIMS)
def test_claims_that_do_not_say_each_element_once_are_refused(case: str) -> None:
    name, old, new, label = WRONG_CLAIMS[case]
    source, claim = grids.RIGHT[name]
    found = checked(source, edited(claim, (old.replace("'", '"'), new)))
    assert found.verdict == "fails"
    assert any(label in each.obligation.label for each in found.validation.failures)


MALFORMED = {
    "four axes": ("[32, 8]", "[32, 8, 1, 1]", "use a list of 1 to 3 integers"),
    "half an axis": ("[32, 8]", "[32, 8.5]", "use a list of 1 to 3 integers"),
    "no threads": ("[32, 8]", "[32, 0]", "threads is 0 along y"),
    "too many threads": ("[32, 8]", "[64, 32]", "a block of 64 x 32 threads"),
    "too deep": ("[32, 8]", "[1, 1, 128]", "a block of 1 x 1 x 128 threads"),
    "too many blocks": (
        "blocks = [65535, 65535]",
        "blocks = [1, 65536]",
        "blocks is 65536 along y",
    ),
    "a block of a grid": (
        "block_y * 8 + thread_y",
        "block * 8 + thread_y",
        "mentions block; known here",
    ),
    "blocks of a grid": ("rows <= blocks_y * 8", "rows <= blocks * 8", "mentions blocks"),
    "an axis that is not there": ("block_y * 8 + thread_y", "block_z", "mentions block_z"),
    "shares of blocks": (
        'elements = "rows * columns"\nalignment = 4\nstride',
        'elements_per_block = "columns"\nalignment = 4\nstride',
        "elements for each block, in a grid of several axes",
    ),
    "a coordinate as a size": ("[let]", "[let]\nblock_y = 1", "'block_y' already has a meaning"),
    "one index": ('from = "x[r, c]"', 'from = "x[c]"', "x has 1 indices; it is a matrix"),
    "a writer without an axis": (
        'from = "x[r, c]"',
        'from = "x[r, c]"\nwriter = { block_x = 0, thread = 0 }',
        "block_y is missing",
    ),
    "two threads": (
        'from = "x[r, c]"',
        'from = "x[r, c]"\nwriter = { block_x = 0, block_y = 0, thread = 0, thread_x = 0 }',
        "has thread and thread_x",
    ),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_what_is_no_grid_is_refused_in_a_sentence(case: str) -> None:
    old, new, message = MALFORMED[case]
    with pytest.raises(ClaimError) as refusal:
        checked(grids.COPY, edited(grids.COPY_CLAIM, (old, new)))
    assert message in f"{refusal.value.message}; {refusal.value.hint}"


def test_rows_of_an_input_have_a_stride() -> None:
    claim = edited(grids.COPY_CLAIM, ('stride = "columns"\n[buffer.y]', "[buffer.y]"))
    with pytest.raises(ClaimError) as refusal:
        checked(grids.COPY, claim)
    assert "say the stride of its rows in [buffer.x]" in refusal.value.hint


@pytest.mark.parametrize(
    ("bounds", "refused"),
    [
        (".maxntid 256, 1, 1", False),  # so many threads, in whatever shape
        (".maxntid 32, 8, 1", False),
        (".reqntid 32, 8, 1", False),
        (".reqntid 32, 8", False),
        (".maxntid 512, 1, 1", True),
        (".reqntid 256, 1, 1", True),
        (".reqntid 8, 32, 1", True),
    ],
)
def test_bounds_on_the_block_are_those_of_its_shape(bounds: str, refused: bool) -> None:
    ptx = user_loops.compiled(grids.COPY)
    bounded = ptx.replace(")\n{", f")\n{bounds}\n{{", 1)
    assert bounded != ptx
    claim = claim_from_text(grids.COPY_CLAIM, "claim.toml")
    if not refused:
        assert check_text(bounded, claim, solve).verdict == "holds"
        return
    with pytest.raises(PtxError, match="is limited to"):
        check_text(bounded, claim, solve)


# Threads that differ in y alone are two threads: of what is shared, and of what a warp does.
ONE_PLACE = r"""
extern "C" __global__ void
k(const float* __restrict__ x, float* __restrict__ y, int rows, int columns) {
  __shared__ float line[256];
  int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
  bool inside = r < rows && c < columns;
  line[threadIdx.x] = inside ? x[r * columns + c] : 0.0f;
  __syncthreads();
  if (inside) y[r * columns + c] = line[threadIdx.x];
}"""


def test_threads_of_one_column_are_several() -> None:
    found = checked(ONE_PLACE, grids.COPY_CLAIM)
    assert found.verdict == "fails"
    assert any("no race" in each.obligation.label for each in found.validation.failures)
    own = ONE_PLACE.replace("line[threadIdx.x]", "line[threadIdx.y * 32 + threadIdx.x]")
    assert checked(own, grids.COPY_CLAIM).verdict == "holds"
