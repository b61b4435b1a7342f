"""Attestation of ``wgmma``: its accumulator and its register operand A, asked element by element.

Every product here takes A from registers or from shared memory, B from shared memory, and is of one
instruction, m64nNk16. Nothing is assumed of the accumulator:

- *rows* multiplies the matrix whose first column is 1 + row by ones: each register of each thread
  then holds 1 + its row;
- *columns* does the same with 1 + column in B: each register holds 1 + its column. The two name
  every element of the accumulator, and shared memory fixes the names;
- *registers* sets one half of one register of one thread of A to one, for each of 1024 halves, and
  B to 1 + k: what is not zero is the row of that half, and its value the half's k;
- *kept* multiplies by zero with a number of its own in every accumulator register, which must come
  back where it was.

Integers up to 256 are exact in BF16 and FP16. How ``wgmma`` reads shared memory through a
descriptor is measured by itself (`tests/gpu/test_shared_tile.py`).

    report = attest_warpgroups()
    assert report.passed, report.summary()
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tylo.codegen import oracle
from tylo.codegen.attest import Attestation
from tylo.codegen.attest.judge import Judged, TableAttestation, compared
from tylo.codegen.cache import compile_cached
from tylo.codegen.launch import Device, Input, Module, Output
from tylo.layouts.atoms import Atom, atom
from tylo.layouts.errors import LaunchError
from tylo.layouts.fragment import indices
from tylo.layouts.shared import SharedTile, tile_descriptor

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

ARCHITECTURE = "sm_90a"
REGISTERS, MEMORY = "tylo_attest_registers", "tylo_attest_memory"
THREADS, HALVES, ROWS, DEPTH = 128, 8, 64, 16
ASKED = tuple(atom(f"wgmma.m64n{n}k16.{d}") for n in (8, 64, 128, 256) for d in ("bf16", "f16"))


@dataclass(frozen=True, eq=False)
class WarpgroupObserved:
    """What a device returned, by thread and register and nothing by coordinate.

    `rows`, `columns` and `kept` are ``[thread, value]``; `registers` is ``[half, thread, value]``
    for the one-hot halves of A, numbered ``8 * thread + half``.
    """

    rows: Array
    columns: Array
    registers: Array
    kept: Array


def attest_warpgroups(device: Device | None = None, atoms: Sequence[Atom] = ASKED) -> Attestation:
    """Measure the tables of `atoms` on `device`; raises `LaunchError` where it is not a 9.0."""
    device = device or Device()
    if device.capability != (9, 0):
        raise LaunchError(
            f"wgmma exists on compute capability 9.0 alone, this device is {device.capability}",
            hint="ask an H100, H200 or GH200",
        )
    tables, compiler = [], ""
    for each in atoms:
        compiled = compile_cached(
            warpgroup_source(each), ARCHITECTURE, kernels=[REGISTERS, MEMORY], name="attest.cu"
        )
        compiler = compiled.compiler
        tables.append(
            judge_warpgroup(each, _observe(device.load(compiled.cubin, ARCHITECTURE), each))
        )
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return Attestation(tuple(tables), device.info(), compiler, today)


def warpgroup_source(each: Atom) -> str:
    """The CUDA text that probes `each`: one kernel with A in registers, one with A in memory."""
    return _kernel(each, REGISTERS, in_registers=True) + _kernel(each, MEMORY, in_registers=False)


def judge_warpgroup(each: Atom, observed: WarpgroupObserved) -> TableAttestation:
    """Compare everything a device returned with the tables of `each`."""
    import numpy

    (row, column), (a_row, a_k) = (indices(each.operand(x).ownership) for x in "CA")
    held = a_row.reshape(-1)[:, None, None] == row
    registers = numpy.where(held, a_k.reshape(-1)[:, None, None] + 1, 0)
    checks: tuple[Judged, ...] = (
        compared("rows of C", row + 1, observed.rows),
        compared("columns of C", column + 1, observed.columns),
        compared("one-hot registers of A", registers, observed.registers),
        compared("accumulators kept", _numbered(row.shape), observed.kept),
    )
    return TableAttestation(
        atom=each.name,
        probes=3 + len(observed.registers),
        hits=int((observed.registers != 0).sum()),
        checks=checks,
    )


def _observe(module: Module, each: Atom) -> WarpgroupObserved:
    import numpy

    dtype, (_, columns, _) = each.operand("A").dtype, each.tile
    values = columns // 2
    nothing = numpy.zeros((THREADS, values), numpy.float32)

    def matrix(rows: int, numbers: Any) -> Array:
        """The shared image of ``[mn, k]`` numbers, K-major without a swizzle."""
        bits = oracle.rounded(
            numpy.ascontiguousarray(numpy.broadcast_to(numbers, (rows, DEPTH)), numpy.float32),
            dtype,
        )
        tile, image = _tile(rows), numpy.zeros(rows * DEPTH, numpy.uint16)
        for mn in range(rows):
            for k in range(DEPTH):
                image[tile(mn, k) // 2] = bits[mn, k]
        return image

    def launched(kernel: str, left: Array, right: Array, added: Array, probes: int) -> Array:
        (results,) = module.launch(
            kernel,
            grid=probes,
            block=THREADS,
            arguments=[
                Input(left),
                Input(right),
                Input(added),
                Output((probes, THREADS, values), numpy.float32),
            ],
        )
        return numpy.asarray(results)

    first = numpy.eye(DEPTH)[0]  # k = 0 alone
    one_row, one_column = numpy.arange(ROWS)[:, None] + 1, numpy.arange(columns)[:, None] + 1
    ones = matrix(ROWS, first), matrix(columns, first)
    depth = matrix(columns, numpy.arange(DEPTH) + 1)
    one = int(oracle.rounded(numpy.ones(1, numpy.float32), dtype)[0])
    hot = numpy.eye(THREADS * HALVES, dtype=numpy.uint16) * numpy.uint16(one)
    words = hot.reshape(-1, THREADS, HALVES).view(numpy.uint32)
    return WarpgroupObserved(
        rows=launched(MEMORY, matrix(ROWS, first * one_row), ones[1], nothing, 1)[0],
        columns=launched(MEMORY, ones[0], matrix(columns, first * one_column), nothing, 1)[0],
        registers=launched(REGISTERS, words, depth, nothing, len(words)),
        kept=launched(REGISTERS, words[:1] * 0, depth, _numbered(nothing.shape), 1)[0],
    )


def _numbered(shape: tuple[int, ...]) -> Array:
    """A number of its own for every register of every thread, exact in float32."""
    import numpy

    return numpy.arange(1, 1 + shape[0] * shape[1], dtype=numpy.float32).reshape(shape)


def _tile(rows: int) -> SharedTile:
    return SharedTile(rows=rows, columns=DEPTH, element_bytes=2, swizzle=0)


def _kernel(each: Atom, name: str, *, in_registers: bool) -> str:
    """One product of each block; registers come and go as they are, by thread and number."""
    _, columns, _ = each.tile
    values = columns // 2
    right = tile_descriptor(_tile(columns), "K", extent=columns).encoded()
    left = tile_descriptor(_tile(ROWS), "K", extent=ROWS).encoded()
    held = ", ".join(f"%{value}" for value in range(values))
    constraints = ", ".join(f'"+f"(held[{value}])' for value in range(values))
    words, flags = (4, "1, 1, 0") if in_registers else (1, "1, 1, 0, 0")
    operands = [f"%{values + place}" for place in range(words + 1)]
    a = f"{{{', '.join(operands[:-1])}}}" if in_registers else operands[0]
    given = ", ".join(f'"r"(left[{word}])' for word in range(4)) if in_registers else '"l"(left)'
    taken = (
        """    unsigned left[4];
#pragma unroll
    for (unsigned word = 0; word < 4; ++word) {
        left[word] = lefts[blockIdx.x][threadIdx.x][word];
    }
"""
        if in_registers
        else f"""    __shared__ __align__(128) unsigned left_tile[{ROWS * DEPTH // 2}];
    for (unsigned word = threadIdx.x; word < {ROWS * DEPTH // 2}; word += {THREADS}) {{
        left_tile[word] = lefts[word];
    }}
    unsigned long long left = {left}ull + (shared_address(left_tile) >> 4);
"""
    )
    lefts = f"const unsigned (*lefts)[{THREADS}][4]" if in_registers else "const unsigned* lefts"
    helper = (
        """__device__ __forceinline__ unsigned long long shared_address(const void* pointer) {
    unsigned long long address;
    asm("cvta.to.shared.u64 %0, %1;" : "=l"(address) : "l"(pointer));
    return address;
}

"""
        if in_registers
        else "\n"
    )
    return f"""{helper}extern "C" __global__ void __launch_bounds__({THREADS}, 1) {name}(
    {lefts},
    const unsigned* rights,
    const float (*added)[{values}],
    float (*results)[{THREADS}][{values}]) {{
    __shared__ __align__(128) unsigned right_tile[{columns * DEPTH // 2}];
    for (unsigned word = threadIdx.x; word < {columns * DEPTH // 2}; word += {THREADS}) {{
        right_tile[word] = rights[word];
    }}
    unsigned long long right = {right}ull + (shared_address(right_tile) >> 4);
{taken}    float held[{values}];
#pragma unroll
    for (unsigned value = 0; value < {values}; ++value) {{
        held[value] = added[threadIdx.x][value];
    }}
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("{each.name} "
        "{{{held}}}, {a}, {operands[-1]}, 1, {flags};"
        : {constraints} : {given}, "l"(right) : "memory");
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
    for (unsigned value = 0; value < {values}; ++value) {{
        results[blockIdx.x][threadIdx.x][value] = held[value];
    }}
}}
"""
