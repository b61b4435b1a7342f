"""Readings that follow every lane: a node's value is a tuple, one entry for each lane.

>>> from tylo.proofs.lane_programs.expression import register, shuffle
>>> x = register("x", 0)
>>> written = {"add": lambda a, b: f"{a}+{b}"}
>>> read_lanes([x + shuffle(x, 1)], 2, written, lambda node, lane: f"x{lane}")
[('x0+x1', 'x1+x0')]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from tylo.layouts.errors import GenerationError
from tylo.proofs.lane_programs.expression import Expression, read

Value = TypeVar("Value")
Holders: TypeAlias = "Sequence[Sequence[Sequence[int]]]"


def read_lanes(
    roots: Sequence[Expression],
    lanes: int,
    functions: Mapping[str, Callable[..., Value]],
    leaf: Callable[[Expression, int], Value],
    holders: Holders = (),
) -> list[tuple[Value, ...]]:
    """The value of each root in each lane.

    Every mask stays below a power of two that divides `lanes`.

    `holders[lane][row][part]` is the lane that hands a part of a row over, in a program that
    crosses warps; lanes then number through the warps.
    """

    def lifted(function: Callable[..., Value]) -> Callable[..., tuple[Value, ...]]:
        return lambda *operands: tuple(map(function, *operands))

    def shuffled(operand: tuple[Value, ...], mask: int) -> tuple[Value, ...]:
        if mask >= lanes:
            raise GenerationError(
                f"a shuffle by {mask} among {lanes} lanes", hint="read it on more lanes"
            )
        return tuple(operand[lane ^ mask] for lane in range(lanes))

    def handed_over(*operands: Any) -> tuple[Value, ...]:
        *values, row, number = operands
        return tuple(values[row][holders[lane][row][number]] for lane in range(lanes))

    return read(
        roots,
        {
            **{name: lifted(each) for name, each in functions.items()},
            "shuffle": shuffled,
            "part": handed_over,
        },
        lambda node: tuple(leaf(node, lane) for lane in range(lanes)),
    )
