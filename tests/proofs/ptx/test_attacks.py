"""Texts that mean one thing to the assembler and another to a careless reader: none is validated.

Each attack edits the text of a right kernel. What is not PTX that the proof covers is refused with
a `PtxError`, and what is covered but wrong fails: never is it accepted, and never is there another
exception.
"""

from __future__ import annotations

from typing import Any

import pytest

from tylo.layouts.errors import PtxError
from tylo.proofs.ptx.obligations import obligations
from tylo.proofs.ptx.validate import validate

LANE = "mov.u32 \t%r5, %tid.x;"
STORE = "st.global.u32 \t[%rd17+12], %r4;"
POINTER = "cvta.to.global.u64 \t%rd3, %rd2;"
SOURCE = ".param .u64 pack_param_0"
BOUNDS = ".maxntid 32, 1, 1\n"
SIZE = ".address_size 64\n"
TARGET = ".target sm_80\n"
VERSION = ".version 8.8\n"
EVIL = ".visible .entry evil(.param .u64 a) { trap; }\n"


@pytest.fixture
def pack(kernels: Any) -> Any:
    return kernels.Pack()


@pytest.fixture
def ptx(kernels: Any, pack: Any) -> str:
    return str(kernels.compiled(pack.cuda(), "sm_80"))


def edited(ptx: str, old: str, new: str) -> str:
    assert ptx.count(old) == 1, old
    return ptx.replace(old, new)


def test_the_kernel_that_is_attacked_holds(ptx: str, pack: Any) -> None:
    assert validate(ptx, pack.effect(), architecture="sm_80").holds


REFUSED = {
    "a store behind .loc": (STORE, STORE + "\n.loc 1 2 3 st.global.u32 [%rd17], 7;", "'.loc'"),
    "a move behind .loc": (STORE, ".loc 1 2 3\tmov.u32 %r4, 7;\n" + STORE, "'.loc'"),
    "an entry behind .file": (SIZE, SIZE + '.file 1 "a.cu" ' + EVIL, "'.file'"),
    "a store behind .file": (STORE, '.file 1 "a" st.global.u32 [%rd17], 7;\n' + STORE, "'.file'"),
    "a store behind the end of .loc": (
        STORE,
        ".loc 1 2 3, function_name f, inlined_at 1 2 3 st.global.u32 [%rd17], 7;\n" + STORE,
        "'st.global.u32' on the line of '.loc'",
    ),
    "a store as the name of a function": (
        STORE,
        ".loc 1 2 3, function_name st.global.u32 [%rd17], 7;\n" + STORE,
        "unexpected '['",
    ),
    "a fourth number of .loc": (STORE, ".loc 1 2 3 4\n" + STORE, "'4' on the line of '.loc'"),
    "a fourth number on a new line": (STORE, ".loc 1 2 3\n4\n" + STORE, "unexpected '4'"),
    "a negative line": (STORE, ".loc 1 -2 3\n" + STORE, "-2 is not between"),
    "a line before the body": (BOUNDS, ".loc 1 2 3\n" + BOUNDS, "unexpected '.loc'"),
    "a line among parameters": (SOURCE, "\n.loc 1 2 3\n" + SOURCE, "unexpected '.loc'"),
    "a line outside of entries": (SIZE, SIZE + ".loc 1 2 3\n", "unexpected '.loc'"),
    "a file in a body": (STORE, '.file 1 "a"\n' + STORE, "unexpected '.file'"),
    "a section in a body": (STORE, ".section .debug_str { }\n" + STORE, "unexpected '.section'"),
    "a section of instructions": (
        "\tret;\n\n}",
        "\tret;\n}\n.section .debug_str { st.global.u32 [%rd17], 7; }\n",
        "unexpected '['",
    ),
    "a section that is not for debuggers": (
        "\tret;\n\n}",
        "\tret;\n}\n.section .text { .b8 0 }\n",
        "section .text",
    ),
    "a section in a section": (
        "\tret;\n\n}",
        "\tret;\n}\n.section .debug_str { .b8 0 { .b8 1 } }\n",
        "unexpected '{'",
    ),
    "an entry on the line of a section": (
        "\tret;\n\n}",
        "\tret;\n}\n.section .debug_str { } " + EVIL,
        "'.visible' on the line of '.section'",
    ),
    "a section without end": (
        "\tret;\n\n}",
        "\tret;\n}\n.section .debug_str { .b8 0 ",
        "unexpected 'end of text'",
    ),
    "a debugging section": (SIZE, SIZE + ".section .debug_str { .b8 0 }\n", "'.section'"),
    "a vector of one": (LANE, "mov.u32 %r5, {%tid.x};", "the opcode table does not cover"),
    "another pragma": ("\tret;", '.pragma "frequency 7"; ret;', "unexpected '\"frequency 7\"'"),
    "a store behind a carriage return": (
        STORE,
        "// x\rst.global.u32 [%rd17], 3;\n" + STORE,
        "unexpected character '\\r'",
    ),
    "a continued comment": (STORE, "// x\\\n" + STORE, "unexpected character '\\\\'"),
    "a comment in a comment": (STORE, "/* /* */ " + STORE, "unexpected character '/'"),
    "an endless comment": ("\tret;", "/* ret;", "unexpected character '/'"),
    "a null byte": (STORE, "// \0\n" + STORE, "unexpected character '\\x00'"),
    "a form feed": (STORE, "\f" + STORE, "unexpected character '\\x0c'"),
    "a no-break space": (STORE, "\xa0" + STORE, "unexpected character '\\xa0'"),
    "a comment that is not ASCII": (STORE, "// \u202e\n" + STORE, "unexpected character"),
    "a digit that is not ASCII": ("%r5, 5;", "%r5, \u0665;", "unexpected character"),
    "a name that is not ASCII": (STORE, STORE + " \u0416: ", "unexpected character"),
    "a preprocessor line": (STORE, "\n# 1\n" + STORE, "unexpected character '#'"),
    "another %laneid": (LANE, ".reg .b32 %laneid; " + LANE, "'%laneid' is predefined"),
    "another %laneid in a scope": (
        LANE,
        "{ .reg .b32 %laneid; mov.u32 %laneid, 0; mov.u32 %r5, %laneid; }",
        "'%laneid' is predefined",
    ),
    "another %tid.x": (LANE, ".reg .b32 %tid.x; " + LANE, "'%tid.x' is predefined"),
    "another %ctaid": (LANE, ".reg .b32 %ctaid; " + LANE, "'%ctaid' is predefined"),
    "another %pm0": (LANE, ".reg .b32 %pm<2>; " + LANE, "a second register '%pm0'"),
    "a component": (LANE, ".reg .b32 %v.x; " + LANE, "'%v.x' is no name to declare"),
    "another WARP_SZ": (LANE, ".reg .b32 WARP_SZ; " + LANE, "'WARP_SZ' is predefined"),
    "a label WARP_SZ": (LANE, "WARP_SZ: " + LANE, "'WARP_SZ' is predefined"),
    "a parameter WARP_SZ": (SOURCE, ".param .u64 WARP_SZ", "'WARP_SZ' is predefined"),
    "a local address": (POINTER, "cvta.to.local.u64 %rd3, %rd2;", "not in the global space"),
    "a comparison that no type has": (
        LANE,
        ".reg .pred %p<2>; " + LANE + " setp.lo.s32 %p1, %r5, 32; @!%p1 mov.u32 %r5, 3;",
        "the opcode table does not cover",
    ),
    "an order of bits": (
        LANE,
        ".reg .pred %p<2>; " + LANE + " setp.lt.b32 %p1, %r5, 32;",
        "the opcode table does not cover",
    ),
    "a branch said not to part a warp": (
        "\tret;",
        ".reg .pred %p<2>; setp.lt.u32 %p1, %r5, 7; @%p1 bra.uni L; L: ret;",
        "a promise that a warp does not part",
    ),
    "a return said not to part a warp": (
        "\tret;",
        ".reg .pred %p<2>; setp.lt.u32 %p1, %r5, 7; @%p1 ret.uni; ret;",
        "a promise that a warp does not part",
    ),
    "a second entry": (VERSION, VERSION, "a second entry 'evil'"),
    "a variable in memory": (
        LANE,
        ".global .align 4 .b8 z[4]; mov.u64 %rd2, z; " + LANE,
        "variable z in .global",
    ),
    "a variable that is read": (
        LANE,
        ".global .align 4 .b8 z[4]; ld.global.u32 %r1, [z+4]; " + LANE,
        "variable z in .global",
    ),
    "a local variable": (LANE, ".local .b8 z[64]; " + LANE, "variable z in .local"),
    "a huge variable": (LANE, ".shared .b8 z[10000000]; " + LANE, "is not between"),
    "a negative variable": (LANE, ".shared .b8 z[-4]; " + LANE, "-4 is not between"),
    "a function": (SIZE, SIZE + ".func f() { ret; }\n", "unexpected '.func'"),
    "an external entry": (".visible .entry", ".extern .entry", "an external entry"),
    "two linkages": (".visible .entry", ".visible .weak .entry", "unexpected '.weak'"),
    "another target": (TARGET, ".target sm_90\n//.target sm_80\n", "the module is for sm_90"),
    "a feature target": (TARGET, ".target sm_80a\n", "the module is for sm_80a"),
    "two targets": (TARGET, ".target sm_80, debug\n", "the module is for sm_80, debug"),
    "a version to come": (VERSION, ".version 99.9\n", "unknown version 99.9"),
    "an early version": (VERSION, ".version 1.0\n", "unknown version 1.0"),
    "a minor version too many": (VERSION, ".version 8.80\n", "unknown version 8.80"),
    "threads along y": (BOUNDS, ".reqntid 1, 32, 1\n", "limited to 1 x 32 threads"),
    "more threads than there are": (BOUNDS, ".reqntid 64\n", "limited to 64 threads"),
    "bounds beyond the block": (BOUNDS, ".maxntid 64, 1, 1\n", "limited to 64 threads"),
    "four bounds": (BOUNDS, ".maxntid 32, 1, 1, 0\n", "0 is not between"),
    "four positive bounds": (BOUNDS, ".maxntid 32, 1, 1, 1\n", "of 4 numbers"),
    "bounds twice": (BOUNDS, ".maxntid 1, 1, 1\n" + BOUNDS, ".maxntid twice"),
    "a negative bound": (BOUNDS, ".maxntid -32, -1, 1\n", "-32 is not between"),
    "a pointer to shared memory": (SOURCE, ".param .u64 .ptr .shared pack_param_0", ".shared"),
    "a pointer to constants": (SOURCE, ".param .u64 .ptr .const pack_param_0", "points to .const"),
    "a pointer too aligned": (
        SOURCE,
        ".param .u64 .ptr .global .align 32 pack_param_0",
        "aligned to 32; buffer 'source' is aligned to 16",
    ),
    "alignment to three": (
        SOURCE,
        ".param .u64 .ptr .global .align 3 pack_param_0",
        "alignments are powers of two",
    ),
    "alignment twice": (
        SOURCE,
        ".param .u64 .ptr .global .align 4 .align 32 pack_param_0",
        "unexpected '.align'",
    ),
    "a parameter too aligned": (
        SOURCE,
        ".param .align 256 .u64 pack_param_0",
        "pack_param_0 is aligned to 256",
    ),
    "one parameter twice": (SOURCE, ".param .u64 pack_param_1", "a second parameter"),
    "an octal nine": ("%r5, 5;", "%r5, 09;", "unexpected character '0'"),
    "a constant of 65 bits": ("%r5, 5;", "%r5, 18446744073709551621;", "does not fit 64 bits"),
    "a constant without end": ("%r5, 5;", f"%r5, {'9' * 5000};", "a constant of 5000 characters"),
    "an offset of 33 bits": ("[%rd17+12]", "[%rd17+4294967308]", "is not between"),
    "an offset without end": ("[%rd17+12]", f"[%rd17+-0x{'f' * 25}]", "does not fit 64 bits"),
    "deep vectors": (LANE, f"mov.u32 %r5, {'{' * 3000}%r1{'}' * 3000};", "inside a vector"),
    "an empty vector": (LANE, "add.s32 %r5, {}, 1;", "a vector without elements"),
    "an empty vector of results": (LANE, "mov.u32 {}, 1;", "a vector without elements"),
    "many registers": (LANE, ".reg .b32 %z<3000000>; " + LANE, "is not between 1 and"),
    "many registers by and by": (
        LANE,
        ".reg .b32 %y<60000>, %z<60000>; " + LANE,
        "more than 100000 registers",
    ),
    "negative registers": (LANE, ".reg .b32 %z<-1>; " + LANE, "-1 is not between"),
    "a complement of a word": (LANE, LANE + " add.u32 %r5, !%r5, 0;", "only predicates"),
    "a truth table of nine bits": (
        LANE,
        LANE + " lop3.b32 %r5, %r5, %r5, %r5, 0x1F0;",
        "lut must be from 0 to 255",
    ),
    "a negative truth table": (
        LANE,
        LANE + " lop3.b32 %r5, %r5, %r5, %r5, -16;",
        "lut must be from 0 to 255",
    ),
    "a divisor from memory": (
        STORE,
        "div.u32 %r6, %r5, %r4; " + STORE,
        "an operand that depends on memory",
    ),
}


@pytest.mark.parametrize("attack", REFUSED)
def test_what_can_be_read_twice_is_refused(attack: str, ptx: str, pack: Any) -> None:
    old, new, message = REFUSED[attack]
    text = edited(ptx, old, new) + (EVIL if attack == "a second entry" else "")
    with pytest.raises(PtxError) as refusal:
        validate(text, pack.effect(), architecture="sm_80")
    assert message in str(refusal.value)


def test_constants_that_no_instruction_names_stay(ptx: str, pack: Any) -> None:
    text = edited(ptx, SIZE, SIZE + ".global .align 4 .u32 rows = 64;\n")
    assert validate(text, pack.effect(), architecture="sm_80").holds


@pytest.mark.parametrize(
    "guess",
    [
        "cvta.to.shared.u64 %rd3, %rd2; add.s64 %rd3, %rd3, 72057594037927936;",
        "cvta.shared.u64 %rd3, %rd2; sub.s64 %rd3, %rd3, 72057594037927936;",
    ],
)
def test_where_shared_memory_lies_among_generic_addresses_is_not_known(
    guess: str, ptx: str, pack: Any
) -> None:
    validation = validate(edited(ptx, POINTER, guess), pack.effect())
    assert "store 0: bounds" in {v.obligation.label for v in validation.failures}
    # There and back, a pointer of the global space loses its upper half on hardware.
    there_and_back = "cvta.shared.u64 %rd3, %rd2; cvta.to.shared.u64 %rd3, %rd3;"
    validation = validate(edited(ptx, POINTER, there_and_back), pack.effect())
    assert {v.obligation.label for v in validation.failures} == {"specified result"}


def test_the_same_entry_twice_is_refused(ptx: str, pack: Any) -> None:
    again = "\n.visible .entry pack(.param .u64 a, .param .u64 b) { ret; }\n"
    for text in (ptx + again, edited(ptx, ".visible", ".weak") + again):
        with pytest.raises(PtxError, match="a second entry 'pack'"):
            validate(text, pack.effect())


# Each gives the right value if division by zero has the value that SMT-LIB gives it.
UNSPECIFIED = {
    "remainder by zero": "sub.u32 %r6, %r5, %r5; rem.u32 %r5, %r5, %r6;",
    "field from past 255": "mov.u32 %r6, 256; bfe.u32 %r5, %r5, %r6, 8;",
    "field longer than 255": "mov.u32 %r6, 257; bfi.b32 %r5, %r5, %r5, 0, %r6;",
    "quotient by zero": (
        "mov.u32 %r6, 0; div.u32 %r6, %r5, %r6; add.u32 %r5, %r5, %r6; add.u32 %r5, %r5, 1;"
    ),
    "signed remainder by zero": "sub.s32 %r6, %r5, %r5; rem.s32 %r5, %r5, %r6;",
    "zero in one lane": "sub.s32 %r6, %r5, 17; rem.u32 %r6, %r5, %r6;",
    "least by minus one": "div.s32 %r6, 0x80000000, -1; xor.b32 %r6, %r6, 0x80000000;"
    " or.b32 %r5, %r5, %r6;",
    "absolute value of the least": "abs.s32 %r6, 0x80000000; xor.b32 %r6, %r6, 0x80000000;"
    " or.b32 %r5, %r5, %r6;",
}


@pytest.mark.parametrize("attack", UNSPECIFIED)
def test_nothing_is_proven_from_unspecified_results(attack: str, ptx: str, pack: Any) -> None:
    text = edited(ptx, LANE, f"{LANE} {UNSPECIFIED[attack]}")
    failures = validate(text, pack.effect()).failures
    assert [verdict.obligation.label for verdict in failures] == ["specified result"]
    (verdict,) = failures
    assert verdict.failure is not None
    assert verdict.failure.thread == (17 if attack == "zero in one lane" else 0)


def test_the_path_that_divides_by_zero_is_not_ruled_out_by_its_result(ptx: str, pack: Any) -> None:
    divided = "sub.u32 %r6, %r5, %r5; div.u32 %r6, 1, %r6; setp.ne.u32 %p1, %r6, -1; @%p1 ret;"
    text = edited(ptx, LANE, f".reg .pred %p<2>; {LANE} {divided}")
    assert "specified result" in {
        v.obligation.label for v in validate(text, pack.effect()).failures
    }


@pytest.mark.parametrize(
    "specified",
    [
        "add.u32 %r6, %r5, 1; rem.u32 %r6, %r5, %r6;",
        "div.u32 %r6, %r5, 3;",
        "div.s32 %r6, %r5, -1;",
        "abs.s32 %r6, %r5;",
        ".reg .pred %p<2>; setp.ne.u32 %p1, %r5, 0; mov.u32 %r6, 1; @%p1 div.u32 %r6, 64, %r5;",
    ],
)
def test_specified_results_are_proven_specified(specified: str, ptx: str, pack: Any) -> None:
    text = edited(ptx, LANE, f"{LANE} {specified}")
    assert validate(text, pack.effect()).holds


def test_pointers_may_promise_what_the_effect_assumes(ptx: str, pack: Any) -> None:
    for promise in (".ptr", ".ptr .align 16", ".ptr .global .align 1"):
        text = edited(ptx, SOURCE, f".param .u64 {promise} pack_param_0")
        assert validate(text, pack.effect()).holds
    for bounds in (".reqntid 32\n", ".reqntid 32, 1, 1\n", ""):
        assert validate(edited(ptx, BOUNDS, bounds), pack.effect()).holds


def test_line_information_is_passed_over_and_nothing_else(ptx: str, pack: Any) -> None:
    lines = ".loc 1 2 3 // k.cu\n.loc 1 2 3, function_name $L__str+4, inlined_at 1 2 3\n"
    sections = (
        '.file 1 "k.cu", 17, 4\n'
        ".section .debug_str {\n$L__str:\n.b8 107, 0\n.b32 $L__str+1\n.b64 .debug_line\n}\n"
    )
    assert validate(edited(ptx, LANE, lines + LANE) + sections, pack.effect()).holds
    wrong = edited(ptx, LANE, f"{LANE}\n.loc 1 2 3\nxor.b32 %r5, %r5, 1;\n.loc 1 2 3\n")
    assert validate(wrong, pack.effect()).failures
    one = edited(edited(ptx, "[%rd17+12], %r4;", "[ %rd17 + 12 ], { %r4 };"), LANE, LANE)
    assert validate(one, pack.effect()).holds


def test_values_nested_without_end_are_refused(ptx: str, pack: Any) -> None:
    deep = "".join(f"setp.lt.and.u32 %p1, %r5, {index}, %p1; " for index in range(33, 1300))
    chain = f".reg .pred %p<2>; setp.lt.u32 %p1, %r5, 32; {deep} @!%p1 mov.u32 %r5, 3;"
    with pytest.raises(PtxError, match="nested too deeply"):
        validate(edited(ptx, LANE, f"{LANE} {chain}"), pack.effect())


@pytest.mark.parametrize("end", range(0, 2000, 97))
def test_half_a_text_is_refused(end: int, ptx: str, pack: Any) -> None:
    with pytest.raises(PtxError):
        obligations(ptx[:end], pack.effect())
