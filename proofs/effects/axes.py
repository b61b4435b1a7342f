"""Blocks and grids of several axes: what their coordinates and extents are called.

The threads of a block are counted along x first, then y, then z (CUDA programming guide, thread
hierarchy), so that ``thread`` says all of a thread's place, whatever the shape of its block. Blocks
have a coordinate for each axis: ``block`` along x, of ``blocks``; along y ``block_y``, of
``blocks_y``, which is a parameter of the effect that no argument of the kernel holds; and so for z.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from tylo.layouts.errors import ClaimError
from tylo.layouts.terms import Integer, name

FURTHER_LIMIT = 65535  # the y and z extents of a grid, CUDA programming guide, table of limits
THREAD_LIMITS = (1024, 1024, 64)  # the extents of a block, the same table
COORDINATES = ("thread", "block", "block_y", "block_z", "round", "step")
AXES = "xyz"


def block_of(axis: str) -> str:
    """What the coordinate of a block along an axis is called."""
    return "block" if axis == "x" else f"block_{axis}"


def blocks_of(axis: str) -> str:
    """What the extent of the grid along an axis is called."""
    return "blocks" if axis == "x" else f"blocks_{axis}"


def thread_along(shape: Sequence[int], axis: str) -> Integer:
    """A thread's place along one axis of its block, in terms of ``thread``.

    >>> from tylo.layouts.terms import show
    >>> [show(thread_along((32, 8), axis)) for axis in "xyz"]
    ['thread % 32', 'thread / 32', '0']
    """
    before = AXES.index(axis)
    extents = (*shape, 1, 1)[:3]
    apart, extent = prod(extents[:before]), extents[before]
    if extent == 1:
        return 0
    thread: Integer = name("thread") // apart if apart > 1 else name("thread")
    return thread % extent if prod(extents[: before + 1]) < prod(extents) else thread


def check_shape(shape: Sequence[int], threads: int) -> None:
    """Refuse what is no block of so many threads."""
    fits = all(1 <= n <= most for n, most in zip(shape, THREAD_LIMITS, strict=False))
    if not 1 <= len(shape) <= len(AXES) or not fits or prod(shape) != threads:
        raise ClaimError(
            f"a block of {' x '.join(map(str, shape))} threads",
            hint=f"up to three extents, of {' x '.join(map(str, THREAD_LIMITS))} threads at most, "
            f"and {threads} threads in all",
        )


def check_grid(
    further: Sequence[str], sizes: Mapping[str, tuple[int, int]], arguments: Sequence[str]
) -> None:
    """Refuse further axes without an extent of their own, and extents of axes that are not there.

    `sizes` are the bounds of all parameters.
    """
    if tuple(further) != tuple(AXES[1 : 1 + len(further)]):
        raise ClaimError(f"a grid along x and {list(further)}", hint="y, or y and z")
    for axis in AXES[1:]:
        extent = blocks_of(axis)
        stated = extent in sizes and bool(arguments) and extent not in arguments
        least, most = sizes.get(extent, (1, 1))
        if (axis in further) != stated or (stated and not 1 <= least <= most <= FURTHER_LIMIT):
            raise ClaimError(
                f"a grid along x{''.join(map(' and {}'.format, further))}, and {extent!r}",
                hint=f"a further axis has a parameter from 1 to {FURTHER_LIMIT} at most, which is "
                "none of the arguments; no other grid has one",
            )


def coordinates(further: Sequence[str]) -> tuple[str, ...]:
    """The coordinates in a grid along x and further axes."""
    others = [block_of(axis) for axis in AXES[1:] if axis not in further]
    return tuple(each for each in COORDINATES if each not in others)
