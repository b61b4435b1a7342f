"""What an attention call asks for, as a `Problem`, or why it cannot be asked.

Everything that shapes, strides, types and addresses can get wrong is refused here, before a device
is looked at. Tensors are (batch, heads, length, depth); with the layout "BSHD" length comes before
heads. Nothing is copied: outer strides may be anything that the copy engine takes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tylo.codegen.attention.choose import Request
from tylo.codegen.attention.problem import CAUSAL, Problem
from tylo.codegen.attention.tensor_maps import strides_in_bytes
from tylo.codegen.tensors import Tensor
from tylo.codegen.tensors.rows import broadcast_strides
from tylo.codegen.tensors.tensor import compact_strides
from tylo.kernels.calls import ALIGNMENT
from tylo.layouts.errors import LaunchError

LAYOUTS = {"BHSD": (0, 1, 2, 3), "BSHD": (0, 2, 1, 3)}
_TYPES = ("bf16", "f16")
Sizes = tuple[int, int, int, int]


@dataclass(frozen=True)
class AttentionGeometry:
    """The problem, what a choice depends on, and shapes of the outputs in the caller's layout."""

    problem: Problem
    request: Request
    out_shape: Sizes
    lse_shape: tuple[int, int, int]


def attention_geometry(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    out: Tensor | None,
    *,
    causal: str | None,
    scale: float | None,
    enable_gqa: bool,
    layout: str,
) -> AttentionGeometry:
    """The geometry of one call; `LaunchError` names what does not fit."""
    if layout not in LAYOUTS:
        raise LaunchError(f"the layout is {layout!r}", hint=f"use {' or '.join(LAYOUTS)}")
    if causal not in CAUSAL:
        raise LaunchError(
            f"causal is {causal!r}",
            hint="use None, 'top_left' (torch's is_causal) or 'bottom_right' (FlashAttention's); "
            "they differ where lengths do",
        )
    order = LAYOUTS[layout]
    sizes: dict[str, Sizes] = {}
    strides: dict[str, tuple[int, int, int]] = {}
    for name, tensor in (("q", q), ("k", k), ("v", v), ("out", out)):
        if tensor is None:
            continue
        _require_operand(name, tensor, q.dtype)
        sizes[name] = _ordered(tensor.shape, order)
        strides[name] = _outer_strides(name, tensor, sizes[name], order)
    batch, heads, queries, depth = sizes["q"]
    _, key_heads, keys, _ = sizes["k"]
    _require_sizes(sizes, enable_gqa)
    if out is None:
        compact = _ordered(compact_strides(q.shape), order)
        strides["out"] = compact[:3]
    else:
        _require_apart_within(out)
    bytes_of_mask = None
    if mask is not None:
        if mask.dtype != "bool":
            raise LaunchError(
                f"mask has elements of type {mask.dtype}",
                hint="pass a Boolean mask, True = keep; numbers that are added to scores are none",
            )
        b, h, row, key = broadcast_strides(
            mask.shape, mask.strides, (batch, heads, queries, keys), name="mask"
        )
        bytes_of_mask = (b, h, row, key)
    problem = Problem(
        batch=batch,
        heads=heads,
        key_heads=key_heads,
        queries=queries,
        keys=keys,
        depth=depth,
        dtype=q.dtype,
        q=strides["q"],
        k=strides["k"],
        v=strides["v"],
        out=strides["out"],
        scale=1 / math.sqrt(depth) if scale is None else float(scale),
        causal=causal,
        mask=bytes_of_mask,
    )
    request = Request(depth, q.dtype, queries, keys, causal is not None, mask is not None)
    shape = q.shape[0], q.shape[1], q.shape[2], q.shape[3]
    return AttentionGeometry(problem, request, shape, (batch, heads, queries))


def _ordered(items: tuple[int, ...], order: tuple[int, ...]) -> Sizes:
    batch, heads, length, depth = (items[axis] for axis in order)
    return batch, heads, length, depth


def _require_operand(name: str, tensor: Tensor, dtype: str) -> None:
    if len(tensor.shape) != 4:
        raise LaunchError(
            f"{name} has {len(tensor.shape)} dimensions: {tensor.shape}",
            hint="pass four: batch, heads, length, depth (or batch, length, heads, depth with "
            "layout='BSHD')",
        )
    if tensor.dtype not in _TYPES:
        raise LaunchError(
            f"{name} has elements of type {tensor.dtype}",
            hint="attention takes bfloat16 or float16",
        )
    if tensor.dtype != dtype:
        raise LaunchError(
            f"{name} has elements of type {tensor.dtype}, q of type {dtype}",
            hint="convert them to one type",
        )
    if tensor.address % ALIGNMENT:
        raise LaunchError(
            f"{name} lies at {tensor.address:#x}, no multiple of {ALIGNMENT} bytes",
            hint=f"pass {name}.clone(): the copy engine reads whole 16-byte chunks",
            witness=tensor.address % ALIGNMENT,
        )


def _outer_strides(
    name: str, tensor: Tensor, sizes: Sizes, order: tuple[int, ...]
) -> tuple[int, int, int]:
    ordered = _ordered(tensor.strides, order)
    if not tensor.empty:
        strides_in_bytes(sizes, ordered, name)
    return ordered[:3]


def _require_sizes(sizes: dict[str, Sizes], enable_gqa: bool) -> None:
    batch, heads, _, depth = sizes["q"]
    _, key_heads, keys, _ = sizes["k"]
    for name, wanted in (
        ("k", (batch, key_heads, keys, depth)),
        ("v", (batch, key_heads, keys, depth)),
        ("out", sizes["q"]),
    ):
        if name in sizes and sizes[name] != wanted:
            raise LaunchError(
                f"{name} is (batch, heads, length, depth) = {sizes[name]}, where q and k are "
                f"{sizes['q']} and {sizes['k']}",
                hint=f"pass {name} as {wanted}",
            )
    if heads != key_heads and not enable_gqa:
        raise LaunchError(
            f"q has {heads} heads, k and v have {key_heads}",
            hint="pass enable_gqa=True where every key head serves a run of query heads",
            witness=(heads, key_heads),
        )


def _require_apart_within(out: Tensor) -> None:
    reach = 0
    for stride, extent in sorted(zip(out.strides, out.shape, strict=True)):
        if extent > 1 and not out.empty:
            if stride <= reach:
                raise LaunchError(
                    f"out overlaps itself: shape {out.shape}, strides {out.strides}",
                    hint="pass an output in which no two elements share memory",
                )
            reach += stride * (extent - 1)
