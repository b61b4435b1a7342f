"""A seeded fault of every kind is caught, with its line, lane and address."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tylo.layouts.errors import PtxError
from tylo.proofs.ptx.machine.faults import MachineFault
from tylo.proofs.ptx.machine.launch import Unwritten, launch

PtxOf = Callable[[str], str]
SEEDS = range(20)

HEAD = """.version 8.8
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 k_0)
{
.reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .pred %p<4>; .reg .f32 %f<4>;
.shared .align 16 .b8 s[512];
ld.param.u64 %rd1, [k_0];
mov.u32 %r1, %tid.x;
shl.b32 %r2, %r1, 2;
mov.u32 %r3, s;
add.u32 %r4, %r3, %r2;
mul.wide.u32 %rd2, %r1, 4;
add.u64 %rd3, %rd1, %rd2;
"""
FIRST = HEAD.count("\n") + 1  # the line of the body's first instruction


def run(body: str, threads: int = 64, seed: int | None = None, output: bool = False) -> Any:
    x = np.arange(256, dtype=np.uint32)
    launch(HEAD + body + "\nret;\n}\n", "k", 1, threads, [Unwritten(x) if output else x], seed=seed)
    return x


def fault(
    body: str, threads: int = 64, seed: int | None = None, output: bool = False
) -> MachineFault:
    with pytest.raises(MachineFault) as caught:
        run(body, threads, seed, output)
    return caught.value


def at(found: MachineFault, kind: str, line: int, warp: int, lane: int) -> None:
    """The kind and the place; `line` counts from the body's first."""
    place = (found.place.line - FIRST, found.place.block, found.place.warp, found.place.lane)
    assert (found.kind, *place) == (kind, line, 0, warp, lane), str(found)


@pytest.mark.parametrize(
    ("body", "kind", "line", "warp", "lane", "address"),
    [
        ("ld.global.u32 %r5, [%rd3+900];", "bounds", 0, 0, 31, 0x10000000000 + 1024),
        ("ld.global.u32 %r5, [%rd3+-4];", "bounds", 0, 0, 0, 0x10000000000 - 4),
        ("ld.global.v2.u32 {%r5, %r6}, [%rd3];", "alignment", 0, 0, 1, 0x10000000004),
        ("ld.global.u32 %r5, [%rd3+2];", "alignment", 0, 0, 0, 0x10000000002),
        ("st.shared.u32 [%r4+384], %r1;", "bounds", 0, 1, 0, 512),
        ("st.shared.v4.u32 [%r4], {%r1, %r1, %r1, %r1};", "alignment", 0, 0, 1, 4),
        ("ld.shared.u32 %r5, [%r4];", "uninitialised", 0, 0, 0, 0),
        ("st.global.u32 [%rd1], %r1;", "race", 0, 0, 1, 0x10000000000),
        ("st.shared.u32 [s], %r1;", "race", 0, 0, 1, 0),
        ("bar.sync 16;", "barrier", 0, 0, 0, None),
        ("bar.sync 1, 40;", "barrier", 0, 0, 0, None),
        ("bar.sync 1, 96;", "barrier", 0, 0, 0, None),
        ("setp.lt.u32 %p1, %r1, 32;\n@%p1 bar.sync 1, 64;", "deadlock", 1, 0, 0, None),
        (
            "setp.lt.u32 %p1, %r1, 32;\n@%p1 bar.sync 1, 64;\n@!%p1 bar.sync 1, 32;",
            "barrier",
            2,
            1,
            0,
            None,
        ),
        (
            "setp.lt.u32 %p1, %r1, 40;\n@%p1 bra A;\nret;\n"
            "A: shfl.sync.idx.b32 %r5, %r1, 0, 31, -1;",
            "members",
            3,
            1,
            0,
            None,
        ),
        ("shfl.sync.idx.b32 %r5, %r1, 0, 31, 0xfffffffe;", "members", 0, 0, 0, None),
        (
            "and.b32 %r6, %r1, 31;\nsetp.eq.u32 %p1, %r6, 0;\n@%p1 bra A;\n"
            "shfl.sync.idx.b32 %r5, %r1, 0, 31, 0xfffffffe;\nA:",
            "shuffle",
            3,
            0,
            1,
            None,
        ),
        (
            "setp.eq.u32 %p1, %r1, 3;\n@%p1 bra A;\n"
            "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%f0, %f1, %f2, %f3}, {%r1, %r1},"
            " {%r1}, {%f0, %f1, %f2, %f3};\nA: bar.sync 0;",
            "deadlock",
            None,
            0,
            None,
            None,
        ),
    ],
)
def test_fault(
    body: str, kind: str, line: int | None, warp: int | None, lane: int | None, address: int | None
) -> None:
    found = fault(body)
    assert found.kind == kind, str(found)
    assert found.address == address
    if line is not None:
        assert found.place.line - FIRST == line
    if warp is not None:
        assert found.place.warp == warp
    if lane is not None:
        assert found.place.lane == lane


def test_reading_unwritten_global_memory_is_a_fault() -> None:
    at(fault("ld.global.u32 %r5, [%rd3];", output=True), "uninitialised", 0, 0, 0)


EXCHANGE = """st.shared.u32 [%r4], %r1;
BARRIER
xor.b32 %r5, %r2, MASK;
add.u32 %r5, %r3, %r5;
ld.shared.u32 %r6, [%r5];
st.global.u32 [%rd3], %r6;"""


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("barrier", "mask", "right"),
    [
        ("bar.sync 0;", 128, True),  # other warp, block barrier
        ("bar.warp.sync -1;", 128, False),  # other warp, warp barrier
        ("", 128, False),
        ("bar.warp.sync -1;", 4, True),  # other lane, warp barrier
        ("bar.sync 0;", 4, True),
        ("", 4, False),
        ("", 0, True),  # own value
        ("bar.arrive 1, 64;", 128, False),  # arrives and does not wait
        ("bar.sync 1, 64;", 128, True),
    ],
)
def test_exchange_needs_its_barrier(barrier: str, mask: int, right: bool, seed: int) -> None:
    body = EXCHANGE.replace("BARRIER", barrier).replace("MASK", str(mask))
    if right:
        assert run(body, seed=seed)[:64].tolist() == [t ^ mask // 4 for t in range(64)]
    else:
        found = fault(body, seed=seed)
        # Whoever comes second is told: a reader that is too early may find nothing written yet.
        assert found.kind in ("race", "uninitialised")
        assert "shared" in found.place.text


@pytest.mark.parametrize("seed", SEEDS)
def test_reuse_without_a_second_barrier_races(seed: int) -> None:
    again = EXCHANGE.replace("BARRIER", "bar.sync 0;").replace("MASK", "128")
    found = fault(again + "\nst.shared.u32 [%r4], %r6;", seed=seed)
    assert found.kind == "race"
    assert run(again + "\nbar.sync 0;\nst.shared.u32 [%r4], %r6;", seed=seed) is not None


COPY = """mul.wide.u32 %rd4, %r1, 16;
add.u64 %rd4, %rd1, %rd4;
shl.b32 %r5, %r1, 4;
add.u32 %r5, %r3, %r5;
cp.async.cg.shared.global [%r5], [%rd4], 16;
cp.async.commit_group;
WAIT
BARRIER
xor.b32 %r6, %r1, OTHER;
shl.b32 %r6, %r6, 4;
add.u32 %r6, %r3, %r6;
ld.shared.u32 %r7, [%r6];
st.global.u32 [%rd3+512], %r7;"""


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("wait", "barrier", "other", "right"),
    [
        ("cp.async.wait_group 0;", "", 0, True),
        ("cp.async.wait_all;", "", 0, True),
        ("cp.async.wait_group 1;", "", 0, False),
        ("", "", 0, False),
        ("", "bar.sync 0;", 1, False),
        ("cp.async.wait_group 0;", "", 1, False),
        ("cp.async.wait_group 0;", "bar.warp.sync -1;", 1, True),
        ("cp.async.wait_group 0;", "bar.sync 0;", 1, True),
    ],
)
def test_copies_need_wait_and_barrier(
    wait: str, barrier: str, other: int, right: bool, seed: int
) -> None:
    body = COPY.replace("WAIT", wait).replace("BARRIER", barrier).replace("OTHER", str(other))
    if right:
        wanted = [4 * (t ^ other) for t in range(32)]
        assert run(body, threads=32, seed=seed)[128:160].tolist() == wanted
    else:
        assert fault(body, threads=32, seed=seed).kind in ("race", "uninitialised")


@pytest.mark.parametrize(
    ("kernel", "old", "new", "launched"),
    [
        ("block_sum", "bar.sync", "", (3, 128)),
        ("transpose", "bar.sync", "", ((2, 2), (32, 4))),
        ("stages", "bar.sync", "", (1, 128)),
        ("stages", "cp.async.wait_group 2", "cp.async.wait_group 3", (1, 128)),
        ("product", "bar.warp.sync", "", (1, 32)),
        ("hand_over", "bar.sync 2, 64", "", (1, 64)),
        ("hand_over", "bar.arrive 1, 64", "", (1, 64)),
        ("histogram", "bar.sync", "", (2, 64)),
    ],
)
def test_shipped_examples_without_their_barrier(
    ptx_of: PtxOf, kernel: str, old: str, new: str, launched: tuple[Any, Any]
) -> None:
    ptx = ptx_of(kernel)
    words = r"\s+".join(map(re.escape, old.split()))
    pattern = re.compile(rf"^\s*{words}.*;\s*$", re.M)
    assert pattern.search(ptx), ptx
    broken = pattern.sub(f"{new};" if new else "", ptx)
    arguments: dict[str, list[Any]] = {
        "block_sum": [np.ones((3, 1000), np.float32), np.zeros(3, np.float32), 1000],
        "transpose": [np.ones((64, 64), np.float32), np.zeros((64, 64), np.float32), 64],
        "stages": [np.ones((7, 512), np.int32), np.zeros(128, np.int32), 7],
        "product": [np.zeros(256, np.uint16), np.zeros(128, np.uint16), np.zeros(128, np.float32)],
        "hand_over": [np.ones((5, 32), np.int32), np.zeros(32, np.int32), 5],
        "histogram": [(np.arange(1000) * 7).astype(np.uint8), np.zeros(256, np.uint32), 1000],
    }
    # Only a schedule that reaches a fault can show it; these reach theirs every time.
    for seed in range(10):
        with pytest.raises(MachineFault) as caught:
            launch(broken, kernel, *launched, arguments[kernel], seed=seed)
        assert caught.value.kind in ("race", "uninitialised", "deadlock", "barrier")


def test_uncovered_instructions_are_refused_before_anything_runs() -> None:
    with pytest.raises(PtxError, match=r"line 16, .*`bar.red 0`: the opcode table"):
        run("st.global.u32 [%rd1], %r1;\nbar.red 0;")
    with pytest.raises(PtxError, match="reads beyond the parameter"):
        run("ld.param.u64 %rd5, [k_0+4];")
    with pytest.raises(PtxError, match="a branch to a label that does not exist"):
        run("bra NOWHERE;")
    with pytest.raises(PtxError, match="unknown variable t"):
        run("ld.shared.u32 %r5, [t];")
