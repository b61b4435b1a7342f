"""The softmax kernels as they are generated, against the effects of their specification."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tylo.codegen.softmax.kernel import SoftmaxKernel
from tylo.proofs.ptx.validate import Validation, validate
from tylo.proofs.specifications.softmax import SoftmaxCase, effect
from tylo.proofs.specifications.softmax_tiles import SoftmaxTile

# vector, lanes, warps, repeats, rows of warps
_BLOCK, _WARP = SoftmaxTile(4, 32, 4, 2), SoftmaxTile(4, 32, 1, 2, 4)
_WIDE, _WIDE_BLOCK = SoftmaxTile(8, 32, 4, 2), SoftmaxTile(8, 32, 4, 1)

# Tile, types, form, and what else the kernel does.
CASES: dict[str, tuple[SoftmaxTile, str, str, str, dict[str, Any]]] = {
    "a block a row": (_BLOCK, "f32", "f32", "rows", {}),
    "log-sum-exp": (_BLOCK, "f32", "f32", "rows", {"lse": True}),
    "a warp a row": (_WARP, "f32", "f32", "rows", {}),
    "eight lanes a row": (SoftmaxTile(4, 8, 1, 1, 4), "f32", "f32", "rows", {"lse": True}),
    "single columns": (SoftmaxTile(1, 32, 1, 1, 4), "f32", "f32", "rows", {}),
    "pairs of BF16": (SoftmaxTile(2, 32, 1, 2, 4), "bf16", "bf16", "rows", {}),
    "BF16": (_WIDE, "bf16", "bf16", "rows", {}),
    "F16, packed": (_WIDE, "f16", "f16", "rows", {"held": False}),
    "BF16 to F32": (_WIDE_BLOCK, "bf16", "f32", "rows", {}),
    "F32 to BF16": (SoftmaxTile(4, 32, 4, 1), "f32", "bf16", "rows", {}),
    "streamed by warps": (SoftmaxTile(4, 32, 1, 1, 4), "f32", "f32", "stream", {}),
    "streamed by blocks": (SoftmaxTile(4, 32, 4, 1, 4), "f32", "f32", "stream", {"lse": True}),
    "streamed BF16": (_WIDE_BLOCK, "bf16", "bf16", "stream", {}),
    "three passes": (SoftmaxTile(1, 32, 1, 1, 4), "bf16", "bf16", "three_pass", {"lse": True}),
}
# Each way of proving once in every run; the others are slow together.
_QUICK = ("log-sum-exp", "eight lanes a row", "F16, packed", "streamed by warps")


def judged(name: str, source: tuple[str, str] = ("", "")) -> Validation:
    from tylo.codegen.nvrtc import compile as compile_cuda

    tile, dtype, out_dtype, form, more = CASES[name]
    kernel: Any = SoftmaxKernel(tile=tile, dtype=dtype, out_dtype=out_dtype, form=form, **more)
    text = kernel.source()
    assert source[0] in text
    ptx = compile_cuda(text.replace(*source), "sm_90a", kernels=[kernel.entry]).ptx
    # Three passes make the steps that streaming does.
    meant = "rows" if form == "rows" else "stream"
    case = SoftmaxCase(tile, dtype, out_dtype, meant, more.get("lse", False))
    return validate(ptx, effect(case))


@pytest.mark.parametrize(
    "name", [n if n in _QUICK else pytest.param(n, marks=pytest.mark.slow) for n in CASES]
)
def test_generated_kernels_hold_for_every_size(name: str) -> None:
    validation = judged(name)
    assert validation.holds, "\n".join(map(str, validation.failures + validation.undecided))
    assert len(validation.uncovered) == (2 if CASES[name][-1].get("lse") else 1)


@pytest.mark.parametrize(
    ("name", "old", "new", "label"),
    [
        ("log-sum-exp", "row < given.rows ? given.columns", "true ? given.columns", "where"),
        ("log-sum-exp", "span.x = given.x + row", "span.x = given.x + (row ^ 1)", "bounds"),
        ("eight lanes a row", "given.lse[row] =", "given.lse[row / 2] =", "address"),
    ],
)
def test_wrong_kernels_fail(name: str, old: str, new: str, label: str) -> None:
    validation = judged(name, (old, new))
    assert any(label in verdict.obligation.label for verdict in validation.failures)


def test_a_row_wider_than_the_registers_is_not_written() -> None:
    case = SoftmaxCase(_WARP, "f32", "f32")
    wide = effect(case)
    parameters = tuple(
        replace(p, maximum=p.maximum + 4) if p.name == "columns" else p for p in wide.parameters
    )
    from tylo.codegen.nvrtc import compile as compile_cuda

    kernel = SoftmaxKernel(tile=_WARP, dtype="f32", out_dtype="f32")
    ptx = compile_cuda(kernel.source(), "sm_90a", kernels=[kernel.entry]).ptx
    failures = validate(ptx, replace(wide, parameters=parameters)).failures
    assert {v.obligation.label for v in failures} == {"out: nothing left out"}
