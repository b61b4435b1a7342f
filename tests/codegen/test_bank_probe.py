"""The probe's kernels, without a device: what they issue, and the hand counts of its patterns."""

from __future__ import annotations

import re

import pytest

from tylo.codegen.bank_probe import (
    KERNELS,
    LADDER,
    SHARED_BYTES,
    UNROLLED,
    on_ladder,
    paired_patterns,
    patterns,
    source,
)
from tylo.codegen.nvrtc import Compiled, compile, resources
from tylo.layouts.shared import wavefronts

INSTRUCTIONS = {
    "load_2": "ld.shared.u16",
    "load_4": "ld.shared.u32",
    "load_8": "ld.shared.v2.u32",
    "load_16": "ld.shared.v4.u32",
    "matrix_x4": "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
    "store_4": "st.shared.u32",
    "store_8": "st.shared.v2.u32",
    "store_16": "st.shared.v4.u32",
}


@pytest.fixture(scope="module")
def compiled() -> Compiled:
    return compile(source(), "sm_90a", kernels=KERNELS, name="bank_probe.cu")


def test_each_kernel_issues_its_instruction_as_often_as_it_says(compiled: Compiled) -> None:
    assert set(KERNELS) == set(INSTRUCTIONS)
    bodies = re.split(r"\.entry ", compiled.ptx)[1:]
    assert len(bodies) == len(KERNELS)
    for body in bodies:
        kernel = body[: body.index("(")]
        # One word is read after the loop, so that stores are not for nothing.
        turns = body.count(INSTRUCTIONS[kernel]) - (kernel == "load_4")
        assert body.count("ld.shared.u32") >= 1
        assert turns % UNROLLED == 0
        assert turns > 0
    assert not any(each.spills or each.local for each in resources(compiled).values())


def test_counts_are_the_hand_counts() -> None:
    for pattern in (*patterns(), *paired_patterns()):
        assert wavefronts(pattern.access).total == pattern.by_hand, pattern.name
        assert None not in pattern.access.addresses
        reach = max(address or 0 for address in pattern.access.addresses)
        assert reach + pattern.access.bytes_per_lane + 128 * UNROLLED <= SHARED_BYTES
    assert not any(pattern.access.pairs for pattern in patterns())
    assert all(pattern.access.pairs for pattern in paired_patterns())
    names = [pattern.name for pattern in (*patterns(), *paired_patterns())]
    assert len(set(names)) == len(names)


def test_cycles_between_rungs() -> None:
    rungs = [1.2 * ways for ways in LADDER]
    assert on_ladder(3.6, rungs) == pytest.approx(3)
    assert on_ladder(38.4, rungs) == 32
