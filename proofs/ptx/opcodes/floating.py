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

# What `.f64` lacks: flushing, saturation and the approximations (PTX ISA 9.7.3: each syntax lists
# them for `.f32` alone).
_SINGLE = {"rnd": ("rn",), "ftz": ("ftz",), "sat": ("sat",), "nan": ("NaN",), "type": ("f32",)}
_DOUBLE = {"rnd": ("rn",), "type": ("f64",)}
_ROOTS = {**_SINGLE, "mode": ("approx", "rn")}
_COMPARISONS = (
    *("eq", "ne", "lt", "le", "gt", "ge", "num", "nan"),
    *("equ", "neu", "ltu", "leu", "gtu", "geu"),
)
_INTEGERS = tuple(f"{kind}{width}" for kind in "us" for width in (8, 16, 32, 64))
_COMBINE = ("and", "or", "xor")
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


def _greater_halves(d: Domain[Any], f: Form, a: Any, b: Any) -> Any:
    """Half by half, in single precision: the greater is one of the two, so that nothing rounds."""
    kind = f.type.removesuffix("x2")
    halves = []
    for low in (0, 16):
        singles = [d.function(f"cvt.f32.{kind}", [d.extract(word, low, 16)], 32) for word in (a, b)]
        greater = d.function("max.NaN.f32", singles, 32)
        halves.append(d.function(f"cvt.rn.{kind}.f32", [greater], 16))
    return d.concatenate(halves, [16, 16])


FLOATING = (
    Opcode("add{.rnd}{.ftz}{.sat}.type  d, a, b", "9.7.3.3", _SINGLE, _function),
    Opcode("add{.rnd}.type  d, a, b", "9.7.3.3", _DOUBLE, _function),
    Opcode("sub{.rnd}{.ftz}{.sat}.type  d, a, b", "9.7.3.4", _SINGLE, _function),
    Opcode("sub{.rnd}.type  d, a, b", "9.7.3.4", _DOUBLE, _function),
    Opcode("mul{.rnd}{.ftz}{.sat}.type  d, a, b", "9.7.3.5", _SINGLE, _function),
    Opcode("mul{.rnd}.type  d, a, b", "9.7.3.5", _DOUBLE, _function),
    Opcode("fma.rnd{.ftz}{.sat}.type  d, a, b, c", "9.7.3.6", _SINGLE, _function),
    Opcode("fma.rnd.type  d, a, b, c", "9.7.3.6", _DOUBLE, _function),
    Opcode(
        "div.mode{.ftz}.type  d, a, b",
        "9.7.3.8",
        {**_SINGLE, "mode": ("approx", "full", "rn")},
        _function,
    ),
    Opcode("div.rnd.type  d, a, b", "9.7.3.8", _DOUBLE, _function),
    Opcode("abs{.ftz}.type  d, a", "9.7.3.9", _SINGLE, _function),
    Opcode("abs.type  d, a", "9.7.3.9", _DOUBLE, _function),
    Opcode("neg{.ftz}.type  d, a", "9.7.3.10", _SINGLE, _function),
    Opcode("neg.type  d, a", "9.7.3.10", _DOUBLE, _function),
    Opcode("min{.ftz}{.nan}.type  d, a, b", "9.7.3.11", _SINGLE, _function),
    Opcode("min.type  d, a, b", "9.7.3.11", _DOUBLE, _function),
    Opcode("max{.ftz}{.nan}.type  d, a, b", "9.7.3.12", _SINGLE, _function),
    Opcode("max.type  d, a, b", "9.7.3.12", _DOUBLE, _function),
    Opcode(
        "max.NaN.type  d, a, b", "9.7.4.8", {"type": ("bf16x2", "f16x2")}, _greater_halves, since=80
    ),
    Opcode("rcp.mode{.ftz}.type  d, a", "9.7.3.13", _ROOTS, _function),
    Opcode("rcp.rnd.type  d, a", "9.7.3.13", _DOUBLE, _function),
    Opcode("sqrt.mode{.ftz}.type  d, a", "9.7.3.15", _ROOTS, _function),
    Opcode("sqrt.rnd.type  d, a", "9.7.3.15", _DOUBLE, _function),
    Opcode("rsqrt.approx{.ftz}.type  d, a", "9.7.3.16", _SINGLE, _function),
    Opcode("sin.approx{.ftz}.type  d, a", "9.7.3.18", _SINGLE, _function),
    Opcode("cos.approx{.ftz}.type  d, a", "9.7.3.19", _SINGLE, _function),
    Opcode("lg2.approx{.ftz}.type  d, a", "9.7.3.20", _SINGLE, _function),
    Opcode("ex2.approx{.ftz}.type  d, a", "9.7.3.21", _SINGLE, _function),
    Opcode("tanh.approx.type  d, a", "9.7.3.22", _SINGLE, _function),
    Opcode(
        "setp.cmp{.ftz}.type  p:pred, a, b",
        "9.7.6.2",
        {**_SINGLE, "cmp": _COMPARISONS},
        _compare,
    ),
    Opcode("setp.cmp.type  p:pred, a, b", "9.7.6.2", {**_DOUBLE, "cmp": _COMPARISONS}, _compare),
    Opcode(
        "setp.cmp.bool{.ftz}.type  p:pred, a, b, c:pred",
        "9.7.6.2",
        {**_SINGLE, "cmp": _COMPARISONS, "bool": _COMBINE},
        _compare_and_combine,
    ),
    Opcode(
        "setp.cmp.bool.type  p:pred, a, b, c:pred",
        "9.7.6.2",
        {**_DOUBLE, "cmp": _COMPARISONS, "bool": _COMBINE},
        _compare_and_combine,
    ),
    Opcode(
        "cvt.dtype.atype  d:dtype, a:atype",
        "9.7.9.21",
        {"dtype": ("f32",), "atype": ("f16", "bf16", "f32")},
        _convert,
    ),
    Opcode(
        "cvt.dtype.atype  d:dtype, a:atype",
        "9.7.9.21",
        {"dtype": ("f64",), "atype": ("f16", "f32")},
        _convert,
    ),
    Opcode(
        "cvt.dtype.atype  d:dtype, a:atype",
        "9.7.9.21",
        {"dtype": ("f64",), "atype": ("bf16",)},
        _convert,
        since=90,
    ),
    Opcode("cvt.ftz.dtype.f32  d:dtype, a:f32", "9.7.9.21", {"dtype": ("f32", "f64")}, _convert),
    Opcode(
        "cvt.rn.dtype.atype  d:dtype, a~:atype",
        "9.7.9.21",
        {"dtype": ("f16", "f32", "f64"), "atype": _INTEGERS},
        _convert,
    ),
    Opcode("cvt.rn.dtype.f64  d:dtype, a:f64", "9.7.9.21", {"dtype": ("f16", "f32")}, _convert),
    Opcode("cvt.rn.ftz.dtype.f64  d:dtype, a:f64", "9.7.9.21", {"dtype": ("f32",)}, _convert),
    Opcode(
        "cvt.irnd.dtype.atype  d~:dtype, a:atype",
        "9.7.9.21",
        {"irnd": _TO_INTEGER, "dtype": _INTEGERS, "atype": ("f16", "f64")},
        _convert,
    ),
    Opcode(
        "cvt.irnd{.ftz}.dtype.f32  d~:dtype, a:f32",
        "9.7.9.21",
        {"irnd": _TO_INTEGER, "ftz": ("ftz",), "dtype": _INTEGERS},
        _convert,
    ),
    Opcode(
        "cvt.irnd{.ftz}.type.type  d, a", "9.7.9.21", {**_SINGLE, "irnd": _TO_INTEGER}, _function
    ),
    Opcode("cvt.irnd.type.type  d, a", "9.7.9.21", {**_DOUBLE, "irnd": _TO_INTEGER}, _function),
)
