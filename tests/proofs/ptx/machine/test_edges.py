"""Where the machine's rules begin and end: counts of barriers, parts of words, ends of memory."""

from __future__ import annotations

import numpy as np
import pytest

from tylo.proofs.ptx.machine.faults import MachineFault
from tylo.proofs.ptx.machine.launch import Unwritten, launch

_HEAD = """.version 8.8
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 k_0)
{
.reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .pred %p<4>;
.shared .align 16 .b8 s[512];
ld.param.u64 %rd1, [k_0];
mov.u32 %r1, %tid.x;
and.b32 %r9, %r1, 31;
shl.b32 %r2, %r1, 2;
mov.u32 %r3, s;
add.u32 %r4, %r3, %r2;
mul.wide.u32 %rd2, %r1, 4;
add.u64 %rd3, %rd1, %rd2;
setp.lt.u32 %p1, %r1, 32;
setp.eq.u32 %p2, %r1, 0;
setp.lt.u32 %p3, %r9, 16;
"""
SEEDS = (None, *range(6))


def run(body: str, threads: int = 64, seed: int | None = None, blocks: int = 1) -> list[int]:
    x = np.full(blocks * threads, 7, np.uint32)
    launch(f"{_HEAD}{body}\nret;\n}}", "k", blocks, threads, [Unwritten(x)], seed=seed)
    return x.tolist()


def fault(body: str, threads: int = 64, seed: int | None = None) -> MachineFault:
    with pytest.raises(MachineFault) as caught:
        run(body, threads, seed)
    return caught.value


@pytest.mark.parametrize("seed", SEEDS)
def test_threads_that_have_left_are_not_waited_for(seed: int | None) -> None:
    # Whether they leave before the others come, or while the others wait.
    assert run("@%p1 ret;\nbar.sync 0;\nst.global.u32 [%rd3], %r1;", seed=seed)[32:] == list(
        range(32, 64)
    )
    later = "@%p1 bra X;\nbar.sync 0;\nst.global.u32 [%rd3], 1;\nret;\nX: mov.u32 %r5, 1;"
    assert run(later, seed=seed) == [7] * 32 + [1] * 32


@pytest.mark.parametrize("seed", SEEDS)
def test_each_block_has_its_own_barriers(seed: int | None) -> None:
    # One block waits for all its threads, however many are there of another.
    found = run("bar.sync 0;\n@%p1 bar.sync 1, 32;\nst.global.u32 [%rd1], 5;", 32, seed, blocks=3)
    assert found[0] == 5


@pytest.mark.parametrize("seed", SEEDS)
def test_how_many_arrive(seed: int | None) -> None:
    one_more = "@%p2 bar.arrive 1, 32;\n@!%p1 bar.sync 1, 32;"
    assert "more arrive" in str(fault(one_more, seed=seed))
    differ = "@%p1 bar.arrive 1, 96;\n@!%p1 bar.arrive 1, 64;"
    assert "threads, not" in str(fault(differ, threads=96, seed=seed))
    # Some arrive and do not wait; those who wait go on when the rest has come.
    assert run("@%p1 bar.arrive 1, 64;\n@!%p1 bar.sync 1, 64;", seed=seed) == [7] * 64
    assert fault("@%p1 bar.sync 1, 64;", seed=seed).kind == "deadlock"


def test_part_of_a_word_is_not_the_word() -> None:
    for narrow in ("st.shared.u16 [%r4], 1;", "st.shared.u8 [%r4+3], 1;"):
        assert fault(f"{narrow}\nld.shared.u32 %r5, [%r4];").kind == "uninitialised"
    both = "st.shared.u16 [%r4], 1;\nst.shared.u16 [%r4+2], 2;"
    assert run(f"{both}\nld.shared.u32 %r5, [%r4];\nst.global.u32 [%rd3], %r5;")[0] == 0x20001


def test_the_lane_that_is_told_is_the_one_that_did_it() -> None:
    found = fault("@!%p2 st.shared.u32 [%r4], 1;\nld.shared.u32 %r5, [%r4];")
    assert (found.kind, found.place.warp, found.place.lane) == ("uninitialised", 0, 0)
    found = fault("@%p1 st.shared.u32 [%r4], 1;\nld.shared.u32 %r5, [%r4];")
    assert (found.kind, found.place.warp, found.place.lane) == ("uninitialised", 1, 0)


_EXCHANGE = """st.shared.u32 [%r4], %r1;
BARRIER
xor.b32 %r5, %r2, OTHER;
add.u32 %r5, %r3, %r5;
ld.shared.u32 %r6, [%r5];
st.global.u32 [%rd3], %r6;"""


@pytest.mark.parametrize("seed", SEEDS)
def test_a_barrier_of_some_lanes_does_not_order_the_others(seed: int | None) -> None:
    halves = "selp.b32 %r7, 0xffff, 0xffff0000, %p3;\nbar.warp.sync %r7;"
    across = _EXCHANGE.replace("BARRIER", halves).replace("OTHER", "64")
    assert fault(across, 32, seed).kind in ("race", "uninitialised")
    # Lanes that have left have nothing to be ordered with.
    left = _EXCHANGE.replace("BARRIER", "bar.warp.sync 0xffff;").replace("OTHER", "4")
    found = run(f"@!%p3 ret;\n{left}", 32, seed)
    assert found[:16] == [lane ^ 1 for lane in range(16)]


def test_who_waits_for_a_lane_goes_on_with_it_alone() -> None:
    # Lane 0 waits for lanes 1 and 2, and lane 1 for nobody; lane 2 waits elsewhere.
    body = """setp.gt.u32 %p3, %r9, 1;
@%p3 bra B;
selp.b32 %r6, 7, 2, %p2;
@%p2 bra S;
st.global.u32 [%rd3], 1;
S: bar.warp.sync %r6;
B: bar.sync 0;"""
    for seed in range(20):
        assert fault(body, 32, seed).kind == "deadlock"
