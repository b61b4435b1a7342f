"""Generating a bundle: prove, print, compile, validate, and only then write.

Nothing is written unless every claim is proven, every kernel compiles without spills or local
memory, and no PTX obligation fails. What no solver answered is reported as undecided.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tylo import __version__
from tylo.codegen.architecture import parse_architecture
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
    sealed,
    write_bundle,
)
from tylo.proofs.bundle.check import stated_assumptions
from tylo.proofs.certificate import Certificate
from tylo.proofs.effects import effect_to_bytes
from tylo.proofs.prover import require_proof
from tylo.proofs.report import html_report
from tylo.proofs.specifications import Specification, specification

_KERNEL_HINTS = {"attention": "give a kernel's parameters, such as --set depth=64; or tylo prove"}
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
    architectures: Sequence[str] | None = None,
) -> Generated:
    """Write the bundle of a primitive for `architectures` to `folder`; without any, for all that
    the primitive is for.

    Raises `GenerationError` for a primitive, size or dtype that is not generated, `CompileError`
    for an architecture the compiler does not know, `ClaimError` for a claim that does not hold, and
    `BundleError` if the emitted PTX does not do what was proven, or the folder is in the way.
    """
    generator = primitive(name)
    stated = specification(name, parameters)
    kernel = stated.kernel
    if kernel is None:
        hint = _KERNEL_HINTS.get(name, "use tylo prove")
        raise GenerationError(f"{name} is a theorem without a kernel", hint=hint)
    if architectures is None:
        architectures = stated.roles.architectures if stated.roles else ARCHITECTURES
    _require_architectures(stated, architectures)
    source = generator.source(stated.parameters)
    compiled = {
        architecture: _compiled(source, architecture, kernel.entry)
        for architecture in architectures
    }
    tests = {stated_test(test): test.source for test in generator.tests(stated.parameters)}
    files = {
        KERNEL: source.encode(),
        CERTIFICATE: certificate(stated).to_bytes(),
        **({EFFECT: effect_to_bytes(stated.effect)} if stated.effect else {}),
        **{test.file: text.encode() for test, text in tests.items()},
    }
    for architecture, result in compiled.items():
        files[f"ptx/{architecture}.ptx"] = result.ptx.encode()
        files[f"cubin/{architecture}.cubin"] = result.cubin
    manifest = Manifest(
        specification=stated.name,
        parameters=stated.parameters,
        architectures=tuple(architectures),
        compiler=next(iter(compiled.values())).compiler,
        options=BASE_OPTIONS,
        assumptions=stated_assumptions(stated),
        tests=tuple(tests),
        files={},
        version=__version__,
    )
    bundle = sealed(manifest, files)
    checked = check_bundle(bundle)
    if checked.verdict == FAILS:
        failed = next(check for check in checked.checks if check.verdict == FAILS)
        raise BundleError(
            f"nothing was written: {failed}",
            hint="report this: the generator contradicts its proof",
        )
    bundle = sealed(manifest, {**files, REPORT: html_report(bundle, checked).encode()})
    write_bundle(folder, bundle)
    return Generated(bundle, checked)


def _compiled(source: str, architecture: str, entry: str) -> Compiled:
    compiled = compile_cached(source, architecture, kernels=[entry], name=KERNEL)
    require_full_speed(compiled)
    return compiled


def _require_architectures(stated: Specification, architectures: Sequence[str]) -> None:
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
