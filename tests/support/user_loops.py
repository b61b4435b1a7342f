"""Loops as people write them, by NVRTC, and the claims that say what they copy."""

from __future__ import annotations

import ptx_texts

ROWS = r"""
extern "C" __global__ void __launch_bounds__(128)
k(const float* __restrict__ x, float* __restrict__ y, int rows, int columns) {
  int row = blockIdx.x;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) y[row*columns + i] = x[row*columns + i];
}"""
ROWS_BY_NUMBER = ROWS.replace("blockDim.x", "128")  # which NVRTC unrolls
ROWS_AS_THEY_STAND = ROWS_BY_NUMBER.replace("  for", "  #pragma unroll 1\n  for")
ROWS_IN_64_BITS = ROWS.replace("int row =", "long long row =")
ROWS_OF_VECTORS = r"""
extern "C" __global__ void __launch_bounds__(128)
k(const float* __restrict__ x, float* __restrict__ y, int rows, int columns) {
  int row = blockIdx.x;
  const float4* from = reinterpret_cast<const float4*>(x + row*columns);
  float4* to = reinterpret_cast<float4*>(y + row*columns);
  for (int i = threadIdx.x; i < columns / 4; i += 128) to[i] = from[i];
}"""
GRID = r"""
extern "C" __global__ void __launch_bounds__(128)
k(const float* __restrict__ x, float* __restrict__ y, int n) {
  for (int i = blockIdx.x*blockDim.x + threadIdx.x; i < n; i += gridDim.x*blockDim.x) y[i] = x[i];
}"""
GRID_OF_VECTORS = GRID.replace("float", "float4")
GRID_OF_HALVES = GRID.replace("float", "unsigned short")
GRID_UNSIGNED = GRID.replace("int ", "unsigned ")
GRID_BY_FOURS = GRID.replace("  for", "  #pragma unroll 4\n  for")
GRID_UNSIGNED_BY_TWOS = GRID_UNSIGNED.replace("  for", "  #pragma unroll 2\n  for")
GRID_IN_64_BITS = (
    GRID.replace("int n", "long long n")
    .replace("int i", "long long i")
    .replace("= blockIdx.x*", "= (long long)blockIdx.x*")
    .replace("  for", "  #pragma unroll 1\n  for")
)
# NVRTC divides for the number of trips, in 32 bits where that will do, and makes what is left over
# in a loop before one of four steps a trip.
GRID_IN_64_BITS_UNROLLED = GRID_IN_64_BITS.replace("  #pragma unroll 1\n", "")
# What is left over is one step, made under a condition.
GRID_IN_64_BITS_BY_TWOS = GRID_IN_64_BITS.replace("unroll 1", "unroll 2")
GRID_OF_SIZES = r"""
extern "C" __global__ void __launch_bounds__(128)
k(const float* __restrict__ x, float* __restrict__ y, size_t n) {
  size_t stride = (size_t)gridDim.x * blockDim.x;
  #pragma unroll 4
  for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) y[i] = x[i];
}"""
GRID_TWICE = GRID.replace("= x[i]", "= 2.0f * x[i]")
NESTED = r"""
extern "C" __global__ void __launch_bounds__(128)
k(const float* __restrict__ x, float* __restrict__ y, int rows, int columns) {
  for (int row = blockIdx.x; row < rows; row += gridDim.x)
    for (int i = threadIdx.x; i < columns; i += blockDim.x) y[row*columns + i] = x[row*columns + i];
}"""
NESTED_BY_NUMBER = NESTED.replace("i += blockDim.x", "i += 128")

_HEAD = """
schema = "tylo.ptx-claim/1"
entry = "k"
threads = 128
"""
_BUFFERS = """
[buffer.x]
direction = "in"
element = "f32"
elements = "EXTENT"
alignment = 4
[buffer.y]
direction = "out"
element = "f32"
elements = "EXTENT"
alignment = 4
"""
_SIZES = """
[size.rows]
bits = 32
least = 1
most = 32768
[size.columns]
bits = 32
least = 1
most = 65535
"""
_MATRIX = 'written = { rows = "rows", columns = "columns", stride = "columns" }\n'
_TABLE = _BUFFERS.replace("EXTENT", "rows * columns") + _MATRIX

ROWS_CLAIM = f"""{_HEAD}
arguments = ["x", "y", "rows", "columns"]
assume = "rows == blocks"
{_SIZES}{_TABLE}
[let]
place = "step * 128 + thread"
[[store]]
into = "y[block, place]"
from = "x[block * columns + place]"
where = "place < columns"
steps = "(columns + 127) / 128"
[store.writer]
block = "row"
thread = "column % 128"
step = "column / 128"
"""
# The same of an array: who writes an element divides by a size.
FLAT_CLAIM = (
    ROWS_CLAIM.replace(_MATRIX, "")
    .replace("y[block, place]", "y[block * columns + place]")
    .replace('block = "row"', 'block = "column / columns"')
    .replace("column % 128", "column % columns % 128")
    .replace("column / 128", "column % columns / 128")
)
VECTORS_CLAIM = (
    ROWS_CLAIM.replace("alignment = 4", "alignment = 16")
    .replace('assume = "rows == blocks"', 'assume = ["rows == blocks", "columns % 4 == 0"]')
    .replace("step * 128 + thread", "(step * 128 + thread) * 4")
    .replace("place]", "place + value]")
    .replace("where =", "values = 4\nwhere =")
    .replace("(columns + 127) / 128", "(columns / 4 + 127) / 128")
    .replace("column % 128", "column / 4 % 128")
    .replace("column / 128", "column / 4 / 128")
)
GRID_CLAIM = f"""{_HEAD}
blocks = 65535
arguments = ["x", "y", "n"]
assume = "n + blocks * 128 <= 2147483648"
[size.n]
bits = 32
least = 1
most = 2147483647
{_BUFFERS.replace("EXTENT", "n")}
[let]
index = "step * (blocks * 128) + block * 128 + thread"
[[store]]
into = "y[index]"
from = "x[index]"
where = "index < n"
steps = "n"
[store.writer]
block = "column % (blocks * 128) / 128"
thread = "column % 128"
step = "column / (blocks * 128)"
"""
EXACT_GRID_CLAIM = GRID_CLAIM.replace(
    'steps = "n"', 'steps = "(n + blocks * 128 - 1) / (blocks * 128)"'
)
GRID_IN_64_BITS_CLAIM = (
    GRID_CLAIM.replace("bits = 32", "bits = 64")
    .replace("most = 2147483647", "most = 68719476736")
    .replace("blocks = 65535", "blocks = 2048")
    .replace('assume = "n + blocks * 128 <= 2147483648"\n', "")
)
GRID_TWICE_CLAIM = GRID_CLAIM.replace("where =", 'computed = "twice x"\nwhere =')
GRID_OF_VECTORS_CLAIM = (
    GRID_CLAIM.replace("alignment = 4", "alignment = 16")
    .replace('elements = "n"', 'elements = "n * 4"')
    .replace("[index]", "[index * 4 + value]")
    .replace("where =", "values = 4\nwhere =")
    .replace("column", "column / 4")
)
GRID_OF_HALVES_CLAIM = GRID_CLAIM.replace("f32", "f16").replace("alignment = 4", "alignment = 2")
GRID_UNSIGNED_CLAIM = GRID_CLAIM.replace("2147483648", "4294967296").replace(
    "2147483647", "4294967295"
)
NESTED_CLAIM = f"""{_HEAD}
blocks = 65535
arguments = ["x", "y", "rows", "columns"]
{_SIZES}{_TABLE}
[let]
place = "step * 128 + thread"
line = "round * blocks + block"
[[store]]
into = "y[line, place]"
from = "x[line * columns + place]"
where = ["line < rows", "place < columns"]
rounds = "(rows + blocks - 1) / blocks"
steps = "(columns + 127) / 128"
[store.writer]
round = "row / blocks"
block = "row % blocks"
thread = "column % 128"
step = "column / 128"
"""


def compiled(source: str, architecture: str = "sm_90a") -> str:
    """The PTX of a kernel."""
    return ptx_texts.compiled(source, "k", architecture)


RIGHT = {
    "rows": (ROWS, ROWS_CLAIM),
    "rows, unrolled": (ROWS_BY_NUMBER, ROWS_CLAIM),
    "rows, as they stand": (ROWS_AS_THEY_STAND, ROWS_CLAIM),
    "rows in 64 bits": (ROWS_IN_64_BITS, ROWS_CLAIM),
    "rows of an array": (ROWS, FLAT_CLAIM),
    "rows of vectors": (ROWS_OF_VECTORS, VECTORS_CLAIM),
    "a grid": (GRID, GRID_CLAIM),
    "a grid, so many steps": (GRID, EXACT_GRID_CLAIM),
    "a grid of vectors": (GRID_OF_VECTORS, GRID_OF_VECTORS_CLAIM),
    "a grid of halves": (GRID_OF_HALVES, GRID_OF_HALVES_CLAIM),
    "a grid, unsigned": (GRID_UNSIGNED, GRID_UNSIGNED_CLAIM),
    "a grid in 64 bits": (GRID_IN_64_BITS, GRID_IN_64_BITS_CLAIM),
    "a grid, by fours": (GRID_BY_FOURS, GRID_CLAIM),
    "a grid, unsigned, by twos": (GRID_UNSIGNED_BY_TWOS, GRID_UNSIGNED_CLAIM),
    "a grid in 64 bits, unrolled": (GRID_IN_64_BITS_UNROLLED, GRID_IN_64_BITS_CLAIM),
    "a grid in 64 bits, by twos": (GRID_IN_64_BITS_BY_TWOS, GRID_IN_64_BITS_CLAIM),
    "a grid of sizes, by fours": (GRID_OF_SIZES, GRID_IN_64_BITS_CLAIM),
    "a grid, computed": (GRID_TWICE, GRID_TWICE_CLAIM),
    "rows by a grid": (NESTED, NESTED_CLAIM),
    "rows by a grid, unrolled": (NESTED_BY_NUMBER, NESTED_CLAIM),
}
