"""Mutants of packing kernels: what the simulator finds wrong, the proof must not accept.

The simulator shares nothing with the proof nor with the machine; it looks at the first, a middle
and the last block. The default run draws some mutants; ``-m nightly -s`` takes all.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from mutant_sweep import Counts, Prover, sweep
from ptx_mutants import mutants

SHAPES = [((1, 1, 1, "bf16"), "sm_80"), ((1, 1, 1, "f16"), "sm_120"), ((1, 1, 4, "bf16"), "sm_90a")]
_FEW = 80


def swept(kernels: Any, shape: Any, arch: str, most: int | None) -> Counts:
    pack = kernels.Pack(*shape)
    ptx = kernels.compiled(pack.cuda(), arch)
    effect = pack.effect()
    meant = {block: kernels.expected(pack, block) for block in (0, 3, effect.maximum_blocks - 1)}

    def right(text: str) -> bool:
        try:
            return all(kernels.simulate(text, pack, block) == meant[block] for block in meant)
        except (kernels.Wrong, ValueError, KeyError, IndexError):
            return False

    every = list(mutants(ptx, seed=1))
    some = every if most is None else random.Random(5).sample(every, most)
    prover = Prover(lambda _: effect)
    return sweep(prover, right, ptx, some, few=most is not None)


@pytest.mark.parametrize(("shape", "arch"), SHAPES, ids=str)
def test_wrong_mutants_are_refused(kernels: Any, shape: Any, arch: str) -> None:
    counts = swept(kernels, shape, arch, _FEW)
    assert counts.numbers["refused, wrong"] > _FEW // 2
    assert not counts.wrong


@pytest.mark.nightly
@pytest.mark.parametrize(("shape", "arch"), SHAPES, ids=str)
def test_no_mutant_is_accepted_and_wrong(
    kernels: Any, shape: Any, arch: str, capsys: pytest.CaptureFixture[str]
) -> None:
    counts = swept(kernels, shape, arch, None)
    with capsys.disabled():
        print(f"\n{shape} {arch}: {counts}", flush=True)
        for each in counts.wrong:
            print(f"  accepted and wrong: line {each.line}: {each.change}")
    assert not counts.wrong
