"""The four shared-memory swizzles of TMA and `wgmma`: none, 32, 64 and 128 bytes.

A mode moves 16-byte chunks inside a row of `width` bytes, the *swizzle row*, by an exclusive-or
with three address bits or fewer, and repeats every eight rows:

| mode | row width | swizzle on byte addresses | repeats every | descriptor code | tensor map |
|------|-----------|---------------------------|---------------|-----------------|------------|
| none | 16 B      | none                      | 128 B         | 0               | 0          |
| 32   | 32 B      | Sw<1,4,3>                 | 256 B         | 3               | 1          |
| 64   | 64 B      | Sw<2,4,3>                 | 512 B         | 2               | 2          |
| 128  | 128 B     | Sw<3,4,3>                 | 1024 B        | 1               | 3          |

The hardware takes the bits from the absolute shared-memory address, not from the offset in the
tile. So a tile whose base is a multiple of the repeat sees the pattern start with itself, and an
address inside the tile is swizzled alike by whoever computes it.

>>> swizzle_mode(128)
SwizzleMode(span=128, bits=3, code=1, tensor_map_code=3)
>>> swizzle_mode(64).swizzle, swizzle_mode(64).width, swizzle_mode(64).repeat
(Swizzle(2, 4, 3, unit=8), 64, 512)
>>> swizzle_mode(128).swizzled(2 * 128 + 16)
304

Sources: CUDA Driver API, `cuTensorMapEncodeTiled`; CUDA C++ Programming Guide, "Shared Memory Bank
Swizzling"; PTX ISA, "Asynchronous Warpgroup Level Matrix Shared Memory Layout" and "Matrix
Descriptor Format".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tylo.layouts.errors import LayoutError
from tylo.layouts.swizzle import Swizzle

CHUNK = 16  # bytes that every swizzle moves as one
_SHIFT = 3  # from the chunk bits 4.. up to the row bits 7..


@dataclass(frozen=True, slots=True)
class SwizzleMode:
    """One row of the table above; `span` is 0, 32, 64 or 128."""

    span: int
    bits: int
    code: int
    tensor_map_code: int

    @property
    def width(self) -> int:
        """Bytes of a swizzle row, the row of an atom in shared memory."""
        return self.span or CHUNK

    @property
    def repeat(self) -> int:
        """Bytes after which the pattern starts again: eight rows, and the base's alignment."""
        return 8 * self.width

    @property
    def swizzle(self) -> Swizzle:
        """The permutation of byte addresses."""
        return Swizzle(self.bits, 4, _SHIFT, unit=8)

    def turn(self, address: Any) -> Any:
        """What a chunk's number in its row is exclusive-or'd with: address bits from 7 on."""
        return address // (CHUNK << _SHIFT) % (1 << self.bits)

    def swizzled(self, address: Any) -> Any:
        """Where the byte of an unswizzled address lies: an `int`, an array or a term."""
        return address ^ self.turn(address) * CHUNK


MODES = (
    SwizzleMode(span=0, bits=0, code=0, tensor_map_code=0),
    SwizzleMode(span=32, bits=1, code=3, tensor_map_code=1),
    SwizzleMode(span=64, bits=2, code=2, tensor_map_code=2),
    SwizzleMode(span=128, bits=3, code=1, tensor_map_code=3),
)


def swizzle_mode(span: int) -> SwizzleMode:
    """The mode of that many bytes, 0 for none; `LayoutError` for any other."""
    for mode in MODES:
        if type(span) is int and mode.span == span:
            return mode
    raise LayoutError(
        f"no shared-memory swizzle of {span!r} bytes",
        hint="use 0 (none), 32, 64 or 128 bytes",
        witness=span,
    )
