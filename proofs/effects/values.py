"""The parts of an effect, each refusing what it cannot mean, and what a proof assumes of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

from tylo.layouts.errors import ClaimError
from tylo.layouts.terms import Integer, names, show

GRID_LIMIT = 2**31 - 1  # the largest x extent of a grid, CUDA programming guide, table of limits
BLOCK_LIMIT = 1024  # threads per block, the same table
STORE_BITS = (8, 16, 32, 64, 128)  # one st.global, scalar or vector

# Bits that a conversion reads and writes; "move" copies any width unchanged.
CONVERSIONS: Mapping[str, tuple[int, int]] = MappingProxyType(
    {
        "cvt.rn.bf16.f32": (32, 16),
        "cvt.rn.f16.f32": (32, 16),
    }
)

_COUNTED = ("thread", "block", "step")

Direction: TypeAlias = Literal["in", "out"]


@dataclass(frozen=True, slots=True)
class Buffer:
    """A pointer parameter, and the array of ``elements_per_block * blocks`` elements behind it.

    `alignment` is what the base address is a multiple of, in bytes.
    """

    name: str
    direction: Direction
    element_bits: int
    elements_per_block: Integer
    alignment: int

    def __post_init__(self) -> None:
        if self.direction not in ("in", "out"):
            raise ClaimError(
                f"buffer {self.name!r} has direction {self.direction!r}", hint='use "in" or "out"'
            )
        if self.element_bits not in STORE_BITS:
            raise ClaimError(
                f"buffer {self.name!r} has elements of {self.element_bits} bits",
                hint=f"use one of {STORE_BITS}",
            )
        if isinstance(self.elements_per_block, int) and self.elements_per_block < 1:
            raise ClaimError(
                f"buffer {self.name!r} has {self.elements_per_block} elements per block",
                hint="drop the buffer or give it an element",
            )
        if self.alignment < 1 or self.alignment & (self.alignment - 1):
            raise ClaimError(
                f"buffer {self.name!r} has alignment {self.alignment}", hint="use a power of two"
            )

    @property
    def bytes_per_block(self) -> Integer:
        """The share of one block in the extent."""
        return self.elements_per_block * (self.element_bits // 8)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A size passed by value: an unsigned integer of `bits`, between two bounds."""

    name: str
    bits: int
    minimum: int
    maximum: int

    def __post_init__(self) -> None:
        if self.bits not in (32, 64):
            raise ClaimError(
                f"parameter {self.name!r} has {self.bits} bits", hint="use 32 or 64 bits"
            )
        if not 0 <= self.minimum <= self.maximum < 1 << self.bits:
            raise ClaimError(
                f"parameter {self.name!r} lies between {self.minimum} and {self.maximum}",
                hint=f"bounds are in order, and below 2^{self.bits}",
            )
        if self.name in _COUNTED:
            raise ClaimError(f"a parameter called {self.name!r}", hint=f"{_COUNTED} are taken")


@dataclass(frozen=True, slots=True)
class Part:
    """`bits` of a stored word: `conversion` of the element of `buffer` at byte `offset`."""

    bits: int
    conversion: str
    buffer: str
    offset: Integer

    def __post_init__(self) -> None:
        if self.conversion != "move":
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
        """The bits that are read from the buffer."""
        return self.bits if self.conversion == "move" else CONVERSIONS[self.conversion][0]

    def __str__(self) -> str:
        return f"{self.conversion}({self.buffer}[{show(self.offset)}])"


@dataclass(frozen=True, slots=True)
class Store:
    """What every thread writes once, or once a step: `parts`, least significant first, at `offset`.

    Both offsets and bytes; `repeat` is how many steps there are.
    """

    buffer: str
    offset: Integer
    parts: tuple[Part, ...]
    repeat: Integer = 1

    def __post_init__(self) -> None:
        if self.bits not in STORE_BITS:
            raise ClaimError(
                f"the parts of a store to {self.buffer!r} add up to {self.bits} bits",
                hint=f"use one of {STORE_BITS}",
            )

    @property
    def bits(self) -> int:
        """The width of the store."""
        return sum(part.bits for part in self.parts)


@dataclass(frozen=True, slots=True)
class Effect:
    """The whole contract of one entry, for 1 to `maximum_blocks` blocks of `threads` threads.

    The entry takes the buffers as pointers, in order, and then the `parameters`.
    """

    entry: str
    threads: int
    buffers: tuple[Buffer, ...]
    stores: tuple[Store, ...]
    maximum_blocks: int = GRID_LIMIT
    parameters: tuple[Parameter, ...] = ()

    def __post_init__(self) -> None:
        if not 1 <= self.threads <= BLOCK_LIMIT:
            raise ClaimError(
                f"{self.threads} threads per block", hint=f"use 1 to {BLOCK_LIMIT} threads"
            )
        if not 1 <= self.maximum_blocks <= GRID_LIMIT:
            raise ClaimError(
                f"at most {self.maximum_blocks} blocks", hint=f"use 1 to {GRID_LIMIT} blocks"
            )
        called = [buffer.name for buffer in self.buffers]
        called += [parameter.name for parameter in self.parameters]
        if len(set(called)) != len(called):
            raise ClaimError(
                f"two parameters of {self.entry} share a name",
                hint="name each parameter differently",
            )
        sizes = [parameter.name for parameter in self.parameters]
        for buffer in self.buffers:
            _mentions_only(buffer.elements_per_block, sizes)
        for store in self.stores:
            self._require(store.buffer, "out")
            _mentions_only(store.repeat, sizes)
            _mentions_only(store.offset, [*_COUNTED, *sizes])
            for part in store.parts:
                self._require(part.buffer, "in")
                _mentions_only(part.offset, [*_COUNTED, *sizes])

    def _require(self, name: str, direction: Direction) -> None:
        if self.buffer(name).direction != direction:
            raise ClaimError(
                f"buffer {name!r} is used as {direction!r} and declared the other way",
                hint="stores go to an out buffer, parts come from an in buffer",
            )

    def buffer(self, name: str) -> Buffer:
        """The buffer of that name; raises `ClaimError` when there is none."""
        for buffer in self.buffers:
            if buffer.name == name:
                return buffer
        raise ClaimError(
            f"{self.entry} has no buffer {name!r}",
            hint=f"known buffers: {[buffer.name for buffer in self.buffers]}",
        )


def assumptions(effect: Effect) -> tuple[str, ...]:
    """What a proof against the effect takes for granted about a launch, in words."""
    ability = {"in": "readable", "out": "writable"}
    return (
        f"launch: 1 <= blocks <= {effect.maximum_blocks} along x, "
        f"{effect.threads} threads along x, y and z extents 1",
        *(
            f"{buffer.name}: {_product(buffer.bytes_per_block)} * blocks bytes, "
            f"{ability[buffer.direction]}, "
            f"starts at a multiple of {buffer.alignment}, ends within 2^64"
            for buffer in effect.buffers
        ),
        *(
            f"{parameter.minimum} <= {parameter.name} <= {parameter.maximum}"
            for parameter in effect.parameters
        ),
        "no two buffers overlap",
    )


def _product(term: Integer) -> str:
    return str(term) if isinstance(term, int) or term.operator in "*name" else f"({term})"


def _mentions_only(term: Integer, known: list[str]) -> None:
    others = [name for name in names(term) if name not in known]
    if others:
        raise ClaimError(
            f"{show(term)} mentions {', '.join(others)}",
            hint=f"this term may mention {', '.join(known) or 'nothing'}",
        )
