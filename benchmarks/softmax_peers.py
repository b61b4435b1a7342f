"""What `benchmarks/softmax.py` compares with: torch, torch.compile, Triton, Liger and QuACK.

A peer is a function of (x, out) that leaves the softmax of x somewhere; those that cannot be
imported, or refuse a shape, are left out. The Triton kernels are ours, in the form that users
write: a block of rows in one program, or an online loop where a row is too wide, each tried in
several configurations, of which the fastest counts.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch

Peer = Callable[[Any, Any], Any]
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}

with contextlib.suppress(ImportError):
    import triton
    import triton.language as tl

    @triton.jit
    def _tile(X, Y, rows, n, sx, ROWS: tl.constexpr, BLOCK: tl.constexpr):  # type: ignore
        r = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
        c = tl.arange(0, BLOCK)
        ok = (r[:, None] < rows) & (c[None, :] < n)
        at = r[:, None] * sx + c[None, :]
        x = tl.load(X + at, mask=ok, other=-float("inf")).to(tl.float32)
        x = tl.exp2((x - tl.max(x, 1)[:, None]) * 1.4426950408889634)
        tl.store(Y + at, (x * (1.0 / tl.sum(x, 1))[:, None]).to(Y.dtype.element_ty), mask=ok)

    @triton.jit
    def _row(X, Y, n, sx, BLOCK: tl.constexpr):  # type: ignore
        r = tl.program_id(0).to(tl.int64)
        c = tl.arange(0, BLOCK)
        x = tl.load(X + r * sx + c, mask=c < n, other=-float("inf")).to(tl.float32)
        x = tl.exp2((x - tl.max(x, 0)) * 1.4426950408889634)
        y = (x * (1.0 / tl.sum(x, 0))).to(Y.dtype.element_ty)
        tl.store(Y + r * sx + c, y, mask=c < n)

    @triton.jit
    def _online(X, Y, n, sx, BLOCK: tl.constexpr, LSE: tl.constexpr):  # type: ignore
        r = tl.program_id(0).to(tl.int64)
        m = tl.full([BLOCK], -1e30, tl.float32)
        total = tl.zeros([BLOCK], tl.float32)
        for c0 in tl.range(0, n, BLOCK, num_stages=4):
            c = c0 + tl.arange(0, BLOCK)
            x = tl.load(X + r * sx + c, mask=c < n, other=-1e30).to(tl.float32) * 1.4426950408889634
            above = tl.maximum(m, x)
            total = total * tl.exp2(m - above) + tl.exp2(x - above)
            m = above
        greatest = tl.max(m, 0)
        total_row = tl.sum(total * tl.exp2(m - greatest), 0)
        if LSE:
            tl.store(Y + r, (greatest + tl.log2(total_row)) * 0.6931471805599453)
        else:
            inverse = 1.0 / total_row
            for c0 in tl.range(0, n, BLOCK, num_stages=4):
                c = c0 + tl.arange(0, BLOCK)
                x = tl.load(X + r * sx + c, mask=c < n, other=-1e30).to(tl.float32)
                y = tl.exp2(x * 1.4426950408889634 - greatest) * inverse
                tl.store(Y + r * sx + c, y.to(Y.dtype.element_ty), mask=c < n)


def triton_peers(columns: int) -> Iterator[tuple[str, Peer]]:
    """Every configuration that is tried for a width."""
    if "triton" not in globals():
        return
    block = triton.next_power_of_2(columns)

    def tile(rows: int, warps: int) -> Peer:
        def run(x: Any, y: Any) -> None:
            _tile[(triton.cdiv(x.shape[0], rows),)](
                x, y, *x.shape, x.stride(0), ROWS=rows, BLOCK=block, num_warps=warps
            )

        return run

    def row(warps: int) -> Peer:
        def run(x: Any, y: Any) -> None:
            _row[(x.shape[0],)](x, y, x.shape[1], x.stride(0), BLOCK=block, num_warps=warps)

        return run

    def online(step: int, warps: int) -> Peer:
        def run(x: Any, y: Any) -> None:
            _online[(x.shape[0],)](
                x, y, x.shape[1], x.stride(0), BLOCK=step, LSE=False, num_warps=warps
            )

        return run

    if block <= 1024:
        for elements in (1024, 2048, 4096, 8192):
            for warps in (2, 4, 8):
                if elements >= block:
                    yield f"tile {elements // block}, {warps} warps", tile(elements // block, warps)
    elif block <= 65536:
        for warps in (4, 8, 16, 32):
            if 4 <= block // (32 * warps) <= 128:
                yield f"row, {warps} warps", row(warps)
    if block > 32768:
        for step, warps in ((4096, 8), (8192, 16), (16384, 32), (8192, 32)):
            yield f"online {step}, {warps} warps", online(step, warps)


def triton_lse(x: Any, out: Any) -> None:
    """Log-sum-exp of rows, in one pass."""
    step = min(4096, triton.next_power_of_2(x.shape[1]))
    _online[(x.shape[0],)](x, out, x.shape[1], x.stride(0), BLOCK=step, LSE=True, num_warps=8)


def compiled() -> Callable[[Any], Any]:
    """torch.compile's softmax, compiled for each shape."""
    torch._dynamo.config.cache_size_limit = 1024
    return torch.compile(lambda x: torch.softmax(x, -1), dynamic=False)


def library_peers() -> dict[str, Peer]:
    """The peers that choose for themselves, by name; what does not import is named and left out."""
    compile_softmax = compiled()
    peers: dict[str, Peer] = {
        "torch": lambda x, out: torch.softmax(x, -1),
        "torch.compile": lambda x, out: compile_softmax(x),
    }
    try:
        from liger_kernel.ops.softmax import LigerSoftmaxFunction

        peers["Liger"] = lambda x, out: LigerSoftmaxFunction.apply(x)
    except Exception as reason:
        print(f"absent: Liger: {type(reason).__name__}: {reason}")
    try:
        from quack.softmax import softmax

        peers["QuACK"] = lambda x, out: softmax(x)
    except Exception as reason:
        print(f"absent: QuACK: {type(reason).__name__}: {reason}")
    return peers


def warm(jobs: list[tuple[str, int, int]]) -> None:
    """Compile peers into their caches on disk: (dtype, rows, columns) each."""
    softmax = compiled()
    for dtype, rows, columns in jobs:
        with contextlib.suppress(Exception):
            x = torch.empty(64, columns, device="cuda", dtype=DTYPES[dtype])
            for _, run in triton_peers(columns):
                run(x, torch.empty_like(x))
            x = torch.empty(rows, columns, device="cuda", dtype=DTYPES[dtype])
            softmax(x)
            del x
            torch.cuda.empty_cache()


if __name__ == "__main__":
    warm(json.loads(sys.argv[1]))
