"""Registers, shared memory, local memory and spills, judged by the machine code itself."""

from __future__ import annotations

import struct
from types import SimpleNamespace

import pytest

from tylo.codegen.nvrtc import Compiled, Resources, compile, require_full_speed, resources
from tylo.layouts.errors import CompileError

CLEAN = """
extern "C" __global__ void reverse(float* x) {
  __shared__ float s[96];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = s[31 - threadIdx.x];
}
extern "C" __global__ void one(float* x) { *x = 1.0f; }
"""

# A run-time index keeps the array out of registers.
LOCAL = """
extern "C" __global__ void local(float* x, int n) {
  float a[64];
#pragma unroll
  for (int i = 0; i < 64; ++i) a[i] = x[i * n];
#pragma unroll
  for (int i = 0; i < 64; ++i) x[i] = a[(i + n) & 63];
}
"""

# 60 live values do not fit 32 registers.
SPILLING = """
extern "C" __global__ void __launch_bounds__(1024, 2) spilling(float* x, int n) {
  float a[60];
#pragma unroll
  for (int i = 0; i < 60; ++i) a[i] = x[i * n];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 60; ++i) x[i * n + 1] = a[59 - i] * a[i / 2];
}
"""

CALLED = """
extern "C" __device__ __noinline__ float helper(float* x, int n) {
  float a[32];
#pragma unroll
  for (int i = 0; i < 32; ++i) a[i] = x[i * n];
  return a[n & 31];
}
extern "C" __global__ void caller(float* x, int n) { x[0] = helper(x, n); }
"""

# The accumulator is touched between two matrix instructions that are not waited for.
SERIALISED = """
__device__ __forceinline__ void step(float (&d)[4], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 "
               "{%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b));
}
extern "C" __global__ void serialised(float* x, unsigned long long a, unsigned long long b) {
  float d[4] = {0, 0, 0, 0};
  asm volatile("wgmma.fence.sync.aligned;");
  step(d, a, b);
  d[0] += 1.0f;
  step(d, a, b);
  asm volatile("wgmma.commit_group.sync.aligned;");
  asm volatile("wgmma.wait_group.sync.aligned 0;");
  x[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}
"""


def elf_sections(cubin: bytes) -> dict[str, bytes]:
    """The sections of a 64-bit little-endian ELF file; one without content in the file is zeros."""
    (offset,) = struct.unpack_from("<Q", cubin, 40)
    size, count, names_index = struct.unpack_from("<HHH", cubin, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", cubin, offset + i * size) for i in range(count)]
    names = headers[names_index][4]
    no_bits = 8
    return {
        cubin[names + h[0] : cubin.index(0, names + h[0])].decode(): (
            bytes(h[5]) if h[1] == no_bits else cubin[h[4] : h[4] + h[5]]
        )
        for h in headers
    }


def registers_in_machine_code(cubin: bytes) -> dict[str, int]:
    """The loader's own register counts: attribute 0x2f of `.nv.info`, (symbol, count) pairs."""
    sections = elf_sections(cubin)
    symbols, strings = sections[".symtab"], sections[".strtab"]
    info, at, counts = sections[".nv.info"], 0, {}
    while at < len(info):
        form, attribute, size = struct.unpack_from("<BBH", info, at)
        if attribute == 0x2F:
            symbol, count = struct.unpack_from("<II", info, at + 4)
            (name,) = struct.unpack_from("<I", symbols, 24 * symbol)
            counts[strings[name : strings.index(0, name)].decode()] = count
        at += 4 + (size if form == 4 else 0)
    return counts


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("source", [CLEAN, LOCAL, SPILLING, CALLED])
def test_registers_agree_with_the_machine_code(source: str, architecture: str) -> None:
    names = [name for name in ("reverse", "one", "local", "spilling", "caller") if name in source]
    compiled = compile(source, architecture, kernels=names)
    found = resources(compiled)
    counts = registers_in_machine_code(compiled.cubin)
    assert sorted(found) == sorted(names)
    for name in names:
        assert found[name].registers == counts[name]


def test_shared_memory_agrees_with_the_machine_code() -> None:
    compiled = compile(CLEAN, "sm_80", kernels=["reverse", "one"])
    assert resources(compiled)["reverse"].shared == 96 * 4
    assert len(elf_sections(compiled.cubin)[".nv.shared.reverse"]) == 96 * 4
    assert resources(compiled)["one"].shared == 0


def test_a_clean_program_passes_the_gate() -> None:
    compiled = compile(CLEAN, "sm_90a", kernels=["reverse", "one"])
    require_full_speed(compiled)
    assert all(r.local == r.spills == 0 for r in resources(compiled).values())


def test_local_memory_fails_the_gate() -> None:
    compiled = compile(LOCAL, "sm_90a", kernels=["local"])
    taken = resources(compiled)["local"]
    assert (taken.local, taken.spills) == (256, 0)
    with pytest.raises(CompileError, match="'local' spills 0 bytes and keeps 256 bytes"):
        require_full_speed(compiled)


def test_spills_fail_the_gate() -> None:
    compiled = compile(SPILLING, "sm_90a", kernels=["spilling"])
    assert resources(compiled)["spilling"].spills > 0
    with pytest.raises(CompileError, match="'spilling' spills") as caught:
        require_full_speed(compiled)
    assert caught.value.witness == "spilling"


def test_what_a_called_function_keeps_is_charged_to_its_caller() -> None:
    compiled = compile(CALLED, "sm_90a", kernels=["caller"])
    assert resources(compiled)["caller"].local >= 128
    with pytest.raises(CompileError, match="'caller'"):
        require_full_speed(compiled)


def test_spills_of_a_called_function_are_charged_even_without_a_stack() -> None:
    log = """
ptxas info    : Compiling entry function 'k' for 'sm_90a'
ptxas info    : Function properties for k
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 32 registers, used 0 barriers
ptxas info    : Function properties for _Z6helperPfi
ptxas         .     0 bytes stack frame, 48 bytes spill stores, 52 bytes spill loads
"""
    compiled = Compiled("", b"", log, "", (), "")
    assert resources(compiled) == {"k": Resources(32, 0, 0, 100)}
    with pytest.raises(CompileError, match="spills 100 bytes"):
        require_full_speed(compiled)


def test_serialised_matrix_instructions_fail_the_gate() -> None:
    compiled = compile(SERIALISED, "sm_90a", kernels=["serialised"])
    assert resources(compiled)["serialised"].spills == 0
    with pytest.raises(CompileError, match=r"\(C75\d\d\)") as caught:
        require_full_speed(compiled)
    assert "serialized" in str(caught.value)


def test_a_silent_assembler_is_no_evidence() -> None:
    with pytest.raises(CompileError, match="reported no kernel"):
        require_full_speed(SimpleNamespace(log=""))
