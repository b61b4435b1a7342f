"""One attention kernel as a specification: its parameters, and what no proof of it covers.

>>> kernel = role_kernel(normal({"depth": 64}))
>>> kernel.threads, kernel.schedule.ring("k").slots
(384, 4)
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tylo.layouts.errors import GenerationError
from tylo.layouts.shared import TmaBox
from tylo.proofs.pipelines.kernel import RoleKernel
from tylo.proofs.ptx.failures import Solve
from tylo.proofs.ptx.validate import Validation
from tylo.proofs.specifications.attention_arguments import (
    MOST_ITEMS,
    MOST_LENGTH,
    MOST_SHARES,
    SHARE_PLACES,
)
from tylo.proofs.specifications.attention_masks import RECORD_KEYS, RECORD_WORDS
from tylo.proofs.specifications.attention_plan import SHARED_BYTES, Plan

# The worked kernel's, where nothing else is said.
_PARAMETERS: Mapping[str, int | str] = MappingProxyType(
    {
        "depth": 64,
        "dtype": "bf16",
        "groups": 2,
        "keys": 64,
        "stages": 4,
        "residents": 1,
        "turns": 1,
        "reference": "lagging",
        "mask": 0,
    }
)

UNCOVERED = (
    'the order of memory behind barriers and fences (PTX ISA, "Memory Consistency Model"): that '
    "threads take the steps of their protocol is proven of the PTX, and that the barriers of the "
    "protocol keep tiles apart is explored, as if each step were one instant",
    "what copies, products and matrix moves do: that tensor copies clip boxes at the tensor's end, "
    "fill with zeros and swizzle as TmaBox says, that wgmma reads what MatrixDescriptor says and "
    "registers as the instruction tables say",
    "values: which scores products give, what weights and sums are made of them, what ex2.approx "
    "and lg2.approx give, and the order of sums inside wgmma; it is proven that nothing is made of "
    "scores before those that the mask or the row's end drops have become minus infinity, and that "
    "others stay, up to a factor",
    "that the named barriers around the output tile keep its items apart",
    "which items a block takes: rounds and the table of shares are the launch's, checked when it "
    "is made; that an item is worked on rightly, and that items are all rows of all heads once, is "
    "proven",
    "termination: that each wait ends is what the exploration says of the schedule",
    "the machine code, which is assembled from the PTX",
)


# Of kernels with a mask.
UNCOVERED_OF_MASKS = (
    "the kernel that packs the mask (pack_mask): that its bits are the mask's and that its bytes "
    "agree with them is assumed; it runs on the PTX machine in tests",
)


def _assumptions(plan: Plan) -> tuple[str, ...]:
    """What the launch sees to; `tylo.codegen.attention.launch` does."""
    rows = plan.rows
    return (
        f"launch: {plan.threads} threads along x, 1 <= blocks <= {MOST_ITEMS} along x, no clusters",
        f"dynamic shared memory: {plan.shared_bytes} bytes, inside {SHARED_BYTES}",
        "tensor maps: of q, k, v and out, four dimensions (depth, length, heads, batch), boxes of "
        f"{', '.join(str(box) for box in _boxes(plan))}",
        f"1 <= queries, 0 <= keys, queries + keys <= {MOST_LENGTH}, -queries <= diagonal <= keys",
        f"row_tiles = queries / {rows} rounded up; places = row_tiles, or half of it rounded up "
        f"where paired is 1, else paired is 0; 1 <= places * all_heads <= {MOST_ITEMS}",
        f"0 <= whole_turns <= {MOST_ITEMS // 2}, 0 <= shares <= {MOST_SHARES}, blocks * shares <= "
        f"{SHARE_PLACES}; rounds of whole turns and then the halves that `last` lists are each "
        "block's work: together every item once, late and early where paired is 1, and each list "
        "ends with none (where shares is 0, whole turns reach all items)",
        "all_heads = heads * batch, key heads = heads / sharing, 1 <= run <= all_heads, zero = 0",
        "lse: null, or 4 * all_heads * queries bytes, writable, starts at a multiple of 4, and "
        "overlaps no tensor",
        "compute capability 9.0",
        *(_mask_assumptions(plan) if plan.mask else ()),
    )


def _mask_assumptions(plan: Plan) -> tuple[str, ...]:
    """What is packed, and how; `tylo.codegen.attention.packed_mask` and its kernel do."""
    return (
        f"bits: for each batch, head, record of {RECORD_KEYS} keys and row of the mask "
        f"{RECORD_WORDS} words, one after the other; the stride of an axis that repeats is 0, so "
        f"that bits_row is 0 or {RECORD_WORDS}; starts at a multiple of 4; there are records for "
        "all keys",
        f"kept: for each batch, head and block of {plan.rows} rows of the mask a byte for each "
        f"step of {plan.keys} keys, up to whole records and whole words; strides of axes that "
        "repeat are 0, others multiples of 4; starts at a multiple of 4",
        "kept and bits agree: a byte is 0 where no row of the block keeps a key of the step, and "
        "bit 1 + g is set only where each row of group g that is there keeps all of its keys",
        "nothing writes bits and kept while the kernel runs",
    )


def _boxes(plan: Plan) -> list[TmaBox]:
    found = [box for which in ("q", "k", "v", "out") for _, _, box in plan.tile(which).boxes()]
    return list(dict.fromkeys(found))


def normal(parameters: Mapping[str, int | str]) -> dict[str, int | str]:
    """All parameters of a kernel, in their order; `GenerationError` for one that is not its."""
    for label, given in parameters.items():
        if label not in _PARAMETERS:
            raise GenerationError(
                f"attention has no parameter {label!r}", hint=f"use {', '.join(_PARAMETERS)}"
            )
        if type(given) is not type(_PARAMETERS[label]):
            raise GenerationError(
                f"{label} is {given!r}", hint=f"give something like {_PARAMETERS[label]!r}"
            )
    if "depth" not in parameters:
        raise GenerationError("attention without a depth", hint="give depth=64 or depth=128")
    return {**_PARAMETERS, **parameters}


def role_kernel(parameters: Mapping[str, int | str]) -> RoleKernel:
    """What the proofs know of the kernel with these parameters, all of which are there."""
    plan = plan_of(parameters)

    def validate(text: str, architecture: str, solve: Solve) -> Validation:
        from tylo.proofs.ptx.asynchronous.validate import validate_attention

        return validate_attention(text, plan, architecture, solve)

    return RoleKernel(
        entry="attention",
        threads=plan.threads,
        architectures=("sm_90a",),
        schedule=plan.schedule,
        assumptions=_assumptions(plan),
        uncovered=(*UNCOVERED, *(UNCOVERED_OF_MASKS if plan.mask else ())),
        validate=validate,
    )


def plan_of(parameters: Mapping[str, int | str]) -> Plan:
    """The plan of the kernel with these parameters, all of which are there."""
    return Plan(
        depth=int(parameters["depth"]),
        dtype=str(parameters["dtype"]),
        groups=int(parameters["groups"]),
        keys=int(parameters["keys"]),
        stages=int(parameters["stages"]),
        residents=int(parameters["residents"]),
        turns=bool(parameters["turns"]),
        reference=str(parameters["reference"]),
        mask=bool(parameters["mask"]),
    )
