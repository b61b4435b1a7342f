"""Bundles of softmax kernels on every architecture that they are written for, form by form.

Compilers of different generations print different text for one kernel: what a proof follows on one
architecture it need not on another. Texts that differ in their target alone are judged once.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from softmax_bundles import BUNDLES
from tylo.codegen.bundle import ARCHITECTURES
from tylo.codegen.nvrtc import compile as compile_cuda
from tylo.codegen.primitives import primitive
from tylo.layouts.errors import GenerationError
from tylo.proofs.ptx.validate import validate
from tylo.proofs.specifications import Specification, specification

# Some of each form that take few seconds, on the architecture that other tests leave out.
_QUICK, _NEWER = (
    (
        *("rows out_dtype=none lse=1", "rows ragged=1", "stream lse=1", "few columns=1"),
        *("flat columns=7 each=2 threads=32", "across out_dtype=none lse=1"),
    ),
    "sm_100a",
)


def stated(name: str) -> Specification:
    return specification("softmax", BUNDLES[name])


def compiled(found: Specification, architecture: str, *changes: tuple[str, str]) -> str:
    text = primitive("softmax").source(found.parameters)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    assert found.effect is not None
    return compile_cuda(text, architecture, kernels=[found.effect.entry]).ptx


@cache
def complaints(name: str, ptx: str) -> str:
    """What is not proven of a text whose target was taken out."""
    effect = stated(name).effect
    assert effect is not None
    validation = validate(ptx.replace(_TARGET, f".target {_NEWER}"), effect)
    return "\n".join(map(str, validation.failures + validation.undecided))


_TARGET = ".target the architecture"


def _members() -> Iterator[Any]:
    for name in BUNDLES:
        for architecture in ARCHITECTURES:
            quick = name in _QUICK and architecture == _NEWER
            marks = [] if quick else [pytest.mark.nightly]
            yield pytest.param(name, architecture, marks=marks, id=f"{name}, {architecture}")


@pytest.mark.parametrize(("name", "architecture"), list(_members()))
def test_bundles_hold(name: str, architecture: str) -> None:
    ptx = compiled(stated(name), architecture)
    assert ptx.count(f".target {architecture}\n") == 1
    assert not complaints(name, ptx.replace(f".target {architecture}\n", f"{_TARGET}\n"))


_FLAT, _COPY = "flat columns=7 each=2 threads=32", "copy_16(tile + at, x + at)"
_NIGHTLY = pytest.mark.nightly
_WRONG = [
    # Copies whose place in shared memory is narrowed before its last summand is added.
    (_FLAT, _COPY, "copy_16(tile + (at ^ 4), x + at)", "written"),
    pytest.param(_FLAT, _COPY, "copy_16(tile + at + 4, x + at)", "bounds", marks=_NIGHTLY),
    pytest.param(_FLAT, _COPY, "copy_16(tile + at, x + (at ^ 4))", "origin", marks=_NIGHTLY),
    # Single elements and vectors go to one address under conditions of their own.
    ("rows ragged=1", "if (span.together)", "if (!span.together)", "where"),
]


@pytest.mark.parametrize(("name", "old", "new", "label"), _WRONG)
def test_wrong_kernels_fail(name: str, old: str, new: str, label: str) -> None:
    found = stated(name)
    assert found.effect is not None
    failures = validate(compiled(found, _NEWER, (old, new)), found.effect).failures
    assert any(label in verdict.obligation.label for verdict in failures), failures


def test_float32_rows_are_not_kept_packed() -> None:
    with pytest.raises(GenerationError, match="stay packed"):
        specification("softmax", {"held": 0})
    specification("softmax", {"held": 0, "dtype": "bf16", "vector": 8})
