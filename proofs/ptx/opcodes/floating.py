"""Floating-point instructions (PTX ISA 9.7.3, 9.7.6.2, 9.7.9.21): named functions of patterns.

The name that a domain receives is the mnemonic as written: rounding, `.ftz` and all. An instruction
without a rounding modifier may be contracted by the assembler (PTX ISA 9.7.3.3), and keeps that
name too.
"""

from __future__ import annotations

from typing import Any

from tylo.proofs.ptx.opcodes.domain import Domain
from tylo.proofs.ptx.opcodes.table import Form, Opcode
from tylo.proofs.ptx.program import TYPES

_TYPES = ("f32", "f64")
_ARITHMETIC = {"rnd": ("rn",), "ftz": ("ftz",), "sat": ("sat",), "type": _TYPES}
_MODE = {"mode": ("approx", "rn"), "ftz": ("ftz",), "type": _TYPES}
_COMPARISONS = (
    *("eq", "ne", "lt", "le", "gt", "ge", "num", "nan"),
    *("equ", "neu", "ltu", "leu", "gtu", "geu"),
)
_INTEGERS = tuple(f"{kind}{width}" for kind in "us" for width in (8, 16, 32, 64))
_TO_INTEGER = ("rni", "rzi", "rmi", "rpi")


def _function(d: Domain[Any], f: Form, *operands: Any) -> Any:
    return d.function(f.mnemonic, list(operands), f.width)


def _compare(d: Domain[Any], f: Form, a: Any, b: Any) -> Any:
    flush = ".ftz" if "ftz" in f.chosen else ""
    return d.function(f"setp.{f.chosen['cmp']}{flush}.{f.type}", [a, b], 1)


def _compare_and_combine(d: Domain[Any], f: Form, a: Any, b: Any, c: Any) -> Any:
    operation = {"and": d.bit_and, "or": d.bit_or, "xor": d.bit_xor}[f.chosen["bool"]]
    return operation(_compare(d, f, a, b), c, 1)


def _convert(d: Domain[Any], f: Form, a: Any) -> Any:
    return d.function(f.mnemonic, [a], TYPES[f.chosen["dtype"]])


FLOATING = (
    Opcode("add{.rnd}{.ftz}{.sat}.type  d, a, b", "9.7.3.3", _ARITHMETIC, _function),
    Opcode("sub{.rnd}{.ftz}{.sat}.type  d, a, b", "9.7.3.4", _ARITHMETIC, _function),
    Opcode("mul{.rnd}{.ftz}{.sat}.type  d, a, b", "9.7.3.5", _ARITHMETIC, _function),
    Opcode("fma.rnd{.ftz}{.sat}.type  d, a, b, c", "9.7.3.6", _ARITHMETIC, _function),
    Opcode(
        "div.mode{.ftz}.type  d, a, b",
        "9.7.3.8",
        {**_MODE, "mode": ("approx", "full", "rn")},
        _function,
    ),
    Opcode("abs{.ftz}.type  d, a", "9.7.3.9", _ARITHMETIC, _function),
    Opcode("neg{.ftz}.type  d, a", "9.7.3.10", _ARITHMETIC, _function),
    Opcode("min{.ftz}{.nan}.type  d, a, b", "9.7.3.11", {**_MODE, "nan": ("NaN",)}, _function),
    Opcode("max{.ftz}{.nan}.type  d, a, b", "9.7.3.12", {**_MODE, "nan": ("NaN",)}, _function),
    Opcode("rcp.mode{.ftz}.type  d, a", "9.7.3.13", _MODE, _function),
    Opcode("sqrt.mode{.ftz}.type  d, a", "9.7.3.15", _MODE, _function),
    Opcode("rsqrt.approx{.ftz}.type  d, a", "9.7.3.16", _MODE, _function),
    Opcode("sin.approx{.ftz}.type  d, a", "9.7.3.18", {**_MODE, "type": ("f32",)}, _function),
    Opcode("cos.approx{.ftz}.type  d, a", "9.7.3.19", {**_MODE, "type": ("f32",)}, _function),
    Opcode("lg2.approx{.ftz}.type  d, a", "9.7.3.20", {**_MODE, "type": ("f32",)}, _function),
    Opcode("ex2.approx{.ftz}.type  d, a", "9.7.3.21", {**_MODE, "type": ("f32",)}, _function),
    Opcode("tanh.approx.type  d, a", "9.7.3.22", {"type": ("f32",)}, _function),
    Opcode(
        "setp.cmp{.ftz}.type  p:pred, a, b",
        "9.7.6.2",
        {"cmp": _COMPARISONS, "ftz": ("ftz",), "type": _TYPES},
        _compare,
    ),
    Opcode(
        "setp.cmp.bool{.ftz}.type  p:pred, a, b, c:pred",
        "9.7.6.2",
        {
            "cmp": _COMPARISONS,
            "bool": ("and", "or", "xor"),
            "ftz": ("ftz",),
            "type": _TYPES,
        },
        _compare_and_combine,
    ),
    Opcode(
        "cvt.dtype.atype  d:dtype, a:atype",
        "9.7.9.21",
        {"dtype": ("f32", "f64"), "atype": ("f16", "bf16", "f32")},
        _convert,
    ),
    Opcode(
        "cvt.rn.dtype.atype  d:dtype, a~:atype",
        "9.7.9.21",
        {"dtype": ("f16", "f32", "f64"), "atype": (*_INTEGERS, "f64")},
        _convert,
    ),
    Opcode(
        "cvt.irnd{.ftz}.dtype.atype  d~:dtype, a:atype",
        "9.7.9.21",
        {"irnd": _TO_INTEGER, "ftz": ("ftz",), "dtype": _INTEGERS, "atype": ("f16", "f32", "f64")},
        _convert,
    ),
    Opcode(
        "cvt.irnd{.ftz}.type.type  d, a",
        "9.7.9.21",
        {"irnd": _TO_INTEGER, "ftz": ("ftz",), "type": _TYPES},
        _function,
    ),
)
