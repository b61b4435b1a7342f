"""Kernels as people write them: right ones hold on both architectures, broken ones are refused."""

from __future__ import annotations

import pytest

import user_kernels as kernels
import user_loops
from tylo.layouts.errors import ClaimError, PtxError
from tylo.proofs.ptx.claim_check import Examined, check_text
from tylo.proofs.ptx.claim_file import claim_from_text
from tylo.proofs.ptx.inprocess import solve


def checked(source: str, claim: str, architecture: str = "sm_90a") -> Examined:
    ptx = user_loops.compiled(source, architecture)
    return check_text(ptx, claim_from_text(claim, "claim.toml"), solve)


RIGHT = {
    "early return": (kernels.EARLY_RETURN, kernels.EARLY_RETURN_CLAIM),
    "scaled": (kernels.SCALED, kernels.SCALED_CLAIM),
    "bias and gelu": (kernels.BIAS_GELU, kernels.BIAS_GELU_CLAIM),
    "transpose": (kernels.TRANSPOSE, kernels.TRANSPOSE_CLAIM),
    "reduction": (kernels.REDUCTION, kernels.REDUCTION_CLAIM),
    "pairs of halves": (kernels.PAIRS_OF_HALVES, kernels.PAIRS_OF_HALVES_CLAIM),
    "pitch": (kernels.PITCH, kernels.PITCH_CLAIM),
    "double buffered": (kernels.DOUBLE_BUFFERED, kernels.DOUBLE_BUFFERED_CLAIM),
}


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", RIGHT)
def test_right_kernels_hold(name: str, architecture: str) -> None:
    found = checked(*RIGHT[name], architecture)
    assert found.verdict == "holds", "\n".join(
        str(each) for each in found.validation.verdicts if each.verdict != "holds"
    )


# An edit of a right kernel, and how an obligation that fails is called.
WRONG = [
    ("early return", "i >= n", "i > n", "where"),
    ("early return", "i >= n", "i >= n - 1", "made"),
    ("early return", "= x[i]", "= x[n - 1 - i]", "part 0"),
    ("scaled", "a * x[i]", "a", "origin"),
    ("scaled", "a * x[i]", "0.0f", "origin"),
    ("scaled", "a * x[i]", "i == 7 ? 0.0f : a * x[i]", "origin"),
    ("bias and gelu", "+ bias[c]", "", "origin"),
    ("bias and gelu", "x[row * columns + c] +", "", "origin"),
    ("bias and gelu", "bias[c]", "bias[c + 1]", "bounds"),
    ("bias and gelu", "tanhf(u)", "y[c]", "origin"),
    ("bias and gelu", "0.5f * v", "c == 5 ? 0.5f : 0.5f * v", "origin"),
    ("transpose", "= tile[tx][ty + j]", "= tile[ty + j][tx]", "part 0"),
    ("transpose", "  __syncthreads();\n", "", "written"),
    ("transpose", "tile[32][33]", "tile[32][32 - 1]", "race"),
    ("transpose", "= tile[tx][ty + j]", "= tile[tx][ty + (j ^ 8)]", "part 0"),
    ("transpose", "y[(bx * 32", "y[(by * 32", "address"),
    ("reduction", "  __syncthreads();\n", "", "written"),
    ("reduction", "if (threadIdx.x == 0) y", "if (threadIdx.x == 1) y", "where"),
    ("reduction", "= s;\n  }", "= 0.0f;\n  }", "origin"),
    ("reduction", "* 1024 + j", "* 1024 + 1 + j", "bounds"),
    ("pairs of halves", "i < n / 2", "i <= n / 2", "where"),
    ("pairs of halves", "&& n % 2", "", "where"),
    ("pairs of halves", "n % 2)", "n % 4 == 1)", "made"),
    ("pairs of halves", "= x[n - 1]", "= x[n - 2]", "part 0"),
    ("pitch", "y + row * py", "y + row * px", "address"),
    ("pitch", "x + row * px", "x + row * columns", "part 0"),
    ("double buffered", "    __syncthreads();\n  }", "  }", "race"),
    ("double buffered", "(t + 1) * 512)", "t * 512)", "part 0"),
]


@pytest.mark.parametrize(("name", "old", "new", "label"), WRONG)
def test_broken_kernels_are_refused(name: str, old: str, new: str, label: str) -> None:
    source, claim = RIGHT[name]
    assert source.count(old) == 1
    found = checked(source.replace(old, new), claim)
    assert found.verdict == "fails"
    labels = [verdict.obligation.label for verdict in found.validation.failures]
    assert any(label in each for each in labels), labels


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("pitch", "c < columns", "c <= columns", "another number of steps"),
        ("double buffered", "wait_group 1", "wait_group 2", "nobody wrote"),
        ("double buffered", "tile[t % 2]", "tile[(t + 1) % 2]", "nobody wrote"),
    ],
)
def test_kernels_that_come_to_no_proof_name_the_line(
    name: str, old: str, new: str, message: str
) -> None:
    source, claim = RIGHT[name]
    assert source.count(old) == 1
    with pytest.raises(PtxError, match=rf"line \d+.*{message}"):
        checked(source.replace(old, new), claim)


def test_a_constant_is_accepted_where_the_claim_says_so() -> None:
    source = kernels.SCALED.replace("a * x[i]", "i == 7 ? 0.0f : a * x[i]")
    allowed = kernels.SCALED_CLAIM.replace("where =", "constant = true\nwhere =")
    found = checked(source, allowed)
    assert found.verdict == "holds"
    assert found.validation.uncovered == (
        "values not covered: a * x, computed from x, or a constant (stored to y)",
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("from =", "constant = true\nfrom =", "nothing is computed"),
        ('from = "x[i]"', 'from = ["x[i]", "y[i]"]', "nothing is computed"),
        ('from = "x[i]"', 'computed = "f"\nfrom = ["x[i]", "x[i + 1]"]', "one twice"),
        ('from = "x[i]"', 'computed = "f"\nfrom = ["x[i]", "y[i]"]', "direction 'out'"),
        ('from = "x[i]"', 'computed = "f"\nconstant = 1\nfrom = "x[i]"', "true or false"),
    ],
)
def test_what_is_no_source_is_refused(old: str, new: str, message: str) -> None:
    assert kernels.EARLY_RETURN_CLAIM.count(old) == 1
    with pytest.raises(ClaimError, match=message):
        checked(kernels.EARLY_RETURN, kernels.EARLY_RETURN_CLAIM.replace(old, new))


def test_a_gather_is_refused_with_its_line_and_a_way_out() -> None:
    with pytest.raises(PtxError, match=r"line \d+.*ld.global.*depends on memory") as refusal:
        checked(kernels.GATHER, kernels.GATHER_CLAIM)
    assert "a term for the index" in refusal.value.hint


def test_what_is_written_at_once_is_named_as_a_store_of_its_own() -> None:
    head, _, _ = kernels.PAIRS_OF_HALVES_CLAIM.partition("[[store]]")
    one = """[[store]]
values = 2
into = "y[i * 2 + value]"
from = "x[i * 2 + value]"
where = "i * 2 + value < n"
[store.writer]
block = "column / 512"
thread = "column / 2 % 256"
"""
    found = checked(kernels.PAIRS_OF_HALVES, head + one)
    assert any("a store of its own" in str(failure) for failure in found.validation.failures)
