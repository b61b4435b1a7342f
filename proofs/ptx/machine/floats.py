"""Floating-point instructions on bit patterns, by mnemonic (PTX ISA 9.7.3, 9.7.4, 9.7.9.21).

Additions, products, fused products, comparisons, minima, maxima and conversions are exact to the
bit: rounding is to nearest even, a NaN result is the canonical one (0x7fffffff for `.f32`), and
`.ftz` flushes subnormal operands and results to zero of the same sign. `approximate` instructions
come out correctly rounded instead: the hardware's differ within the error that the ISA documents,
so that who compares must allow for it.

>>> import numpy as np
>>> def bits(*values):
...     return np.array(values, np.float32).view(np.uint32).astype(np.uint64)
>>> def floats(patterns):
...     return patterns.astype(np.uint32).view(np.float32).tolist()
>>> floats(apply("fma.rn.f32", [bits(1 + 2**-23), bits(1 - 2**-23), bits(-1.0)]))
[-1.4210854715202004e-14]
>>> [hex(v) for v in apply("max.f32", [bits(float("nan"), -0.0), bits(2.0, 0.0)])]
['0x40000000', '0x0']
>>> [hex(v) for v in apply("max.NaN.f32", [bits(float("nan")), bits(2.0)])]
['0x7fffffff']
>>> approximate("ex2.approx.ftz.f32"), approximate("add.rn.f32")
(True, False)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from tylo.layouts.errors import PtxError

Function: TypeAlias = Callable[[list[Any]], Any]

_FLOAT: Mapping[str, tuple[Any, Any, int]] = {
    "f16": (np.float16, np.uint16, 0x7FFF),
    "f32": (np.float32, np.uint32, 0x7FFFFFFF),
    "f64": (np.float64, np.uint64, 0x7FF8000000000000),
}
_ROUND: Mapping[str, Callable[[Any], Any]] = {
    "rni": np.rint,
    "rzi": np.trunc,
    "rmi": np.floor,
    "rpi": np.ceil,
}
_UNORDERED = ("equ", "neu", "ltu", "leu", "gtu", "geu")
_COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


def approximate(name: str) -> bool:
    """Whether the hardware's result may differ from this one, within a documented error."""
    return ".approx" in name or ".full" in name


def apply(name: str, operands: list[Any]) -> Any:
    """The result patterns of the instruction called `name`; raises `PtxError` if unknown."""
    with np.errstate(all="ignore"):
        return _function(name)([np.asarray(operand) for operand in operands])


@cache
def _function(name: str) -> Function:
    head, *rest = name.split(".")
    if head == "cvt":
        return _conversion(name, rest)
    kind = rest[-1]
    if kind not in ("f32", "f64"):
        raise PtxError(f"`{name}` is not computed here", hint="the types are f32 and f64")
    flush = "ftz" in rest
    if head == "setp":
        return _comparison(rest[0], kind, flush)
    if head in ("abs", "neg"):
        return _sign(head, kind, flush)
    if head in ("min", "max"):
        return _extremum(head, kind, flush, "NaN" in rest)
    operation = _ARITHMETIC.get(head)
    if operation is None:
        raise PtxError(f"`{name}` is not computed here", hint=f"known: {sorted(_ARITHMETIC)}")
    saturate = "sat" in rest

    def run(operands: list[Any]) -> Any:
        values = [_values(operand, kind, flush) for operand in operands]
        result = operation(*values)
        if saturate:
            # Negative zero saturates to zero, as a device does.
            result = np.where(result > 0, np.minimum(result, 1), 0).astype(result.dtype)
        return _patterns(result, kind, flush)

    return run


def _values(patterns: Any, kind: str, flush: bool = False) -> Any:
    if kind == "bf16":
        return (patterns << np.uint64(16)).astype(np.uint32).view(np.float32)
    number, word, _ = _FLOAT[kind]
    values = patterns.astype(word).view(number)
    if flush:
        tiny = np.abs(values) < np.finfo(number).tiny
        values = np.where(tiny, np.copysign(number(0), values), values)
    return values


def _patterns(values: Any, kind: str, flush: bool = False) -> Any:
    number, word, nan = _FLOAT[kind]
    values = np.asarray(values, dtype=number)
    if flush:
        tiny = np.abs(values) < np.finfo(number).tiny
        values = np.where(tiny, np.copysign(number(0), values), values)
    patterns = values.view(word).astype(np.uint64)
    return np.where(np.isnan(values), np.uint64(nan), patterns)


def _fused(a: Any, b: Any, c: Any) -> Any:
    """a*b + c rounded once. In FP32 the product is exact in FP64; the sum is rounded to odd there,
    after which rounding to FP32 is the same as rounding the exact sum."""
    if a.dtype == np.float64:
        return _fused_double(a, b, c)
    product, addend = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    total = product + addend
    back = total - product
    error = (product - (total - back)) + (addend - back)
    pattern = total.view(np.int64)
    inexact = np.isfinite(total) & (error != 0) & (pattern & 1 == 0)
    # Towards the error: away from zero when it has the sign of the total, else towards zero.
    step = np.where((error > 0) == (total > 0), 1, -1)
    return np.where(inexact, pattern + step, pattern).view(np.float64).astype(np.float32)


def _fused_double(a: Any, b: Any, c: Any) -> Any:
    from fractions import Fraction

    def one(x: float, y: float, z: float) -> float:
        plain = x * y + z
        if not (np.isfinite(x) and np.isfinite(y)):
            return float(plain)
        if not np.isfinite(z):
            # A product of numbers is none but finite, even where FP64 has no room for it.
            return float(z)
        exact = Fraction(x) * Fraction(y) + Fraction(z)
        if exact == 0:
            return float(plain)
        try:
            return exact.numerator / exact.denominator
        except OverflowError:
            return float(np.copysign(np.inf, float(exact > 0) - 0.5))

    return np.vectorize(one, otypes=[np.float64])(a, b, c)


def _rounded_from_double(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda a: function(a.astype(np.float64)).astype(a.dtype)


_ARITHMETIC: Mapping[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "fma": _fused,
    "rcp": lambda a: a.dtype.type(1) / a,
    "sqrt": np.sqrt,
    "rsqrt": _rounded_from_double(lambda a: 1 / np.sqrt(a)),
    "ex2": _rounded_from_double(np.exp2),
    "lg2": _rounded_from_double(np.log2),
    "sin": _rounded_from_double(np.sin),
    "cos": _rounded_from_double(np.cos),
    "tanh": _rounded_from_double(np.tanh),
}


def _sign(head: str, kind: str, flush: bool) -> Function:
    top = np.uint64(1 << (int(kind[1:]) - 1))

    def run(operands: list[Any]) -> Any:
        (patterns,) = operands
        if flush:
            number, word, _ = _FLOAT[kind]
            values = _values(patterns, kind, True)
            patterns = np.asarray(values, dtype=number).view(word).astype(np.uint64)
        return patterns & ~top if head == "abs" else patterns ^ top

    return run


def _extremum(head: str, kind: str, flush: bool, propagate: bool) -> Function:
    def run(operands: list[Any]) -> Any:
        a, b = (_values(operand, kind, flush) for operand in operands)
        # Of two zeros, the negative one is the lesser.
        less = (a < b) | ((a == b) & np.signbit(a))
        result = np.where(less == (head == "min"), a, b)
        if propagate:
            result = np.where(np.isnan(a) | np.isnan(b), np.nan, result)
        else:
            result = np.where(np.isnan(a), b, np.where(np.isnan(b), a, result))
        return _patterns(result, kind, flush)

    return run


def _comparison(comparison: str, kind: str, flush: bool) -> Function:
    def run(operands: list[Any]) -> Any:
        a, b = (_values(operand, kind, flush) for operand in operands)
        unordered = np.isnan(a) | np.isnan(b)
        if comparison in ("num", "nan"):
            result = unordered == (comparison == "nan")
        elif comparison in _UNORDERED:
            result = unordered | _COMPARE[comparison[:2]](a, b)
        else:
            result = ~unordered & _COMPARE[comparison](a, b)
        return result.astype(np.uint64)

    return run


def _conversion(name: str, rest: list[str]) -> Function:
    *modifiers, result, source = rest
    flush = "ftz" in modifiers
    if source[0] in "us":
        return _from_integer(result, int(source[1:]), source[0] == "s")
    if result[0] in "us":
        rounding = next((m for m in modifiers if m in _ROUND), "")
        if not rounding:
            raise PtxError(f"`{name}` has no rounding to integers", hint=f"use one of {[*_ROUND]}")
        return _to_integer(result, source, _ROUND[rounding], flush)
    rounding = next((m for m in modifiers if m in _ROUND), "")
    return _between(result, source, rounding, flush)


def _from_integer(result: str, width: int, is_signed: bool) -> Function:
    number = _FLOAT[result][0]

    def run(operands: list[Any]) -> Any:
        shift = np.int64(64 - width)
        (value,) = operands
        if is_signed:
            value = np.right_shift(np.left_shift(value.astype(np.int64), shift), shift)
        return _patterns(value.astype(number), result)

    return run


def _to_integer(result: str, source: str, rounding: Callable[[Any], Any], flush: bool) -> Function:
    width = int(result[1:])
    low = -(1 << (width - 1)) if result[0] == "s" else 0
    high = (1 << (width - 1)) - 1 if result[0] == "s" else (1 << width) - 1

    def run(operands: list[Any]) -> Any:
        values = rounding(_values(operands[0], source, flush).astype(np.float64))
        # Saturation at both ends. The ISA sends NaN to zero; an H200 does so from narrower floats
        # to at most 32 bits, and gives the top bit otherwise.
        missing = 1 << (width - 1) if source == "f64" or width > 32 else 0
        inside = (values >= low) & (values <= high) & (values < 2.0**63)
        kept = np.where(inside, values, 0).astype(np.int64).astype(np.uint64)
        if high >= 1 << 63:
            upper = (values >= 2.0**63) & (values < 2.0**64)
            kept = np.where(upper, np.where(upper, values, 0).astype(np.uint64), kept)
            inside = inside | upper
        mask = (1 << width) - 1
        beyond = np.where(values > 0, np.uint64(high), np.uint64(low & mask))
        kept = np.where(inside, kept & np.uint64(mask), beyond)
        return np.where(np.isnan(values), np.uint64(missing), kept)

    return run


def _between(result: str, source: str, rounding: str, flush: bool) -> Function:
    def run(operands: list[Any]) -> Any:
        values = _values(operands[0], source, flush)
        if rounding:
            values = _ROUND[rounding](values)
        if result == "bf16":
            return _to_bfloat(values.astype(np.float32))
        return _patterns(values.astype(_FLOAT[result][0]), result, flush and result == "f32")

    return run


def _to_bfloat(values: Any) -> Any:
    """Nearest even: add half a unit, less one where the kept part is even, and cut."""
    patterns = values.view(np.uint32).astype(np.uint64)
    odd = patterns >> np.uint64(16) & np.uint64(1)
    rounded = patterns + np.uint64(0x7FFF) + odd >> np.uint64(16)
    return np.where(np.isnan(values), np.uint64(0x7FFF), rounded)
