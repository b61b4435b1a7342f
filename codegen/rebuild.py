"""Making a bundle's text and machine code again, and comparing bytes.

NVRTC's output is deterministic: the same compiler gives the same PTX and cubin. Another compiler
may not, so that a difference is then undecided rather than a failure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tylo import __version__
from tylo.codegen.nvrtc import BASE_OPTIONS, compile, compiler_info
from tylo.codegen.primitives import primitive, stated_test
from tylo.layouts.errors import CompileError
from tylo.proofs.bundle import (
    FAILS,
    HOLDS,
    KERNEL,
    REPORT,
    UNDECIDED,
    Bundle,
    Check,
    Checked,
    GeneratedTest,
    sealed,
)
from tylo.proofs.report import html_report


def remade_checks(bundle: Bundle, checked: Checked, *, rebuild: bool) -> Iterator[Check]:
    """Print the source and the tests again, which needs no compiler, and compare every byte.

    With `rebuild` make the machine code and the report again as well.
    """
    stated = checked.specification
    if stated is None or stated.kernel is None:
        return
    generator = primitive(stated.name)
    tests = {stated_test(test): test.source for test in generator.tests(stated.parameters)}
    texts = {KERNEL: generator.source(stated.parameters)}
    yield from _printed(bundle, texts | {test.file: text for test, text in tests.items()})
    if rebuild:
        yield _made(bundle, tuple(tests))
        yield from _recompiled(bundle, stated.kernel.entry)
        yield from _rewritten(bundle, checked)


def _printed(bundle: Bundle, texts: Mapping[str, str]) -> Iterator[Check]:
    for path in sorted(texts.keys() | {p for p in bundle.files if p.startswith("tests/")}):
        if path in texts and bundle.files.get(path) == texts[path].encode():
            yield Check(path, "regenerated", HOLDS)
        elif bundle.manifest.version != __version__:
            reason = f"Tylo {__version__} prints another, version {bundle.manifest.version} may not"
            yield Check(path, "regenerated", UNDECIDED, reason)
        else:
            yield Check(path, "regenerated", FAILS, "the generator prints another")


def _made(bundle: Bundle, tests: tuple[GeneratedTest, ...]) -> Check:
    """What the manifest says of the tests and of how everything was made."""
    manifest = bundle.manifest
    compiler = compiler_info().version
    if manifest.tests != tests:
        outcome, reason = FAILS, "the generator states other tests"
    elif manifest.options != BASE_OPTIONS:
        outcome, reason = FAILS, f"kernels are compiled with {' '.join(BASE_OPTIONS)}"
    elif manifest.compiler != f"NVRTC {compiler}" or manifest.version != __version__:
        outcome = UNDECIDED
        reason = f"this is Tylo {__version__} with NVRTC {compiler}"
    else:
        outcome, reason = HOLDS, ""
    return Check("tests, options, compiler, version", "regenerated", outcome, reason)


def _recompiled(bundle: Bundle, entry: str) -> Iterator[Check]:
    manifest = bundle.manifest
    for architecture in manifest.architectures:
        try:
            again = compile(bundle.text(KERNEL), architecture, kernels=[entry], name=KERNEL)
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


def _rewritten(bundle: Bundle, checked: Checked) -> Iterator[Check]:
    """The report says what was found; another solver's version may word that differently."""
    if REPORT not in bundle.files:
        return
    files = {path: each for path, each in bundle.files.items() if path != REPORT}
    bare = sealed(bundle.manifest, files)
    before = tuple(check for check in checked.checks if check.subject != REPORT)
    again = html_report(bare, replace(checked, checks=before)).encode()
    if again == bundle.files[REPORT]:
        yield Check(REPORT, "regenerated", HOLDS)
    else:
        reason = "it was edited, or written by other checkers: write your own with tylo report"
        yield Check(REPORT, "regenerated", UNDECIDED, reason)
