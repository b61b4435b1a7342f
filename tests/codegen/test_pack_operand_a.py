"""`pack_operand_a` on fragments: the exchange, its rounding, and everything it refuses."""

import dataclasses
import json
from pathlib import Path

import ml_dtypes
import numpy
import pytest

from tylo.codegen.pack_operand_a import pack_operand_a
from tylo.layouts.atoms import atom
from tylo.layouts.errors import GenerationError, TyloError
from tylo.layouts.fragment import Fragment, gather, scatter
from tylo.layouts.ownership import Ownership
from tylo.layouts.terms import name
from tylo.layouts.tiling import tile_operand
from tylo.layouts.words import pack

DATA = Path(__file__).parents[1] / "data"
TABLES = {
    each["id"].rsplit("_", 1)[1]: each["operands"]
    for each in json.loads((DATA / "atoms_m16n8k16.json").read_text())["atoms"]
}
CASES = {case["id"]: case for case in json.loads((DATA / "cases.json").read_text())}
DTYPES = {"bf16": ml_dtypes.bfloat16, "f16": numpy.float16}
SPECIAL = [
    *(0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 3.4028235e38, -3.4028235e38, 1e-45, -1e-45),
    *(65504.0, 65519.9, 65520.0, 2.0**-24, 2.0**-25, 2.0**-14, 1.00390625, 1.01171875, 1e-40),
]


def accumulator(shape: tuple[int, ...], seed: int = 0) -> numpy.ndarray:
    """Random float32 values of all magnitudes, with special ones strewn in."""
    generator = numpy.random.default_rng(seed)
    values = generator.standard_normal(shape) * 2.0 ** generator.integers(-30, 17, shape)
    flat = values.astype(numpy.float32).reshape(-1)
    flat[generator.choice(flat.size, len(SPECIAL), replace=False)] = SPECIAL
    return flat.reshape(shape)


def rounded(values: numpy.ndarray, dtype: str) -> numpy.ndarray:
    with numpy.errstate(over="ignore", invalid="ignore"):
        return values.astype(DTYPES[dtype]).view(numpy.uint16)


def assert_same_bits(found: numpy.ndarray, expected: numpy.ndarray, dtype: str) -> None:
    """Equal patterns, where any NaN stands for every NaN."""
    nan = numpy.isnan(expected.view(DTYPES[dtype]).astype(numpy.float32))
    numpy.testing.assert_array_equal(
        numpy.isnan(found.view(DTYPES[dtype]).astype(numpy.float32)), nan
    )
    numpy.testing.assert_array_equal(found[~nan], expected[~nan])


def expected_words(matrix: numpy.ndarray, dtype: str, row: int, column: int) -> numpy.ndarray:
    """[lane, word] of the A operand whose first element is at (row, column), off the table."""
    bits = rounded(matrix, dtype)
    table = numpy.array(TABLES[dtype]["A"]["table"])
    halves = bits[..., row + table[..., 0], column + table[..., 1]]
    return numpy.ascontiguousarray(halves)


@pytest.mark.parametrize("batch", [(), (2, 3), (0,)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_two_atoms_become_one_operand(dtype: str, batch: tuple) -> None:
    mma = atom(f"mma.m16n8k16.{dtype}")
    source = mma.operand("C").ownership
    matrix = numpy.resize(accumulator((6, 16, 16)), (*batch, 16, 16))
    table = numpy.array(TABLES[dtype]["C"]["table"])
    left, right = (
        Fragment(matrix[..., table[..., 0], first + table[..., 1]], source) for first in (0, 8)
    )
    words = pack_operand_a(mma, left, right)
    assert words.dtype == dtype
    assert words.ownership == mma.operand("A").ownership
    assert words.data.shape == (*batch, 32, 4)
    assert_same_bits(words.halves(), expected_words(matrix, dtype, 0, 0), dtype)
    if batch != (0,):
        assert_same_bits(rounded(scatter(words.unpack()), dtype), rounded(matrix, dtype), dtype)


@pytest.mark.parametrize("repeats", [(1, 2, 1), (2, 4, 1), (3, 2, 2), (2, 6, 4)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_repeat_and_pair_of_a_tile(dtype: str, repeats: tuple) -> None:
    repeats_m, atoms_n, warps_m = repeats
    mma = atom(f"mma.m16n8k16.{dtype}")
    tile = tile_operand(mma, "C", m=repeats_m, n=atoms_n, warps_m=warps_m)
    matrix = accumulator(tile.shape, seed=7)
    fragment = gather(matrix, tile)
    for m in range(repeats_m):
        for k in range(atoms_n // 2):
            words = pack_operand_a(mma, fragment, m, k)
            assert words.data.shape == (32 * warps_m, 4)
            halves = words.halves().reshape(warps_m, 32, 8)
            for warp in range(warps_m):
                expected = expected_words(matrix, dtype, 16 * (warp + warps_m * m), 16 * k)
                assert_same_bits(halves[warp], expected, dtype)
            block = scatter(words.unpack())
            rows = numpy.concatenate(
                [matrix[16 * (w + warps_m * m) :][:16, 16 * k :][:, :16] for w in range(warps_m)]
            )
            assert_same_bits(rounded(block, dtype), rounded(rows, dtype), dtype)


def test_batch_axes_of_a_tile() -> None:
    mma = atom("mma.m16n8k16.f16")
    tile = tile_operand(mma, "C", m=2, n=4, warps_m=2)
    matrix = accumulator((5, *tile.shape), seed=3)
    words = pack_operand_a(mma, gather(matrix, tile), numpy.int64(1), numpy.uint8(1))
    assert words.data.shape == (5, 64, 4)
    for index in range(5):
        alone = pack_operand_a(mma, gather(matrix[index], tile), 1, 1)
        numpy.testing.assert_array_equal(words.data[index], alone.data)


def test_a_blocked_tile_of_one_warp_is_the_same_tile() -> None:
    mma = atom("mma.m16n8k16.bf16")
    blocked = tile_operand(mma, "C", m=2, n=2, arrangement="blocked")
    matrix = accumulator(blocked.shape)
    same = gather(matrix, tile_operand(mma, "C", m=2, n=2))
    numpy.testing.assert_array_equal(
        pack_operand_a(mma, gather(matrix, blocked), 1, 0).data,
        pack_operand_a(mma, same, 1, 0).data,
    )


def test_any_equal_ownership_may_be_a_source() -> None:
    """Other names for the inputs and axes, and digits split, are the same function."""
    mma = atom("mma.m16n8k16.bf16")
    spelled = Ownership.of(
        axes={"row": 16, "column": 8},
        values={"pair": [(2, "column", 1)], "half": [(2, "row", 8)]},
        threads={
            "quad": [(2, "column", 2), (2, "column", 4)],
            "group": [(2, "row", 1), (4, "row", 2)],
        },
        bits=32,
    )
    left, right = accumulator((2, 16, 8))
    own = mma.operand("C").ownership
    numpy.testing.assert_array_equal(
        pack_operand_a(mma, gather(left, spelled), gather(right, spelled)).data,
        pack_operand_a(mma, gather(left, own), gather(right, own)).data,
    )


def test_case_f06_which_value_goes_where() -> None:
    mma = atom("mma.m16n8k16.bf16")
    own = mma.operand("C").ownership
    numbers = numpy.zeros((2, 32, 4), numpy.float32)
    for tile, value, target in CASES["F06"]["expected"]["value_map_tile_and_value_to_A"]:
        numbers[tile, :, value] = target
    words = pack_operand_a(mma, Fragment(numbers[0], own), Fragment(numbers[1], own))
    numpy.testing.assert_array_equal(words.unpack().data, numpy.tile(numpy.arange(8), (32, 1)))


# Everything that is refused: a call, and what its message says.
MMA = atom("mma.m16n8k16.bf16")
OTHER = atom("mma.m16n8k16.f16")
C = MMA.operand("C").ownership
ONE = gather(numpy.ones((16, 8), numpy.float32), C)
TILE = gather(numpy.ones((64, 32), numpy.float32), tile_operand(MMA, "C", m=2, n=4, warps_m=2))


def tiled(dtype=numpy.float32, **counts) -> Fragment:
    own = tile_operand(MMA, "C", **counts)
    return gather(numpy.ones(own.shape, dtype), own)


def holding(ownership: Ownership) -> Fragment:
    return gather(numpy.ones(ownership.shape, numpy.float32), ownership)


# The right extents and counts, with lanes along the other axis.
TRANSPOSED = Ownership.of(
    axes={"m": 16, "n": 8},
    values={"value": [(2, "n", 1), (2, "m", 8)]},
    threads={"lane": [(8, "m", 1), (4, "n", 2)]},
    bits=32,
)
PACKED = dataclasses.replace(C, bits=16)
ROWS = Ownership.of(
    axes={"m": 64},
    values={},
    threads={"lane": [(32, "m", 1)], "warp": [(2, "m", 32)]},
    bits=32,
)
SIZE_8 = dataclasses.replace(MMA, tile=(16, 8, 8))

REFUSED = {
    "several N warps": ((MMA, tiled(n=2, warps_n=2), 0, 0), "spread over 2 warps along N"),
    "several M and N warps": ((MMA, tiled(m=2, n=2, warps_m=2, warps_n=4), 0, 0), "over 4 warps"),
    "one N atom": ((MMA, tiled(), 0, 0), "1 N atoms cannot be paired"),
    "three N atoms": ((MMA, tiled(n=3), 0, 0), "3 N atoms cannot be paired; tile with an even"),
    "blocked warps": (
        (MMA, tiled(m=2, n=2, warps_m=2, arrangement="blocked"), 0, 0),
        "is not a tiling of mma.m16n8k16.bf16's: thread 0 value 4 holds (16, 0), not (32, 0)",
    ),
    "m too large": ((MMA, TILE, 2, 0), "M repeat 2 is out of range; it runs from 0 to 1"),
    "m negative": ((MMA, TILE, -1, 0), "M repeat -1 is out of range"),
    "k too large": ((MMA, TILE, 0, 2), "column pair 2 is out of range; it runs from 0 to 1"),
    "k negative": ((MMA, TILE, 0, -1), "column pair -1 is out of range"),
    "m Boolean": ((MMA, TILE, True, 0), "M repeat True is no integer"),
    "k Boolean": ((MMA, TILE, 0, False), "column pair False is no integer"),
    "m float": ((MMA, TILE, 1.0, 0), "M repeat 1.0 is no integer"),
    "k float": ((MMA, TILE, 0, 0.0), "column pair 0.0 is no integer"),
    "m None": ((MMA, TILE, None, 0), "M repeat None is no integer"),
    "k text": ((MMA, TILE, 0, "0"), "column pair '0' is no integer"),
    "m a term": ((MMA, TILE, name("m"), 0), "is no integer"),
    "no k": ((MMA, TILE, 0), "a tiled accumulator needs a 16-column pair k"),
    "two fragments and k": ((MMA, ONE, ONE, 0), "two fragments and a pair number"),
    "float64 pair": (
        (MMA, gather(numpy.ones((16, 8)), C), gather(numpy.ones((16, 8)), C)),
        "the left fragment holds float64; an accumulator is float32",
    ),
    "float64 on the right": (
        (MMA, ONE, gather(numpy.ones((16, 8)), C)),
        "the right fragment holds float64",
    ),
    "float16 tile": ((MMA, tiled(numpy.float16, n=2), 0, 0), "the tiled fragment holds float16"),
    "int32 tile": ((MMA, tiled(numpy.int32, n=2), 0, 0), "the tiled fragment holds int32"),
    "batch axes differ": (
        (MMA, ONE, gather(numpy.ones((3, 16, 8), numpy.float32), C)),
        "shape (32, 4), the right one's (3, 32, 4); give both the same batch axes",
    ),
    "operand A as a source": (
        (MMA, holding(MMA.operand("A").ownership), ONE),
        "the left fragment's ownership is not that of mma.m16n8k16.bf16's accumulator: "
        "it covers (16, 16), not (16, 8)",
    ),
    "operand B as a source": (
        (MMA, ONE, holding(MMA.operand("B").ownership)),
        "the right fragment",
    ),
    "lanes along the other axis": (
        (MMA, holding(TRANSPOSED), ONE),
        "thread 1 value 0 holds (1, 0), not (0, 2)",
    ),
    "packed elements": ((MMA, holding(PACKED), ONE), "its elements have 16 bits, not 32"),
    "a tile in place of an atom": ((MMA, tiled(n=2), ONE), "it covers (16, 16), not (16, 8)"),
    "a vector of rows": ((MMA, holding(ROWS), 0, 0), "1 N atoms cannot be paired"),
    "arrays": (
        (MMA, numpy.ones((16, 8), numpy.float32), numpy.ones((16, 8), numpy.float32)),
        "the left source is of type ndarray, not Fragment",
    ),
    "an array on the right": (
        (MMA, ONE, numpy.ones((16, 8), numpy.float32)),
        "the right source is of type ndarray, not Fragment",
    ),
    "an array as a tile": (
        (MMA, numpy.ones((16, 16)), 0, 0),
        "the tiled source is of type ndarray",
    ),
    "an array and a fragment": ((MMA, numpy.ones((32, 4)), ONE), "the left source is of type"),
    "words": (
        (MMA, pack_operand_a(MMA, ONE, ONE), ONE),
        "the left source is of type Words, not Fragment",
    ),
    "a name in place of an atom": (
        ("mma.m16n8k16.bf16", ONE, ONE),
        "'mma.m16n8k16.bf16' is no atom",
    ),
    "no atom": ((None, ONE, ONE), "None is no atom; look one up"),
    "an atom of another depth": ((SIZE_8, ONE, ONE), "has no proven same-lane conversion"),
    "a forged table": (
        (
            dataclasses.replace(
                MMA,
                operands=tuple(
                    dataclasses.replace(each, ownership=TRANSPOSED) if each.letter == "C" else each
                    for each in MMA.operands
                ),
            ),
            holding(TRANSPOSED),
            holding(TRANSPOSED),
        ),
        "has no proven same-lane conversion to its A operand; use mma.m16n8k16.bf16",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused(what: str) -> None:
    arguments, reason = REFUSED[what]
    with pytest.raises(GenerationError) as refused:
        pack_operand_a(*arguments)
    assert reason in str(refused.value)
    assert refused.value.hint


def test_an_unknown_dtype_packs_nothing() -> None:
    with pytest.raises(TyloError, match="cannot pack 's8'"):
        pack(numpy.zeros((32, 8), numpy.uint16), MMA.operand("A").ownership, "s8")


def test_the_atom_fixes_the_dtype() -> None:
    third = numpy.float32(1 / 3)
    source = gather(numpy.full((16, 8), third, numpy.float32), C)
    assert hex(pack_operand_a(MMA, source, source).data[0, 0]) == "0x3eab3eab"
    assert hex(pack_operand_a(OTHER, source, source).data[0, 0]) == "0x35553555"


def test_the_source_is_left_as_it_was() -> None:
    before = ONE.data.copy()
    pack_operand_a(MMA, ONE, ONE)
    numpy.testing.assert_array_equal(ONE.data, before)
