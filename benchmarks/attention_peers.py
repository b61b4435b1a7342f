"""What attention is timed beside: torch's backends, FA3, Triton, FlexAttention, JAX's Mosaic.

`peers_of` makes a call of each for given tensors. A peer that cannot be imported or made is absent,
with its reason; nothing here ends a run. Inputs and outputs are (batch, heads, length, depth), but
for FA3 and Mosaic, which take (batch, length, heads, depth) and get copies of that form.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

Call = Callable[[], Any]
Kept = Callable[[Any, Any, Any, Any], Any]
SHOWN = 160


@dataclass
class Peers:
    """Calls by name; clocks of those that have to time themselves; why others are absent."""

    calls: dict[str, Call] = field(default_factory=dict)
    milliseconds: dict[str, Callable[[int], float]] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, make: Callable[[], Call]) -> None:
        """Keep what `make` returns, or the reason why it does not."""
        try:
            self.calls[name] = make()
        except Exception as reason:
            self.absent[name] = one_line(reason)


def one_line(reason: BaseException) -> str:
    """An exception in one line."""
    return " ".join(f"{type(reason).__name__}: {reason}".split())[:SHOWN]


def peers_of(torch: Any, q: Any, k: Any, v: Any, causal: bool, flex: bool = False) -> Peers:
    """Every peer that can be made for these tensors; FlexAttention only where it is asked for."""
    peers = Peers()
    sdpa = partial(sdpa_call, torch, q=q, k=k, v=v, is_causal=causal)
    peers.add("cuDNN", lambda: sdpa("CUDNN_ATTENTION"))
    peers.add("flash", lambda: sdpa("FLASH_ATTENTION"))
    peers.add("FA3", lambda: fa3_call(q, k, v, causal))
    peers.add("Triton", lambda: triton_call(torch, q, k, v, causal))
    if flex:
        peers.add("Flex", lambda: flex_call(torch, q, k, v, keeps_earlier if causal else None))
    try:
        peers.calls["Mosaic"], peers.milliseconds["Mosaic"] = mosaic_calls(torch, q, k, v, causal)
    except Exception as reason:
        peers.absent["Mosaic"] = one_line(reason)
    return peers


def sdpa_call(torch: Any, backend: str, q: Any, k: Any, v: Any, **options: Any) -> Call:
    """torch's scaled_dot_product_attention by one backend alone."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    which = getattr(SDPBackend, backend)

    def call() -> Any:
        with sdpa_kernel(which):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, **options)

    return call


def fa3_call(q: Any, k: Any, v: Any, causal: bool) -> Call:
    """FlashAttention 3, of the package `fa3-fwd`."""
    from fa3_fwd_interface import flash_attn_func

    rows = [each.transpose(1, 2).contiguous() for each in (q, k, v)]
    return lambda: flash_attn_func(*rows, causal=causal)


def triton_call(torch: Any, q: Any, k: Any, v: Any, causal: bool) -> Call:
    """The kernel of `attention_triton`, in its fastest configuration for these shapes."""
    from attention_triton import fastest

    return fastest(torch, q, k, v, causal)


def keeps_earlier(batch: Any, head: Any, row: Any, key: Any) -> Any:
    """A causal mask, as FlexAttention asks for it."""
    return key <= row


def flex_call(torch: Any, q: Any, k: Any, v: Any, kept: Kept | None = None) -> Call:
    """FlexAttention compiled for these shapes; `kept` says of batch, head, row and key."""
    compiled = _compiled_flex(torch)
    block_mask = kept and _block_mask(kept, q.shape[2], k.shape[2])
    return lambda: compiled(q, k, v, block_mask=block_mask)


@cache
def _compiled_flex(torch: Any) -> Any:
    """One compiled function, specialised for each shape that it meets."""
    from torch.nn.attention.flex_attention import flex_attention

    # Past this limit a shape would run uncompiled, with all its scores in memory.
    for limit in ("recompile_limit", "accumulated_recompile_limit", "cache_size_limit"):
        if hasattr(torch._dynamo.config, limit):
            setattr(torch._dynamo.config, limit, 4096)
    return torch.compile(flex_attention, dynamic=False)


@cache
def _block_mask(kept: Kept, rows: int, keys: int) -> Any:
    from torch.nn.attention.flex_attention import create_block_mask

    return create_block_mask(kept, None, None, rows, keys, device="cuda")


def mosaic_calls(
    torch: Any, q: Any, k: Any, v: Any, causal: bool
) -> tuple[Call, Callable[[int], float]]:
    """JAX's Mosaic GPU attention: a call whose result torch can read, and its own clock.

    It runs on a stream of JAX's, so that events of torch's stream do not time it.
    """
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    from jax.experimental.mosaic.gpu import profiler
    from jax.experimental.pallas.ops.gpu import attention_mgpu

    rows = [jax.dlpack.from_dlpack(each.transpose(1, 2).contiguous()) for each in (q, k, v)]
    torch.cuda.synchronize()
    found: dict[int, tuple[Any, float]] = {}
    reason: Exception = RuntimeError("no configuration runs")
    for keys in (256, 128, 64):
        config = attention_mgpu.TuningConfig(
            block_q=64, block_kv=keys, max_concurrent_steps=2, causal=causal
        )
        run = jax.jit(partial(attention_mgpu.attention, config=config))
        try:
            found[keys] = run, float(profiler.measure(run)(*rows)[1])
        except Exception as error:
            reason = error
    if not found:
        raise reason
    run, _ = min(found.values(), key=lambda each: each[1])

    def call() -> Any:
        out = torch.from_dlpack(jax.block_until_ready(run(*rows)))
        return out.transpose(1, 2)

    def milliseconds(rounds: int) -> float:
        return statistics.median(profiler.measure(run, iterations=max(2, rounds))(*rows)[1])

    return call, milliseconds
