"""Mutation of one kernel of every kind: whatever is accepted, the machine finds right.

A seeded sample; ``TYLO_MUTANTS=100000`` takes all of them.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ptx_kernels import KINDS, compiled, mutants
from tylo.layouts.errors import PtxError
from tylo.proofs.effects import Effect
from tylo.proofs.ptx.inprocess import solve
from tylo.proofs.ptx.machine.launch import Unwritten, launch
from tylo.proofs.ptx.obligations import obligations

_SAMPLE = int(os.environ.get("TYLO_MUTANTS", "24"))  # of each kernel
_POISON = np.uint32(0xDEADBEEF)
# Rows, columns and strides of both matrices.
_LAUNCHES = ((1, 1, 1, 1), (5, 33, 40, 37), (3, 70, 70, 72), (8, 32, 32, 32))


def accepted(ptx: str, effect: Effect) -> bool:
    def quick(scripts: Sequence[str]) -> bool:
        return solve(scripts, milliseconds=300) == ["holds"] * len(scripts)

    try:
        stated = obligations(ptx, effect)
    except PtxError:
        return False
    # Bit-vectors without products, or integers that know a little about them: as `validate` asks.
    for o in sorted(stated, key=lambda o: o.settled != "fails"):
        if o.settled == "fails":
            return False
        if not o.settled and not quick([o.linear or o.script]):
            return False
    return True


def _words(count: int, seed: int) -> Any:
    return np.random.default_rng(seed).integers(1 << 8, 1 << 30, count, dtype=np.uint32)


def fixed_size(kind: str, ptx: str) -> bool:
    """The two kinds of transposes, in three blocks."""
    size = 128 if kind == "lanes" else 1024
    x, y = _words(3 * size, 1), np.full(3 * size, _POISON, np.uint32)
    threads = 32 if kind == "lanes" else 256
    launch(ptx, kind, 3, threads, [x, Unwritten(y)], seed=2)
    if kind == "lanes":
        wanted = x.reshape(3, 8, 4, 4).transpose(0, 1, 3, 2)
    else:
        wanted = x.reshape(3, 32, 32).transpose(0, 2, 1)
    return np.array_equal(y, wanted.reshape(-1))


def ragged(ptx: str) -> bool:
    for n in (1, 63, 64, 130):
        x, y = _words(n, n), np.full(n, _POISON, np.uint32)
        launch(ptx, "ragged", -(-n // 64), 64, [x, Unwritten(y), n])
        if not np.array_equal(x, y):
            return False
    return True


def by_rows(kind: str, ptx: str) -> bool:
    for rows, columns, sx, sy in _LAUNCHES:
        x = _words((rows - 1) * sx + columns, rows)
        if kind == "softmax":
            x = (x % 97).astype(np.float32).view(np.uint32)
        written = np.zeros((rows - 1) * sy + columns, np.bool_)
        for row in range(rows):
            written[row * sy : row * sy + columns] = True
        results = []
        for other in (False, True):
            # A second launch with another last row: what the first rows get may not depend on it.
            given = x.copy()
            if other:
                given[(rows - 1) * sx :] = np.float32(3).view(np.uint32)
            y = np.full(len(written), _POISON, np.uint32)
            grid = -(-rows // 4) + 1
            launch(ptx, kind, grid, 128, [given, Unwritten(y), rows, columns, sx, sy])
            if not np.array_equal(y != _POISON, written):
                return False
            results.append(y)
            if kind == "rows":
                for row in range(rows):
                    part = given[row * sx : row * sx + columns]
                    if not np.array_equal(y[row * sy : row * sy + columns], part):
                        return False
        if not np.array_equal(results[0][: (rows - 1) * sy], results[1][: (rows - 1) * sy]):
            return False
    return True


def right(kind: str, ptx: str) -> bool:
    try:
        if kind == "ragged":
            return ragged(ptx)
        return by_rows(kind, ptx) if kind in ("rows", "softmax") else fixed_size(kind, ptx)
    except PtxError:
        return False


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_wrong_mutant_survives(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    source, effect = KINDS[kind]
    ptx = compiled(source, kind)
    assert right(kind, ptx)
    counts: Counter[str] = Counter()
    wrong: list[Any] = []
    every = [text for text in mutants(ptx, seed=4) if text != ptx]
    for text in random.Random(5).sample(every, min(_SAMPLE, len(every))):
        verdict = accepted(text, effect)
        counts["accepted" if verdict else "refused"] += 1
        if verdict and not right(kind, text):
            wrong.append([line for line in text.splitlines() if line not in ptx.splitlines()])
    with capsys.disabled():
        print(f"\n{kind}: {sum(counts.values())} mutants, {len(wrong)} wrong, {dict(counts)}")
    assert counts["refused"] > _SAMPLE // 2
    assert not wrong
