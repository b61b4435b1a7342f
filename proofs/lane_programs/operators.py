"""The operators of lane programs: types, the instruction each one is, and what it means.

One entry for each operator; every reading is a table with the same names, and a test sees that no
reading lacks one. Types are `f32`, `bool` and `b32` (a 32-bit word: two 16-bit halves).

`approximate` marks instructions whose results the PTX ISA leaves open within an error bound; all
others are exact to the bit, NaN payloads aside.

>>> OPERATORS["maximum"].instruction
'max.NaN.f32'
>>> sorted(name for name, each in OPERATORS.items() if each.approximate)
['ex2', 'lg2']

Source: PTX ISA 9.7.3 (floating point), 9.7.6 (comparison and selection), 9.7.9.6 (`shfl.sync`),
9.7.9.21 (`cvt`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

TYPES = ("f32", "bool", "b32")


@dataclass(frozen=True, slots=True)
class Operator:
    """Operand types, result type, the instruction, and a sentence on what it gives."""

    operands: tuple[str, ...]
    result: str
    instruction: str
    meaning: str
    approximate: bool = False


def _arithmetic(count: int, instruction: str, meaning: str) -> Operator:
    return Operator(("f32",) * count, "f32", instruction, meaning)


def _comparison(instruction: str, meaning: str) -> Operator:
    return Operator(("f32", "f32"), "bool", instruction, f"{meaning}; false where either is NaN")


def _halves(dtype: str) -> Operator:
    return Operator(
        ("b32", "b32"),
        "b32",
        f"max.NaN.{dtype}x2",
        "half by half the greater; NaN if either is; +0 above -0",
    )


OPERATORS: Mapping[str, Operator] = MappingProxyType(
    {
        "add": _arithmetic(2, "add.rn.f32", "a + b, rounded to nearest even"),
        "subtract": _arithmetic(2, "sub.rn.f32", "a - b, rounded to nearest even"),
        "multiply": _arithmetic(2, "mul.rn.f32", "a * b, rounded to nearest even"),
        "fma": _arithmetic(3, "fma.rn.f32", "a * b + c, rounded once"),
        "divide": _arithmetic(2, "div.rn.f32", "a / b, rounded to nearest even"),
        "reciprocal": _arithmetic(1, "rcp.rn.f32", "1 / a, rounded to nearest even"),
        "maximum": _arithmetic(2, "max.NaN.f32", "the greater; NaN if either is; +0 above -0"),
        "minimum": _arithmetic(2, "min.NaN.f32", "the lesser; NaN if either is; -0 below +0"),
        "ex2": Operator(
            ("f32",),
            "f32",
            "ex2.approx.ftz.f32",
            "2 to the a; subnormal operands and results become zero",
            approximate=True,
        ),
        "lg2": Operator(
            ("f32",),
            "f32",
            "lg2.approx.ftz.f32",
            "the logarithm of a in base 2; subnormal operands become zero",
            approximate=True,
        ),
        "less": _comparison("setp.lt.f32", "a < b"),
        "equal": _comparison("setp.eq.f32", "a = b"),
        "not": Operator(("bool",), "bool", "not.pred", "not a"),
        "and": Operator(("bool", "bool"), "bool", "and.pred", "a and b"),
        "or": Operator(("bool", "bool"), "bool", "or.pred", "a or b"),
        "select": Operator(("bool", "f32", "f32"), "f32", "selp.f32", "b where a, else c"),
        "shuffle": Operator(
            ("f32",), "f32", "shfl.sync.bfly.b32", "what the lane whose number is xored holds"
        ),
        # As many operands as a lane has rows: all of them are exchanged at once.
        "part": Operator(
            ("f32",), "f32", "ld.shared.f32", "what the warp with that part of the row holds"
        ),
        "low_bf16": Operator(("b32",), "f32", "shl.b32", "the low half, as BF16"),
        "high_bf16": Operator(("b32",), "f32", "and.b32", "the high half, as BF16"),
        "low_f16": Operator(("b32",), "f32", "cvt.f32.f16", "the low half, as FP16"),
        "high_f16": Operator(("b32",), "f32", "cvt.f32.f16", "the high half, as FP16"),
        "maximum_bf16": _halves("bf16"),
        "maximum_f16": _halves("f16"),
        "pack_bf16": Operator(
            ("f32", "f32"), "b32", "cvt.rn.bf16x2.f32", "a (low) and b (high), each rounded to BF16"
        ),
        "pack_f16": Operator(
            ("f32", "f32"), "b32", "cvt.rn.f16x2.f32", "a (low) and b (high), each rounded to FP16"
        ),
    }
)
