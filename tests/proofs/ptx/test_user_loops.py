"""Loops as people write them: rows, grid strides, one in the other; right ones and wrong ones."""

from __future__ import annotations

import re

import pytest

import user_loops as loops
from tylo.layouts.errors import ClaimError, PtxError
from tylo.proofs.ptx.claim_check import Examined, check_text
from tylo.proofs.ptx.claim_file import claim_from_text
from tylo.proofs.ptx.inprocess import solve
from tylo.proofs.ptx.workers import Workers


def checked(source: str, claim: str, architecture: str = "sm_90a") -> Examined:
    ptx = loops.compiled(source, architecture)
    return check_text(ptx, claim_from_text(claim, "claim.toml"), solve)


_SLOW = ("rows by a grid, unrolled",)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in _SLOW else n for n in loops.RIGHT]
)
def test_right_loops_hold_for_every_size(name: str) -> None:
    found = checked(*loops.RIGHT[name])
    assert found.verdict == "holds", "\n".join(
        str(each) for each in found.validation.verdicts if each.verdict != "holds"
    )


@pytest.mark.parametrize("architecture", ["sm_80", "sm_120"])
@pytest.mark.parametrize("name", ["rows", "a grid", "rows by a grid"])
def test_they_hold_as_other_architectures_have_them(name: str, architecture: str) -> None:
    assert checked(*loops.RIGHT[name], architecture).verdict == "holds"


@pytest.mark.parametrize("name", ["rows, unrolled", "a grid", "rows by a grid"])
def test_both_solvers_agree(name: str) -> None:
    source, claim = loops.RIGHT[name]
    with Workers(patience=60) as workers:
        found = check_text(loops.compiled(source), claim_from_text(claim, "claim.toml"), workers)
    assert found.verdict == "holds"


# An edit of a right loop, and an obligation that fails, or a part of the refusal.
WRONG = [
    ("rows, as they stand", "i < columns", "i <= columns", "where"),
    ("rows, as they stand", "i < columns", "i < columns - 1", "made"),
    ("rows, as they stand", "i += 128", "i += 127", "address"),
    ("rows, as they stand", "i += 128", "i += 64", "another number of steps"),
    ("rows, as they stand", "i += 128", "i += 256", "address"),
    ("rows, as they stand", "i = threadIdx.x", "i = threadIdx.x + 1", "address"),
    ("rows, as they stand", "y[row*columns", "y[row*(columns + 1)", "address"),
    ("rows, as they stand", "y[row*columns", "y[row*128", "address"),
    ("rows, as they stand", "x[row*columns + i]", "x[row*columns + i + 1]", "part 0"),
    ("rows, unrolled", "i < columns", "i <= columns", "where"),
    ("rows, unrolled", "x[row*columns + i]", "x[row*columns + (i ^ 1)]", "part 0"),
    ("a grid", "i < n", "i <= n", "where"),
    ("a grid", "i < n", "i < n - 1", "made"),
    ("a grid", "i < n", "i < n / 4 * 4", "made"),  # the tail is missing
    ("a grid", "+= gridDim.x*blockDim.x", "+= blockDim.x", "address"),  # written twice
    ("a grid", "+= gridDim.x*blockDim.x", "+= gridDim.x*64", "address"),
    ("a grid", "+ threadIdx.x", "+ threadIdx.x + 1", "address"),
    ("a grid", "= x[i]", "= x[0]", "part 0"),
    ("a grid in 64 bits", "i < n", "i <= n", "where"),
    ("a grid in 64 bits", "+= gridDim.x*blockDim.x", "+= blockDim.x", "address"),
    ("a grid, by fours", "i < n", "i <= n", "where"),
    ("a grid, by fours", "i < n", "i < n - 1", "all steps"),
    ("a grid, by fours", "i < n", "i < n / 4 * 4", "all steps"),
    ("a grid, by fours", "+= gridDim.x*blockDim.x", "+= blockDim.x", "address"),
    ("a grid, by fours", "+= gridDim.x*blockDim.x", "+= gridDim.x*64", "address"),
    ("a grid, by fours", "= x[i]", "= x[0]", "part 0"),
    pytest.param(
        *("a grid in 64 bits, unrolled", "i < n", "i < n - 1", "all steps"),
        marks=pytest.mark.nightly,
    ),
    pytest.param(
        *("a grid in 64 bits, unrolled", "= x[i]", "= x[i ^ 1]", "part 0"),
        marks=pytest.mark.nightly,
    ),
    ("a grid in 64 bits, unrolled", "= x[i]", "= x[0]", "part 0"),
    ("a grid in 64 bits, unrolled", "i < n", "i <= n", "where"),
    ("a grid in 64 bits, unrolled", "+= gridDim.x*blockDim.x", "+= blockDim.x", "address"),
    ("a grid in 64 bits, by twos", "i < n", "i <= n", "where"),
    ("a grid in 64 bits, by twos", "i < n", "i < n - 1", "all steps"),
    ("a grid in 64 bits, by twos", "= x[i]", "= x[i ^ 1]", "part 0"),
    ("a grid in 64 bits, by twos", "+= gridDim.x*blockDim.x", "+= blockDim.x", "address"),
    ("a grid of sizes, by fours", "i < n", "i <= n", "where"),
    ("a grid of sizes, by fours", "y[i]", "y[i + stride]", "where"),
    ("a grid, computed", "2.0f * x[i]", "2.0f * y[i]", "origin"),
    ("a grid, computed", "i < n", "i <= n", "where"),
    ("rows by a grid", "row = blockIdx.x", "row = 0", "address"),
    ("rows by a grid", "row < rows", "row <= rows", "another number of steps"),
    ("rows by a grid", "row < rows", "row < rows - 1", "made"),
    ("rows by a grid", "row += gridDim.x", "row += 1", "another number of steps"),
    ("rows by a grid", "row += gridDim.x", "row += 2*gridDim.x", "address"),
    ("rows by a grid", "i < columns", "i <= columns", "where"),
    ("rows by a grid", "i += blockDim.x", "i += 2*blockDim.x", "address"),
    ("rows by a grid", "y[row*columns", "y[row*(columns - 1)", "address"),
]


@pytest.mark.parametrize(("name", "old", "new", "label"), WRONG)
def test_wrong_loops_are_refused(name: str, old: str, new: str, label: str) -> None:
    source, claim = loops.RIGHT[name]
    assert source.count(old) == 1
    if label.startswith("another"):
        with pytest.raises(PtxError, match=label):
            checked(source.replace(old, new), claim)
        return
    found = checked(source.replace(old, new), claim)
    assert found.verdict == "fails"
    failures = [v for v in found.validation.failures if v.obligation.label.endswith(label)]
    assert failures
    # What is said of it can be looked at: a thread of a launch that the claim allows.
    assert any(v.failure and v.failure.thread >= 0 for v in failures), failures


def claimed(claim: str, old: str, new: str) -> str:
    assert claim.count(old) == 1, old
    return claim.replace(old, new)


def test_a_wrong_writer_is_not_believed() -> None:
    wrong = claimed(loops.NESTED_CLAIM, 'round = "row / blocks"', 'round = "row % blocks"')
    labels = [v.obligation.label for v in checked(loops.NESTED, wrong).validation.failures]
    assert "store 0: no other thread (round, element 0)" in labels


@pytest.mark.parametrize(
    ("source", "claim", "old", "new", "leaves", "bound"),
    [
        # The counter passes 2^31 after the last step, and goes on from below zero.
        (
            loops.GRID,
            loops.GRID_CLAIM,
            'assume = "n + blocks * 128 <= 2147483648"\n',
            "",
            r"blocks \* step \* 128 \+ blocks \* 128 leaves 32 bits",
            "n <= 1073741824",
        ),
        (
            loops.ROWS_AS_THEY_STAND,
            loops.ROWS_CLAIM,
            "most = 65535",
            "most = 131072",
            r"block \* columns \+ thread leaves 32 bits",
            "columns <= 65536",
        ),
    ],
)
def test_an_index_that_leaves_32_bits_is_named_with_a_bound_that_helps(
    source: str, claim: str, old: str, new: str, leaves: str, bound: str
) -> None:
    found = checked(source, claimed(claim, old, new))
    assert found.verdict == "fails"
    messages = [str(failure) for failure in found.validation.failures]
    assert any(re.search(leaves, message) and bound in message for message in messages), messages
    # The bound that is named does help.
    name, most = bound.split(" <= ")
    bounded = claimed(claim, old, new)
    stated = re.sub(
        rf"(\[size\.{name}\]\nbits = 32\nleast = 1\nmost = )\d+", rf"\g<1>{most}", bounded
    )
    assert stated != bounded
    assert checked(source, stated).verdict == "holds"


def test_rounds_are_asked_for() -> None:
    with pytest.raises(PtxError, match="no store has rounds"):
        checked(loops.NESTED, loops.ROWS_CLAIM)


@pytest.mark.parametrize(
    ("claim", "counters"),
    [(loops.GRID_CLAIM, "thread and step"), (loops.NESTED_CLAIM, "round and step")],
)
def test_a_writer_is_asked_for_with_all_that_counts(claim: str, counters: str) -> None:
    source = loops.GRID if claim is loops.GRID_CLAIM else loops.NESTED
    turned = claim.replace('"y[index]"', '"y[index ^ 1]"').replace("place]", "place ^ 1]", 1)
    with pytest.raises(ClaimError) as refusal:
        checked(source, turned[: turned.index("[store.writer]")])
    assert counters in refusal.value.hint


@pytest.mark.parametrize(
    "name", ["rows, as they stand", "rows of an array", "a grid of vectors", "rows by a grid"]
)
def test_a_writer_need_not_be_said_where_the_index_tells(name: str) -> None:
    source, claim = loops.RIGHT[name]
    assert checked(source, claim[: claim.index("[store.writer]")]).verdict == "holds"


def test_what_the_target_does_not_have_is_refused() -> None:
    ptx = loops.compiled(loops.GRID, "sm_80")
    newer = ptx.replace("ret;", "elect.sync %r1|%p1, 0xffffffff;\n\tret;", 1)
    with pytest.raises(PtxError, match="sm_80 does not have this instruction"):
        check_text(newer, claim_from_text(loops.GRID_CLAIM, "claim.toml"), solve)


def test_what_is_computed_is_said_not_to_be_covered() -> None:
    found = checked(loops.GRID_TWICE, loops.GRID_TWICE_CLAIM)
    assert found.validation.uncovered == (
        "values not covered: twice x, computed from x (stored to y)",
    )
    # A copy is no obligation of such a claim, and a product is none of a claim of a copy.
    assert checked(loops.GRID_TWICE, loops.GRID_CLAIM).verdict == "fails"
