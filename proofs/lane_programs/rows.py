"""What a lane program needs to know of a reduction: which registers meet in which result.

>>> Rows(groups=((0, 1), (2, 3)), masks=(1, 2), row_of=(0, 0, 1, 1)).values
4

`groups[r]` are the value numbers that result r combines in a lane, in order; `masks` the xor masks
of the shuffle rounds; `row_of[v]` the result that belongs to value v, replicas included; `parts`
how many warps hold parts of one row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tylo.layouts.errors import GenerationError
from tylo.layouts.exchange import replica
from tylo.layouts.reduction import Reduction


@dataclass(frozen=True, slots=True)
class Rows:
    """The register side of a reduction."""

    groups: tuple[tuple[int, ...], ...]
    masks: tuple[int, ...]
    row_of: tuple[int, ...]
    parts: int = 1

    def __post_init__(self) -> None:
        for row, group in enumerate(self.groups):
            for value in group:
                if not 0 <= value < len(self.row_of) or self.row_of[value] != row:
                    raise GenerationError(
                        f"value {value} is combined in row {row} and does not belong to it",
                        hint="take the rows of a Reduction",
                        witness={"value": value, "row": row},
                    )

    @property
    def values(self) -> int:
        """How many registers a lane brings."""
        return len(self.row_of)

    @property
    def results(self) -> int:
        """How many registers a reduced fragment has in a lane."""
        return len(self.groups)


def rows_of(reduction: Reduction) -> Rows:
    """The rows of a reduction.

    >>> from tylo.layouts.atoms import atom
    >>> from tylo.layouts.reduction import reduction
    >>> rows_of(reduction(atom("mma.m16n8k16.bf16").operand("C").ownership, 1)).row_of
    (0, 0, 1, 1)
    """
    source, result = reduction.source, reduction.result
    count: Any = result.value_count
    rows = {result.coordinates(0, row): row for row in range(count)}
    total: Any = source.value_count
    places = (source.coordinates(0, value) for value in range(total))
    axis = reduction.axis
    return Rows(
        groups=reduction.groups,
        masks=reduction.lane_masks,
        row_of=tuple(rows[place[:axis] + place[axis + 1 :]] for place in places),
        parts=reduction.parts,
    )


def part_holders(reduction: Reduction) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """For each thread, row and part, the thread whose value the exchange plan hands over.

    That is the replica that writes the slot from which the part is read.
    """
    threads: Any = reduction.source.thread_count
    rows, held = range(len(reduction.groups)), reduction.partial
    writer: dict[int, int] = {}
    for thread in range(threads):
        if replica(held, **held.split(held.threads, thread)) == 0:
            for row in rows:
                writer[reduction.write_slot(thread, row)] = thread
    return tuple(
        tuple(tuple(writer[slot] for slot in reduction.read_slots(thread, row)) for row in rows)
        for thread in range(threads)
    )
