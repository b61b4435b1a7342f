"""How many values of a claimed store one instruction writes.

Values of one instruction are neighbours: each goes to the element after the one before, under the
same conditions. Where that is proven, for every thread, block and size, a claim over single values
is one over wider stores too, and nothing about the kernel's meaning is decided by choosing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tylo.layouts.terms import Integer
from tylo.proofs.effects import STORE_BITS, Less
from tylo.proofs.ptx.bitvector import Expression
from tylo.proofs.ptx.claim_file import ClaimedStore
from tylo.proofs.ptx.scene import Scene
from tylo.proofs.ptx.smtlib import script

Solve: TypeAlias = Callable[[Sequence[str]], Sequence[str]]

_WIDEST = 128  # bits of one store instruction


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a store: row and column where it goes, where from, and under which conditions.

    The row is `None` in a buffer that is not a matrix.
    """

    row: Integer | None
    column: Integer
    source: Integer
    where: tuple[Less, ...]


def values_at_once(
    scene: Scene,
    stated: ClaimedStore,
    values: Sequence[Value],
    bits: int,
    widths: Collection[int],
    solve: Solve | None,
) -> int:
    """How many values one instruction writes: as stated, or as the instructions at hand allow.

    `bits` is the width of a value, `widths` are those of the instructions.
    """
    if stated.vector is not None:
        width = stated.vector * bits
        if width not in STORE_BITS:
            stated.table.fail(
                f"vector is {stated.vector}, which makes {width} bits",
                hint=f"a store has {', '.join(map(str, STORE_BITS))} bits",
            )
        if not _neighbours(scene, values, stated.vector, solve):
            stated.table.fail(
                f"vector is {stated.vector}, and it is not proven that such values are neighbours",
                hint="leave vector out, or let value count neighbours under one condition",
            )
        return stated.vector
    for count in (16, 8, 4, 2):
        fits = len(values) % count == 0 and count * bits <= _WIDEST
        if fits and count * bits in widths and _neighbours(scene, values, count, solve):
            return count
    return 1


def _neighbours(scene: Scene, values: Sequence[Value], count: int, solve: Solve | None) -> bool:
    """Whether it is proven that every `count` values are neighbours."""
    different: list[Expression] = []
    for first in range(0, len(values), count):
        start = values[first]
        for place, value in enumerate(values[first : first + count]):
            pairs = [(value.column, start.column + place), (value.row or 0, start.row or 0)]
            different += [
                scene.differ(scene.value(found), scene.value(wanted))
                for found, wanted in pairs
                if found != wanted
            ]
            if value.where != start.where:
                found, wanted = (
                    scene.all_of(scene.holds(each) for each in side.where)
                    for side in (value, start)
                )
                different.append(scene.differ(found, wanted))
    if not different:
        return True
    if solve is None:
        return False
    questions = [script([*scene.assumptions(each), each]) for each in dict.fromkeys(different)]
    return all(verdict == "holds" for verdict in solve(questions))
