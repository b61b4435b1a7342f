"""Tables of ownerships: the tile itself, where a cell names the thread and value that hold it.

Rows and columns are the first two axes of the tile. An element that several hold shows the first
owner and how many there are beside it; its tooltip names them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import add, lt
from typing import Any

from tylo.layouts.drawing.grid import Cell, Grid, crop_notes
from tylo.layouts.ownership import Input, Ownership

_NAMED_OWNERS = 8

Coordinate = tuple[int, ...]


def ownership_grid(ownership: Ownership, side: int, bits: int | None) -> Grid:
    """The tile with its owners. The width of an element is the ownership's own."""
    shape: list[Any] = list(ownership.shape)
    names = list(ownership.axis_names)
    # A tile of one axis is one row.
    lead = [1] * max(0, 2 - len(shape))
    rows, columns = (*lead, *shape)[:2]
    window = [min(rows, side), min(columns, side)][len(lead) :] + [1] * len(shape[2:])
    owners = _owners(ownership, window)
    rest = (0,) * len(shape[2:])

    def cell(row: int, column: int) -> Cell:
        where = (row, column)[len(lead) :] + rest
        place = "(" + ",".join([str(entry) for entry in where]) + ")"
        held = owners.get(where)
        if held is None:
            return Cell("-", None, f"{place}: no owner")
        thread, value = held[0]
        text = f"T{thread}V{value}"
        if len(held) == 1:
            return Cell(text, thread, f"{place}: {text}")
        listed = ", ".join(f"T{t}V{v}" for t, v in held[:_NAMED_OWNERS])
        more = f" and {len(held) - _NAMED_OWNERS} more" if len(held) > _NAMED_OWNERS else ""
        return Cell(f"{text}+{len(held) - 1}", thread, f"{place}: {listed}{more}")

    axes = [*("" for _ in lead), *names]
    notes = crop_notes(rows, columns, side)
    if math.prod(shape[2:]) > 1:
        notes += (f"axes {names[0]} and {names[1]}; at 0: {', '.join(names[2:])}",)
    return Grid(
        title=f"{' x '.join(map(str, shape))} tile: thread T, value V",
        axes=(axes[0], axes[1]),
        colours="thread",
        cells=tuple(
            tuple(cell(r, c) for c in range(min(columns, side))) for r in range(min(rows, side))
        ),
        notes=notes,
    )


def _owners(ownership: Ownership, window: Sequence[int]) -> dict[Coordinate, list[tuple[int, int]]]:
    """The (thread, value) pairs of each element inside the window, in order."""
    threads = _inside(ownership.threads, window)
    values = _inside(ownership.values, window)
    found: dict[Coordinate, list[tuple[int, int]]] = {}
    for thread, base in threads:
        for value, moved in values:
            at = tuple(map(add, base, moved))
            if all(map(lt, at, window)):
                found.setdefault(at, []).append((thread, value))
    return found


def _inside(inputs: Sequence[Input], window: Sequence[int]) -> list[tuple[int, Coordinate]]:
    """Each flat number over the inputs with how far it moves, without what leaves the window.

    Steps are never negative, so that what has left does not return.
    """
    found: list[tuple[int, Coordinate]] = [(0, (0,) * len(window))]
    weight = 1
    for each in inputs:
        for mode in each.modes:
            steps: Any = mode.steps
            size: Any = mode.size
            reached = []
            for number, at in found:
                fits = [
                    (limit - 1 - place) // step
                    for limit, place, step in zip(window, at, steps, strict=True)
                    if step
                ]
                for digit in range(min([size, *(1 + fit for fit in fits)])):
                    moved = tuple(p + digit * s for p, s in zip(at, steps, strict=True))
                    reached.append((number + digit * weight, moved))
            found = reached
            weight *= size
    return sorted(found)
