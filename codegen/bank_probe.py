"""Ask a device what an access to shared memory costs: the timing beside the count.

`patterns` are accesses with hand-derived wavefronts. `cycles_per_access` times one on a device: 16
warps issue it over and over on one multiprocessor, whose shared memory then works without a pause,
and the difference between two lengths of the loop leaves out everything that happens once. What
comes out is cycles per warp instruction; a conflict-free 4-byte access sets the rung of one
wavefront, a conflict of n ways that of n.

Every instruction in the loop has an address of its own, a whole number of 128 bytes further: the
banks stay, and no compiler can merge two of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tylo.codegen.launch import Input, Module, Output
from tylo.layouts.shared import Access, swizzle_mode
from tylo.layouts.swizzle import Swizzle

if TYPE_CHECKING:
    from numpy.typing import NDArray

UNROLLED = 8  # accesses in one turn of the loop
WARPS = 16
REPEATS = 64
SHARED_BYTES = 16384
LADDER = (1, 2, 4, 8, 16, 32)
INACTIVE = 0xFFFFFFFF  # the address of a lane that stays out of the loop


@dataclass(frozen=True, slots=True)
class Pattern:
    """An access with a name, the kernel that issues it, and its wavefronts as derived by hand."""

    name: str
    kernel: str
    access: Access
    by_hand: int


# Each kernel's instruction, with `where` its address register; results end in `sum`.
_LOADS = {
    "load_2": ('asm volatile("ld.shared.u16 %0, [%1];" : "=h"(h) : "r"(at)); sum ^= h;'),
    "load_4": ('asm volatile("ld.shared.u32 %0, [%1];" : "=r"(a) : "r"(at)); sum ^= a;'),
    "load_8": (
        'asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(at)); '
        "sum ^= a ^ b;"
    ),
    "load_16": (
        'asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" '
        ': "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at)); sum ^= a ^ b ^ c ^ d;'
    ),
    "matrix_x4": (
        'asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" '
        ': "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at)); sum ^= a ^ b ^ c ^ d;'
    ),
}
_STORES = {
    "store_4": 'asm volatile("st.shared.u32 [%0], %1;" :: "r"(at), "r"(sum) : "memory");',
    "store_8": 'asm volatile("st.shared.v2.u32 [%0], {%1, %1};" :: "r"(at), "r"(sum) : "memory");',
    "store_16": (
        'asm volatile("st.shared.v4.u32 [%0], {%1, %1, %1, %1};" :: "r"(at), "r"(sum) : "memory");'
    ),
}
KERNELS = (*_LOADS, *_STORES)


def source() -> str:
    """The CUDA text of all kernels.

    Each takes the 32 lanes' addresses (`INACTIVE` for a lane that makes no turn), a step per turn
    that the host sets to 0 and the compiler cannot know, the number of turns, and where cycles and
    results go.
    """
    return "\n".join(_kernel(name, text) for name, text in {**_LOADS, **_STORES}.items())


def _kernel(name: str, instruction: str) -> str:
    return f"""\
extern "C" __global__ void __launch_bounds__({32 * WARPS}, 1)
{name}(const unsigned* addresses, unsigned step, unsigned turns, long long* cycles, unsigned* sink)
{{
    __shared__ __align__(1024) unsigned char memory[{SHARED_BYTES}];
    unsigned long long base;
    asm("cvta.to.shared.u64 %0, %1;" : "=l"(base) : "l"(memory));
    unsigned mine = addresses[threadIdx.x % 32];
    unsigned where = unsigned(base) + mine;
    if (mine == {INACTIVE}u) turns = 0;
    unsigned a = 0, b = 0, c = 0, d = 0, sum = threadIdx.x;
    unsigned short h = 0;
    __syncthreads();
    long long start = clock64();
    for (unsigned turn = 0; turn < turns; ++turn) {{
#pragma unroll
        for (int i = 0; i < {UNROLLED}; ++i) {{
            unsigned at = where + 128 * i;
            {instruction}
        }}
        where += step;
    }}
    __syncthreads();
    if (threadIdx.x == 0) *cycles = clock64() - start;
    sink[threadIdx.x] = sum ^ a ^ b ^ c ^ d ^ h ^ *(unsigned*)(memory + 4 * (threadIdx.x % 32));
}}
"""


def patterns() -> tuple[Pattern, ...]:
    """Accesses whose wavefronts can be counted on the fingers, each with that number."""
    return (*_ladder("load_4"), *_ladder("store_4"), *_others())


def _ladder(kernel: str) -> Iterator[Pattern]:
    """Lane n accesses word n * ways: every 32nd word shares a bank, so that `ways` lanes do."""
    for ways in LADDER:
        instruction = kernel.split("_")[0]
        access = Access([4 * ways * lane for lane in range(32)], 4, instruction)
        yield Pattern(f"{kernel}, {ways} lanes to a bank", kernel, access, ways)


def _others() -> Iterator[Pattern]:
    lanes = range(32)
    column = Access([128 * lane for lane in lanes], 4)
    for bits in (1, 2, 3, 4, 5):
        moved = column.swizzled(Swizzle(bits, 0, 5, unit=32))
        yield Pattern(f"f32 column, Sw<{bits},0,5>", "load_4", moved, 32 >> bits)
    yield Pattern("f32 column, pitch 33", "load_4", Access([132 * n for n in lanes], 4), 1)
    yield Pattern("one word for all lanes", "load_4", Access([0] * 32, 4), 1)
    yield Pattern("two bytes per lane", "load_2", Access([2 * n for n in lanes], 2), 1)
    for ways in (3, 5, 6):
        words = [32 * (n % ways) + n // ways for n in lanes]
        access = Access([4 * word for word in words], 4)
        yield Pattern(f"{ways} words in most banks", "load_4", access, ways)
    yield Pattern("8 bytes, contiguous", "load_8", Access([8 * n for n in lanes], 8), 2)
    yield Pattern("8 bytes, every other word pair", "load_8", Access([16 * n for n in lanes], 8), 4)
    yield Pattern("16 bytes, contiguous", "load_16", Access([16 * n for n in lanes], 16), 4)
    chunks = Access([128 * n for n in lanes], 16)
    yield Pattern("16 bytes, column of 128-byte rows", "load_16", chunks, 32)
    moved = chunks.swizzled(swizzle_mode(128).swizzle)
    yield Pattern("the same, 128-byte swizzle", "load_16", moved, 4)
    rows = [n % 16 for n in lanes]
    for pitch, by_hand in ((64, 16), (80, 4), (128, 32), (144, 4)):
        tile = Access([pitch * row + 16 * (n // 16) for n, row in enumerate(rows)], 16, "matrix")
        yield Pattern(f"ldmatrix.x4, {pitch}-byte rows", "matrix_x4", tile, by_hand)
    tile = Access([128 * row + 16 * (n // 16) for n, row in enumerate(rows)], 16, "matrix")
    moved = tile.swizzled(swizzle_mode(128).swizzle)
    yield Pattern("ldmatrix.x4, 128-byte swizzle", "matrix_x4", moved, 4)
    accumulator = [128 * (n // 4) + 4 * (n % 4) for n in lanes]
    yield Pattern("C in bf16x2, 128-byte rows", "store_4", Access(accumulator, 4, "store"), 8)
    moved = Access(accumulator, 4, "store").swizzled(swizzle_mode(128).swizzle)
    yield Pattern("the same, 128-byte swizzle, stored", "store_4", moved, 1)
    for pitch, by_hand in ((32, 2), (128, 8)):
        pairs = Access([pitch * (n // 4) + 8 * (n % 4) for n in lanes], 8, "store")
        yield Pattern(f"C in f32x2, {pitch}-byte rows", "store_8", pairs, by_hand)
    yield Pattern("16 bytes, stored", "store_16", Access([16 * n for n in lanes], 16, "store"), 4)


def paired_patterns() -> tuple[Pattern, ...]:
    """Accesses that tell whether and when phases of lanes in pairs merge.

    The hand counts follow the rule of `tylo.layouts.shared.bank_conflicts`. Each would come out
    otherwise under a neighbour of the rule: halving the count, merging only phases without
    conflicts, merging by parts of the warp, or merging stores.
    """
    return (*_merged(), *_conflicting(), *_unmerged())


def _vector(lane: int, step: int) -> int:
    """The vector that a lane wants when lanes n and n^step share one, numbered without gaps."""
    return lane % step + lane // (2 * step) * step


def _merged() -> Iterator[Pattern]:
    lanes = range(32)
    for width, by_hand in ((8, 1), (16, 2)):
        load = f"load_{width}"
        yield Pattern(f"{width} bytes for all lanes", load, Access([0] * 32, width), by_hand)
        for step in (1, 2):
            name = f"{width} bytes, n with n^{step}"
            wanted = [width * _vector(n, step) for n in lanes]
            yield Pattern(name, load, Access(wanted, width), by_hand)
            alone = [None if n & step else wanted[n] for n in lanes]
            yield Pattern(f"{name} inactive", load, Access(alone, width), by_hand)


def _conflicting() -> Iterator[Pattern]:
    """Vectors in rows of 128 bytes: as many rows as there are ways, in each pair of phases.

    Apart, each phase fills all rows of its own columns, and merging saves half. Across, the phases
    lie in different rows of the same columns, and merging saves nothing.
    """
    for width, by_hand in ((8, 1), (16, 2)):
        for ways in (2, 4):
            for name in ("apart", "across"):
                for step in (1, 2):
                    places = [_place(_vector(n, step), width, ways, name) for n in range(32)]
                    yield Pattern(
                        f"{width} bytes, n with n^{step}, {ways} ways {name}",
                        f"load_{width}",
                        Access(places, width),
                        ways * by_hand,
                    )


def _place(vector: int, width: int, ways: int, name: str) -> int:
    wanted = 64 // width  # by one phase of lanes in pairs
    number = vector % (2 * wanted)
    if name == "across":
        row, column = divmod(number, 2 * wanted // ways)
    else:
        phase, inside = divmod(number, wanted)
        row, column = divmod(inside, wanted // ways)
        column += phase * (wanted // ways)
    return 128 * row + width * column


def _unmerged() -> Iterator[Pattern]:
    """As few words as in the patterns above, in lanes that agree in another way, or to store."""
    lanes = range(32)
    for width, by_hand in ((8, 2), (16, 4)):
        shapes = {
            "n with n^4": [_vector(n, 4) for n in lanes],
            "all pairs but one": [_vector(n, 1) if n < 31 else 0 for n in lanes],
            "pairs in one half": [0 if n < 16 else n % 8 for n in lanes],
            "n^1 in one half, n^2 in the other": [_vector(n, 1 if n < 16 else 2) for n in lanes],
        }
        for name, vectors in shapes.items():
            access = Access([width * vector for vector in vectors], width)
            yield Pattern(f"{width} bytes, {name}", f"load_{width}", access, by_hand)
        for step in (1, 2):
            access = Access([width * _vector(n, step) for n in lanes], width, "store")
            yield Pattern(
                f"{width} bytes, n with n^{step}, stored", f"store_{width}", access, by_hand
            )
    rows = Access([16 * _vector(n, 1) for n in lanes], 16, "matrix")
    yield Pattern("ldmatrix.x4, rows in pairs", "matrix_x4", rows, 4)


def launch_pattern(module: Module, pattern: Pattern, *, warps: int, turns: int) -> int:
    """Run a pattern once; the cycles from the first access to the last."""
    import numpy

    addresses = numpy.array(
        [INACTIVE if each is None else each for each in pattern.access.addresses], numpy.uint32
    )
    cycles: NDArray[numpy.int64]
    cycles, _ = module.launch(
        pattern.kernel,
        grid=1,
        block=32 * warps,
        arguments=[
            Input(addresses),
            numpy.uint32(0),
            numpy.uint32(turns),
            Output(1, numpy.int64),
            Output(32 * warps, numpy.uint32),
        ],
    )
    return int(cycles[0])


def expected_wavefronts(per_access: int, *, warps: int, turns: int) -> int:
    """Of a whole launch: the loop's, and one per warp for the word read after it.

    >>> expected_wavefronts(4, warps=1, turns=128)
    4097
    """
    return warps * (turns * UNROLLED * per_access + 1)


def cycles_per_access(module: Module, pattern: Pattern) -> float:
    """Cycles that one warp instruction of the pattern occupies shared memory."""

    def least(turns: int) -> int:
        return min(launch_pattern(module, pattern, warps=WARPS, turns=turns) for _ in range(4))

    return (least(2 * REPEATS) - least(REPEATS)) / (WARPS * REPEATS * UNROLLED)


def on_ladder(cycles: float, rungs: Sequence[float]) -> float:
    """Wavefronts that the measured rungs of `LADDER` give to a number of cycles.

    >>> on_ladder(3.1, [1.0, 2.1, 4.1, 8.1, 16.1, 32.1])
    3.0
    """
    import numpy

    return float(numpy.interp(cycles, rungs, LADDER))
