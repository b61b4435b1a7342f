"""Values of floating-point instructions, one at a time, in exact rational arithmetic.

A number is a sign, and a `Fraction` or one of "inf" and "nan". Everything is written from the PTX
ISA and IEEE 754, and shares no code with the machine.

>>> hex(result("add.rn.f32", [0x3F800000, 0x33800000]))  # 1 + 2**-24 is a tie, and goes to even
'0x3f800000'
>>> result("cvt.rni.s32.f32", [0xC0200000]) - (1 << 32)  # -2.5
-2
"""

from __future__ import annotations

import math
import random
import re
from fractions import Fraction
from typing import TypeAlias

Value: TypeAlias = tuple[int, Fraction | str]

# Bits of the exponent and of the significand after the point.
FORMATS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}
# What a NaN result is: the ISA states those of `.f32` and of the narrower formats.
NAN = {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF, "f64": 0x7FF8 << 48}


def decoded(pattern: int, kind: str) -> Value:
    """The number of a pattern."""
    exponents, digits = FORMATS[kind]
    sign = pattern >> (exponents + digits) & 1
    exponent, fraction = pattern >> digits & ((1 << exponents) - 1), pattern & ((1 << digits) - 1)
    if exponent == (1 << exponents) - 1:
        return sign, "nan" if fraction else "inf"
    bias = (1 << (exponents - 1)) - 1
    whole = fraction + (1 << digits if exponent else 0)
    return sign, Fraction(whole) * Fraction(2) ** (max(exponent, 1) - bias - digits)


def encoded(value: Value, kind: str) -> int:
    """The pattern nearest to a number, ties to even."""
    exponents, digits = FORMATS[kind]
    sign, size = value
    bias = (1 << (exponents - 1)) - 1
    top = sign << (exponents + digits)
    infinity = ((1 << exponents) - 1) << digits
    if size == "nan":
        return NAN[kind]
    if size == "inf":
        return top | infinity
    assert isinstance(size, Fraction)
    exponent = 1 - bias - digits
    if size:
        exponent = max(
            exponent, size.numerator.bit_length() - size.denominator.bit_length() - digits - 1
        )
        while size >= Fraction(2) ** (exponent + digits + 1):
            exponent += 1
    units = size / Fraction(2) ** exponent
    whole = units.numerator // units.denominator
    rest = units - whole
    whole += rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1)
    # A carry out of the significand goes into the exponent by itself.
    biased = exponent + bias + digits - 1 if whole >= 1 << digits else 0
    return top | min((biased << digits) + whole, infinity)


def flushed(value: Value) -> Value:
    """A subnormal `.f32` number becomes zero."""
    sign, size = value
    return (
        (sign, Fraction(0)) if isinstance(size, Fraction) and size < Fraction(2) ** -126 else value
    )


def signed(value: Value) -> Fraction:
    """A finite number with its sign."""
    sign, size = value
    assert isinstance(size, Fraction)
    return -size if sign else size


def _of(number: Fraction, zero: int = 0) -> Value:
    return (int(number < 0) if number else zero), abs(number)


def _add(a: Value, b: Value) -> Value:
    if "nan" in (a[1], b[1]) or (a[1] == b[1] == "inf" and a[0] != b[0]):
        return 0, "nan"
    for each in (a, b):
        if each[1] == "inf":
            return each
    return _of(signed(a) + signed(b), a[0] & b[0])


def _multiply(a: Value, b: Value) -> Value:
    if "nan" in (a[1], b[1]) or ("inf" in (a[1], b[1]) and 0 in (a[1], b[1])):
        return 0, "nan"
    sign = a[0] ^ b[0]
    if "inf" in (a[1], b[1]):
        return sign, "inf"
    return sign, abs(signed(a) * signed(b))


def _divide(a: Value, b: Value) -> Value:
    if "nan" in (a[1], b[1]) or a[1] == b[1] == "inf" or a[1] == b[1] == 0:
        return 0, "nan"
    sign = a[0] ^ b[0]
    if a[1] == "inf" or b[1] == 0:
        return sign, "inf"
    return sign, Fraction(0) if b[1] == "inf" else abs(signed(a) / signed(b))


def _root(a: Value) -> Value:
    """The root, or a number between the same two neighbours of any format."""
    if a[1] in (0, "nan") or a == (0, "inf"):
        return a
    if a[0]:
        return 0, "nan"
    size = a[1]
    assert isinstance(size, Fraction)
    scale = 2400
    whole = size.numerator * (1 << scale) // size.denominator
    root = math.isqrt(whole)
    exact = root * root == whole and (whole * size.denominator == size.numerator << scale)
    return 0, (Fraction(root) + (0 if exact else Fraction(1, 2))) / (1 << scale // 2)


def _approximate(head: str, a: Value) -> Value:
    """A transcendental function of a double, which is accurate enough to compare with."""
    if a[1] == "nan":
        return a
    x = float("inf") if a[1] == "inf" else float(abs(signed(a)))
    x = -x if a[0] else x
    try:
        value = {
            "ex2": lambda: 2.0**x,
            "lg2": lambda: math.log2(x) if x > 0 else -math.inf if x == 0 else math.nan,
            "sin": lambda: math.sin(x),
            "cos": lambda: math.cos(x),
            "tanh": lambda: math.tanh(x),
            "rsqrt": lambda: (
                1 / math.sqrt(x) if x > 0 else math.copysign(math.inf, x) if x == 0 else math.nan
            ),
        }[head]()
    except ValueError:
        value = math.nan
    except OverflowError:
        value = math.inf
    if math.isnan(value):
        return 0, "nan"
    if math.isinf(value):
        return int(value < 0), "inf"
    return int(math.copysign(1, value) < 0), abs(Fraction(value))


def _less(a: Value, b: Value) -> bool:
    """Of two numbers; the negative zero is the lesser one."""
    keys = [(math.inf if v[1] == "inf" else v[1]) for v in (a, b)]
    left, right = (-key if v[0] else key for key, v in zip(keys, (a, b), strict=True))
    return left < right or (left == right and a[0] > b[0])


def _compared(relation: str, a: Value, b: Value) -> bool:
    unordered = "nan" in (a[1], b[1])
    if relation in ("num", "nan"):
        return unordered == (relation == "nan")
    if unordered:
        return len(relation) == 3
    same = a == b or (a[1] == 0 == b[1])
    less = _less(a, b) and not same
    return {
        "eq": same,
        "ne": not same,
        "lt": less,
        "le": less or same,
        "gt": not less and not same,
        "ge": not less,
    }[relation[:2]]


def _rounded(mode: str, number: Fraction) -> int:
    return {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}[mode](number)


def _converted(parts: list[str], operand: int) -> int:
    to, source = parts[-2:]
    flush = "ftz" in parts
    if source[0] in "us":
        width = int(source[1:])
        value = operand - (1 << width) if source[0] == "s" and operand >> (width - 1) else operand
        return encoded(_of(Fraction(value)), to)
    value_ = decoded(operand, source)
    value_ = flushed(value_) if flush and source == "f32" else value_
    mode = next((each for each in parts if each in ("rni", "rzi", "rmi", "rpi")), "")
    if to[0] in "us":
        width = int(to[1:])
        low = -(1 << (width - 1)) if to[0] == "s" else 0
        high = low + (1 << width) - 1
        if value_[1] == "nan":
            # The ISA says zero; what an H200 does otherwise.
            return 1 << (width - 1) if source == "f64" or width == 64 else 0
        if value_[1] == "inf":
            return (low if value_[0] else high) % (1 << width)
        return min(max(_rounded(mode, signed(value_)), low), high) % (1 << width)
    if mode and isinstance(value_[1], Fraction):
        value_ = _of(Fraction(_rounded(mode, signed(value_))), value_[0])
    pattern = encoded(value_, to)
    return encoded(flushed(decoded(pattern, to)), to) if flush and to == "f32" else pattern


def result(mnemonic: str, operands: list[int]) -> int:
    """The pattern that an instruction gives."""
    head, *parts = mnemonic.split(".")
    if head == "cvt":
        return _converted(parts, operands[0])
    kind = parts[-1]
    flush = "ftz" in parts
    if head in ("abs", "neg"):
        width = int(kind[1:])
        value = decoded(operands[0], kind)
        if flush and value != flushed(value):
            operands = [value[0] << (width - 1)]
        return (
            operands[0] & ~(1 << (width - 1)) if head == "abs" else operands[0] ^ (1 << (width - 1))
        )
    values = [decoded(operand, kind) for operand in operands[: 2 if head == "setp" else 3]]
    values = [flushed(value) for value in values] if flush else values
    if head == "setp":
        truth = int(_compared(parts[0], *values))
        return {
            "and": truth & operands[-1],
            "or": truth | operands[-1],
            "xor": truth ^ operands[-1],
        }.get(parts[1], truth)
    if head in ("min", "max"):
        a, b = values
        if "nan" in (a[1], b[1]):
            value = (0, "nan") if "NaN" in parts else b if a[1] == "nan" else a
        else:
            value = a if _less(a, b) == (head == "min") else b
    else:
        value = {
            "add": lambda: _add(*values),
            "sub": lambda: _add(values[0], (1 - values[1][0], values[1][1])),
            "mul": lambda: _multiply(*values),
            "fma": lambda: _add(_multiply(*values[:2]), values[2]),
            "div": lambda: _divide(*values),
            "rcp": lambda: _divide((0, Fraction(1)), values[0]),
            "sqrt": lambda: _root(values[0]),
        }.get(head, lambda: _approximate(head, values[0]))()
    if "sat" in parts:
        if value[1] == "nan" or value[0]:
            value = 0, Fraction(0)
        elif value[1] == "inf" or signed(value) > 1:
            value = 0, Fraction(1)
    pattern = encoded(value, kind)
    return encoded(flushed(decoded(pattern, kind)), kind) if flush else pattern


def close(mnemonic: str, found: int, right: int) -> bool:
    """Whether a result is right, within the last digits for what is approximate."""
    if found == right:
        return True
    kind = mnemonic.split(".")[-1]
    if not re.search(r"\.(approx|full)\b", mnemonic):
        return False
    ours, theirs = decoded(found, kind), decoded(right, kind)
    if not isinstance(ours[1], Fraction) or not isinstance(theirs[1], Fraction):
        return False
    tiny = Fraction(2) ** -126 if ".ftz" in mnemonic else Fraction(2) ** -148
    return abs(signed(ours) - signed(theirs)) <= abs(theirs[1]) / (1 << 22) + tiny


SINGLES = (
    *(0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x3FC00000, 0xC0200000, 0x3F000000),
    *(0x3F800001, 0x3F7FFFFF, 0x33800000, 0x00800000, 0x807FFFFF, 0x00000001, 0x00400000),
    *(0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0x4B800001),
    *(0x4F000000, 0xCF000000, 0x4F800000, 0x42FE8000, 0xC3008000, 0x3DCCCCCD, 0x40490FDB),
    *(0x3E800000, 0x477FE000, 0x477FF000, 0x33000000, 0x3F818000, 0x3F808000, 0xBF000000),
)
DOUBLES = (
    *(0, 1 << 63, 0x3FF << 52, 0xBFF8 << 48, 0x3FF0000000000001, 0x7FEFFFFFFFFFFFFF, 1),
    *(0x7FF << 52, 0xFFF << 52, 0x7FF8 << 48, 0x41E << 52, 0x43E << 52, 0x3FB999999999999A),
    *(0x3810000000000000, 0x36A0000000000000, 0x400C000000000000, 0xC05FC00000000000),
    *(0x000FFFFFFFFFFFFF, 0x3CA0000000000000, 0x40F0000000000000, 0x3FF0000010000000),
)
HALVES = (0, 0x8000, 0x3C00, 0xBE00, 0x0001, 0x03FF, 0x0400, 0x7BFF, 0x7C00, 0xFC00, 0x4500, 0x4248)


def rows_of(mnemonic: str, widths: list[int], kinds: list[str], count: int) -> list[list[int]]:
    """Operands for an instruction, special and random; no NaN where its payload is open."""
    generator = random.Random(mnemonic)
    head = mnemonic.split(".")[0]
    pools = {
        "f32": SINGLES,
        "f64": DOUBLES,
        "f16": HALVES,
        "bf16": (*HALVES, 0x3F80, 0xC0E0, 0x0080),
    }
    rows = []
    while len(rows) < count:
        row = []
        for width, kind in zip(widths, kinds, strict=True):
            pool = pools.get(kind, (0, 1, (1 << width) - 1, 1 << (width - 1), (1 << width - 1) - 1))
            row.append(
                generator.choice(pool) if generator.random() < 0.7 else generator.getrandbits(width)
            )
        if head in ("abs", "neg") and decoded(row[0], kinds[0])[1] == "nan":
            continue
        if head in ("sin", "cos") and not 0 <= (row[0] & 0x7FFFFFFF) < 0x40D00000:
            continue
        if len(row) > 2 and generator.random() < 0.3 and head == "fma":
            # Sums that almost cancel.
            row[2] = encoded(_multiply(*(decoded(each, kinds[0]) for each in row[:2])), kinds[0])
            row[2] ^= 1 << (widths[0] - 1)
        rows.append(row)
    return rows
