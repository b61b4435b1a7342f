"""Attention's PTX with one instruction changed: it is refused, or what changed is no step of it.

All of it is nightly: one mutant that is accepted, or refused late, takes half a minute. The default
run refuses named faults of the same kinds (`test_attention_ptx`). `TYLO_MUTANTS` says how many are
drawn; the small member has 35,013.
"""

from __future__ import annotations

import os
import random
import re
from collections import Counter

import pytest

from ptx_mutants import PtxMutant, mutants
from tylo.codegen.attention.member import Member
from tylo.codegen.cache import compile_cached
from tylo.layouts.errors import PtxError
from tylo.proofs.ptx import inprocess
from tylo.proofs.ptx.asynchronous.validate import validate_attention

SMALL = Member(64, "bf16", 1, 64, 2)
# Instructions that a plan speaks of.
STEPS = re.compile(
    r"\s*(mbarrier|cp\.async|wgmma\.(fence|commit|wait)|bar\.|fence|setmaxnreg|elect)"
)
VALUES = re.compile(r"\s*(@!?%p\d+ )?[\w.]+\.(f32|bf16|f16|bf16x2|f16x2)(\.f32)?[ \t]")
_MOST = int(os.environ.get("TYLO_MUTANTS", "24"))


@pytest.fixture(scope="module")
def text() -> str:
    return compile_cached(SMALL.source(), "sm_90a", kernels=[SMALL.entry]).ptx


def drawn(text: str, most: int, only: re.Pattern[str] | None = None) -> list[PtxMutant]:
    lines = text.splitlines()
    every = [
        each for each in mutants(text, seed=1) if only is None or only.match(lines[each.line - 1])
    ]
    return random.Random(7).sample(every, min(most, len(every)))


def verdict(text: str) -> str:
    """What is said of a module."""
    try:
        found = validate_attention(text, SMALL.plan, "sm_90a", inprocess.solve)
    except PtxError:
        return "undecided"
    return "holds" if found.holds else "fails"


def reason(mutant: PtxMutant, text: str) -> str:
    """Why a mutant that is accepted makes the same steps; empty if nothing says so."""
    old = text.splitlines()[mutant.line - 1]
    registers = re.findall(r"%\w+", old)
    if VALUES.match(old) and (not mutant.change or VALUES.match(mutant.change)):
        return "floating point, which no proof covers"
    if mutant.kind == "repetition" and registers and registers[0] not in registers[1:]:
        return "the same twice"
    if mutant.kind == "exchange":
        mine, theirs = (re.findall(r"%\w+", line) for line in (old, mutant.change))
        apart = mine and theirs and mine[0] not in theirs and theirs[0] not in mine
        return "neighbours that do not meet" if apart else ""
    return ""


@pytest.mark.nightly
def test_changed_steps_are_refused(text: str) -> None:
    said = Counter(verdict(each.text) for each in drawn(text, 6, STEPS))
    assert said["holds"] == 0
    assert said["fails"] > 0


@pytest.mark.nightly
def test_what_is_accepted_makes_the_same_steps(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said: Counter[str] = Counter()
    unexplained = []
    for each in drawn(text, _MOST):
        found = verdict(each.text)
        why = reason(each, text) if found == "holds" else ""
        said[f"{found}: {why}" if why else found] += 1
        if found == "holds" and not why:
            unexplained.append(f"line {each.line}: {each.kind}: {each.change}")
    with capsys.disabled():
        print(f"\n{dict(said)}", *unexplained, sep="\n  ", flush=True)
    assert unexplained == []
