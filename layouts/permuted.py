"""Ownerships rearranged: axes exchanged, values renumbered, everything held several times over.

An ownership of a transposed tile is the same lanes and values with the coordinates in another
order. Reducing its columns is reducing the rows of the tile it came from:

>>> from tylo.layouts.atoms import atom
>>> from tylo.layouts.reduction import reduction
>>> C = atom("mma.m16n8k16.bf16").operand("C").ownership
>>> transposed = permuted(C, axes=("n", "m"))
>>> C(lane=5, value=2), transposed(lane=5, value=2)
((9, 2), (2, 9))
>>> reduction(transposed, 1).lane_masks == reduction(C, 0).lane_masks
True

Values may be renumbered, as where registers are used in another order:

>>> rows_first = permuted(C, values=(0, 2, 1, 3))
>>> reduction(rows_first, 1).groups
((0, 2), (1, 3))

A replicated ownership holds each element in several places that nothing tells apart. A reduction
counts it once:

>>> doubled = replicated(C, "value", 2)
>>> doubled.value_count, reduction(doubled, 1).groups
(8, ((0, 1), (2, 3)))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tylo.layouts.errors import OwnershipError
from tylo.layouts.indices import require_number
from tylo.layouts.ownership import Input, Mode, Ownership
from tylo.layouts.terms import Integer


def permuted(
    ownership: Ownership,
    *,
    axes: Sequence[str] | None = None,
    values: Sequence[int] | None = None,
) -> Ownership:
    """`ownership` with its axes in the order of `axes`, and value i being its value `values[i]`.

    Raises `OwnershipError` for what is no permutation, and for one of the values after which they
    are no digits any more, with the least value that shows it.
    """
    found = ownership if axes is None else _axes_in_order(ownership, tuple(axes))
    return found if values is None else _renumbered(found, tuple(values))


def replicated(ownership: Ownership, label: str, copies: Integer) -> Ownership:
    """`ownership` held `copies` times over: input `label` gets a last digit that moves nothing.

    An input that does not exist is made: of the threads if it is "lane" or "warp", else of the
    values.
    """
    require_number("the number of copies", copies, 1)
    still = Mode(copies, (0,) * len(ownership.axes))

    def copied(inputs: tuple[Input, ...]) -> tuple[Input, ...]:
        return tuple(
            Input(each.name, (*each.modes, still)) if each.name == label else each
            for each in inputs
        )

    values, threads = ownership.values, ownership.threads
    if all(each.name != label for each in ownership.inputs):
        added = (Input(label, ()),)
        if label in ("lane", "warp"):
            threads += added
        else:
            values += added
    return replace(ownership, values=copied(values), threads=copied(threads))


def _axes_in_order(ownership: Ownership, order: tuple[str, ...]) -> Ownership:
    names = ownership.axis_names
    if sorted(map(str, order)) != sorted(names):
        raise OwnershipError(
            f"the order {order} does not name each axis once",
            hint=f"the axes are {', '.join(names)}",
        )
    places = [names.index(label) for label in order]

    def turned(inputs: tuple[Input, ...]) -> tuple[Input, ...]:
        return tuple(
            Input(
                each.name,
                tuple(
                    Mode(mode.size, tuple(mode.steps[place] for place in places))
                    for mode in each.modes
                ),
            )
            for each in inputs
        )

    return replace(
        ownership,
        axes=tuple(ownership.axes[place] for place in places),
        values=turned(ownership.values),
        threads=turned(ownership.threads),
    )


def _renumbered(ownership: Ownership, order: tuple[int, ...]) -> Ownership:
    if ownership.symbols:
        raise OwnershipError(
            f"sizes {', '.join(ownership.symbols)} are symbolic", hint="substitute the sizes first"
        )
    count: Any = ownership.value_count
    if any(type(each) is not int for each in order) or sorted(order) != list(range(count)):
        raise OwnershipError(
            f"{order} does not name each of {count} values once",
            hint=f"give the numbers 0 to {count - 1} in another order",
        )
    held = [ownership.coordinates(0, value) for value in order]
    source = Input("value", _digits(held))
    for value, coordinate in enumerate(held):
        reached = tuple(
            sum(digit * mode.steps[axis] for mode, digit in source.digits(value))
            for axis in range(len(ownership.axes))
        )
        if reached != coordinate:
            raise OwnershipError(
                f"in the order {order} value {value} holds {coordinate}, and even steps lead to "
                f"{reached}",
                hint="an ownership's values are digits: permute digits, or split the tile",
                witness={"value": value},
            )
    return replace(ownership, values=(source,))


def _digits(held: list[tuple[int, ...]]) -> tuple[Mode, ...]:
    """The digits of a list of coordinates, if it has any: each as long as its steps are even."""
    modes: list[Mode] = []
    below = 1
    while below < len(held):
        steps = held[below]
        size = 2
        while below * size < len(held) and held[below * size] == _times(size, steps):
            size += 1
        if len(held) % (below * size):
            size = (
                len(held) // below
            )  # no digit: what differs is found when the values are compared
        modes.append(Mode(size, steps))
        below *= size
    return tuple(modes)


def _times(count: int, steps: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(count * step for step in steps)
