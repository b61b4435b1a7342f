"""Validation accepts right kernels on every architecture and names the lane of wrong ones."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tylo.layouts.errors import ClaimError, PtxError
from tylo.layouts.terms import name
from tylo.proofs.effects import Buffer, Part, Store
from tylo.proofs.ptx.inprocess import solve
from tylo.proofs.ptx.obligations import obligations
from tylo.proofs.ptx.validate import validate

SHAPES = [
    (1, 1, 1, "bf16"),
    (1, 1, 1, "f16"),
    (2, 1, 1, "bf16"),
    (1, 2, 4, "bf16"),
    (2, 2, 4, "f16"),
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_right_kernels_hold(kernels: Any, shape: Any, architecture: str) -> None:
    pack = kernels.Pack(*shape)
    ptx = kernels.compiled(pack.cuda(), architecture)
    for block in (0, 3, 2**31 - 2):
        assert kernels.simulate(ptx, pack, block) == kernels.expected(pack, block)
    validation = validate(ptx, pack.effect())
    assert validation.holds, "\n".join(map(str, validation.verdicts))
    stores = 4 * pack.m * pack.k
    # address, bounds, alignment, two parts, same place in every block; two loads with two each.
    assert len(validation.verdicts) == stores * (6 + 4) + 1
    assert not validation.failures
    assert not validation.undecided


def test_sixty_four_stores_take_little_time(kernels: Any) -> None:
    pack = kernels.Pack(4, 4, 4)
    ptx = kernels.compiled(pack.cuda(), "sm_90a")
    start = time.perf_counter()
    validation = validate(ptx, pack.effect())
    seconds = time.perf_counter() - start
    print(f"{len(validation.verdicts)} obligations in {seconds:.2f} s")
    assert validation.holds
    assert seconds < 10  # about one second; the margin is for a busy machine


def swapped_atoms(m: int, k: int, word: int, low: str, high: str) -> tuple[str, str]:
    here, there = ("+ 0)", "+ 8)") if word < 2 else ("+ 8)", "+ 0)")
    return low.replace(f"column {here}", f"column {there}"), high


def wrong_row(m: int, k: int, word: int, low: str, high: str) -> tuple[str, str]:
    return low.replace("(row + 8)", "(row + 7)"), high


def row_outside(m: int, k: int, word: int, low: str, high: str) -> tuple[str, str]:
    return low.replace("(row + 8)", "(row + 9)") if word == 3 else low, high


def swapped_halves(m: int, k: int, word: int, low: str, high: str) -> tuple[str, str]:
    return high, low


def lane_seventeen(m: int, k: int, word: int, low: str, high: str) -> tuple[str, str]:
    return low.replace("column", "(lane == 17 ? column ^ 2 : column)"), high


def lane_seventeen_value(m: int, k: int, word: int, low: str, high: str) -> tuple[str, str]:
    return (f"(lane == 17 ? {high} : {low})", high) if word == 2 else (low, high)


@pytest.mark.parametrize(
    ("edit", "thread"),
    [
        (swapped_atoms, 0),
        (wrong_row, 0),
        (swapped_halves, 0),
        (lane_seventeen, 17),
        (lane_seventeen_value, 17),
    ],
)
def test_wrong_kernels_fail_and_name_the_lane(
    kernels: Any, edit: Callable[..., Any], thread: int, architecture: str
) -> None:
    pack = kernels.Pack()
    ptx = kernels.compiled(pack.cuda(edit), architecture)
    validation = validate(ptx, pack.effect())
    assert not validation.holds
    for verdict in validation.failures:
        assert verdict.failure is not None
        assert (verdict.failure.thread, verdict.failure.block) == (thread, 0), str(verdict)
        assert verdict.obligation.text.startswith("st.global")
        assert ptx.splitlines()[verdict.obligation.line - 1].split()[0] == "st.global.u32"


def test_a_report_says_what_is_found_and_wanted(kernels: Any) -> None:
    pack = kernels.Pack()
    ptx = kernels.compiled(pack.cuda(lane_seventeen), "sm_90a")
    verdict = validate(ptx, pack.effect()).failures[0]
    # Lane 17 holds row 4, column 2: its first element lies at byte 4 * (4 * 16 + 2).
    assert verdict.obligation.label == "store 0: part 0"
    assert verdict.failure is not None
    assert verdict.failure.lane == 17
    assert verdict.failure.message == "thread 17, block 0: found source+256, wanted source+264"


def test_reading_outside_is_found_at_the_lane_that_does(kernels: Any) -> None:
    ptx = kernels.compiled(kernels.Pack().cuda(row_outside), "sm_120")
    found = {
        v.obligation.label.split(": ")[1]: v.failure.message
        for v in validate(ptx, kernels.Pack().effect()).failures
        if v.failure
    }
    assert found == {
        "part 0": "thread 0, block 0: found source+608, wanted source+544",
        "bounds": "thread 28, block 0: found source+1056, "
        "wanted within the 1024 * blocks bytes of source",
    }


def edited(ptx: str, old: str, new: str) -> str:
    assert ptx.count(old) >= 1, old
    return ptx.replace(old, new)


@pytest.mark.parametrize(
    ("old", "new", "label"),
    [
        ("cvt.rn.bf16x2.f32 \t%r1,", "cvt.rn.f16x2.f32 %r1,", "store 0: part 0"),
        ("[%rd12+12]", "[%rd12+16]", "store 3: address"),
        ("[%rd12+12]", "[%rd12+14]", "store 3: alignment"),
        ("[%rd10+548]", "[%rd10+100000]", "load 7: bounds"),
        ("st.global.u32 \t[%rd12+12], %r4;", "", "store 3: made"),
        ("\tret;", "\tst.global.u32 [%rd12], %r1;\n ret;", "store 0: once"),
        ("\tret;", "\tst.global.u32 [%rd12+256], %r1;\n ret;", "store: address"),
        ("\tret;", "\tld.global.f32 %f1, [%rd12];\n ret;", "load 8: bounds"),
    ],
)
def test_edited_ptx_fails_where_it_was_edited(kernels: Any, old: str, new: str, label: str) -> None:
    pack = kernels.Pack()
    ptx = kernels.compiled(pack.cuda(), "sm_120").replace(".f32 %r", ".f32 \t%r")
    validation = validate(edited(ptx, old, new), pack.effect())
    assert label in [verdict.obligation.label for verdict in validation.failures]


STRAIGHT = """.version 8.8
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 k_0, .param .u64 k_1)
{
    .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<3>; .reg .b16 %h<3>;
    ld.param.u64 %rd1, [k_0];
    ld.param.u64 %rd2, [k_1];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    shl.b32 %r3, %r2, 5;
    add.u32 %r4, %r3, %r1;
    mul.wide.u32 %rd3, %r4, 4;
    add.u64 %rd4, %rd1, %rd3;
    add.u64 %rd5, %rd2, %rd3;
    ld.global.u32 %r5, [%rd4];
    BODY
    st.global.u32 [%rd5], %r5;
    ret;
}
"""
COPY = (
    Buffer("x", "in", 32, 32, 4),
    Buffer("y", "out", 32, 32, 4),
)


def copy_effect(blocks: int = 2**26) -> Any:
    from tylo.proofs.effects import Effect

    offset = (name("block") * 32 + name("thread")) * 4
    return Effect("k", 32, COPY, (Store("y", offset, (Part(32, "move", "x", offset),)),), blocks)


def test_what_depends_on_memory_may_be_so_or_not() -> None:
    read = "setp.eq.u32 %p1, %r5, 0;"
    either = f"{read} mov.u32 %r6, %r5; @%p1 bra M; mov.u32 %r6, %r5; M: mov.u32 %r5, %r6;"
    assert validate(STRAIGHT.replace("BODY", either), copy_effect()).holds
    skipped = STRAIGHT.replace("BODY", read).replace("st.global", "@%p1 st.global")
    (verdict,) = validate(skipped, copy_effect()).failures
    assert verdict.obligation.label == "store 0: made"
    wrong = f"{read} @%p1 bra M; mov.u32 %r5, 7; M:"
    assert [
        v.obligation.label
        for v in validate(STRAIGHT.replace("BODY", wrong), copy_effect()).failures
    ] == ["store 0: part 0"]


def test_wrap_around_is_found_at_the_first_block_that_wraps() -> None:
    ptx = STRAIGHT.replace("BODY", "")
    assert validate(ptx, copy_effect(2**27)).holds
    validation = validate(ptx, copy_effect(2**27 + 1))
    assert [v.obligation.label for v in validation.failures] == [
        "store 0: address",
        "store 0: part 0",
    ]
    failure = validation.failures[0].failure
    assert failure is not None
    assert (failure.thread, failure.block) == (0, 2**27)


def test_moves_through_narrow_pieces_hold() -> None:
    body = "mov.b32 {%h1, %h2}, %r5; mov.b32 %r5, {%h1, %h2};"
    assert validate(STRAIGHT.replace("BODY", body), copy_effect()).holds
    swapped = "mov.b32 {%h1, %h2}, %r5; mov.b32 %r5, {%h2, %h1};"
    validation = validate(STRAIGHT.replace("BODY", swapped), copy_effect())
    assert [v.obligation.label for v in validation.failures] == ["store 0: part 0"]
    permuted = "prmt.b32 %r6, %r5, 0, 0x4321; prmt.b32 %r5, %r6, %r5, 0x2104;"
    assert validate(STRAIGHT.replace("BODY", permuted), copy_effect()).holds


def test_predicated_arithmetic_selects() -> None:
    body = "setp.lt.u32 %p1, %r1, 32; @%p1 mov.u32 %r5, %r5; @!%p1 mov.u32 %r5, %r1;"
    assert validate(STRAIGHT.replace("BODY", body), copy_effect()).holds
    body = "setp.lt.u32 %p1, %r1, 31; @!%p1 mov.u32 %r5, %r1;"
    (verdict,) = validate(STRAIGHT.replace("BODY", body), copy_effect()).failures
    assert verdict.failure is not None
    assert verdict.failure.thread == 31


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("bra L;", "`bra L`: a branch to a label that does not exist"),
        ("@%p1 ret;", "%p1 is read before it is written"),
        ("L: setp.lt.u32 %p1, %r1, 3; @%p1 bra L;", "a loop whose number of steps is not constant"),
        ("L: bra L;", "too many instructions to walk"),
        ("add.u32 %r6, %r7, 1;", "%r7 is read before it is written"),
        ("add.u32 %r6, %r77, 1;", "unknown register %r77"),
        ("add.u32 %r66, %r5, 1;", "the destination is not a declared register"),
        ("add.u64 %rd6, %r5, 1;", "%r5 has 32 bits, 64 are read"),
        ("add.u32 %rd6, %r5, 1;", "%rd6 has 64 bits, 32 are written"),
        ("add.u32 %r6, %r5, 0x100000000;", "the constant 4294967296 does not fit 32 bits"),
        ("bar.sync 1;", "`bar.sync 1`: a barrier other than"),
        ("bar.red 0;", "the opcode table does not cover this instruction"),
        ("cvt.u64.u32 %rd6, %r5; ld.global.u32 %r6, [%rd6];", "an address that depends on memory"),
        ("ld.global.u32 %r6, [128];", "an address that is not a register"),
        ("ld.param.u64 %rd6, [k_2];", "a parameter that the entry does not declare"),
        ("ld.param.u32 %r6, [k_1];", "part of a parameter"),
        ("@%p1 mov.u32 %r6, 1;", "is read before it is written"),
        ("lop3.b32 %r6, %r5, %r5, %r5, %r5;", "lut must be an integer constant"),
    ],
)
def test_uncovered_ptx_is_refused_with_its_line(body: str, message: str) -> None:
    with pytest.raises(PtxError) as refusal:
        obligations(STRAIGHT.replace("BODY", body), copy_effect())
    assert message in str(refusal.value)
    assert "line 17" in str(refusal.value)


_SOME = "setp.ne.u32 %p1, %r1, 7;"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (", .param .u64 k_1", "", "k has 1 parameters; the effect has 2 buffers"),
        (".param .u64 k_1", ".param .u32 k_1", "parameter k_1 is .u32"),
        (".entry k(", ".entry other(", "no entry 'k'"),
        (")\n{", ")\n.maxntid 16, 1, 1\n{", "k is limited to 16 threads"),
        (")\n{", ")\n.reqntid 64\n{", "k is limited to"),
        ("    ret;\n", "", "has no final `ret`"),
        ("    ret;\n", f"    {_SOME} @%p1 ret;\n", "has no final `ret`"),
        ("    ret;\n", f"    {_SOME} @%p1 bra L;\n    ret;\nL:\n", "has no final `ret`"),
        ("    ret;\n", f"    {_SOME} @%p1 bra L;\n    bra M;\nL: ret;\nM:\n", "no final `ret`"),
    ],
)
def test_signature_and_launch_must_agree(old: str, new: str, message: str) -> None:
    with pytest.raises(PtxError) as refusal:
        obligations(STRAIGHT.replace("BODY", "").replace(old, new), copy_effect())
    assert message in str(refusal.value)


def test_bad_contracts_fail_even_when_the_kernel_agrees() -> None:
    good = copy_effect()
    (store,) = good.stores
    ptx = STRAIGHT.replace("BODY", "")
    larger = replace(good, buffers=(COPY[0], replace(COPY[1], elements_per_block=33)))
    labels = [v.obligation.label for v in validate(ptx, larger).failures]
    assert labels == [
        "y: block 0 writes every byte exactly once",
        "store 0: same place in every block",
    ]
    smaller = replace(good, buffers=(replace(COPY[0], elements_per_block=31), COPY[1]))
    labels = [v.obligation.label for v in validate(ptx, smaller).failures]
    assert labels == ["load 0: bounds"]
    loose = replace(good, buffers=(COPY[0], replace(COPY[1], alignment=2)))
    assert [v.obligation.label for v in validate(ptx, loose).failures] == ["store 0: alignment"]
    twice = replace(good, stores=(store, store))
    assert "y: block 0 writes every byte exactly once" in [
        v.obligation.label for v in validate(ptx, twice).failures
    ]
    with pytest.raises(ClaimError, match="may be -1"):
        validate(ptx, replace(good, stores=(replace(store, offset=(name("thread") - 1) // 2),)))


def test_undecided_is_not_success() -> None:
    validation = validate(
        STRAIGHT.replace("BODY", ""),
        copy_effect(),
        solve=lambda scripts: ["unknown"] * len(scripts),
    )
    assert not validation.holds
    assert not validation.failures
    assert len(validation.undecided) == len(validation.verdicts) - 1


def test_scripts_are_what_solvers_are_asked() -> None:
    stated = obligations(STRAIGHT.replace("BODY", ""), copy_effect())
    asked: list[str] = []

    def record(scripts: Any) -> list[str]:
        asked.extend(scripts)
        return solve(scripts)

    validate(STRAIGHT.replace("BODY", ""), copy_effect(), solve=record)
    assert set(asked) == {o.script for o in stated if not o.settled}
