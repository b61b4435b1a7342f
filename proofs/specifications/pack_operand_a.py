"""What the packing kernel must do to memory, tile by tile.

Each block holds one row-major tile of a float32 accumulator, 16 * W * M rows by 16 * K columns, and
writes the same tile rounded to 16 bits, two columns to a word. Every address is read off the
ownerships that `tylo.proofs.specifications.adjacent_atoms` proves equal: a lane loads what it owns
of the accumulator and stores what it owns of the operand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tylo.layouts.atoms import Atom
from tylo.layouts.errors import GenerationError
from tylo.layouts.owners import inverse
from tylo.layouts.terms import name
from tylo.proofs.effects import Buffer, Effect, Part, Store
from tylo.proofs.specifications.adjacent_atoms import (
    accumulator_tile,
    exchange,
    operand_tile,
    require_pairs,
)

ENTRY = "tylo_pack_operand_a"
_REGISTERS = 255  # per thread, CUDA programming guide, table of limits


@dataclass(frozen=True, slots=True)
class PackTile:
    """The tile of one block: M repeats and 16-column pairs in registers, M warps side by side.

    >>> from tylo.layouts.atoms import atom
    >>> PackTile(atom("mma.m16n8k16.bf16"), repeats_m=2, pairs=1, warps_m=4).shape
    (128, 16)
    """

    atom: Atom
    repeats_m: int = 1
    pairs: int = 1
    warps_m: int = 1

    def __post_init__(self) -> None:
        require_pairs(self.atom)
        for label, count in (
            ("M repeats", self.repeats_m),
            ("column pairs", self.pairs),
            ("M warps", self.warps_m),
        ):
            if isinstance(count, bool) or not isinstance(count, int) or count < 1:
                raise GenerationError(f"{count!r} {label}", hint="give a whole number from 1")
        if self.warps_m > 32:
            raise GenerationError(f"{self.warps_m} M warps", hint="a block holds at most 32 warps")
        registers = 12 * self.repeats_m * self.pairs
        if registers > _REGISTERS - 63:
            raise GenerationError(
                f"{self.repeats_m} M repeats of {self.pairs} pairs hold {registers} registers a "
                "lane and would spill",
                hint="repeats times pairs may be at most 16; use more warps or more blocks",
            )

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the tile."""
        return 16 * self.warps_m * self.repeats_m, 16 * self.pairs

    @property
    def elements(self) -> int:
        """Elements of the tile."""
        return self.shape[0] * self.shape[1]

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * self.warps_m

    @property
    def words(self) -> tuple[tuple[int, int, int], ...]:
        """(word, M repeat, pair) in register order: word fastest, then M repeats, then pairs."""
        return tuple(
            (word, repeat, pair)
            for pair in range(self.pairs)
            for repeat in range(self.repeats_m)
            for word in range(4)
        )

    def owner(self, thread: Any) -> dict[str, Any]:
        """Lane and warp of a thread of the block."""
        tile = accumulator_tile(self.atom, self.repeats_m, self.pairs, self.warps_m)
        return tile.split(tile.threads, thread)

    def accumulator_offset(
        self, owner: Mapping[str, Any], value: int, repeat_m: int, atom_n: int
    ) -> Any:
        """Where in the row-major tile an owner's accumulator element lies, in elements."""
        tile = accumulator_tile(self.atom, self.repeats_m, self.pairs, self.warps_m)
        return self._offset(tile(**owner, value=value, repeat_m=repeat_m, repeat_n=atom_n))

    def operand_offset(self, owner: Mapping[str, Any], word: int, repeat_m: int, pair: int) -> Any:
        """Where in the row-major tile the low half of an owner's word lies, in elements."""
        tile = operand_tile(self.atom, self.repeats_m, self.pairs, self.warps_m)
        return self._offset(tile(**owner, value=2 * word, repeat_m=repeat_m, repeat_k=pair))

    def _offset(self, where: tuple[Any, ...]) -> Any:
        row, column = where
        return row * self.shape[1] + column


@dataclass(frozen=True, slots=True)
class Half:
    """One half of a packed word: its element, and who holds that element in the accumulator."""

    row: int
    column: int
    lane: int
    warp: int
    repeat_m: int
    atom_n: int
    value: int


def ownership_table(
    tile: PackTile, *, warp: int = 0, repeat_m: int = 0, pair: int = 0
) -> tuple[tuple[Half, ...], ...]:
    """For every lane, the eight halves of its words of one A operand, word by word, low half first.

    The element is read off the operand's ownership, and its holder off the inverse of the
    accumulator's, so that the table shows the exchange instead of assuming it.

    >>> from tylo.layouts.atoms import atom
    >>> table = ownership_table(PackTile(atom("mma.m16n8k16.bf16")))
    >>> table[5][4]
    Half(row=1, column=10, lane=5, warp=0, repeat_m=0, atom_n=1, value=0)
    """
    operand, accumulator = (
        find(tile.atom, tile.repeats_m, tile.pairs, tile.warps_m)
        for find in (operand_tile, accumulator_tile)
    )

    def half(lane: int, value: int) -> Half:
        element = operand(lane=lane, warp=warp, value=value, repeat_m=repeat_m, repeat_k=pair)
        holder = inverse(accumulator, element)
        return Half(
            row=element[0],
            column=element[1],
            lane=holder["lane"],
            warp=holder["warp"],
            repeat_m=holder["repeat_m"],
            atom_n=holder["repeat_n"],
            value=holder["value"],
        )

    return tuple(tuple(half(lane, value) for value in range(8)) for lane in range(32))


def effect(tile: PackTile) -> Effect:
    """The stores of the packing kernel for `tile`, and where each half comes from."""
    block, owner = name("block"), tile.owner(name("thread"))
    conversion = f"cvt.rn.{tile.atom.operand('A').dtype}.f32"
    start = block * tile.elements
    stores = []
    for word, repeat, pair in tile.words:
        parts = []
        for half in (0, 1):
            atom_n, value = exchange(word, half, pair)
            source = tile.accumulator_offset(owner, value, repeat, atom_n)
            parts.append(Part(16, conversion, "accumulator", (start + source) * 4))
        target = tile.operand_offset(owner, word, repeat, pair)
        stores.append(Store("words", (start + target) * 2, tuple(parts)))
    return Effect(
        entry=ENTRY,
        threads=tile.threads,
        buffers=(
            Buffer("accumulator", "in", 32, tile.elements, alignment=4),
            Buffer("words", "out", 32, tile.elements // 2, alignment=4),
        ),
        stores=tuple(stores),
    )
