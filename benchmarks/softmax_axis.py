"""Softmax along an axis that is not the innermost: `python benchmarks/softmax.py --axis`.

Tensors are (outer, columns, inner), 512 MiB each, the softmax along `columns`; rates count each
element read once and written once. Peers are torch, torch.compile, and Triton kernels of our own: a
tile of all columns of several rows, or an online loop where there are too many.
"""

from __future__ import annotations

import contextlib
import json
import math
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

from softmax_peers import DTYPES

# Columns and inner rows; as many outer ones as fill a tensor.
SHAPES = (
    (3, 65536), (21, 65536), (64, 4096), (128, 4096), (256, 1024), (512, 4096), (1000, 49),
    (1024, 128), (2048, 64), (4096, 4096), (16384, 64), (100, 7),
)  # fmt: skip
BYTES = 512 << 20
Peer = Callable[[Any, Any], Any]

with contextlib.suppress(ImportError):
    import triton
    import triton.language as tl

    @triton.jit
    def _columns(X, Y, columns, inner, BLOCK_C: tl.constexpr, BLOCK_I: tl.constexpr):  # type: ignore
        tiles = tl.cdiv(inner, BLOCK_I)
        outer = (tl.program_id(0) // tiles).to(tl.int64)
        i = tl.program_id(0) % tiles * BLOCK_I + tl.arange(0, BLOCK_I)
        c = tl.arange(0, BLOCK_C)
        ok = (c[:, None] < columns) & (i[None, :] < inner)
        at = outer * columns * inner + c[:, None] * inner + i[None, :]
        x = tl.load(X + at, mask=ok, other=-float("inf")).to(tl.float32)
        x = tl.exp2((x - tl.max(x, 0)[None, :]) * 1.4426950408889634)
        y = x * (1.0 / tl.sum(x, 0))[None, :]
        tl.store(Y + at, y.to(Y.dtype.element_ty), mask=ok)

    @triton.jit
    def _online(X, Y, columns, inner, BLOCK_C: tl.constexpr, BLOCK_I: tl.constexpr):  # type: ignore
        tiles = tl.cdiv(inner, BLOCK_I)
        outer = (tl.program_id(0) // tiles).to(tl.int64)
        i = tl.program_id(0) % tiles * BLOCK_I + tl.arange(0, BLOCK_I)
        start = outer * columns * inner
        top = tl.full([BLOCK_I], -1e30, tl.float32)
        total = tl.zeros([BLOCK_I], tl.float32)
        for first in tl.range(0, columns, BLOCK_C, num_stages=3):
            c = first + tl.arange(0, BLOCK_C)
            ok = (c[:, None] < columns) & (i[None, :] < inner)
            at = start + c[:, None] * inner + i[None, :]
            x = tl.load(X + at, mask=ok, other=-1e30).to(tl.float32) * 1.4426950408889634
            above = tl.maximum(top, tl.max(x, 0))
            total = total * tl.exp2(top - above) + tl.sum(tl.exp2(x - above[None, :]), 0)
            top = above
        inverse = 1.0 / total
        for first in tl.range(0, columns, BLOCK_C, num_stages=3):
            c = first + tl.arange(0, BLOCK_C)
            ok = (c[:, None] < columns) & (i[None, :] < inner)
            at = start + c[:, None] * inner + i[None, :]
            x = tl.load(X + at, mask=ok, other=-1e30).to(tl.float32) * 1.4426950408889634
            y = tl.exp2(x - top[None, :]) * inverse[None, :]
            tl.store(Y + at, y.to(Y.dtype.element_ty), mask=ok)


def triton_peers(columns: int, inner: int) -> Iterator[Peer]:
    """Every configuration that is tried for a shape."""
    if "triton" not in globals():
        return
    whole = triton.next_power_of_2(columns)
    widest = triton.next_power_of_2(inner)

    def peer(kernel: Any, block: int, along: int, warps: int) -> Peer:
        def run(x: Any, y: Any) -> None:
            grid = (x.shape[0] * triton.cdiv(inner, along),)
            kernel[grid](x, y, columns, inner, BLOCK_C=block, BLOCK_I=along, num_warps=warps)

        return run

    for elements, warps in ((4096, 4), (8192, 4), (16384, 8), (32768, 16)):
        along = min(widest, elements // whole)
        if along >= min(widest, 16):
            yield peer(_columns, whole, along, warps)
    if columns > 512:
        for block, along, warps in ((64, 64, 4), (128, 64, 8), (128, 128, 8)):
            yield peer(_online, block, min(widest, along), warps)


def library_peers(torch: Any) -> dict[str, Peer]:
    """torch as it is and compiled."""
    torch._dynamo.config.cache_size_limit = 1024
    compiled = torch.compile(lambda x: torch.softmax(x, 1), dynamic=False)
    return {
        "torch": lambda x, y: torch.softmax(x, 1),
        "torch.compile": lambda x, y: compiled(x),
    }


def shaped(buffer: Any, kind: Any, columns: int, inner: int) -> Any:
    """As much of a buffer of bytes as whole rows of that shape fill."""
    held = buffer.view(kind)
    outer = held.numel() // (columns * inner)
    return held[: outer * columns * inner].view(outer, columns, inner)


def run_axis(bench: Any, results: dict[str, Any]) -> None:
    """Rates of Tylo and its peers for every shape, in one type; the bench is filled with it."""
    import tylo

    torch, dtype = bench.torch, bench.dtype
    peers = library_peers(torch)
    for columns, inner in SHAPES:
        views = [shaped(each, DTYPES[dtype], columns, inner) for each in bench.buffers]
        half = len(views) // 2
        pairs = list(zip(views[:half], views[half:], strict=True))
        x, y = pairs[-1]
        y.view(torch.uint8).fill_(0xFF)
        tylo.kernels.softmax(x, axis=1, out=y)
        label = f"{dtype} ({x.shape[0]}, {columns}, {inner})"
        bench.require_close(f"along axis 1: {label}", y, torch.softmax(x, 1))
        amount = 2 * x.numel() * x.element_size() / 1e9

        def rate(run: Peer, pairs: Any = pairs, amount: float = amount) -> float:
            return amount / bench.timer([lambda x=x, y=y: run(x, y) for x, y in pairs])

        own = rate(lambda x, y: tylo.kernels.softmax(x, axis=1, out=y))
        found: dict[str, float] = {}
        every = [*peers.items(), *(("Triton", run) for run in triton_peers(columns, inner))]
        for name, run in every:
            try:
                found[name] = max(found.get(name, 0.0), rate(run))
            except Exception as error:
                print(f"  {name} {label}: {str(error)[:90]}")
        best = max(found, key=lambda each: found[each])
        reason = tylo.kernels.softmax_choice(x, axis=1, out=y).reason
        results[label] = {
            "Tylo": own, "peers": found, "ratio": own / found[best], "reason": reason,
        }  # fmt: skip
        print(
            f"{label} Tylo {own:.2f}, {best} {found[best]:.2f}, torch {found['torch']:.2f}, "
            f"ratio {own / found[best]:.2f}",
            flush=True,
        )


def print_axis_table(results: dict[str, Any], copies: dict[str, float]) -> None:
    """The results as Markdown, and the geometric mean of the ratios."""
    print("| type and shape | Tylo | of copy | torch | best peer | ratio |")
    print("|---|---|---|---|---|---|")
    for label, each in results.items():
        name = max(each["peers"], key=lambda peer: each["peers"][peer])
        own, best, of_torch = each["Tylo"], each["peers"][name], each["peers"]["torch"]
        print(
            f"| {label} | {own:.2f} | {own / copies[label.split()[0]]:.2f} | {of_torch:.2f} | "
            f"{name} {best:.2f} | {each['ratio']:.2f} |"
        )
    ratios = [each["ratio"] for each in results.values()]
    mean = math.exp(statistics.fmean(math.log(each) for each in ratios))
    print(f"geometric mean {mean:.3f}, least {min(ratios):.3f}")


def prepared(workers: int) -> None:
    """Compile the kernels and the peers, several at a time, into their caches on disk."""
    jobs = [(dtype, *shape) for dtype in ("f32", "bf16") for shape in SHAPES]
    share = max(1, workers // 2)
    running = [
        subprocess.Popen([sys.executable, __file__, json.dumps(jobs[start::share])])
        for start in range(share)
    ]
    for each in running:
        each.wait()


def warm(jobs: list[tuple[str, int, int]]) -> None:
    """Run everything once: (type, columns, inner) each."""
    import torch

    import tylo

    peers = library_peers(torch)
    for dtype, columns, inner in jobs:
        buffers = [torch.zeros(BYTES, dtype=torch.uint8, device="cuda") for _ in range(2)]
        x, y = (shaped(each, DTYPES[dtype], columns, inner) for each in buffers)
        own: Peer = lambda x, y: tylo.kernels.softmax(x, axis=1, out=y)  # noqa: E731
        for run in (own, *peers.values(), *triton_peers(columns, inner)):
            with contextlib.suppress(Exception):
                run(x, y)
        del x, y, buffers
        torch.cuda.empty_cache()


if __name__ == "__main__":
    warm(json.loads(sys.argv[1]))
