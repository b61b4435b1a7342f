"""A schedule: who waits for what, and who says so, in a kernel whose warps have roles.

One producer copies tiles into rings of shared-memory slots; warpgroups of consumers multiply them.
Barriers keep them apart, and a `Schedule` is all there is to them: it is printed as the kernel's
barrier code, read back from CUDA text, and explored as a transition system by `explore`.

Every ring counts the tiles that went through it. Tile number t lies in slot ``t mod slots``, and it
is the ``t div slots``-th that this slot's barriers see, whose parity is what a wait compares. A
consumer waits for a slot to be full, starting with parity 0; the producer waits for it to be empty,
starting with parity 1, which a fresh barrier passes.

A program has a beginning, then for each item of work: nothing at all if the item has no tile, else
`first`, `further` once for each tile but the first, and `last`; at the end of everything `end`.

>>> schedule = attention_schedule(groups=2, stages=4)
>>> [str(step) for step in schedule.program("producer").first]
['wait k_empty[k] for the tile before', 'expect k_full[k]', 'copy k', 'advance k', \
'wait q_empty[q] for the tile before', 'expect q_full[q]', 'copy q', 'advance q']
>>> schedule.barrier("k_empty")
Barrier(name='k_empty', ring='k', arrivals=8)

Source: PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier", "bar,
barrier"; "Asynchronous Warpgroup Level Matrix Instructions: wgmma.commit_group, wgmma.wait_group".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TypeVar

from tylo.layouts.errors import GenerationError

WARPS_PER_GROUP = 4


@dataclass(frozen=True, slots=True)
class Wait:
    """Until the phase that the ring's tile is in is complete; `before`: the slot's tile before."""

    barrier: str
    ring: str
    before: bool = False

    def __str__(self) -> str:
        late = " for the tile before" if self.before else ""
        return f"wait {self.barrier}[{self.ring}]{late}"


@dataclass(frozen=True, slots=True)
class Expect:
    """One arrival, and a tile's bytes are to come."""

    barrier: str
    ring: str

    def __str__(self) -> str:
        return f"expect {self.barrier}[{self.ring}]"


@dataclass(frozen=True, slots=True)
class Copy:
    """Start to fill the ring's slot; the bytes complete on the ring's full barrier, at any time."""

    ring: str

    def __str__(self) -> str:
        return f"copy {self.ring}"


@dataclass(frozen=True, slots=True)
class Arrive:
    """Each warp of the group arrives once."""

    barrier: str
    ring: str

    def __str__(self) -> str:
        return f"arrive {self.barrier}[{self.ring}]"


@dataclass(frozen=True, slots=True)
class Multiply:
    """Start a product that reads the slots of `rings` until it is awaited, and commit it."""

    product: str
    rings: tuple[str, ...]

    def __str__(self) -> str:
        return f"multiply {self.product} of {', '.join(self.rings)}"


@dataclass(frozen=True, slots=True)
class Await:
    """Until at most `pending` of the started products are not complete."""

    pending: int

    def __str__(self) -> str:
        return f"await all but {self.pending}"


@dataclass(frozen=True, slots=True)
class TakeTurn:
    """Wait at the group's own named barrier until the group before has passed the turn."""

    def __str__(self) -> str:
        return "take turn"


@dataclass(frozen=True, slots=True)
class PassTurn:
    """Arrive at the next group's named barrier (or at one's own, to set off the first turn)."""

    own: bool = False

    def __str__(self) -> str:
        return "pass turn to itself" if self.own else "pass turn"


@dataclass(frozen=True, slots=True)
class Advance:
    """The ring's next tile."""

    ring: str

    def __str__(self) -> str:
        return f"advance {self.ring}"


@dataclass(frozen=True, slots=True)
class Compute:
    """What registers are for, by name; it may itself read the slots of `rings`."""

    what: str
    rings: tuple[str, ...] = ()

    def __str__(self) -> str:
        read = f" from {', '.join(self.rings)}" if self.rings else ""
        return f"compute {self.what}{read}"


Step = Wait | Expect | Copy | Arrive | Multiply | Await | TakeTurn | PassTurn | Advance | Compute


@dataclass(frozen=True, slots=True)
class Ring:
    """`slots` places in shared memory that tiles go through in turn."""

    name: str
    slots: int


@dataclass(frozen=True, slots=True)
class Barrier:
    """An mbarrier for each slot of a ring; a phase is complete after so many arrivals."""

    name: str
    ring: str
    arrivals: int


@dataclass(frozen=True, slots=True)
class Program:
    """The steps of one role, by section; see the module."""

    role: str
    begin: tuple[Step, ...]
    first: tuple[Step, ...]
    further: tuple[Step, ...]
    last: tuple[Step, ...]
    end: tuple[Step, ...] = ()

    def sections(self) -> Iterator[tuple[str, tuple[Step, ...]]]:
        """Section names with their steps, in order."""
        for field in fields(self)[1:]:
            yield field.name, getattr(self, field.name)


@dataclass(frozen=True, slots=True)
class Schedule:
    """Rings, barriers, how many consumer groups there are, and what every role does."""

    groups: int
    rings: tuple[Ring, ...]
    barriers: tuple[Barrier, ...]
    programs: tuple[Program, ...]

    def __post_init__(self) -> None:
        rings = {ring.name for ring in self.rings}
        for barrier in self.barriers:
            if barrier.ring not in rings:
                raise GenerationError(
                    f"barrier {barrier.name!r} guards ring {barrier.ring!r}, which is none",
                    hint=f"the rings are {', '.join(sorted(rings))}",
                )

    def ring(self, name: str) -> Ring:
        """The ring of that name."""
        return _named(self.rings, name)

    def barrier(self, name: str) -> Barrier:
        """The barrier of that name."""
        return _named(self.barriers, name)

    def program(self, role: str) -> Program:
        """The program of ``producer`` or ``group 0``, ``group 1``, ..."""
        found = next((each for each in self.programs if each.role == role), None)
        if found is None:
            raise GenerationError(
                f"no role {role!r}", hint=f"roles: {', '.join(p.role for p in self.programs)}"
            )
        return found


_Named = TypeVar("_Named", Ring, Barrier)


def _named(every: tuple[_Named, ...], name: str) -> _Named:
    found = next((each for each in every if each.name == name), None)
    if found is None:
        raise GenerationError(
            f"no ring or barrier {name!r}", hint=f"known: {', '.join(e.name for e in every)}"
        )
    return found


def attention_schedule(groups: int, stages: int, turns: bool = True) -> Schedule:
    """K and V through `stages` slots each, Q through one; scores of a tile beside values before.

    A group multiplies the scores of tile t + 1 and the weights of tile t with their values at the
    same time, and with `turns` the groups start these products one group after the other.
    """
    if groups < 1 or stages < 1:
        raise GenerationError(
            f"{groups} groups and {stages} stages", hint="there is at least one of each"
        )
    turns = turns and groups > 1
    consumers = WARPS_PER_GROUP * groups
    return Schedule(
        groups=groups,
        rings=(Ring("q", 1), Ring("k", stages), Ring("v", stages)),
        barriers=tuple(
            Barrier(f"{ring}_{state}", ring, arrivals)
            for ring in "qkv"
            for state, arrivals in (("full", 1), ("empty", consumers))
        ),
        programs=(_producer(), *(_consumer(group, turns) for group in range(groups))),
    )


def _producer() -> Program:
    def fill(ring: str) -> tuple[Step, ...]:
        return (
            Wait(f"{ring}_empty", ring, before=True),
            Expect(f"{ring}_full", ring),
            Copy(ring),
            Advance(ring),
        )

    return Program(
        role="producer",
        begin=(),
        first=fill("k") + fill("q"),
        further=fill("k") + fill("v"),
        last=fill("v"),
    )


def _consumer(group: int, turns: bool) -> Program:
    """Nothing between a product's start and its wait touches its registers."""
    take: tuple[Step, ...] = (TakeTurn(),) if turns else ()
    give: tuple[Step, ...] = (PassTurn(),) if turns else ()
    release_values: tuple[Step, ...] = (Await(0), Arrive("v_empty", "v"), Advance("v"))
    return Program(
        role=f"group {group}",
        begin=(PassTurn(own=True),) if turns and group == 0 else (),
        first=(
            Wait("q_full", "q"),
            Wait("k_full", "k"),
            Multiply("scores", ("q", "k")),
            Await(0),
            Compute("weights", ("q", "k")),
            Arrive("k_empty", "k"),
            Advance("k"),
            Compute("pack"),
        ),
        further=(
            Wait("k_full", "k"),
            *take,
            Multiply("scores", ("q", "k")),
            Wait("v_full", "v"),
            Multiply("values", ("v",)),
            *give,
            Await(1),
            Compute("weights", ("q", "k")),
            # After the weights: their number decides the address, so that they are computed first.
            Arrive("k_empty", "k"),
            Advance("k"),
            *release_values,
            Compute("pack"),
            Compute("rescale"),
        ),
        last=(
            Arrive("q_empty", "q"),
            Advance("q"),
            Wait("v_full", "v"),
            Multiply("values", ("v",)),
            *release_values,
        ),
    )
