"""Byte-addressed memory of one state space, checked at every access.

A `Space` is one array of bytes with named regions in it. Reads and writes take one address for
each lane; they gather and scatter whole elements, refuse what is misaligned, outside every region,
read-only or never written, and say which lane did it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
# Takes the kind of fault, a message, a position in the address array, and the address; raises.
Fault = Callable[[str, str, int, int], None]

_UNIT = 16
_WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


@dataclass(eq=False)
class Region:
    """`size` bytes behind a base address; `valid` says which hold a value.

    Storage is that of whole 16-byte units of the address space, so that it can be viewed as words
    of any width; `before` of its bytes lie in front of the base.
    """

    name: str
    base: int
    size: int
    data: Bytes
    valid: npt.NDArray[np.bool_]
    writable: bool = True

    @property
    def end(self) -> int:
        """The first address behind the region."""
        return self.base + self.size

    @property
    def before(self) -> int:
        """Bytes of storage in front of the base."""
        return self.base % _UNIT

    @property
    def content(self) -> Bytes:
        """The bytes that belong to the region."""
        return self.data[self.before : self.before + self.size]


class Space:
    """Regions by ascending base address."""

    def __init__(self, name: str, regions: Sequence[Region]) -> None:
        self.name = name
        self.regions = sorted(regions, key=lambda region: region.base)
        self._bases = np.array([region.base for region in self.regions], dtype=np.uint64)

    def read(self, addresses: Any, size: int, fault: Fault) -> Any:
        """The elements of `size` bytes at each address, as patterns."""
        result = np.zeros(addresses.shape, dtype=np.uint64)
        for region, chosen, offsets in self._resolve(addresses, size, fault):
            valid = region.valid.reshape(-1, size)[offsets].all(axis=1)
            if not valid.all():
                where = np.flatnonzero(chosen)[int(np.argmin(valid))]
                self._refuse(
                    "uninitialised",
                    f"reads {region.name} before anything wrote it",
                    addresses,
                    where,
                    fault,
                )
            result[chosen] = region.data.view(_WORDS[size])[offsets]
        return result

    def write(self, addresses: Any, values: Any, size: int, fault: Fault) -> None:
        """Store the low bytes of each value; a later lane wins over an earlier one."""
        for region, chosen, offsets in self._resolve(addresses, size, fault):
            if not region.writable:
                where = np.flatnonzero(chosen)[0]
                self._refuse(
                    "read-only",
                    f"writes {region.name}, which is read-only",
                    addresses,
                    where,
                    fault,
                )
            word = _WORDS[size]
            region.data.view(word)[offsets] = values[chosen].astype(word)
            region.valid.reshape(-1, size)[offsets] = True

    def _resolve(self, addresses: Any, size: int, fault: Fault) -> Any:
        """Each region hit, which addresses hit it, and their offsets in elements."""
        misaligned = addresses % np.uint64(size) != 0
        if misaligned.any():
            where = int(np.argmax(misaligned))
            self._refuse(
                "alignment", f"an address that is no multiple of {size}", addresses, where, fault
            )
        index = np.searchsorted(self._bases, addresses, side="right") - 1
        # Mostly all lanes use one region: then no lanes need be picked.
        one = bool((index == index[:1]).all())
        for number in [int(index[0])] if one and len(index) else np.unique(index).tolist():
            chosen = np.ones(len(index), np.bool_) if one else index == number
            region = self.regions[number] if number >= 0 else None
            offsets = addresses[chosen] - np.uint64(region.base if region else 0)
            limit = region.size - size if region else -1
            outside = (
                offsets > np.uint64(max(limit, 0)) if limit >= 0 else np.ones_like(offsets, bool)
            )
            if outside.any():
                where = np.flatnonzero(chosen)[int(np.argmax(outside))]
                known = ", ".join(f"{r.name} [0x{r.base:x}, 0x{r.end:x})" for r in self.regions)
                self._refuse(
                    "bounds", f"outside of {known or 'all memory'}", addresses, where, fault
                )
            assert region is not None
            within = offsets + np.uint64(region.before)
            yield region, chosen, (within // np.uint64(size)).astype(np.int64)

    def _refuse(self, kind: str, message: str, addresses: Any, where: Any, fault: Fault) -> None:
        fault(kind, f"{self.name} memory: {message}", int(where), int(addresses[where]))


def allocate(name: str, base: int, content: bytes | int, *, writable: bool = True) -> Region:
    """A region that holds some bytes, or that many which nothing has written yet."""
    size = content if isinstance(content, int) else len(content)
    padded = -(-(base % _UNIT + size) // _UNIT) * _UNIT
    data, valid = np.zeros(padded, np.uint8), np.zeros(padded, np.bool_)
    region = Region(name, base, size, data, valid, writable)
    if not isinstance(content, int):
        region.content[:] = np.frombuffer(content, np.uint8)
        valid[region.before : region.before + size] = True
    return region
