"""Kernels as people write them, for NVRTC, and the claims that say what they do."""

from __future__ import annotations


def _claim(threads: int, arguments: str, *rest: str) -> str:
    listed = ", ".join(f'"{name}"' for name in arguments.split())
    head = (
        f'schema = "tylo.ptx-claim/1"\nentry = "k"\nthreads = {threads}\narguments = [{listed}]\n'
    )
    return "\n".join([head, *rest])


def _buffer(name: str, element: str, extent: str, more: str = "", alignment: int = 4) -> str:
    direction = "out" if name == "y" else "in"
    return (
        f'[buffer.{name}]\ndirection = "{direction}"\nelement = "{element}"\n'
        f"{extent}\nalignment = {alignment}\n{more}"
    )


def _size(name: str, most: int, bits: int = 32, least: int = 1) -> str:
    return f"[size.{name}]\nbits = {bits}\nleast = {least}\nmost = {most}\n"


def _both(element: str, extent: str, more: str = "", alignment: int = 4) -> str:
    source = _buffer("x", element, extent, "", alignment)
    return source + _buffer("y", element, extent, more, alignment)


EARLY_RETURN = r"""
extern "C" __global__ void __launch_bounds__(256) k(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = x[i];
}"""
EARLY_RETURN_CLAIM = _claim(
    256,
    "x y n",
    'blocks = 65535\nassume = "n <= blocks * 256"',
    _size("n", 1 << 24),
    _both("f32", 'elements = "n"'),
    """
[let]
i = "block * 256 + thread"
[[store]]
into = "y[i]"
from = "x[i]"
where = "i < n"
""",
)
SCALED = EARLY_RETURN.replace("int n", "int n, float a").replace("= x[i]", "= a * x[i]")
SCALED_CLAIM = (
    EARLY_RETURN_CLAIM.replace('"n"]', '"n", "a"]')
    .replace("[buffer.x]", "[unused]\na = 32\n[buffer.x]")
    .replace("where =", 'computed = "a * x"\nwhere =')
)

BIAS_GELU = r"""
extern "C" __global__ void __launch_bounds__(256)
k(const float* __restrict__ x, const float* __restrict__ bias, float* __restrict__ y, int rows,
  int columns) {
  int row = blockIdx.x;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) {
    float v = x[row * columns + c] + bias[c];
    float u = 0.7978845608f * (v + 0.044715f * v * v * v);
    y[row * columns + c] = 0.5f * v * (1.0f + tanhf(u));
  }
}"""
BIAS_GELU_CLAIM = _claim(
    256,
    "x bias y rows columns",
    'assume = "rows == blocks"',
    _size("rows", 32768),
    _size("columns", 65535),
    _buffer("bias", "f32", 'elements = "columns"'),
    _buffer("x", "f32", 'elements = "rows * columns"'),
    _buffer(
        "y",
        "f32",
        'elements = "rows * columns"',
        'written = { rows = "rows", columns = "columns", stride = "columns" }\n',
    ),
    """
[let]
c = "step * 256 + thread"
[[store]]
into = "y[block, c]"
from = ["x[block * columns + c]", "bias[c]"]
computed = "gelu(x + bias)"
where = "c < columns"
steps = "(columns + 255) / 256"
[store.writer]
block = "row"
thread = "column % 256"
step = "column / 256"
""",
)

TRANSPOSE = r"""
extern "C" __global__ void __launch_bounds__(256)
k(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float tile[32][33];
  int tx = threadIdx.x % 32, ty = threadIdx.x / 32;
  int bx = blockIdx.x % 8, by = blockIdx.x / 8;
  for (int j = 0; j < 32; j += 8)
    tile[ty + j][tx] = x[(by * 32 + ty + j) * 256 + bx * 32 + tx];
  __syncthreads();
  for (int j = 0; j < 32; j += 8)
    y[(bx * 32 + ty + j) * 256 + by * 32 + tx] = tile[tx][ty + j];
}"""
TRANSPOSE_CLAIM = _claim(
    256,
    "x y",
    'blocks = 64\nassume = "blocks == 64"',
    _both(
        "f32",
        'elements = "256 * 256"',
        'written = { rows = "256", columns = "256", stride = "256" }',
    ),
    """
[let]
tx = "thread % 32"
ty = "thread / 32"
bx = "block % 8"
by = "block / 8"
j = "value * 8"
[[store]]
values = 4
into = "y[bx * 32 + ty + j, by * 32 + tx]"
from = "x[(by * 32 + tx) * 256 + bx * 32 + ty + j]"
[store.writer]
block = "column / 32 * 8 + row / 32"
thread = "row % 8 * 32 + column % 32"
""",
)

REDUCTION = r"""
extern "C" __global__ void __launch_bounds__(256)
k(const float* __restrict__ x, float* __restrict__ y, int n) {
  __shared__ float part[8];
  float s = 0.0f;
  for (int j = 0; j < 4; j++) s += x[blockIdx.x * 1024 + j * 256 + threadIdx.x];
  for (int o = 16; o > 0; o >>= 1) s += __shfl_down_sync(0xffffffffu, s, o);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x < 32) {
    s = threadIdx.x < 8 ? part[threadIdx.x] : 0.0f;
    for (int o = 4; o > 0; o >>= 1) s += __shfl_down_sync(0xffffffffu, s, o);
    if (threadIdx.x == 0) y[blockIdx.x] = s;
  }
}"""
REDUCTION_CLAIM = _claim(
    256,
    "x y n",
    'blocks = 1048576\nassume = "n == blocks"',
    _size("n", 1 << 20),
    _buffer("x", "f32", 'elements = "n * 1024"'),
    _buffer("y", "f32", 'elements = "n"'),
    """
[[store]]
into = "y[block]"
from = "x[block]"
computed = "sum of 1024"
where = "thread < 1"
[store.writer]
block = "column"
thread = 0
""",
)

PAIRS_OF_HALVES = r"""
extern "C" __global__ void __launch_bounds__(256)
k(const unsigned short* __restrict__ x, unsigned short* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n / 2)
    reinterpret_cast<unsigned*>(y)[i] = reinterpret_cast<const unsigned*>(x)[i];
  else if (i == n / 2 && n % 2)
    y[n - 1] = x[n - 1];
}"""
_WRITER = """[store.writer]
block = "column / 512"
thread = "column / 2 % 256"
"""
PAIRS_OF_HALVES_CLAIM = _claim(
    256,
    "x y n",
    'blocks = 65535\nassume = "n <= blocks * 512"',
    _size("n", 1 << 24),
    _both("f16", 'elements = "n"'),
    f"""
[let]
i = "block * 256 + thread"
[[store]]
values = 2
into = "y[i * 2 + value]"
from = "x[i * 2 + value]"
where = "i < n / 2"
{_WRITER}
[[store]]
into = "y[i * 2]"
from = "x[i * 2]"
where = ["i == n / 2", "n % 2 == 1"]
{_WRITER}
""",
)

PITCH = r"""
extern "C" __global__ void __launch_bounds__(128)
k(const char* __restrict__ x, size_t px, char* __restrict__ y, size_t py, int rows, int columns) {
  int row = blockIdx.x;
  const float* from = (const float*)(x + row * px);
  float* to = (float*)(y + row * py);
  for (int c = threadIdx.x; c < columns; c += blockDim.x) to[c] = from[c];
}"""
PITCH_CLAIM = _claim(
    128,
    "x px y py rows columns",
    """assume = [
    "rows == blocks", "px % 4 == 0", "py % 4 == 0", "columns * 4 <= px", "columns * 4 <= py",
]""",
    _size("rows", 32768),
    _size("columns", 65535),
    _size("px", 1 << 20, 64, 4),
    _size("py", 1 << 20, 64, 4),
    _buffer("x", "f32", 'elements = "rows * (px / 4)"'),
    _buffer(
        "y",
        "f32",
        'elements = "rows * (py / 4)"',
        'written = { rows = "rows", columns = "columns", stride = "py / 4" }\n',
    ),
    """
[let]
c = "step * 128 + thread"
[[store]]
into = "y[block, c]"
from = "x[block * (px / 4) + c]"
where = "c < columns"
steps = "(columns + 127) / 128"
[store.writer]
block = "row"
thread = "column % 128"
step = "column / 128"
""",
)

DOUBLE_BUFFERED = r"""
__device__ __forceinline__ unsigned at(const void* p) {
  return (unsigned)__cvta_generic_to_shared(p);
}
__device__ __forceinline__ void copy(float* to, const float* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" :: "r"(at(to)), "l"(from) : "memory");
}
extern "C" __global__ void __launch_bounds__(128)
k(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ __align__(16) float tile[2][512];
  const float* from = x + blockIdx.x * 4096ull + threadIdx.x * 4;
  float* to = y + blockIdx.x * 4096ull + threadIdx.x * 4;
  copy(&tile[0][threadIdx.x * 4], from);
  asm volatile("cp.async.commit_group;" ::: "memory");
  for (int t = 0; t < 8; t++) {
    if (t + 1 < 8) copy(&tile[(t + 1) % 2][threadIdx.x * 4], from + (t + 1) * 512);
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    *(float4*)(to + t * 512) = *(const float4*)&tile[t % 2][(threadIdx.x ^ 1) * 4];
    __syncthreads();
  }
}"""
DOUBLE_BUFFERED_CLAIM = _claim(
    128,
    "x y",
    _both("f32", "elements_per_block = 4096", "", 16),
    """
[let]
start = "block * 4096 + value / 4 * 512"
[[store]]
values = 32
into = "y[start + thread * 4 + value % 4]"
from = "x[start + (thread ^ 1) * 4 + value % 4]"
""",
)

GATHER = r"""
extern "C" __global__ void __launch_bounds__(256)
k(const float* __restrict__ x, const int* __restrict__ index, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[index[i]];
}"""
GATHER_CLAIM = EARLY_RETURN_CLAIM.replace('"x", "y"', '"x", "index", "y"').replace(
    "[buffer.y]", _buffer("index", "s32", 'elements = "n"') + "[buffer.y]"
)
