"""What a specification is about, for the title of a report, and the tables that show it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tylo.layouts.atoms import Atom
from tylo.proofs.report.document import (
    Block,
    Details,
    Heading,
    Line,
    Paragraph,
    Table,
    columns,
    counted,
)
from tylo.proofs.specifications import Parameters, Specification, pack_tile
from tylo.proofs.specifications.adjacent_atoms import word_register
from tylo.proofs.specifications.pack_operand_a import Half, PackTile, ownership_table

Where = tuple[int, int, int]
"""(warp, M repeat, pair): which A operand of a tile."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A title, one sentence on what is done for whom, the atoms relied on, and the tables."""

    title: str
    purpose: str
    atoms: tuple[Atom, ...]
    tables: tuple[Block, ...]


def subject(stated: Specification) -> Subject:
    """The subject of a specification; one without an entry here is called by its name."""
    if stated.name in _SUBJECTS:
        return _SUBJECTS[stated.name](stated.parameters)
    return Subject(stated.name, "", (), ())


def _pack_operand_a(parameters: Parameters) -> Subject:
    tile = pack_tile(parameters)
    rows, width = tile.shape
    atom = tile.atom
    return Subject(
        f"pack_operand_a for {atom.short_name}, tile {rows} x {width}",
        f"Claimed: each block of {tile.threads} threads rounds a row-major {rows} x {width} FP32 "
        f"accumulator tile to {atom.operand('A').dtype.upper()} and writes it as the A operand of "
        f"{atom.name}: {counted(tile.repeats_m, 'M repeat')}, "
        f"{counted(tile.pairs, 'column pair')}, {counted(tile.warps_m, 'M warp')}. "
        "Every lane packs only values that it holds itself.",
        (atom,),
        _ownership(tile),
    )


def _adjacent_atoms(parameters: Parameters) -> Subject:
    tile = pack_tile(parameters)
    return Subject(
        f"adjacent_atoms for {tile.atom.short_name}, every tile size",
        f"Claimed: two adjacent 16 x 8 accumulator atoms of {tile.atom.name} are the next 16 x 16 "
        "A operand, in the same lanes, for every number of repeats and warps. The table is for "
        "one of each.",
        (tile.atom,),
        _ownership(tile),
    )


_SUBJECTS: Mapping[str, Callable[[Parameters], Subject]] = MappingProxyType(
    {"adjacent_atoms": _adjacent_atoms, "pack_operand_a": _pack_operand_a}
)


def _ownership(tile: PackTile) -> tuple[Block, ...]:
    tables = {
        (warp, repeat, pair): ownership_table(tile, warp=warp, repeat_m=repeat, pair=pair)
        for pair in range(tile.pairs)
        for repeat in range(tile.repeats_m)
        for warp in range(tile.warps_m)
    }
    halves = [
        half.lane == lane and half.warp == warp
        for (warp, _, _), table in tables.items()
        for lane, row in enumerate(table)
        for half in row
    ]
    first = tables[0, 0, 0]
    blocks: list[Block] = [
        Paragraph(
            (
                "Each cell: the (row, column) of the operand in that half of that word, and below "
                "it the accumulator atom and value that hold this element. Word 0 is the lane's "
                "first register; the low half is its bits 0 to 15. "
                f"Held by the same lane of the same warp: {sum(halves)} of {len(halves)} halves.",
            )
        ),
        _lanes(first),
    ]
    if len(tables) > 1:
        summary = f"All {len(tables)} A operands of the tile"
        blocks.append(Details((summary,), (_operands(tile, tables),)))
    return tuple(blocks)


def _lanes(table: tuple[tuple[Half, ...], ...]) -> Table:
    words = tuple(Heading(f"word {word}", columns=2) for word in range(4))
    sides = tuple(Heading(side) for _ in range(4) for side in ("low half", "high half"))
    return Table(
        "Lane by value, for warp 0, M repeat 0, pair 0",
        ((Heading("lane", rows=2), *words), sides),
        tuple(
            ((str(lane),), *(_half(half) for half in halves)) for lane, halves in enumerate(table)
        ),
        kind="lanes",
    )


def _half(half: Half) -> Line:
    return (f"({half.row}, {half.column})\natom {half.atom_n}, value {half.value}",)


def _operands(tile: PackTile, tables: Mapping[Where, tuple[tuple[Half, ...], ...]]) -> Table:
    rows: list[tuple[Line, ...]] = []
    first = tables[0, 0, 0]
    for (warp, repeat, pair), table in tables.items():
        # Coordinates are sums over digits, so that every lane and value moves alike.
        ((down, right),) = {
            (here.row - there.row, here.column - there.column)
            for row, origin in zip(table, first, strict=True)
            for here, there in zip(row, origin, strict=True)
        }
        atoms = sorted({(half.repeat_m, half.atom_n) for row in table for half in row})
        register = word_register(0, repeat, pair, tile.repeats_m)
        rows.append(
            (
                (f"warp {warp}, m {repeat}, k {pair}",),
                (f"{register} to {register + 3}",),
                (f"+{down}, +{right}",),
                (", ".join(map(str, atoms)),),
            )
        )
    header = columns(
        "A operand", "word registers", "added to (row, column)", "accumulator atoms (m, n)"
    )
    return Table("Where each A operand lies, against the table above", header, tuple(rows))
