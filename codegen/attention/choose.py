"""Which member of the family runs for a problem, and why.

The choice looks at depth, element type, lengths, heads, kind of mask and alignment of causality:
never at the batch, nor at how many multiprocessors there are. So a row's bits do not depend on what
else is in the call.

>>> choose(Request(depth=64, dtype="bf16", queries=4096, keys=4096, causal=False, mask=False))
Chosen(member=Member(depth=64, dtype='bf16', groups=3, keys=128, stages=3, mask=False, output='', \
residents=1, turns=True, reference='first'), persistent=True, reason='fastest from 769 rows and \
keys on: 192 rows to a block, 128 keys to a step, 1 to a multiprocessor, blocks that stay for \
several')

The thresholds were measured on an H200: `docs/performance.md` has the table.
"""

from __future__ import annotations

from dataclasses import dataclass

from tylo.codegen.attention.member import DEPTHS, DTYPES, Member
from tylo.layouts.errors import GenerationError

# Keys (or queries, if they are fewer) from which each is the fastest, by depth and causality:
# groups, keys of a step, stages, residents, and whether blocks stay.
_TABLE: dict[tuple[int, bool], tuple[tuple[int, tuple[int, int, int, int], bool], ...]] = {
    (64, False): ((0, (1, 64, 3, 3), True), (769, (3, 128, 3, 1), True)),
    (64, True): (
        (0, (1, 64, 3, 3), True),
        (1537, (1, 64, 3, 3), False),
        (3073, (3, 128, 3, 1), True),
    ),
    (128, False): (
        (0, (1, 64, 2, 2), True),
        (65, (2, 128, 2, 1), True),
        (1537, (3, 64, 3, 1), True),
    ),
    (128, True): (
        (0, (1, 64, 2, 2), True),
        (65, (2, 128, 2, 1), True),
        (6145, (3, 64, 3, 1), True),
    ),
}
# The same under a Boolean mask, and the reference: at depth 64 three groups that keep the first
# reference would spill, and two pass three lagging ones.
_MASKED: dict[int, tuple[tuple[int, tuple[int, int, int, int], str], ...]] = {
    64: ((0, (1, 64, 3, 3), "first"), (769, (2, 128, 3, 1), "first")),
    128: ((0, (1, 64, 2, 2), "first"), (65, (2, 128, 2, 1), "first")),
}


@dataclass(frozen=True, slots=True)
class Request:
    """What a choice depends on; `mask` is whether there is a Boolean one."""

    depth: int
    dtype: str
    queries: int
    keys: int
    causal: bool
    mask: bool


@dataclass(frozen=True, slots=True)
class Chosen:
    """A member, whether its blocks stay for several items of work, and the reason for people."""

    member: Member
    persistent: bool
    reason: str


def choose(request: Request) -> Chosen:
    """The fastest member that was measured; `GenerationError` for what no member computes."""
    if request.depth not in DEPTHS:
        raise GenerationError(
            f"attention of depth {request.depth}",
            hint=f"pad q, k and v with zeros to {' or '.join(map(str, DEPTHS))}, keeping the scale",
            witness=request.depth,
        )
    if request.dtype not in DTYPES:
        raise GenerationError(
            f"attention of {request.dtype}",
            hint=f"use {' or '.join(DTYPES)}",
            witness=request.dtype,
        )
    length = min(request.queries, request.keys)
    if request.mask:
        _, sizes, reference = next(
            row for row in reversed(_MASKED[request.depth]) if row[0] <= length
        )
        groups, keys, stages, residents = sizes
        member = Member(
            request.depth, request.dtype, groups, keys, stages,
            mask=True, residents=residents, reference=reference,
        )  # fmt: skip
        return Chosen(
            member,
            True,
            "a mask is packed to bits first; steps of which it keeps nothing are left out",
        )
    least, sizes, persistent = next(
        row for row in reversed(_TABLE[request.depth, request.causal]) if row[0] <= length
    )
    groups, keys, stages, residents = sizes
    member = Member(
        request.depth, request.dtype, groups, keys, stages, residents=residents, reference="first"
    )
    stay = "stay for several" if persistent else "come and go"
    return Chosen(
        member,
        persistent,
        f"fastest from {least} rows and keys on: {member.rows} rows to a block, {keys} keys to a "
        f"step, {residents} to a multiprocessor, blocks that {stay}",
    )
