"""The text of the generated tests: its tables, its skeletons, and that it compiles well.

That the tests pass, and that they can fail, is shown in ``tests/gpu``, on a device and on the
machine that runs PTX without one.

``TYLO_UPDATE_GOLDEN=1`` rewrites the golden files under ``tests/data/golden``.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy
import pytest

import tylo.cuda
from tylo.codegen.nvrtc import compile, require_full_speed, resources
from tylo.codegen.pack_operand_a.cuda_tests import RESULT_WORDS, CudaTest, cuda_tests
from tylo.codegen.pack_operand_a.source import device_functions, kernel_source
from tylo.layouts.atoms import atom
from tylo.proofs.specifications.pack_operand_a import PackTile

DATA = Path(__file__).parents[1] / "data"
DTYPES = {"bf16": ml_dtypes.bfloat16, "f16": numpy.float16}
SIZES = [(1, 1, 1), (2, 2, 1), (1, 2, 2)]
TILES = [(dtype, sizes) for dtype in DTYPES for sizes in SIZES]
ARCHITECTURES = ["sm_80", "sm_90a", "sm_100a", "sm_120"]
NAMES = ["coordinates", "shared_roundtrip", "second_instruction"]
TABLE = re.compile(r"__device__ const unsigned (\w+)((?:\[\d+\])+) = \{\n(.*?)\};\n", re.DOTALL)


def tile_of(dtype: str, sizes: tuple[int, int, int]) -> PackTile:
    return PackTile(atom(f"mma.m16n8k16.{dtype}"), *sizes)


def tables(test: CudaTest) -> dict[str, Any]:
    found = {}
    for label, extents, body in TABLE.findall(test.source):
        shape = [int(extent) for extent in re.findall(r"\d+", extents)]
        words = [int(word, 16) for word in re.findall(r"0x[0-9a-f]+", body)]
        found[label] = numpy.array(words, numpy.uint32).reshape(shape)
    return found


def halves(words: Any) -> Any:
    return (
        numpy.stack([words & 0xFFFF, words >> 16], -1)
        .reshape(*words.shape[:-1], -1)
        .astype(numpy.uint16)
    )


def numbers(words: Any, dtype: str) -> Any:
    return halves(words).view(DTYPES[dtype]).astype(numpy.float64)


def vendor_table(dtype: str, letter: str) -> Any:
    """Coordinates [lane][value] as another project states them."""
    for table in json.loads((DATA / "atoms_m16n8k16.json").read_text(encoding="utf-8"))["atoms"]:
        if f".{dtype}.{dtype}." in table["instruction"]:
            return numpy.array(table["operands"][letter]["table"])
    raise AssertionError(dtype)


@pytest.fixture(params=TILES, ids=lambda tile: f"{tile[0]}-{'x'.join(map(str, tile[1]))}")
def tile(request: pytest.FixtureRequest) -> PackTile:
    return tile_of(*request.param)


def test_names_and_counts(tile: PackTile) -> None:
    tests = cuda_tests(tile)
    assert [test.name for test in tests] == NAMES
    held = 8 * tile.repeats_m * tile.pairs * tile.threads
    counts = {
        "coordinates": 2 * 2 * held,  # row and column, of both functions
        "shared_roundtrip": 2 * held,
        "second_instruction": 2 * 8 * tile.repeats_m * tile.threads,
    }
    for test in tests:
        assert test.entry == f"tylo_test_{test.name}"
        assert test.threads == tile.threads
        assert test.checks == counts[test.name]
        assert test.result_words == RESULT_WORDS
        assert test.source.count(f"{test.entry}(unsigned* result) {{") == 1


def test_each_holds_the_very_functions_of_the_kernel(tile: PackTile) -> None:
    functions = device_functions(tile)
    assert functions in kernel_source(tile)
    for test in cuda_tests(tile):
        assert test.source.count(functions) == 1
        assert "#include" not in test.source


def test_the_same_tile_gives_the_same_text(tile: PackTile) -> None:
    assert cuda_tests(tile) == cuda_tests(tile)


def test_the_coordinate_tables_are_those_of_the_vendor(tile: PackTile) -> None:
    dtype = tile.atom.operand("A").dtype
    found = tables(cuda_tests(tile)[0])
    lane_table = vendor_table(dtype, "A")
    for thread in range(tile.threads):
        for number in range(8 * tile.repeats_m * tile.pairs):
            repeat, pair = number // 8 % tile.repeats_m, number // 8 // tile.repeats_m
            row, column = lane_table[thread % 32, number % 8]
            row += 16 * (thread // 32 + tile.warps_m * repeat)
            column += 16 * pair
            assert found["coordinates"][thread, number] == row * 65536 + column


def test_the_factors_code_rows_then_columns(tile: PackTile) -> None:
    dtype = tile.atom.operand("A").dtype
    rows, columns = tile.shape
    found = tables(cuda_tests(tile)[0])
    codes = numbers(found["codes"][:, None], dtype)[:, 0]
    assert codes.tolist() == list(range(1, 129))
    assert found["digit_shifts"].tolist() == [16, 0]
    for plane, coded in enumerate(numpy.indices((rows, columns))):
        left = numbers(found["left_factors"][plane], dtype).reshape(rows // 16, 16, 16)
        right = numbers(found["right_factors"][plane], dtype).reshape(columns, 16).T
        assert numpy.array_equal((left @ right).reshape(rows, columns), 1 + coded)


def test_a_tall_tile_needs_two_digits_of_its_rows() -> None:
    tile = tile_of("bf16", (2, 1, 8))
    found = tables(cuda_tests(tile)[0])
    assert found["digit_shifts"].tolist() == [16, 23, 0]
    assert cuda_tests(tile)[0].checks == 3 * 2 * 16 * 256


def test_the_roundtrip_s_expected_tile_is_the_rounded_source(tile: PackTile) -> None:
    dtype = tile.atom.operand("A").dtype
    found = tables(cuda_tests(tile)[1])
    source = found["source"].view(numpy.float32)
    with numpy.errstate(all="ignore"):
        expected = source.astype(DTYPES[dtype])
    rounded = halves(found["rounded"]).view(DTYPES[dtype])
    nan = numpy.isnan(source)
    assert numpy.array_equal(numpy.isnan(rounded.astype(numpy.float32)), nan)
    assert numpy.array_equal(rounded[~nan].view(numpy.uint16), expected[~nan].view(numpy.uint16))
    assert nan.sum() >= 8
    assert {0, 0x80000000, 0x7F800000, 0xFF800000, 0x7F7FFFFF} <= set(found["source"].tolist())
    assert len(set(found["source"].tolist())) > 0.8 * tile.elements


def test_the_bounds_hold_the_product_in_float64(tile: PackTile) -> None:
    dtype = tile.atom.operand("A").dtype
    rows, inner = tile.shape
    found = tables(cuda_tests(tile)[2])
    lane_table = vendor_table(dtype, "C")
    for variant in range(2):
        source = found["source"][variant].view(numpy.float32).reshape(rows, inner)
        left = source.astype(DTYPES[dtype]).astype(numpy.float64)
        right = numbers(found["second_factor"][variant], dtype).reshape(16, inner).T
        product = left @ right
        low, high = (
            found[label][variant].view(numpy.float32).astype(numpy.float64)
            for label in ("lowest", "highest")
        )
        for thread in range(tile.threads):
            for number in range(8 * tile.repeats_m):
                row, column = lane_table[thread % 32, number % 4]
                row += 16 * (thread // 32 + tile.warps_m * (number // 8))
                column += number // 4 % 2 * 8
                exact = product[row, column]
                assert low[thread, number] <= exact <= high[thread, number]
                if variant == 0:
                    assert low[thread, number] == exact == high[thread, number]
                    assert exact == round(exact)
                else:
                    assert high[thread, number] - low[thread, number] < 1e-3
        assert abs(product).max() > 1


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_they_compile_without_spills(tile: PackTile, architecture: str) -> None:
    for test in cuda_tests(tile):
        compiled = compile(test.source, architecture, kernels=[test.entry], name=test.name)
        require_full_speed(compiled)
        assert resources(compiled)[test.entry].shared <= 48 * 1024
        assert "mma.sync" in compiled.ptx or test.name == "shared_roundtrip"


def test_the_largest_tiles_stay_within_static_shared_memory() -> None:
    tile = tile_of("bf16", (1, 1, 32))
    for test in cuda_tests(tile):
        compiled = compile(test.source, "sm_80", kernels=[test.entry], name=test.name)
        assert resources(compiled)[test.entry].shared <= 48 * 1024


EVERYTHING = sorted(Path(next(iter(tylo.cuda.__path__))).rglob("*.cuh"))
SKELETONS = sorted(
    path
    for folder in ("tests", "attest")
    for path in (Path(next(iter(tylo.cuda.__path__))) / folder).iterdir()
)


@pytest.mark.parametrize("path", SKELETONS, ids=lambda path: path.name)
def test_skeletons_hold_no_lane_arithmetic(path: Path) -> None:
    assert path.suffix == ".cuh"
    code = re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
    assert "include" not in code
    assert not re.search(r"\b(lane|warp|laneid|tid)\b", code)
    assert not re.search(r"threadIdx\.[yz]|blockDim", code)
    assert not re.search(r"[-+*/%&|^<>]\s*threadIdx|threadIdx\.x\s*[-+*/%&|^<>]", code)


@pytest.mark.parametrize("path", EVERYTHING, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_text_computes_with_a_thread_number(path: Path) -> None:
    code = re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
    assert not re.search(r"threadIdx\.[yz]|blockDim", code)
    assert not re.search(r"[-+*/%&|^<>]\s*threadIdx|threadIdx\.x\s*[-+*/%&|^<>]", code)
    assert not re.search(r"_threads\s*[/%]", code)


@pytest.mark.parametrize("name", NAMES)
def test_golden_text(name: str) -> None:
    test = next(each for each in cuda_tests(tile_of("bf16", (1, 1, 1))) if each.name == name)
    golden = DATA / "golden" / f"pack_operand_a.bf16.{name}.cu"
    if os.environ.get("TYLO_UPDATE_GOLDEN") == "1":
        golden.write_text(test.source, encoding="utf-8")
    assert test.source == golden.read_text(encoding="utf-8")
