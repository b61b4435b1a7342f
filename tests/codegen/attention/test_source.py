"""Every member compiles at full speed, and its barrier code is what was explored."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import pytest

from tylo.codegen.attention.choose import Request, choose
from tylo.codegen.attention.member import WORKED, Member
from tylo.codegen.attention.source import source
from tylo.codegen.nvrtc import Compiled, compile, require_full_speed, resources
from tylo.layouts.errors import ClaimError, GenerationError
from tylo.proofs.pipelines.cuda_text import line, read_schedule, step_of
from tylo.proofs.pipelines.explore import explore

CHOSEN = {
    choose(Request(depth, "bf16", length, length, causal=False, mask=mask)).member
    for depth in (64, 128)
    for length in (64, 1024, 4096)
    for mask in (False, True)
}
MEMBERS = (WORKED, *sorted(CHOSEN, key=str))


@cache
def text_of(member: Member) -> str:
    return source(member)


def compiled(member: Member) -> Compiled:
    return compile(text_of(member), "sm_90a", kernels=[member.entry])


def tight(member: Member) -> bool:
    """Whether no chosen member does the same under a mask, which takes more registers."""
    return member.mask or replace(member, mask=True) not in CHOSEN


@pytest.mark.parametrize(
    "member",
    [each if tight(each) else pytest.param(each, marks=pytest.mark.slow) for each in MEMBERS],
    ids=str,
)
def test_compiles_without_spills_or_serialised_products(member: Member) -> None:
    built = compiled(member)
    require_full_speed(built)
    taken = resources(built)[member.entry]
    producer, consumer = member.registers
    pool = taken.registers * member.threads * member.residents
    assert producer * 128 + consumer * 128 * member.groups <= pool // member.residents
    assert pool <= 65536
    used = set(re.findall(r"wgmma\.mma_async\S+", built.ptx))
    assert used == {member.scores.name, member.values.name}
    # Two places start the products of scores and of values each: the first tile, and the rest.
    count = 2 * (member.depth // 16 + member.keys // 16)
    assert built.ptx.count("wgmma.mma_async") == count
    assert "ld.local" not in built.ptx
    assert ".global .align" not in built.ptx


@pytest.mark.parametrize("member", MEMBERS, ids=str)
def test_barrier_code_reads_back_as_the_schedule(member: Member) -> None:
    schedule = member.schedule
    assert read_schedule(text_of(member), member.groups) == schedule
    for program in schedule.programs:
        for _, steps in program.sections():
            for step in steps:
                assert step_of(line(step, {"q": 1, "k": member.stages, "v": member.stages})) == step


SMALL = Member(64, "bf16", 2, 64, 2)
FAULTS = {
    "missing arrive": ("arrive(k_empty, k, who.lane, after_weights);", "", "deadlock"),
    "early release": (
        "await_products<1>();\n                    compute_weights(q, k);\n"
        "                    arrive(k_empty, k, who.lane, after_weights);",
        "arrive(k_empty, k, who.lane, after_weights);\n"
        "await_products<1>();\n                    compute_weights(q, k);",
        "refilled while it is being read",
    ),
    "release before a computation that may read": (
        "compute_weights(q, k);\n                    arrive(k_empty, k, who.lane, after_weights);",
        "arrive(k_empty, k, who.lane, after_weights);\n                    compute_weights(q, k);",
        "slot . of k is read for tile",
    ),
    "wrong parity": ("wait(v_full, v);", "wait_before(v_full, v);", "is read for tile"),
    "one stage fewer": ("advance<2u>(v);", "advance<1u>(v);", "goes through 1 slots"),
    "one stage fewer is made": ("(v_full, 2u", "(v_full, 1u", "are made for"),
    "wrong count": ("make_barriers(k_empty, 2u, 8u)", "make_barriers(k_empty, 2u, 2u)", "."),
    "lost turn": ("named_arrive(next_turn, 256u);", "", "deadlock"),
    "a section lost": ("// consumer last", "// consumer least", "is there 0 times"),
    "not a step": ("await_products<1>();", "await_products<1>(); nothing();", "is no step"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_seeded_in_the_text_are_caught(name: str) -> None:
    old, new, complaint = FAULTS[name]
    text = text_of(SMALL)
    # The last place is the one in the loop, where there are several.
    head, found, tail = text.rpartition(old)
    assert found
    with pytest.raises(ClaimError, match=complaint):
        explore(read_schedule(head + new + tail, SMALL.groups), trips=(5,))


def test_members_that_do_not_exist() -> None:
    with pytest.raises(GenerationError, match="no attention kernel has depth 96"):
        Member(96, "bf16", 2, 64, 4)
    with pytest.raises(GenerationError, match="bytes of shared memory"):
        Member(128, "bf16", 2, 128, 4)
    with pytest.raises(GenerationError, match="groups, residents"):
        Member(64, "bf16", 3, 64, 2, residents=2)
