"""Tilings: an atom repeated over a larger tile, by repeats in registers and by warps.

The order is CuTe's, (value, m, n) with value fastest: value number = v + V * (m + M * n), and for
a packed operand A word number = w + W * (m + M * k). Operand B counts (value, n, k). Warps number
m fastest and sit *inside* the repeats: along an axis the atom comes first, then the warps, then
the repeats. ``arrangement="blocked"`` puts the repeats inside the warps instead.

An atom of a whole warpgroup keeps its four warps, which count first: what is said of warps is then
said of warpgroups.

Two M repeats and four N repeats of an accumulator, on two M warps:

>>> from tylo.layouts.atoms import atom
>>> tile = tile_operand(atom("mma.m16n8k16.bf16"), "C", m=2, n=4, warps_m=2)
>>> tile.shape, tile.value_count, tile.thread_count
((64, 32), 32, 64)
>>> tile(lane=5, value=2, repeat_m=1, repeat_n=3, warp=1)
(57, 26)

Counts may be symbolic: `tylo.layouts.terms.name("M")` stands for any number of repeats.

>>> from tylo.layouts.terms import name, show
>>> tall = tile_operand(atom("mma.m16n8k16.bf16"), "C", m=name("M"), n=2)
>>> [show(extent) for extent in tall.shape]
['16 * M', '16']
"""

from __future__ import annotations

from dataclasses import dataclass

from tylo.layouts.atoms.atom import Atom
from tylo.layouts.errors import OwnershipError
from tylo.layouts.indices import require_number
from tylo.layouts.ownership import Input, Mode, Ownership
from tylo.layouts.terms import Integer

# CuTe numbers the repeats of every operand row/column-of-the-product first, depth last.
_REPEAT_ORDER = {"A": ("m", "k"), "B": ("n", "k"), "C": ("m", "n")}


@dataclass(frozen=True, slots=True)
class Along:
    """What happens along one axis of a tile: repeats in registers, and warps side by side."""

    repeats: Integer = 1
    warps: Integer = 1


def tile_operand(
    atom: Atom,
    letter: str,
    *,
    m: Integer = 1,
    n: Integer = 1,
    k: Integer = 1,
    warps_m: Integer = 1,
    warps_n: Integer = 1,
    arrangement: str = "interleaved",
) -> Ownership:
    """The ownership of one operand of a tiled product: m, n, k repeats on warps_m x warps_n warps.

    Warps that an operand does not distinguish hold replicas of it: two N warps share operand A.
    Raises `OwnershipError` for a count below 1 and `AtomError` for an unknown operand.
    """
    operand = atom.operand(letter)
    return tile(
        operand.ownership,
        {"m": Along(m, warps_m), "n": Along(n, warps_n), "k": Along(k)},
        order=_REPEAT_ORDER[operand.letter],
        arrangement=arrangement,
    )


def tile(
    ownership: Ownership,
    along: dict[str, Along],
    *,
    order: tuple[str, ...] | None = None,
    arrangement: str = "interleaved",
) -> Ownership:
    """`ownership` repeated along its axes; repeats count in `order`, the first axis fastest.

    Warps along an axis that the ownership does not have replicate it.
    """
    if arrangement not in ("interleaved", "blocked"):
        raise OwnershipError(
            f"no arrangement {arrangement!r}",
            hint="use 'interleaved' (warps inside repeats) or 'blocked' (repeats inside warps)",
        )
    for axis, part in along.items():
        for kind, count in (("repeats", part.repeats), ("warps", part.warps)):
            require_number(f"the number of {kind} along {axis}", count, 1)
    if order is not None and sorted(order) != sorted(ownership.axis_names):
        raise OwnershipError(
            f"the order {order} does not name each axis once",
            hint=f"the axes are {', '.join(ownership.axis_names)}",
        )
    extents = dict(ownership.axes)
    repeat_step: dict[str, Integer] = {}
    warp_step: dict[str, Integer] = {}
    for axis, extent in ownership.axes:
        part = along.get(axis, Along())
        inner, outer = extent, extent
        if arrangement == "interleaved":
            warp_step[axis], repeat_step[axis] = inner, outer * part.warps
        else:
            repeat_step[axis], warp_step[axis] = inner, outer * part.repeats
        extents[axis] = extent * part.repeats * part.warps

    def moving(axis: str, size: Integer, steps: dict[str, Integer]) -> Mode:
        return Mode(
            size,
            tuple(steps[axis] if each == axis else 0 for each in ownership.axis_names),
        )

    repeats = tuple(
        Input(f"repeat_{axis}", (moving(axis, along.get(axis, Along()).repeats, repeat_step),))
        for axis in (order or ownership.axis_names)
    )
    # A warpgroup's own warps come first; further warps count on from them.
    own = next((each.modes for each in ownership.threads if each.name == "warp"), ())
    warps = Input(
        "warp",
        (*own, *(moving(axis, part.warps, warp_step) for axis, part in along.items())),
    )
    others = tuple(each for each in ownership.threads if each.name != "warp")
    return Ownership(
        axes=tuple(extents.items()),
        values=ownership.values + repeats,
        threads=(*others, warps),
        bits=ownership.bits,
    )
