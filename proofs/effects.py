"""Effects: what a straight-line kernel must do to memory, as terms over thread and block.

An `Effect` is the contract that emitted PTX is proven against. It names the entry, its pointer
parameters in order, the launch, and a list of stores. Every thread of every block performs every
store exactly once; store j writes, at a byte offset given by a term over ``thread`` and ``block``,
parts that are packed least significant first. A part is one element of an input buffer, at a byte
offset given by another term, moved or rounded by a named PTX conversion.

>>> from tylo.layouts.terms import name
>>> thread, block = name("thread"), name("block")
>>> pack = Effect(
...     entry="pack",
...     threads=32,
...     buffers=(
...         Buffer("source", "in", element_bits=32, elements_per_block=64, alignment=8),
...         Buffer("words", "out", element_bits=32, elements_per_block=32, alignment=4),
...     ),
...     stores=(
...         Store(
...             "words",
...             (block * 32 + thread) * 4,
...             (
...                 Part(16, "cvt.rn.bf16.f32", "source", (block * 64 + thread * 2) * 4),
...                 Part(16, "cvt.rn.bf16.f32", "source", (block * 64 + thread * 2 + 1) * 4),
...             ),
...         ),
...     ),
... )
>>> print(pack.stores[0].parts[1])
cvt.rn.bf16.f32(source[(block * 64 + thread * 2 + 1) * 4])
>>> effect_from_json(effect_to_json(pack)) == pack
True

What a proof against an effect assumes is part of its meaning, and listed by `assumptions`:

>>> for line in assumptions(pack):
...     print(line)
launch: 1 <= blocks <= 2147483647 along x, 32 threads along x, y and z extents 1
source: 256 * blocks bytes, readable, starts at a multiple of 8, ends within 2^64
words: 128 * blocks bytes, writable, starts at a multiple of 4, ends within 2^64
no two buffers overlap
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, TypeVar

from tylo.layouts.errors import ClaimError
from tylo.layouts.terms import Integer, from_json, names, show, to_json

SCHEMA = "tylo.effect/1"
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

Direction: TypeAlias = Literal["in", "out"]
_Built = TypeVar("_Built")


@dataclass(frozen=True, slots=True)
class Buffer:
    """A pointer parameter, and the array of ``elements_per_block * blocks`` elements behind it.

    `alignment` is what the base address is a multiple of, in bytes.
    """

    name: str
    direction: Direction
    element_bits: int
    elements_per_block: int
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
        if self.elements_per_block < 1:
            raise ClaimError(
                f"buffer {self.name!r} has {self.elements_per_block} elements per block",
                hint="drop the buffer or give it an element",
            )
        if self.alignment < 1 or self.alignment & (self.alignment - 1):
            raise ClaimError(
                f"buffer {self.name!r} has alignment {self.alignment}", hint="use a power of two"
            )

    @property
    def bytes_per_block(self) -> int:
        """The share of one block in the extent."""
        return self.elements_per_block * self.element_bits // 8


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
        _only_thread_and_block(self.offset)

    @property
    def source_bits(self) -> int:
        """The bits that are read from the buffer."""
        return self.bits if self.conversion == "move" else CONVERSIONS[self.conversion][0]

    def __str__(self) -> str:
        return f"{self.conversion}({self.buffer}[{show(self.offset)}])"


@dataclass(frozen=True, slots=True)
class Store:
    """What every thread writes once: `parts`, least significant first, at byte `offset`."""

    buffer: str
    offset: Integer
    parts: tuple[Part, ...]

    def __post_init__(self) -> None:
        if self.bits not in STORE_BITS:
            raise ClaimError(
                f"the parts of a store to {self.buffer!r} add up to {self.bits} bits",
                hint=f"use one of {STORE_BITS}",
            )
        _only_thread_and_block(self.offset)

    @property
    def bits(self) -> int:
        """The width of the store."""
        return sum(part.bits for part in self.parts)


@dataclass(frozen=True, slots=True)
class Effect:
    """The whole contract of one entry, for 1 to `maximum_blocks` blocks of `threads` threads."""

    entry: str
    threads: int
    buffers: tuple[Buffer, ...]
    stores: tuple[Store, ...]
    maximum_blocks: int = GRID_LIMIT

    def __post_init__(self) -> None:
        if not 1 <= self.threads <= BLOCK_LIMIT:
            raise ClaimError(
                f"{self.threads} threads per block", hint=f"use 1 to {BLOCK_LIMIT} threads"
            )
        if not 1 <= self.maximum_blocks <= GRID_LIMIT:
            raise ClaimError(
                f"at most {self.maximum_blocks} blocks", hint=f"use 1 to {GRID_LIMIT} blocks"
            )
        if len({buffer.name for buffer in self.buffers}) != len(self.buffers):
            raise ClaimError(
                f"two buffers of {self.entry} share a name",
                hint="name each pointer parameter differently",
            )
        for store in self.stores:
            self._require(store.buffer, "out")
            for part in store.parts:
                self._require(part.buffer, "in")

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
            f"{buffer.name}: {buffer.bytes_per_block} * blocks bytes, {ability[buffer.direction]}, "
            f"starts at a multiple of {buffer.alignment}, ends within 2^64"
            for buffer in effect.buffers
        ),
        "no two buffers overlap",
    )


def effect_to_json(effect: Effect) -> dict[str, Any]:
    """The effect as JSON of objects, lists, strings and integers."""
    return {
        "schema": SCHEMA,
        "entry": effect.entry,
        "threads": effect.threads,
        "maximum_blocks": effect.maximum_blocks,
        "buffers": [
            {
                "name": buffer.name,
                "direction": buffer.direction,
                "element_bits": buffer.element_bits,
                "elements_per_block": buffer.elements_per_block,
                "alignment": buffer.alignment,
            }
            for buffer in effect.buffers
        ],
        "stores": [
            {
                "buffer": store.buffer,
                "offset": to_json(store.offset),
                "parts": [
                    {
                        "bits": part.bits,
                        "conversion": part.conversion,
                        "buffer": part.buffer,
                        "offset": to_json(part.offset),
                    }
                    for part in store.parts
                ],
            }
            for store in effect.stores
        ],
    }


def effect_from_json(data: Any) -> Effect:
    """The inverse of `effect_to_json`; raises `ClaimError` on anything else.

    >>> effect_from_json({"schema": "tylo.effect/9"})
    Traceback (most recent call last):
    tylo.layouts.errors.ClaimError: not an effect: schema 'tylo.effect/9'; expected tylo.effect/1
    """
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        found = data.get("schema") if isinstance(data, dict) else data
        raise ClaimError(f"not an effect: schema {found!r}", hint=f"expected {SCHEMA}")
    return _build(
        Effect,
        data,
        schema=None,
        entry=_text,
        threads=_integer,
        maximum_blocks=_integer,
        buffers=_each(
            lambda item: _build(
                Buffer,
                item,
                name=_text,
                direction=_text,
                element_bits=_integer,
                elements_per_block=_integer,
                alignment=_integer,
            )
        ),
        stores=_each(
            lambda item: _build(
                Store, item, buffer=_text, offset=from_json, parts=_each(_part_from_json)
            )
        ),
    )


def _part_from_json(item: Any) -> Part:
    return _build(Part, item, bits=_integer, conversion=_text, buffer=_text, offset=from_json)


def _build(kind: type[_Built], data: Any, **readers: Callable[[Any], Any] | None) -> _Built:
    if not isinstance(data, dict) or set(data) != set(readers):
        found = sorted(data) if isinstance(data, dict) else data
        raise ClaimError(
            f"not a {kind.__name__}: {found!r}", hint=f"expected the fields {sorted(readers)}"
        )
    return kind(**{field: read(data[field]) for field, read in readers.items() if read})


def _each(read: Callable[[Any], _Built]) -> Callable[[Any], tuple[_Built, ...]]:
    def read_all(data: Any) -> tuple[_Built, ...]:
        if not isinstance(data, list):
            raise ClaimError(
                f"{data!r} is not a list", hint="an effect lists its buffers, stores and parts"
            )
        return tuple(read(item) for item in data)

    return read_all


def _text(data: Any) -> str:
    if not isinstance(data, str):
        raise ClaimError(f"{data!r} is not a string", hint="names and kinds are strings")
    return data


def _integer(data: Any) -> int:
    if not isinstance(data, int) or isinstance(data, bool):
        raise ClaimError(f"{data!r} is not an integer", hint="sizes are integers")
    return data


def _only_thread_and_block(term: Integer) -> None:
    others: Iterable[str] = [name for name in names(term) if name not in ("thread", "block")]
    if others:
        raise ClaimError(
            f"the offset {show(term)} mentions {', '.join(others)}",
            hint="offsets are terms over thread and block",
        )
