"""Softmax-like kernels as they will come: a block or a warp for a row, packed BF16, exchanges.

Compiled by NVRTC, run under many schedules against FP64, and run with a fault in each.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ptx_schedules import many_schedules
from tylo.codegen.nvrtc import compile
from tylo.proofs.ptx.machine.faults import MachineFault
from tylo.proofs.ptx.machine.launch import Unwritten, launch

COMMON = r"""
__device__ float ex2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ float greater(float a, float b) {
  float c;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
}
"""
SOURCES = {
    # A block for a row: running maximum and sum in each thread, merged by lanes, then by warps.
    "block_row": COMMON
    + r"""
extern "C" __global__ void block_row(const float* x, float* y, float* lse, int n) {
  __shared__ float maxima[4], sums[4];
  const float* row = x + (size_t)blockIdx.x * n;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  float m = __int_as_float(0xff800000), s = 0.0f;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    float v;
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.f32 %0, [%1];" : "=f"(v) : "l"(row + i));
    v *= 1.44269504f;
    float next = greater(m, v);
    s = fmaf(s, ex2(m - next), ex2(v - next));
    m = next;
  }
  for (int o = 16; o; o >>= 1) {
    float other = __shfl_xor_sync(~0u, m, o), more = __shfl_xor_sync(~0u, s, o);
    float next = greater(m, other);
    float scale = next == __int_as_float(0xff800000) ? 0.0f : ex2(m - next);
    float scale2 = next == __int_as_float(0xff800000) ? 0.0f : ex2(other - next);
    s = s * scale + more * scale2;
    m = next;
  }
  if (lane == 0) { maxima[warp] = m; sums[warp] = s; }
  __syncthreads();
  float top = maxima[0], total = 0.0f;
  for (int w = 1; w < warps; ++w) top = greater(top, maxima[w]);
  for (int w = 0; w < warps; ++w) total += sums[w] * ex2(maxima[w] - top);
  float scale = __frcp_rn(total);
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    float v = ex2(row[i] * 1.44269504f - top) * scale;
    asm volatile("st.global.cs.f32 [%0], %1;" :: "l"(y + (size_t)blockIdx.x * n + i), "f"(v));
  }
  if (threadIdx.x == 0) {
    float l;
    asm("lg2.approx.f32 %0, %1;" : "=f"(l) : "f"(total));
    lse[blockIdx.x] = (l + top) * 0.69314718f;
  }
}""",
    # A warp for a row of packed pairs, 8 to a load; ragged ends are masked.
    "warp_row": COMMON
    + r"""
extern "C" __global__ void warp_row(const unsigned* x, unsigned* y, int rows, int n) {
  const int lane = threadIdx.x & 31, row = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
  if (row >= rows) return;
  const unsigned* from = x + (size_t)row * n / 2;
  float v[8], m = __int_as_float(0xff800000), s = 0.0f;
  const int first = lane * 8;
  if (first + 8 <= n) {
    unsigned a, b, c, d;
    asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(from + lane * 4));
    const unsigned words[4] = {a, b, c, d};
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      v[2 * i] = __uint_as_float(words[i] << 16);
      v[2 * i + 1] = __uint_as_float(__byte_perm(words[i], 0, 0x3244));
    }
  } else {
    #pragma unroll
    for (int i = 0; i < 8; ++i) v[i] = __int_as_float(0xff800000);
  }
  #pragma unroll
  for (int i = 0; i < 8; ++i) m = greater(m, v[i]);
  #pragma unroll
  for (int o = 16; o; o >>= 1) m = greater(m, __shfl_xor_sync(~0u, m, o));
  #pragma unroll
  for (int i = 0; i < 8; ++i) { v[i] = ex2((v[i] - m) * 1.44269504f); s += v[i]; }
  #pragma unroll
  for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
  if (first + 8 <= n) {
    unsigned out[4];
    #pragma unroll
    for (int i = 0; i < 4; ++i)
      asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out[i])
          : "f"(__fdiv_rn(v[2 * i + 1], s)), "f"(__fdiv_rn(v[2 * i], s)));
    asm volatile("st.global.cs.v4.b32 [%0], {%1, %2, %3, %4};"
        :: "l"(y + (size_t)row * n / 2 + lane * 4),
           "r"(out[0]), "r"(out[1]), "r"(out[2]), "r"(out[3]));
  }
}""",
    # Lanes vote, and one of those whose number is a row's greatest says where it is.
    "where_greatest": r"""
extern "C" __global__ void where_greatest(const int* x, int* y) {
  const int lane = threadIdx.x, v = x[blockIdx.x * 32 + lane];
  const int top = __reduce_max_sync(~0u, v);
  const unsigned who = __ballot_sync(~0u, v == top);
  if (lane == __ffs(who) - 1) { y[blockIdx.x * 2] = top; y[blockIdx.x * 2 + 1] = lane; }
  if (__any_sync(~0u, v < 0)) atomicAdd(y + 2 * gridDim.x, lane == 0);
}""",
}


@cache
def ptx_of(name: str, architecture: str = "sm_90a") -> str:
    return compile(SOURCES[name], architecture, kernels=[name]).ptx


def softmax(x: Any) -> Any:
    exact = np.exp(x.astype(np.float64) - x.max(axis=-1, keepdims=True))
    return exact / exact.sum(axis=-1, keepdims=True)


def block_row(ptx: str, seed: int | None, n: int = 67, rows: int = 1) -> None:
    x = np.random.default_rng(seed).normal(size=(rows, n)).astype(np.float32) * 4
    y, lse = np.zeros((rows, n), np.float32), np.zeros(rows, np.float32)
    report = launch(ptx, "block_row", rows, 64, [x, Unwritten(y), Unwritten(lse), n], seed=seed)
    assert report.approximate == {"ex2.approx.ftz.f32", "lg2.approx.f32"}
    assert np.allclose(y, softmax(x), rtol=3e-6)
    exact = x.astype(np.float64)
    assert np.allclose(lse, np.log(np.exp(exact).sum(axis=1)), rtol=1e-5, atol=1e-5)


def warp_row(ptx: str, seed: int | None, rows: int = 5, n: int = 40) -> None:
    x = np.random.default_rng(seed).normal(size=(rows, n)).astype(ml_dtypes.bfloat16)
    y = np.zeros((rows, n), ml_dtypes.bfloat16)
    words = y.view(np.uint32)
    launch(ptx, "warp_row", 3, 64, [x.view(np.uint32), Unwritten(words), rows, n], seed=seed)
    wanted = softmax(x.astype(np.float32))
    assert np.allclose(y.astype(np.float64), wanted, rtol=2.0**-7)


def where_greatest(ptx: str, seed: int | None) -> None:
    x = np.random.default_rng(seed).integers(-9, 9, size=(3, 32)).astype(np.int32)
    y = np.zeros(7, np.int32)
    launch(ptx, "where_greatest", 3, 32, [x, y], seed=seed)
    assert y[:6].reshape(3, 2).tolist() == [[int(r.max()), int(r.argmax())] for r in x]
    assert y[6] == (x < 0).any(axis=1).sum()


KERNELS = {"block_row": block_row, "warp_row": warp_row, "where_greatest": where_greatest}


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a", "sm_120"])
@pytest.mark.parametrize("name", KERNELS)
def test_against_double_precision(name: str, architecture: str) -> None:
    for seed in (None, 0, 1):
        KERNELS[name](ptx_of(name, architecture), seed)


@many_schedules
@pytest.mark.parametrize("name", KERNELS)
def test_no_false_alarm_under_many_schedules(name: str, seeds: range) -> None:
    for seed in seeds:
        KERNELS[name](ptx_of(name), seed)


def edited(name: str, old: str, new: str) -> str:
    """The kernel with the first line that holds `old` replaced."""
    text, count = re.subn(rf"^\s*{old}.*;\s*$", new, ptx_of(name), count=1, flags=re.M)
    assert count == 1, ptx_of(name)
    return text


# The kernel, what is replaced, by what, and the kinds of fault that may be seen first.
FAULTS = {
    "no barrier": ("block_row", r"bar\.sync", "", {"race", "uninitialised"}),
    "one element too many": (
        "block_row",
        r"ld\.param\.u32\s+(%r\d+), \[block_row_param_3\]",
        r"ld.param.u32 \1, [block_row_param_3]; add.u32 \1, \1, 1;",
        {"bounds"},
    ),
    "a warp's result never written": (
        "block_row",
        r"st\.shared\.f32",
        "",
        {"uninitialised"},
    ),
    "a misaligned vector": (
        "warp_row",
        r"st\.global\.cs\.v4\.b32 \[(%rd\d+)\], (\{.*\})",
        r"st.global.cs.v4.b32 [\1+4], \2;",
        {"alignment"},
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_seeded_faults(fault: str) -> None:
    name, old, new, kinds = FAULTS[fault]
    ptx = edited(name, old, new)
    for seed in (None, *range(20)):
        with pytest.raises(MachineFault) as caught:
            KERNELS[name](ptx, seed)
        found = caught.value
        assert found.kind in kinds, str(found)
        assert found.address is not None
        assert ptx.splitlines()[found.place.line - 1].strip().startswith(found.place.text[:8])
        assert 0 <= found.place.lane < 32


def test_a_shuffle_that_not_all_lanes_reach() -> None:
    """Lanes beyond the row skip the shuffle, whose mask names them."""
    ptx = ptx_of("warp_row")
    first = next(line for line in ptx.splitlines() if "shfl.sync.bfly" in line)
    guarded = "setp.lt.u32 %odd, %lane, 20;\n@!%odd bra SKIP;\n" + first + "\nSKIP:\n"
    text = ptx.replace(first, guarded, 1)
    text = text.replace("{\n", "{\n.reg .pred %odd; .reg .b32 %lane;\nmov.u32 %lane, %laneid;\n", 1)
    for seed in (None, *range(20)):
        with pytest.raises(MachineFault) as caught:
            warp_row(text, seed)
        assert caught.value.kind in ("deadlock", "members", "shuffle")
        assert "shfl" in caught.value.place.text
