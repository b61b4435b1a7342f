"""Words: a fragment's 16-bit elements packed two to a 32-bit register, as the hardware reads them.

Value p of an ownership with 16-bit elements is in word ``p // 2``, at bit ``16 * (p % 2)``: value 0
of a pair is the low half. A `Words` is a type of its own, so that a scalar cannot pass for a packed
register.

>>> import numpy
>>> from tylo.layouts.atoms import atom
>>> A = atom("mma.m16n8k16.f16").operand("A").ownership
>>> halves = numpy.zeros((32, 8), dtype=numpy.uint16)
>>> halves[:, 1] = 0x3C00
>>> words = pack(halves, A, "f16")
>>> hex(words.data[0, 0])
'0x3c000000'
>>> float(words.unpack().data[0, 1])
1.0
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tylo.layouts.errors import OwnershipError
from tylo.layouts.fragment import Fragment
from tylo.layouts.ownership import Ownership

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

DTYPES = ("bf16", "f16")


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """`data[..., thread, word]` of uint32, the ownership of the halves, and their dtype."""

    data: NDArray[numpy.uint32]
    ownership: Ownership
    dtype: str

    def __post_init__(self) -> None:
        values = self.ownership.value_count
        if (
            self.dtype not in DTYPES
            or self.ownership.bits != 16
            or not isinstance(values, int)
            or values % 2
        ):
            raise OwnershipError(
                f"cannot pack {self.dtype!r} elements, {values} of {self.ownership.bits} bits to a "
                "thread, two to a register",
                hint=f"words hold pairs of {' or '.join(DTYPES)}",
            )
        expected = (self.ownership.thread_count, values // 2)
        if self.data.dtype.name != "uint32" or self.data.shape[-2:] != expected:
            raise OwnershipError(
                f"{self.data.dtype} data of shape {self.data.shape} are not words: they do not end "
                f"in (threads, words) = {expected}, or are not uint32",
                hint="pack 16-bit elements with tylo.layouts.words.pack",
            )

    def halves(self) -> NDArray[numpy.uint16]:
        """The bits of each element, `[..., thread, value]`."""
        import numpy

        low = (self.data & numpy.uint32(0xFFFF)).astype(numpy.uint16)
        high = (self.data >> numpy.uint32(16)).astype(numpy.uint16)
        *outer, words = self.data.shape
        return numpy.stack([low, high], axis=-1).reshape(*outer, 2 * words)

    def unpack(self) -> Fragment:
        """The elements as float32, exactly: every BF16 and FP16 number is one."""
        import numpy

        bits = self.halves()
        if self.dtype == "f16":
            return Fragment(bits.view(numpy.float16).astype(numpy.float32), self.ownership)
        wide = (bits.astype(numpy.uint32) << numpy.uint32(16)).view(numpy.float32)
        return Fragment(wide, self.ownership)


def pack(halves: NDArray[Any], ownership: Ownership, dtype: str) -> Words:
    """Words from the 16-bit patterns of each element, `halves[..., thread, value]`."""
    import numpy

    expected = (ownership.thread_count, ownership.value_count)
    if halves.dtype != numpy.uint16 or halves.shape[-2:] != expected:
        raise OwnershipError(
            f"{halves.dtype} halves of shape {halves.shape} do not end in (threads, values) = "
            f"{expected}, or are not uint16",
            hint="give one uint16 per value",
        )
    wide = halves.astype(numpy.uint32)
    pairs = halves.shape[-1] // 2
    low, high = wide[..., 0 : 2 * pairs : 2], wide[..., 1::2]
    return Words(low | high << numpy.uint32(16), ownership, dtype)
