"""A tensor as a kernel sees it: an address, a shape, strides, an element type, a device.

Element (i, j, ...) lies `itemsize * (i * strides[0] + j * strides[1] + ...)` bytes after `address`.
Two rows of three floats, cut out of rows of eight:

>>> cut = Tensor(0x7000, (2, 3), (8, 1), "f32", device=0)
>>> cut.itemsize, cut.extent
(4, (28672, 28716))
>>> cut.extent[1] - cut.extent[0] == 4 * (8 + 3)
True

The view owns nothing. `owner` keeps the memory's owner alive as long as the view is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

# Bits per element by name, for every type that a tensor of another library may have.
ITEM_BITS = {
    "bool": 8,
    **{f"i{bits}": bits for bits in (8, 16, 32, 64)},
    **{f"u{bits}": bits for bits in (8, 16, 32, 64)},
    **{f"f{bits}": bits for bits in (16, 32, 64)},
    "bf16": 16,
    "c64": 64,
    "c128": 128,
}


@dataclass(frozen=True, eq=False, slots=True)
class Tensor:
    """Device memory of somebody else; strides count elements, `device` is the CUDA ordinal."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    device: int
    read_only: bool = False
    owner: object = field(default=None, repr=False)

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return ITEM_BITS[self.dtype] // 8

    @property
    def empty(self) -> bool:
        return 0 in self.shape

    @property
    def extent(self) -> tuple[int, int]:
        """The first byte of any element, and one past the last; equal when there is none."""
        if self.empty:
            return self.address, self.address
        below = above = 0
        for size, stride in zip(self.shape, self.strides, strict=True):
            reach = (size - 1) * stride
            below, above = below + min(0, reach), above + max(0, reach)
        return self.address + below * self.itemsize, self.address + (above + 1) * self.itemsize


def compact_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of elements in row-major order without gaps, counted in elements.

    >>> compact_strides((2, 3, 4)), compact_strides(())
    ((12, 4, 1), ())
    """
    strides = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))
