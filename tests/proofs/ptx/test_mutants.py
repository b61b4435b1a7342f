"""Mutation of every instruction of compiled kernels: nothing wrong may be accepted.

A mutant that validation accepts is run by the simulator, which shares nothing with it; it must
write exactly what the kernel is meant to write, in the first, a middle and the last block.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from tylo.layouts.errors import PtxError
from tylo.proofs.effects import Effect
from tylo.proofs.ptx.inprocess import solve
from tylo.proofs.ptx.obligations import obligations

SWAPS = {
    "add": ("sub", "or", "and", "mul.lo"),
    "sub": ("add",),
    "and": ("or", "xor"),
    "or": ("and", "xor", "add"),
    "xor": ("or", "and"),
    "shl": ("shr",),
    "shr": ("shl",),
    "mul.wide": ("mul.lo", "mul.hi"),
    "bf16x2": ("f16x2",),
    "f16x2": ("bf16x2",),
    "eq": ("ne", "lt", "ge"),
    "u32": ("s32", "u16", "u64"),
    "s32": ("u32", "s64"),
    "b32": ("b16", "b64"),
    "s64": ("u64", "s32"),
    "b64": ("b32",),
    "f32": ("u32", "u16", "f64"),
    "%tid": ("%ctaid", "%ntid"),
    "%ctaid": ("%tid", "%nctaid"),
    "ld.global": ("st.global",),
    "pack_param_0": ("pack_param_1",),
    "pack_param_1": ("pack_param_0",),
}


def edits(line: str, registers: list[str], g: random.Random) -> Iterator[tuple[str, str]]:
    """Every changed version of one instruction line, with the kind of change."""
    for old, news in SWAPS.items():
        for match in re.finditer(rf"(?<!\w){re.escape(old)}(?!\w)", line):
            for new in news:
                yield "opcode", line[: match.start()] + new + line[match.end() :]
    for match in re.finditer(r"%[a-z]+\d+", line):
        kind = re.sub(r"\d", "", match[0])
        same = [r for r in registers if re.sub(r"\d", "", r) == kind and r != match[0]]
        for new in g.sample(same, min(3, len(same))):
            yield "operand", line[: match.start()] + new + line[match.end() :]
    for match in re.finditer(r"(?<=[\s+])-?\d+(?=[;\]])", line):
        value = int(match[0])
        for new_value in {value + 1, value - 1, value + 4, value - 4, 2 * value, -value, 0} - {
            value
        }:
            yield "constant", line[: match.start()] + str(new_value) + line[match.end() :]
    if "[" in line and "+" not in line and "param" not in line:
        for offset in (4, -4, 2, 128):
            yield "constant", line.replace("]", f"+{offset}]")
    head, _, tail = line.strip().rstrip(";").partition(" ")
    parts = [part.strip() for part in tail.split(",")]
    if len(parts) == 3:
        yield "order", f"{head} {parts[0]}, {parts[2]}, {parts[1]};"
    yield "predicate", f"@%p1 {line.strip()}"
    yield "deletion", ""
    yield "repetition", f"{line}\n{line}"


def mutants(ptx: str, seed: int) -> Iterator[tuple[str, str]]:
    g = random.Random(seed)
    lines = ptx.splitlines()
    first = lines.index("{") + 1
    registers = sorted(set(re.findall(r"%[a-z]+\d+", "\n".join(lines[first:]))))
    body = [
        i
        for i in range(first, len(lines))
        if re.match(r"\s*[a-z]", lines[i]) and "//" not in lines[i]
    ]
    for i in body:
        for kind, text in edits(lines[i], registers, g):
            yield kind, "\n".join([*lines[:i], text, *lines[i + 1 :]])
    for i, j in pairwise(body):
        moved = list(lines)
        moved[i], moved[j] = moved[j], moved[i]
        yield "exchange", "\n".join(moved)


def accepted(ptx: str, effect: Effect) -> bool:
    try:
        stated = obligations(ptx, effect)
    except PtxError:
        return False
    if any(obligation.settled == "fails" for obligation in stated):
        return False
    scripts = list(dict.fromkeys(o.script for o in stated if not o.settled))
    return all(solve([script]) == ["holds"] for script in scripts)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "arch"),
    [((1, 1, 1, "bf16"), "sm_80"), ((1, 1, 1, "f16"), "sm_120"), ((1, 1, 4, "bf16"), "sm_90a")],
    ids=str,
)
def test_no_wrong_mutant_survives(
    kernels: Any, shape: Any, arch: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pack = kernels.Pack(*shape)
    ptx = kernels.compiled(pack.cuda(), arch)
    effect = pack.effect()
    blocks = (0, 3, effect.maximum_blocks - 1)
    meant = {block: kernels.expected(pack, block) for block in blocks}
    counts: Counter[str] = Counter()
    wrong = []
    for kind, text in mutants(ptx, seed=1):
        verdict = accepted(text, effect)
        try:
            right = all(kernels.simulate(text, pack, block) == meant[block] for block in blocks)
        except (kernels.Wrong, ValueError, KeyError, IndexError):
            right = False
        counts[kind] += 1
        counts["accepted" if verdict else "refused"] += 1
        counts["refused although the simulator sees no difference"] += right and not verdict
        if verdict and not right:
            wrong.append((kind, text))
    with capsys.disabled():
        total = counts["accepted"] + counts["refused"]
        print(f"\n{shape} {arch}: {total} mutants, {len(wrong)} wrong survivors, {dict(counts)}")
        for kind, text in wrong[:5]:
            changed = [n for n in text.splitlines() if n not in ptx.splitlines()]
            print("  wrong survivor:", kind, changed)
    assert counts["refused"] > 300
    assert counts["accepted"] > 5
    assert not wrong
