"""Races in shared memory: two or three accesses to a word, in every relation, ordered or not.

What races is worked out here pair by pair: two accesses race when different lanes make them, one
is more than a read (two atomic updates are one after the other), and nothing between orders them,
a warp's barrier its lanes and the block's all.
"""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from tylo.proofs.ptx.machine.faults import MachineFault
from tylo.proofs.ptx.machine.launch import launch

_HEAD = """.version 8.8
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 k_0)
{
.reg .b32 %r<20>; .reg .b64 %rd<9>;
.shared .align 16 .b8 s[512];
ld.param.u64 %rd1, [k_0];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd2, %r1, 4;
add.u64 %rd3, %rd1, %rd2;
mov.u32 %r3, s;
"""
_ACCESS = {
    "read": "ld.shared.u32 %r6, [%r5];",
    "write": "st.shared.u32 [%r5], %r1;",
    "update": "red.shared.add.u32 [%r5], 1;",
    "copy": "cp.async.ca.shared.global [%r5], [%rd3], 4;",
}
_ORDER = {
    "": "",
    "lanes": "bar.warp.sync -1;",
    "block": "bar.sync 0;",
    "two blocks of it": "bar.sync 1, 64;",
    "lane": "cp.async.wait_all;",
}
_LANES, _BLOCK = ("lanes", "block", "two blocks of it"), ("block", "two blocks of it")


def _raced(text: str, seed: int | None) -> bool:
    x = np.arange(64, dtype=np.uint32)
    try:
        launch(f"{_HEAD}{text}\nret;\n}}", "k", 2, 64, [x], seed=seed)
    except MachineFault as found:
        if found.kind != "race":
            raise
        return True
    return False


def _program(steps: tuple[tuple[str, int] | str, ...]) -> str:
    """Accesses, each to the word of the thread whose number differs in some bits, and barriers."""
    lines = ["shl.b32 %r5, %r1, 2;", "add.u32 %r5, %r3, %r5;", "st.shared.u32 [%r5], %r1;"]
    lines.append("bar.sync 0;")
    for step in steps:
        if isinstance(step, str):
            lines.append(_ORDER[step])
        else:
            kind, other = step
            lines += [f"xor.b32 %r5, %r1, {other};", "shl.b32 %r5, %r5, 2;"]
            lines += ["add.u32 %r5, %r3, %r5;", _ACCESS[kind]]
    return "\n".join(lines)


def _races(steps: tuple[tuple[str, int] | str, ...]) -> bool:
    places = [i for i, step in enumerate(steps) if not isinstance(step, str)]
    for first, second in itertools.combinations(places, 2):
        between = [step for step in steps[first:second] if isinstance(step, str)]
        (kind, one), (other_kind, other) = steps[first], steps[second]
        if kind == "copy" and "lane" not in between:
            return True  # in flight: nothing else may touch the word
        if one == other or {kind, other_kind} in ({"read"}, {"update"}):
            continue
        orders = _LANES if (one ^ other) < 32 else _BLOCK
        # What a copy writes is there once its lane has waited: barriers before do not count.
        waited = between.index("lane") if kind == "copy" else 0
        if not any(each in orders for each in between[waited:]):
            return True
    return False


@pytest.mark.parametrize("first", ["read", "write", "update", "copy"])
@pytest.mark.parametrize("second", ["read", "write", "update", "copy"])
def test_two_accesses(first: str, second: str) -> None:
    seen = set()
    for other, order in itertools.product((0, 1, 32), _ORDER):
        for more in ("", "block"):
            steps = ((first, 0), order, more, (second, other))
            seen.add(_races(steps))
            assert _raced(_program(steps), None) == _races(steps), steps
    # Two reads never race, nor two updates; copies that nobody waits for always do.
    assert len(seen) == (1 if first == second and first in ("read", "update") else 2)


def test_three_accesses() -> None:
    kinds, orders = ("read", "write", "update"), ("", "lanes", "block")
    places = ((0, 1), (1, 0), (1, 1), (1, 2), (32, 0), (32, 32), (1, 33))
    every = [
        ((first, 0), order, (second, other), more, (third, last))
        for first, order, second, more, third in itertools.product(
            kinds, orders, kinds, orders, kinds
        )
        for other, last in places
    ]
    generator = random.Random(3)
    for number, steps in enumerate(generator.sample(list(filter(_races, every)), 100)):
        assert _raced(_program(steps), number if number % 5 == 0 else None), steps
    # What does not race does not after anything else either: many of them in one kernel.
    fine = [steps for steps in every if not _races(steps)]
    generator.shuffle(fine)
    for start in range(0, len(fine), 40):
        several = "\nbar.sync 0;\n".join(map(_program, fine[start : start + 40]))
        assert not _raced(several, None)


def test_words_of_several_sizes() -> None:
    # A vector of two words, and the second of them by another lane.
    wide = "st.shared.v2.u32 [%r5], {%r1, %r1};"
    for half, mask in ((0, 1), (4, 1), (0, 0), (4, 0)):
        text = f"""shl.b32 %r5, %r1, 3; add.u32 %r5, %r3, %r5; {wide}
        BARRIER
        xor.b32 %r5, %r1, {mask}; shl.b32 %r5, %r5, 3; add.u32 %r5, %r3, %r5;
        ld.shared.u32 %r6, [%r5+{half}];"""
        assert _raced(text.replace("BARRIER", ""), None) == (mask == 1)
        assert not _raced(text.replace("BARRIER", "bar.warp.sync -1;"), None)
