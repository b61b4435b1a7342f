"""Loops for any number of steps, branches and predicated memory, proven and refuted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

from tylo.layouts.errors import PtxError
from tylo.layouts.terms import name
from tylo.proofs.effects import Buffer, Effect, Parameter, Part, Store
from tylo.proofs.ptx.inprocess import solve
from tylo.proofs.ptx.machine.launch import Unwritten, launch
from tylo.proofs.ptx.validate import validate

ARCHITECTURES = ("sm_80", "sm_90a", "sm_100a", "sm_120")

# Each block packs `tiles` 16x16 tiles, one after the other.
STREAM = r"""
extern "C" __global__ void __launch_bounds__(32)
stream(const float* __restrict__ x, unsigned* __restrict__ y, unsigned tiles) {
  unsigned lane = threadIdx.x, row = lane / 4, column = lane % 4 * 2;
  const float* source = x + (unsigned long long)blockIdx.x * tiles * 256 + row * 16 + column;
  unsigned* out = y + (unsigned long long)blockIdx.x * tiles * 128 + lane * 4;
  #pragma unroll 1
  for (unsigned t = 0; t < tiles; ++t) {
    #pragma unroll
    for (int w = 0; w < 4; ++w) {
      unsigned word;
      float low = source[8 * (w % 2) * 16 + 8 * (w / 2)];
      float high = source[8 * (w % 2) * 16 + 8 * (w / 2) + 1];
      asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
      out[w] = word;
    }
    source += 256;
    out += 128;
  }
}"""


def stream_effect(minimum: int = 0, maximum: int = 1 << 20, blocks: int = 1 << 20) -> Effect:
    thread, block, step, tiles = (name(n) for n in ("thread", "block", "step", "tiles"))
    stores = []
    for word in range(4):
        row, column = thread // 4 + 8 * (word % 2), thread % 4 * 2 + 8 * (word // 2)
        tile = block * tiles + step
        parts = tuple(
            Part(16, "cvt.rn.bf16.f32", "x", (tile * 256 + row * 16 + column + half) * 4)
            for half in range(2)
        )
        stores.append(Store("y", (tile * 128 + thread * 4 + word) * 4, parts, tiles))
    return Effect(
        "stream",
        32,
        (Buffer("x", "in", 32, tiles * 256, 16), Buffer("y", "out", 32, tiles * 128, 16)),
        tuple(stores),
        blocks,
        (Parameter("tiles", 32, minimum, maximum),),
    )


@cache
def compiled(source: str, entry: str, architecture: str) -> str:
    from tylo.codegen.nvrtc import compile as compile_cuda

    return compile_cuda(source, architecture, kernels=[entry]).ptx


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_stream_of_any_length_holds(architecture: str) -> None:
    ptx = compiled(STREAM, "stream", architecture)
    validation = validate(ptx, stream_effect())
    assert validation.holds, "\n".join(str(v) for v in validation.verdicts if v.verdict != "holds")
    labels = [v.obligation.label for v in validation.verdicts]
    assert sum("closed form" in label for label in labels) >= 2
    for ending in ("first step", "next step", "last step", "the steps fill the block's share"):
        assert any(label.endswith(ending) for label in labels)
    # The machine agrees: whatever the proof accepts computes numpy's result.
    for tiles in (0, 1, 3):
        x = np.random.default_rng(tiles).normal(size=(2 * tiles, 16, 16)).astype(np.float32)
        y = np.zeros(2 * tiles * 128, np.uint32)
        launch(ptx, "stream", 2, 32, [x, Unwritten(y), tiles])
        import ml_dtypes

        halves = x.astype(ml_dtypes.bfloat16).view(np.uint16)
        for tile in range(2 * tiles):
            for lane in range(32):
                for word in range(4):
                    row, column = lane // 4 + 8 * (word % 2), lane % 4 * 2 + 8 * (word // 2)
                    low, high = (int(v) for v in halves[tile, row, column : column + 2])
                    assert y[tile * 128 + lane * 4 + word] == low | high << 16


def changed(ptx: str, pattern: str, new: str) -> str:
    text, count = re.subn(pattern, new, ptx, count=1)
    assert count == 1, pattern
    return text


def quick(scripts: Sequence[str]) -> list[str]:
    """Products of sizes are hard: a tenth of a second each is enough to see that."""
    return solve(scripts, milliseconds=100)


@pytest.mark.parametrize(
    ("pattern", "new", "label"),
    [
        (r"add\.s64(\s+%rd\d+, %rd\d+, )1024;", r"add.s64\g<1>1020;", "part 0"),
        (r"add\.s64(\s+%rd\d+, %rd\d+, )512;", r"add.s64\g<1>516;", "address"),
        (r"setp\.lt\.u32", "setp.le.u32", "refused: another number of steps"),
        (r"setp\.eq\.s32(\s+%p1, %r\d+, )0;", r"setp.eq.s32\g<1>1;", "first step"),
        (r"setp\.eq\.s32(\s+%p1, %r\d+, )0;", r"setp.eq.s32\g<1>1;", "store 0: made"),
        (r"@%p1 bra\s+\$L__BB0_\d;", "", "first step"),
        (r"cvt\.rn\.bf16x2", "cvt.rn.f16x2", "part 0"),
        (r"mul\.wide\.u32(\s+%rd\d+, %r\d+, %r\d+;)", r"mul.wide.s32\g<1>", None),
        (r"(mov\.u32\s+%r\d+, )0;", r"\g<1>1;", "store 0: made"),
    ],
)
def test_a_wrong_stream_is_refused(pattern: str, new: str, label: str | None) -> None:
    ptx = changed(compiled(STREAM, "stream", "sm_90a"), pattern, new)
    if label and label.startswith("refused: "):
        with pytest.raises(PtxError, match=label.removeprefix("refused: ")):
            validate(ptx, stream_effect())
        return
    validation = validate(ptx, stream_effect(), solve=quick)
    labels = [v.obligation.label for v in validation.failures]
    if label is None:
        # Right: a signed product that is the contract's below 2^31. A tenth of a second may be too
        # short to see that, and then nothing is said.
        assert not labels
    else:
        assert any(label in found for found in labels), labels


def test_a_signed_end_is_wrong_for_long_streams_alone() -> None:
    ptx = compiled(STREAM, "stream", "sm_90a").replace("setp.lt.u32", "setp.lt.s32")
    assert validate(ptx, stream_effect(maximum=2**31 - 1, blocks=1)).holds
    failures = validate(ptx, stream_effect(maximum=2**31, blocks=1), solve=quick).failures
    assert [v.obligation.label.split(": ")[1] for v in failures] == ["last step"]


GUARDED = r"""
extern "C" __global__ void guarded(const int* __restrict__ x, int* __restrict__ y, unsigned n) {
  if (n > 3) y[blockIdx.x * 32 + threadIdx.x] = x[blockIdx.x * 32 + threadIdx.x];
}"""


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_branch_that_may_skip_a_store_is_refused(architecture: str) -> None:
    offset = (name("block") * 32 + name("thread")) * 4
    buffers = (Buffer("x", "in", 32, 32, 4), Buffer("y", "out", 32, 32, 4))
    store = Store("y", offset, (Part(32, "move", "x", offset),))
    ptx = compiled(GUARDED, "guarded", architecture)

    def effect(minimum: int) -> Effect:
        size = Parameter("n", 32, minimum, 100)
        return Effect("guarded", 32, buffers, (store,), 1 << 20, (size,))

    assert validate(ptx, effect(4)).holds
    failures = validate(ptx, effect(3)).failures
    assert [v.obligation.label for v in failures] == ["store 0: made"]
    assert "none of them this" in str(failures[0])


CONSTANT = r"""
extern "C" __global__ void constant(const int* __restrict__ x, int* __restrict__ y) {
  #pragma unroll 1
  for (int i = 0; i < 5; ++i) y[(blockIdx.x * 5 + i) * 32 + threadIdx.x]
      = x[(blockIdx.x * 5 + i) * 32 + threadIdx.x];
}"""


def copies(count: int, last: int) -> Effect:
    def offset(index: int) -> Any:
        return ((name("block") * count + index) * 32 + name("thread")) * 4

    stores = tuple(
        Store("y", offset(i), (Part(32, "move", "x", offset(i if i < count - 1 else last)),))
        for i in range(count)
    )
    buffers = (Buffer("x", "in", 32, 32 * count, 4), Buffer("y", "out", 32, 32 * count, 4))
    return Effect("constant", 32, buffers, stores, 1 << 20)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_loop_with_a_constant_end_is_walked(architecture: str) -> None:
    ptx = compiled(CONSTANT, "constant", architecture)
    assert validate(ptx, copies(5, 4)).holds
    assert not validate(ptx, copies(5, 3)).holds
    assert not validate(ptx, copies(4, 3)).holds


BODY = """.version 8.8
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 k_0, .param .u64 k_1)
{
.reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<4>;
ld.param.u64 %rd1, [k_0];
ld.param.u64 %rd2, [k_1];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd3, %r1, 4;
mov.u32 %r2, %ctaid.x;
mul.wide.u32 %rd4, %r2, 128;
add.u64 %rd3, %rd3, %rd4;
add.u64 %rd5, %rd1, %rd3;
add.u64 %rd6, %rd2, %rd3;
setp.lt.u32 %p1, %r1, 16;
"""


@pytest.mark.parametrize(
    ("body", "right"),
    [
        (
            "ld.global.u32 %r5, [%rd5];\n"
            "@%p1 st.global.u32 [%rd6], %r5;\n"
            "@!%p1 st.global.u32 [%rd6], %r5;",
            True,
        ),
        ("ld.global.u32 %r5, [%rd5];\n@%p1 st.global.u32 [%rd6], %r5;", False),
        (
            "@%p1 bra A;\n"
            "ld.global.u32 %r5, [%rd5];\n"
            "bra B;\n"
            "A: ld.global.u32 %r5, [%rd5];\n"
            "B: st.global.u32 [%rd6], %r5;",
            True,
        ),
        (
            "@%p1 bra A;\n"
            "ld.global.u32 %r5, [%rd1];\n"
            "bra B;\n"
            "A: ld.global.u32 %r5, [%rd5];\n"
            "B: st.global.u32 [%rd6], %r5;",
            False,
        ),
        ("ld.global.u32 %r5, [%rd5];\nst.global.u32 [%rd6], %r5;\n@%p1 ret;", True),
        ("@%p1 ret;\nld.global.u32 %r5, [%rd5];\nst.global.u32 [%rd6], %r5;", False),
        # Both predicates are one and the same, so that only two paths are possible.
        (
            "ld.global.u32 %r5, [%rd5];\n"
            "setp.ge.u32 %p2, %r1, 16;\n"
            "not.pred %p3, %p1;\n"
            "@%p1 st.global.u32 [%rd6], %r5;\n"
            "@%p3 st.global.u32 [%rd6], %r5;",
            True,
        ),
    ],
)
def test_paths(body: str, right: bool) -> None:
    offset = (name("block") * 32 + name("thread")) * 4
    buffers = (Buffer("x", "in", 32, 32, 4), Buffer("y", "out", 32, 32, 4))
    effect = Effect("k", 32, buffers, (Store("y", offset, (Part(32, "move", "x", offset),)),))
    ptx = BODY + body + "\nret;\n}\n"
    validation = validate(ptx, effect)
    assert validation.holds == right, "\n".join(map(str, validation.verdicts))
    x = np.arange(64, dtype=np.uint32) * 3
    y = np.zeros(64, np.uint32)
    launch(ptx, "k", 2, 32, [x, y])
    assert np.array_equal(x, y) == right


LOOP = BODY.replace(".param .u64 k_1)", ".param .u64 k_1, .param .u32 k_2)")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "mov.u32 %r3, 0;\n"
            "L: add.u32 %r3, %r3, %r3;\n"
            "add.u32 %r4, %r3, 1;\n"
            "add.u32 %r3, %r3, 1;\n"
            "setp.lt.u32 %p2, %r4, %r8;\n"
            "@%p2 bra L;",
            None,
        ),
        (
            "mov.u32 %r3, 0;\n"
            "L: ld.global.u32 %r5, [%rd5];\n"
            "add.u32 %r3, %r3, 1;\n"
            "setp.lt.u32 %p2, %r5, %r8;\n"
            "@%p2 bra L;",
            "a loop whose end depends on memory",
        ),
        (
            "mov.u32 %r3, 0;\n"
            "L: @%p1 bra M;\n"
            "M: add.u32 %r3, %r3, 1;\n"
            "setp.lt.u32 %p2, %r3, %r8;\n"
            "@%p2 bra L;",
            None,
        ),
        (
            "mov.u32 %r3, 0;\n"
            "L: @%p1 st.global.u32 [%rd6], %r3;\n"
            "add.u32 %r3, %r3, 1;\n"
            "setp.lt.u32 %p2, %r3, %r8;\n"
            "@%p2 bra L;",
            None,
        ),
        (
            "mov.u32 %r3, 0;\n"
            "mov.u32 %r4, 1;\n"
            "L: mul.lo.u32 %r5, %r4, 3;\n"
            "add.u32 %r4, %r5, %r3;\n"
            "add.u32 %r3, %r3, 1;\n"
            "setp.lt.u32 %p2, %r3, %r8;\n"
            "@%p2 bra L;",
            None,
        ),
        (
            "mov.u32 %r3, 0;\n"
            "ld.global.u32 %r4, [%rd5];\n"
            "L: add.u32 %r4, %r4, 1;\n"
            "add.u32 %r3, %r3, 1;\n"
            "setp.lt.u32 %p2, %r3, %r8;\n"
            "@%p2 bra L;",
            None,
        ),
    ],
)
def test_loops_that_are_not_covered(body: str, message: str | None) -> None:
    n, step = name("n"), name("step")
    offset = (name("block") * n * 32 + step * 32 + name("thread")) * 4
    buffers = (Buffer("x", "in", 32, n * 32, 4), Buffer("y", "out", 32, n * 32, 4))
    store = Store("y", offset, (Part(32, "move", "x", offset),), n)
    effect = Effect("k", 32, buffers, (store,), 1000, (Parameter("n", 32, 1, 1000),))
    ptx = LOOP + "ld.param.u32 %r8, [k_2];\n" + body + "\nret;\n}\n"
    if message is None:
        assert not validate(ptx, effect).holds
        return
    with pytest.raises(PtxError) as refusal:
        validate(ptx, effect)
    assert message in str(refusal.value)
    assert "line 1" in str(refusal.value) or "line 2" in str(refusal.value)
