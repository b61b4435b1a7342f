"""`TmaBox`: where the tensor memory accelerator writes the elements of one box.

A box is given as the tensor map has it, innermost extent first, in elements. Its elements arrive
in shared memory densely, innermost fastest, and then the swizzle moves 16-byte chunks. For 64
halves by 8 rows with the 128-byte swizzle, chunk c of row r lies at chunk `c xor r`:

| row | offset of element 0 | of element 8 | of element 16 |
|-----|---------------------|--------------|---------------|
| 0   | 0                   | 16           | 32            |
| 1   | 128 + 16            | 128 + 0      | 128 + 48      |
| 2   | 256 + 32            | 256 + 48     | 256 + 0       |

>>> box = TmaBox((64, 8), element_bytes=2, swizzle=128)
>>> print(box.layout())
Sw<3,4,3>@8 o 0 o (64,8):(2,128)
>>> [box(16, row) for row in range(3)]
[32, 176, 256]

Bytes and elements are kept apart: `layout` counts bytes, `element_layout` elements, with the
swizzle recast. In a 32-byte swizzle of halves, element (0, 4) is at byte 144 and so at element 72:

>>> narrow = TmaBox((16, 8), element_bytes=2, swizzle=32)
>>> narrow(0, 4), narrow.element_layout()(0, 4), narrow.element_layout().outer
(144, 72, Swizzle(1, 3, 3, unit=16))

Sources: CUDA Driver API, `cuTensorMapEncodeTiled`; PTX ISA, "Tensor Copy Restrictions"; CUDA C++
Programming Guide, "Shared Memory Bank Swizzling".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tylo.layouts.errors import LayoutError
from tylo.layouts.int_tuple import prefix_product
from tylo.layouts.layout import Layout
from tylo.layouts.shared.swizzle_mode import CHUNK, SwizzleMode, swizzle_mode
from tylo.layouts.swizzle import ComposedLayout, Swizzle

LARGEST_EXTENT = 256
LARGEST_RANK = 5
ELEMENT_BYTES = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class TmaBox:
    """A box of `box` elements, innermost first; see the module for the picture.

    Raises `LayoutError` for what the tensor map refuses: a rank outside 1..5, an extent outside
    1..256, an inner extent that is no multiple of 16 bytes or exceeds the swizzle's span. An inner
    extent below the span is refused too, because no document states at which pitch its rows lie.
    """

    box: tuple[int, ...]
    element_bytes: int
    swizzle: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "box", tuple(self.box))
        span = swizzle_mode(self.swizzle).span
        if self.element_bytes not in ELEMENT_BYTES:
            raise LayoutError(
                f"{self}: elements of {self.element_bytes} bytes",
                hint=f"use one of {ELEMENT_BYTES}",
                witness=self.element_bytes,
            )
        if not 1 <= len(self.box) <= LARGEST_RANK:
            raise LayoutError(
                f"{self} has rank {len(self.box)}, a tensor map has rank 1 to {LARGEST_RANK}",
                hint="merge dimensions that are contiguous in global memory",
                witness=len(self.box),
            )
        for place, extent in enumerate(self.box):
            if type(extent) is not int or not 1 <= extent <= LARGEST_EXTENT:
                raise LayoutError(
                    f"{self}: box dimension {place} is {extent!r}, outside 1..{LARGEST_EXTENT}",
                    hint="load the tile in several boxes, as SharedTile.boxes does",
                    witness=place,
                )
        inner = self.box[0] * self.element_bytes
        if inner % CHUNK:
            raise LayoutError(
                f"{self}: the inner extent is {inner} bytes, no multiple of {CHUNK}",
                hint=f"pad it to {-(-inner // CHUNK) * CHUNK // self.element_bytes} elements",
                witness=inner,
            )
        if span and inner > span:
            raise LayoutError(
                f"{self}: the inner extent of {inner} bytes exceeds the {span}-byte swizzle span",
                hint=f"load panels of {span // self.element_bytes} elements side by side, as "
                "SharedTile does",
                witness=inner,
            )
        if span and inner < span:
            raise LayoutError(
                f"{self}: the inner extent of {inner} bytes does not fill the {span}-byte swizzle "
                "span, and the pitch of such rows is not documented",
                hint=f"widen the box to {span // self.element_bytes} elements, or use a narrower "
                "swizzle",
                witness=inner,
            )

    @property
    def mode(self) -> SwizzleMode:
        """The swizzle with its codes."""
        return swizzle_mode(self.swizzle)

    @property
    def bytes(self) -> int:
        """Bytes of shared memory, which are also those the barrier counts, clipped or not."""
        return math.prod(self.box) * self.element_bytes

    @property
    def alignment(self) -> int:
        """What the destination is a multiple of, so that the pattern starts with the box.

        Without a swizzle these are the 128 bytes of any tensor copy.
        """
        return self.mode.repeat

    def layout(self) -> ComposedLayout:
        """Coordinates, innermost first, to byte offsets from an aligned destination."""
        strides = tuple(self.element_bytes * step for step in prefix_product(self.box))
        return ComposedLayout(self.mode.swizzle, 0, Layout(self.box, strides))

    def element_layout(self) -> ComposedLayout:
        """The same in elements: what a printed table of elements must show."""
        bits = 8 * self.element_bytes
        outer = self.mode.swizzle.recast(bits) if self.swizzle else Swizzle(0, 0, 0, unit=bits)
        return ComposedLayout(outer, 0, Layout(self.box))

    def __call__(self, *coordinate: int) -> Any:
        """The byte offset of an element, innermost coordinate first."""
        return self.layout()(*coordinate)

    def __str__(self) -> str:
        extents = "x".join(map(str, self.box))
        return f"box {extents} of {self.element_bytes}-byte elements, swizzle {self.swizzle}"
