"""Ownership: which thread holds which coordinate in which value.

An ownership maps named *inputs* to a coordinate. The inputs that number what one thread holds are
its `values` (``value``, then repeats such as ``repeat_m``); the inputs that number who holds it are
its `threads` (``lane``, then ``warp``). Each input is split into mixed-radix digits, its *modes*,
fastest first, and each digit moves the coordinate by a fixed step along each axis:

    coordinate[axis] = sum over all digits of digit * step[axis]

This is CuTe's thread-value layout with one stride per axis instead of one stride per offset. The
accumulator of ``mma.m16n8k16`` (PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point
type") reads

    lane   (4, 8)   steps  2 along n, 1 along m       lane = 4 * row + column pair
    value  (2, 2)   steps  1 along n, 8 along m

>>> C = Ownership.of(
...     axes={"m": 16, "n": 8}, bits=32,
...     values={"value": [(2, "n", 1), (2, "m", 8)]},
...     threads={"lane": [(4, "n", 2), (8, "m", 1)]},
... )
>>> C(lane=5, value=2)
(9, 2)

A size may be symbolic, and so may an index: the same call then gives the closed form that a proof
is about and that a kernel prints.

>>> from tylo.layouts.terms import name, show
>>> [show(part) for part in C(lane=name("lane"), value=3)]
['8 + lane / 4', '1 + lane % 4 * 2']

A digit whose steps are all zero *replicates*: several threads (or values) hold the same element.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tylo.layouts.errors import OwnershipError
from tylo.layouts.indices import inside, require_number
from tylo.layouts.terms import Integer


@dataclass(frozen=True, slots=True)
class Mode:
    """One digit of an input: how many values it takes, and how far each step of it moves."""

    size: Integer
    steps: tuple[Integer, ...]


@dataclass(frozen=True, slots=True)
class Input:
    """A named input and its digits, fastest first."""

    name: str
    modes: tuple[Mode, ...]

    @property
    def size(self) -> Integer:
        """How many values the input takes: the product of its modes' sizes."""
        return math.prod((mode.size for mode in self.modes), start=1)

    def digits(self, index: Any) -> Iterator[tuple[Mode, Any]]:
        """Each mode with the digit of `index` that drives it; modes of size 1 have none."""
        modes = [mode for mode in self.modes if not (isinstance(mode.size, int) and mode.size == 1)]
        below: Integer = 1
        for position, mode in enumerate(modes):
            digit = index if below == 1 else index // below
            # The top digit needs no remainder: the index is below the input's size.
            yield mode, (digit if position == len(modes) - 1 else digit % mode.size)
            below = below * mode.size


@dataclass(frozen=True, slots=True)
class Ownership:
    """Who holds what: named inputs to coordinates, with the register bits of one element.

    `axes` names each coordinate with its extent, `bits` is the width of one element in a 32-bit
    register: value number p (value fastest, then the repeats in order) sits at bit ``p * bits`` of
    the thread's registers.
    """

    axes: tuple[tuple[str, Integer], ...]
    values: tuple[Input, ...]
    threads: tuple[Input, ...]
    bits: int

    @classmethod
    def of(
        cls,
        *,
        axes: Mapping[str, Integer],
        values: Mapping[str, Sequence[tuple[Integer, str | None, Integer]]],
        threads: Mapping[str, Sequence[tuple[Integer, str | None, Integer]]],
        bits: int,
    ) -> Ownership:
        """An ownership from plain data: each mode is (size, axis it moves along, step).

        The axis `None` replicates: that digit moves nothing.
        """
        names = tuple(axes)

        def inputs(table: Mapping[str, Sequence[tuple[Integer, str | None, Integer]]]) -> Any:
            return tuple(
                Input(
                    label,
                    tuple(
                        Mode(size, tuple(step if axis == along else 0 for along in names))
                        for size, axis, step in modes
                    ),
                )
                for label, modes in table.items()
            )

        for table in (values, threads):
            for label, modes in table.items():
                for _, axis, _ in modes:
                    if axis is not None and axis not in names:
                        raise OwnershipError(
                            f"input {label!r} moves along {axis!r}, which is no axis",
                            hint=f"the axes are {', '.join(names)}",
                        )
        return cls(tuple(axes.items()), inputs(values), inputs(threads), bits)

    def __post_init__(self) -> None:
        if self.bits not in (8, 16, 32, 64):
            raise OwnershipError(
                f"elements of {self.bits} bits",
                hint="registers hold elements of 8, 16, 32, 64 bits",
            )
        labels = [each.name for each in self.inputs]
        if len(set(labels)) != len(labels):
            raise OwnershipError(f"two inputs share a name: {labels}", hint="rename one of them")
        for label, extent in self.axes:
            require_number(f"the extent of {label}", extent, 1)
        for each in self.inputs:
            for mode in each.modes:
                if len(mode.steps) != len(self.axes):
                    raise OwnershipError(
                        f"a digit of {each.name} has {len(mode.steps)} steps for "
                        f"{len(self.axes)} axes",
                        hint="give one step per axis, 0 where the digit moves nothing",
                    )
                require_number(f"the size of a digit of {each.name}", mode.size, 1)
                for step in mode.steps:
                    require_number(f"a step of {each.name}", step, 0)
        if not self.symbols:
            self._require_inside()

    def _require_inside(self) -> None:
        for axis, (label, extent) in enumerate(self.axes):
            modes = [mode for each in self.inputs for mode in each.modes]
            last: Any = sum((mode.size - 1) * mode.steps[axis] for mode in modes)
            if last >= extent:
                raise OwnershipError(
                    f"digits along {label} reach coordinate {last} of a tile of {extent}",
                    hint=f"make the extent at least {last + 1}, or the steps smaller",
                    witness={label: last},
                )

    @property
    def inputs(self) -> tuple[Input, ...]:
        """All inputs: what numbers the values, then what numbers the threads."""
        return self.values + self.threads

    @property
    def axis_names(self) -> tuple[str, ...]:
        """The names of the coordinates, in order."""
        return tuple(axis for axis, _ in self.axes)

    @property
    def shape(self) -> tuple[Integer, ...]:
        """The extent of each coordinate."""
        return tuple(extent for _, extent in self.axes)

    @property
    def value_count(self) -> Integer:
        """How many values one thread holds."""
        return math.prod((each.size for each in self.values), start=1)

    @property
    def thread_count(self) -> Integer:
        """How many threads the tile is spread over."""
        return math.prod((each.size for each in self.threads), start=1)

    def input(self, name: str) -> Input:
        """The input of that name, or `OwnershipError`."""
        for each in self.inputs:
            if each.name == name:
                return each
        raise OwnershipError(
            f"no input {name!r}", hint=f"the inputs are {', '.join(i.name for i in self.inputs)}"
        )

    def __call__(self, **indices: Any) -> tuple[Any, ...]:
        """The coordinate at named indices: integers, numpy arrays or terms; absent inputs are 0.

        Raises `OwnershipError` for a name that is no input, an index that is no integer, and one
        that is out of range.
        """
        for label in indices:
            self.input(label)
        moved: list[Any] = [0] * len(self.axes)
        for each in self.inputs:
            index = inside(each.name, indices.get(each.name, 0), each.size)
            if isinstance(index, int) and index == 0:
                continue
            for mode, digit in each.digits(index):
                for axis, step in enumerate(mode.steps):
                    if not (isinstance(step, int) and step == 0):
                        moved[axis] = moved[axis] + digit * step
        return tuple(moved)

    def coordinates(self, thread: Any, value: Any) -> tuple[Any, ...]:
        """The coordinate of flat numbers: thread = lane + 32 * warp, value fastest then repeats.

        >>> tile = Ownership.of(
        ...     axes={"row": 8}, bits=32,
        ...     values={"value": [(2, "row", 1)], "repeat_row": [(2, "row", 2)]},
        ...     threads={"lane": [(2, "row", 4)]},
        ... )
        >>> [tile.coordinates(1, value) for value in range(4)]
        [(4,), (5,), (6,), (7,)]
        """
        return self(**self.split(self.values, value), **self.split(self.threads, thread))

    def split(self, inputs: tuple[Input, ...], number: Any) -> dict[str, Any]:
        """The index of each of `inputs` inside a flat number over them, first fastest."""
        label = " x ".join(each.name for each in inputs) or "an empty input"
        number = inside(label, number, math.prod((each.size for each in inputs), start=1))
        split: dict[str, Any] = {}
        for position, each in enumerate(inputs):
            last = position == len(inputs) - 1
            split[each.name] = number if last else number % each.size
            number = number // each.size
        return split

    def register(self, value: Any) -> tuple[Any, Any]:
        """(register, shift in bits) of the flat value number, in 32-bit registers.

        >>> half = Ownership.of(axes={"k": 4}, bits=16, values={"value": [(4, "k", 1)]}, threads={})
        >>> [half.register(value) for value in range(4)]
        [(0, 0), (0, 16), (1, 0), (1, 16)]
        """
        value = inside("value", value, self.value_count)
        if self.bits >= 32:
            return value * (self.bits // 32), 0
        per_register = 32 // self.bits
        return value // per_register, value % per_register * self.bits

    def _repr_svg_(self) -> str | None:
        from tylo.layouts.drawing import notebook_svg

        return notebook_svg(self)

    @property
    def symbols(self) -> tuple[str, ...]:
        """The names of symbolic sizes, sorted."""
        from tylo.layouts.terms import names

        found: set[str] = set()
        modes = (mode for each in self.inputs for mode in each.modes)
        for part in (*self.shape, *(part for mode in modes for part in (mode.size, *mode.steps))):
            if not isinstance(part, int):
                found.update(names(part))
        return tuple(sorted(found))
