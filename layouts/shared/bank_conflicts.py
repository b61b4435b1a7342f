"""Bank conflicts: how many wavefronts one warp's access to shared memory takes.

Shared memory has 32 banks of 4 bytes; word w lies in bank w mod 32, and a bank serves one word in a
wavefront. Lanes that want the same word share it. A warp moves at most 128 bytes in a wavefront, so
that wide accesses run in *phases* of neighbouring lanes:

| bytes per lane | lanes in a phase | phases |
|----------------|------------------|--------|
| 1, 2, 4        | 32               | 1      |
| 8              | 16               | 2      |
| 16             | 8                | 4      |

A phase takes as many wavefronts as the bank with the most distinct words has of them. Each matrix
that `ldmatrix` or `stmatrix` moves is one phase: 8 lanes give the addresses of its 16-byte rows.

Reading a column of a 32x32 tile of floats asks one bank for 32 words; a pitch of 33, or the
swizzle <5,0,5> in elements, spreads them:

>>> column = [128 * row for row in range(32)]
>>> wavefronts(Access(column, 4)).phases
(32,)
>>> wavefronts(Access([132 * row for row in range(32)], 4)).total
1
>>> wavefronts(Access(column, 4).swizzled(Swizzle(5, 0, 5, unit=32))).total
1

Lanes may be inactive (None). Where lanes of an 8- or 16-byte load *agree in pairs*, the phases
merge two by two, because two of them want no more than 128 bytes. Agreeing means that throughout
the warp lane n and lane n^1 have one address or one of them is inactive; or throughout n and n^2:

>>> wavefronts(Access([8 * (n // 2) for n in range(32)], 8)).phases
(1,)
>>> wavefronts(Access([16 * (n // 2) for n in range(32)], 16)).phases
(1, 1)
>>> wavefronts(Access([16 * (n // 2) for n in range(32)], 16, "store")).phases
(1, 1, 1, 1)

Sources: CUDA C++ Programming Guide, compute capability 5.x and later, "Shared Memory" (banks,
broadcast), and compute capability 2.x, "Shared Memory", 64- and 128-bit accesses (phases by half
and quarter warps); PTX ISA, "ldmatrix" (row addresses); NVIDIA developer forum 77228 (pairs).
`benchmarks/bank_conflicts.py` compares the count with a device's: docs/hardware.md has the outcome.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tylo.layouts.errors import LayoutError
from tylo.layouts.ownership import Ownership
from tylo.layouts.swizzle import Swizzle

BANKS = 32
BANK_BYTES = 4
LANES = 32
_LANES_IN_PHASE = {1: 32, 2: 32, 4: 32, 8: 16, 16: 8}
# Whether phases of lanes in pairs merge: loads pack their replies, which is where they win.
_MERGES = {"load": True, "store": False, "matrix": False}


@dataclass(frozen=True, slots=True)
class Access:
    """One warp instruction: the byte address of each lane, None where inactive, and the width.

    `instruction` is "load", "store", or "matrix" for `ldmatrix` and `stmatrix`, whose lanes give
    rows of 16 bytes; it matters only where lanes agree in pairs. Raises `LayoutError` for a width
    outside the table, more than 32 lanes, and an address that is negative or no multiple of the
    width.
    """

    addresses: tuple[int | None, ...]
    bytes_per_lane: int
    instruction: str

    def __init__(
        self, addresses: Iterable[int | None], bytes_per_lane: int, instruction: str = "load"
    ) -> None:
        object.__setattr__(self, "addresses", tuple(addresses))
        object.__setattr__(self, "bytes_per_lane", bytes_per_lane)
        object.__setattr__(self, "instruction", instruction)
        if instruction not in _MERGES:
            raise LayoutError(
                f"no instruction {instruction!r}",
                hint=f"use one of {', '.join(_MERGES)}",
                witness=instruction,
            )
        if bytes_per_lane not in _LANES_IN_PHASE:
            raise LayoutError(
                f"an access of {bytes_per_lane} bytes per lane",
                hint=f"use one of {tuple(_LANES_IN_PHASE)}",
                witness=bytes_per_lane,
            )
        if len(self.addresses) > LANES:
            raise LayoutError(
                f"{len(self.addresses)} lanes in one access", hint="a warp has 32", witness=LANES
            )
        for lane, address in enumerate(self.addresses):
            if address is not None and (address < 0 or address % bytes_per_lane):
                raise LayoutError(
                    f"lane {lane} accesses {bytes_per_lane} bytes at {address}, which is no "
                    "natural multiple of them",
                    hint="align each lane's vector to its own size",
                    witness=lane,
                )

    def phases(self) -> tuple[tuple[int, ...], ...]:
        """The addresses of the active lanes of each phase."""
        lanes = _LANES_IN_PHASE[self.bytes_per_lane]
        if self.pairs and _MERGES[self.instruction]:
            lanes *= 2
        return tuple(
            tuple(each for each in self.addresses[first : first + lanes] if each is not None)
            for first in range(0, len(self.addresses), lanes)
        )

    def words(self) -> tuple[frozenset[int], ...]:
        """The distinct 4-byte words of each phase."""
        return tuple(
            frozenset(
                word
                for address in phase
                for word in range(
                    address // BANK_BYTES, -(-(address + self.bytes_per_lane) // BANK_BYTES)
                )
            )
            for phase in self.phases()
        )

    def swizzled(self, swizzle: Swizzle) -> Access:
        """The same access to a tile under a swizzle, whose unit must be stated.

        Raises `LayoutError` for a swizzle that moves bytes inside a lane's vector.
        """
        by_bytes = swizzle.recast(8)
        if by_bytes.bits and 1 << by_bytes.base < self.bytes_per_lane:
            raise LayoutError(
                f"{swizzle} moves bytes inside an access of {self.bytes_per_lane} bytes per lane",
                hint=f"keep its base at {self.bytes_per_lane} bytes or more",
                witness=1 << by_bytes.base,
            )
        moved = (None if each is None else by_bytes(each) for each in self.addresses)
        return Access(moved, self.bytes_per_lane, self.instruction)

    @property
    def pairs(self) -> bool:
        """Whether lanes agree in pairs, so that the phases of a load merge two by two.

        Attested on an H200 with conflicts within and across merged phases, with inactive lanes, and
        for stores and matrices, which do not merge.
        """
        return self.bytes_per_lane > BANK_BYTES and any(
            all(
                address is None or other is None or address == other
                for lane, address in enumerate(self.addresses)
                for other in self.addresses[lane ^ step : (lane ^ step) + 1]
            )
            for step in (1, 2)
        )


@dataclass(frozen=True, slots=True)
class Wavefronts:
    """Wavefronts by phase, and the least that the words of each phase need anywhere."""

    phases: tuple[int, ...]
    ideal: tuple[int, ...]

    @property
    def total(self) -> int:
        """Wavefronts of the whole instruction."""
        return sum(self.phases)

    @property
    def ideal_total(self) -> int:
        """What no placement of the words beats: 32 words in a wavefront."""
        return sum(self.ideal)

    @property
    def worst_ways(self) -> int:
        """The most words that one bank must serve in one phase."""
        return max(self.phases, default=0)


def wavefronts(access: Access) -> Wavefronts:
    """The wavefronts of an access, counted; see the module for the rule."""
    words = access.words()
    counted = (Counter(word % BANKS for word in phase) for phase in words)
    return Wavefronts(
        tuple(max(banks.values(), default=0) for banks in counted),
        tuple(-(-len(phase) // BANKS) for phase in words),
    )


def fragment_accesses(
    ownership: Ownership,
    offset: Callable[..., int],
    *,
    element_bytes: int,
    vector: int = 1,
    instruction: str = "load",
) -> tuple[Access, ...]:
    """The accesses by which warps load or store a fragment, `vector` values of a lane at once.

    `offset` maps a coordinate to a byte offset, as `SharedTile` and `TmaBox.layout()` do. Raises
    `LayoutError` where the values of one vector are no neighbours.

    >>> from tylo.layouts.atoms import atom
    >>> C = atom("mma.m16n8k16.bf16").operand("C").ownership
    >>> stores = fragment_accesses(
    ...     C, lambda m, n: 4 * (32 * m + n), element_bytes=4, vector=2, instruction="store"
    ... )
    >>> [wavefronts(store).phases for store in stores]
    [(4, 4), (4, 4)]
    """
    threads, values = ownership.thread_count, ownership.value_count
    if not isinstance(threads, int) or not isinstance(values, int):
        raise LayoutError(
            "an ownership of symbolic size has no addresses to count", hint="give its sizes numbers"
        )
    accesses = []
    for first_thread in range(0, threads, LANES):
        last_thread = min(first_thread + LANES, threads)
        for first in range(0, values, vector):
            addresses = []
            for thread in range(first_thread, last_thread):
                places = [
                    offset(*ownership.coordinates(thread, value))
                    for value in range(first, first + vector)
                ]
                _require_neighbours(places, element_bytes, thread, first)
                addresses.append(places[0])
            accesses.append(Access(addresses, element_bytes * vector, instruction))
    return tuple(accesses)


def _require_neighbours(places: Sequence[int], element_bytes: int, thread: int, first: int) -> None:
    for step, place in enumerate(places):
        if place != places[0] + step * element_bytes:
            raise LayoutError(
                f"value {first + step} of thread {thread} lies at byte {place}, not "
                f"{step * element_bytes} after value {first}",
                hint="use a narrower vector",
                witness={"thread": thread, "value": first + step},
            )
