"""The generated CUDA tests of the packing primitive.

Each is one self-checking kernel of one block, specialised as the packing kernel is: it contains the
very text of `source.device_functions`, expected data of `tylo.codegen.oracle` as tables, and a
skeleton of ``cuda/tests``. It writes

    result[0]  checks made               result[3]  the thread of that check
    result[1]  checks failed             result[4]  its half, or value, among the thread's registers
    result[2]  the first one that failed result[5], result[6]  bits expected and found

and has passed only if it made as many checks as stated and none failed.

| test | what the hardware itself contributes | what is compared |
|---|---|---|
| coordinates | accumulators made by ``mma.sync`` | row and column of every packed half |
| shared_roundtrip | operand A as ``ldmatrix`` loads it | every packed half, bit by bit |
| second_instruction | the product of operand A by ``mma.sync`` | every element of the product |

>>> from tylo.layouts.atoms import atom
>>> for test in cuda_tests(PackTile(atom("mma.m16n8k16.bf16"))):
...     print(test.name, test.entry, test.threads, test.checks)
coordinates tylo_test_coordinates 32 1024
shared_roundtrip tylo_test_shared_roundtrip 32 512
second_instruction tylo_test_second_instruction 32 512
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tylo.codegen import oracle
from tylo.codegen.cuda_files import cuda_file
from tylo.codegen.pack_operand_a import cuda_test_data, cuda_test_indices
from tylo.codegen.pack_operand_a.source import device_functions, load_function
from tylo.proofs.specifications.pack_operand_a import PackTile

if TYPE_CHECKING:
    from numpy.typing import NDArray

RESULT_WORDS = 7
_PER_LINE = 8


@dataclass(frozen=True, slots=True)
class CudaTest:
    """A self-checking kernel: its text, entry, block size, checks, and words of its result."""

    name: str
    source: str
    entry: str
    threads: int
    checks: int
    result_words: int = RESULT_WORDS


def cuda_tests(tile: PackTile) -> tuple[CudaTest, ...]:
    """All tests of the packing kernel for `tile`; the same tile gives the same text."""
    return (_coordinates(tile), _shared_roundtrip(tile), _second_instruction(tile))


def _coordinates(tile: PackTile) -> CudaTest:
    tables = cuda_test_data.coordinates(tile)
    planes = len(tables["digit_shifts"])
    return _test(
        "coordinates",
        tile,
        checks=2 * planes * _halves(tile),
        constants={
            "planes": planes,
            "largest_digit": cuda_test_data.CODES - 1,
            "staged_words": _staged_words(tile),
        },
        tables=tables,
        wrappers=[_multiply(tile), cuda_file("ldmatrix.cuh")],
        functions=[
            cuda_test_indices.staged_a(tile),
            cuda_test_indices.staged_b(tile),
            cuda_test_indices.left_row(tile),
            cuda_test_indices.right_row(tile),
            cuda_test_indices.place_pair(tile),
            cuda_test_indices.half_number(tile),
        ],
        shared=["copy_row", "halves"],
    )


def _shared_roundtrip(tile: PackTile) -> CudaTest:
    return _test(
        "shared_roundtrip",
        tile,
        checks=2 * _halves(tile),
        constants={"staged_words": _staged_words(tile)},
        tables=cuda_test_data.shared_roundtrip(tile),
        wrappers=[cuda_file("ldmatrix.cuh")],
        functions=[
            load_function(tile),
            cuda_test_indices.staged_a(tile),
            cuda_test_indices.operand_row(tile),
            cuda_test_indices.take_pair(tile),
            cuda_test_indices.word_number(tile),
            cuda_test_indices.half_number(tile),
        ],
        shared=["copy_row", "halves"],
    )


def _second_instruction(tile: PackTile) -> CudaTest:
    tables = cuda_test_data.second_instruction(tile)
    variants = len(tables["source"])
    return _test(
        "second_instruction",
        tile,
        checks=variants * 8 * tile.repeats_m * tile.threads,
        constants={"variants": variants, "staged_words": _staged_words(tile)},
        tables=tables,
        wrappers=[_multiply(tile), cuda_file("ldmatrix.cuh")],
        functions=[
            load_function(tile),
            cuda_test_indices.staged_b(tile),
            cuda_test_indices.factor_row(tile),
            cuda_test_indices.word_number(tile),
            cuda_test_indices.product_number(tile),
        ],
        shared=["copy_row"],
    )


def _test(
    name: str,
    tile: PackTile,
    *,
    checks: int,
    constants: Mapping[str, int],
    tables: Mapping[str, NDArray[Any]],
    wrappers: list[str],
    functions: list[str],
    shared: list[str],
) -> CudaTest:
    dtype = tile.atom.operand("A").dtype
    infinity = oracle.FORMATS[dtype].infinity
    values = {**constants, "infinity": infinity} if "halves" in shared else constants
    parts = [
        device_functions(tile),
        "enum : unsigned {\n"
        + "".join(f"    {label} = {value},\n" for label, value in values.items())
        + "};\n",
        *(_table(label, table) for label, table in tables.items()),
        *wrappers,
        *functions,
        cuda_test_indices.check_number(tile),
        *(cuda_file("tests", f"{each}.cuh") for each in [*shared, "report", name]),
    ]
    return CudaTest(
        name=name,
        source="\n".join(parts),
        entry=f"tylo_test_{name}",
        threads=tile.threads,
        checks=checks,
    )


def _halves(tile: PackTile) -> int:
    return 2 * len(tile.words) * tile.threads


def _staged_words(tile: PackTile) -> int:
    """32-bit words of one 16x16 operand for every warp."""
    return 16 * 16 // 2 * tile.warps_m


def _multiply(tile: PackTile) -> str:
    return cuda_file(f"mma_m16n8k16_{tile.atom.operand('A').dtype}.cuh")


def _table(label: str, table: NDArray[Any]) -> str:
    """A table of 32-bit words in the GPU's memory, row-major."""
    flat = [f"{int(word):#x}" for word in table.reshape(-1)]
    lines = [", ".join(flat[at : at + _PER_LINE]) for at in range(0, len(flat), _PER_LINE)]
    extents = "".join(f"[{extent}]" for extent in table.shape)
    body = ",\n".join(f"    {line}" for line in lines)
    return f"__device__ const unsigned {label}{extents} = {{\n{body}}};\n"
