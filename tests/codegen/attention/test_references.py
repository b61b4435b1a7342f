"""The references: against the public cases, against a loop in exact arithmetic, and one another."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest

from public_attention import CASES, mask_of, tensors
from tylo.codegen.attention.references import attention, keep, same_boundary


def place(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def bf16(x: Any) -> Any:
    return numpy.asarray(x).astype(ml_dtypes.bfloat16).astype(numpy.float32)


def f16(x: Any) -> Any:
    with numpy.errstate(over="ignore"):
        return numpy.asarray(x).astype(numpy.float16).astype(numpy.float32)


def key_tiles(keys: int, size: int) -> list[range]:
    return [range(first, min(first + size, keys)) for first in range(0, keys, size)][::-1]


@pytest.mark.parametrize(
    "case", [c for c in CASES.values() if c["check"] == "attention"], ids=lambda c: c["id"]
)
def test_public_cases(case: Any) -> None:
    given, expected = case["input"], case["expected"]
    q, k, v = tensors(given)
    mask = mask_of(given)
    for out, lse, slack in (
        (*attention(q, k, v, mask=mask), 1e-12),
        (
            *same_boundary(
                q, k, v, rounded=bf16, tiles=key_tiles(given["Sk"], 64), lag=8, mask=mask
            ),
            8e-3,
        ),
    ):
        for where, wanted in expected["o_at"].items():
            assert out[place(where)] == pytest.approx(wanted, abs=slack)
        for where, wanted in expected["lse_at"].items():
            assert lse[place(where)] == pytest.approx(wanted, abs=min(slack, 1e-5))
        assert (lse == -numpy.inf).sum() == expected["n_rows_empty"]
    assert attention(q, k, v, mask=mask)[0].sum() == pytest.approx(expected["sum_o"], abs=1e-8)


@pytest.mark.parametrize(
    "case", [c for c in CASES.values() if c["check"] == "attention_const"], ids=lambda c: c["id"]
)
@pytest.mark.parametrize("lag", [0, 8])
def test_public_cases_of_one_row(case: Any, lag: float) -> None:
    """A first block that is masked, and scores near -3e4."""
    given, expected = case["input"], case["expected"]
    ones = numpy.ones((1, 1, 1, given["D"]))
    q, k, v = (
        numpy.array(rows, float).reshape(1, 1, -1, 1) * ones
        for rows in (given["q"], given["k_rows"], given["v_rows"])
    )
    mask = numpy.array(given["mask_keep"], bool) if "mask_keep" in given else None
    for out, lse in (
        attention(q, k, v, mask=mask),
        same_boundary(q, k, v, rounded=bf16, tiles=key_tiles(given["Sk"], 64), lag=lag, mask=mask),
    ):
        numpy.testing.assert_allclose(out, expected["o"], rtol=3e-3)
        numpy.testing.assert_allclose(lse, expected["lse"], rtol=1e-6)


def test_causal_alignments() -> None:
    case = CASES["A04"]
    expected = case["expected"]
    q, k, v = tensors(case["input"])
    for name in ("top_left", "bottom_right"):
        assert keep(5, 2, name).astype(int).tolist() == expected[f"keep_{name}"]
        out, lse = attention(q, k, v, causal=name)
        numpy.testing.assert_allclose(lse[0, 0], numpy.array(expected[f"lse_{name}"], float))
        assert out[0, 0, 0, 0] == pytest.approx(expected[f"o00_{name}"])
        rounded, close = same_boundary(q, k, v, rounded=bf16, tiles=key_tiles(2, 64), causal=name)
        assert numpy.isfinite(rounded).all()
        numpy.testing.assert_allclose(close, lse, rtol=1e-6)
    assert not attention(q, k, v, causal="bottom_right")[0][0, 0, :3].any()


def test_lengths_of_zero() -> None:
    for shape, keys in (((2, 3, 0, 8), 5), ((2, 3, 4, 8), 0), ((0, 3, 4, 8), 5)):
        q, k = numpy.ones(shape), numpy.ones((shape[0], 3, keys, 8))
        for out, lse in (
            attention(q, k, k),
            same_boundary(q, k, k, rounded=bf16, tiles=key_tiles(keys, 64)),
        ):
            assert out.shape == shape
            assert lse.shape == shape[:-1]
            if keys == 0:
                assert not out.any()
                assert (lse == -numpy.inf).all()


def draw(seed: int, queries: int, keys: int, depth: int = 64) -> tuple[Any, Any, Any]:
    rng = numpy.random.default_rng(seed)
    sizes = ((2, queries), (1, keys), (1, keys))
    q, k, v = (bf16(rng.standard_normal((1, heads, n, depth))) for heads, n in sizes)
    return q, k, v


def test_same_boundary_rounds_and_nothing_else() -> None:
    """Without its roundings it is the float64 reference; with them it is off by about 2^-9."""
    q, k, v = draw(1, 40, 200)
    exact, lse = attention(q, k, v)
    plain, close = same_boundary(q, k, v, rounded=lambda x: x, tiles=key_tiles(200, 64), lag=8)
    assert numpy.abs(plain - exact).max() < 2e-6
    assert numpy.abs(close - lse).max() < 2e-6
    rounded, _ = same_boundary(q, k, v, rounded=bf16, tiles=key_tiles(200, 64), lag=8)
    assert 2e-5 < numpy.median(numpy.abs(rounded - exact)) < 1e-3


@pytest.mark.parametrize("lag", [0.0, 8.0])
@pytest.mark.parametrize("scale", [1e-3, 0.125, 40.0, 0.0, -0.125])
def test_policies_and_orders_agree(lag: float, scale: float) -> None:
    q, k, v = draw(2, 17, 150)
    exact, lse = attention(q, k, v, scale=scale)
    tiles = key_tiles(150, 32)
    for order in (tiles, tiles[::-1]):
        out, close = same_boundary(q, k, v, rounded=f16, tiles=order, lag=lag, scale=scale)
        assert numpy.abs(out - exact).max() < 4e-3
        numpy.testing.assert_allclose(close, lse, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("size", [1e4, 1e18, 3e36])
def test_scores_of_any_finite_size(size: float) -> None:
    """The largest score takes everything, in both forms of the exponent."""
    q, _, v = draw(3, 5, 90)
    for sign in (1, -1):
        big = sign * size * (1 + numpy.arange(90).reshape(1, 1, 90, 1)) / 90 * numpy.ones(64) / 64
        exact, _ = attention(numpy.ones_like(q), big, v)
        out, lse = same_boundary(
            numpy.ones_like(q), big, v, rounded=bf16, tiles=key_tiles(90, 32), lag=8
        )
        assert numpy.abs(out - exact).max() < 2e-2
        assert numpy.isfinite(lse).all()


def test_a_row_that_keeps_nothing() -> None:
    q, k, v = draw(4, 6, 70)
    mask = numpy.ones((6, 70), bool)
    mask[2] = False
    mask[4, 6:] = False  # the last block is masked, and comes first
    for out, lse in (
        attention(q, k, v, mask=mask),
        same_boundary(q, k, v, rounded=bf16, tiles=key_tiles(70, 64), lag=8, mask=mask),
    ):
        assert not out[0, :, 2].any()
        assert (lse[0, :, 2] == -numpy.inf).all()
        assert numpy.isfinite(lse[0, :, [0, 1, 3, 4, 5]]).all()


def test_grouped_heads_are_runs() -> None:
    q, k, v = numpy.zeros((1, 4, 1, 8)), numpy.zeros((1, 2, 1, 8)), numpy.zeros((1, 2, 1, 8))
    v[0, 1] = 1
    assert attention(q, k, v)[0][0, :, 0, 0].tolist() == [0, 0, 1, 1]
    with pytest.raises(ValueError, match="3 query heads"):
        attention(q[:, :3], k, v)
    with pytest.raises(ValueError, match="causal"):
        keep(2, 2, "upper")
