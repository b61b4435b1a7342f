"""Claims about PTX: what a file means."""

from __future__ import annotations

import pytest

from claim_texts import BASE, EXAMPLES, TILE, edited, effect_of
from tylo.layouts.atoms import atom
from tylo.layouts.errors import ClaimError, PtxError, TyloError, Undecided
from tylo.layouts.terms import evaluate, show
from tylo.proofs.ptx.claim_check import check_text
from tylo.proofs.ptx.claim_effect import lower
from tylo.proofs.ptx.claim_file import claim_from_text, read_claim
from tylo.proofs.ptx.inprocess import solve


def test_a_masked_copy_lowers_to_guarded_stores() -> None:
    effect = effect_of(BASE)
    assert [store.bits for store in effect.stores] == [32, 32]
    assert [str(*store.where) for store in effect.stores] == [
        "block * 256 + thread * 2 < n",
        "block * 256 + thread * 2 + 1 < n",
    ]
    element = effect.stores[1].element
    assert element is not None
    assert show(element.thread) == "column / 2 % 128"
    assert effect.arguments == ("x", "y", "n", "global_scratch", "profile_scratch")
    assert [p.maximum for p in effect.parameters] == [2**31 - 1, 2**64 - 1, 2**64 - 1]


def test_an_ownership_gives_coordinates() -> None:
    effect = effect_of(TILE, (128,))
    (store,) = effect.stores
    table = atom("mma.m16n8k16.bf16").operand("C").ownership
    for thread in range(32):
        for value, part in enumerate(store.parts):
            row, column = table.coordinates(thread, value)
            found = evaluate(part.offset, {"thread": thread, "block": 3})
            assert found == 4 * (3 * 128 + row * 8 + column)


def test_an_ownership_may_be_tiled_over_warps() -> None:
    tiled = '{ atom = "mma.m16n8k16.bf16", operand = "C", n = 2, warps_m = 2 }'
    text = edited(
        TILE,
        ('"mma.m16n8k16.bf16 C" # m and n are row and column of value', tiled),
        ("threads = 32", "threads = 64"),
        ("block * 128 + lane * 4 + value", "block * 512 + thread * 8 + value"),
        ("block * 128 + m * 8 + n", "block * 512 + m * 16 + n"),
    )
    effect = effect_of(text)
    assert len(effect.stores) == 8
    for thread in (0, 37, 63):
        offsets = [
            evaluate(s.parts[0].offset, {"thread": thread, "block": 0}) for s in effect.stores
        ]
        rows = [offset // 4 // 16 for offset in offsets]
        # Rows of the lane's quad, in the half of its warp; the second atom repeats them.
        first = thread % 32 // 4 + 16 * (thread // 32)
        assert rows == [first, first, first + 8, first + 8] * 2


def test_values_are_written_together_only_where_that_is_proven() -> None:
    text = (EXAMPLES / "masked_vectors.toml").read_text()
    assert [store.bits for store in effect_of(text, (128,)).stores] == [128, 128]
    any_size = edited(text, ('"n % 16 == 0", # what Triton was told', ""))
    assert [store.bits for store in effect_of(any_size, (128,)).stores] == [32] * 8
    assert [store.bits for store in effect_of(text, (64, 32)).stores] == [64] * 4
    assert len(lower(claim_from_text(text, "c"), (128,)).effect.stores) == 8
    apart = edited(BASE, ("thread * 2 + value", "thread + value * 128"))
    assert [store.bits for store in effect_of(apart, (64,)).stores] == [32, 32]
    element = effect_of(apart).stores[1].element
    assert element is not None
    assert show(element.thread) == "column % 256 % 128"


def test_a_matrix_has_rows_and_a_writer() -> None:
    text = edited(
        BASE,
        ('[buffer.y]\ndirection = "out"\nelement = "f32"\nelements = "n"\n',
         '[buffer.y]\ndirection = "out"\nelement = "f32"\nelements = "n"\n'
         'written = { rows = "n / 64", columns = 64, stride = 64 }\n'),
        ('into = "y[offset]"', 'into = "y[block * 4 + warp, lane * 2 + value]"'),
        ('where = "offset < n"', 'where = "block * 4 + warp < n / 64"\n'
         '[store.writer]\nblock = "row / 4"\nthread = "row % 4 * 32 + column / 2"'),
    )  # fmt: skip
    store = effect_of(text).stores[1]
    assert show(store.offset) == "((block * 4 + thread / 32) * 64 + thread % 32 * 2 + 1) * 4"
    assert store.element is not None
    assert show(store.element.thread) == "row % 4 * 32 + column / 2"


LOOP = """
.version 8.0
.target sm_90
.address_size 64
.entry repeat(.param .u64 x, .param .u64 y, .param .u32 n)
{
    .reg .b32 %r<8>; .reg .b64 %rd<6>; .reg .pred %p<2>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, %ctaid.x;
    mul.wide.u32 %rd3, %r3, %r1;
    shl.b64 %rd3, %rd3, 5;
    cvt.u64.u32 %rd4, %r2;
    add.s64 %rd3, %rd3, %rd4;
    shl.b64 %rd3, %rd3, 2;
    add.s64 %rd1, %rd1, %rd3;
    add.s64 %rd2, %rd2, %rd3;
    mov.u32 %r4, 0;
again:
    ld.global.u32 %r5, [%rd1];
    st.global.u32 [%rd2], %r5;
    add.s64 %rd1, %rd1, 128;
    add.s64 %rd2, %rd2, 128;
    add.u32 %r4, %r4, 1;
    setp.lt.u32 %p1, %r4, %r1;
    @%p1 bra again;
    ret;
}
"""
STEPS = """
schema = "tylo.ptx-claim/1"
entry = "repeat"
threads = 32
blocks = 1024
arguments = ["x", "y", "n"]
[size]
n = { bits = 32, least = 1, most = 1000 }
[buffer]
x = { direction = "in", element = "u32", elements_per_block = "32 * n", alignment = 4 }
y = { direction = "out", element = "u32", elements_per_block = "32 * n", alignment = 4 }
[[store]]
steps = "n"
into = "y[block * (32 * n) + step * 32 + thread]"
from = "x[block * (32 * n) + step * 32 + thread]"
"""


def test_steps_are_those_of_a_loop() -> None:
    claim = claim_from_text(STEPS, "steps.toml")
    assert check_text(LOOP, claim, solve).verdict == "holds"
    shorter = LOOP.replace("setp.lt.u32 %p1, %r4, %r1;", "setp.le.u32 %p1, %r4, %r1;")
    with pytest.raises(TyloError, match="another number of steps"):
        check_text(shorter, claim, solve)


def test_unused_parameters_may_be_read_and_not_followed() -> None:
    ptx = (EXAMPLES / "fragment_order.ptx").read_text()
    claim, old = claim_from_text(TILE, "claim.toml"), "mov.u32 \t%r5, %tid.x;"
    read = f"{old} ld.param.b64 %rd1, [fragment_order_param_2];"
    assert check_text(edited(ptx, (old, read)), claim, solve).verdict == "holds"
    followed = check_text(edited(ptx, (old, f"{read} ld.global.b32 %r1, [%rd1];")), claim, solve)
    assert {v.obligation.label for v in followed.validation.failures} >= {"load 0: bounds"}
    third = ".param .u64 .ptr .global .align 1 fragment_order_param_2"
    for promise in (third.replace("align 1", "align 4"), third.replace(".align 1 ", "")):
        with pytest.raises(PtxError, match="an integer there, of which nothing is known"):
            check_text(edited(ptx, (third, promise)), claim, solve)


def test_assumptions_that_no_launch_satisfies_prove_nothing() -> None:
    text = edited(BASE, ('"n <= blocks * 256" # the grid is large enough', '["n < 5", "n > 7"]'))
    ptx = (EXAMPLES / "masked_copy_wrong.ptx").read_text()
    with pytest.raises(ClaimError, match="no launch satisfies it"):
        check_text(ptx, claim_from_text(text, "claim.toml"), solve)
    with pytest.raises(Undecided, match="whether any launch"):
        check_text(ptx, claim_from_text(text, "claim.toml"), lambda asked: ["unknown"] * len(asked))


def test_the_cuda_example_holds_as_any_compiler_writes_it() -> None:
    from tylo.codegen.nvrtc import compile as compile_cuda

    claim = read_claim(EXAMPLES / "swap_halves.toml")
    source = (EXAMPLES / "swap_halves.cu").read_text()
    for architecture in ("sm_80", "sm_90a"):
        right = compile_cuda(source, architecture, kernels=["swap_halves"]).ptx
        assert check_text(right, claim, solve).verdict == "holds"
        wrong = compile_cuda("#define WRONG\n" + source, architecture, kernels=["swap_halves"]).ptx
        found = check_text(wrong, claim, solve)
        assert found.verdict == "fails"
        assert {v.obligation.label for v in found.validation.failures} == {"store 0: address"}
