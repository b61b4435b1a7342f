"""Which member of the family runs for a problem, and why.

The choice looks at depth, element type, lengths, heads, kind of mask and alignment of causality:
never at the batch, nor at how many multiprocessors there are. So a row's bits do not depend on what
else is in the call.

>>> choose(Request(depth=64, dtype="bf16", queries=4096, keys=4096, causal=False, mask=False))
Chosen(member=Member(depth=64, dtype='bf16', groups=3, keys=128, stages=3, mask=False, output='', \
residents=1, turns=True, reference='first'), persistent=True, reason='192 rows to a block: the \
longest runs of products')

The thresholds were measured on an H200: `docs/performance.md` has the table.
"""

from __future__ import annotations

from dataclasses import dataclass

from tylo.codegen.attention.member import DEPTHS, DTYPES, Member
from tylo.layouts.errors import GenerationError

SHORT = 512  # keys up to which small blocks beat long ones at depth 64
SHORT_CAUSAL = 1024


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
    depth, dtype = request.depth, request.dtype
    if request.mask:
        if depth == 64:
            member = Member(64, dtype, 2, 128, 3, mask=True)
        else:
            member = Member(128, dtype, 2, 64, 4, mask=True)
        return Chosen(member, True, "every tile of scores is masked")
    if depth == 128:
        member = Member(128, dtype, 2, 128, 2, reference="first")
        return Chosen(member, True, "128 rows to a block: two groups fill the tensor pipe")
    if min(request.queries, request.keys) <= (SHORT_CAUSAL if request.causal else SHORT):
        member = Member(64, dtype, 1, 64, 3, residents=3, reference="first")
        return Chosen(member, True, "few keys: three small blocks to a multiprocessor overlap")
    member = Member(64, dtype, 3, 128, 3, reference="first")
    return Chosen(member, True, "192 rows to a block: the longest runs of products")
