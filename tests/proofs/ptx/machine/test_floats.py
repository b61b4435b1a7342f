"""Floating-point instructions against exact rational arithmetic and other people's types."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tylo.layouts.errors import PtxError
from tylo.proofs.ptx.machine.floats import apply, approximate

SPECIAL = (
    *(0.0, -0.0, 1.0, -1.0, 1.5, -2.5, 0.1, 2**-126, 2**-149, -(2**-149), 2**-127 * 1.5),
    *(
        3.4028235e38,
        -3.4028235e38,
        65504.0,
        65519.0,
        65520.0,
        2**31,
        -(2**31),
        2**32,
        0.5,
        2.5,
        3.5,
    ),
    *(math.inf, -math.inf, math.nan, 1 + 2**-23, 1 - 2**-24, 16777217.0, 2**-133, 5.9604645e-08),
)


def single(patterns: Any) -> Any:
    return np.asarray(patterns).astype(np.uint32).view(np.float32)


def bits(values: Any) -> Any:
    return np.asarray(values, np.float32).view(np.uint32).astype(np.uint64)


def inputs(count: int, seed: int, size: int = 4000) -> list[Any]:
    """Random patterns of every exponent, close pairs, and all combinations of special values."""
    g = np.random.default_rng(seed)
    columns = [g.integers(0, 1 << 32, size=size, dtype=np.uint64) for _ in range(count)]
    columns[0][: size // 4] = columns[-1][: size // 4] ^ np.uint64(1)
    grid = np.meshgrid(*[bits(SPECIAL)] * count, indexing="ij")
    return [np.concatenate([c, m.reshape(-1)]) for c, m in zip(columns, grid, strict=True)]


def nearest(exact: Fraction) -> float:
    """The FP32 number nearest to a rational, ties to even: by integer division alone."""
    if exact == 0:
        return 0.0
    size = abs(exact)
    exponent = max(size.numerator.bit_length() - size.denominator.bit_length() - 24, -150)
    while size >= Fraction(2) ** (exponent + 24):
        exponent += 1
    exponent = max(exponent, -149)
    units = size / Fraction(2) ** exponent
    whole, rest = divmod(units.numerator, units.denominator)
    twice = 2 * rest
    if twice > units.denominator or (twice == units.denominator and whole & 1):
        whole += 1
    value = Fraction(whole) * Fraction(2) ** exponent
    result = math.inf if value >= 2**128 else float(value)
    return -result if exact < 0 else result


OPERATIONS: dict[str, tuple[int, Callable[..., Fraction]]] = {
    "add.rn.f32": (2, lambda a, b: a + b),
    "sub.f32": (2, lambda a, b: a - b),
    "mul.rn.f32": (2, lambda a, b: a * b),
    "fma.rn.f32": (3, lambda a, b, c: a * b + c),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_arithmetic_is_rounded_exactly(name: str) -> None:
    count, exact = OPERATIONS[name]
    columns = inputs(count, seed=len(name), size=6000)
    got = single(apply(name, columns))
    checked = 0
    for index in range(len(got)):
        values = [float(single(column[index])) for column in columns]
        if not all(map(math.isfinite, values)):
            continue
        wanted = exact(*map(Fraction, values))
        if wanted == 0:
            assert got[index] == 0
        else:
            assert got[index] == nearest(wanted), (name, values)
        checked += 1
    assert checked > 5000


@pytest.mark.parametrize("seed", range(3))
def test_fused_products_that_almost_cancel_are_exact(seed: int) -> None:
    g = np.random.default_rng(seed)
    a, b = (g.normal(size=4000).astype(np.float32) for _ in range(2))
    # c is the rounded product, so that the sum is its rounding error; or a tiny disturbance.
    c = -(a * b) * np.where(g.random(4000) < 0.5, 1, 1 + 2**-23).astype(np.float32)
    tiny = (c * np.float32(2.0) ** g.integers(-60, -20, size=4000)).astype(np.float32)
    for addend in (c, tiny):
        got = single(apply("fma.rn.f32", [bits(a), bits(b), bits(addend)]))
        for x, y, z, result in zip(a, b, addend, got, strict=True):
            assert result == nearest(Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)))


def test_special_results_of_arithmetic() -> None:
    nan = 0x7FFFFFFF
    cases = {
        "add.f32": [
            ((math.inf, -math.inf), nan),
            ((-0.0, -0.0), 0x80000000),
            ((1.0, math.nan), nan),
        ],
        "mul.f32": [((math.inf, 0.0), nan), ((-0.0, 1.0), 0x80000000)],
        "fma.rn.f32": [((math.inf, 0.0, 1.0), nan), ((-0.0, 1.0, -0.0), 0x80000000)],
        "rcp.rn.f32": [((-0.0,), 0xFF800000)],
        "sqrt.rn.f32": [((-1.0,), nan), ((-0.0,), 0x80000000)],
        "ex2.approx.ftz.f32": [((0.0,), 0x3F800000), ((-math.inf,), 0), ((math.nan,), nan)],
        "lg2.approx.f32": [((0.0,), 0xFF800000)],
        "add.ftz.f32": [((2**-127, 0.0), 0), ((-(2**-127), -0.0), 0x80000000)],
        "mul.ftz.f32": [((2**-126, 0.5), 0)],
        "add.sat.f32": [((1.0, 1.0), 0x3F800000), ((-1.0, 0.5), 0), ((math.nan, 0.0), 0)],
        "abs.f32": [((-0.0,), 0)],
        "neg.f32": [((0.0,), 0x80000000)],
        "abs.ftz.f32": [((-(2**-127),), 0)],
        "min.f32": [((0.0, -0.0), 0x80000000), ((math.nan, 2.0), 0x40000000)],
        "max.f32": [((-0.0, 0.0), 0), ((math.nan, math.nan), nan)],
        "min.NaN.f32": [((math.nan, 2.0), nan), ((1.0, 2.0), 0x3F800000)],
        "max.NaN.f32": [((2.0, math.nan), nan)],
        "max.ftz.f32": [((2**-127, -1.0), 0)],
    }
    for name, rows in cases.items():
        for values, wanted in rows:
            (got,) = apply(name, [bits([value]) for value in values])
            assert int(got) == wanted, (name, values, hex(int(got)))


def test_comparisons() -> None:
    a, b = inputs(2, seed=7)
    ordered: dict[str, Callable[[float, float], bool]] = {
        "eq": lambda x, y: x == y,
        "ne": lambda x, y: x != y,
        "lt": lambda x, y: x < y,
        "le": lambda x, y: x <= y,
        "gt": lambda x, y: x > y,
        "ge": lambda x, y: x >= y,
    }
    got = {
        name: apply(f"setp.{name}.f32", [a, b]) for base in ordered for name in (base, base + "u")
    }
    got |= {name: apply(f"setp.{name}.f32", [a, b]) for name in ("num", "nan")}
    for index, (x, y) in enumerate(zip(single(a).tolist(), single(b).tolist(), strict=True)):
        unordered = math.isnan(x) or math.isnan(y)
        assert got["nan"][index] == unordered
        assert got["num"][index] != unordered
        for base, compare in ordered.items():
            assert got[base][index] == (not unordered and compare(x, y)), (base, x, y)
            assert got[base + "u"][index] == (unordered or compare(x, y)), (base, x, y)


@pytest.mark.parametrize(("name", "kind"), [("bf16", ml_dtypes.bfloat16), ("f16", np.float16)])
def test_narrow_conversions(name: str, kind: Any) -> None:
    (patterns,) = inputs(1, seed=3, size=200_000)
    with np.errstate(over="ignore", invalid="ignore"):
        wanted = single(patterns).astype(kind)
    got = apply(f"cvt.rn.{name}.f32", [patterns])
    missing = np.isnan(single(patterns))
    assert np.array_equal(got[~missing], wanted.view(np.uint16)[~missing])
    assert set(got[missing].tolist()) == {0x7FFF}
    every = np.arange(1 << 16, dtype=np.uint64)
    back = single(apply(f"cvt.f32.{name}", [every]))
    assert np.array_equal(
        back, every.astype(np.uint16).view(kind).astype(np.float32), equal_nan=True
    )


@pytest.mark.parametrize("kind", ["s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"])
@pytest.mark.parametrize("mode", ["rni", "rzi", "rmi", "rpi"])
def test_to_integers(kind: str, mode: str) -> None:
    (patterns,) = inputs(1, seed=5, size=3000)
    g = np.random.default_rng(1)
    patterns = np.concatenate(
        [patterns, bits(g.normal(size=3000) * 10.0 ** g.integers(0, 12, 3000))]
    )
    width = int(kind[1:])
    low, high = (
        (-(1 << (width - 1)), (1 << (width - 1)) - 1) if kind[0] == "s" else (0, (1 << width) - 1)
    )
    rounding: Callable[[float], int] = {
        "rni": round,
        "rzi": math.trunc,
        "rmi": math.floor,
        "rpi": math.ceil,
    }[mode]
    got = apply(f"cvt.{mode}.{kind}.f32", [patterns])
    for value, result in zip(single(patterns).tolist(), got.tolist(), strict=True):
        if math.isnan(value):
            wanted = 0 if width <= 32 else 1 << 63
        elif math.isinf(value):
            wanted = high if value > 0 else low
        else:
            wanted = min(max(rounding(value), low), high)
        assert result == wanted % (1 << width), (value, result)


def test_from_integers() -> None:
    g = np.random.default_rng(2)
    values = np.concatenate([g.integers(0, 1 << 32, 3000), [0, 1, 2**31, 2**32 - 1, 2**24 + 1]])
    for kind in ("s32", "u32"):
        got = single(apply(f"cvt.rn.f32.{kind}", [values.astype(np.uint64)]))
        for value, result in zip(values.tolist(), got.tolist(), strict=True):
            exact = value - (1 << 32) if kind == "s32" and value >> 31 else value
            assert result == nearest(Fraction(exact))


def test_rounding_to_whole_numbers() -> None:
    got = single(apply("cvt.rni.f32.f32", [bits([0.5, 1.5, 2.5, -0.5, 1e30])]))
    assert got.tolist() == [0.0, 2.0, 2.0, -0.0, np.float32(1e30)]


def test_what_is_approximate_and_what_is_unknown() -> None:
    assert approximate("div.full.f32")
    assert not approximate("div.rn.f32")
    for name in ("cvt.s32.f32", "frob.f32", "add.f16"):
        with pytest.raises(PtxError, match=r"is not computed here|has no rounding"):
            apply(name, [bits([1.0]), bits([1.0])])
