"""What every computing entry of the opcode table must give, in either reading, as data.

`EXPECTATIONS` has one for each spelling: rows of operands and results, worked out apart. `numbers`
asks the table's semantics over arrays, `terms` over bit-vectors: there, integers are evaluated at
the rows, and a floating-point instruction must be the named function of its operands in order.

>>> from tylo.proofs.ptx.opcodes import OPCODES
>>> each = next(e for e in EXPECTATIONS if e.mnemonic == "shl.b32")
>>> numbers(OPCODES, each), terms(OPCODES, each)
(True, True)
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import float_values
import integer_values
from tylo.proofs.ptx.bitvector import BitVectors, evaluate
from tylo.proofs.ptx.machine.arrays import Arrays
from tylo.proofs.ptx.opcodes import OPCODES, Opcode, find
from tylo.proofs.ptx.parser import parse
from tylo.proofs.ptx.program import TYPES, Instruction

ROWS, TERM_ROWS = 48, 12
_FLOATS = ("f16", "bf16", "f32", "f64")
_HEAD = ".version 8.0 .target sm_90 .address_size 64 .entry k() {"


@dataclass(frozen=True)
class Expectation:
    """An instruction; `shape` says which operands are vectors. Results are lists where several."""

    mnemonic: str
    operands: str
    widths: tuple[int, ...]
    rows: tuple[tuple[int, ...], ...]
    results: tuple[Any, ...]
    # The operand lists that semantics take: how many registers each, zero for a scalar.
    shape: tuple[int, ...] = ()
    constants: tuple[int, ...] = ()
    floating: bool = False

    @property
    def head(self) -> str:
        """By what entries are found."""
        return self.mnemonic.split(".")[0]

    @cached_property
    def instruction(self) -> Instruction:
        """The parsed text."""
        return parse(f"{_HEAD}{self.mnemonic} {self.operands};}}").entries[0].body[0]

    @cached_property
    def columns(self) -> list[Any]:
        """The operands as arrays."""
        return [np.array(column, np.uint64) for column in zip(*self.rows, strict=True)]

    def grouped(self, values: list[Any]) -> list[Any]:
        """Values as the semantics take them."""
        if not self.shape:
            return [*values, *self.constants]
        left = iter(values)
        return [[next(left) for _ in range(n)] if n else next(left) for n in self.shape]


def numbers(table: tuple[Opcode, ...], each: Expectation) -> bool:
    """Whether the table gives the right numbers."""
    form = find(table, each.instruction)
    assert form.opcode.semantics is not None
    found = form.opcode.semantics(Arrays(), form, *each.grouped(each.columns))
    if isinstance(found, list):
        parts = [np.broadcast_to(part, len(each.rows)).tolist() for part in found]
        return list(map(tuple, zip(*parts, strict=True))) == list(each.results)
    got = np.broadcast_to(found, len(each.rows)).tolist()
    if not each.floating:
        return bool(got == list(each.results))
    return all(
        float_values.close(each.mnemonic, ours, right)
        for ours, right in zip(got, each.results, strict=True)
    )


def terms(table: tuple[Opcode, ...], each: Expectation) -> bool:
    """Whether the table gives the right terms."""
    form = find(table, each.instruction)
    assert form.opcode.semantics is not None
    d = BitVectors()
    variables = [d.variable(f"v{i}", width) for i, width in enumerate(each.widths)]
    found = form.opcode.semantics(d, form, *each.grouped(variables))
    if each.floating:
        return found is _named(d, each, variables)
    several = found if isinstance(found, list) else [found]
    if each.mnemonic in integer_values.CASES and not isinstance(found, list):
        result = integer_values.CASES[each.mnemonic][2]
        if found.width != result:
            return False
    for row, result in zip(each.rows[:TERM_ROWS], each.results, strict=False):
        values = evaluate(several, {f"v{i}": value for i, value in enumerate(row)})
        if values != (list(result) if isinstance(result, tuple) else [result]):
            return False
    return True


def _named(d: BitVectors, each: Expectation, variables: list[Any]) -> Any:
    """The function of the mnemonic as written; a comparison's, and what combines with it, apart."""
    combined = re.fullmatch(r"(setp\.\w+)\.(and|or|xor)(\..*)", each.mnemonic)
    if combined:
        joined = {"and": d.bit_and, "or": d.bit_or, "xor": d.bit_xor}[combined[2]]
        return joined(d.function(combined[1] + combined[3], variables[:2], 1), variables[2], 1)
    pair = re.fullmatch(r"cvt\.rn\.(b?f16)x2\.f32", each.mnemonic)
    if pair:
        high, low = (d.function(f"cvt.rn.{pair[1]}.f32", [v], 16) for v in variables)
        return d.concatenate([low, high], [16, 16])
    halves = re.fullmatch(r"max\.NaN\.(b?f16)x2", each.mnemonic)
    if halves:
        singles = [
            [d.function(f"cvt.f32.{halves[1]}", [d.extract(v, low, 16)], 32) for v in variables]
            for low in (0, 16)
        ]
        greater = [d.function("max.NaN.f32", pair, 32) for pair in singles]
        rounded = [d.function(f"cvt.rn.{halves[1]}.f32", [g], 16) for g in greater]
        return d.concatenate(rounded, [16, 16])
    kind = each.mnemonic.split(".")[-2 if each.head == "cvt" else -1]
    return d.function(each.mnemonic, variables, 1 if each.head == "setp" else TYPES[kind])


def _integers() -> list[Expectation]:
    found = []
    for mnemonic, (_, widths, _) in integer_values.CASES.items():
        rows = integer_values.rows_of(mnemonic, ROWS)
        found.append(
            Expectation(
                mnemonic,
                ", ".join(["%a"] * (len(widths) + 1)),
                tuple(abs(width) for width in widths),
                tuple(map(tuple, rows)),
                tuple(integer_values.wanted(mnemonic, rows)),
            )
        )
    return found


def _tables() -> list[Expectation]:
    """`lop3` with every row of its table alone, and with some others."""
    generator = random.Random(0)
    found = []
    for lut in (*(1 << row for row in range(8)), 0x00, 0xFF, 0x96, 0xE8, 0xCA, 0x7F):
        rows = tuple(tuple(generator.getrandbits(32) for _ in range(3)) for _ in range(TERM_ROWS))
        results = tuple(
            sum(
                (lut >> (4 * (a >> i & 1) + 2 * (b >> i & 1) + (c >> i & 1)) & 1) << i
                for i in range(32)
            )
            for a, b, c in rows
        )
        operands = f"%a, %b, %c, %d, {lut}"
        found.append(Expectation("lop3.b32", operands, (32,) * 3, rows, results, constants=(lut,)))
    return found


def _vectors() -> list[Expectation]:
    """Words packed from parts, and taken apart; the first part is the lowest."""
    generator = random.Random(1)
    found = []
    for width in (16, 32, 64):
        for count in (2, 4) if width > 16 else (2,):
            part = width // count
            names = "{" + ", ".join(["%b", "%c", "%d", "%e"][:count]) + "}"
            parts = tuple(
                tuple(generator.getrandbits(part) for _ in range(count)) for _ in range(TERM_ROWS)
            )
            wholes = tuple(sum(p << part * i for i, p in enumerate(row)) for row in parts)
            found += [
                Expectation(
                    f"mov.b{width}", f"%a, {names}", (part,) * count, parts, wholes, shape=(count,)
                ),
                Expectation(
                    f"mov.b{width}", f"{names}, %a", (width,), tuple((w,) for w in wholes), parts
                ),
            ]
    return found


def _addresses() -> list[Expectation]:
    """Generic addresses: where the windows of shared and local memory begin here (PTX ISA 5.1)."""
    rows = ((0,), (16,), (1 << 40,))
    windows = {"global": 0, "shared": 1 << 56, "local": 1 << 57}
    found = []
    for space, window in windows.items():
        generic = tuple((row[0] + window,) for row in rows)
        inside = tuple(row[0] for row in rows)
        found += [
            Expectation(f"cvta.{space}.u64", "%a, %b", (64,), rows, tuple(g[0] for g in generic)),
            Expectation(f"cvta.to.{space}.u64", "%a, %b", (64,), generic, inside),
        ]
    return found


def _spellings(opcode: Opcode) -> list[str]:
    from tylo.proofs.ptx.machine.programs import _mnemonics

    return list(_mnemonics(opcode.syntax.split(" ")[0], opcode.choices))


def _floats() -> list[Expectation]:
    found = []
    for opcode in OPCODES:
        for mnemonic in _spellings(opcode) if opcode.semantics else ():
            form = opcode.match(mnemonic)
            if form is None or opcode.mnemonic in ("mov", "selp", "cvta"):
                continue
            kinds = [form.operand_type(k) for k in opcode.operands if not k.destination]
            if not {*kinds, form.operand_type(opcode.operands[0])} & {*_FLOATS}:
                continue
            widths = [TYPES[kind] for kind in kinds]
            pair = mnemonic.endswith("x2.f32")
            rows = float_values.rows_of(mnemonic, widths, kinds, ROWS // 2)
            single = mnemonic.replace("x2", "")
            results = [
                float_values.result(single, row[1:]) | float_values.result(single, row[:1]) << 16
                if pair
                else float_values.result(mnemonic, row)
                for row in rows
            ]
            found.append(
                Expectation(
                    mnemonic,
                    ", ".join(["%a"] * len(opcode.operands)),
                    tuple(widths),
                    tuple(map(tuple, rows)),
                    tuple(results),
                    floating=True,
                )
            )
    return list({each.mnemonic: each for each in found}.values())


def _halves() -> list[Expectation]:
    """The greater of two halves, NaN where either is, +0 above -0 (PTX ISA 9.7.4.8)."""
    generator = random.Random(2)
    found = []
    for kind in ("f16", "bf16"):
        special = [0, 0x8000, 1, 0x8001, 0x7FFF, 0xFFFF, float_values.NAN[kind] ^ 0x1FF]
        special += [float_values.encoded((sign, "inf"), kind) for sign in (0, 1)]

        def word(special: list[int] = special) -> int:
            halves = [
                generator.choice(special) if generator.random() < 0.6 else generator.getrandbits(16)
                for _ in range(2)
            ]
            return halves[0] | halves[1] << 16

        rows = tuple((word(), word()) for _ in range(ROWS))
        results = tuple(
            _greater(a & 0xFFFF, b & 0xFFFF, kind) | _greater(a >> 16, b >> 16, kind) << 16
            for a, b in rows
        )
        found.append(
            Expectation(f"max.NaN.{kind}x2", "%a, %b, %c", (32, 32), rows, results, floating=True)
        )
    return found


def _greater(a: int, b: int, kind: str) -> int:
    pair = [float_values.decoded(each, kind) for each in (a, b)]
    if any(size == "nan" for _, size in pair):
        return float_values.NAN[kind]

    def order(each: int) -> tuple[float, int]:
        sign, size = float_values.decoded(each, kind)
        number = float("inf") if size == "inf" else float(size)
        return (-number if sign else number), -sign

    return max((a, b), key=order)


EXPECTATIONS = (*_integers(), *_tables(), *_vectors(), *_addresses(), *_floats(), *_halves())
