"""Bundles that lie, with every digest recomputed: each is refused, and says where it lies."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tylo.cli.checking import examine
from tylo.codegen.nvrtc import compile
from tylo.proofs.bundle import CERTIFICATE, EFFECT, FAILS, HOLDS, Checked, read_bundle
from tylo.proofs.claims import Claim, canonical_json, claim_from_json

Forge = Callable[..., Path]


def failed(checked: Checked) -> dict[str, str]:
    """Each failed check: its subject and checker, and what was said."""
    return {
        f"{check.subject} ({check.checker})": check.detail
        for check in checked.checks
        if check.verdict == FAILS
    }


def test_the_honest_bundle_holds(honest: Path) -> None:
    checked = examine(str(honest), rebuild=True, strict=True).checked
    assert [check for check in checked.checks if check.verdict != HOLDS] == []
    assert {architecture for architecture, _ in checked.validations} == {"sm_80", "sm_90a"}
    assert all(len(validation.verdicts) >= 20 for _, validation in checked.validations)


WRONG_KERNELS = [
    pytest.param(
        "accumulator[4u * (m + 2u * k)]",
        "accumulator[4u * (m + (2u * k + 1u))]",
        "thread 0",
        id="an atom swapped",
    ),
    pytest.param(
        "accumulator[4u * (m + 2u * k)],\n        accumulator[1u + 4u * (m + 2u * k)]",
        "accumulator[1u + 4u * (m + 2u * k)],\n        accumulator[4u * (m + 2u * k)]",
        "thread 0",
        id="halves swapped",
    ),
    pytest.param(
        "held[2] = tile[(8u + (lane >> 2))",
        "held[2] = tile[(4u + (lane >> 2))",
        "thread 0",
        id="a wrong row",
    ),
    pytest.param(
        "const unsigned lane = thread & 31u;\n    held",
        "const unsigned lane = thread == 17u ? 16u : thread & 31u;\n    held",
        "thread 17",
        id="a fault at lane 17 alone",
    ),
    pytest.param("cvt.rn.bf16x2", "cvt.rz.bf16x2", "cvt", id="truncation instead of rounding"),
    pytest.param("cvt.rn.bf16x2", "cvt.rn.f16x2", "cvt.rn.f16", id="another dtype"),
    pytest.param(
        "(lane & 3u) * 2u) >> 1] = packed[0]",
        "(lane & 3u) * 2u) >> 1] = packed[1]",
        "thread 0",
        id="a word stored twice",
    ),
    pytest.param("tile_words = 128", "tile_words = 64", "block", id="blocks overlap"),
]


@pytest.mark.parametrize(("old", "new", "where"), WRONG_KERNELS)
def test_wrong_kernels_are_refused(forge_kernel: Forge, old: str, new: str, where: str) -> None:
    found = failed(examine(str(forge_kernel(old, new))).checked)
    assert set(found) == {
        "ptx/sm_80.ptx (PTX)",
        "ptx/sm_90a.ptx (PTX)",
        "kernel.cu (regenerated)",
    }
    for path in ("sm_80", "sm_90a"):
        assert where in found[f"ptx/{path}.ptx (PTX)"]


def test_a_claim_weakened_to_nothing_is_refused(honest: Path, forge: Forge) -> None:
    certificate = json.loads(read_bundle(honest).files[CERTIFICATE])
    entry = certificate["claims"][0]
    entry["claim"]["conjuncts"] = [["row", "=", 0, 0]]
    weakened: Claim = claim_from_json(entry["claim"])
    entry["id"] = weakened.id
    content = (canonical_json(certificate) + "\n").encode()
    found = failed(examine(str(forge({CERTIFICATE: content}))).checked)
    assert list(found) == ["claims (specification)"]


def test_a_dropped_claim_is_refused(honest: Path, forge: Forge) -> None:
    certificate = json.loads(read_bundle(honest).files[CERTIFICATE])
    del certificate["claims"][3]
    content = (canonical_json(certificate) + "\n").encode()
    found = failed(examine(str(forge({CERTIFICATE: content}))).checked)
    assert "claims (specification)" in found


@pytest.mark.parametrize("key", ["theorem"])
def test_a_grander_theorem_is_refused(honest: Path, forge: Forge, key: str) -> None:
    certificate = json.loads(read_bundle(honest).files[CERTIFICATE])
    certificate[key] += " It is also the fastest."
    content = (canonical_json(certificate) + "\n").encode()
    assert list(failed(examine(str(forge({CERTIFICATE: content}))).checked)) == [
        "theorem (specification)"
    ]


def test_an_effect_weakened_is_refused(honest: Path, forge: Forge) -> None:
    effect = json.loads(read_bundle(honest).files[EFFECT])
    effect["stores"] = effect["stores"][:1]
    content = (canonical_json(effect) + "\n").encode()
    assert list(failed(examine(str(forge({EFFECT: content}))).checked)) == [
        f"{EFFECT} (specification)"
    ]


def test_fewer_assumptions_are_refused(forge: Forge) -> None:
    assert list(failed(examine(str(forge(assumptions=()))).checked)) == [
        "assumptions (specification)"
    ]


def test_the_wrong_specification_is_refused(honest: Path, forge: Forge) -> None:
    parameters = dict(read_bundle(honest).manifest.parameters)
    parameters["atom"] = parameters["atom"].replace("bf16", "f16")
    found = failed(examine(str(forge(parameters=parameters))).checked)
    assert "ptx/sm_80.ptx (PTX)" in found
    assert "theorem (specification)" in found


def test_no_architecture_is_refused(forge: Forge) -> None:
    assert "architectures (specification)" in failed(examine(str(forge(architectures=()))).checked)


def test_ptx_for_another_architecture_is_refused(honest: Path, forge: Forge) -> None:
    other = read_bundle(honest).files["ptx/sm_80.ptx"]
    found = failed(examine(str(forge({"ptx/sm_90a.ptx": other}))).checked)
    assert list(found) == ["ptx/sm_90a.ptx (PTX)"]
    assert "sm_90a" in found["ptx/sm_90a.ptx (PTX)"]


def test_someone_elses_cubin_has_a_digest_only_until_rebuilt(forge: Forge) -> None:
    other = compile(
        'extern "C" __global__ void tylo_pack_operand_a(const float* a, unsigned* w) { w[0] = 1; }',
        "sm_90a",
        kernels=["tylo_pack_operand_a"],
    )
    forged = str(forge({"cubin/sm_90a.cubin": other.cubin}))
    verdicts = {check.subject: check.verdict for check in examine(forged).checked.checks}
    assert verdicts["cubin/sm_90a.cubin"] == "digest only"
    assert list(failed(examine(forged, rebuild=True).checked)) == [
        "cubin/sm_90a.cubin (recompiled)"
    ]


@pytest.mark.parametrize("path", ["tests/coordinates.cu", "kernel.cu"])
def test_edited_text_is_refused(honest: Path, forge: Forge, path: str) -> None:
    edited = read_bundle(honest).files[path] + b"// harmless\n"
    assert list(failed(examine(str(forge({path: edited}))).checked)) == [f"{path} (regenerated)"]


def test_text_of_another_version_is_undecided(honest: Path, forge: Forge) -> None:
    edited = read_bundle(honest).files["kernel.cu"].replace(b"accumulator[4u", b"accumulator[8u")
    checked = examine(str(forge({"kernel.cu": edited}, version="0.0.9"))).checked
    assert {c.subject: c.verdict for c in checked.checks}["kernel.cu"] == "undecided"
    assert checked.verdict == "undecided"


def test_a_foreign_compiler_leaves_a_difference_undecided(forge: Forge) -> None:
    other = compile(
        'extern "C" __global__ void tylo_pack_operand_a(const float* a, unsigned* w) { w[0] = 1; }',
        "sm_90a",
        kernels=["tylo_pack_operand_a"],
    )
    forged = str(forge({"cubin/sm_90a.cubin": other.cubin}, compiler="NVRTC 99.1.2"))
    verdicts = {check.subject: check for check in examine(forged, rebuild=True).checked.checks}
    assert verdicts["cubin/sm_90a.cubin"].verdict == "undecided"
    assert "NVRTC 99.1.2" in verdicts["cubin/sm_90a.cubin"].detail


@pytest.mark.parametrize(
    ("entries", "files", "where"),
    [
        ({"architectures": ("sm_80", "sm_80")}, {}, "architectures (specification)"),
        ({"architectures": ("zzz",)}, {}, "architectures (specification)"),
        ({"architectures": ("sm_50",)}, {}, "architectures (specification)"),
        ({"tests": ()}, {}, "files (manifest)"),
        ({}, {"ptx/sm_120.ptx": b"evil"}, "files (manifest)"),
        ({}, {"evil/x.cubin": b"evil"}, "files (manifest)"),
        ({}, {"README": b"evil"}, "files (manifest)"),
    ],
)
def test_a_manifest_that_says_too_much_or_too_little(
    forge: Forge, entries: dict[str, Any], files: dict[str, bytes], where: str
) -> None:
    assert where in failed(examine(str(forge(files, **entries))).checked)


MADE = "tests, options, compiler, version"


def test_tests_that_check_nothing_are_refused_when_rebuilt(honest: Path, forge: Forge) -> None:
    tests = tuple(
        replace(test, checks=1, threads=1, entry="nothing")
        for test in read_bundle(honest).manifest.tests
    )
    forged = str(forge(tests=tests))
    assert f"{MADE} (regenerated)" in failed(examine(forged, rebuild=True).checked)


@pytest.mark.parametrize(
    ("entries", "verdict"),
    [
        ({"options": ("--use_fast_math",)}, "fails"),
        ({"version": "9.9"}, "undecided"),
        ({"compiler": "gcc 1"}, "undecided"),
    ],
)
def test_how_it_was_made_is_compared_when_rebuilt(
    forge: Forge, entries: dict[str, Any], verdict: str
) -> None:
    checked = examine(str(forge(**entries)), rebuild=True).checked
    assert {c.subject: c.verdict for c in checked.checks}[MADE] == verdict
    assert checked.verdict == verdict


def test_a_report_that_lies_is_no_success_when_rebuilt(forge: Forge) -> None:
    forged = str(forge({"report.html": b"<h1>999 of 999 hold</h1>"}))
    assert examine(forged, strict=True).checked.verdict == "undecided"
    checked = examine(forged, rebuild=True).checked
    assert {c.subject: c.verdict for c in checked.checks}["report.html"] == "undecided"
    assert checked.verdict == "undecided"
