"""Stores and values that a proof would overlook if it took one thing for another.

Each kernel is one that does more than its claim says, or something else: in a step, a thread or a
launch that is not among those that were looked at first.
"""

from __future__ import annotations

import pytest

from claim_texts import float_claim
from tylo.layouts.errors import PtxError
from tylo.layouts.terms import name
from tylo.proofs.effects import Buffer, Effect, Source, Store, computed
from tylo.proofs.ptx.claim_check import Examined, check_text
from tylo.proofs.ptx.claim_file import claim_from_text
from tylo.proofs.ptx.inprocess import solve
from tylo.proofs.ptx.validate import validate

HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(PARAMETERS)
{
"""
STREAM = (
    float_claim(
        'elements_per_block = "n * 32"', 'elements_per_block = "n * 32"', size=("n", 1, 1000)
    )
    + """\
[[store]]
steps = "n"
into = "y[step * 32 + thread]"
from = "x[step * 32 + thread]"

"""
)
SHARED = (
    float_claim("elements = 4", "elements = 8", threads=8, size=("n", 0, 2**31 - 1))
    + """\
[[store]]
into = "y[thread]"
from = "x[thread % 4]"
[store.writer]
block = 0
thread = "column"

"""
)
EXCHANGED = (
    float_claim("elements_per_block = 64", "elements_per_block = 32")
    + """\
[[store]]
into = "y[thread]"
from = "x[(thread ^ 1) * 2]"

"""
)
NAMED = (
    float_claim("elements = 64", "elements = 64", size=("base0", 0, 0), aligned=8)
    + """\
[[store]]
values = 2
into = "y[thread * 2 + value]"
from = "x[thread * 2 + value]"
[store.writer]
block = 0
thread = "column / 2"

"""
)
DELAYED = """\
 .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .pred %p<6>;
 ld.param.u64 %rd1, [x];
 ld.param.u64 %rd2, [y];
 ld.param.u32 %r1, [n];
 mov.u32 %r2, %tid.x;
 mul.wide.u32 %rd3, %r2, 4;
 add.s64 %rd4, %rd1, %rd3;
 add.s64 %rd5, %rd2, %rd3;
 mov.u32 %r3, 0;
 mov.u32 %r9, 0;
 mov.u32 %r10, 0;
L:
 ld.global.u32 %r5, [%rd4];
 setp.ne.u32 %p2, %r10, 0;
 @%p2 st.global.u32 [%rd2+65536], %r2;
 mov.u32 %r10, %r9;
 add.u32 %r9, %r9, 1;
 st.global.u32 [%rd5], %r5;
 add.s64 %rd4, %rd4, 128;
 add.s64 %rd5, %rd5, 128;
 add.u32 %r3, %r3, 1;
 setp.lt.u32 %p1, %r3, %r1;
 @%p1 bra L;
 ret;
"""
MEMORY_ENDS = """\
 .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .pred %p<6>;
 ld.param.u64 %rd1, [x];
 ld.param.u64 %rd2, [y];
 ld.param.u32 %r1, [n];
 mov.u32 %r2, %tid.x;
 mul.wide.u32 %rd3, %r2, 4;
 add.s64 %rd4, %rd1, %rd3;
 add.s64 %rd5, %rd2, %rd3;
 mov.u32 %r3, 0;
L:
 ld.global.u32 %r5, [%rd4];
 st.global.u32 [%rd5], %r5;
 add.s64 %rd4, %rd4, 128;
 add.s64 %rd5, %rd5, 128;
 add.u32 %r3, %r3, 1;
 setp.lt.u32 %p1, %r3, %r1;
 @%p1 bra L;
 add.s64 %rd6, %rd1, %rd3;
 mov.u32 %r6, 0;
M:
 ld.global.u32 %r7, [%rd6];
 setp.eq.u32 %p2, %r7, 77;
 @%p2 bra A;
 mov.u32 %r8, 0;
 bra B;
A:
 mov.u32 %r8, 1;
B:
 add.s64 %rd6, %rd6, 128;
 add.u32 %r6, %r6, 1;
 setp.lt.u32 %p3, %r6, %r1;
 setp.eq.u32 %p4, %r8, 1;
 and.pred %p3, %p3, %p4;
 @%p3 bra M;
 setp.ne.u32 %p4, %r6, 1;
 setp.ne.u32 %p5, %r6, %r1;
 and.pred %p4, %p4, %p5;
 @%p4 st.global.u32 [%rd2+65536], %r2;
 ret;
"""
CUT_TWICE = """\
 .reg .b32 %r<30>; .reg .b64 %rd<20>; .reg .pred %p<9>;
 ld.param.u64 %rd1, [x];
 ld.param.u64 %rd2, [y];
 ld.param.u32 %r1, [n];
 mov.u32 %r2, %tid.x;
 mul.wide.u32 %rd3, %r2, 4;
 add.s64 %rd4, %rd1, %rd3;
 add.s64 %rd5, %rd2, %rd3;
 mov.u32 %r3, 0;
L:
 ld.global.u32 %r5, [%rd4];
 st.global.u32 [%rd5], %r5;
 add.s64 %rd4, %rd4, 128;
 add.s64 %rd5, %rd5, 128;
 add.u32 %r3, %r3, 1;
 setp.lt.u32 %p1, %r3, %r1;
 @%p1 bra L;

 mov.u32 %r20, 0;
 mov.u32 %r9, 0;
 mov.u32 %r12, 0;
O:
 add.s64 %rd6, %rd1, %rd3;
 mov.u32 %r6, 0;
 setp.eq.u32 %p3, %r5, 5;
M:
 ld.global.u32 %r7, [%rd6];
 xor.b32 %r9, %r9, %r7;
 add.s64 %rd6, %rd6, 128;
 add.u32 %r6, %r6, 1;
 setp.lt.u32 %p3, %r6, %r1;
 @%p3 bra M;
 setp.eq.u32 %p4, %r9, 0;
 @%p4 bra Z;
 setp.ne.u32 %p5, %r20, 0;
 mov.u32 %r13, 1;
 bra Y;
Z:
 mov.u32 %r13, 0;
Y:
 // %r13: whether the xor of all is not zero after this round
 setp.eq.u32 %p6, %r20, 1;
 setp.ne.u32 %p7, %r13, %r12;
 and.pred %p6, %p6, %p7;
 @%p6 st.global.u32 [%rd2+65536], %r2;
 mov.u32 %r12, %r13;
 add.u32 %r20, %r20, 1;
 setp.lt.u32 %p8, %r20, 2;
 @%p8 bra O;
 ret;
"""
NEVER_SAMPLED = """\
 .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .pred %p<4>;
 .shared .align 4 .b8 s[128];
 ld.param.u64 %rd1, [x];
 ld.param.u64 %rd2, [y];
 ld.param.u32 %r1, [n];
 mov.u32 %r2, %tid.x;
 and.b32 %r3, %r2, 3;
 mul.wide.u32 %rd3, %r3, 4;
 add.s64 %rd4, %rd1, %rd3;
 ld.global.u32 %r5, [%rd4];
 mov.u32 %r6, s;
 shl.b32 %r7, %r2, 2;
 add.u32 %r8, %r6, %r7;
 st.shared.u32 [%r8], %r5;
 st.shared.u32 [%r8+32], %r5;
 st.shared.u32 [%r8+64], %r5;
 bar.sync 0;
 mov.u32 %r9, 0x12131200;
 shr.u32 %r10, %r9, %r7;
 and.b32 %r10, %r10, 3;
 shl.b32 %r10, %r10, 5;
 add.u32 %r11, %r8, %r10;
 setp.eq.u32 %p1, %r1, 77777;
 setp.ne.u32 %p2, %r2, 4;
 or.pred %p3, %p1, %p2;
 @%p3 ld.shared.u32 %r5, [%r11];
 mul.wide.u32 %rd5, %r2, 4;
 add.s64 %rd6, %rd2, %rd5;
 st.global.u32 [%rd6], %r5;
 ret;
"""
PARTNER = """\
 .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .pred %p<4>;
 ld.param.u64 %rd1, [x];
 ld.param.u64 %rd2, [y];
 mov.u32 %r2, %tid.x;
 mul.wide.u32 %rd3, %r2, 8;
 add.s64 %rd4, %rd1, %rd3;
 ld.global.u32 %r5, [%rd4];
 ld.global.u32 %r6, [%rd4+4];
 setp.eq.u32 %p1, %r6, 77;
 @%p1 bra A;
 mov.u32 %r7, %r6;
 mov.u32 %r8, %r5;
 bra B;
A:
 mov.u32 %r7, %r5;
 mov.u32 %r8, %r6;
B:
PADDING

 shfl.sync.bfly.b32 %r9, %r7, 1, 31, 0xffffffff;
 xor.b32 %r12, %r2, 1;
 mul.wide.u32 %rd7, %r12, 8;
 add.s64 %rd8, %rd1, %rd7;
 ld.global.u32 %r10, [%rd8];
 @%p1 bra C;
 mov.u32 %r11, %r10;
 bra D;
C:
 mov.u32 %r11, %r9;
D:
 mul.wide.u32 %rd5, %r2, 4;
 add.s64 %rd6, %rd2, %rd5;
 st.global.u32 [%rd6], %r11;
 ret;
"""
PAIR = """\
 .reg .b32 %r<9>; .reg .b64 %rd<20>; .reg .pred %p<3>;
 ld.param.u64 %rd1, [x];
 ld.param.u64 %rd2, [y];
 mov.u32 %r2, %tid.x;
 mul.wide.u32 %rd7, %r2, 8;
 add.s64 %rd8, %rd1, %rd7;
 add.s64 %rd9, %rd2, %rd7;
 ld.global.v2.u32 {%r5, %r6}, [%rd8];
 st.global.v2.u32 [%rd9], {%r5, %r6};
 ret;
"""


def examined(body: str, claim: str) -> Examined:
    parameters = ".param .u64 x, .param .u64 y"
    if '"y"]' not in claim:
        parameters += ", .param .u32 n"
    text = HEAD.replace("PARAMETERS", parameters) + body + "}"
    return check_text(text, claim_from_text(claim, "claim.toml"), solve)


def test_a_register_that_the_first_step_does_not_change() -> None:
    found = examined(DELAYED, STREAM)
    assert {v.obligation.label for v in found.validation.failures} == {"store: address"}
    right = DELAYED.replace("mov.u32 %r10, %r9;", "mov.u32 %r10, 0;")
    assert examined(right, STREAM).verdict == "holds"


def test_what_memory_says_in_one_step_it_does_not_say_in_all() -> None:
    with pytest.raises(PtxError, match="a loop whose end depends on memory"):
        examined(MEMORY_ENDS, STREAM)


def test_a_loop_that_is_cut_twice_carries_other_values() -> None:
    found = examined(CUT_TWICE, STREAM)
    assert {v.obligation.label for v in found.validation.failures} == {"store: address"}


def test_a_thread_that_loads_in_no_sample_launch() -> None:
    found = examined(NEVER_SAMPLED, SHARED)
    assert {v.obligation.label for v in found.validation.failures} == {"shared: written"}
    assert {v.failure.thread for v in found.validation.failures if v.failure} == {4}


@pytest.mark.parametrize("padding", range(24, 34))
def test_what_memory_says_to_one_lane_it_does_not_say_to_another(padding: int) -> None:
    body = PARTNER.replace("PADDING", "bar.warp.sync 0xffffffff;\n" * padding)
    found = examined(body, EXCHANGED)
    assert {v.obligation.label for v in found.validation.failures} == {"store 0: part 0"}


@pytest.mark.parametrize("name", ["base0", "base1", "size1", "shared0"])
def test_a_size_may_be_called_what_a_variable_is(name: str) -> None:
    found = examined(PAIR, NAMED.replace("base0", name))
    assert {v.obligation.label for v in found.validation.failures} == {"load 0: alignment"}


@pytest.mark.parametrize("lane", [0, 31])
def test_a_load_that_was_moved_is_not_under_the_guard_of_another(lane: int) -> None:
    # Lane 0's element goes to all lanes. The last lane alone loads it as well, where it is its own
    # by the effect: what the others have is not theirs.
    thread = name("thread")
    buffers = Buffer("x", "in", 32, 32, 4), Buffer("y", "out", 32, 32, 4)
    own = (31 - thread) * 4
    mirrored = Effect(
        "k",
        32,
        buffers,
        (Store("y", thread * 4, (computed(32, "mirrored", Source("x", own, own + 4)),)),),
        maximum_blocks=1,
    )
    ptx = HEAD.replace("PARAMETERS", ".param .u64 k_param_0, .param .u64 k_param_1").replace(
        "{", ".maxntid 32, 1, 1\n{"
    )
    ptx += f"""
.reg .pred %p<3>;
.reg .b32 %r<9>;
.reg .b64 %rd<9>;
ld.param.u64 %rd1, [k_param_0];
ld.param.u64 %rd2, [k_param_1];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd3, %r1, 4;
add.s64 %rd4, %rd1, %rd3;
add.s64 %rd5, %rd2, %rd3;
ld.global.u32 %r2, [%rd4];
mov.u32 %r4, 0;
setp.eq.u32 %p1, %r1, {31 - lane};
@%p1 ld.global.u32 %r4, [%rd1+{4 * lane}];
shfl.sync.idx.b32 %r3|%p2, %r2, {lane}, 31, 0xffffffff;
st.global.u32 [%rd5], %r3;
ret;
}}
"""
    failed = [verdict.obligation.label for verdict in validate(ptx, mirrored).failures]
    assert failed == ["store 0: origin"]
