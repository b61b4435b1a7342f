"""Attention where it is hard: adversarial scores, Boolean masks, and what a call costs the host.

    python benchmarks/attention_more.py

Adversarial inputs make maxima grow from tile to tile, or hide one huge key late in the row; rates
are beside those on random inputs, of the chosen member and of the one that always looks for maxima.
Masks are beside torch's fastest. Needs torch.
"""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from attention import problem_of, timed

import tylo
from tylo.codegen.attention.choose import Request, choose
from tylo.codegen.attention.launch import Ready
from tylo.codegen.attention.member import Member
from tylo.codegen.launch.devices import device_state

TOKENS, WIDTH, LENGTH = 16384, 2048, 4096
ROUNDS = 9
CALLS = 300

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


def masked_calls(torch: Any, depth: int, length: int) -> dict[str, Call]:
    from torch.nn.attention import SDPBackend, sdpa_kernel

    q, k, v = inputs(torch, depth, length)
    mask = torch.rand(length, length, device="cuda") < 0.5
    calls: dict[str, Call] = {"own": lambda: tylo.kernels.attention(q, k, v, mask=mask)}

    def theirs(backend: Any) -> Call:
        def call() -> Any:
            with sdpa_kernel(backend):
                return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)

        return call

    for name in ("CUDNN_ATTENTION", "EFFICIENT_ATTENTION"):
        call = theirs(getattr(SDPBackend, name))
        with contextlib.suppress(RuntimeError):
            call()
            calls[name] = call
    return calls


def masks(torch: Any) -> None:
    for depth in (64, 128):
        for length in (1024, 4096):
            times = timed(torch, masked_calls(torch, depth, length), 5)
            work = 4 * TOKENS * WIDTH * length
            shown = ", ".join(f"{name} {work / each / 1e9:.0f}" for name, each in times.items())
            print(f"D={depth} S={length} Boolean mask, half kept: {shown} TFLOP/s")


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
    import torch

    torch.manual_seed(0)
    scores(torch)
    masks(torch)
    host(torch)


if __name__ == "__main__":
    main()
