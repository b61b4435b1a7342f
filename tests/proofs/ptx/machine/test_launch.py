"""The machine runs kernels of every kind, under many schedules, and gets numpy's results."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ptx_schedules import many_schedules
from tylo.layouts.errors import LaunchError
from tylo.proofs.ptx.machine.faults import MachineFault
from tylo.proofs.ptx.machine.launch import Placed, Unwritten, launch

PtxOf = Callable[[str], str]

schedules = pytest.mark.parametrize("seed", [None, 0, 1, 2, 3])


def random(seed: int | None) -> np.random.Generator:
    return np.random.default_rng(1000 + (seed or 0))


@schedules
def test_block_sum(ptx_of: PtxOf, seed: int | None) -> None:
    x = random(seed).integers(-50, 50, size=(3, 1000)).astype(np.float32)
    y = np.zeros(3, np.float32)
    launch(ptx_of("block_sum"), "block_sum", 3, 128, [x, Unwritten(y), 1000], seed=seed)
    assert y.tolist() == x.sum(axis=1).tolist()


@schedules
def test_collatz(ptx_of: PtxOf, seed: int | None) -> None:
    x = random(seed).integers(1, 200, size=2 * 48).astype(np.uint32)
    y = np.zeros(96, np.uint32)
    launch(ptx_of("collatz"), "collatz", 2, 48, [x, Unwritten(y)], seed=seed)

    def steps(v: int) -> int:
        return 0 if v == 1 else 1 + steps(3 * v + 1 if v % 2 else v // 2)

    assert y.tolist() == [steps(int(v)) for v in x]


@schedules
def test_transpose(ptx_of: PtxOf, seed: int | None) -> None:
    x = random(seed).normal(size=(64, 64)).astype(np.float32)
    y = np.zeros((64, 64), np.float32)
    launch(ptx_of("transpose"), "transpose", (2, 2), (32, 4), [x, Unwritten(y), 64], seed=seed)
    assert np.array_equal(y, x.T)


@schedules
@pytest.mark.parametrize("tiles", [1, 2, 7])
def test_stages(ptx_of: PtxOf, seed: int | None, tiles: int) -> None:
    x = random(seed).integers(0, 1000, size=(tiles, 512)).astype(np.int32)
    y = np.zeros(128, np.int32)
    launch(ptx_of("stages"), "stages", 1, 128, [x, Unwritten(y), tiles], seed=seed)
    weights = np.arange(1, tiles + 1)[:, None]
    wanted = np.roll(x, -516, axis=1).reshape(tiles, 128, 4).sum(axis=2)
    assert y.tolist() == (wanted * weights).sum(axis=0).tolist()


@schedules
def test_product(ptx_of: PtxOf, seed: int | None) -> None:
    g = random(seed)
    a = g.integers(-8, 8, size=(16, 16)).astype(ml_dtypes.bfloat16)
    b = g.integers(-8, 8, size=(16, 8)).astype(ml_dtypes.bfloat16)
    d = np.zeros((16, 8), np.float32)
    bits = [m.view(np.uint16) for m in (a, b)]
    launch(ptx_of("product"), "product", 1, 32, [*bits, Unwritten(d)], seed=seed)
    assert np.array_equal(d, a.astype(np.float32) @ b.astype(np.float32))


@schedules
def test_histogram(ptx_of: PtxOf, seed: int | None) -> None:
    x = random(seed).integers(0, 256, size=1000).astype(np.uint8)
    counts = np.zeros(256, np.uint32)
    launch(ptx_of("histogram"), "histogram", 2, 64, [x, counts, 1000], seed=seed)
    assert counts.tolist() == np.bincount(x, minlength=256).tolist()


@schedules
@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_hand_over(ptx_of: PtxOf, seed: int | None, rounds: int) -> None:
    x = random(seed).integers(0, 1000, size=(rounds, 32)).astype(np.int32)
    y = np.zeros(32, np.int32)
    launch(ptx_of("hand_over"), "hand_over", 1, 64, [x, Unwritten(y), rounds], seed=seed)
    weights = np.arange(1, rounds + 1)[:, None]
    assert y.tolist() == (x[:, ::-1] * weights).sum(axis=0).tolist()


@schedules
def test_local_sort(ptx_of: PtxOf, seed: int | None) -> None:
    x = random(seed).integers(-99, 99, size=(40, 8)).astype(np.int32)
    y = np.zeros((40, 8), np.int32)
    launch(ptx_of("local_sort"), "local_sort", 1, 40, [x, Unwritten(y)], seed=seed)
    assert np.array_equal(y, np.sort(x, axis=1))


@schedules
def test_softmax(ptx_of: PtxOf, seed: int | None) -> None:
    x = random(seed).normal(size=(3, 32)).astype(np.float32)
    y = np.zeros((3, 32), np.float32)
    report = launch(ptx_of("softmax"), "softmax", 3, 32, [x, Unwritten(y)], seed=seed)
    assert report.approximate == {"ex2.approx.ftz.f32"}
    exact = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    assert np.allclose(y, exact / exact.sum(axis=1, keepdims=True), rtol=1e-6)


@pytest.mark.parametrize("seed", [None, 0, 1])
def test_pack_kernels(kernels: Any, architecture: str, seed: int | None) -> None:
    for shape in [(1, 1, 1, "bf16"), (2, 2, 4, "f16")]:
        pack = kernels.Pack(*shape)
        blocks = 3
        x = random(seed).normal(size=blocks * pack.source_bytes // 4).astype(np.float32)
        words = np.zeros(blocks * pack.word_bytes // 4, np.uint32)
        ptx = kernels.compiled(pack.cuda(), architecture)
        launch(ptx, "pack", blocks, 32 * pack.warps, [x, Unwritten(words)], seed=seed)
        kind: Any = ml_dtypes.bfloat16 if pack.half == "bf16" else np.float16
        tiles = x.reshape(-1, 16 * pack.m, 16 * pack.k).astype(kind).view(np.uint16)
        for group, tile in enumerate(tiles):
            for lane in range(32):
                for word in range(4 * pack.m * pack.k):
                    atom, register = divmod(word, 4)
                    k, m = divmod(atom, pack.m)
                    row = 16 * m + lane // 4 + 8 * (register & 1)
                    column = 16 * k + lane % 4 * 2 + 8 * (register >> 1)
                    got = words[(group * 32 + lane) * 4 * pack.m * pack.k + word]
                    assert got == int(tile[row, column]) | int(tile[row, column + 1]) << 16


def test_bad_launches_are_refused(ptx_of: PtxOf) -> None:
    ptx = ptx_of("collatz")
    x = np.zeros((4, 4), np.uint32)
    for grid, threads, arguments, message in (
        (0, 32, [x, x], "a grid of"),
        (1, 1025, [x, x], "a grid of"),
        (1, 32, [x], "takes 2 arguments, 1 are given"),
        (1, 32, [x.T, x], "not contiguous"),
    ):
        with pytest.raises(LaunchError, match=message):
            launch(ptx, "collatz", grid, threads, arguments)


def test_progress_counts_blocks(ptx_of: PtxOf) -> None:
    seen: list[tuple[int, int]] = []
    x = np.ones(2000 * 32, np.uint32)
    launch(
        ptx_of("collatz"),
        "collatz",
        2000,
        32,
        [x, Unwritten(np.zeros_like(x))],
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen == [(1024, 2000), (2000, 2000)]


EVERY_KIND: dict[str, Callable[..., None]] = {
    "block_sum": test_block_sum,
    "collatz": test_collatz,
    "transpose": test_transpose,
    "stages": partial(test_stages, tiles=4),
    "product": test_product,
    "histogram": test_histogram,
    "hand_over": partial(test_hand_over, rounds=5),
    "local_sort": test_local_sort,
    "softmax": test_softmax,
}


# An alarm here would be a false one: what is wrong is seeded in `test_faults` and `test_streams`.
@many_schedules
@pytest.mark.parametrize("kernel", EVERY_KIND)
def test_no_false_alarm_under_many_schedules(
    kernel: str, seeds: range, compile_example: Callable[[str, str], str]
) -> None:
    for seed in seeds:
        EVERY_KIND[kernel](lambda name: compile_example(name, "sm_90a"), seed=seed)


@pytest.mark.parametrize("after", [0, 4, 8, 12, 20])
def test_arrays_begin_where_they_are_placed(after: int) -> None:
    ptx = """.version 8.0 .target sm_90 .address_size 64
    .visible .entry k(.param .u64 x, .param .u64 y) {
      .reg .b32 %r<4>; .reg .b64 %d<6>;
      ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y];
      mov.u32 %r1, %tid.x; mul.wide.u32 %d3, %r1, 8;
      add.s64 %d4, %d1, %d3; add.s64 %d5, %d2, %d3;
      ld.global.u64 %d1, [%d4]; st.global.u64 [%d5], %d1; ret; }"""
    x, y = np.arange(10, dtype=np.uint32), np.zeros(10, np.uint32)
    given = [Placed(x, after), Placed(Unwritten(y), after)]
    if after % 8:
        with pytest.raises(MachineFault, match="no multiple of 8"):
            launch(ptx, "k", 1, 5, given)
        return
    launch(ptx, "k", 1, 5, given)
    assert y.tolist() == list(range(10))
    for threads, moved in ((6, 0), (1, -8)):
        with pytest.raises(MachineFault, match="outside of"):
            launch(ptx.replace("[%d4]", f"[%d4+{moved}]"), "k", 1, threads, given)
