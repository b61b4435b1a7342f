"""What a store writes: parts of a word, and where they come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tylo.layouts.errors import ClaimError
from tylo.layouts.terms import Integer, names, show
from tylo.proofs.effects.elements import Less

STORE_BITS = (8, 16, 32, 64, 128)  # one st.global, scalar or vector

# Bits that a conversion reads and writes; "move" copies any width unchanged.
CONVERSIONS: Mapping[str, tuple[int, int]] = MappingProxyType(
    {
        "cvt.rn.bf16.f32": (32, 16),
        "cvt.rn.f16.f32": (32, 16),
    }
)

COMPUTED = "computed"  # the conversion of a part whose value is not covered
VOTE = "vote"  # of a part that has a bit of each lane
VOTE_BITS = 32


@dataclass(frozen=True, slots=True)
class Source:
    """What may flow into a computed value: a buffer, between the bytes `first` and `end`.

    Both are terms over thread, block and sizes, those of the thread that stores; `None` for both
    means the whole buffer. With a `count`, there are so many such ranges, each `apart` bytes after
    the one before: the elements of a row that runs across memory. With a number that is `whole`,
    every one of them does flow in: so many by each step of the kernel.
    """

    buffer: str
    first: Integer | None = None
    end: Integer | None = None
    count: Integer = 1
    apart: Integer = 0
    whole: int = 0

    def __post_init__(self) -> None:
        several = self.count != 1 or self.apart != 0 or self.whole
        if several and (self.first is None or self.end is None or len([*names(self.apart)]) != 1):
            raise ClaimError(
                f"ranges of {self.buffer!r} that lie {show(self.apart)} bytes apart",
                hint="state their first and end, and apart as a size so many times",
            )
        if self.whole < 0 or (self.whole and self.count == 1):
            raise ClaimError(
                f"a whole of {self.whole} ranges a step of {show(self.count)}",
                hint="state how many ranges there are, and how many of them a step takes",
            )


@dataclass(frozen=True, slots=True)
class Part:
    """`bits` of a stored word: `conversion` of the element of `buffer` at byte `offset`.

    With the conversion ``"computed"`` (see `computed`) the value is not covered: it has a `name`,
    and `sources` that alone may flow into it; and each does, unless it may be a `constant`.

    With the conversion ``"vote"`` it has a bit for each lane of the warp that stores it: one where
    the condition `within` holds and the byte at `offset` is not zero, both of the lane's thread.
    """

    bits: int
    conversion: str
    buffer: str
    offset: Integer
    name: str = ""
    sources: tuple[Source, ...] = ()
    constant: bool = False
    within: Less | None = None

    def __post_init__(self) -> None:
        if (self.within is not None) != (self.conversion == VOTE):
            raise ClaimError(
                f"a {self.conversion} and where its bytes are there: {self.within}",
                hint="votes have such a condition, and nothing else has",
            )
        if self.conversion == COMPUTED:
            if not self.name or not 8 <= self.bits <= max(STORE_BITS) or self.buffer:
                raise ClaimError(
                    f"a computed part {self.name!r} of {self.bits} bits",
                    hint="name what is computed; its sources say where it comes from",
                )
            return
        if self.name or self.sources or self.constant:
            raise ClaimError(
                f"a {self.conversion} with a name or sources", hint="those are of computed parts"
            )
        if self.conversion == VOTE:
            if self.bits != VOTE_BITS:
                raise ClaimError(f"a vote of {self.bits} lanes", hint=f"a warp has {VOTE_BITS}")
        elif self.conversion != "move":
            if self.conversion not in CONVERSIONS:
                raise ClaimError(
                    f"unknown conversion {self.conversion!r}",
                    hint=f"use one of {('move', *CONVERSIONS)}",
                )
            if CONVERSIONS[self.conversion][1] != self.bits:
                raise ClaimError(
                    f"{self.conversion} yields {CONVERSIONS[self.conversion][1]} bits, "
                    f"the part has {self.bits}"
                )
        elif self.bits not in STORE_BITS:
            raise ClaimError(f"a move of {self.bits} bits", hint=f"use one of {STORE_BITS}")

    @property
    def source_bits(self) -> int:
        """The bits that are read from the buffer; of a vote, by each lane."""
        if self.conversion == VOTE:
            return 8
        return (
            self.bits if self.conversion in ("move", COMPUTED) else CONVERSIONS[self.conversion][0]
        )

    def __str__(self) -> str:
        if self.conversion == COMPUTED:
            origin = ", ".join(source.buffer for source in self.sources) or "nothing"
            constant = ", or a constant" if self.constant else ""
            return f"{self.name}, computed from {origin}{constant}"
        where = "" if self.within is None else f" where {self.within}"
        return f"{self.conversion}({self.buffer}[{show(self.offset)}]{where})"


def computed(bits: int, name: str, *sources: Source, constant: bool = False) -> Part:
    """A part whose value is computed: where and when it is stored is proven, its value is not.

    Some load of each source is part of it, wherever it is stored; of what may be a `constant`, as
    in what fills a tile up, none need be.
    """
    return Part(bits, COMPUTED, "", 0, name, sources, constant)
