"""Making a bundle's text and machine code again, and comparing bytes.

NVRTC's output is deterministic: the same compiler gives the same PTX and cubin. Another compiler
may not, so that a difference is then undecided rather than a failure.
"""

from __future__ import annotations

from collections.abc import Iterator

from tylo.codegen.nvrtc import compile
from tylo.codegen.primitives import primitive
from tylo.layouts.errors import CompileError
from tylo.proofs.bundle import FAILS, HOLDS, KERNEL, UNDECIDED, Bundle, Check
from tylo.proofs.effects import Effect
from tylo.proofs.specifications import Specification


def rebuild_checks(bundle: Bundle, stated: Specification, effect: Effect) -> Iterator[Check]:
    """Regenerate the source and the tests, recompile the source, and compare every byte."""
    manifest = bundle.manifest
    generator = primitive(stated.name)
    texts = {KERNEL: generator.source(stated.parameters)}
    for test in generator.tests(stated.parameters):
        texts[f"tests/{test.name}.cu"] = test.source
    for path in sorted(texts.keys() | {p for p in bundle.files if p.startswith("tests/")}):
        same = path in texts and bundle.files.get(path) == texts[path].encode()
        outcome = HOLDS if same else FAILS
        yield Check(path, "regenerated", outcome, "" if same else "the generator prints another")
    for architecture in manifest.architectures:
        try:
            again = compile(bundle.text(KERNEL), architecture, kernels=[effect.entry], name=KERNEL)
        except CompileError as reason:
            yield Check(f"{KERNEL} for {architecture}", "recompiled", UNDECIDED, str(reason))
            continue
        for path, content in (
            (f"ptx/{architecture}.ptx", again.ptx.encode()),
            (f"cubin/{architecture}.cubin", again.cubin),
        ):
            if bundle.files.get(path) == content:
                yield Check(path, "recompiled", HOLDS, again.compiler)
            elif again.compiler != manifest.compiler:
                makers = f"it was made by {manifest.compiler}, recompiled by {again.compiler}"
                yield Check(path, "recompiled", UNDECIDED, makers)
            else:
                yield Check(path, "recompiled", FAILS, "these bytes do not come from kernel.cu")
