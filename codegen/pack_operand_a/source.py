"""The packing primitive as CUDA: printed functions, then the skeleton that calls them.

Everything about lanes and registers below is evaluated from the ownerships and the exchange of
`tylo.proofs.specifications`, and printed; the skeletons in `cuda/` hold no lane arithmetic.

>>> from tylo.layouts.atoms import atom
>>> print(pair_function())
// Two adjacent 16x8 accumulator atoms become one 16x16 A operand, in the same lane.
__device__ __forceinline__ void pack_operand_a(
    const float (&left)[4], const float (&right)[4], unsigned (&words)[4]) {
    words[0] = convert_x2(left[0], left[1]);
    words[1] = convert_x2(left[2], left[3]);
    words[2] = convert_x2(right[0], right[1]);
    words[3] = convert_x2(right[2], right[3]);
}
<BLANKLINE>
"""

from __future__ import annotations

from collections.abc import Iterable

from tylo.codegen.cuda_files import cuda_file
from tylo.codegen.printing import expression
from tylo.layouts.terms import name
from tylo.proofs.specifications.adjacent_atoms import (
    accumulator_register,
    exchange,
    word_register,
)
from tylo.proofs.specifications.pack_operand_a import ENTRY, PackTile

OWNER = {"lane": name("lane"), "warp": name("warp")}


def kernel_source(tile: PackTile) -> str:
    """The whole translation unit of the packing kernel for `tile`: no header, no include."""
    return (
        device_functions(tile)
        + "\n"
        + load_function(tile)
        + "\n"
        + store_function(tile)
        + "\n"
        + cuda_file("pack_operand_a.cuh")
    )


def device_functions(tile: PackTile) -> str:
    """What a kernel of one's own needs: constants, the conversion, and both packing functions."""
    rows, columns = tile.shape
    return (
        f"// {ENTRY}: {tile.atom.name}\n"
        f"// One block: a row-major tile of {rows} x {columns}, {tile.repeats_m} M repeat(s) of "
        f"{tile.pairs} column pair(s) on {tile.warps_m} M warp(s).\n"
        "// Printed from proven ownerships; the certificate in this bundle says what is proven.\n"
        # Enumerators, because a constant of the whole file would become a global in the PTX.
        "enum : unsigned {\n"
        f"    threads = {tile.threads},\n"
        f"    repeats_m = {tile.repeats_m},\n"
        f"    pairs = {tile.pairs},\n"
        f"    accumulator_registers = {2 * len(tile.words)},\n"
        f"    word_registers = {len(tile.words)},\n"
        "};\n"
        "enum : unsigned long long {\n"
        f"    tile_elements = {tile.elements},\n"
        f"    tile_words = {tile.elements // 2},\n"
        "};\n\n"
        + cuda_file(f"convert_{tile.atom.operand('A').dtype}x2.cuh")
        + "\n"
        + pair_function()
        + "\n"
        + tiled_function(tile)
    )


def pair_function() -> str:
    """The device function for one pair of atoms."""
    lines = []
    for word in range(4):
        sources = []
        for half in (0, 1):
            atom_n, value = exchange(word, half, 0)
            sources.append(f"{('left', 'right')[atom_n]}[{value}]")
        lines.append(f"words[{word}] = convert_x2({', '.join(sources)});")
    return _function(
        "Two adjacent 16x8 accumulator atoms become one 16x16 A operand, in the same lane.",
        "pack_operand_a",
        "const float (&left)[4], const float (&right)[4], unsigned (&words)[4]",
        lines,
    )


def tiled_function(tile: PackTile) -> str:
    """The device function for M repeat `m` and column pair `k` of a tiled accumulator."""
    repeat_m, pair = name("m"), name("k")
    lines = []
    for word in range(4):
        low, high = (
            expression(accumulator_register(word, half, repeat_m, pair, tile.repeats_m))
            for half in (0, 1)
        )
        target = expression(word_register(word, repeat_m, pair, tile.repeats_m))
        lines += [
            f"words[{target}] = convert_x2(",
            f"    accumulator[{low}],",
            f"    accumulator[{high}]);",
        ]
    return _function(
        "The same for M repeat m and 16-column pair k of a tiled accumulator.",
        "pack_operand_a",
        f"const float (&accumulator)[{2 * len(tile.words)}], unsigned m, unsigned k, "
        f"unsigned (&words)[{len(tile.words)}]",
        lines,
    )


def load_function(tile: PackTile) -> str:
    """Loads what a thread owns of a row-major accumulator tile, register by register."""
    lines = [
        f"held[{value + 4 * (repeat + tile.repeats_m * atom_n)}] = "
        f"tile[{expression(tile.accumulator_offset(OWNER, value, repeat, atom_n))}];"
        for atom_n in range(2 * tile.pairs)
        for repeat in range(tile.repeats_m)
        for value in range(4)
    ]
    return _function(
        "Loads what a thread owns of a row-major accumulator tile.",
        "load_accumulator",
        f"const float* tile, unsigned thread, float (&held)[{2 * len(tile.words)}]",
        with_owner(tile, lines),
    )


def store_function(tile: PackTile) -> str:
    """Stores what a thread owns of the row-major operand tile, word by word."""
    lines = [
        f"words[{expression(tile.operand_offset(OWNER, *word) // 2)}] = "
        f"packed[{word_register(*word, tile.repeats_m)}];"
        for word in tile.words
    ]
    return _function(
        "Stores what a thread owns of a row-major operand tile, two columns to a word.",
        "store_operand_a",
        f"const unsigned (&packed)[{len(tile.words)}], unsigned thread, unsigned* words",
        with_owner(tile, lines),
    )


def with_owner(tile: PackTile, lines: list[str]) -> list[str]:
    """`lines` after the lane and warp of `thread`, those that the lines read."""
    owner = tile.owner(name("thread"))
    return [
        f"const unsigned {label} = {expression(index)};"
        for label, index in owner.items()
        if any(label in line for line in lines)
    ] + lines


def _function(comment: str, title: str, parameters: str, lines: Iterable[str]) -> str:
    body = "".join(f"    {line}\n" for line in lines)
    return (
        f"// {comment}\n__device__ __forceinline__ void {title}(\n    {parameters}) {{\n{body}}}\n"
    )
