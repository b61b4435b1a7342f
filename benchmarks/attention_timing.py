"""One cell of `benchmarks/attention.py`: drawn tensors, candidates that are right, their rates.

A candidate is compared with float64 on a few rows before it is timed. Rounds of all candidates
alternate, the second-level cache is flushed before each call, and the median counts.
"""

from __future__ import annotations

import math
import random
import statistics
from collections import Counter
from collections.abc import Callable
from typing import Any

from attention_peers import one_line, peers_of

TOKENS, WIDTH = 16384, 2048
FLUSHED_BYTES = 256 << 20
CLOSE = 1e-2

Call = Callable[[], Any]
Cell = tuple[int, bool, int]  # depth, causal, length
Make = Callable[[Any, Any, Any, Any, bool], dict[str, Call]]  # torch, q, k, v, causal


def error_of(torch: Any, out: Any, q: Any, k: Any, v: Any, causal: bool) -> float:
    """Relative error of the last 32 rows of the last head against float64."""
    if out.shape != q.shape:
        out = out.transpose(1, 2)
    rows = slice(q.shape[2] - 32, None)
    one = [each[-1, -1].double() for each in (q, k, v)]
    scores = one[0][rows] @ one[1].T / math.sqrt(q.shape[-1])
    if causal:
        index = torch.arange(q.shape[2], device="cuda")
        scores = scores.masked_fill(index[None] > index[rows][:, None], -math.inf)
    exact = scores.softmax(-1) @ one[2]
    found = out[-1, -1, rows].double()
    error = float((found - exact).norm() / exact.norm())
    return error if math.isfinite(error) else math.inf


def checked(
    torch: Any, q: Any, k: Any, v: Any, causal: bool, calls: dict[str, Call]
) -> tuple[dict[str, Call], dict[str, str]]:
    """The calls whose results are near float64, and why the others are left out."""
    right, absent = {}, {}
    for name, call in calls.items():
        try:
            error = error_of(torch, call(), q, k, v, causal)
        except Exception as reason:
            absent[name] = one_line(reason)
            continue
        if error < CLOSE:
            right[name] = call
        else:
            absent[name] = f"error {error:.0e}"
    return right, absent


def timed(
    torch: Any, calls: dict[str, Call], rounds: int, order: random.Random | None = None
) -> dict[str, float]:
    """Median milliseconds of each call, the cache flushed before; `order` shuffles rounds."""
    flushed = torch.empty(FLUSHED_BYTES, dtype=torch.uint8, device="cuda")
    events: dict[str, list[Any]] = {name: [] for name in calls}
    for call in calls.values():
        call()
        call()
    turns = list(calls.items())
    for _ in range(rounds):
        if order:
            order.shuffle(turns)
        for name, call in turns:
            flushed.zero_()
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            call()
            end.record()
            events[name].append((start, end))
    torch.cuda.synchronize()
    return {
        name: statistics.median(start.elapsed_time(end) for start, end in pairs)
        for name, pairs in events.items()
    }


def measured(
    torch: Any,
    problem: Cell,
    make: Make,
    *,
    seed: int,
    rounds: int,
    flex: bool = False,
    order: random.Random | None = None,
) -> dict[str, Any]:
    """TFLOP/s of what `make` returns for drawn tensors, and of every peer, once they are right."""
    depth, causal, length = problem
    batch, heads = TOKENS // length, WIDTH // depth
    torch.manual_seed(seed)
    q, k, v = (
        torch.randn(batch, heads, length, depth, dtype=torch.bfloat16, device="cuda")
        for _ in range(3)
    )
    operations = 4 * batch * heads * length * length * depth / (2 if causal else 1)
    own, peers = make(torch, q, k, v, causal), peers_of(torch, q, k, v, causal, flex)
    calls, wrong = checked(torch, q, k, v, causal, {**peers.calls, **own})
    clocks = {name: clock for name, clock in peers.milliseconds.items() if name in calls}
    events = {name: call for name, call in calls.items() if name not in clocks}
    times = timed(torch, events, rounds, order)
    times |= {name: clock(rounds) for name, clock in clocks.items()}
    return {
        "depth": depth, "causal": causal, "length": length,
        "rates": {name: operations / time / 1e9 for name, time in times.items()},
        "wrong": {**peers.absent, **wrong},
        "own": sorted(own), "peers": sorted(peers.calls),
    }  # fmt: skip


def best(rates: dict[str, float], names: list[str]) -> tuple[str, float]:
    known = [name for name in names if name in rates]
    name = max(known, key=lambda each: rates[each]) if known else ""
    return (name, rates[name]) if known else ("", math.nan)


def report_absent(cells: list[dict[str, Any]]) -> None:
    """A line for each candidate that was not timed, and each reason."""
    reasons = Counter(pair for each in cells for pair in each["wrong"].items())
    for (name, reason), count in sorted(reasons.items()):
        print(f"not timed in {count} of {len(cells)}: {name}: {reason}")
