"""Small kernels of every kind that the PTX proof covers, and their effects."""

from __future__ import annotations

from tylo.layouts.terms import Integer, name
from tylo.proofs.effects import (
    Buffer,
    Effect,
    Element,
    Less,
    Matrix,
    Parameter,
    Part,
    Source,
    Store,
    computed,
)

block, thread, step, blocks = (name(n) for n in ("block", "thread", "step", "blocks"))
row, column, rows, columns, sx, sy = (
    name(n) for n in ("row", "column", "rows", "columns", "sx", "sy")
)

RAGGED = r"""
extern "C" __global__ void __launch_bounds__(64)
ragged(const int* __restrict__ x, int* __restrict__ y, unsigned columns) {
  unsigned i = blockIdx.x * 64 + threadIdx.x;
  if (i < columns) y[i] = x[i];
}"""

# A warp a row, in steps of 32 columns: the last step is not made by every lane.
ROWS = r"""
extern "C" __global__ void __launch_bounds__(128)
rows(const int* __restrict__ x, int* __restrict__ y,
     unsigned rows, unsigned columns, long long sx, long long sy) {
  unsigned row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  #pragma unroll 1
  for (unsigned c = lane; c < columns; c += 32) y[row * sy + c] = x[row * sx + c];
}"""

# Four lanes transpose 4 x 4 words between them, in two rounds of butterfly shuffles.
LANES = r"""
extern "C" __global__ void __launch_bounds__(32)
lanes(const unsigned* __restrict__ x, unsigned* __restrict__ y) {
  unsigned lane = threadIdx.x, v[4];
  const unsigned* from = x + blockIdx.x * 128 + lane * 4;
  for (int i = 0; i < 4; ++i) v[i] = from[i];
  #pragma unroll
  for (int m = 1; m < 4; m *= 2)
    #pragma unroll
    for (int i = 0; i < 4; ++i)
      if (!(i & m)) {
        bool upper = lane & m;
        unsigned got = __shfl_xor_sync(~0u, upper ? v[i] : v[i | m], m);
        if (upper) v[i] = got; else v[i | m] = got;
      }
  for (int i = 0; i < 4; ++i) y[blockIdx.x * 128 + lane * 4 + i] = v[i];
}"""

_TILE = r"""
extern "C" __global__ void __launch_bounds__(256)
NAME(const unsigned* __restrict__ x, unsigned* __restrict__ y) {
  __shared__ unsigned tile[32 * PITCH];
  unsigned c = threadIdx.x % 32, r = threadIdx.x / 32, at = blockIdx.x * 1024;
  #pragma unroll
  for (int i = 0; i < 32; i += 8) tile[(r + i) * PITCH + WRITE] = x[at + (r + i) * 32 + c];
  __syncthreads();
  #pragma unroll
  for (int i = 0; i < 32; i += 8) y[at + (r + i) * 32 + c] = tile[c * PITCH + READ];
}"""
PADDED = (
    _TILE.replace("NAME", "padded")
    .replace("PITCH", "33")
    .replace("WRITE", "c")
    .replace("READ", "(r + i)")
)
SWIZZLED = (
    _TILE.replace("NAME", "swizzled")
    .replace("PITCH", "32")
    .replace("WRITE", "(c ^ (r + i))")
    .replace("READ", "((r + i) ^ c)")
)

# Statistics first, by a loop that all lanes go round alike, then the weights by one they do not.
SOFTMAX = r"""
extern "C" __global__ void __launch_bounds__(128)
softmax(const float* __restrict__ x, float* __restrict__ y,
        unsigned rows, unsigned columns, long long sx, long long sy) {
  unsigned row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  const float* from = x + row * sx;
  const float least = __int_as_float(0xff800000);
  float m = least, l = 0;
  #pragma unroll 1
  for (unsigned c = 0; c < columns; c += 32) {
    unsigned k = c + lane;
    float v = k < columns ? from[k] : least;
    float n = fmaxf(m, v);
    l = l * exp2f(m - n) + exp2f(v - n);
    m = n;
  }
  float whole = m;
  #pragma unroll
  for (int d = 16; d; d /= 2) whole = fmaxf(whole, __shfl_xor_sync(~0u, whole, d));
  l *= exp2f(m - whole);
  #pragma unroll
  for (int d = 16; d; d /= 2) l += __shfl_xor_sync(~0u, l, d);
  #pragma unroll 1
  for (unsigned c = lane; c < columns; c += 32) y[row * sy + c] = exp2f(from[c] - whole) / l;
}"""


def ragged_effect(
    threads: int = 64, most_blocks: int = 1 << 20, most: int = 1 << 26, size: str = "columns"
) -> Effect:
    """A copy of as many words as `size` says, one a thread."""
    columns, index = name(size), block * threads + thread
    return Effect(
        "ragged",
        threads,
        (
            Buffer("x", "in", 32, None, 4, elements=columns),
            Buffer("y", "out", 32, None, 4, elements=columns, written=Matrix(1, columns, columns)),
        ),
        (
            Store(
                "y",
                index * 4,
                (Part(32, "move", "x", index * 4),),
                where=(Less(index, columns),),
                element=Element(0, index, column // threads, column % threads),
            ),
        ),
        most_blocks,
        (Parameter(size, 32, 1, most),),
        (Less(columns, blocks * threads + 1),),
    )


def _row_effect(entry: str, part: Part, one_step: bool = False) -> Effect:
    """A warp a row: a step of its lanes after the other, or rows for which one is enough."""
    here, lane = at_row(), thread % 32
    at, steps = (lane, 1) if one_step else (step * 32 + lane, (columns + 31) // 32)
    writer = (column, 0) if one_step else (column % 32, column // 32)
    return Effect(
        entry,
        128,
        (
            Buffer("x", "in", 32, None, 4, elements=rows * sx - sx + columns),
            Buffer(
                "y",
                "out",
                32,
                None,
                4,
                elements=rows * sy - sy + columns,
                written=Matrix(rows, columns, sy),
            ),
        ),
        (
            Store(
                "y",
                (here * sy + at) * 4,
                (part,),
                steps,
                (Less(here, rows), Less(at, columns)),
                Element(here, at, row // 4, row % 4 * 32 + writer[0], writer[1]),
            ),
        ),
        1 << 28,
        (
            Parameter("rows", 32, 1, 1 << 29),
            Parameter("columns", 32, 1, 32 if one_step else 1 << 30),
            Parameter("sx", 64, 1, 1 << 31),
            Parameter("sy", 64, 1, 1 << 31),
        ),
        (Less(columns, sx + 1), Less(columns, sy + 1), Less(rows, blocks * 4 + 1)),
    )


def at_row() -> Integer:
    """The row of a thread in the row kernels."""
    return block * 4 + thread // 32


def rows_effect() -> Effect:
    at = step * 32 + thread % 32
    return _row_effect("rows", Part(32, "move", "x", (at_row() * sx + at) * 4))


def strided_effect() -> Effect:
    """`rows_effect` of rows of at most 32 columns."""
    return _row_effect(
        "strided", Part(32, "move", "x", (at_row() * sx + thread % 32) * 4), one_step=True
    )


def softmax_effect() -> Effect:
    first = at_row() * sx * 4
    own_row = Source("x", first, first + columns * 4)
    return _row_effect("softmax", computed(32, "softmax weight", own_row))


def lanes_effect() -> Effect:
    lane = thread % 32
    stores = tuple(
        Store(
            "y",
            (block * 128 + lane * 4 + i) * 4,
            (Part(32, "move", "x", (block * 128 + (lane // 4 * 4 + i) * 4 + lane % 4) * 4),),
        )
        for i in range(4)
    )
    buffers = (Buffer("x", "in", 32, 128, 16), Buffer("y", "out", 32, 128, 16))
    return Effect("lanes", 32, buffers, stores, 1 << 20)


def tile_effect(entry: str) -> Effect:
    c, r = thread % 32, thread // 32
    stores = tuple(
        Store(
            "y",
            (block * 1024 + (r + i) * 32 + c) * 4,
            (Part(32, "move", "x", (block * 1024 + c * 32 + r + i) * 4),),
        )
        for i in range(0, 32, 8)
    )
    buffers = (Buffer("x", "in", 32, 1024, 16), Buffer("y", "out", 32, 1024, 16))
    return Effect(entry, 256, buffers, stores, 1 << 20)


KINDS = {
    "ragged": (RAGGED, ragged_effect()),
    "rows": (ROWS, rows_effect()),
    "lanes": (LANES, lanes_effect()),
    "padded": (PADDED, tile_effect("padded")),
    "swizzled": (SWIZZLED, tile_effect("swizzled")),
    "softmax": (SOFTMAX, softmax_effect()),
}
