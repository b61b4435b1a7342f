"""The layout through given points: a search, for the inverses that no rule gives.

A layout is `e*x + sum over j of jump_j*(x // P_j)` for some chain of positions, each dividing the
next (`breaks.py`). For one chain the slope and jumps are the unknowns of a linear system over the
integers, one equation for each point; a longer chain only adds unknowns. So a layout through the
points exists exactly when the system of some longest chain below the largest point is solvable.

>>> print(fitted([0, 2, 3, 5], [0, 1, 2, 3])[0])
(2,4):(1,1)

The chains below 128 number a few hundred, and each system is small; beyond that the search is not
tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tylo.layouts.algebra.coalesce import from_modes, merged
from tylo.layouts.layout import Layout

LARGEST_POINT = 127
PRIMES = tuple(p for p in range(2, LARGEST_POINT + 1) if all(p % q for q in range(2, p)))


def fitted(points: Sequence[int], values: Sequence[int]) -> tuple[Layout | None, int]:
    """A layout with these values at these points, else None and the first point out of reach.

    Points are not negative and at most `LARGEST_POINT`. Each longest prefix that some layout fits
    counts: the number beside None is that of the first point that no layout can add to it.
    """
    reached = 0
    for positions in _chains(max(points), (1,)):
        rows = [[point // position for position in positions] for point in points]
        solution, solved = _solved(rows, values)
        if solution is not None:
            return _layout(positions, solution), len(points)
        reached = max(reached, solved)
    return None, reached


def _chains(largest: int, begun: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The longest chains of divisors from 1 up to the largest point."""
    extended = False
    for prime in PRIMES:
        if begun[-1] * prime > largest:
            break
        extended = True
        yield from _chains(largest, (*begun, begun[-1] * prime))
    if not extended:
        yield begun


def _solved(rows: Sequence[Sequence[int]], values: Sequence[int]) -> tuple[list[int] | None, int]:
    """An integer solution, or None and the number of leading equations that have one.

    Unknowns are combined, by Euclid's algorithm, until each equation brings at most one new one;
    what the earlier ones are then never changes.
    """
    unknowns = len(rows[0])
    basis = [[int(k == c) for k in range(unknowns)] for c in range(unknowns)]
    columns = [[row[c] for row in rows] for c in range(unknowns)]
    chosen: list[int] = []
    for number, value in enumerate(values):
        fixed = len(chosen)
        left = value - sum(columns[c][number] * y for c, y in enumerate(chosen))
        while True:
            active = [c for c in range(fixed, unknowns) if columns[c][number]]
            if len(active) < 2:
                break
            pivot = min(active, key=lambda c: abs(columns[c][number]))
            for c in active:
                if c != pivot:
                    times = columns[c][number] // columns[pivot][number]
                    columns[c] = [
                        x - times * y for x, y in zip(columns[c], columns[pivot], strict=True)
                    ]
                    basis[c] = [x - times * y for x, y in zip(basis[c], basis[pivot], strict=True)]
        divisor = columns[active[0]][number] if active else 0
        if left % divisor if divisor else left:
            return None, number
        if active:
            for table in columns, basis:
                table[fixed], table[active[0]] = table[active[0]], table[fixed]
            chosen.append(left // divisor)
    return [sum(basis[c][k] * y for c, y in enumerate(chosen)) for k in range(unknowns)], len(
        values
    )


def _layout(positions: Sequence[int], jumps: Sequence[int]) -> Layout:
    """The layout with the breaks; the last mode, which runs on, has the extent 2."""
    shape: list[int] = []
    strides: list[int] = []
    stride = 0
    for number, (position, jump) in enumerate(zip(positions, jumps, strict=True)):
        stride = jump + (shape[-1] * stride if shape else 0)
        last = number + 1 == len(positions)
        shape.append(2 if last else positions[number + 1] // position)
        strides.append(stride)
    return from_modes(*merged(shape, strides))
