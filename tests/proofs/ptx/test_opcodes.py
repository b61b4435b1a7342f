"""The opcode table against the PTX ISA's own pseudocode, written out bit by bit."""

from __future__ import annotations

import random

import numpy as np
import pytest

from integer_values import CASES, bits, number, rows_of, wanted
from tylo.layouts.errors import PtxError
from tylo.proofs.ptx.bitvector import BitVectors, evaluate
from tylo.proofs.ptx.machine.arrays import Arrays
from tylo.proofs.ptx.opcodes import OPCODES, find
from tylo.proofs.ptx.parser import parse
from tylo.proofs.ptx.program import Instruction


def instruction(text: str) -> Instruction:
    head = ".version 8.0 .target sm_90 .address_size 64 .entry k() {"
    return parse(head + text + "}").entries[0].body[0]


@pytest.mark.parametrize("mnemonic", CASES)
def test_semantics(mnemonic: str) -> None:
    _, widths, result = CASES[mnemonic]
    form = find(OPCODES, instruction(f"{mnemonic} {', '.join(['%a'] * (len(widths) + 1))};"))
    domain, arrays = BitVectors(), Arrays()
    sizes = [abs(width) for width in widths]
    variables = [domain.variable(f"v{i}", size) for i, size in enumerate(sizes)]
    assert form.opcode.semantics is not None
    symbolic = form.opcode.semantics(domain, form, *variables)
    assert symbolic.width == result
    rows = rows_of(mnemonic, 120)
    values = wanted(mnemonic, rows)
    for row, value in zip(rows, values, strict=True):
        assert evaluate([symbolic], {f"v{i}": v for i, v in enumerate(row)}) == [value], row
        constants = [domain.constant(v, size) for v, size in zip(row, sizes, strict=True)]
        assert form.opcode.semantics(domain, form, *constants).value == value, row
    columns = [np.array(column, dtype=np.uint64) for column in zip(*rows, strict=True)]
    assert form.opcode.semantics(arrays, form, *columns).tolist() == values


@pytest.mark.parametrize("lut", [0x00, 0x80, 0x96, 0xE8, 0xCA, 0xF0, 0xFE, 0xFF])
def test_lop3(lut: int) -> None:
    form = find(OPCODES, instruction(f"lop3.b32 %a, %b, %c, %d, {lut};"))
    domain = BitVectors()
    generator = random.Random(lut)
    for _ in range(50):
        a, b, c = (generator.getrandbits(32) for _ in range(3))
        rows = zip(*(bits(value, 32) for value in (a, b, c)), strict=True)
        expected = number([lut >> (4 * x + 2 * y + z) & 1 for x, y, z in rows])
        assert form.opcode.semantics is not None
        value = form.opcode.semantics(
            domain, form, *(domain.constant(v, 32) for v in (a, b, c)), lut
        )
        assert value.value == expected


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
