"""Exchange plans: how warps that hold parts of one row tell each other, on the caller's terms.

Tylo never chooses a buffer or a barrier. A caller who wants a reduction over several warps names
both in an `ExchangePlan`; which warp writes and which reads which slot then follows from the
ownership. Each warp along the axis is a *part*. A row tile of two rows over four warps, two to each
row:

>>> from tylo.layouts.reduction import reduction
>>> from tylo.layouts.row_tiles import row_tile
>>> tile = row_tile(vector=4, warps=2, row_warps=2)
>>> plan = ExchangePlan(buffer="partials", extent=4, barrier=1)
>>> exchanged = reduction(tile, 1, exchange=plan)
>>> [exchanged.write_slot(32 * warp, 0) for warp in range(4)]
[0, 2, 1, 3]
>>> [exchanged.read_slots(32 * warp, 0) for warp in range(4)]
[(0, 2), (0, 2), (1, 3), (1, 3)]

Slots count rows first, then parts. The replica that writes is number 0, and all read every part of
their row in the same order, so that all replicas end with the same bits. The barrier goes between;
who writes the buffer again must know that all have read it, by a barrier more or a second buffer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from tylo.layouts.errors import OwnershipError
from tylo.layouts.ownership import Input, Mode, Ownership
from tylo.layouts.reduced import moves, reduced, replicates
from tylo.layouts.terms import Integer

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_BARRIERS = 16  # PTX ISA 8.7, section 9.7.13.1, bar: "barriers 0 to 15" of a block


@dataclass(frozen=True, slots=True)
class ExchangePlan:
    """The caller's shared buffer by name, its extent in 32-bit slots, and a named barrier."""

    buffer: str
    extent: int
    barrier: int

    def __post_init__(self) -> None:
        if not isinstance(self.buffer, str) or not _IDENTIFIER.fullmatch(self.buffer):
            raise OwnershipError(
                f"the buffer {self.buffer!r} is no name", hint="give the CUDA identifier"
            )
        for what, number, least, most in (
            ("extent", self.extent, 1, (1 << 31) - 1),
            ("barrier", self.barrier, 0, _BARRIERS - 1),
        ):
            if (
                isinstance(number, bool)
                or not isinstance(number, int)
                or not (least <= number <= most)
            ):
                raise OwnershipError(
                    f"the {what} of an exchange plan is {number!r}",
                    hint=f"give a whole number from {least} to {most}",
                )


def parts(ownership: Ownership, axis: int) -> Integer:
    """How many warps hold parts of one row of `axis`."""
    found: Integer = 1
    for _, mode in warp_digits(ownership, axis):
        found = found * mode.size
    return found


def partial(ownership: Ownership, axis: int) -> Ownership:
    """Who holds which part: the reduced ownership with the warps along `axis` as an axis "part"."""
    rest = reduced(ownership, axis)
    weights: dict[int, Integer] = {}
    weight: Integer = 1
    for place, mode in warp_digits(ownership, axis):
        weights[place] = weight
        weight = weight * mode.size

    def with_part(source: Input) -> Input:
        steps = weights if source.name == "warp" else {}
        return Input(
            source.name,
            tuple(
                Mode(mode.size, (*mode.steps, steps.get(place, 0)))
                for place, mode in enumerate(source.modes)
            ),
        )

    return Ownership(
        axes=(*rest.axes, ("part", weight)),
        values=tuple(map(with_part, rest.values)),
        threads=tuple(map(with_part, rest.threads)),
        bits=rest.bits,
    )


def slot(ownership: Ownership, coordinate: tuple[Any, ...]) -> Any:
    """The number of a slot, from a coordinate of `partial`: its first axis fastest."""
    number: Any = 0
    weight: Integer = 1
    for where, extent in zip(coordinate, ownership.shape, strict=True):
        number = number + where * weight
        weight = weight * extent
    return number


def replica(ownership: Ownership, **indices: Any) -> Any:
    """Which of a coordinate's holders a thread is: the digits that move nothing, as one number.

    >>> from tylo.layouts.atoms import atom
    >>> rows = reduced(atom("mma.m16n8k16.bf16").operand("C").ownership, 1)
    >>> [replica(rows, lane=lane) for lane in range(6)]
    [0, 1, 2, 3, 0, 1]
    """
    number: Any = 0
    weight: Integer = 1
    for each in ownership.threads:
        for mode, digit in each.digits(indices.get(each.name, 0)):
            if replicates(mode):
                number = number + digit * weight
                weight = weight * mode.size
    return number


def warp_digits(ownership: Ownership, axis: int) -> list[tuple[int, Mode]]:
    """The warps' digits that move along `axis` with their places, in order of their steps.

    That is the order in which a part's number is made of them.
    """
    modes = next((each.modes for each in ownership.threads if each.name == "warp"), ())
    found = [(place, mode) for place, mode in enumerate(modes) if moves(mode, axis)]
    if len(found) > 1:
        found.sort(key=lambda item: _number(item[1].steps[axis]))
    return found


def _number(step: Integer) -> int:
    if not isinstance(step, int):
        raise OwnershipError(
            "several digits of warp with symbolic steps along one axis",
            hint="substitute the sizes first",
        )
    return step
