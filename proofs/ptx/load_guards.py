"""Where each address is loaded from: the condition under which some thread makes the load.

A value that was only moved between threads has another thread's loads in it, at addresses that may
be spelled as this thread's own are. Each is under the condition of the thread that makes it, so
that an address has all the conditions of loads that may be meant: one of them where bytes are read
at all, all of them where they surely are.

>>> from tylo.proofs.ptx.bitvector import BitVectors
>>> domain = BitVectors()
>>> address = domain.variable("x", 64)
>>> some, others = domain.variable("p", 1), domain.variable("q", 1)
>>> found = LoadGuards()
>>> for guard in (some, others, some):
...     found.add(domain, address, 32, guard)
>>> found.anywhere[address] is domain.bit_or(some, others, 1)
True
>>> found.surely[address] is domain.bit_and(some, others, 1)
True
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tylo.proofs.ptx.bitvector import BitVectors, Expression


@dataclass(slots=True)
class LoadGuards:
    """By the address of each byte that a load reads: where one does."""

    anywhere: dict[Expression, Expression] = field(default_factory=dict)
    surely: dict[Expression, Expression] = field(default_factory=dict)
    seen: int = 0  # accesses of a record
    _alternatives: dict[Expression, set[Expression]] = field(default_factory=dict)

    def add(self, domain: BitVectors, address: Expression, bits: int, guard: Expression) -> None:
        """Note a load of so many bits."""
        for start in range(0, bits // 8):
            place = domain.add(address, domain.constant(start, 64), 64)
            alternatives = self._alternatives.setdefault(place, set())
            if guard not in alternatives:
                alternatives.add(guard)
                known = self.anywhere.get(place, domain.constant(0, 1))
                self.anywhere[place] = domain.bit_or(known, guard, 1)
                known = self.surely.get(place, domain.constant(1, 1))
                self.surely[place] = domain.bit_and(known, guard, 1)
