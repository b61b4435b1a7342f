"""Copies and transposes in blocks and grids of several axes, and the claims about them."""

from __future__ import annotations

from user_grid_claims import COVERED, INSIDE, PLACE, claim, input_of, output_of, sizes

COPY = r"""
extern "C" __global__ void
k(const float* __restrict__ x, float* __restrict__ y, int rows, int columns) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < rows && c < columns) y[r * columns + c] = x[r * columns + c];
}"""
COPY_CLAIM = claim(
    (32, 8),
    "x y rows columns",
    COVERED,
    sizes("rows columns"),
    input_of("x", "rows * columns", "columns"),
    output_of("rows", "columns"),
    PLACE,
    '[[store]]\ninto = "y[r, c]"\nfrom = "x[r, c]"\n',
    INSIDE,
)

NAIVE = COPY.replace("y[r * columns + c]", "y[c * rows + r]")
NAIVE_CLAIM = claim(
    (32, 8),
    "x y rows columns",
    COVERED,
    sizes("rows columns"),
    input_of("x", "rows * columns", "columns"),
    output_of("columns", "rows"),
    PLACE,
    '[[store]]\ninto = "y[c, r]"\nfrom = "x[r, c]"\n',
    INSIDE,
)

TILED = r"""
extern "C" __global__ void
k(const float* __restrict__ x, float* __restrict__ y, int rows, int columns, int ldx, int ldy) {
  __shared__ float tile[32][33];
  int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (r + j < rows && c < columns) tile[threadIdx.y + j][threadIdx.x] = x[(r + j) * ldx + c];
  __syncthreads();
  c = blockIdx.y * 32 + threadIdx.x;
  r = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (r + j < columns && c < rows) y[(r + j) * ldy + c] = tile[threadIdx.x][threadIdx.y + j];
}"""
_TILES = "columns <= blocks_x * 32", "rows <= blocks_y * 32", "columns <= ldx", "rows <= ldy"
TILED_CLAIM = claim(
    (32, 8),
    "x y rows columns ldx ldy",
    _TILES,
    sizes("rows columns ldx ldy"),
    input_of("x", "rows * ldx", "ldx"),
    output_of("columns", "rows", "ldy"),
    """
[let] # of the result
r = "block_x * 32 + thread_y + value * 8"
c = "block_y * 32 + thread_x"
[[store]]
values = 4
into = "y[r, c]"
from = "x[c, r]"
where = ["r < columns", "c < rows"]
""",
)
TILED_BY_ELEMENTS = r"""
extern "C" __global__ void __launch_bounds__(1024)
k(const float* __restrict__ x, float* __restrict__ y, int rows, int columns, int ldx, int ldy) {
  __shared__ float tile[32][33];
  int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
  if (r < rows && c < columns) tile[threadIdx.y][threadIdx.x] = x[r * ldx + c];
  __syncthreads();
  c = blockIdx.y * 32 + threadIdx.x;
  r = blockIdx.x * 32 + threadIdx.y;
  if (r < columns && c < rows) y[r * ldy + c] = tile[threadIdx.x][threadIdx.y];
}"""
TILED_BY_ELEMENTS_CLAIM = (
    TILED_CLAIM.replace("[32, 8]", "[32, 32]")
    .replace(" + value * 8", "")
    .replace("values = 4\n", "")
)
TILED_OF_HALVES = TILED.replace("float", "unsigned short")
TILED_OF_HALVES_CLAIM = TILED_CLAIM.replace("f32", "f16").replace("alignment = 4", "alignment = 2")

# Columns exchanged by the row, in place of a column more.
SWIZZLED = (
    TILED_BY_ELEMENTS.replace("[32][33]", "[32][32]")
    .replace("[threadIdx.y][threadIdx.x]", "[threadIdx.y][threadIdx.x ^ threadIdx.y]")
    .replace("[threadIdx.x][threadIdx.y]", "[threadIdx.x][threadIdx.y ^ threadIdx.x]")
)

# Whole tiles alone: the widths are those of the grid.
WHOLE_TILES = r"""
extern "C" __global__ void k(float* y, const float* x) {
  __shared__ float tile[32][33];
  int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
  int width = gridDim.x * 32, height = gridDim.y * 32;
  for (int j = 0; j < 32; j += 8)
    tile[threadIdx.y + j][threadIdx.x] = x[(r + j) * width + c];
  __syncthreads();
  c = blockIdx.y * 32 + threadIdx.x;
  r = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    y[(r + j) * height + c] = tile[threadIdx.x][threadIdx.y + j];
}"""
WHOLE_TILES_CLAIM = claim(
    (32, 8),
    "y x",
    (),
    input_of("x", "blocks_x * 32 * (blocks_y * 32)", "blocks_x * 32"),
    output_of("blocks_x * 32", "blocks_y * 32"),
    """
[let]
r = "block_x * 32 + thread_y + value * 8"
c = "block_y * 32 + thread_x"
[[store]]
values = 4
into = "y[r, c]"
from = "x[c, r]"
""",
    blocks=(1024, 1024),
)

BATCHED = r"""
extern "C" __global__ void
k(const float* __restrict__ x, float* __restrict__ y, int rows, int columns) {
  __shared__ float tile[32][33];
  x += (size_t)blockIdx.z * rows * columns;
  y += (size_t)blockIdx.z * rows * columns;
  int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (r + j < rows && c < columns) tile[threadIdx.y + j][threadIdx.x] = x[(r + j) * columns + c];
  __syncthreads();
  c = blockIdx.y * 32 + threadIdx.x;
  r = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (r + j < columns && c < rows) y[(r + j) * rows + c] = tile[threadIdx.x][threadIdx.y + j];
}"""
BATCHED_CLAIM = claim(
    (32, 8),
    "x y rows columns",
    ("columns <= blocks_x * 32", "rows <= blocks_y * 32"),
    sizes("rows columns", 4096),
    input_of("x", "blocks_z * (rows * columns)", "columns"),
    output_of("blocks_z * columns", "rows"),
    """
[let]
r = "block_x * 32 + thread_y + value * 8"
c = "block_y * 32 + thread_x"
[[store]]
values = 4
into = "y[block_z * columns + r, c]"
from = "x[block_z * rows + c, r]"
where = ["r < columns", "c < rows"]
""",
    blocks=(128, 128, 1024),
)
