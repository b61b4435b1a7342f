"""Mutants of kernels of every kind: what the machine finds wrong, the proof must not accept.

The default run draws a few mutants of some kinds, and asks the proof about those that are wrong.
``-m nightly -s`` takes every kind and asks about each mutant: how many are accepted, and how many
refused though nothing is wrong with them. ``TYLO_MUTANTS=300`` takes at most so many of a kernel.
"""

from __future__ import annotations

import os
import random

import pytest

from mutant_kinds import EVERY, SMALL
from mutant_sweep import sweep
from ptx_mutants import PtxMutant, mutants

_MOST = int(os.environ.get("TYLO_MUTANTS", "0"))
_FEW, _FEWER = 16, 6
# One of each way in which a row is held or read; proofs about them take longer.
_SOFTMAX = (
    "softmax: a block a row, log-sum-exp",
    "softmax: eight lanes a row",
    "softmax: streamed by warps",
    "softmax: a mask, log-sum-exp alone",
    "softmax: ragged, log-sum-exp alone",
    "softmax: across memory, over lanes",
)
_LOOP = "loop: a grid, by fours"
_GRIDS = ("grid: copy", "grid: tiled transpose")
_SLOW = (_LOOP, _GRIDS[1], "softmax", "product", "four steps a trip", "sequential", *_SOFTMAX)


def drawn(ptx: str, most: int) -> list[PtxMutant]:
    every = list(mutants(ptx, seed=1))
    return random.Random(5).sample(every, min(most or len(every), len(every)))


@pytest.mark.parametrize("name", [*SMALL, *_SOFTMAX, _LOOP, *_GRIDS])
def test_wrong_mutants_are_refused(name: str) -> None:
    kind = EVERY[name]()
    few = _FEWER if name in _SLOW else _FEW
    counts = sweep(kind.prover(), kind.right, kind.ptx, drawn(kind.ptx, few), few=True)
    assert counts.numbers["refused, wrong"] >= few // 6
    assert not counts.wrong


@pytest.mark.nightly
@pytest.mark.parametrize("name", EVERY)
def test_no_mutant_is_accepted_and_wrong(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    kind = EVERY[name]()
    counts = sweep(kind.prover(), kind.right, kind.ptx, drawn(kind.ptx, _MOST))
    with capsys.disabled():
        print(f"\n{name}: {counts}", flush=True)
        for each in counts.wrong:
            print(f"  accepted and wrong: line {each.line}: {each.change}")
    assert not counts.wrong
