"""Kernels of what a warp does with matrices, and of copies that land later, with their effects."""

from __future__ import annotations

from tylo.layouts.terms import Integer
from tylo.layouts.terms import name as named
from tylo.proofs.effects import Buffer, Effect, Part, Source, Store, computed

block, thread = named("block"), named("thread")
lane, warp = thread % 32, thread // 32

_SHARED = r"""
__device__ __forceinline__ unsigned at_shared(const void* p) {
  unsigned a;
  asm volatile("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(a) : "l"(p));
  return a;
}"""

# Two warps; each takes a 16 x 16 tile through shared memory, in rows of 24 elements.
_TILE = (
    _SHARED
    + r"""
extern "C" __global__ void __launch_bounds__(64)
NAME(const uint4* __restrict__ x, unsigned* __restrict__ y) {
  __shared__ __align__(16) unsigned short tile[2][16 * 24];
  unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, v[4];
  *reinterpret_cast<uint4*>(&tile[warp][lane / 2 * 24 + lane % 2 * 8]) =
      x[blockIdx.x * 64 + threadIdx.x];
  __syncthreads();
  unsigned row = lane % 16, column = lane / 16 * 8;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4TRANS.shared.b16 {%0, %1, %2, %3}, [%4];"
      : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
      : "r"(at_shared(&tile[warp][row * 24 + column])) : "memory");
  for (int i = 0; i < 4; ++i) y[blockIdx.x * 256 + threadIdx.x * 4 + i] = v[i];
}"""
)
FRAGMENT = _TILE.replace("NAME", "fragment").replace("TRANS", "")
TRANSPOSED = _TILE.replace("NAME", "transposed").replace("TRANS", ".trans")

STORED = (
    _SHARED
    + r"""
extern "C" __global__ void __launch_bounds__(64)
stored(const unsigned* __restrict__ x, uint4* __restrict__ y) {
  __shared__ __align__(16) unsigned short tile[2][16 * 24];
  unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, v[4];
  for (int i = 0; i < 4; ++i) v[i] = x[blockIdx.x * 256 + threadIdx.x * 4 + i];
  unsigned row = lane % 16, column = lane / 16 * 8;
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%4], {%0, %1, %2, %3};"
      :: "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]),
         "r"(at_shared(&tile[warp][row * 24 + column])) : "memory");
  __syncthreads();
  y[blockIdx.x * 64 + threadIdx.x] =
      *reinterpret_cast<const uint4*>(&tile[warp][lane / 2 * 24 + lane % 2 * 8]);
}"""
)

# An 8 x 8 matrix of each warp, transposed in registers.
MOVED = r"""
extern "C" __global__ void __launch_bounds__(64)
moved(const unsigned* __restrict__ x, unsigned* __restrict__ y) {
  unsigned v = x[blockIdx.x * 64 + threadIdx.x];
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(v));
  y[blockIdx.x * 64 + threadIdx.x] = v;
}"""

# A row of 128 vectors, in two groups of copies; each thread takes what its neighbour asked for.
COPIED = (
    _SHARED
    + r"""
extern "C" __global__ void __launch_bounds__(64)
copied(const uint4* __restrict__ x, uint4* __restrict__ y) {
  __shared__ __align__(16) uint4 tile[128];
  unsigned t = threadIdx.x;
  for (int i = 0; i < 2; ++i) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
        :: "r"(at_shared(&tile[i * 64 + t])), "l"(x + blockIdx.x * 128 + i * 64 + t) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  asm volatile("cp.async.wait_group 1;" ::: "memory");
  __syncthreads();
  y[blockIdx.x * 128 + t] = tile[t ^ 1];
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  __syncthreads();
  y[blockIdx.x * 128 + 64 + t] = tile[64 + (t ^ 1)];
}"""
)

# A 16 x 8 product of 16 x 32 and 32 x 8 BF16, in two steps of 16.
PRODUCT = (
    _SHARED
    + r"""
extern "C" __global__ void __launch_bounds__(32)
product(const uint4* __restrict__ a, const uint4* __restrict__ b, float* __restrict__ d) {
  __shared__ __align__(16) unsigned short left[16 * 40], right[32 * 8];
  unsigned t = threadIdx.x;
  for (int i = 0; i < 2; ++i) {
    unsigned v = i * 32 + t;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
        :: "r"(at_shared(&left[v / 4 * 40 + v % 4 * 8])), "l"(a + blockIdx.x * 64 + v) : "memory");
  }
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;"
      :: "r"(at_shared(&right[t * 8])), "l"(b + blockIdx.x * 32 + t) : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  float c[4] = {0, 0, 0, 0};
  #pragma unroll
  for (int k = 0; k < 2; ++k) {
    unsigned p[4], q[2];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(p[0]), "=r"(p[1]), "=r"(p[2]), "=r"(p[3])
        : "r"(at_shared(&left[t % 16 * 40 + k * 16 + t / 16 * 8])) : "memory");
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
        : "=r"(q[0]), "=r"(q[1])
        : "r"(at_shared(&right[(k * 16 + t % 16) * 8])) : "memory");
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(p[0]), "r"(p[1]), "r"(p[2]), "r"(p[3]), "r"(q[0]), "r"(q[1]));
  }
  for (int i = 0; i < 4; ++i)
    d[blockIdx.x * 128 + (t / 4 + i / 2 * 8) * 8 + t % 4 * 2 + i % 2] = c[i];
}"""
)


def _element(row: Integer, column: Integer) -> Integer:
    """The byte of an element of the warp's tile, row by row."""
    return ((block * 2 + warp) * 256 + row * 16 + column) * 2


def _corner(number: int) -> tuple[int, int]:
    """The first row and column of matrix `number` of a 16 x 16 tile."""
    return number % 2 * 8, number // 2 * 8


def fragment_effect() -> Effect:
    stores = []
    for i in range(4):
        row, column = _corner(i)
        source = _element(lane // 4 + row, lane % 4 * 2 + column)
        word = block * 256 + thread * 4 + i
        stores.append(Store("y", word * 4, (Part(32, "move", "x", source),)))
    buffers = Buffer("x", "in", 16, 512, 16), Buffer("y", "out", 32, 256, 16)
    return Effect("fragment", 64, buffers, tuple(stores), 1 << 20)


def transposed_effect() -> Effect:
    stores = []
    for i in range(4):
        row, column = _corner(i)
        parts = tuple(
            Part(16, "move", "x", _element(lane % 4 * 2 + row + half, lane // 4 + column))
            for half in range(2)
        )
        stores.append(Store("y", (block * 256 + thread * 4 + i) * 4, parts))
    buffers = Buffer("x", "in", 16, 512, 16), Buffer("y", "out", 32, 256, 16)
    return Effect("transposed", 64, buffers, tuple(stores), 1 << 20)


def stored_effect() -> Effect:
    # Row lane / 2, eight columns: in matrix (lane / 16) + 2 (lane % 2), of lanes 4 (row % 8) on.
    row, half = lane // 2, lane % 2
    parts = []
    for pair in range(4):
        holder = warp * 32 + row % 8 * 4 + pair
        number = row // 8 + half * 2
        parts.append(Part(32, "move", "x", (block * 256 + holder * 4 + number) * 4))
    buffers = Buffer("x", "in", 32, 256, 16), Buffer("y", "out", 16, 512, 16)
    return Effect(
        "stored", 64, buffers, (Store("y", (block * 64 + thread) * 16, tuple(parts)),), 1 << 20
    )


def moved_effect() -> Effect:
    # Lane 4 r + c holds columns 2 c and 2 c + 1 of row r, before and after.
    parts = tuple(
        Part(16, "move", "x", ((block * 2 + warp) * 64 + (lane % 4 * 2 + h) * 8 + lane // 4) * 2)
        for h in range(2)
    )
    buffers = Buffer("x", "in", 16, 128, 16), Buffer("y", "out", 32, 64, 16)
    return Effect("moved", 64, buffers, (Store("y", (block * 64 + thread) * 4, parts),), 1 << 20)


def copied_effect() -> Effect:
    stores = tuple(
        Store(
            "y",
            (block * 128 + 64 * i + thread) * 16,
            (Part(128, "move", "x", (block * 128 + 64 * i + (thread ^ 1)) * 16),),
        )
        for i in range(2)
    )
    buffers = Buffer("x", "in", 32, 512, 16), Buffer("y", "out", 32, 512, 16)
    return Effect("copied", 64, buffers, stores, 1 << 20)


def product_effect() -> Effect:
    sources = (
        Source("a", block * 1024, block * 1024 + 1024),
        Source("b", block * 512, block * 512 + 512),
    )
    stores = tuple(
        Store(
            "d",
            (block * 128 + (lane // 4 + i // 2 * 8) * 8 + lane % 4 * 2 + i % 2) * 4,
            (computed(32, "product", *sources),),
        )
        for i in range(4)
    )
    buffers = (
        Buffer("a", "in", 16, 512, 16),
        Buffer("b", "in", 16, 256, 16),
        Buffer("d", "out", 32, 128, 4),
    )
    return Effect("product", 32, buffers, stores, 1 << 20)


MATRIX_KINDS = {
    "fragment": (FRAGMENT, fragment_effect()),
    "transposed": (TRANSPOSED, transposed_effect()),
    "stored": (STORED, stored_effect()),
    "moved": (MOVED, moved_effect()),
    "copied": (COPIED, copied_effect()),
    "product": (PRODUCT, product_effect()),
}
