"""Attention on the device, against the references. Every tensor lies among NaN bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy
import pytest

import public_attention
from attention_on_device import Bench, half
from public_attention import CASES
from tylo.codegen.attention.member import WORKED, Member
from tylo.codegen.attention.references import attention, same_boundary
from tylo.codegen.launch import Device
from tylo.codegen.launch.devices import device_state

pytestmark = pytest.mark.gpu

MEMBERS = (
    WORKED,
    Member(64, "f16", 3, 128, 3),
    Member(64, "bf16", 1, 64, 3, residents=3),
    Member(64, "bf16", 1, 128, 2, residents=2),
    Member(64, "bf16", 2, 192, 2),
    Member(128, "bf16", 2, 128, 2),
    Member(128, "f16", 1, 64, 2, residents=2),
    Member(128, "bf16", 2, 160, 2, turns=False),
    Member(64, "bf16", 3, 128, 3, reference="first"),
    Member(128, "f16", 2, 128, 2, reference="first"),
    Member(64, "f16", 1, 64, 3, residents=3, reference="first"),
    Member(128, "bf16", 3, 64, 3, reference="first"),
    Member(128, "bf16", 1, 64, 2, residents=2, reference="first"),
)
MASKED = (
    replace(WORKED, mask=True),
    Member(64, "bf16", 3, 128, 3, mask=True),
    Member(64, "f16", 2, 128, 3, mask=True, reference="first"),
    Member(64, "bf16", 1, 64, 3, mask=True, residents=3, reference="first"),
    Member(128, "f16", 2, 128, 2, mask=True, reference="first"),
    Member(128, "bf16", 1, 64, 2, mask=True, residents=2, reference="first"),
)
ERROR = {"bf16": 5e-3, "f16": 8e-4}


@pytest.fixture(scope="module")
def bench(device: Device) -> Bench:
    state = device_state(device.ordinal)
    if state.capability != (9, 0):
        pytest.skip(f"wgmma exists on 9.0 alone, this device is {state.capability}")
    return Bench(state)


def draw(member: Member, seed: int, shape: tuple[int, int, int, int, int]) -> Any:
    batch, heads, key_heads, queries, keys = shape
    rng = numpy.random.default_rng(seed)
    sizes = ((heads, queries), (key_heads, keys), (key_heads, keys))
    return [half(rng.standard_normal((batch, *size, member.depth)), member.dtype) for size in sizes]


def require_close(member: Member, found: Any, wanted: Any, what: str = "") -> None:
    (out, lse), (exact, exact_lse) = found, wanted
    assert numpy.isfinite(out).all(), f"{what}: not finite"
    norm = numpy.linalg.norm(exact)
    assert numpy.linalg.norm(out - exact) <= ERROR[member.dtype] * norm, what
    if out.size:
        largest = max(1e-30, float(numpy.abs(exact).max()))
        assert float(numpy.abs(out - exact).max()) <= 12 * ERROR[member.dtype] * largest, what
    empty = exact_lse == -numpy.inf
    assert (lse[empty] == -numpy.inf).all(), what
    assert (out[empty] == 0).all(), what
    numpy.testing.assert_allclose(lse[~empty], exact_lse[~empty], rtol=2e-6, atol=2e-5)


SHAPES = (
    (1, 1, 1, 64, 64),
    (2, 4, 2, 130, 67),
    (1, 2, 1, 1, 300),
    (1, 3, 3, 257, 1),
    (2, 2, 2, 383, 640),
    (1, 2, 2, 40, 0),
    (1, 1, 1, 700, 129),
)


@pytest.mark.parametrize("member", MEMBERS, ids=str)
@pytest.mark.parametrize("persistent", [False, True])
def test_lengths_heads_and_causal_masks(bench: Bench, member: Member, persistent: bool) -> None:
    for number, shape in enumerate(SHAPES):
        tensors = draw(member, number, shape)
        for causal in (None, "top_left", "bottom_right"):
            found = bench.attention(
                member, *tensors, causal=causal, persistent=persistent, rows_outside=number % 2 == 1
            )
            require_close(member, found, attention(*tensors, causal=causal), f"{shape} {causal}")


@pytest.mark.parametrize("member", MASKED, ids=str)
@pytest.mark.parametrize("persistent", [False, True])
def test_masks_that_leave_steps_out(bench: Bench, member: Member, persistent: bool) -> None:
    """Steps kept, dropped and mixed in every order; a band; rows and blocks that keep none."""
    shape = (1, 3, 3, 333, 1500)
    tensors = draw(member, 21, shape)
    rng = numpy.random.default_rng(22)
    row, key = numpy.ogrid[:333, :1500]
    kinds = rng.integers(0, 3, (6, 24))[row // 64, key // 64]
    mixed = numpy.where(kinds == 2, rng.random((333, 1500)) < 0.5, kinds == 1)
    band = abs(4 * row - key) < 70
    late = numpy.broadcast_to((key >= 1490) & (row > 300), (333, 1500))
    odd = rng.random((333, 1501))[:, 1:] < 0.5
    for mask in (mixed, band, late, odd, numpy.stack([mixed, band, odd])):
        for causal in (None, "top_left"):
            options: dict[str, Any] = {"mask": mask, "causal": causal}
            found = bench.attention(member, *tensors, **options, persistent=persistent)
            require_close(member, found, attention(*tensors, **options), f"{mask.shape} {causal}")


@pytest.mark.parametrize("member", [m for m in MASKED if m.reference == "first"], ids=str)
def test_masked_rows_that_outgrow_their_reference(bench: Bench, member: Member) -> None:
    q, k, v = draw(member, 31, (1, 2, 2, 130, 700))
    key = numpy.arange(700).reshape(1, 1, 700, 1)
    rising = half(0 * k + (700 - key) / 8, member.dtype)
    mask = numpy.random.default_rng(32).random((130, 700)) < 0.5
    for tensors in (
        (numpy.ones_like(q), rising, v),
        (q, half(k * (1 + key % 97), member.dtype), v),
    ):
        out, _ = bench.attention(member, *tensors, mask=mask)
        exact, _ = attention(*tensors, mask=mask)
        close = numpy.abs(out - exact).max(-1) <= 12 * ERROR[member.dtype] * abs(exact).max()
        assert close.mean() > 0.97


@pytest.mark.parametrize("member", MASKED, ids=str)
def test_boolean_masks(bench: Bench, member: Member) -> None:
    shape = (2, 4, 2, 130, 200)
    tensors = draw(member, 1, shape)
    rng = numpy.random.default_rng(2)
    masks = [
        rng.random((2, 4, 130, 200)) < 0.5,
        rng.random((2, 1, 1, 200)) < 0.3,
        rng.random((130, 200)) < 0.02,
        rng.random((4, 130, 1)) < 0.5,
        numpy.zeros((1, 1), bool),
        numpy.ones((130, 200), bool),
    ]
    blocks = numpy.ones((130, 200), bool)
    blocks[:, 64:] = False
    blocks[7] = False
    for mask in [*masks, blocks, blocks[:, ::-1]]:
        for causal in (None, "bottom_right"):
            found = bench.attention(member, *tensors, mask=mask, causal=causal)
            require_close(
                member, found, attention(*tensors, mask=mask, causal=causal), str(mask.shape)
            )


def tiles_of(keys: int, size: int) -> list[range]:
    return [range(first, min(first + size, keys)) for first in range(0, keys, size)][::-1]


@pytest.mark.parametrize("member", [MEMBERS[0], MEMBERS[5]], ids=str)
def test_roundings_are_those_of_the_kernel(bench: Bench, member: Member) -> None:
    """Before its last rounding the output is four times closer to the same-boundary reference."""
    member = replace(member, output="f32")
    tensors = draw(member, 5, (1, 2, 2, 256, 1024))
    out, lse = bench.attention(member, *tensors)
    exact, _ = attention(*tensors)
    same, same_lse = same_boundary(
        *tensors,
        rounded=lambda x: half(x, member.dtype),
        tiles=tiles_of(1024, member.keys),
        lag=8,
    )
    ratio = numpy.median(numpy.abs(out - same)) / numpy.median(numpy.abs(out - exact))
    assert ratio <= 0.25, ratio
    numpy.testing.assert_allclose(lse, same_lse, rtol=1e-6, atol=1e-5)


def adversarial(member: Member) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    shape = (1, 2, 2, 128, 512)
    q, k, v = draw(member, 9, shape)
    key = numpy.arange(512).reshape(1, 1, 512, 1)
    row = numpy.arange(128).reshape(1, 1, 128, 1)
    yield "growing maxima", (numpy.ones_like(q), half(0 * k + key / 4, member.dtype), v), {}
    yield "falling maxima", (numpy.ones_like(q), half(0 * k - key / 4, member.dtype), v), {}
    dominant = k.copy()
    dominant[:, :, 3] *= 40
    yield "one dominant key", (q, half(dominant, member.dtype), v), {}
    yield "huge scores", (half(q * 60, member.dtype), half(k * 60, member.dtype), v), {}
    yield "wide and narrow rows", (half(q * (row % 2 * 99 + 1), member.dtype), k, v), {}
    yield "huge scale", (q, k, v), {"scale": 1e6}
    for scale in (0.0, -0.125, 1e-30, 1e30, -1e20):
        yield f"scale {scale}", (q, k, v), {"scale": scale}
    if member.dtype == "bf16":
        for size in (1e8, 1e18):
            yield f"size {size}", (half(q * size, "bf16"), half(k * size, "bf16"), v), {}
        yield (
            "very negative",
            (half(0 * q + 1e18, "bf16"), half(0 * k - 1e18 - 1e16 * key, "bf16"), v),
            {},
        )


@pytest.mark.parametrize("member", [MEMBERS[0], MEMBERS[1], MEMBERS[5], *MEMBERS[8:]], ids=str)
def test_adversarial_scores(bench: Bench, member: Member) -> None:
    for name, tensors, options in adversarial(member):
        for persistent in (False, True):
            found = bench.attention(member, *tensors, persistent=persistent, **options)
            out, lse = found
            exact, exact_lse = attention(*tensors, **options)
            assert numpy.isfinite(out).all(), name
            # Scores of this size are rounded to float32, so that near ties may fall either way.
            close = numpy.abs(out - exact).max(-1) <= 12 * ERROR[member.dtype] * abs(exact).max()
            sized = numpy.abs(exact_lse) < 1e5
            assert close[sized].all(), name
            assert close.mean() > 0.97, name
            numpy.testing.assert_allclose(lse, exact_lse, rtol=1e-5, atol=2e-5, err_msg=name)


@pytest.mark.parametrize(
    "case",
    [c for c in CASES.values() if c["check"] in ("attention", "attention_const", "causal")],
    ids=lambda case: case["id"],
)
def test_public_cases(bench: Bench, case: Any) -> None:
    """What people met: tails, masks, grouped heads, and scores near -3e4 behind a masked block."""
    given, expected = case["input"], case["expected"]
    if case["check"] == "attention":
        tensors, mask = public_attention.tensors(given), public_attention.mask_of(given)
        member = WORKED if mask is None else MASKED[0]
        out, lse = bench.attention(member, *tensors, mask=mask)
        for found, wanted, slack in ((out, "o_at", 2e-2), (lse, "lse_at", 2e-3)):
            for where, value in expected[wanted].items():
                place = tuple(int(part) for part in where.split(","))
                assert found[place] == pytest.approx(value, abs=slack), where
        assert (lse == -numpy.inf).sum() == expected["n_rows_empty"]
    elif case["check"] == "attention_const":
        ones = numpy.ones((1, 1, 1, 64))
        q, k, v = (
            numpy.array(rows, float).reshape(1, 1, -1, 1) * ones
            for rows in (given["q"], given["k_rows"], given["v_rows"])
        )
        member = MASKED[0] if "mask_keep" in given else WORKED
        mask = numpy.array(given["mask_keep"], bool) if "mask_keep" in given else None
        out, lse = bench.attention(member, q, k, v, mask=mask)
        numpy.testing.assert_allclose(out, expected["o"], rtol=5e-3)
        numpy.testing.assert_allclose(lse, expected["lse"], rtol=1e-6)
    else:
        tensors = public_attention.tensors(given)
        for name in ("top_left", "bottom_right"):
            out, lse = bench.attention(WORKED, *tensors, causal=name)
            wanted = numpy.array(expected[f"lse_{name}"], float)
            numpy.testing.assert_allclose(lse[0, 0], wanted, atol=2e-3)
            assert out[0, 0, 0, 0] == pytest.approx(expected[f"o00_{name}"], abs=2e-2)


def test_nan_stays_in_its_row(bench: Bench) -> None:
    q, k, v = draw(WORKED, 3, (1, 1, 1, 70, 90))
    q[0, 0, 5, 7] = numpy.nan
    out, lse = bench.attention(WORKED, q, k, v)
    rows = numpy.arange(70) != 5
    assert numpy.isnan(out[0, 0, 5]).all()
    assert numpy.isnan(lse[0, 0, 5])
    exact, _ = attention(q[:, :, rows], k, v)
    assert numpy.abs(out[:, :, rows] - exact).max() < 0.05


def test_rows_do_not_depend_on_the_batch(bench: Bench) -> None:
    """Bitwise: other batches, more queries behind them, and another run change nothing."""
    q, k, v = draw(WORKED, 4, (3, 2, 2, 150, 333))
    all_of = bench.attention(WORKED, q, k, v, persistent=True)[0]
    again = bench.attention(WORKED, q, k, v, persistent=True)[0]
    one = bench.attention(WORKED, q[1:2], k[1:2], v[1:2])[0]
    fewer = bench.attention(WORKED, q[:, :, :9], k, v)[0]
    assert (all_of == again).all()
    assert (all_of[1:2] == one).all()
    assert (all_of[:, :, :9] == fewer).all()


def test_a_thousand_random_problems(bench: Bench) -> None:
    rng = numpy.random.default_rng(11)
    members = (*MEMBERS, *MASKED)
    for number in range(1000):
        member = members[number % len(members)]
        key_heads = int(rng.integers(1, 3))
        shape = (
            int(rng.integers(1, 3)),
            key_heads * int(rng.integers(1, 3)),
            key_heads,
            int(rng.integers(1, 280)),
            int(rng.integers(0, 320)),
        )
        tensors = draw(member, number, shape)
        options: dict[str, Any] = {"causal": (None, "top_left", "bottom_right")[number // 3 % 3]}
        if member.mask:
            wanted = (shape[0], shape[1], shape[3], max(1, shape[4]))
            kept = tuple(n if rng.random() < 0.7 else 1 for n in wanted)
            options["mask"] = rng.random(kept) < rng.choice([0.05, 0.5, 0.95])
        wanted_pair = attention(*tensors, **options)
        found = bench.attention(
            member,
            *tensors,
            **options,
            persistent=bool(number % 2),
            rows_outside=bool(number // 2 % 2),
        )
        require_close(member, found, wanted_pair, f"{number}: {shape} {options.get('causal')}")
