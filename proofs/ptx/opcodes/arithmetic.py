"""Integer arithmetic (PTX ISA 9.7.1), comparison and selection (9.7.5, 9.7.6).

Semantics take a `Domain` d, the `Form` f and the source operands.
"""

from __future__ import annotations

from typing import Any

from tylo.proofs.ptx.opcodes.domain import Domain
from tylo.proofs.ptx.opcodes.table import Form, Opcode

INTEGERS = ("u16", "u32", "u64", "s16", "s32", "s64")
SIGNED = ("s16", "s32", "s64")
_HALF = ("u16", "u32", "s16", "s32")

# Comparisons as (swap operands, complement the result) of `less` or `equal`.
_ORDERED = {
    "lt": (False, False),
    "gt": (True, False),
    "ge": (False, True),
    "le": (True, True),
}
_UNSIGNED = {"lo": "lt", "hi": "gt", "hs": "ge", "ls": "le"}
_BIT_TYPES = ("b16", "b32", "b64")
# Which comparisons which types have (PTX ISA 9.3.1): signed, unsigned and bit-size ones.
_COMPARISONS = (
    {"cmp": ("eq", "ne", *_ORDERED), "type": ("s16", "s32", "s64")},
    {"cmp": ("eq", "ne", *_ORDERED, *_UNSIGNED), "type": ("u16", "u32", "u64")},
    {"cmp": ("eq", "ne"), "type": _BIT_TYPES},
)
_COMBINE = ("and", "or", "xor")


def _multiply_wide(d: Domain[Any], f: Form, a: Any, b: Any) -> Any:
    wide = 2 * f.width
    return d.multiply(
        d.extend(a, f.width, wide, f.signed), d.extend(b, f.width, wide, f.signed), wide
    )


def _minimum(d: Domain[Any], f: Form, a: Any, b: Any) -> Any:
    return d.select(d.less(a, b, f.width, f.signed), a, b, f.width)


def _maximum(d: Domain[Any], f: Form, a: Any, b: Any) -> Any:
    return d.select(d.less(a, b, f.width, f.signed), b, a, f.width)


def _absolute(d: Domain[Any], f: Form, a: Any) -> Any:
    zero = d.constant(0, f.width)
    return d.select(d.less(a, zero, f.width, True), d.subtract(zero, a, f.width), a, f.width)


def _compare(d: Domain[Any], f: Form, a: Any, b: Any) -> Any:
    comparison = f.chosen["cmp"]
    comparison = _UNSIGNED.get(comparison, comparison)
    if comparison in ("eq", "ne"):
        result, complement = d.equal(a, b, f.width), comparison == "ne"
    else:
        swap, complement = _ORDERED[comparison]
        left, right = (b, a) if swap else (a, b)
        result = d.less(left, right, f.width, f.signed)
    return d.bit_xor(result, d.constant(1, 1), 1) if complement else result


def _combine(d: Domain[Any], f: Form, left: Any, right: Any) -> Any:
    operation = {"and": d.bit_and, "or": d.bit_or, "xor": d.bit_xor}[f.chosen["bool"]]
    return operation(left, right, 1)


ARITHMETIC = (
    Opcode(
        "add.type  d, a, b", "9.7.1.1", {"type": INTEGERS}, lambda d, f, a, b: d.add(a, b, f.width)
    ),
    Opcode(
        "sub.type  d, a, b",
        "9.7.1.2",
        {"type": INTEGERS},
        lambda d, f, a, b: d.subtract(a, b, f.width),
    ),
    Opcode(
        "mul.lo.type  d, a, b",
        "9.7.1.3",
        {"type": INTEGERS},
        lambda d, f, a, b: d.multiply(a, b, f.width),
    ),
    Opcode(
        "mul.hi.type  d, a, b",
        "9.7.1.3",
        {"type": INTEGERS},
        lambda d, f, a, b: d.multiply_high(a, b, f.width, f.signed),
    ),
    Opcode("mul.wide.type  d:wide, a, b", "9.7.1.3", {"type": _HALF}, _multiply_wide),
    Opcode(
        "mad.lo.type  d, a, b, c",
        "9.7.1.4",
        {"type": INTEGERS},
        lambda d, f, a, b, c: d.add(d.multiply(a, b, f.width), c, f.width),
    ),
    Opcode(
        "mad.hi.type  d, a, b, c",
        "9.7.1.4",
        {"type": INTEGERS},
        lambda d, f, a, b, c: d.add(d.multiply_high(a, b, f.width, f.signed), c, f.width),
    ),
    Opcode(
        "mad.wide.type  d:wide, a, b, c:wide",
        "9.7.1.4",
        {"type": _HALF},
        lambda d, f, a, b, c: d.add(_multiply_wide(d, f, a, b), c, 2 * f.width),
    ),
    Opcode(
        "div.type  d, a, b",
        "9.7.1.8",
        {"type": INTEGERS},
        lambda d, f, a, b: d.divide(a, b, f.width, f.signed),
    ),
    Opcode(
        "rem.type  d, a, b",
        "9.7.1.9",
        {"type": INTEGERS},
        lambda d, f, a, b: d.remainder(a, b, f.width, f.signed),
    ),
    Opcode("abs.type  d, a", "9.7.1.10", {"type": SIGNED}, _absolute),
    Opcode(
        "neg.type  d, a",
        "9.7.1.11",
        {"type": SIGNED},
        lambda d, f, a: d.subtract(d.constant(0, f.width), a, f.width),
    ),
    Opcode("min.type  d, a, b", "9.7.1.12", {"type": INTEGERS}, _minimum),
    Opcode("max.type  d, a, b", "9.7.1.13", {"type": INTEGERS}, _maximum),
)

COMPARISON = (
    *(
        Opcode("setp.cmp.type  p:pred, a, b", "9.7.6.2", choices, _compare)
        for choices in _COMPARISONS
    ),
    *(
        Opcode(
            "setp.cmp.bool.type  p:pred, a, b, c:pred",
            "9.7.6.2",
            {"bool": _COMBINE, **choices},
            lambda d, f, a, b, c: _combine(d, f, _compare(d, f, a, b), c),
        )
        for choices in _COMPARISONS
    ),
    Opcode(
        "selp.type  d, a, b, c:pred",
        "9.7.6.3",
        {"type": (*INTEGERS, *_BIT_TYPES, "f32", "f64")},
        lambda d, f, a, b, c: d.select(c, a, b, f.width),
    ),
)
