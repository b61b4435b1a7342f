"""Attention forward in Triton as users write it: a peer of `benchmarks/attention.py`.

One program takes a block of query rows of one head and walks the keys once, tensors go through
tensor descriptors (TMA on Hopper), and under a causal mask the longest rows start first and only
the last steps look at the mask. Scale and log2(e) are one factor of the scores. The kernel is ours;
of several block sizes the fastest for a shape is kept, and what does not compile is passed over.

Lengths are multiples of the block sizes; there is nothing at the end of a row to mask.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import triton
import triton.language as tl

Call = Callable[[], Any]
LOG2_E = 1.4426950408889634


class Config(NamedTuple):
    """Rows of a program, keys of a step, warps, and steps in flight."""

    rows: int
    keys: int
    warps: int
    stages: int


CONFIGS = {
    64: (
        Config(128, 128, 8, 2),
        Config(128, 128, 8, 3),
        Config(128, 64, 8, 3),
        Config(128, 64, 4, 3),
        Config(64, 64, 4, 3),
    ),
    128: (
        Config(128, 128, 8, 2),
        Config(128, 64, 8, 3),
        Config(128, 64, 8, 4),
        Config(64, 128, 4, 2),
        Config(64, 64, 4, 3),
    ),
}


@triton.jit
def _steps(  # type: ignore[no-untyped-def]
    q, k_tensor, v_tensor, maximum, total, numerator, head, first_row, begin, end, factor,
    ROWS: tl.constexpr, KEYS: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    for key in tl.range(begin, end, KEYS):
        k = k_tensor.load([head + key, 0])
        scores = tl.dot(q, k.T)
        if MASKED:
            row = first_row + tl.arange(0, ROWS)
            column = key + tl.arange(0, KEYS)
            scores = tl.where(column[None, :] <= row[:, None], scores, -float("inf"))
        above = tl.maximum(maximum, tl.max(scores, 1) * factor)
        weights = tl.exp2(scores * factor - above[:, None])
        rescale = tl.exp2(maximum - above)
        total = total * rescale + tl.sum(weights, 1)
        v = v_tensor.load([head + key, 0])
        numerator = tl.dot(weights.to(v.dtype), v, numerator * rescale[:, None])
        maximum = above
    return maximum, total, numerator


@triton.jit
def attention_forward(  # type: ignore[no-untyped-def]
    q_tensor, k_tensor, v_tensor, out_tensor, length, factor,
    DEPTH: tl.constexpr, ROWS: tl.constexpr, KEYS: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    block = tl.program_id(0)
    if CAUSAL:
        block = tl.num_programs(0) - 1 - block
    head = tl.program_id(1) * length
    first_row = block * ROWS
    q = q_tensor.load([head + first_row, 0])
    maximum = tl.full([ROWS], -float("inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    numerator = tl.zeros([ROWS, DEPTH], tl.float32)
    end = length
    if CAUSAL:
        end = first_row // KEYS * KEYS
    maximum, total, numerator = _steps(
        q, k_tensor, v_tensor, maximum, total, numerator, head, first_row, 0, end, factor,
        ROWS, KEYS, False,
    )  # fmt: skip
    if CAUSAL:
        maximum, total, numerator = _steps(
            q, k_tensor, v_tensor, maximum, total, numerator, head, first_row, end,
            first_row + ROWS, factor, ROWS, KEYS, True,
        )  # fmt: skip
    out = numerator / total[:, None]
    out_tensor.store([head + first_row, 0], out.to(out_tensor.dtype))


def launch(config: Config, q: Any, k: Any, v: Any, out: Any, causal: bool) -> Call:
    """A launch of one configuration; the descriptors are made once."""
    from triton.tools.tensor_descriptor import TensorDescriptor

    batch, heads, length, depth = q.shape
    if length % config.rows or length % config.keys or k.shape != q.shape:
        raise ValueError(f"lengths {q.shape[2]} and {k.shape[2]} are no multiple of {config}")
    described = [
        TensorDescriptor(
            each.view(-1, depth), [batch * heads * length, depth], [depth, 1], [size, depth]
        )
        for each, size in ((q, config.rows), (k, config.keys), (v, config.keys), (out, config.rows))
    ]
    factor = LOG2_E / math.sqrt(depth)

    def call() -> Any:
        attention_forward[(length // config.rows, batch * heads)](
            *described, length, factor, DEPTH=depth, ROWS=config.rows, KEYS=config.keys,
            CAUSAL=causal, num_warps=config.warps, num_stages=config.stages,
        )  # fmt: skip
        return out

    return call


_fastest: dict[tuple[Any, ...], Config] = {}


def fastest(torch: Any, q: Any, k: Any, v: Any, causal: bool, rounds: int = 5) -> Call:
    """The fastest configuration for these shapes; it is looked for once a process and shape.

    Raises RuntimeError, with the reason of each, where none runs.
    """
    out = torch.empty_like(q)
    shape = (*q.shape, causal)
    if shape in _fastest:
        return launch(_fastest[shape], q, k, v, out, causal)
    times: dict[Config, float] = {}
    reasons = []
    for config in CONFIGS[q.shape[-1]]:
        try:
            call = launch(config, q, k, v, out, causal)
            times[config] = _milliseconds(torch, call, rounds)
        except Exception as reason:
            reasons.append(f"{config}: {reason!r}"[:200])
    if not times:
        raise RuntimeError("no configuration runs: " + "; ".join(reasons))
    _fastest[shape] = min(times, key=lambda each: times[each])
    return launch(_fastest[shape], q, k, v, out, causal)


def _milliseconds(torch: Any, call: Call, rounds: int) -> float:
    call()
    call()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(rounds):
        call()
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end)) / rounds
