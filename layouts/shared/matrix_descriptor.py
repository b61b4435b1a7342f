"""`MatrixDescriptor`: which bytes of shared memory a `wgmma` reads as which matrix element.

The 64 bits name a start address, two offsets and a swizzle (PTX ISA, "Matrix Descriptor Format"):

    bits 0-13 start/16 | 16-29 leading/16 | 32-45 stride/16 | 49-51 base offset | 62-63 swizzle

One instruction reads `mn` rows of A (columns of B) by 32 bytes along K. With w the bytes of a
swizzle row and e those of an element, element (mn, k) is read from the *swizzled* address
start + offset, where

| major | swizzle | offset                                                                  |
|-------|---------|-------------------------------------------------------------------------|
| K     | none    | mn%8 * 16 + mn/8 * stride + k*e%16 + k*e/16 * leading                   |
| K     | others  | mn%8 * w + mn/8 * stride + k*e                       (leading is not used)|
| MN    | none    | mn*e%16 + mn*e/16 * stride + k%8 * 16 + k/8 * leading                   |
| MN    | others  | mn*e%w + mn*e/w * leading + k%8 * w + k/8 * stride                      |

Without a swizzle, leading and stride trade places between the majors. MN-major operands exist for
16-bit elements alone.

>>> read = MatrixDescriptor(major="K", swizzle=128, leading=16, stride=1024, element_bytes=2)
>>> hex(read.encoded()), read.address(9, 8)
('0x4000004000010000', 1152)
>>> print(read.layout(64))
Sw<3,4,3>@8 o 0 o ((8,8),(8,2)):((128,1024),(2,16))

The base offset is 0 throughout: the tile's base is a multiple of the swizzle's repeat.

Sources: PTX ISA, "Asynchronous Warpgroup Level Matrix Shared Memory Layout", "Strides", "Matrix
Descriptor Format"; NVIDIA/cutlass `include/cute/atom/mma_traits_sm90_gmma.hpp` states the same as
canonical layouts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tylo.layouts.errors import LayoutError
from tylo.layouts.layout import Layout
from tylo.layouts.shared.swizzle_mode import CHUNK, MODES, SwizzleMode, swizzle_mode
from tylo.layouts.swizzle import ComposedLayout

MAJORS = ("K", "MN")
K_BYTES = 32  # of every wgmma
_FIELDS = (("start", 0), ("leading", 16), ("stride", 32))
FIELD_BITS = 14
SWIZZLE_BIT = 62


@dataclass(frozen=True, slots=True)
class MatrixDescriptor:
    """One descriptor; offsets and start in bytes. See the module for their meaning.

    Raises `LayoutError` for a field that is no multiple of 16 bytes or takes more than 14 bits, a
    major that is neither K nor MN, and an MN-major operand of other than 16-bit elements.
    """

    major: str
    swizzle: int
    leading: int
    stride: int
    element_bytes: int
    start: int = 0

    def __post_init__(self) -> None:
        swizzle_mode(self.swizzle)
        if self.major not in MAJORS:
            raise LayoutError(
                f"no major {self.major!r}", hint="use 'K' or 'MN'", witness=self.major
            )
        if self.element_bytes not in (1, 2, 4):
            raise LayoutError(
                f"wgmma has no operand of {self.element_bytes}-byte elements",
                hint="use 1, 2 or 4 bytes",
                witness=self.element_bytes,
            )
        if self.major == "MN" and self.element_bytes != 2:
            raise LayoutError(
                f"an MN-major operand of {8 * self.element_bytes}-bit elements: wgmma transposes "
                "16-bit elements alone",
                hint="store the operand K-major",
                witness=self.element_bytes,
            )
        for field, _ in _FIELDS:
            number = getattr(self, field)
            if not 0 <= number < CHUNK << FIELD_BITS or number % CHUNK:
                raise LayoutError(
                    f"the descriptor's {field} of {number} bytes is no multiple of {CHUNK} from 0 "
                    f"to {(CHUNK << FIELD_BITS) - CHUNK}",
                    hint="align the tile, or advance by whole 16-byte chunks",
                    witness=number,
                )

    @property
    def mode(self) -> SwizzleMode:
        """The swizzle with its codes."""
        return swizzle_mode(self.swizzle)

    @property
    def k_extent(self) -> int:
        """Elements along K that one instruction reads."""
        return K_BYTES // self.element_bytes

    def encoded(self) -> int:
        """The 64 bits."""
        start, leading, stride = (getattr(self, field) // CHUNK for field, _ in _FIELDS)
        return int(descriptor_word(self.mode, start, leading, stride))

    def offset(self, mn: Any, k: Any) -> Any:
        """The unswizzled offset from the start, in bytes: integers, arrays or terms."""
        e = self.element_bytes
        row, along = (mn, k * e) if self.major == "K" else (k, mn * e)
        return read_offset(self.mode, self.major, row, along, self.leading, self.stride)

    def address(self, mn: Any, k: Any) -> Any:
        """The address that element (mn, k) is read from: integers, arrays or terms."""
        return self.mode.swizzled(self.start + self.offset(mn, k))

    def layout(self, extent: int) -> ComposedLayout:
        """(mn, k) to addresses, for `extent` rows or columns, as a layout.

        Raises `LayoutError` when the extent is no multiple of 8, or is more than a swizzle row of
        MN-major elements and no multiple of it: then no single layout says it, and `address` does.
        """
        width, e = self.mode.width, self.element_bytes
        row = width // e  # elements of a swizzle row
        if extent < 1 or extent % 8 or (self.major == "MN" and extent > row and extent % row):
            raise LayoutError(
                f"a {self.major}-major read of {extent}, in swizzle rows of {row} elements",
                hint="read a multiple of 8, MN-major beyond a row a multiple of the row",
                witness=extent,
            )
        per_chunk = CHUNK // e
        if self.major == "K":
            shape: Any = ((8, extent // 8), (per_chunk, 2))
            chunks = CHUNK if self.swizzle else self.leading
            stride: Any = ((width, self.stride), (e, chunks))
        else:
            inside = min(extent, row)
            across, down = (
                (self.leading, self.stride) if self.swizzle else (self.stride, self.leading)
            )
            shape = ((inside, extent // inside), (8, self.k_extent // 8))
            stride = ((e, across), (width, down))
        return ComposedLayout(self.mode.swizzle, self.start, Layout(shape, stride))


def read_offset(
    mode: SwizzleMode, major: str, row: Any, along: Any, leading: Any, stride: Any
) -> Any:
    """The table of the module, in bytes: `along` the contiguous axis, in `row` across it.

    The row of a K-major operand is mn, that of an MN-major one k. Works on terms too.
    """
    width = mode.width
    inside_row = row % 8 * width
    if major == "K":
        chunks = along if mode.span else along % CHUNK + along // CHUNK * leading
        return inside_row + row // 8 * stride + chunks
    across, down = (leading, stride) if mode.span else (stride, leading)
    return along % width + along // width * across + inside_row + row // 8 * down


def descriptor_word(mode: SwizzleMode, start: Any, leading: Any, stride: Any) -> Any:
    """The bits of fields that count 16-byte chunks; works on terms too."""
    places = dict(_FIELDS)
    return (
        start * (1 << places["start"])
        + leading * (1 << places["leading"])
        + stride * (1 << places["stride"])
        + (mode.code << SWIZZLE_BIT)
    )


def decoded(word: int, *, major: str, element_bytes: int) -> MatrixDescriptor:
    """The descriptor of 64 bits; the instruction, not the bits, says major and element.

    Raises `LayoutError` for bits that no field has and for a base offset, which Tylo never sets.

    >>> decoded(0x4000004000010000, major="K", element_bytes=2).stride
    1024
    """
    mask = (1 << FIELD_BITS) - 1
    fields = {field: (word >> bit & mask) * CHUNK for field, bit in _FIELDS}
    code = word >> SWIZZLE_BIT
    mode = next((mode for mode in MODES if mode.code == code), MODES[0])
    descriptor = MatrixDescriptor(major, mode.span, element_bytes=element_bytes, **fields)
    if descriptor.encoded() != word:
        raise LayoutError(
            f"{word:#x} sets bits outside start, leading, stride and swizzle",
            hint="align the tile to the swizzle's repeat, so that the base offset is 0",
            witness=descriptor.encoded() ^ word,
        )
    return descriptor
