"""Bundles of softmax kernels: generated, checked, run without a device, and refused when wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tylo.codegen.bundle import generate
from tylo.codegen.primitives import primitive
from tylo.codegen.run import run_bundle
from tylo.codegen.run_cpu import MachineModule
from tylo.codegen.softmax.run import compared_rows
from tylo.layouts.errors import GenerationError
from tylo.proofs.bundle import HOLDS
from tylo.proofs.ptx.validate import validate
from tylo.proofs.specifications import specification

SMALL = {"lanes": 32, "warps": 1, "repeats": 1}


@pytest.mark.slow
def test_a_bundle_from_end_to_end(tmp_path: Path) -> None:
    generated = generate(
        "softmax",
        {"dtype": "bf16", "vector": 8, "warps": 2, "lse": 1},
        tmp_path / "bundle",
        architectures=("sm_80",),
    )
    assert generated.checked.verdict == HOLDS
    report = run_bundle(tmp_path / "bundle", device="cpu", seeds=2)
    assert report.passed, report.summary()
    assert [each.name for each in report.results] == ["kernel.cu", "tests/probabilities.cu"]


@pytest.mark.parametrize(
    "given",
    [
        {"ragged": 1, "mask": 1, "lse": 1, **SMALL},
        {"ragged": 1, "form": "stream", **SMALL},
        {"out_dtype": "none", "lse": 1, **SMALL},
        {"form": "three_pass", "vector": 1, "dtype": "bf16", **SMALL},
        {"dtype": "f16", "out_dtype": "f32", "mask": 1, **SMALL, "lanes": 8},
        {"mask": 3, **SMALL, "lanes": 8},
        {"mask": 8, "ragged": 1, **SMALL},
        {"form": "few", "lse": 1, "columns": 4, "dtype": "bf16", "threads": 32},
        {"form": "flat", "lse": 1, "mask": 2, "columns": 5, "each": 2, "rows": 16, "threads": 64},
        {"form": "across", "lse": 1, "mask": 1, "lanes": 8, "warps": 2, "repeats": 1},
        {"form": "across", "held": 0, "dtype": "bf16", "lanes": 8, "warps": 2, "repeats": 1},
    ],
    ids=lambda given: "-".join(given),
)
def test_every_form_runs_without_a_device(given: dict[str, int | str]) -> None:
    from tylo.codegen.nvrtc import compile

    stated = specification("softmax", given)
    assert stated.effect is not None
    source = primitive("softmax").source(stated.parameters)
    ptx = compile(source, "sm_80", kernels=[stated.effect.entry]).ptx
    checks, failed, first = compared_rows(MachineModule(ptx, 1), stated.parameters)
    assert checks >= 3, "some rows"
    assert not failed.any(), first
    (test,) = primitive("softmax").tests(stated.parameters)
    assert compile(test.source, "sm_80", kernels=[test.entry]).ptx


@pytest.mark.slow
def test_a_bundle_of_narrow_rows(tmp_path: Path) -> None:
    given: dict[str, int | str] = {"form": "flat", "columns": 5, "each": 2, "rows": 16, "mask": 2}
    generated = generate(
        "softmax", {**given, "threads": 64}, tmp_path / "bundle", architectures=("sm_80",)
    )
    assert generated.checked.verdict == HOLDS
    report = run_bundle(tmp_path / "bundle", device="cpu", seeds=2)
    assert report.passed, report.summary()


@pytest.mark.slow
def test_a_wrong_column_is_found() -> None:
    from tylo.codegen.nvrtc import compile

    stated = specification("softmax", SMALL)
    source = primitive("softmax").source(stated.parameters)
    assert stated.effect is not None
    right = compile(source, "sm_80", kernels=[stated.effect.entry]).ptx
    assert validate(right, stated.effect).holds
    shifted = source.replace(
        "Result* const at = span.out + first;", "Result* const at = span.out + 4 + first;"
    )
    assert shifted != source
    wrong = compile(shifted, "sm_80", kernels=[stated.effect.entry]).ptx
    assert not validate(wrong, stated.effect).holds


def test_what_is_not_covered_is_named() -> None:
    from tylo.proofs.effects import uncovered

    effect = specification("softmax", {"lse": 1}).effect
    assert effect is not None
    assert [each.split(",")[0] for each in uncovered(effect)] == [
        "values not covered: probability",
        "values not covered: log-sum-exp",
    ]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"dtype": "f64"}, "no dtype 'f64'"),
        ({"form": "ahead"}, "no form 'ahead'"),
        ({"vector": 8}, "at most 16 bytes"),
        ({"warps": 3}, "powers of two"),
        ({"lanes": 8, "warps": 2}, "whole warps"),
        ({"lse": "yes"}, "whole number"),
        ({"mask": 9}, "up to 8 are proven"),
        ({"ragged": 1, "lanes": 4, "warps": 1}, "single columns of ragged rows"),
        ({"out_dtype": "none"}, "without a result"),
        ({"form": "three_pass"}, "one warp"),
        ({"cluster": 2}, "no parameter 'cluster'"),
        ({"form": "few", "columns": 3}, "a width that divides the vector"),
        ({"form": "few", "mask": 1}, "no parameter 'mask'"),
        ({"form": "flat", "columns": 37}, "up to 36 columns"),
        ({"form": "flat", "dtype": "bf16", "out_dtype": "f32"}, "in place"),
        ({"form": "flat", "mask": 9}, "up to 8 are proven"),
    ],
)
def test_what_is_refused(parameters: dict[str, int | str], message: str) -> None:
    with pytest.raises(GenerationError) as caught:
        specification("softmax", parameters)
    assert message in str(caught.value)
