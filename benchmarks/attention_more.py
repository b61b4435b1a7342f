"""Attention where it is hard: adversarial scores, Boolean masks, and what a call costs the host.

    python benchmarks/attention_more.py
    python benchmarks/attention_more.py --only masks --flex

Adversarial inputs make maxima grow from tile to tile, or hide one huge key late in the row; rates
are beside those on random inputs, of the chosen member and of the one that always looks for maxima.
Masks are beside torch's fastest. Needs torch.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from attention import label, problem_of
from attention_peers import Kept, Peers, flex_call, keeps_earlier, one_line, sdpa_call
from attention_timing import timed

import tylo
from tylo.codegen.attention.choose import Request, choose
from tylo.codegen.attention.launch import Ready
from tylo.codegen.attention.member import Member
from tylo.codegen.launch.devices import device_state

TOKENS, WIDTH, LENGTH = 16384, 2048, 4096
ROUNDS = 9
CALLS = 300
CLOSE = 0.05  # apart from torch's in float32, in sizes of v

Call = Callable[[], Any]


def inputs(torch: Any, depth: int, length: int) -> tuple[Any, Any, Any]:
    shape = (TOKENS // length, WIDTH // depth, length, depth)
    q, k, v = (torch.randn(*shape, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    return q, k, v


def adversarial(torch: Any, depth: int, length: int) -> dict[str, tuple[Any, Any, Any]]:
    q, k, v = inputs(torch, depth, length)
    rising = torch.linspace(64, 0, length, device="cuda").view(1, 1, -1, 1)
    steps = k + rising.to(torch.bfloat16)  # tiles are taken from the last to the first
    late = k.clone()
    late[:, :, 5] = 6
    positive = q.abs()
    alternating = k * (1 + 9 * (torch.arange(length, device="cuda") // 128 % 2)).view(1, 1, -1, 1)
    return {
        "random": (q, k, v),
        "growing maxima": (positive, steps, v),
        "one huge key late": (positive, late, v),
        "alternating sizes": (q, alternating.to(torch.bfloat16), v),
    }


def launch(torch: Any, member: Member, q: Any, k: Any, v: Any) -> Call:
    out = torch.empty_like(q)
    ready = Ready(member, problem_of(q, k, out, False), device_state(0), persistent=True)
    stream = torch.cuda.current_stream().cuda_stream
    return lambda: ready(
        q=q.data_ptr(), k=k.data_ptr(), v=v.data_ptr(), out=out.data_ptr(), lse=0, mask=0,
        stream=stream,
    )  # fmt: skip


def scores(torch: Any) -> None:
    for depth in (64, 128):
        chosen = choose(Request(depth, "bf16", LENGTH, LENGTH, False, False)).member
        members = {"chosen": chosen, "lagging": replace(chosen, reference="lagging")}
        usual = 0.0
        for name, tensors in adversarial(torch, depth, LENGTH).items():
            calls = {which: launch(torch, each, *tensors) for which, each in members.items()}
            work = 4 * TOKENS * WIDTH * LENGTH
            rates = {
                which: work / each / 1e9 for which, each in timed(torch, calls, ROUNDS).items()
            }
            usual = usual or rates["lagging"]
            print(
                f"D={depth} S={LENGTH} {name}: chosen {rates['chosen']:.0f}, lagging "
                f"{rates['lagging']:.0f} TFLOP/s; chosen / lagging on random "
                f"{rates['chosen'] / usual:.2f}"
            )


MASKED = {
    64: (
        Member(64, "bf16", 3, 128, 3, mask=True),
        Member(64, "bf16", 2, 128, 3, mask=True, reference="first"),
        Member(64, "bf16", 1, 64, 3, mask=True, residents=3, reference="first"),
    ),
    128: (
        Member(128, "bf16", 2, 128, 2, mask=True, reference="first"),
        Member(128, "bf16", 3, 64, 3, mask=True, reference="first"),
        Member(128, "bf16", 1, 64, 2, mask=True, residents=2, reference="first"),
    ),
}


def masks_of(torch: Any, length: int) -> dict[str, tuple[Any, Kept]]:
    """Half kept at random, a causal mask as bytes, and documents of a quarter of the length.

    Each as bytes, and as FlexAttention's users write it: only a random one is looked up whole.
    """
    index = torch.arange(length, device="cuda")
    random = torch.rand(length, length, device="cuda") < 0.5
    document = index * 4 // length
    return {
        "random": (random, lambda b, h, row, key: random[row, key]),
        "causal": (index[None] <= index[:, None], keeps_earlier),
        "documents": (
            document[None] == document[:, None],
            lambda b, h, row, key: document[row] == document[key],
        ),
    }


def masked_launch(torch: Any, member: Member, q: Any, k: Any, v: Any, mask: Any) -> Call:
    """One member, its packing included; the workspace is taken once."""
    out, strides = torch.empty_like(q), (0, 0, mask.stride(0), mask.stride(1))
    problem = problem_of(q, k, out, False, strides)
    ready = Ready(member, problem, device_state(0), persistent=True)
    workspace = torch.empty(ready.workspace_bytes, dtype=torch.uint8, device="cuda")
    stream = torch.cuda.current_stream().cuda_stream

    def call() -> Any:
        ready(
            q=q.data_ptr(), k=k.data_ptr(), v=v.data_ptr(), out=out.data_ptr(), lse=0,
            mask=mask.data_ptr(), workspace=workspace.data_ptr(), stream=stream,
        )  # fmt: skip
        return out

    return call


def masked_calls(
    torch: Any, q: Any, k: Any, v: Any, mask: Any, kept: Kept | None
) -> tuple[dict[str, Call], dict[str, str]]:
    """Own calls and peers by name, and the peers that cannot be made, with their reasons."""
    calls: dict[str, Call] = {"own": lambda: tylo.kernels.attention(q, k, v, mask=mask)}
    for member in MASKED[q.shape[-1]]:
        calls[label(member, True)] = masked_launch(torch, member, q, k, v, mask)
    peers = Peers()
    for backend in ("CUDNN_ATTENTION", "EFFICIENT_ATTENTION"):
        peers.calls[backend] = sdpa_call(torch, backend, q, k, v, attn_mask=mask)
    if kept:
        peers.add("Flex", lambda: flex_call(torch, q, k, v, kept))
    return calls | peers.calls, peers.absent


def masks(torch: Any, flex: bool) -> None:
    """Operations are those of all scores, kept or not. Outputs are compared with torch's first."""
    for depth in (64, 128):
        for length in (1024, 4096):
            q, k, v = inputs(torch, depth, length)
            for kind, (mask, kept) in masks_of(torch, length).items():
                calls, absent = masked_calls(torch, q, k, v, mask, kept if flex else None)
                theirs = torch.nn.functional.scaled_dot_product_attention(
                    q[:1, :1].float(), k[:1, :1].float(), v[:1, :1].float(), attn_mask=mask
                )
                right = {}
                for name, call in calls.items():
                    try:
                        apart = float((call()[:1, :1] - theirs).abs().max())
                    except Exception as reason:
                        absent[name] = one_line(reason)
                        continue
                    if apart < CLOSE:
                        right[name] = call
                    else:
                        absent[name] = f"{apart:.1g} apart from torch's in float32"
                times = timed(torch, right, 5)
                work = 4 * TOKENS * WIDTH * length
                shown = ", ".join(f"{name} {work / each / 1e9:.0f}" for name, each in times.items())
                print(f"D={depth} S={length} {kind} mask: {shown} TFLOP/s")
                for name, why in absent.items():
                    print(f"  not timed: {name}: {why}")


def host(torch: Any) -> None:
    q, k, v = (torch.randn(1, 8, 128, 64, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    out = torch.empty_like(q)
    for name, call in (
        ("tylo, out allocated", lambda: tylo.kernels.attention(q, k, v)),
        ("tylo, out passed", lambda: tylo.kernels.attention(q, k, v, out=out)),
        ("torch SDPA", lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v)),
    ):
        for _ in range(20):
            call()
        torch.cuda.synchronize()
        times = []
        for _ in range(CALLS):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
            torch.cuda.synchronize()
        print(f"host time of a call: {name} {statistics.median(times) * 1e6:.1f} us")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("scores", "masks", "host"))
    parser.add_argument("--flex", action="store_true", help="FlexAttention beside the masks")
    given = parser.parse_args()
    import torch

    torch.manual_seed(0)
    for name, part in (
        ("scores", scores),
        ("masks", lambda torch: masks(torch, given.flex)),
        ("host", host),
    ):
        if given.only in (None, name):
            part(torch)


if __name__ == "__main__":
    main()
