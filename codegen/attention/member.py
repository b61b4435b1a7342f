"""One member of the attention family: what is fixed when its kernel is generated.

Depth, element type, how many groups of 64 query rows share a block, how many keys a step takes,
how many stages K and V have. Lengths, heads, batch, strides, scale, causal offset and mask are
arguments of the kernel. The worked kernel is the smallest of the family with everything in it:

>>> WORKED
Member(depth=64, dtype='bf16', groups=2, keys=64, stages=4, mask=False, output='', residents=1, \
turns=True, reference='lagging')
>>> WORKED.threads, WORKED.shared_bytes, WORKED.registers
(384, 99472, (32, 232))

Where its tiles and barriers lie in shared memory is its `Plan`, which the PTX is held to:

>>> print(WORKED.place("k"), WORKED.tile("k").layout())
16384 Sw<3,4,3>@8 o 0 o (64,(64,1)):(128,(2,8192))
>>> [(each.name, WORKED.barrier_place(each.name)) for each in WORKED.schedule.barriers][:3]
[('q_full', 98304), ('q_empty', 98312), ('k_full', 98320)]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tylo.layouts.atoms import Atom, atom
from tylo.layouts.errors import GenerationError
from tylo.layouts.shared import SharedTile
from tylo.proofs.pipelines.schedule import Schedule
from tylo.proofs.specifications.attention_plan import REGISTERS, Plan

SHARED_LIMIT = 232448  # bytes that one block may have on compute capability 9.0
MULTIPROCESSOR_SHARED = 233472
BLOCK_RESERVE = 1024  # taken by the system for each resident block

DEPTHS = (64, 128)
DTYPES = ("bf16", "f16")
MASKED_KEYS = (64, 128)  # of a step; a record of a packed mask holds 128 keys


@dataclass(frozen=True, slots=True)
class Member:
    """See the module. `output` is the element type of `out`, the operands' own if empty.

    `residents` is how many blocks a multiprocessor holds, `turns` whether the groups start their
    products in turn. `reference` says what a row's exponents are taken from: ``lagging`` is its
    maximum so far, as soon as it has grown by more than 8 in log2 units; ``first`` is that of the
    first tiles, until a sum of weights says that the row has outgrown it.

    Raises `GenerationError` for what has no kernel.
    """

    depth: int
    dtype: str
    groups: int
    keys: int
    stages: int
    mask: bool = False
    output: str = ""
    residents: int = 1
    turns: bool = True
    reference: str = "lagging"

    def __post_init__(self) -> None:
        for what, value, allowed in (
            ("depth", self.depth, DEPTHS),
            ("dtype", self.dtype, DTYPES),
            ("output", self.output, ("", "f32")),
            ("reference", self.reference, ("lagging", "first")),
            ("keys", self.keys, tuple(range(16, 257, 16))),
            ("stages", self.stages, tuple(range(1, 9))),
            ("(groups, residents)", (self.groups, self.residents), tuple(REGISTERS)),
        ):
            if value not in allowed:
                raise GenerationError(
                    f"no attention kernel has {what} {value!r}",
                    hint=f"use one of {', '.join(map(str, allowed))}",
                    witness=value,
                )
        if self.mask and self.keys not in MASKED_KEYS:
            raise GenerationError(
                f"a mask and steps of {self.keys} keys",
                hint="masks are packed for steps of " + " or ".join(map(str, MASKED_KEYS)),
                witness=self.keys,
            )
        limit = min(SHARED_LIMIT, MULTIPROCESSOR_SHARED // self.residents - BLOCK_RESERVE)
        if self.shared_bytes > limit:
            raise GenerationError(
                f"{self.stages} stages of {self.keys} keys at depth {self.depth} take "
                f"{self.shared_bytes} bytes of shared memory, {limit} are there",
                hint="take fewer stages or fewer keys",
                witness=self.shared_bytes,
            )

    @property
    def entry(self) -> str:
        """The kernel's name."""
        return "attention"

    def source(self) -> str:
        """The kernel's text; see `tylo.codegen.attention.source`."""
        from tylo.codegen.attention.source import source

        return source(self)

    @property
    def plan(self) -> Plan:
        """Sizes, schedule and places, which the PTX is held to."""
        return Plan(
            self.depth,
            self.dtype,
            self.groups,
            self.keys,
            self.stages,
            self.residents,
            self.turns,
            self.reference,
            self.mask,
        )

    @property
    def threads(self) -> int:
        """Threads of a block: the consumer groups, and the producer's."""
        return self.plan.threads

    @property
    def rows(self) -> int:
        """Query rows of a block."""
        return self.plan.rows

    @property
    def registers(self) -> tuple[int, int]:
        """Registers per thread of the producer and of a consumer."""
        return self.plan.registers

    @property
    def schedule(self) -> Schedule:
        """Who waits for what."""
        return self.plan.schedule

    @property
    def scores(self) -> Atom:
        """The product Q K^T of 64 rows and a step of keys."""
        return atom(f"wgmma.m64n{self.keys}k16.{self.dtype}")

    @property
    def values(self) -> Atom:
        """The product of 16 keys' weights and values."""
        return atom(f"wgmma.m64n{self.depth}k16.{self.dtype}")

    def tile(self, name: str) -> SharedTile:
        """The tile of ``q``, ``k``, ``v`` or ``out``; q and out are those of one group."""
        return self.plan.tile(name)

    def copies(self, name: str) -> int:
        """How many such tiles lie one after the other: one per group, or one per stage."""
        return self.plan.copies(name)

    def place(self, name: str) -> int:
        """Where the first of them starts, in bytes from the aligned base."""
        return self.plan.place(name)

    def barrier_place(self, name: str) -> int:
        """Where a barrier's first slot lies."""
        return self.plan.barrier_place(name)

    @property
    def shared_bytes(self) -> int:
        """Dynamic shared memory, with what aligning its start may cost."""
        return self.plan.shared_bytes


WORKED = Member(depth=64, dtype="bf16", groups=2, keys=64, stages=4)


def member_of(parameters: Mapping[str, int | str]) -> Member:
    """The member that a specification's parameters describe.

    >>> member_of({"depth": 64, "dtype": "bf16", "groups": 2, "keys": 64, "stages": 4}) == WORKED
    True
    """
    given: dict[str, Any] = dict(parameters)
    return Member(
        **{**given, "turns": bool(given.get("turns", True)), "mask": bool(given.get("mask", False))}
    )
