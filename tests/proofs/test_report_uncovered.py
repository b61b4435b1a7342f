"""What no obligation covers is named wherever a verdict is given: reports, `check`, `generate`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tylo.cli import main
from tylo.layouts.errors import BundleError, GenerationError
from tylo.proofs.bundle import Bundle, Checked, Manifest, check_bundle
from tylo.proofs.bundle.check import not_covered
from tylo.proofs.bundle.manifest import manifest_from_bytes
from tylo.proofs.effects import COMPUTED, uncovered
from tylo.proofs.report import html_report, markdown_report
from tylo.proofs.specifications import specification

NAMES = ("probability", "log-sum-exp")


def bundle_of(name: str, **parameters: int | str) -> tuple[Bundle, Checked]:
    """A bundle's manifest and the verdict on nothing but its specification."""
    stated = specification(name, parameters)
    manifest = Manifest(
        stated.name, stated.parameters, ("sm_80",), "NVRTC", (), (), (), {}, version="0.1.0"
    )
    return Bundle(manifest, {}), Checked(stated, (), ())


@pytest.mark.parametrize("form", [markdown_report, html_report])
def test_a_report_names_the_values_that_are_not_covered(form: object) -> None:
    assert callable(form)
    text = form(*bundle_of("softmax", lse=1))
    effect = specification("softmax", {"lse": 1}).effect
    assert effect is not None
    assert "values not covered: probability, log-sum-exp" in text
    assert len(uncovered(effect)) == 2
    for each in uncovered(effect):
        assert each in text
    assert "computed from x from byte " in text
    assert f"{COMPUTED} of" not in text


def test_a_kernel_whose_values_are_covered_says_nothing_of_it() -> None:
    bundle, checked = bundle_of("pack_operand_a", atom="mma.m16n8k16.bf16")
    assert not_covered(checked) == ()
    assert "not covered" not in markdown_report(bundle, checked).lower()


@pytest.mark.slow
def test_the_command_line_names_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = str(tmp_path / "bundle")
    small = ["--set", "warps=1", "--set", "repeats=1", "--set", "lse=1", "--arch", "sm_80"]
    for command in (["generate", "softmax", *small, "-o", place], ["check", place]):
        main(command)
        printed = capsys.readouterr().out
        for name in NAMES:
            assert f"values not covered: {name}, computed from x" in printed
    main(["check", "--json", place])
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert [each.split(",")[0] for each in result["uncovered"]] == [
        f"values not covered: {name}" for name in NAMES
    ]


def test_a_truth_value_is_no_parameter() -> None:
    """`true` equals 1 in Python, and is another manifest."""
    bundle, _ = bundle_of("softmax", lse=1)
    content = bundle.manifest.to_bytes()
    assert manifest_from_bytes(content) == bundle.manifest
    forged = content.replace(b'"lse":1', b'"lse":true')
    assert forged != content
    with pytest.raises(BundleError, match="True is not text"):
        manifest_from_bytes(forged)


def test_an_effect_with_other_names_is_refused() -> None:
    """Who renames or drops what is not covered states another effect."""
    bundle, _ = bundle_of("softmax", lse=1)
    stated = specification("softmax", {"lse": 0})
    assert stated.effect is not None
    from tylo.proofs.bundle.manifest import EFFECT
    from tylo.proofs.effects import effect_to_bytes

    forged = Bundle(bundle.manifest, {EFFECT: effect_to_bytes(stated.effect)})
    (check,) = (each for each in check_bundle(forged).checks if each.subject == EFFECT)
    assert check.verdict == "fails"


def test_a_parameter_given_twice_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    twice = ["--set", "vector=4", "--set", "vector=2"]
    assert main(["generate", "softmax", *twice, "-o", str(tmp_path / "bundle")]) == 2
    assert "--set vector twice" in capsys.readouterr().err


@pytest.mark.parametrize("repeats", [200, 10**11])
def test_more_values_than_registers_hold_are_refused_at_once(repeats: int) -> None:
    with pytest.raises(GenerationError, match="values a thread; 255 registers"):
        specification("softmax", {"repeats": repeats})
