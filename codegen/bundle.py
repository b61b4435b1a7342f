"""Generating a bundle: prove, print, compile, validate, and only then write.

Nothing is written unless every claim is proven, every kernel compiles without spills or local
memory, and no PTX obligation fails. What no solver answered is reported as undecided.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tylo.codegen.cache import compile_cached
from tylo.codegen.nvrtc import BASE_OPTIONS, Compiled, require_full_speed
from tylo.codegen.primitives import primitive, stated_test
from tylo.layouts.errors import BundleError, GenerationError
from tylo.proofs.bundle import (
    CERTIFICATE,
    EFFECT,
    FAILS,
    KERNEL,
    REPORT,
    Bundle,
    Checked,
    Manifest,
    check_bundle,
    digest,
    write_bundle,
)
from tylo.proofs.certificate import Certificate
from tylo.proofs.claims import canonical_json
from tylo.proofs.effects import assumptions, effect_to_json
from tylo.proofs.prover import require_proof
from tylo.proofs.report import html_report
from tylo.proofs.specifications import Specification, specification

ARCHITECTURES = ("sm_80", "sm_90a", "sm_100a", "sm_120")


@dataclass(frozen=True, slots=True)
class Generated:
    """A bundle that was written, and everything that was checked on the way."""

    bundle: Bundle
    checked: Checked


def certificate(stated: Specification) -> Certificate:
    """The certificate of a specification: every claim proven, or `ClaimError`."""
    return Certificate(
        theorem=stated.theorem,
        specification=stated.name,
        parameters=dict(stated.parameters),
        proofs=[require_proof(claim) for claim in stated.claims],
    )


def generate(
    name: str,
    parameters: Mapping[str, int | str],
    folder: str | os.PathLike[str],
    *,
    architectures: Sequence[str] = ARCHITECTURES,
) -> Generated:
    """Write the bundle of a primitive for `architectures` to `folder`.

    Raises `GenerationError` for a primitive, size or dtype that is not generated, `CompileError`
    for an architecture the compiler does not know, `ClaimError` for a claim that does not hold, and
    `BundleError` if the emitted PTX does not do what was proven, or the folder is in the way.
    """
    generator = primitive(name)
    stated = specification(name, parameters)
    effect = stated.effect
    if effect is None:
        raise GenerationError(f"{name} is a theorem without a kernel", hint="use tylo prove")
    _require_architectures(stated, architectures)
    source = generator.source(stated.parameters)
    compiled = {
        architecture: _compiled(source, architecture, effect.entry)
        for architecture in architectures
    }
    tests = generator.tests(stated.parameters)
    files = {
        KERNEL: source.encode(),
        CERTIFICATE: certificate(stated).to_bytes(),
        EFFECT: (canonical_json(effect_to_json(effect)) + "\n").encode(),
        **{f"tests/{test.name}.cu": test.source.encode() for test in tests},
    }
    for architecture, result in compiled.items():
        files[f"ptx/{architecture}.ptx"] = result.ptx.encode()
        files[f"cubin/{architecture}.cubin"] = result.cubin
    first = next(iter(compiled.values()))
    manifest = Manifest(
        specification=stated.name,
        parameters=stated.parameters,
        architectures=tuple(architectures),
        compiler=first.compiler,
        options=BASE_OPTIONS,
        assumptions=assumptions(effect),
        tests=tuple(stated_test(test) for test in tests),
        files={path: digest(content) for path, content in files.items()},
        version=_version(),
    )
    checked = check_bundle(Bundle(manifest, files))
    if checked.verdict == FAILS:
        failed = next(check for check in checked.checks if check.verdict == FAILS)
        raise BundleError(
            f"nothing was written: {failed}",
            hint="report this: the generator contradicts its proof",
        )
    files[REPORT] = html_report(Bundle(manifest, files), checked).encode()
    manifest = replace(manifest, files={path: digest(content) for path, content in files.items()})
    bundle = Bundle(manifest, files)
    write_bundle(folder, bundle)
    return Generated(bundle, checked)


def _compiled(source: str, architecture: str, entry: str) -> Compiled:
    compiled = compile_cached(source, architecture, kernels=[entry], name=KERNEL)
    require_full_speed(compiled)
    return compiled


def _require_architectures(stated: Specification, architectures: Sequence[str]) -> None:
    from tylo.codegen.architecture import parse_architecture

    if not architectures:
        raise GenerationError("no architecture given", hint=f"choose from {ARCHITECTURES}")
    if len(set(architectures)) != len(architectures):
        raise GenerationError(f"an architecture is named twice: {architectures}")
    for architecture in architectures:
        if parse_architecture(architecture).number < stated.minimum_capability:
            raise GenerationError(
                f"{architecture} has not the instructions of {stated.name}",
                hint=f"it needs sm_{stated.minimum_capability} or newer",
            )


def _version() -> str:
    from tylo import __version__

    return __version__
