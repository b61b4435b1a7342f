"""The parser keeps line and column, reads all the PTX in use, and refuses the rest."""

from __future__ import annotations

import pytest

from tylo.layouts.errors import PtxError
from tylo.proofs.ptx.parser import parse
from tylo.proofs.ptx.program import Address, Negated, Number, Pair, Register, Sink, Symbol, Vector

HEAD = ".version 8.8\n.target sm_90a, debug\n.address_size 64\n"


def body(text: str) -> str:
    return HEAD + ".visible .entry k()\n{\n" + text + "\n}\n"


def test_operands_of_every_kind() -> None:
    entry = parse(
        body(
            "@!%p1 bra $L__BB0_2;\n"
            "ld.global.v4.f32 {%f1, _, %f3, %f4}, [%rd1+-16];\n"
            "shfl.sync.idx.b32 %r1|%p1, %r2, 0x1f, 31, -1;\n"
            "setp.eq.and.s32 _|%p2, %r1, 010, !%p1;\n"
            "mov.f32 %f1, 0f3F800000;\n"
            "ld.param.u64 %rd1, [k_param_0+8];\n"
            "st.shared.u32 [64], 0b101;\n"
            "$L__BB0_2:\n"
            "ret;"
        )
    ).entry("k")
    branch, load, shuffle, compare, move, parameter, store, _ = entry.body
    assert branch.guard == Negated(Register("%p1"))
    assert branch.operands == (Symbol("$L__BB0_2"),)
    assert load.operands[0] == Vector((Register("%f1"), Sink(), Register("%f3"), Register("%f4")))
    assert load.operands[1] == Address(Register("%rd1"), -16)
    assert shuffle.operands[0] == Pair(Register("%r1"), Register("%p1"))
    assert shuffle.operands[2:] == (Number(31), Number(31), Number(-1))
    assert compare.operands[0] == Pair(Sink(), Register("%p2"))
    assert compare.operands[2:] == (Number(8), Negated(Register("%p1")))
    assert move.operands[1] == Number(0x3F800000, 32)
    assert parameter.operands[1] == Address(Symbol("k_param_0"), 8)
    assert store.operands == (Address(Number(64), 0), Number(5))
    assert entry.labels == {"$L__BB0_2": 7}
    assert [(i.line, i.column) for i in entry.body[:2]] == [(6, 1), (7, 1)]
    assert load.text == "ld.global.v4.f32 {%f1, _, %f3, %f4}, [%rd1+-16]"


def test_declarations() -> None:
    module = parse(
        HEAD
        + ".extern .shared .align 16 .b8 pool[];\n"
        + "/* two\nlines */ .visible .entry k(.param .align 8 .b8 k_0[24],\n"
        + ".param .u64 .ptr .global .align 16 k_1, .param .f32 k_2)\n"
        + ".reqntid 64 .minnctapersm 2\n{ .reg .b32 %r<3>, %x; .reg .pred %p<2>;\n"
        + '.shared .align 4 .b8 tile[128]; .pragma "nounroll";\nret;\n}'
    )
    entry = module.entries[0]
    assert module.target == ("sm_90a", "debug")
    assert [(v.name, v.alignment, v.size) for v in module.variables] == [("pool", 16, 0)]
    assert [(p.name, p.type, p.size, p.alignment) for p in entry.parameters] == [
        ("k_0", "b8", 24, 8),
        ("k_1", "u64", 8, 8),
        ("k_2", "f32", 4, 4),
    ]
    assert entry.limits == {"reqntid": (64,), "minnctapersm": (2,)}
    assert entry.registers == {
        "%r0": "b32",
        "%r1": "b32",
        "%r2": "b32",
        "%x": "b32",
        "%p0": "pred",
        "%p1": "pred",
    }
    assert [(v.name, v.space, v.size) for v in entry.variables] == [("tile", "shared", 128)]
    assert [p.pointed for p in entry.parameters] == [None, ("global", 16), None]
    assert entry.body[0].line == 11


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (body("add.s32 %r1, %r2 %r3;"), "line 6, column 18: unexpected '%r3'; expected , or ;"),
        (body("add.s32 %r1, #2;"), "line 6, column 14: unexpected character '#'"),
        (body(".reg .b33 %r<2>;"), "line 6, column 6: unknown type '.b33'"),
        (body(".reg .b32 %r<2>;\n.reg .f32 %r1;"), "line 7, column 11: a second register '%r1'"),
        (body("a:\na:\nret;"), "line 7, column 1: a second label 'a'"),
        (body("ret"), "line 7, column 1: unexpected '}'"),
        (HEAD + ".func f() { ret; }", "line 4, column 1: unexpected '.func'; expected .entry"),
        (HEAD + ".visible .entry k() {", "line 4, column 22: unexpected 'end of text'"),
        (".target sm_90", "line 1, column 1: unexpected '.target'; expected .version"),
        (body("ld.u32 %r1, [%rd1+%rd2];"), "line 6, column 19: unexpected '%rd2'"),
    ],
)
def test_refusals_name_line_and_column(text: str, message: str) -> None:
    with pytest.raises(PtxError) as refusal:
        parse(text)
    assert message in str(refusal.value)


def test_unknown_entry_lists_the_known() -> None:
    with pytest.raises(PtxError, match=r"no entry 'x'; the module has k"):
        parse(body("ret;")).entry("x")
