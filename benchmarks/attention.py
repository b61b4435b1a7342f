"""Attention forward beside what users run: TFLOP/s on one device, in one process.

    python benchmarks/attention.py                       # every cell, every member, every peer
    python benchmarks/attention.py --depth 64 --lengths 4096 --json results.json
    python benchmarks/attention.py --candidates --depth 128 --causal --lengths 512 1024 2048 4096

B*S = 16384 and heads = 2048 / D in BF16; causal counts half the operations. Random inputs; the
second-level cache is flushed before each call; rounds of all candidates alternate, and the median
is reported. Each candidate's output is compared with float64 on a few rows first, and what is wrong
is not timed. `--candidates` times members that might replace chosen ones, beside the chosen.
`--flex` adds FlexAttention, whose Triton kernel torch compiles for each cell. Needs torch.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tylo.codegen.attention.launch import ARCHITECTURE, Ready
from tylo.codegen.attention.member import WORKED, Member
from tylo.codegen.attention.problem import Problem
from tylo.codegen.cache import compile_cached
from tylo.codegen.launch.devices import device_state
from tylo.layouts.errors import TyloError

LENGTHS = (512, 1024, 2048, 4096, 8192, 16384)
TOKENS, WIDTH = 16384, 2048
FLUSHED_BYTES = 256 << 20
ROUNDS = 9
CLOSE = 1e-2

MEMBERS = {
    64: (
        WORKED,
        Member(64, "bf16", 2, 64, 4, reference="first"),
        Member(64, "bf16", 3, 128, 3),
        Member(64, "bf16", 3, 128, 3, reference="first"),
        Member(64, "bf16", 3, 128, 2, turns=False, reference="first"),
        Member(64, "bf16", 2, 128, 3, reference="first"),
        Member(64, "bf16", 1, 64, 3, residents=3),
        Member(64, "bf16", 1, 64, 3, residents=3, reference="first"),
        Member(64, "bf16", 1, 128, 2, residents=2, reference="first"),
        Member(64, "bf16", 2, 192, 2, reference="first"),
        Member(64, "bf16", 3, 96, 4, reference="first"),
    ),
    128: (
        Member(128, "bf16", 2, 128, 2),
        Member(128, "bf16", 2, 128, 2, reference="first"),
        Member(128, "bf16", 2, 128, 2, turns=False, reference="first"),
        Member(128, "bf16", 2, 160, 2, reference="first"),
        Member(128, "bf16", 2, 96, 3, reference="first"),
        Member(128, "bf16", 2, 112, 2, reference="first"),
        Member(128, "bf16", 3, 64, 3, reference="first"),
        Member(128, "bf16", 3, 80, 2, reference="first"),
        Member(128, "bf16", 1, 64, 2, residents=2, reference="first"),
    ),
}

# What might be faster than the member that is chosen; blocks that stay and that come and go.
CANDIDATES = {
    64: (
        Member(64, "bf16", 1, 64, 3, residents=3, reference="first"),
        Member(64, "bf16", 3, 128, 3, reference="first"),
        Member(64, "bf16", 2, 128, 3, reference="first"),
    ),
    128: (
        Member(128, "bf16", 2, 128, 2, reference="first"),
        Member(128, "bf16", 2, 64, 4, reference="first"),
        Member(128, "bf16", 2, 64, 4, turns=False, reference="first"),
        Member(128, "bf16", 2, 80, 3, reference="first"),
        Member(128, "bf16", 3, 64, 3, reference="first"),
        Member(128, "bf16", 1, 96, 1, residents=2, reference="first"),
        Member(128, "bf16", 1, 128, 1, residents=2, reference="first"),
    ),
}

Call = Callable[[], Any]


def label(member: Member, persistent: bool) -> str:
    """Groups x keys / stages, r residents, t for turns, f for first reference, p for persistent."""
    worked = " worked" if member == WORKED else ""
    first = "f" if member.reference == "first" else ""
    turns = "t" if member.turns and member.groups > 1 else ""
    kept = "p" if persistent else ""
    sizes = f"{member.groups}x{member.keys}/{member.stages}r{member.residents}"
    return f"{sizes}{turns}{first}{kept}{worked}"


def problem_of(q: Any, k: Any, out: Any, causal: bool, mask: Any = None) -> Problem:
    batch, heads, queries, depth = q.shape

    def strides(tensor: Any) -> tuple[int, int, int]:
        found = tensor.stride()
        return found[0], found[1], found[2]

    return Problem(
        batch=batch, heads=heads, key_heads=k.shape[1], queries=queries, keys=k.shape[2],
        depth=depth, dtype="bf16", q=strides(q), k=strides(k), v=strides(k), out=strides(out),
        scale=1 / math.sqrt(depth), causal="bottom_right" if causal else None, mask=mask,
    )  # fmt: skip


def own_calls(
    torch: Any, q: Any, k: Any, v: Any, causal: bool, members: Iterable[Member]
) -> dict[str, Call]:
    calls = {}
    lse = torch.empty(q.shape[:-1], dtype=torch.float32, device="cuda")
    stream = torch.cuda.current_stream().cuda_stream
    for member in members:
        for persistent in (False, True):
            out = torch.empty_like(q)
            ready = Ready(
                member, problem_of(q, k, out, causal), device_state(0), persistent=persistent
            )

            def call(ready: Ready = ready, out: Any = out) -> Any:
                ready(
                    q=q.data_ptr(), k=k.data_ptr(), v=v.data_ptr(), out=out.data_ptr(),
                    lse=lse.data_ptr(), mask=0, stream=stream,
                )  # fmt: skip
                return out

            calls[label(member, persistent)] = call
    return calls


def flex_call(torch: Any, q: Any, k: Any, v: Any, kept: Any = None) -> Call:
    """FlexAttention compiled for these shapes; `kept` says of batch, head, row and key."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    compiled = torch.compile(flex_attention, dynamic=False)
    rows, keys = q.shape[2], k.shape[2]
    block_mask = kept and create_block_mask(kept, None, None, rows, keys, device="cuda")
    return lambda: compiled(q, k, v, block_mask=block_mask)


def peer_calls(
    torch: Any, q: Any, k: Any, v: Any, causal: bool, flex: bool = False
) -> dict[str, Call]:
    from torch.nn.attention import SDPBackend, sdpa_kernel

    def sdpa(backend: Any) -> Call:
        def call() -> Any:
            with sdpa_kernel(backend):
                return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

        return call

    calls = {
        "cuDNN": sdpa(SDPBackend.CUDNN_ATTENTION),
        "flash": sdpa(SDPBackend.FLASH_ATTENTION),
    }
    if flex:
        kept = (lambda b, h, row, key: key <= row) if causal else None
        calls["Flex"] = flex_call(torch, q, k, v, kept)
    try:
        from fa3_fwd_interface import flash_attn_func

        rows = [each.transpose(1, 2).contiguous() for each in (q, k, v)]
        calls["FA3"] = lambda: flash_attn_func(*rows, causal=causal)
    except ImportError:
        pass
    return calls


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


def timed(torch: Any, calls: dict[str, Call], rounds: int) -> dict[str, float]:
    """Median milliseconds of each call, the cache flushed before it."""
    flushed = torch.empty(FLUSHED_BYTES, dtype=torch.uint8, device="cuda")
    events: dict[str, list[Any]] = {name: [] for name in calls}
    for call in calls.values():
        call()
        call()
    for _ in range(rounds):
        for name, call in calls.items():
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


def cell(
    torch: Any, depth: int, length: int, causal: bool, rounds: int, given: argparse.Namespace
) -> dict[str, Any]:
    batch, heads = TOKENS // length, WIDTH // depth
    torch.manual_seed(length)
    q, k, v = (
        torch.randn(batch, heads, length, depth, dtype=torch.bfloat16, device="cuda")
        for _ in range(3)
    )
    operations = 4 * batch * heads * length * length * depth / (2 if causal else 1)
    members = (CANDIDATES if given.candidates else MEMBERS)[depth]
    own = own_calls(torch, q, k, v, causal, members)
    peers = peer_calls(torch, q, k, v, causal, given.flex)
    calls, wrong = {}, {}
    for name, call in {**peers, **own}.items():
        try:
            error = error_of(torch, call(), q, k, v, causal)
        except (RuntimeError, TyloError) as reason:
            wrong[name] = str(reason)[:200]
            continue
        if error < CLOSE:
            calls[name] = call
        else:
            wrong[name] = f"error {error}"
    rates = {name: operations / time / 1e9 for name, time in timed(torch, calls, rounds).items()}
    return {
        "depth": depth, "causal": causal, "length": length, "rates": rates, "wrong": wrong,
        "own": sorted(own), "peers": sorted(peers),
    }  # fmt: skip


def best(rates: dict[str, float], names: list[str]) -> tuple[str, float]:
    known = [name for name in names if name in rates]
    name = max(known, key=lambda each: rates[each]) if known else ""
    return (name, rates[name]) if known else ("", math.nan)


def report(cells: list[dict[str, Any]]) -> None:
    ratios: list[float] = []
    for each in cells:
        rates = each["rates"]
        own, peer = best(rates, each["own"]), best(rates, each["peers"])
        ratios.append(own[1] / peer[1])
        rest = " ".join(f"{name} {rate:.0f}" for name, rate in sorted(rates.items()))
        print(
            f"D={each['depth']} {'causal' if each['causal'] else 'full  '} {each['length']:5d}  "
            f"own {own[1]:.0f} ({own[0]})  peer {peer[1]:.0f} ({peer[0]})  {ratios[-1]:.3f}\n"
            f"    {rest}"
        )
        for name, reason in each["wrong"].items():
            print(f"    NOT TIMED {name}: {reason}")
    print(f"geometric mean of own / best peer over {len(ratios)} cells: "
          f"{statistics.geometric_mean(ratios):.3f}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--depth", type=int, nargs="*", default=[64, 128])
    parser.add_argument("--lengths", type=int, nargs="*", default=list(LENGTHS))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--causal", action="store_true", help="causal cells alone")
    parser.add_argument("--candidates", action="store_true")
    parser.add_argument("--flex", action="store_true")
    parser.add_argument("--json")
    given = parser.parse_args()
    import torch

    family = CANDIDATES if given.candidates else MEMBERS
    members = [member for depth in given.depth for member in family[depth]]
    with ThreadPoolExecutor() as pool:
        list(
            pool.map(lambda m: compile_cached(m.source(), ARCHITECTURE, kernels=[m.entry]), members)
        )
    cells = [
        cell(torch, depth, length, causal, given.rounds, given)
        for depth in given.depth
        for causal in ((True,) if given.causal else (False, True))
        for length in given.lengths
    ]
    report(cells)
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump({"device": torch.cuda.get_device_name(), "cells": cells}, file, indent=1)


if __name__ == "__main__":
    main()
