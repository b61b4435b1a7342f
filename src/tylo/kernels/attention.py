"""Attention forward of tensors of any library, on Hopper.

    out = tylo.kernels.attention(q, k, v)                              # (batch, heads, length, D)
    out, lse = tylo.kernels.attention(q, k, v, causal="bottom_right", return_lse=True)
    out = tylo.kernels.attention(q, k, v, mask=keep, enable_gqa=True, layout="BSHD")

The meaning is that of torch's ``scaled_dot_product_attention``, with two differences: rows that
keep no key give zeros (and -inf as log-sum-exp) where torch gives NaN, and a causal mask is named
by its alignment, because the two differ where lengths do.

A call views its tensors, finds what is ready for their geometry, allocates what the caller did not
pass, and launches its kernel on the caller's stream, behind one that packs a Boolean mask to bits.
It copies nothing and waits for nothing.

>>> import numpy
>>> attention(*[numpy.zeros((1, 1, 1, 64), numpy.float16)] * 3)
Traceback (most recent call last):
tylo.layouts.errors.LaunchError: q, a numpy.ndarray, lies in host memory; move it to a CUDA device \
first; nothing is copied silently
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tylo.codegen.attention.choose import Chosen, choose
from tylo.codegen.attention.launch import Ready
from tylo.codegen.launch.devices import device_state
from tylo.codegen.launch.stream_memory import stream_memory
from tylo.codegen.tensors import Tensor, stream_of, view
from tylo.codegen.tensors.torch_tensors import torch_description_and_addresses, torch_of
from tylo.kernels.attention_geometry import AttentionGeometry, attention_geometry
from tylo.kernels.calls import Plans, described, made, require_writable
from tylo.layouts.errors import LaunchError

_NAMES, _OUT = ("q", "k", "v", "mask", "out"), 4


@dataclass(frozen=True)
class _Plan:
    """A geometry made ready on a device; nothing is ready where there is nothing to compute.

    `spans` say where the memory of q, k, v, mask and out lies.
    """

    geometry: AttentionGeometry
    device: int
    ready: Ready | None
    spans: tuple[tuple[int, int, int], ...]


_plans = Plans[_Plan]()


def attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    mask: Any = None,
    causal: str | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    out: Any = None,
    layout: str = "BHSD",
    stream: Any = None,
) -> Any:
    """softmax(scale * q k^T) v for each head; with `return_lse` the pair of it and the log-sum-exp.

    q, k, v are bfloat16 or float16, (batch, heads, length, depth), or (batch, length, heads, depth)
    with the layout "BSHD"; depth is 64 or 128, its stride 1, other strides multiples of 16 bytes.
    `mask` is Boolean, True = keep, and broadcasts to (batch, heads, queries, keys) in any layout.
    `causal` is None, "top_left" or "bottom_right". `scale` is 1 / sqrt(depth) if left out. With
    `enable_gqa` k and v may have fewer heads, each for a run of query heads. `out` is written where
    it is passed. The log-sum-exp is float32, natural, (batch, heads, queries).

    `stream` is a handle or a stream object; without one it is torch's current stream for a torch
    tensor, else the legacy default stream.

    Raises LaunchError, or GenerationError for a depth that has no kernel, before anything runs.
    """
    handle = stream_of(stream, q)
    values = (q, k, v, mask, out)
    options = (causal, scale, bool(enable_gqa), layout)
    found = torch_description_and_addresses(values, stream, handle)
    key = found and (options, found[0])
    plan = _plans.get(key) if key else None
    if found and plan:
        addresses = found[1]
    else:
        tensors = _viewed(values, handle)
        plan = _plan(options, tensors)
        addresses = [0 if each is None else each.address for each in tensors]
        if key:
            _plans.keep(key, plan)
    geometry, on = plan.geometry, None if found else handle
    if out is None:
        dtype = geometry.problem.dtype
        out, addresses[4] = made(q, geometry.out_shape, (0, 1, 2, 3), dtype, plan.device, on)
    else:
        _require_apart(plan, addresses)
    lse, lse_address = None, 0
    if return_lse:
        lse, lse_address = made(q, geometry.lse_shape, (0, 1, 2), "f32", plan.device, on)
    if plan.ready is not None:
        if plan.ready.workspace_bytes:
            _with_workspace(plan, plan.ready, addresses, lse_address, q, handle, on)
        else:
            places = addresses[0], addresses[1], addresses[2], addresses[3], addresses[4]
            plan.ready(*places, lse_address, handle)
    return (out, lse) if return_lse else out


def _with_workspace(
    plan: _Plan,
    ready: Ready,
    addresses: list[int],
    lse: int,
    q: Any,
    handle: int,
    on: int | None,
) -> None:
    """Queue the kernel with memory for a packed mask.

    torch lends it, which reuses it in the stream's order; of others nobody here knows when they
    reuse what is no longer held, so that the driver lends it then.
    """
    places = addresses[0], addresses[1], addresses[2], addresses[3], addresses[4]
    size = ready.workspace_bytes
    if torch_of(q):
        held, address = made(q, (size,), (0,), "bool", plan.device, on)
        ready(*places, lse, handle, address)
        del held
    else:
        with stream_memory(device_state(plan.device), size, handle) as address:
            ready(*places, lse, handle, address)


def attention_choice(q: Any, k: Any, v: Any, **options: Any) -> Chosen:
    """The member that `attention` would run for these arguments, and why; nothing is launched."""
    stream, mask, out = (options.pop(name, None) for name in ("stream", "mask", "out"))
    options.pop("return_lse", None)
    tensors = _viewed((q, k, v, mask, out), stream_of(stream, q))
    defaults = {"causal": None, "scale": None, "enable_gqa": False, "layout": "BHSD"}
    return choose(attention_geometry(*tensors, **(defaults | options)).request)


Viewed = tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None]


def _viewed(values: tuple[Any, ...], handle: int) -> Viewed:
    first = view(values[0], handle, name="q")
    k, v, mask, out = (
        None if each is None else view(each, handle, name=name, device=first.device)
        for name, each in zip(_NAMES[1:], values[1:], strict=True)
    )
    if k is None or v is None:
        raise LaunchError("k or v is None", hint="pass keys and values")
    require_writable("out", out, values[4])
    return first, k, v, mask, out


def _plan(options: tuple[Any, ...], tensors: Viewed) -> _Plan:
    key = (options, tensors[0].device, *map(described, tensors))
    plan = _plans.get(key)
    if plan is None:
        causal, scale, enable_gqa, layout = options
        geometry = attention_geometry(
            *tensors, causal=causal, scale=scale, enable_gqa=enable_gqa, layout=layout
        )
        device = tensors[0].device
        chosen = choose(geometry.request)
        ready = None
        if not geometry.problem.empty:
            ready = Ready(
                chosen.member,
                geometry.problem,
                device_state(device),
                persistent=chosen.persistent,
            )
        plan = _plans.keep(key, _Plan(geometry, device, ready, _spans(tensors)))
    return plan


def _require_apart(plan: _Plan, addresses: list[int]) -> None:
    """What is written must not lie where anything is read; ranges decide, gaps included."""
    if not plan.spans:
        return
    place, low, high = plan.spans[-1]
    start, end = addresses[place] + low, addresses[place] + high
    for place, low, high in plan.spans[:-1]:
        if addresses[place] + low < end and start < addresses[place] + high:
            raise LaunchError(
                f"out and {_NAMES[place]} share memory, first at "
                f"{max(start, addresses[place] + low):#x}",
                hint="pass an output of its own",
            )


def _spans(tensors: Viewed) -> tuple[tuple[int, int, int], ...]:
    """(place, first byte, end) of what has bytes, from its address on, out the last; or nothing."""
    found = [
        (place, each.extent[0] - each.address, each.extent[1] - each.address)
        for place, each in enumerate(tensors)
        if each is not None and each.extent[0] < each.extent[1]
    ]
    return tuple(found) if found and found[-1][0] == _OUT else ()
