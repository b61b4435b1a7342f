"""Blocks and grids of a claim: their extents, and the coordinates that terms may mention.

``threads = 256`` and ``blocks = 65535`` are extents along x; a list has one for each axis, such as
``threads = [32, 8]`` for ``dim3(32, 8)``. Of several axes, each has coordinates of its own:
``thread_x``, ``block_y``, ``blocks_y``. With one axis, ``block`` and ``blocks`` are those along x;
``thread`` is the number of a thread in its block, along x first, in any case.

>>> from tylo.layouts.terms import show
>>> from tylo.proofs.ptx.claim_tables import Table
>>> grid = read_grid(Table("c.toml", "", {"threads": [32, 8], "blocks": [65535, 65535]}))
>>> {name: show(term) for name, term in grid.thread_names().items() if name[-2:] == "_y"}
{'thread_y': 'thread / 32', 'block_y': 'block_y', 'blocks_y': 'blocks_y'}
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod

from tylo.layouts.errors import ClaimError
from tylo.layouts.terms import Integer, show
from tylo.layouts.terms import name as named
from tylo.proofs.effects import BLOCK_LIMIT, GRID_LIMIT, Parameter
from tylo.proofs.effects.axes import (
    AXES,
    FURTHER_LIMIT,
    block_of,
    blocks_of,
    check_shape,
    thread_along,
)
from tylo.proofs.ptx.claim_tables import Table

COORDINATES = tuple(f"{each}_{axis}" for each in ("thread", "block", "blocks") for axis in AXES)


@dataclass(frozen=True, slots=True)
class Grid:
    """The threads of a block, and the most blocks of a grid, along each axis."""

    shape: tuple[int, ...]
    blocks: tuple[int, ...]

    @property
    def threads(self) -> int:
        """The threads of a block."""
        return prod(self.shape)

    @property
    def further(self) -> tuple[str, ...]:
        """The axes of the grid after x."""
        return tuple(AXES[1 : len(self.blocks)])

    @property
    def extents(self) -> tuple[Parameter, ...]:
        """The sizes that the extents of the grid are, along the axes after x."""
        pairs = zip(self.further, self.blocks[1:], strict=True)
        return tuple(Parameter(blocks_of(axis), 32, 1, most) for axis, most in pairs)

    def launch_names(self) -> dict[str, Integer]:
        """How many blocks there are, along each axis."""
        axes = ("x", *self.further)
        found: dict[str, Integer] = {f"blocks_{axis}": named(blocks_of(axis)) for axis in axes}
        return found if self.further else {"blocks": named("blocks"), **found}

    def thread_names(self) -> dict[str, Integer]:
        """The coordinates of a thread and its block, and the extents of the grid."""
        found: dict[str, Integer] = {"thread": named("thread")}
        if not self.further:
            found["block"] = named("block")
        found |= {
            f"thread_{axis}": thread_along(self.shape, axis)
            for axis in AXES[: max(1, len(self.shape))]
        }
        found |= {f"block_{axis}": named(block_of(axis)) for axis in ("x", *self.further)}
        lanes = {"lane": named("thread") % 32, "warp": named("thread") // 32}
        return {**found, **self.launch_names(), **lanes}

    def words(self, text: str) -> str:
        """A text about an effect in the names of a claim, where those are by axis.

        >>> Grid((32, 8), (9, 9)).words("block * 32 + thread % 32 < n, blocks 3, block (0, 1)")
        'block_x * 32 + thread_x < n, blocks_x 3, block (0, 1)'
        """
        if len(self.shape) > 1:
            for axis in AXES[: len(self.shape)]:
                place = thread_along(self.shape, axis)
                if not isinstance(place, int) and place.operator != "name":
                    shown = rf"(?<![*/%] ){re.escape(show(place))}\b"
                    text = re.sub(shown, f"thread_{axis}", text)
        if self.further:
            text = re.sub(r"\bblock(s?)\b(?! [(\d])", r"block\1_x", text)
            text = re.sub(r"\bblocks (?=\d)", "blocks_x ", text)
        return text


def read_grid(table: Table) -> Grid:
    """What the keys ``threads`` and ``blocks`` say."""
    shape = _extents(table, "threads", (BLOCK_LIMIT,) * 3)
    limits = GRID_LIMIT, FURTHER_LIMIT, FURTHER_LIMIT
    blocks = _extents(table, "blocks", limits) if table.has("blocks") else (GRID_LIMIT,)
    try:
        check_shape(shape, min(prod(shape), BLOCK_LIMIT))
    except ClaimError as reason:
        table.fail(f"threads: {reason.message}", reason.hint)
    return Grid(shape, blocks)


def _extents(table: Table, key: str, limits: tuple[int, ...]) -> tuple[int, ...]:
    if isinstance(table.data.get(key), list):
        found = table.integers(key, 1, len(limits))
    else:
        found = [table.integer(key, 1, limits[0])]
    for axis, extent, most in zip(AXES, found, limits, strict=False):
        if not 1 <= extent <= most:
            table.fail(f"{key} is {extent} along {axis}", hint=f"use 1 to {most}")
    return tuple(found)


def writer_of(grid: Grid, stated: dict[str, Integer]) -> dict[str, Integer]:
    """Who writes an element, by the coordinates of an effect.

    A thread that is stated by axis is its number: along x first.
    """
    found = {each: term for each, term in stated.items() if each in ("thread", "round", "step")}
    apart = 1
    for axis, extent in zip(AXES, grid.shape, strict=False):
        if f"thread_{axis}" in stated:
            found["thread"] = found.get("thread", 0) + stated[f"thread_{axis}"] * apart
        apart *= extent
    for axis in ("x", *grid.further):
        for called in (f"block_{axis}", block_of(axis)):
            if called in stated:
                found[block_of(axis)] = stated[called]
    return found
