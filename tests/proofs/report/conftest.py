"""One bundle, what was checked of it, and the same with a fault in its PTX."""

from __future__ import annotations

import re

import pytest

from report_pages import (
    ARCHITECTURES,
    certificate_of,
    specification_of,
)
from tylo.codegen.nvrtc import compile as compile_cuda
from tylo.codegen.pack_operand_a.source import kernel_source
from tylo.proofs.bundle import (
    CERTIFICATE,
    DIGEST_ONLY,
    EFFECT,
    FAILS,
    HOLDS,
    KERNEL,
    Bundle,
    Check,
    Checked,
    GeneratedTest,
    Manifest,
    digest,
)
from tylo.proofs.claims import canonical_json
from tylo.proofs.effects import assumptions, effect_to_json
from tylo.proofs.ptx.validate import validate
from tylo.proofs.specifications import pack_tile, specification


@pytest.fixture(scope="session")
def bundle() -> Bundle:
    stated = specification("pack_operand_a", {"atom": "mma.m16n8k16.bf16"})
    assert stated.effect is not None
    source = kernel_source(pack_tile(stated.parameters))
    files = {
        KERNEL: source.encode(),
        CERTIFICATE: certificate_of(stated).to_bytes(),
        EFFECT: (canonical_json(effect_to_json(stated.effect)) + "\n").encode(),
        "tests/coordinates.cu": b"// generated\n",
    }
    for architecture in ARCHITECTURES:
        made = compile_cuda(source, architecture, kernels=[stated.effect.entry], name=KERNEL)
        files[f"ptx/{architecture}.ptx"] = made.ptx.encode()
        files[f"cubin/{architecture}.cubin"] = made.cubin
    manifest = Manifest(
        specification=stated.name,
        parameters=stated.parameters,
        architectures=ARCHITECTURES,
        compiler="NVRTC 12.9",
        options=("--fmad=false",),
        assumptions=assumptions(stated.effect),
        tests=(GeneratedTest("tests/coordinates.cu", "coordinates", 32, 256, 1),),
        files={path: digest(content) for path, content in files.items()},
        version="0.1.0",
    )
    return Bundle(manifest, files)


def checked_by_hand(bundle: Bundle) -> Checked:
    """What `check_bundle` says when both solvers answer in time, without asking them."""
    stated = specification_of(bundle)
    assert stated.effect is not None
    checks = [
        Check(f"claim {claim.name}", checker, HOLDS, detail)
        for checker, detail in (("checker", "proven"), ("z3 5.4.1", ""), ("cvc5 1.4.2", ""))
        for claim in stated.claims
    ]
    validations = []
    for architecture in bundle.manifest.architectures:
        path = f"ptx/{architecture}.ptx"
        validation = validate(bundle.text(path), stated.effect)
        validations.append((architecture, validation))
        total, broken = len(validation.verdicts), validation.failures
        detail = f"{len(broken)} of {total} obligations: {broken[0]}" if broken else f"{total}"
        checks.append(Check(path, "PTX", FAILS if broken else HOLDS, detail))
    for path in sorted(bundle.files):
        if path.startswith(("cubin/", "tests/")) or path == KERNEL:
            checks.append(Check(path, "digest", DIGEST_ONLY, "--rebuild makes it again"))
    return Checked(stated, tuple(checks), tuple(validations))


@pytest.fixture(scope="session")
def checked(bundle: Bundle) -> Checked:
    return checked_by_hand(bundle)


def with_halves_swapped(bundle: Bundle) -> Bundle:
    """The halves of one packed word change places on one architecture."""
    path = "ptx/sm_90a.ptx"
    text = bundle.text(path)
    found = re.search(r"cvt\.rn\.bf16x2\.f32 +(%r\d+), (%f\d+), (%f\d+);", text)
    assert found
    swapped = f"cvt.rn.bf16x2.f32 {found[1]}, {found[3]}, {found[2]};"
    return Bundle(bundle.manifest, {**bundle.files, path: text.replace(found[0], swapped).encode()})


@pytest.fixture(scope="session")
def failing(bundle: Bundle) -> tuple[Bundle, Checked]:
    broken = with_halves_swapped(bundle)
    return broken, checked_by_hand(broken)
