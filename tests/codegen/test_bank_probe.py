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
from tylo.layouts.shared import Access, wavefronts

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
        assert pattern.access.instruction == pattern.kernel.split("_")[0]
        assert pattern.access.addresses[0] is not None  # lane 0 reads the clock
        reach = max(address or 0 for address in pattern.access.addresses)
        assert reach + pattern.access.bytes_per_lane + 128 * UNROLLED <= SHARED_BYTES
    assert not any(pattern.access.pairs for pattern in patterns())
    names = [pattern.name for pattern in (*patterns(), *paired_patterns())]
    assert len(set(names)) == len(names)


def unmerged(access: Access) -> int:
    """The count without the rule: a matrix is never merged."""
    return wavefronts(Access(access.addresses, access.bytes_per_lane, "matrix")).total


def test_paired_patterns_tell_the_rule_from_its_neighbours() -> None:
    """Other rules, each written out here, and each wrong on patterns that the rule has right."""
    merging = [p for p in paired_patterns() if p.access.pairs and p.kernel.startswith("load")]
    rest = [p for p in paired_patterns() if p not in merging]
    never = [p for p in merging if unmerged(p.access) != p.by_hand]
    halving = [p for p in merging if unmerged(p.access) / 2 != p.by_hand]
    free_only = [
        p
        for p in merging
        if p.by_hand > {8: 1, 16: 2}[p.access.bytes_per_lane] and unmerged(p.access) != p.by_hand
    ]
    assert len(never) == 18
    assert len(halving) == 8
    assert len(free_only) == 8
    # Few enough words that merging the phases of these, too, would save a wavefront.
    for pattern in rest:
        words = {
            address + byte
            for address in pattern.access.addresses
            if address is not None
            for byte in range(0, pattern.access.bytes_per_lane, 4)
        }
        assert len(words) <= {8: 32, 16: 64}[pattern.access.bytes_per_lane], pattern.name
        assert pattern.by_hand == unmerged(pattern.access)


def test_cycles_between_rungs() -> None:
    rungs = [1.2 * ways for ways in LADDER]
    assert on_ladder(3.6, rungs) == pytest.approx(3)
    assert on_ladder(38.4, rungs) == 32
