"""Kernels with loops of any number of steps, as written and as NVRTC unrolls them."""

from __future__ import annotations

from dataclasses import replace

from ptx_kernels import (
    ROWS,
    block,
    blocks,
    column,
    columns,
    row,
    rows,
    rows_effect,
    step,
    sx,
    sy,
    thread,
)
from tylo.layouts.terms import name
from tylo.proofs.effects import Buffer, Effect, Element, Less, Parameter, Part, Store

REVERSE = r"""
extern "C" __global__ void __launch_bounds__(32)
reverse(const unsigned* __restrict__ x, unsigned* __restrict__ y, unsigned n) {
  const unsigned* source = x + (unsigned long long)blockIdx.x * n * 32 + (31 - threadIdx.x);
  unsigned* out = y + (unsigned long long)blockIdx.x * n * 32 + threadIdx.x;
  #pragma unroll 1
  for (unsigned i = 0; i < n; ++i) { *out = *source; source += 32; out += 32; }
}"""

# Four steps a trip, with a way out after each.
FOURS = ROWS.replace("#pragma unroll 1", "#pragma unroll 4")

# A thread a row: NVRTC makes four steps a trip, and what is left in a loop of its own.
SEQUENTIAL = r"""
extern "C" __global__ void __launch_bounds__(128)
rows(const int* __restrict__ x, int* __restrict__ y,
     unsigned rows, unsigned columns, long long sx, long long sy) {
  unsigned row = blockIdx.x * 128 + threadIdx.x;
  if (row >= rows) return;
  for (unsigned c = 0; c < columns; ++c) y[row * sy + c] = x[row * sx + c];
}"""


def reverse_effect() -> Effect:
    n = name("n")
    tile = block * n + step
    part = Part(32, "move", "x", (tile * 32 + 31 - thread) * 4)
    return Effect(
        "reverse",
        32,
        (Buffer("x", "in", 32, n * 32, 4), Buffer("y", "out", 32, n * 32, 4)),
        (Store("y", (tile * 32 + thread) * 4, (part,), n),),
        3,
        (Parameter("n", 32, 0, 5),),
    )


def sequential_effect() -> Effect:
    effect, here = rows_effect(), block * 128 + thread
    (store,) = effect.stores
    store = replace(
        store,
        offset=(here * sy + step) * 4,
        parts=(Part(32, "move", "x", (here * sx + step) * 4),),
        repeat=columns,
        where=(Less(here, rows),),
        element=Element(here, step, row // 128, row % 128, column),
    )
    enough = Less(rows, blocks * 128 + 1)
    return replace(
        effect,
        stores=(store,),
        maximum_blocks=1 << 23,
        preconditions=(*effect.preconditions[:2], enough),
    )


LOOP_KINDS = {
    "reverse": (REVERSE, reverse_effect()),
    "four steps a trip": (FOURS, rows_effect()),
    "sequential": (SEQUENTIAL, sequential_effect()),
}
