"""The index arithmetic of the generated tests, printed from layout objects.

Which row a lane hands to ``ldmatrix`` follows from the ownership of what is loaded: thread i of
matrix j supplies row i, and receives of register j the elements at value 2 * j. Row i therefore
begins at the coordinate of value 2 * j in lane 4 * i, for lane = 8 * j + i. (PTX ISA 8.7,
9.7.14.5.15, "Warp-level matrix load instruction: ldmatrix".)

>>> from tylo.layouts.atoms import atom
>>> print(half_number(PackTile(atom("mma.m16n8k16.bf16"), repeats_m=2)))
// The number of a half of a word of operand (m, k) among a thread's halves.
__device__ __forceinline__ unsigned half_number(
    unsigned word, unsigned half, unsigned m, unsigned k) {
    return 2u * (word + 4u * (m + 2u * k)) + half;
}
<BLANKLINE>
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tylo.codegen.pack_operand_a.source import OWNER, with_owner
from tylo.codegen.printing import expression
from tylo.layouts.ownership import Ownership
from tylo.layouts.terms import name
from tylo.layouts.tiling import tile_operand
from tylo.proofs.specifications.adjacent_atoms import operand_tile, word_register
from tylo.proofs.specifications.pack_operand_a import PackTile

_LANE, _WARP = OWNER["lane"], OWNER["warp"]
_LINE = 100
_M, _K = name("m"), name("k")
_MATRIX = _LANE // 8
_VALUE = 2 * _MATRIX
# Operand B has two registers, so that four matrices are two atoms of it.
_TWO_ATOMS = {"value": 2 * (_MATRIX % 2), "repeat_n": _MATRIX // 2}
_WARP_STAGE = _WARP * 256
_SUPPLIED = "begins that a thread hands to ldmatrix, in words."


def staged_a(tile: PackTile) -> str:
    """Rows of the 16x16 operand A that each warp has staged for itself."""
    row, column = _supplied(tile.atom.operand("A").ownership, value=_VALUE)
    return _offset(
        tile,
        f"Where the row of the staged operand A {_SUPPLIED}",
        "staged_a(unsigned thread)",
        _WARP_STAGE + row * 16 + column,
    )


def staged_b(tile: PackTile) -> str:
    """Columns of the 16x16 operand B, two atoms wide, that each warp has staged for itself."""
    k, column = _supplied(tile_operand(tile.atom, "B", n=2), **_TWO_ATOMS)
    return _offset(
        tile,
        f"Where the column of the staged operand B {_SUPPLIED}",
        "staged_b(unsigned thread)",
        _WARP_STAGE + column * 16 + k,
    )


def left_row(tile: PackTile) -> str:
    """Rows of a left factor of 16 columns, as tall as the tile."""
    factor = operand_tile(tile.atom, tile.repeats_m, 1, tile.warps_m)
    row, column = _supplied(factor, warp=_WARP, value=_VALUE, repeat_m=_M)
    return _offset(
        tile,
        f"Where the row of the left factor {_SUPPLIED}",
        "left_row(unsigned thread, unsigned m)",
        row * 16 + column,
    )


def right_row(tile: PackTile) -> str:
    """Columns of a right factor of 16 rows, as wide as the tile."""
    factor = tile_operand(tile.atom, "B", n=2 * tile.pairs)
    row, column = _supplied(
        factor, value=_TWO_ATOMS["value"], repeat_n=2 * _K + _TWO_ATOMS["repeat_n"]
    )
    return _offset(
        tile,
        f"Where the column of the right factor {_SUPPLIED}",
        "right_row(unsigned thread, unsigned k)",
        column * 16 + row,
    )


def operand_row(tile: PackTile) -> str:
    """Rows of the row-major operand tile."""
    operand = operand_tile(tile.atom, tile.repeats_m, tile.pairs, tile.warps_m)
    row, column = _supplied(operand, warp=_WARP, value=_VALUE, repeat_m=_M, repeat_k=_K)
    return _offset(
        tile,
        f"Where the row of the operand tile {_SUPPLIED}",
        "operand_row(unsigned thread, unsigned m, unsigned k)",
        row * tile.shape[1] + column,
    )


def factor_row(tile: PackTile) -> str:
    """Columns of a second factor of 16 columns, as tall as the tile is wide."""
    factor = tile_operand(tile.atom, "B", n=2, k=tile.pairs)
    row, column = _supplied(factor, **_TWO_ATOMS, repeat_k=_K)
    return _offset(
        tile,
        f"Where the column of the second factor {_SUPPLIED}",
        "factor_row(unsigned thread, unsigned k)",
        column * tile.shape[1] + row,
    )


def place_pair(tile: PackTile) -> str:
    """Two atoms of the matrix instruction become registers of the tiled accumulator."""
    return _between_pair_and_tile(
        tile,
        "Puts two adjacent atoms among the registers of the tiled accumulator.",
        "place_pair(const float (&left)[4], const float (&right)[4], unsigned m, unsigned k, "
        f"float (&held)[{2 * len(tile.words)}])",
        "{held} = {atom};",
    )


def take_pair(tile: PackTile) -> str:
    """The same, backwards."""
    return _between_pair_and_tile(
        tile,
        "Takes two adjacent atoms from the registers of the tiled accumulator.",
        f"take_pair(const float (&held)[{2 * len(tile.words)}], unsigned m, unsigned k, "
        "float (&left)[4], float (&right)[4])",
        "{atom} = {held};",
    )


def word_number(tile: PackTile) -> str:
    """The register of a packed word."""
    return _offset(
        tile,
        "The register of a word of operand (m, k).",
        "word_number(unsigned word, unsigned m, unsigned k)",
        word_register(name("word"), _M, _K, tile.repeats_m),
        unit=1,
    )


def half_number(tile: PackTile) -> str:
    """The number of a packed half among all that a thread holds."""
    return _offset(
        tile,
        "The number of a half of a word of operand (m, k) among a thread's halves.",
        "half_number(unsigned word, unsigned half, unsigned m, unsigned k)",
        2 * word_register(name("word"), _M, _K, tile.repeats_m) + name("half"),
        unit=1,
    )


def product_number(tile: PackTile) -> str:
    """The number of a product's value: four of the left atom, four of the right, M repeats."""
    return _offset(
        tile,
        "The number of a value of M repeat m among a thread's values of the product.",
        "product_number(unsigned value, unsigned m)",
        name("value") + 8 * _M,
        unit=1,
    )


def check_number(tile: PackTile) -> str:
    """The number of a check: what a thread does first, all threads do before anything else."""
    return _offset(
        tile,
        "The number of a thread's check among those of the block.",
        "check_number(unsigned thread, unsigned sequence)",
        name("sequence") * tile.threads + name("thread"),
        unit=1,
    )


def _supplied(ownership: Ownership, **indices: Any) -> tuple[Any, ...]:
    """The coordinate at which the row begins that a lane hands to ``ldmatrix``."""
    return ownership(lane=4 * (_LANE % 8), **indices)


def _between_pair_and_tile(tile: PackTile, comment: str, signature: str, move: str) -> str:
    lines = []
    for side, label in enumerate(("left", "right")):
        for value in range(4):
            register = value + 4 * (_M + tile.repeats_m * (2 * _K + side))
            lines.append(
                move.format(held=f"held[{expression(register)}]", atom=f"{label}[{value}]")
            )
    return _function(comment, f"void {signature}", lines)


def _offset(tile: PackTile, comment: str, signature: str, term: Any, unit: int = 2) -> str:
    """A function that returns an offset; `unit` elements to a word."""
    lines = with_owner(tile, [f"return {expression(term // unit)};"])
    return _function(comment, f"unsigned {signature}", lines)


def _function(comment: str, signature: str, lines: Iterable[str]) -> str:
    head = f"__device__ __forceinline__ {signature} {{\n"
    if len(head) > _LINE:
        head = head.replace("(", "(\n    ", 1)
    body = "".join(f"    {line}\n" for line in lines)
    return f"// {comment}\n{head}{body}}}\n"
