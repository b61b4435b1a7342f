"""What a call of `tylo.kernels` costs the host, launch included, beside torch's own.

    python benchmarks/host_cost.py

The line "the launch alone" is the driver's launch of the same attention kernel with its parameters
ready: what is above it in the attention lines is this library's own.

Small tensors, so that the device keeps up; the median over batches of calls that nothing waits
between. Needs torch and a device.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import tylo
from tylo.codegen.attention.choose import Request, choose
from tylo.codegen.attention.launch import Ready
from tylo.codegen.attention.problem import Problem
from tylo.codegen.launch.devices import device_state

BATCHES, CALLS = 30, 100


def cost(torch: Any, call: Callable[[], Any]) -> float:
    """Microseconds of host time for one call."""
    times = []
    for _ in range(BATCHES):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(CALLS):
            call()
        times.append((time.perf_counter() - start) / CALLS)
    return 1e6 * statistics.median(times)


def launch_alone(q: Any, out: Any) -> Callable[[], None]:
    """The driver's launch of the attention kernel that `q` takes, and nothing else."""
    batch, heads, length, depth = q.shape
    strides = tuple(q.stride()[:3])
    problem = Problem(
        batch=batch, heads=heads, key_heads=heads, queries=length, keys=length, depth=depth,
        dtype="bf16", q=strides, k=strides, v=strides, out=strides, scale=depth**-0.5,
    )  # fmt: skip
    chosen = choose(Request(depth, "bf16", length, length, causal=False, mask=False))
    device = device_state(0)
    ready = Ready(chosen.member, problem, device, persistent=chosen.persistent)
    ready(q.data_ptr(), q.data_ptr(), q.data_ptr(), 0, out.data_ptr(), 0, 0)
    return lambda: ready._launch(device.driver, 0)


def main() -> None:
    import torch

    softmax, attention = tylo.kernels.softmax, tylo.kernels.attention
    x = torch.randn(16, 128, device="cuda")
    wide = torch.randn(1, 131072, device="cuda")
    q, k, v = (torch.randn(1, 8, 128, 64, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    x_out, wide_out, q_out = (torch.empty_like(each) for each in (x, wide, q))
    mask = torch.rand(16, 128, device="cuda") > 0.5
    peer = torch.nn.functional.scaled_dot_product_attention
    calls: dict[str, Callable[[], Any]] = {
        "softmax(x)": lambda: softmax(x),
        "softmax(x, out=out)": lambda: softmax(x, out=x_out),
        "softmax(x, mask=mask, return_lse=True)": lambda: softmax(x, mask=mask, return_lse=True),
        "softmax(wide, out=out), a cluster": lambda: softmax(wide, out=wide_out),
        "torch.softmax(x, -1)": lambda: torch.softmax(x, -1),
        "attention(q, k, v)": lambda: attention(q, k, v),
        "attention(q, k, v, out=out)": lambda: attention(q, k, v, out=q_out),
        "the launch alone": launch_alone(q, q_out),
        "torch scaled_dot_product_attention": lambda: peer(q, k, v),
    }
    for name, call in calls.items():
        call()
        print(f"| `{name}` | {cost(torch, call):.1f} us |")


if __name__ == "__main__":
    main()
