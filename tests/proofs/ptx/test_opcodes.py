"""The opcode table against the PTX ISA's own pseudocode, written out bit by bit."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from tylo.layouts.errors import PtxError
from tylo.proofs.ptx.bitvector import BitVectors, evaluate
from tylo.proofs.ptx.machine.arrays import Arrays
from tylo.proofs.ptx.opcodes import OPCODES, find
from tylo.proofs.ptx.parser import parse
from tylo.proofs.ptx.program import Instruction


def signed(value: int, width: int) -> int:
    value %= 1 << width
    return value - (1 << width) if value >> (width - 1) else value


def bits(value: int, width: int) -> list[int]:
    return [value >> index & 1 for index in range(width)]


def number(values: list[int]) -> int:
    return sum(bit << index for index, bit in enumerate(values))


def bfe(width: int, is_signed: bool) -> Callable[..., int]:
    def run(a: int, b: int, c: int) -> int:
        position, length, top = b & 255, c & 255, width - 1
        source = bits(a, width)
        sign = 0 if not is_signed or length == 0 else source[min(position + length - 1, top)]
        return number(
            [
                source[position + i] if i < length and position + i <= top else sign
                for i in range(width)
            ]
        )

    return run


def bfi(width: int) -> Callable[..., int]:
    def run(a: int, b: int, c: int, d: int) -> int:
        position, length = c & 255, d & 255
        result, source = bits(b, width), bits(a, width)
        for i in range(length):
            if i < width and position + i < width:
                result[position + i] = source[i]
        return number(result)

    return run


def prmt(a: int, b: int, c: int) -> int:
    octets = (a | b << 32).to_bytes(8, "little")
    result = []
    for i in range(4):
        selector = c >> 4 * i & 15
        octet = octets[selector & 7]
        result.append((255 if octet & 128 else 0) if selector & 8 else octet)
    return int.from_bytes(bytes(result), "little")


def shift(width: int, left: bool, is_signed: bool) -> Callable[..., int]:
    def run(a: int, b: int) -> int:
        amount = min(b, width)
        if left:
            return (a << amount) % (1 << width)
        return (signed(a, width) if is_signed else a) >> amount

    return run


def toward_zero(a: int, b: int) -> tuple[int, int]:
    quotient = abs(a) // abs(b)
    quotient = quotient if (a < 0) == (b < 0) else -quotient
    return quotient, a - b * quotient


def funnel(left: bool, wrap: bool) -> Callable[..., int]:
    def run(a: int, b: int, c: int) -> int:
        n = c & 31 if wrap else min(c, 32)
        if left:
            return (b << n) | (a >> (32 - n))
        return (b << (32 - n)) | (a >> n)

    return run


def per_width() -> dict[str, tuple[Callable[..., int], tuple[int, ...], int]]:
    """Mnemonic to reference, source widths (negative: never zero), result width."""
    cases: dict[str, tuple[Callable[..., int], tuple[int, ...], int]] = {}
    for kind in "us":
        for w in (16, 32, 64):
            t = f"{kind}{w}"
            value: Callable[[int, int], int] = signed if kind == "s" else (lambda x, _w: x)
            cases[f"add.{t}"] = (lambda a, b: a + b, (w, w), w)
            cases[f"sub.{t}"] = (lambda a, b: a - b, (w, w), w)
            cases[f"mul.lo.{t}"] = (lambda a, b: a * b, (w, w), w)
            cases[f"mul.hi.{t}"] = (
                lambda a, b, w=w, v=value: (v(a, w) * v(b, w)) >> w,
                (w, w),
                w,
            )
            cases[f"mad.lo.{t}"] = (lambda a, b, c: a * b + c, (w, w, w), w)
            cases[f"mad.hi.{t}"] = (
                lambda a, b, c, w=w, v=value: (v(a, w) * v(b, w) >> w) + c,
                (w, w, w),
                w,
            )
            cases[f"min.{t}"] = (lambda a, b, w=w, v=value: min(v(a, w), v(b, w)), (w, w), w)
            cases[f"max.{t}"] = (lambda a, b, w=w, v=value: max(v(a, w), v(b, w)), (w, w), w)
            cases[f"shr.{t}"] = (shift(w, False, kind == "s"), (w, 32), w)
            for name, compare in {
                "eq": lambda a, b: a == b,
                "ne": lambda a, b: a != b,
                "lt": lambda a, b: a < b,
                "le": lambda a, b: a <= b,
                "gt": lambda a, b: a > b,
                "ge": lambda a, b: a >= b,
            }.items():
                cases[f"setp.{name}.{t}"] = (
                    lambda a, b, w=w, v=value, f=compare: int(f(v(a, w), v(b, w))),
                    (w, w),
                    1,
                )
            if kind == "u":
                for name, compare in {
                    "lo": lambda a, b: a < b,
                    "ls": lambda a, b: a <= b,
                    "hi": lambda a, b: a > b,
                    "hs": lambda a, b: a >= b,
                }.items():
                    cases[f"setp.{name}.{t}"] = (lambda a, b, f=compare: int(f(a, b)), (w, w), 1)
            else:
                cases[f"neg.{t}"] = (lambda a: -a, (w,), w)
                cases[f"abs.{t}"] = (lambda a, w=w: abs(signed(a, w)), (w,), w)
            cases[f"div.{t}"] = (
                lambda a, b, w=w, v=value: toward_zero(v(a, w), v(b, w))[0],
                (w, -w),
                w,
            )
            cases[f"rem.{t}"] = (
                lambda a, b, w=w, v=value: toward_zero(v(a, w), v(b, w))[1],
                (w, -w),
                w,
            )
            if w < 64:
                wide = 2 * w
                cases[f"mul.wide.{t}"] = (
                    lambda a, b, w=w, v=value: v(a, w) * v(b, w),
                    (w, w),
                    wide,
                )
                cases[f"mad.wide.{t}"] = (
                    lambda a, b, c, w=w, v=value: v(a, w) * v(b, w) + c,
                    (w, w, wide),
                    wide,
                )
            if w > 16:
                cases[f"bfe.{t}"] = (bfe(w, kind == "s"), (w, 32, 32), w)
            for to in (8, 16, 32, 64):
                for source in (8, 16, 32, 64):
                    cases[f"cvt.u{to}.{kind}{source}"] = (
                        lambda a, s=source, v=value: v(a, s),
                        (source,),
                        to,
                    )
    for w in (16, 32, 64):
        cases[f"and.b{w}"] = (lambda a, b: a & b, (w, w), w)
        cases[f"or.b{w}"] = (lambda a, b: a | b, (w, w), w)
        cases[f"xor.b{w}"] = (lambda a, b: a ^ b, (w, w), w)
        cases[f"not.b{w}"] = (lambda a: ~a, (w,), w)
        cases[f"shl.b{w}"] = (shift(w, True, False), (w, 32), w)
        cases[f"shr.b{w}"] = (shift(w, False, False), (w, 32), w)
        cases[f"selp.b{w}"] = (lambda a, b, c: a if c else b, (w, w, 1), w)
        cases[f"mov.b{w}"] = (lambda a: a, (w,), w)
        if w > 16:
            cases[f"popc.b{w}"] = (lambda a: a.bit_count(), (w,), 32)
            cases[f"clz.b{w}"] = (lambda a, w=w: w - a.bit_length(), (w,), 32)
            cases[f"brev.b{w}"] = (lambda a, w=w: int(f"{a:0{w}b}"[::-1], 2), (w,), w)
            cases[f"bfi.b{w}"] = (bfi(w), (w, w, 32, 32), w)
    for operation, join in {"and": min, "or": max, "xor": lambda x, y: x ^ y}.items():
        cases[f"setp.lt.{operation}.u32"] = (
            lambda a, b, c, j=join: j(int(a < b), c),
            (32, 32, 1),
            1,
        )
    cases["prmt.b32"] = (prmt, (32, 32, 32), 32)
    for left in "lr":
        for mode in ("wrap", "clamp"):
            cases[f"shf.{left}.{mode}.b32"] = (funnel(left == "l", mode == "wrap"), (32,) * 3, 32)
    return cases


CASES = per_width()
INTERESTING = (0, 1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256)


def instruction(text: str) -> Instruction:
    head = ".version 8.0 .target sm_90 .address_size 64 .entry k() {"
    return parse(head + text + "}").entries[0].body[0]


@pytest.mark.parametrize("mnemonic", CASES)
def test_semantics(mnemonic: str) -> None:
    reference, widths, result = CASES[mnemonic]
    form = find(OPCODES, instruction(f"{mnemonic} {', '.join(['%a'] * (len(widths) + 1))};"))
    domain, arrays = BitVectors(), Arrays()
    sizes = [abs(width) for width in widths]
    variables = [domain.variable(f"v{i}", size) for i, size in enumerate(sizes)]
    assert form.opcode.semantics is not None
    symbolic = form.opcode.semantics(domain, form, *variables)
    assert symbolic.width == result
    generator = random.Random(mnemonic)
    rows = [
        [
            generator.choice(
                (
                    generator.getrandbits(size),
                    generator.choice(INTERESTING) % (1 << size),
                    -generator.choice(INTERESTING) % (1 << size),
                )
            )
            or int(width < 0)
            for width, size in zip(widths, sizes, strict=True)
        ]
        for _ in range(120)
    ]
    wanted = [reference(*row) % (1 << result) for row in rows]
    for row, value in zip(rows, wanted, strict=True):
        assert evaluate([symbolic], {f"v{i}": v for i, v in enumerate(row)}) == [value], row
        constants = [domain.constant(v, size) for v, size in zip(row, sizes, strict=True)]
        assert form.opcode.semantics(domain, form, *constants).value == value, row
    columns = [np.array(column, dtype=np.uint64) for column in zip(*rows, strict=True)]
    assert form.opcode.semantics(arrays, form, *columns).tolist() == wanted


@pytest.mark.parametrize("lut", [0x00, 0x80, 0x96, 0xE8, 0xCA, 0xF0, 0xFE, 0xFF])
def test_lop3(lut: int) -> None:
    form = find(OPCODES, instruction(f"lop3.b32 %a, %b, %c, %d, {lut};"))
    domain = BitVectors()
    generator = random.Random(lut)
    for _ in range(50):
        a, b, c = (generator.getrandbits(32) for _ in range(3))
        rows = zip(*(bits(value, 32) for value in (a, b, c)), strict=True)
        wanted = number([lut >> (4 * x + 2 * y + z) & 1 for x, y, z in rows])
        assert form.opcode.semantics is not None
        value = form.opcode.semantics(
            domain, form, *(domain.constant(v, 32) for v in (a, b, c)), lut
        )
        assert value.value == wanted


def test_every_entry_names_its_section_and_has_one_meaning() -> None:
    for opcode in OPCODES:
        assert opcode.section.startswith("9.7.")
        assert (opcode.semantics is None) == bool(opcode.action)


@pytest.mark.parametrize(
    "text",
    [
        "add.sat.s32 %a, %b, %c;",
        "add.s8 %a, %b, %c;",
        "add.s32 %a, %b;",
        "cvt.rz.bf16.f32 %a, %b;",
        "cvt.rn.relu.bf16x2.f32 %a, %b, %c;",
        "cvt.rn.bf16x2.f32 %a, %b;",
        "ld.global.v8.f32 %a, [%b];",
        "ld.global.v2.f32 %a, [%b];",
        "ld.global.f32 {%a, %b}, [%c];",
        "ld.global.f32 %a, %b;",
        "frobnicate.b32 %a;",
    ],
)
def test_uncovered_forms_are_refused(text: str) -> None:
    with pytest.raises(PtxError, match=r"line 1, column \d+: `.*`: the opcode table"):
        find(OPCODES, instruction(text))
