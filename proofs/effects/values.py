"""The parts of an effect, each refusing what it cannot mean, and what a proof assumes of them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tylo.layouts.errors import ClaimError
from tylo.layouts.terms import Integer, names, show
from tylo.layouts.terms import name as named
from tylo.proofs.effects.axes import COORDINATES, check_grid, check_shape, coordinates
from tylo.proofs.effects.elements import Element, Less, Matrix
from tylo.proofs.effects.parts import COMPUTED, STORE_BITS, Part

GRID_LIMIT = 2**31 - 1  # the largest x extent of a grid, CUDA programming guide, table of limits
BLOCK_LIMIT = 1024  # threads per block, the same table

_POINT = ("row", "column")

Direction: TypeAlias = Literal["in", "out"]


@dataclass(frozen=True, slots=True)
class Buffer:
    """A pointer parameter, and the array behind it, its extent stated in one of two ways.

    The extent is ``elements_per_block * blocks`` elements or, when `elements_per_block` is `None`,
    `elements`, a term over sizes and ``blocks``. `alignment` is what the base address is a multiple
    of, in bytes; with a `phase`, a term over the sizes, the base lies so many elements after such a
    multiple. An output whose stores are guarded, or whose extent is a total, says which of its
    elements are `written`; of any other, every byte is.
    """

    name: str
    direction: Direction
    element_bits: int
    elements_per_block: Integer | None
    alignment: int
    elements: Integer | None = None
    written: Matrix | None = None
    phase: Integer = 0

    def __post_init__(self) -> None:
        if (self.elements_per_block is None) == (self.elements is None):
            raise ClaimError(
                f"buffer {self.name!r} has no extent, or two",
                hint="state either elements_per_block or elements",
            )
        if self.direction not in ("in", "out"):
            raise ClaimError(
                f"buffer {self.name!r} has direction {self.direction!r}", hint='use "in" or "out"'
            )
        if self.element_bits not in STORE_BITS:
            raise ClaimError(
                f"buffer {self.name!r} has elements of {self.element_bits} bits",
                hint=f"use one of {STORE_BITS}",
            )
        for extent, words in ((self.elements_per_block, " per block"), (self.elements, "")):
            if isinstance(extent, int) and extent < 1:
                raise ClaimError(
                    f"buffer {self.name!r} has {extent} elements{words}",
                    hint="drop the buffer or give it an element",
                )
        if self.written is not None and self.direction == "in":
            raise ClaimError(f"buffer {self.name!r} is read alone", hint="leave out `written`")
        if self.alignment < 1 or self.alignment & (self.alignment - 1):
            raise ClaimError(
                f"buffer {self.name!r} has alignment {self.alignment}", hint="use a power of two"
            )

    @property
    def bytes_per_block(self) -> Integer:
        """The share of one block in the extent."""
        if self.elements_per_block is None:
            raise ClaimError(f"buffer {self.name!r} has a total extent, and no share of a block")
        return self.elements_per_block * (self.element_bits // 8)

    @property
    def total_bytes(self) -> Integer:
        """The whole extent, a term over sizes and ``blocks``."""
        if self.elements is None:
            return self.bytes_per_block * named("blocks")
        return self.elements * (self.element_bits // 8)


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
        if self.name in (*COORDINATES, *_POINT, "blocks"):
            raise ClaimError(
                f"a parameter called {self.name!r}",
                hint=f"{(*COORDINATES, *_POINT, 'blocks')} are taken",
            )


@dataclass(frozen=True, slots=True)
class Store:
    """What every thread writes once, or once a step: `parts`, least significant first, at `offset`.

    Offsets are bytes; `repeat` is how many steps there are, in each of `rounds`. With `where`, the
    store is performed in exactly those threads, blocks, rounds and steps in which all its
    conditions hold. `element` says where it begins in what its buffer has `written`.
    """

    buffer: str
    offset: Integer
    parts: tuple[Part, ...]
    repeat: Integer = 1
    where: tuple[Less, ...] = ()
    element: Element | None = None
    rounds: Integer = 1

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

    The entry takes the buffers as pointers, in order, and then the `parameters`; or those that
    `arguments` names, in its order: all buffers, and a parameter that it leaves out is any number
    within its bounds, such as the phase of a buffer. `preconditions` between the sizes and
    ``blocks`` are assumed, such as ``Less(columns, stride + 1)``, or a grid large enough for all
    rows; and of `alternatives`, if there are any, all conditions of one. The launch gives the
    kernel `shared_bytes` of dynamic shared memory.
    """

    entry: str
    threads: int
    buffers: tuple[Buffer, ...]
    stores: tuple[Store, ...]
    maximum_blocks: int = GRID_LIMIT
    parameters: tuple[Parameter, ...] = ()
    preconditions: tuple[Less, ...] = ()
    arguments: tuple[str, ...] = ()
    shared_bytes: int = 0
    alternatives: tuple[tuple[Less, ...], ...] = ()
    block_shape: tuple[int, ...] = ()
    further: tuple[str, ...] = ()

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
        given = sorted([*self.arguments, *(size for size in sizes if size not in self.arguments)])
        if self.arguments and given != sorted(called):
            raise ClaimError(
                f"the arguments of {self.entry} are {list(self.arguments)}",
                hint=f"name each of {called} once",
            )
        self._check_axes()
        launch, counted = [*sizes, "blocks"], self.coordinates
        for condition in (*self.preconditions, *itertools.chain(*self.alternatives)):
            _compares_only(condition, launch)
        for buffer in self.buffers:
            _mentions_only(buffer.elements_per_block or 0, sizes)
            _mentions_only(buffer.elements or 0, launch)
            _mentions_only(buffer.phase, sizes)
            if buffer.written is not None:
                for term in buffer.written.terms:
                    _mentions_only(term, launch)
        for store in self.stores:
            self._require(store.buffer, "out")
            _mentions_only(store.repeat, launch)
            _mentions_only(store.rounds, launch)
            _mentions_only(store.offset, [*counted, *launch])
            for condition in store.where:
                _compares_only(condition, [*counted, *launch])
            self._check_element(store, launch)
            for part in store.parts:
                for source in part.sources:
                    self._require(source.buffer, "in")
                    for term in (source.first or 0, source.end or 0, source.count, source.apart):
                        _mentions_only(term, [*counted[:-2], *launch])
                if part.conversion != COMPUTED:
                    self._require(part.buffer, "in")
                    _mentions_only(part.offset, [*counted, *launch])
                if part.within is not None:
                    _compares_only(part.within, [*counted, *launch])

    def _check_element(self, store: Store, launch: list[str]) -> None:
        """A store states its element exactly where its buffer states what is written."""
        buffer, element = self.buffer(store.buffer), store.element
        if (buffer.written is None) != (element is None):
            raise ClaimError(
                f"a store to {store.buffer!r} and its buffer disagree on whether elements are said",
                hint="state `written` of the buffer and the `element` of each of its stores",
            )
        if element is None:
            if store.where or store.rounds != 1 or buffer.elements is not None:
                raise ClaimError(
                    f"which elements of {store.buffer!r} are written is not said",
                    hint="state `written` of the buffer and the `element` of each of its stores",
                )
            return
        if store.bits % buffer.element_bits:
            raise ClaimError(
                f"a store of {store.bits} bits to elements of {buffer.element_bits}",
                hint="store whole elements",
            )
        for term in (element.row, element.column):
            _mentions_only(term, [*self.coordinates, *launch])
        for coordinate in self.coordinates:
            _mentions_only(getattr(element, coordinate), [*_POINT, *launch])

    def _check_axes(self) -> None:
        """Each further axis has an extent, which no argument is, and buffers are stated in all."""
        check_shape(self.block_shape or (self.threads,), self.threads)
        bounds = {each.name: (each.minimum, each.maximum) for each in self.parameters}
        check_grid(self.further, bounds, self.arguments)
        if self.further and any(buffer.elements is None for buffer in self.buffers):
            raise ClaimError(
                "a buffer with elements for each block, in a grid of several axes",
                hint="state elements, those of all blocks",
            )

    @property
    def coordinates(self) -> tuple[str, ...]:
        """What tells one execution of a store from another, by name."""
        return coordinates(self.further)

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


def _compares_only(condition: Less, known: list[str]) -> None:
    _mentions_only(condition.left, known)
    _mentions_only(condition.right, known)


def _mentions_only(term: Integer, known: list[str]) -> None:
    others = [name for name in names(term) if name not in known]
    if others:
        raise ClaimError(
            f"{show(term)} mentions {', '.join(others)}",
            hint=f"this term may mention {', '.join(known) or 'nothing'}",
        )
