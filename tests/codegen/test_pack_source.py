"""The printed packing kernel, run statement by statement in Python and judged by the matrix."""

import re

import numpy
import pytest

from tylo.codegen.pack_operand_a.source import device_functions, kernel_source, pair_function
from tylo.layouts.atoms import atom
from tylo.proofs.specifications.pack_operand_a import PackTile

TILES = [
    PackTile(atom(f"mma.m16n8k16.{dtype}"), *counts)
    for dtype, counts in [
        ("bf16", (1, 1, 1)),
        ("f16", (1, 3, 1)),
        ("bf16", (3, 1, 1)),
        ("bf16", (2, 2, 3)),
        ("f16", (4, 4, 2)),
        ("bf16", (1, 1, 32)),
    ]
]
IDS = [f"{tile.repeats_m}x{tile.pairs}x{tile.warps_m}" for tile in TILES]


def body(source: str, title: str, signature: str) -> list[str]:
    """The statements of the device function of that title whose parameters hold `signature`."""
    for match in re.finditer(r"void (\w+)\(\n(.*?)\) \{\n(.*?)\n\}\n", source, re.DOTALL):
        if match[1] == title and signature in match[2]:
            return [" ".join(part.split()) for part in match[3].split(";") if part.strip()]
    raise AssertionError(f"no function {title} of {signature}")


def number(text: str, known: dict[str, int]) -> int:
    """A C index: with natural numbers alone, Python's operators bind as C's do."""
    assert re.fullmatch(r"[\w\s()+*/%&^>-]+", text)
    python = re.sub(r"(\d+)u\b", r"\1", text).replace("/", "//")
    return eval(python, {"__builtins__": {}}, known)


def owner(statements: list[str], thread: int) -> tuple[dict[str, int], list[str]]:
    """The constants that the statements declare first, and the statements after them."""
    known, rest = {"thread": thread}, []
    for statement in statements:
        declared = re.fullmatch(r"const unsigned (\w+) = (.*)", statement)
        if declared:
            assert not rest
            known[declared[1]] = number(declared[2], known)
        else:
            rest.append(statement)
    return known, rest


def run(source: str, tile: PackTile, matrix: list) -> list:
    """The words of one block, each a (low, high) pair of whatever `matrix` holds."""
    written: list = [None] * (tile.elements // 2)
    for thread in range(tile.threads):
        held: dict = {}
        known, loads = owner(body(source, "load_accumulator", "const float* tile"), thread)
        for statement in loads:
            target, index = re.fullmatch(r"held\[(\d+)\] = tile\[(.*)\]", statement).groups()
            assert int(target) not in held
            held[int(target)] = matrix[number(index, known)]
        assert sorted(held) == list(range(2 * len(tile.words)))
        packed: dict = {}
        for k in range(tile.pairs):
            for m in range(tile.repeats_m):
                for statement in body(source, "pack_operand_a", "unsigned m, unsigned k"):
                    target, low, high = re.fullmatch(
                        r"words\[(.*)\] = convert_x2\( accumulator\[(.*)\], accumulator\[(.*)\]\)",
                        statement,
                    ).groups()
                    place = {"m": m, "k": k}
                    word = number(target, place)
                    assert word not in packed
                    packed[word] = (held[number(low, place)], held[number(high, place)])
        assert sorted(packed) == list(range(len(tile.words)))
        known, stores = owner(body(source, "store_operand_a", "unsigned* words"), thread)
        for statement in stores:
            index, word = re.fullmatch(r"words\[(.*)\] = packed\[(\d+)\]", statement).groups()
            assert written[number(index, known)] is None
            written[number(index, known)] = packed[int(word)]
    return written


@pytest.mark.parametrize("tile", TILES, ids=IDS)
def test_the_kernel_pairs_neighbours_of_every_row(tile: PackTile) -> None:
    elements = list(range(tile.elements))
    written = run(kernel_source(tile), tile, elements)
    assert written == list(zip(elements[::2], elements[1::2], strict=True))


@pytest.mark.parametrize("change", [("& 3u", "& 1u"), ("lane >> 2", "lane >> 3"), (" * 2u", "")])
def test_the_judge_notices_a_changed_index(change: tuple[str, str]) -> None:
    tile = TILES[0]
    source = kernel_source(tile)
    assert change[0] in source
    elements = list(range(tile.elements))
    expected = list(zip(elements[::2], elements[1::2], strict=True))
    try:
        written = run(source.replace(*change), tile, elements)
    except AssertionError:
        return  # two threads write one word
    assert written != expected


def test_the_function_for_one_pair_is_the_exchange() -> None:
    statements = body(pair_function(), "pack_operand_a", "const float (&left)[4]")
    assert statements == [
        "words[0] = convert_x2(left[0], left[1])",
        "words[1] = convert_x2(left[2], left[3])",
        "words[2] = convert_x2(right[0], right[1])",
        "words[3] = convert_x2(right[2], right[3])",
    ]


@pytest.mark.parametrize("tile", TILES, ids=IDS)
def test_constants_and_headers(tile: PackTile) -> None:
    source = kernel_source(tile)
    constants = dict(re.findall(r"^    (\w+) = (\d+),$", source, re.MULTILINE))
    assert {label: int(value) for label, value in constants.items()} == {
        "threads": 32 * tile.warps_m,
        "repeats_m": tile.repeats_m,
        "pairs": tile.pairs,
        "accumulator_registers": 8 * tile.repeats_m * tile.pairs,
        "word_registers": 4 * tile.repeats_m * tile.pairs,
        "tile_elements": 256 * tile.warps_m * tile.repeats_m * tile.pairs,
        "tile_words": 128 * tile.warps_m * tile.repeats_m * tile.pairs,
    }
    assert "#include" not in source
    assert source.startswith(device_functions(tile))
    assert source.count('extern "C"') == 1
    dtype = tile.atom.operand("A").dtype
    assert re.findall(r"cvt\.rn\.\w+\.f32", source) == [f"cvt.rn.{dtype}x2.f32"]


def test_offsets_of_the_largest_tile_fit_in_32_bits() -> None:
    tile = PackTile(atom("mma.m16n8k16.bf16"), repeats_m=4, pairs=4, warps_m=32)
    assert numpy.prod(tile.shape) * 4 < 2**32


def test_printing_is_deterministic() -> None:
    assert kernel_source(TILES[3]) == kernel_source(TILES[3])
