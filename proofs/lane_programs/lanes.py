"""Readings that follow every lane: a node's value is a tuple, one entry for each lane.

>>> from tylo.proofs.lane_programs.expression import register, shuffle
>>> x = register("x", 0)
>>> written = {"add": lambda a, b: f"{a}+{b}"}
>>> read_lanes([x + shuffle(x, 1)], 2, written, lambda node, lane: f"x{lane}")
[('x0+x1', 'x1+x0')]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from tylo.layouts.errors import GenerationError
from tylo.proofs.lane_programs.expression import Expression, read

Value = TypeVar("Value")


def read_lanes(
    roots: Sequence[Expression],
    lanes: int,
    functions: Mapping[str, Callable[..., Value]],
    leaf: Callable[[Expression, int], Value],
) -> list[tuple[Value, ...]]:
    """The value of each root in each lane; `lanes` is a power of two above every mask."""

    def lifted(function: Callable[..., Value]) -> Callable[..., tuple[Value, ...]]:
        return lambda *operands: tuple(map(function, *operands))

    def shuffled(operand: tuple[Value, ...], mask: int) -> tuple[Value, ...]:
        if mask >= lanes:
            raise GenerationError(
                f"a shuffle by {mask} among {lanes} lanes", hint="read it on more lanes"
            )
        return tuple(operand[lane ^ mask] for lane in range(lanes))

    return read(
        roots,
        {**{name: lifted(each) for name, each in functions.items()}, "shuffle": shuffled},
        lambda node: tuple(leaf(node, lane) for lane in range(lanes)),
    )
