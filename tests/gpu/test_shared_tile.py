"""Boxes and descriptors, asked of the hardware: what TMA writes, and what `wgmma` reads of it."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy
import pytest

from tylo.codegen.launch import Device, Input, Module, Output
from tylo.codegen.launch.driver import checked
from tylo.codegen.nvrtc import compile
from tylo.layouts.shared import MatrixDescriptor, SharedTile, row_advances, tile_descriptor

pytestmark = pytest.mark.gpu

SPANS = (0, 32, 64, 128)
MAJORS = ("K", "MN")
M, N, K = 64, 128, 128
ACCUMULATORS = N // 2
REPEAT = 1024
KERNELS = ("copy", *(f"multiply_{a}{b}" for a in (0, 1) for b in (0, 1)))

PROLOGUE = r"""
    extern __shared__ unsigned char memory[];
    __shared__ __align__(8) unsigned long long barrier;
    unsigned long long address, barrier_address;
    asm("cvta.to.shared.u64 %0, %1;" : "=l"(address) : "l"(memory));
    asm("cvta.to.shared.u64 %0, %1;" : "=l"(barrier_address) : "l"(&barrier));
    unsigned start = (unsigned(address) + 1023) & ~1023u;
    unsigned arrived = unsigned(barrier_address);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(arrived) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 0; i < 2; ++i)
            asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;"
                         :: "l"(maps + 128 * i) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                     :: "r"(arrived), "r"(bytes) : "memory");
        for (unsigned i = 0; i < count; ++i)
            asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"
                         ".mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
                         :: "r"(start + copies[4 * i + 1]), "l"(maps + 128 * copies[4 * i]),
                            "r"(arrived), "r"(copies[4 * i + 2]), "r"(copies[4 * i + 3])
                         : "memory");
    }
    unsigned done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; "
                     "selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(arrived) : "memory");
"""
PARAMETERS = "const unsigned char* maps, const int* copies, unsigned count, unsigned bytes"


def source() -> str:
    copy = f"""
extern "C" __global__ void __launch_bounds__(128, 1)
copy({PARAMETERS}, unsigned length, unsigned char* result)
{{{PROLOGUE}
    for (unsigned i = threadIdx.x; i < length; i += 128)
        result[i] = memory[start - unsigned(address) + i];
}}
"""
    return copy + "".join(_multiply(a, b) for a in (0, 1) for b in (0, 1))


def _multiply(transposed_a: int, transposed_b: int) -> str:
    registers = ", ".join(f"%{i}" for i in range(ACCUMULATORS))
    operands = ", ".join(f'"+f"(d[{i}])' for i in range(ACCUMULATORS))
    a, b, p = (f"%{ACCUMULATORS + i}" for i in range(3))
    return f"""
extern "C" __global__ void __launch_bounds__(128, 1)
multiply_{transposed_a}{transposed_b}({PARAMETERS},
    const unsigned long long* descriptors, unsigned steps, float* result)
{{{PROLOGUE}
    float d[{ACCUMULATORS}];
#pragma unroll
    for (int i = 0; i < {ACCUMULATORS}; ++i) d[i] = 0.0f;
    for (unsigned step = 0; step < steps; ++step) {{
        unsigned long long a = descriptors[2 * step] + (start >> 4);
        unsigned long long b = descriptors[2 * step + 1] + (start >> 4);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        asm volatile("{{ .reg .pred p; setp.ne.b32 p, {p}, 0; "
            "wgmma.mma_async.sync.aligned.m64n{N}k16.f32.bf16.bf16 "
            "{{{registers}}}, {a}, {b}, p, 1, 1, {transposed_a}, {transposed_b}; }}"
            : {operands} : "l"(a), "l"(b), "r"(step));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    }}
#pragma unroll
    for (int i = 0; i < {ACCUMULATORS}; ++i) result[{ACCUMULATORS} * threadIdx.x + i] = d[i];
}}
"""


class Bench:
    """A loaded module, matrices in device memory, and tensor maps over them."""

    def __init__(self, device: Device, architecture: str) -> None:
        compiled = compile(source(), architecture, kernels=KERNELS, name="shared_tile.cu")
        self.module: Module = device.load(compiled.cubin, architecture)
        self.device = device
        self.held: list[Any] = []

    def map_of(self, matrix: Any, tile: SharedTile) -> bytes:
        """The tensor map of a row-major matrix in boxes of the tile's panels."""
        buffer = self.device.handle.allocate(matrix.nbytes, stream=self.device.stream)
        self.held.append(buffer)
        address = int(buffer.handle)
        stream = self.device.stream.handle
        checked(
            self.device.driver,
            "cuMemcpyHtoDAsync",
            address,
            matrix.ctypes.data,
            matrix.nbytes,
            stream,
        )
        self.device.stream.sync()
        _, _, box = next(tile.boxes())
        space = (ctypes.c_ubyte * 192)()
        aligned = -(-ctypes.addressof(space) // 64) * 64
        status = ctypes.CDLL("libcuda.so.1").cuTensorMapEncodeTiled(
            ctypes.c_void_p(aligned),
            ctypes.c_int({1: 0, 2: 1, 4: 2}[tile.element_bytes]),  # unsigned, by width
            ctypes.c_uint32(2),
            ctypes.c_void_p(address),
            (ctypes.c_uint64 * 2)(tile.columns, tile.rows),
            (ctypes.c_uint64 * 1)(tile.columns * tile.element_bytes),
            (ctypes.c_uint32 * 2)(*box.box),
            (ctypes.c_uint32 * 2)(1, 1),
            ctypes.c_int(0),
            ctypes.c_int(tile.mode.tensor_map_code),
            ctypes.c_int(0),
            ctypes.c_int(0),
        )
        assert status == 0, f"cuTensorMapEncodeTiled gives {status} for {box}"
        return ctypes.string_at(aligned, 128)

    def run(
        self,
        kernel: str,
        operands: Sequence[tuple[Any, SharedTile, int]],
        shared: int,
        rest: Sequence[Any],
    ) -> Any:
        """Copy each operand to its place in shared memory, then do what the kernel does."""
        maps = [self.map_of(matrix, tile) for matrix, tile, _ in operands]
        maps += maps[:1] * (2 - len(maps))
        copies = [
            (number, place + offset, *origin)
            for number, (_, tile, place) in enumerate(operands)
            for offset, origin, _ in tile.boxes()
        ]
        (result,) = self.module.launch(
            kernel,
            grid=1,
            block=128,
            arguments=[
                Input(numpy.frombuffer(b"".join(maps), numpy.uint8), alignment=64),
                Input(numpy.array(copies, numpy.int32)),
                numpy.uint32(len(copies)),
                numpy.uint32(sum(tile.bytes for _, tile, _ in operands)),
                *rest,
            ],
            shared=shared + REPEAT,
        )
        return result


@pytest.fixture(scope="module")
def bench(device: Device, architecture: str) -> Iterator[Bench]:
    if device.capability != (9, 0):
        pytest.skip(f"wgmma exists on 9.0 alone, this device is {device.capability}")
    bench = Bench(device, architecture)
    yield bench
    for buffer in bench.held:
        buffer.close(device.stream)


@pytest.mark.parametrize("element_bytes", [1, 2, 4])
@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize("base", [0, 384])
def test_tma_writes_where_the_tile_says(
    bench: Bench, span: int, element_bytes: int, base: int
) -> None:
    """Also at a base that is no multiple of the repeat: the swizzle is of absolute addresses."""
    tile = SharedTile(40, 256 // element_bytes, element_bytes, span)
    counted = numpy.arange(tile.rows * tile.columns * element_bytes, dtype=numpy.uint32)
    matrix = (counted * 2654435761 >> 13).astype(numpy.uint8)
    length = base + tile.bytes
    rest = [numpy.uint32(length), Output(length, numpy.uint8)]
    written = bench.run("copy", [(matrix, tile, base)], length, rest)
    expected = numpy.empty_like(written)
    expected[:base] = written[:base]
    layout = tile.layout()
    for row in range(tile.rows):
        for column in range(tile.columns):
            plain = base + layout.inner(row, column)
            place = tile.mode.swizzled(plain)
            first = (row * tile.columns + column) * element_bytes
            expected[place : place + element_bytes] = matrix[first : first + element_bytes]
            if base == 0:
                assert place == tile(row, column)
    numpy.testing.assert_array_equal(written, expected)


def operand(rng: Any, major: str, extent: int, span: int) -> tuple[Any, Any, SharedTile]:
    """An operand as (mn, k) integers, the bits of its tile's matrix, and the tile."""
    values = rng.integers(-3, 4, size=(extent, K)).astype(numpy.float32)
    stored = values if major == "K" else values.T
    bits = (numpy.ascontiguousarray(stored).view(numpy.uint32) >> 16).astype(numpy.uint16)
    rows, columns = stored.shape
    return values, bits, SharedTile(rows, columns, 2, span)


def product(
    bench: Bench, majors: tuple[str, str], span: int, ks: Sequence[int], change: Any = None
) -> tuple[Any, Any]:
    """What the device multiplies over the K steps at `ks`, and what it should."""
    rng = numpy.random.default_rng(span + len(ks))
    a, a_bits, a_tile = operand(rng, majors[0], M, span)
    b, b_bits, b_tile = operand(rng, majors[1], N, span)
    descriptors = []
    for k in ks:
        pair = (
            tile_descriptor(a_tile, majors[0], extent=M, k=k),
            tile_descriptor(b_tile, majors[1], extent=N, k=k, base=a_tile.bytes),
        )
        descriptors += [(change(each) if change else each).encoded() for each in pair]
    kernel = "multiply_" + "".join("01"[major == "MN"] for major in majors)
    # A changed descriptor may read past the tiles, and must then still read shared memory.
    room = 160 * 1024 if change else a_tile.bytes + b_tile.bytes
    held = bench.run(
        kernel,
        [(a_bits, a_tile, 0), (b_bits, b_tile, a_tile.bytes)],
        room,
        [
            Input(numpy.array(descriptors, numpy.uint64)),
            numpy.uint32(len(ks)),
            Output((128, ACCUMULATORS), numpy.float32),
        ],
    )
    thread, value = numpy.ix_(range(128), range(ACCUMULATORS))
    row = thread // 32 * 16 + thread % 32 // 4 + value // 2 % 2 * 8
    column = value // 4 * 8 + thread % 4 * 2 + value % 2
    measured = numpy.full((M, N), numpy.nan, numpy.float32)
    measured[row, column] = held
    steps = [range(k, k + 16) for k in ks]
    expected = sum(a[:, step].astype(float) @ b[:, step].astype(float).T for step in steps)
    return measured, expected


@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize("majors", [(a, b) for a in MAJORS for b in MAJORS], ids="-".join)
def test_wgmma_reads_what_tma_wrote(bench: Bench, majors: tuple[str, str], span: int) -> None:
    measured, expected = product(bench, majors, span, range(0, K, 16))
    numpy.testing.assert_array_equal(measured, expected)


@pytest.mark.parametrize("span", [64, 128])
def test_starts_advance_by_single_chunks(bench: Bench, span: int) -> None:
    tile = SharedTile(64, K, 2, span)
    ks = [inside // 2 for inside in row_advances(tile, "K", extent=M)]
    assert 8 in ks
    for k in ks:
        measured, expected = product(bench, ("K", "K"), span, [k])
        numpy.testing.assert_array_equal(measured, expected)


@pytest.mark.parametrize("span", SPANS[1:])
def test_a_swizzled_k_major_read_ignores_the_leading_offset(bench: Bench, span: int) -> None:
    measured, expected = product(
        bench, ("K", "K"), span, [0, 16], lambda each: replace(each, leading=4096)
    )
    numpy.testing.assert_array_equal(measured, expected)


def _exchanged(read: MatrixDescriptor) -> MatrixDescriptor:
    return replace(read, leading=read.stride, stride=read.leading)


@pytest.mark.parametrize(
    ("majors", "span"),
    [(("K", "K"), 0), (("MN", "MN"), 0), (("MN", "MN"), 32), (("MN", "MN"), 64), (("K", "K"), 128)],
)
def test_exchanged_offsets_read_other_elements(
    bench: Bench, majors: tuple[str, str], span: int
) -> None:
    measured, expected = product(bench, majors, span, [0, 16], _exchanged)
    assert (measured != expected).any()
