"""`LinearLayout`: a map of bits, linear over F2, between named dimensions.

A layout of powers of two sends each bit of its inputs somewhere, and combines the bits by
exclusive-or. So it is given by its bases: for each input dimension, the images of 1, 2, 4, ..
A 4x4 tile whose columns are swizzled by the row:

| register     | 1     | 2     |
|--------------|-------|-------|
| (row,col)    | (0,1) | (0,2) |

| lane         | 1     | 2     |
|--------------|-------|-------|
| (row,col)    | (1,1) | (2,2) |

>>> tile = LinearLayout(
...     {"register": [(0, 1), (0, 2)], "lane": [(1, 1), (2, 2)]}, {"row": 4, "col": 4}
... )
>>> tile(register=1, lane=3)
{'row': 3, 'col': 2}

Lane 3 is the exclusive-or of lanes 1 and 2, at (3,3), and register 1 moves it by (0,1). Sums could
not say this: bit-wise maps hold swizzles, and strided layouts of powers of two, in one form, and
close under composition, inversion and products. What they can't hold is any other extent.

Out dimensions are packed into one integer, the first lowest: `columns` are the images of all input
bits in that form, and the whole algebra works on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tylo.layouts.errors import LayoutError
from tylo.layouts.int_tuple import show

Sizes = tuple[tuple[str, int], ...]
Bases = Mapping[str, Sequence[Sequence[int]]]


@dataclass(frozen=True, slots=True, init=False)
class LinearLayout:
    """Named input sizes, named output sizes, and one packed image for each input bit.

    Constructed from bases and output sizes, as mappings or as lists of pairs. Sizes are powers of
    two; an image has one entry for each output dimension, below its size.
    """

    in_dims: Sizes
    out_dims: Sizes
    columns: tuple[int, ...]

    def __init__(self, bases: Bases | Iterable[Any], out_dims: Mapping[str, int] | Iterable[Any]):
        outs = _sizes(out_dims)
        shifts = bit_offsets(outs)
        ins = []
        columns: list[int] = []
        for name, images in dict(bases).items():
            ins.append((str(name), 1 << len(images)))
            for bit, image in enumerate(images):
                if len(image) != len(outs):
                    raise LayoutError(
                        f"the image {tuple(image)} of {name} {1 << bit} has {len(image)} entries "
                        f"for {len(outs)} output dimensions",
                        witness={name: 1 << bit},
                    )
                packed = 0
                for entry, (out, size), shift in zip(image, outs, shifts, strict=True):
                    if not 0 <= entry < size:
                        raise LayoutError(
                            f"the image of {name} {1 << bit} in {out} is {entry}, outside "
                            f"0..{size - 1}",
                            witness={name: 1 << bit},
                        )
                    packed |= int(entry) << shift
                columns.append(packed)
        _fill(self, tuple(ins), outs, tuple(columns))

    @property
    def bases(self) -> dict[str, list[tuple[int, ...]]]:
        """The images of 1, 2, 4, .. of each input dimension.

        >>> LinearLayout({"x": [(1, 0), (0, 1)]}, {"row": 2, "col": 2}).bases
        {'x': [(1, 0), (0, 1)]}
        """
        images = iter(self.columns)
        return {
            name: [self.unpacked(next(images)) for _ in range(size.bit_length() - 1)]
            for name, size in self.in_dims
        }

    def unpacked(self, packed: int) -> tuple[int, ...]:
        """A packed output as one entry for each output dimension."""
        entries = []
        for _, size in self.out_dims:
            entries.append(packed & (size - 1))
            packed >>= size.bit_length() - 1
        return tuple(entries)

    def __call__(self, **inputs: int) -> dict[str, int]:
        """The output coordinate of an input coordinate; inputs left out are 0."""
        columns, image, first, used = self.columns, 0, 0, 0
        for name, size in self.in_dims:
            if name in inputs:
                used += 1
                value = inputs[name]
                if not 0 <= value < size:
                    raise LayoutError(
                        f"{name} {value} is outside 0..{size - 1}", witness={name: value}
                    )
                bit = first
                while value:
                    if value & 1:
                        image ^= columns[bit]
                    value >>= 1
                    bit += 1
            first += size.bit_length() - 1
        if used != len(inputs):
            unknown = next(name for name in inputs if name not in dict(self.in_dims))
            raise LayoutError(f"no input dimension is named {unknown}", witness=unknown)
        outputs = {}
        for name, size in self.out_dims:
            outputs[name] = image & (size - 1)
            image >>= size.bit_length() - 1
        return outputs

    def __str__(self) -> str:
        ins = ",".join(
            f"{name}=[{','.join(map(show, images))}]" for name, images in self.bases.items()
        )
        return f"F2[{ins}->{','.join(f'{name}:{size}' for name, size in self.out_dims)}]"

    def __repr__(self) -> str:
        return f"LinearLayout({self.bases}, {dict(self.out_dims)})"


_new = object.__new__
_set_ins = LinearLayout.__dict__["in_dims"].__set__
_set_outs = LinearLayout.__dict__["out_dims"].__set__
_set_columns = LinearLayout.__dict__["columns"].__set__


def _fill(layout: LinearLayout, ins: Sizes, outs: Sizes, columns: tuple[int, ...]) -> None:
    _set_ins(layout, ins)
    _set_outs(layout, outs)
    _set_columns(layout, columns)


def packed(ins: Sizes, outs: Sizes, columns: tuple[int, ...]) -> LinearLayout:
    """A linear layout of parts known to fit: no checks."""
    layout = _new(LinearLayout)
    _set_ins(layout, ins)
    _set_outs(layout, outs)
    _set_columns(layout, columns)
    return layout


def apply(columns: Sequence[int], index: int) -> int:
    """The exclusive-or of the columns at the bits of `index`."""
    result = 0
    while index:
        low = index & -index
        result ^= columns[low.bit_length() - 1]
        index ^= low
    return result


def bit_offsets(sizes: Sizes) -> list[int]:
    """The lowest bit of each dimension in the packed form.

    >>> bit_offsets((("row", 8), ("col", 4)))
    [0, 3]
    """
    offsets, shift = [], 0
    for _, size in sizes:
        offsets.append(shift)
        shift += size.bit_length() - 1
    return offsets


def total_bits(sizes: Sizes) -> int:
    """The number of bits of all dimensions together."""
    return sum([size.bit_length() for _, size in sizes]) - len(sizes)


def _sizes(dims: Mapping[str, int] | Iterable[Any]) -> Sizes:
    sizes = tuple((str(name), int(size)) for name, size in dict(dims).items())
    for name, size in sizes:
        require_power_of_two(size, f"the output dimension {name}")
    return sizes


def require_power_of_two(size: int, what: str) -> int:
    """The number of bits of a size, or the reason why it has none."""
    if size < 1 or size & (size - 1):
        raise LayoutError(
            f"{what} has the size {size}, which is no power of two: an exclusive-or of bits can't "
            "count to it",
            hint="pad it to a power of two, or keep the strided form",
            witness=size,
        )
    return size.bit_length() - 1
