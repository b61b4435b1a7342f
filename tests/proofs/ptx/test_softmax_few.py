"""Several rows to a vector: generated softmax kernels, for every number of rows."""

from __future__ import annotations

import pytest

from tylo.codegen.softmax.few import FewKernel
from tylo.codegen.softmax.narrow import few_tile
from tylo.proofs.ptx.validate import Validation, validate
from tylo.proofs.specifications.softmax_few import FewCase, effect

# Columns, types, and whether log-sum-exp is stored.
CASES: dict[str, tuple[int, str, str | None, bool]] = {
    "pairs": (2, "f32", "f32", True),
    "log-sum-exp alone": (2, "f32", None, True),
    "single columns": (1, "f16", "f16", True),
    "BF16": (4, "bf16", "bf16", True),
    "BF16 to F32": (2, "bf16", "f32", False),
    "F32 to BF16": (2, "f32", "bf16", False),
}
_QUICK = ("pairs", "log-sum-exp alone")


def judged(name: str, source: tuple[str, str] = ("", "")) -> Validation:
    from tylo.codegen.nvrtc import compile as compile_cuda

    columns, dtype, out_dtype, lse = CASES[name]
    tile = few_tile(columns, dtype)
    kernel = FewKernel(tile, dtype, out_dtype, lse)
    text = kernel.source()
    assert source[0] in text
    ptx = compile_cuda(text.replace(*source), "sm_90a", kernels=[kernel.entry]).ptx
    return validate(ptx, effect(FewCase(tile, dtype, out_dtype, lse)))


@pytest.mark.parametrize(
    "name", [n if n in _QUICK else pytest.param(n, marks=pytest.mark.slow) for n in CASES]
)
def test_they_hold_for_every_number_of_rows(name: str) -> None:
    validation = judged(name)
    assert validation.holds, "\n".join(map(str, validation.failures + validation.undecided))


@pytest.mark.parametrize(
    ("name", "old", "new", "label"),
    [
        # A vector that is not whole is read, or stored, as one.
        ("log-sum-exp alone", "at_0 + 4u <= total", "at_0 + 2u <= total", "bounds"),
        ("log-sum-exp alone", "given.x + at_1,", "given.x + (at_1 ^ 2),", "origin"),
        ("log-sum-exp alone", "row < given.rows)", "row <= given.rows)", "where"),
        (
            "log-sum-exp alone",
            "scores[2] = __uint_as_float(words[2]",
            "scores[2] = __uint_as_float(words[1]",
            "origin",
        ),
        ("pairs", "store_4(given.out + at_1 + 2u", "store_4(given.out + at_1 + 1u", "origin"),
        ("pairs", "columns_of_row;", "columns_of_row - 1;", "where"),
    ],
)
def test_wrong_kernels_fail(name: str, old: str, new: str, label: str) -> None:
    validation = judged(name, (old, new))
    assert any(label in verdict.obligation.label for verdict in validation.failures)
