"""Attention forward beside what users run: TFLOP/s on one device, in one process.

    python benchmarks/attention.py                       # every cell, every member, every peer
    python benchmarks/attention.py --depth 64 --lengths 4096 --json results.json
    python benchmarks/attention.py --candidates --depth 128 --causal --lengths 512 1024 2048 4096
    python benchmarks/attention.py --repeat 10 --seed 1  # the chosen members alone, ten times

B*S = 16384 and heads = 2048 / D in BF16; causal counts half the operations. Random inputs; the
second-level cache is flushed before each call; rounds of all candidates alternate, and the median
is reported. Each candidate's output is compared with float64 on a few rows first, and what is wrong
is not timed; a peer that is not there is named with the reason. Peers are torch's cuDNN and flash
backends, FA3, a Triton kernel of our own, and JAX's Mosaic, as far as they import. `--flex` adds
FlexAttention, whose Triton kernel torch compiles for each cell.

`--candidates` times members that might replace chosen ones, beside the chosen. `--repeat` times
what `choose` picks, and the peers, in independent passes: the seed draws the inputs, the order of
the cells, and the order of the candidates in each round anew. Its results had no part in setting
the thresholds of `choose`, which favour the run that they came from. Needs torch.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from attention_spread import passes, report_spread
from attention_timing import Call, Cell, best, measured, report_absent

from tylo.codegen.attention.choose import Request, choose
from tylo.codegen.attention.launch import ARCHITECTURE, Ready
from tylo.codegen.attention.member import WORKED, Member
from tylo.codegen.attention.problem import Problem
from tylo.codegen.cache import compile_cached
from tylo.codegen.launch.devices import device_state

LENGTHS = (512, 1024, 2048, 4096, 8192, 16384)
ROUNDS = 9

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
    kinds: dict[str, tuple[Member, bool]], torch: Any, q: Any, k: Any, v: Any, causal: bool
) -> dict[str, Call]:
    """Launches of members, by name; of each is said whether its blocks stay."""
    calls = {}
    lse = torch.empty(q.shape[:-1], dtype=torch.float32, device="cuda")
    stream = torch.cuda.current_stream().cuda_stream
    for name, (member, persistent) in kinds.items():
        out = torch.empty_like(q)
        problem = problem_of(q, k, out, causal)
        ready = Ready(member, problem, device_state(0), persistent=persistent)

        def call(ready: Ready = ready, out: Any = out) -> Any:
            ready(
                q=q.data_ptr(), k=k.data_ptr(), v=v.data_ptr(), out=out.data_ptr(),
                lse=lse.data_ptr(), mask=0, stream=stream,
            )  # fmt: skip
            return out

        calls[name] = call
    return calls


def both_ways(members: Iterable[Member]) -> dict[str, tuple[Member, bool]]:
    """Each member with blocks that stay and with blocks that come and go, by label."""
    return {
        label(each, persistent): (each, persistent)
        for each in members
        for persistent in (False, True)
    }


def chosen(problem: Cell) -> dict[str, tuple[Member, bool]]:
    """What `choose` picks for a cell, alone."""
    depth, causal, length = problem
    found = choose(Request(depth, "bf16", length, length, causal, mask=False))
    return {"chosen": (found.member, found.persistent)}


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
    print(f"geometric mean of own / best peer over {len(ratios)} cells: "
          f"{statistics.geometric_mean(ratios):.3f}")  # fmt: skip
    report_absent(cells)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--depth", type=int, nargs="*", default=[64, 128])
    parser.add_argument("--lengths", type=int, nargs="*", default=list(LENGTHS))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--causal", action="store_true", help="causal cells alone")
    parser.add_argument("--candidates", action="store_true")
    parser.add_argument("--flex", action="store_true")
    parser.add_argument("--repeat", type=int, default=0, help="passes over the chosen members")
    parser.add_argument("--seed", type=int, default=0, help="of inputs and orders of the passes")
    parser.add_argument("--json")
    given = parser.parse_args()
    import torch

    cells = [
        (depth, causal, length)
        for depth in given.depth
        for causal in ((True,) if given.causal else (False, True))
        for length in given.lengths
    ]
    family = CANDIDATES if given.candidates else MEMBERS
    kinds = {cell: chosen(cell) if given.repeat else both_ways(family[cell[0]]) for cell in cells}
    prepare({member for each in kinds.values() for member, _ in each.values()})
    options = {"rounds": given.rounds, "flex": given.flex}

    def one(cell: Cell, **more: Any) -> dict[str, Any]:
        return measured(torch, cell, partial(own_calls, kinds[cell]), **options, **more)

    if given.repeat:
        results: Any = passes(one, cells, given.repeat, given.seed)
        report_spread(results)
    else:
        results = [one(cell, seed=cell[2]) for cell in cells]
        report(results)
    if given.json:
        kept = {"device": torch.cuda.get_device_name(), "seed": given.seed}
        kept["passes" if given.repeat else "cells"] = results
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump(kept, file, indent=1)


def prepare(members: Iterable[Member]) -> None:
    """Compile members, several at a time, into the cache."""
    with ThreadPoolExecutor() as pool:
        list(
            pool.map(lambda m: compile_cached(m.source(), ARCHITECTURE, kernels=[m.entry]), members)
        )


if __name__ == "__main__":
    main()
