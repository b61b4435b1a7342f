"""Mutation of a loop over any number of tiles: whatever is accepted, the machine finds right."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tylo.layouts.errors import PtxError
from tylo.layouts.terms import name
from tylo.proofs.effects import Buffer, Effect, Parameter, Part, Store
from tylo.proofs.ptx.inprocess import solve
from tylo.proofs.ptx.machine.launch import Unwritten, launch
from tylo.proofs.ptx.obligations import obligations

SOURCE = r"""
extern "C" __global__ void __launch_bounds__(32)
reverse(const unsigned* __restrict__ x, unsigned* __restrict__ y, unsigned n) {
  const unsigned* source = x + (unsigned long long)blockIdx.x * n * 32 + (31 - threadIdx.x);
  unsigned* out = y + (unsigned long long)blockIdx.x * n * 32 + threadIdx.x;
  #pragma unroll 1
  for (unsigned i = 0; i < n; ++i) { *out = *source; source += 32; out += 32; }
}"""
SWAPS = {
    "add": ("sub", "xor"),
    "sub": ("add",),
    "mul.wide": ("mul.lo",),
    "shl": ("shr",),
    "xor": ("or",),
    "lt": ("le", "ne", "gt", "eq"),
    "eq": ("ne",),
    "ne": ("eq",),
    "u32": ("s32",),
    "s64": ("u64",),
    "%tid": ("%ctaid",),
    "%ctaid": ("%tid",),
    "@%p": ("@!%p",),
}
BLOCKS = 3


def effect() -> Effect:
    n, thread = name("n"), name("thread")
    row = name("block") * n + name("step")
    part = Part(32, "move", "x", (row * 32 + 31 - thread) * 4)
    return Effect(
        "reverse",
        32,
        (Buffer("x", "in", 32, n * 32, 4), Buffer("y", "out", 32, n * 32, 4)),
        (Store("y", (row * 32 + thread) * 4, (part,), n),),
        BLOCKS,
        (Parameter("n", 32, 0, 5),),
    )


def mutants(ptx: str, seed: int) -> Iterator[str]:
    g = random.Random(seed)
    lines = ptx.splitlines()
    body = [i for i in range(lines.index("{"), len(lines)) if re.match(r"\s*(@%p|[a-z])", lines[i])]
    registers = sorted(set(re.findall(r"%(?:r|rd|p)\d+", "\n".join(lines))))
    for i in body:
        line = lines[i]
        texts = [""]
        for old, news in SWAPS.items():
            if old in line:
                texts += [line.replace(old, new, 1) for new in news]
        for match in re.finditer(r"%(?:r|rd|p)\d+", line):
            kind = re.sub(r"\d", "", match[0])
            same = [r for r in registers if re.sub(r"\d", "", r) == kind and r != match[0]]
            for new in g.sample(same, min(2, len(same))):
                texts.append(line[: match.start()] + new + line[match.end() :])
        for match in re.finditer(r"(?<=[\s+])-?\d+(?=[;\]])", line):
            for value in (int(match[0]) + 1, int(match[0]) * 2 + 4):
                texts.append(line[: match.start()] + str(value) + line[match.end() :])
        for text in texts:
            yield "\n".join([*lines[:i], text, *lines[i + 1 :]])
    for i, j in pairwise(body):
        moved = list(lines)
        moved[i], moved[j] = moved[j], moved[i]
        yield "\n".join(moved)


def accepted(ptx: str, meant: Effect) -> bool:
    def quick(scripts: Sequence[str]) -> bool:
        return solve(scripts, milliseconds=200) == ["holds"] * len(scripts)

    try:
        stated = obligations(ptx, meant)
    except PtxError:
        return False
    return all(
        o.settled == "holds" or (o.linear and quick([o.linear])) or quick([o.script])
        for o in stated
    )


def right(ptx: str) -> bool:
    for n in (0, 1, 2, 5):
        x = np.random.default_rng(n).integers(0, 1 << 32, BLOCKS * n * 32, dtype=np.uint64)
        x = x.astype(np.uint32)
        y = np.zeros_like(x)
        try:
            launch(ptx, "reverse", BLOCKS, 32, [x, Unwritten(y), n])
        except PtxError:
            return False
        if not np.array_equal(y.reshape(-1, 32), x.reshape(-1, 32)[:, ::-1]):
            return False
    return True


@pytest.mark.slow
def test_no_wrong_mutant_of_a_loop_survives(capsys: pytest.CaptureFixture[str]) -> None:
    from tylo.codegen.nvrtc import compile as compile_cuda

    ptx = compile_cuda(SOURCE, "sm_90a", kernels=["reverse"]).ptx
    meant = effect()
    assert accepted(ptx, meant)
    assert right(ptx)
    counts: Counter[str] = Counter()
    wrong: list[Any] = []
    for text in mutants(ptx, seed=3):
        verdict = accepted(text, meant)
        counts["accepted" if verdict else "refused"] += 1
        if verdict and not right(text):
            wrong.append([line for line in text.splitlines() if line not in ptx.splitlines()])
    with capsys.disabled():
        print(f"\nloop: {sum(counts.values())} mutants, {len(wrong)} wrong survivors, {counts}")
    assert counts["refused"] > 150
    assert not wrong
