"""Small kernels of every kind, for the machine to run."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

SOURCES = {
    # Warps sum by shuffles, meet in shared memory, and the first one writes the block's sum.
    "block_sum": r"""
extern "C" __global__ void block_sum(const float* x, float* y, int n) {
  __shared__ float part[32];
  int thread = threadIdx.x, lane = thread & 31, warp = thread >> 5;
  float sum = 0.0f;
  for (int i = blockIdx.x * n + thread; i < (blockIdx.x + 1) * n; i += blockDim.x) sum += x[i];
  for (int offset = 16; offset; offset >>= 1) sum += __shfl_xor_sync(~0u, sum, offset);
  if (lane == 0) part[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    sum = lane < (int)blockDim.x / 32 ? part[lane] : 0.0f;
    for (int offset = 16; offset; offset >>= 1) sum += __shfl_xor_sync(~0u, sum, offset);
    if (lane == 0) y[blockIdx.x] = sum;
  }
}""",
    # Every thread loops a different number of times.
    "collatz": r"""
extern "C" __global__ void collatz(const unsigned* x, unsigned* y) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, v = x[i], steps = 0;
  while (v != 1) { if (v & 1) v = 3 * v + 1; else v >>= 1; ++steps; }
  y[i] = steps;
}""",
    # A tile transposed through shared memory.
    "transpose": r"""
extern "C" __global__ void transpose(const float* x, float* y, int n) {
  __shared__ float tile[32][33];
  int row = blockIdx.y * 32, column = blockIdx.x * 32;
  for (int i = threadIdx.y; i < 32; i += blockDim.y)
    tile[i][threadIdx.x] = x[(row + i) * n + column + threadIdx.x];
  __syncthreads();
  for (int i = threadIdx.y; i < 32; i += blockDim.y)
    y[(column + i) * n + row + threadIdx.x] = tile[threadIdx.x][i];
}""",
    # Four stages of asynchronous copies, a group each.
    "stages": r"""
extern "C" __global__ void stages(const int* x, int* y, int tiles) {
  __shared__ __align__(16) int buffer[4][512];
  unsigned base;
  asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }"
      : "=r"(base) : "l"(&buffer[0][0]));
  int thread = threadIdx.x;
  for (int s = 0; s < 3; ++s) {
    if (s < tiles) {
      unsigned to = base + s * 2048 + thread * 16;
      const int* from = x + s * 512 + thread * 4;
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(from) : "memory");
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  int sum = 0;
  for (int t = 0; t < tiles; ++t) {
    asm volatile("cp.async.wait_group 2;" ::: "memory");
    __syncthreads();
    for (int i = 0; i < 4; ++i) sum += buffer[t & 3][(thread * 4 + 516 + i) & 511] * (t + 1);
    if (t + 3 < tiles) {
      unsigned to = base + ((t + 3) & 3) * 2048 + thread * 16;
      const int* from = x + (t + 3) * 512 + thread * 4;
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(from) : "memory");
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  y[thread] = sum;
}""",
    # D = A B for one 16x16 by 16x8 tile, operands through ldmatrix.
    "product": r"""
extern "C" __global__ void product(const uint4* a, const uint4* b, float* d) {
  __shared__ __align__(16) uint4 left[32], right[16];
  int lane = threadIdx.x;
  left[lane] = a[lane];
  if (lane < 16) right[lane] = b[lane];
  __syncwarp();
  unsigned l, r, a0, a1, a2, a3, b0, b1;
  asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(l) : "l"(left));
  asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(r) : "l"(right));
  l += (lane % 16) * 32 + lane / 16 * 16;
  r += lane % 16 * 16;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
      : "=r"(a0), "=r"(a1), "=r"(a2), "=r"(a3) : "r"(l) : "memory");
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
      : "=r"(b0), "=r"(b1) : "r"(r) : "memory");
  float c0 = 0, c1 = 0, c2 = 0, c3 = 0;
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3},"
      " {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  float* out = d + lane / 4 * 8 + lane % 4 * 2;
  out[0] = c0; out[1] = c1; out[64] = c2; out[65] = c3;
}""",
    "histogram": r"""
extern "C" __global__ void histogram(const unsigned char* x, unsigned* counts, int n) {
  __shared__ unsigned local[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&local[x[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&counts[i], local[i]);
}""",
    # Warp 0 produces, warp 1 consumes; two named barriers say full and empty.
    "hand_over": r"""
extern "C" __global__ void hand_over(const int* x, int* y, int rounds) {
  __shared__ int slot[32];
  int lane = threadIdx.x & 31;
  if (threadIdx.x < 32) {
    for (int i = 0; i < rounds; ++i) {
      if (i) asm volatile("bar.sync 2, 64;" ::: "memory");
      slot[lane] = x[i * 32 + lane];
      asm volatile("bar.arrive 1, 64;" ::: "memory");
    }
  } else {
    int sum = 0;
    for (int i = 0; i < rounds; ++i) {
      asm volatile("bar.sync 1, 64;" ::: "memory");
      sum += slot[31 - lane] * (i + 1);
      if (i + 1 < rounds) asm volatile("bar.arrive 2, 64;" ::: "memory");
    }
    y[lane] = sum;
  }
}""",
    # An array that is indexed at run time lives in local memory.
    "local_sort": r"""
extern "C" __global__ void local_sort(const int* x, int* y) {
  int v[8];
  for (int i = 0; i < 8; ++i) v[i] = x[threadIdx.x * 8 + i];
  #pragma unroll 1
  for (int i = 1; i < 8; ++i) {
    int key = v[i], j = i;
    #pragma unroll 1
    while (j > 0 && v[j - 1] > key) { v[j] = v[j - 1]; --j; }
    v[j] = key;
  }
  for (int i = 0; i < 8; ++i) y[threadIdx.x * 8 + i] = v[i];
}""",
    # Softmax of a row of 32 by shuffles.
    "softmax": r"""
extern "C" __global__ void softmax(const float* x, float* y) {
  int i = blockIdx.x * 32 + threadIdx.x;
  float v = x[i], m = v, e, s;
  for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(e) : "f"((v - m) * 1.44269504f));
  s = e;
  for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
  y[i] = e / s;
}""",
}


@cache
def compiled(name: str, architecture: str) -> str:
    from tylo.codegen.nvrtc import compile as compile_cuda

    return compile_cuda(SOURCES[name], architecture, kernels=[name]).ptx


@pytest.fixture(params=("sm_80", "sm_90a"))
def ptx_of(request: pytest.FixtureRequest) -> Callable[[str], str]:
    return lambda name: compiled(name, request.param)


@pytest.fixture
def compile_example() -> Callable[[str, str], str]:
    return compiled
