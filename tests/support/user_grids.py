"""Kernels in blocks and grids of two and three axes, by NVRTC, and the claims about them."""

from __future__ import annotations

from user_grid_claims import COVERED, INSIDE, PLACE, claim, input_of, output_of, sizes
from user_transposes import (
    BATCHED,
    BATCHED_CLAIM,
    COPY,
    COPY_CLAIM,
    NAIVE,
    NAIVE_CLAIM,
    SWIZZLED,
    TILED,
    TILED_BY_ELEMENTS,
    TILED_BY_ELEMENTS_CLAIM,
    TILED_CLAIM,
    TILED_OF_HALVES,
    TILED_OF_HALVES_CLAIM,
    WHOLE_TILES,
    WHOLE_TILES_CLAIM,
)

PITCH = r"""
extern "C" __global__ void
k(const char* __restrict__ x, size_t px, char* __restrict__ y, size_t py, int rows, int columns) {
  int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
  if (c < columns && r < rows) ((float*)(y + r * py))[c] = ((const float*)(x + r * px))[c];
}"""
PITCH_CLAIM = claim(
    (32, 8),
    "x px y py rows columns",
    (*COVERED, "px % 4 == 0", "py % 4 == 0", "columns * 4 <= px", "columns * 4 <= py"),
    sizes("rows columns"),
    sizes("px py", 1 << 20, 64, 4),
    input_of("x", "rows * (px / 4)", "px / 4"),
    output_of("rows", "columns", "py / 4"),
    PLACE,
    '[[store]]\ninto = "y[r, c]"\nfrom = "x[r, c]"\n',
    INSIDE,
)

BIAS = r"""
extern "C" __global__ void
k(const float* __restrict__ bias, float* __restrict__ y, int rows, int columns) {
  int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
  if (c < columns && r < rows) y[r * columns + c] = bias[c];
}"""
BIAS_CLAIM = claim(
    (32, 8),
    "bias y rows columns",
    COVERED,
    sizes("rows columns"),
    input_of("bias", "columns"),
    output_of("rows", "columns"),
    PLACE,
    '[[store]]\ninto = "y[r, c]"\nfrom = "bias[c]"\n',
    INSIDE,
)

JOINED = r"""
extern "C" __global__ void
k(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ y, int rows,
  int columns_a, int columns_b) {
  int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
  if (r >= rows) return;
  float* row = y + r * (columns_a + columns_b);
  if (c < columns_a) row[c] = a[r * columns_a + c];
  if (c < columns_b) row[columns_a + c] = b[r * columns_b + c];
}"""
JOINED_CLAIM = claim(
    (32, 8),
    "a b y rows columns_a columns_b",
    ("columns_a <= blocks_x * 32", "columns_b <= blocks_x * 32", "rows <= blocks_y * 8"),
    sizes("rows columns_a columns_b", 16384),
    input_of("a", "rows * columns_a", "columns_a"),
    input_of("b", "rows * columns_b", "columns_b"),
    output_of("rows", "columns_a + columns_b"),
    PLACE,
    """
[[store]]
into = "y[r, c]"
from = "a[r, c]"
where = ["r < rows", "c < columns_a"]
[[store]]
into = "y[r, columns_a + c]"
from = "b[r, c]"
where = ["r < rows", "c < columns_b"]
""",
)

SPLIT = r"""
extern "C" __global__ void
k(const float* __restrict__ x, float* __restrict__ a, float* __restrict__ b, int rows,
  int columns_a, int columns_b) {
  int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
  int columns = columns_a + columns_b;
  if (r >= rows || c >= columns) return;
  if (c < columns_a) a[r * columns_a + c] = x[r * columns + c];
  else b[r * columns_b + c - columns_a] = x[r * columns + c];
}"""
SPLIT_CLAIM = claim(
    (32, 8),
    "x a b rows columns_a columns_b",
    ("columns_a + columns_b <= blocks_x * 32", "rows <= blocks_y * 8"),
    sizes("rows columns_a columns_b", 16384),
    input_of("x", "rows * (columns_a + columns_b)", "columns_a + columns_b"),
    output_of("rows", "columns_a", name="a"),
    output_of("rows", "columns_b", name="b"),
    PLACE,
    """
[[store]]
into = "a[r, c]"
from = "x[r, c]"
where = ["r < rows", "c < columns_a"]
[[store]]
into = "b[r, c - columns_a]"
from = "x[r, c]"
where = ["r < rows", "columns_a <= c", "c < columns_a + columns_b"]
""",
)

WINDOWS = r"""
extern "C" __global__ void
k(const float* __restrict__ x, float* __restrict__ y, int height, int width) {
  int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
  if (r >= height || c >= width) return;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      y[(r * width + c) * 9 + i * 3 + j] = x[(r + i) * (width + 2) + c + j];
}"""
WINDOWS_CLAIM = claim(
    (32, 8),
    "x y height width",
    ("width <= blocks_x * 32", "height <= blocks_y * 8"),
    sizes("height width", 8192),
    input_of("x", "(height + 2) * (width + 2)", "width + 2"),
    output_of("height", "width * 9"),
    PLACE,
    """
[[store]]
values = 9
into = "y[r, c * 9 + value]"
from = "x[r + value / 3, c + value % 3]"
where = ["r < height", "c < width"]
""",
)

TURNED = COPY.replace("y[r * columns + c]", "y[(rows - 1 - r) * columns + (columns - 1 - c)]")
TURNED_CLAIM = COPY_CLAIM.replace("y[r, c]", "y[rows - 1 - r, columns - 1 - c]")

# Odd extents: the lanes of a warp lie in several rows.
ODD_BLOCK = COPY
ODD_BLOCK_CLAIM = (
    COPY_CLAIM.replace("[32, 8]", "[24, 10]").replace("* 32", "* 24").replace("* 8", "* 10")
)

STRIDES = r"""
extern "C" __global__ void
k(const float* __restrict__ x, float* __restrict__ y, int rows, int columns) {
  for (int r = blockIdx.y * 8 + threadIdx.y; r < rows; r += gridDim.y * 8)
    for (int c = blockIdx.x * 32 + threadIdx.x; c < columns; c += gridDim.x * 32)
      y[r * columns + c] = x[r * columns + c];
}"""
STRIDES_CLAIM = claim(
    (32, 8),
    "x y rows columns",
    (),
    sizes("rows columns"),
    input_of("x", "rows * columns", "columns"),
    output_of("rows", "columns"),
    """
[let]
r = "round * (blocks_y * 8) + block_y * 8 + thread_y"
c = "step * (blocks_x * 32) + block_x * 32 + thread_x"
[[store]]
into = "y[r, c]"
from = "x[r, c]"
where = ["r < rows", "c < columns"]
rounds = "rows"
steps = "columns"
""",
    blocks=(1024, 4096),
)

VOLUME = r"""
extern "C" __global__ void
k(const float* __restrict__ x, float* __restrict__ y, int depth, int rows, int columns) {
  int c = blockIdx.x * 8 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
  int d = blockIdx.z * 4 + threadIdx.z;
  if (c < columns && r < rows && d < depth)
    y[(r * depth + d) * columns + c] = x[(d * rows + r) * columns + c];
}"""
VOLUME_CLAIM = claim(
    (8, 8, 4),
    "x y depth rows columns",
    ("columns <= blocks_x * 8", "rows <= blocks_y * 8", "depth <= blocks_z * 4"),
    sizes("depth rows columns", 1024),
    input_of("x", "depth * rows * columns", "columns"),
    output_of("rows * depth", "columns"),
    """
[let]
c = "block_x * 8 + thread_x"
r = "block_y * 8 + thread_y"
d = "block_z * 4 + thread_z"
[[store]]
into = "y[r * depth + d, c]"
from = "x[d * rows + r, c]"
where = ["c < columns", "r < rows", "d < depth"]
""",
    blocks=(1024, 1024, 1024),
)

VECTORS = r"""
extern "C" __global__ void
k(const float4* __restrict__ x, float4* __restrict__ y, int rows, int columns) {
  int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
  if (r < rows && c < columns / 4) y[r * (columns / 4) + c] = x[r * (columns / 4) + c];
}"""
VECTORS_CLAIM = (
    COPY_CLAIM.replace(
        '"columns <= blocks_x * 32"', '"columns % 4 == 0", "columns <= blocks_x * 128"'
    )
    .replace("alignment = 4", "alignment = 16")
    .replace('c = "block_x * 32 + thread_x"', 'c = "(block_x * 32 + thread_x) * 4 + value"')
    .replace('"c < columns"', '"block_x * 32 + thread_x < columns / 4"')
    .replace("[[store]]", "[[store]]\nvalues = 4")
)

# A row for each block along y, and its columns by a stride along x.
ROWS = r"""
extern "C" __global__ void
k(const float* __restrict__ x, float* __restrict__ y, int rows, int columns) {
  int r = blockIdx.y;
  for (int c = blockIdx.x * 256 + threadIdx.x; c < columns; c += gridDim.x * 256)
    y[r * columns + c] = x[r * columns + c];
}"""
ROWS_CLAIM = claim(
    (256,),
    "x y rows columns",
    ("rows == blocks_y",),
    sizes("rows columns"),
    input_of("x", "rows * columns", "columns"),
    output_of("rows", "columns"),
    """
[let]
c = "step * (blocks_x * 256) + block_x * 256 + thread"
[[store]]
into = "y[block_y, c]"
from = "x[block_y, c]"
where = "c < columns"
steps = "columns"
""",
    blocks=(1024, 65535),
)

RIGHT = {
    "copy": (COPY, COPY_CLAIM),
    "transpose": (NAIVE, NAIVE_CLAIM),
    "tiled transpose": (TILED, TILED_CLAIM),
    "tiled transpose, an element a thread": (TILED_BY_ELEMENTS, TILED_BY_ELEMENTS_CLAIM),
    "tiled transpose of halves": (TILED_OF_HALVES, TILED_OF_HALVES_CLAIM),
    "swizzled transpose": (SWIZZLED, TILED_BY_ELEMENTS_CLAIM),
    "transpose of whole tiles": (WHOLE_TILES, WHOLE_TILES_CLAIM),
    "transposes in a batch": (BATCHED, BATCHED_CLAIM),
    "vectors": (VECTORS, VECTORS_CLAIM),
    "rows along y": (ROWS, ROWS_CLAIM),
    "pitch": (PITCH, PITCH_CLAIM),
    "bias to all rows": (BIAS, BIAS_CLAIM),
    "columns joined": (JOINED, JOINED_CLAIM),
    "columns split": (SPLIT, SPLIT_CLAIM),
    "windows": (WINDOWS, WINDOWS_CLAIM),
    "turned around": (TURNED, TURNED_CLAIM),
    "an odd block": (ODD_BLOCK, ODD_BLOCK_CLAIM),
    "strides along both axes": (STRIDES, STRIDES_CLAIM),
    "a volume": (VOLUME, VOLUME_CLAIM),
}


def _tables(names: str, *rows: tuple[int, ...]) -> tuple[dict[str, int], ...]:
    return tuple(dict(zip(names.split(), row, strict=True)) for row in rows)


_OF_ROWS = _tables(
    "rows columns blocks_x blocks_y", (1, 1, 1, 1), (9, 33, 2, 2), (8, 32, 2, 1), (19, 70, 3, 4)
)
_OF_TILES = _tables(
    "rows columns ldx ldy blocks_x blocks_y",
    *((1, 1, 1, 1, 1, 1), (33, 40, 41, 35, 2, 2), (32, 32, 32, 32, 2, 1), (17, 70, 70, 19, 3, 2)),
)
_JOINED = _tables(
    "rows columns_a columns_b blocks_x blocks_y",
    *((1, 1, 1, 1, 1), (9, 33, 5, 2, 2), (8, 5, 40, 2, 1), (3, 32, 32, 2, 2)),
)
# Sizes and blocks of a few launches of each, for the machine.
LAUNCHES = {
    "copy": _OF_ROWS,
    "transpose": _OF_ROWS,
    "tiled transpose": _OF_TILES,
    "tiled transpose, an element a thread": _OF_TILES,
    "tiled transpose of halves": _OF_TILES,
    "swizzled transpose": _OF_TILES,
    "vectors": _tables(
        "rows columns blocks_x blocks_y", (1, 4, 1, 1), (9, 132, 2, 2), (8, 128, 2, 1)
    ),
    "rows along y": _tables(
        "rows columns blocks_x blocks_y", (1, 1, 1, 1), (2, 700, 2, 2), (3, 256, 2, 3)
    ),
    "transpose of whole tiles": _tables("blocks_x blocks_y", (1, 1), (2, 1), (2, 3)),
    "transposes in a batch": _tables(
        "rows columns blocks_x blocks_y blocks_z",
        *((1, 1, 1, 1, 2), (33, 40, 2, 2, 3), (32, 32, 1, 2, 1)),
    ),
    "pitch": _tables(
        "rows columns px py blocks_x blocks_y",
        *((1, 1, 4, 8, 1, 1), (9, 33, 136, 140, 2, 2), (8, 32, 128, 128, 2, 1)),
    ),
    "bias to all rows": _OF_ROWS,
    "columns joined": _JOINED,
    "columns split": _JOINED,
    "windows": _tables(
        "height width blocks_x blocks_y", (1, 1, 1, 1), (9, 33, 2, 2), (8, 32, 1, 1), (3, 5, 2, 1)
    ),
    "turned around": _OF_ROWS,
    "an odd block": _tables(
        "rows columns blocks_x blocks_y", (1, 1, 1, 1), (11, 33, 2, 2), (10, 24, 2, 1)
    ),
    "strides along both axes": _tables(
        "rows columns blocks_x blocks_y", (1, 1, 1, 1), (20, 70, 2, 1), (17, 33, 1, 2), (3, 3, 3, 2)
    ),
    "a volume": _tables(
        "depth rows columns blocks_x blocks_y blocks_z",
        *((1, 1, 1, 1, 1, 1), (5, 9, 10, 2, 2, 2), (4, 8, 8, 1, 2, 1)),
    ),
}
