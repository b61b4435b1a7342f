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

from tylo.layouts.errors import LaunchError

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


def addressable(tensor: Tensor, name: str) -> Tensor:
    """The tensor itself, where all its elements have addresses; LaunchError where they cannot.

    An export may hold any numbers, and a launch would cut them off at 64 bits.

    >>> addressable(Tensor(0, (2, 3), (3, 1), "f32", device=0), "x")
    Traceback (most recent call last):
    tylo.layouts.errors.LaunchError: x has the shape (2, 3) and strides (3, 1) at 0x0: bytes from \
0x0 to 0x18 are none of a device; pass a tensor whose memory is still there
    """
    if any(size < 0 for size in tensor.shape):
        raise LaunchError(
            f"{name} has the shape {tensor.shape}",
            hint="sizes are not negative: its library exported something else",
        )
    least, end = tensor.extent
    if not tensor.empty and not 0 < least < end <= 1 << 64:
        raise LaunchError(
            f"{name} has the shape {tensor.shape} and strides {tensor.strides} at "
            f"{tensor.address:#x}: bytes from {least:#x} to {end:#x} are none of a device",
            hint="pass a tensor whose memory is still there",
        )
    return tensor


def compact_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of elements in row-major order without gaps, counted in elements.

    A size of zero counts as one, as in torch and numpy: the order of dimensions still shows.

    >>> compact_strides((2, 3, 4)), compact_strides((4, 0, 3)), compact_strides(())
    ((12, 4, 1), (3, 3, 1), ())
    """
    strides = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))
