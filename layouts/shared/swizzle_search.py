"""The swizzle with the fewest wavefronts for given accesses, and why none of its family has fewer.

The family holds every swizzle in bytes that permutes a window (a power of two, such as the tile)
and keeps 4-byte words and the lanes' vectors whole. All members are counted, so the least is the
least.

A bound says why, without counting. A swizzle is x -> x xor L(x) with L of rank at most `bits`, so
that it adds at most `bits` to the rank of the map from a phase's words to bank numbers. If the
words of a phase are an affine space of dimension d over F2 whose bank numbers have rank r, then d
does not change, all banks that are hit are hit equally often, and

    wavefronts >= 2^(d - min(5, r + bits)), and at least 1

For the column of a 32x32 tile of floats, d = 5 and r = 0: each bit halves the conflict.

>>> column = Access([128 * row for row in range(32)], 4)
>>> [least_wavefronts(column, bits) for bits in range(6)]
[32, 16, 8, 4, 2, 1]
>>> found = search_swizzle([column], window=4096)
>>> found.swizzle, found.total, found.proof
(Swizzle(5, 2, 5, unit=8), 1, 'no placement of these words takes fewer')
>>> search_swizzle([column], window=4096, most_bits=3).proof
'no swizzle of 3 bits takes fewer'
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tylo.layouts.errors import LayoutError
from tylo.layouts.linear.solve import eliminate
from tylo.layouts.linear.value import require_power_of_two
from tylo.layouts.shared.bank_conflicts import BANK_BYTES, BANKS, Access, wavefronts
from tylo.layouts.swizzle import Swizzle

_BANK_BITS = BANKS.bit_length() - 1


@dataclass(frozen=True, slots=True)
class SwizzleSearch:
    """What the search found: the swizzle, and the wavefronts of every member of the family.

    `bound` is what no member with as many bits as the family allows can go below, and `ideal` what
    no placement can. Of equal counts the swizzle with the fewest bits stands first.
    """

    swizzle: Swizzle
    total: int
    bound: int
    ideal: int
    counts: tuple[tuple[Swizzle, int], ...]
    most_bits: int

    @property
    def proof(self) -> str:
        """Why nothing in the family takes fewer wavefronts."""
        if self.total == self.ideal:
            return "no placement of these words takes fewer"
        if self.total == self.bound:
            return f"no swizzle of {self.most_bits} bits takes fewer"
        return f"all {len(self.counts)} swizzles of the family were counted"


def search_swizzle(
    accesses: Sequence[Access], *, window: int, most_bits: int | None = None
) -> SwizzleSearch:
    """The member of the family with the fewest wavefronts over all accesses together.

    `window` is the power of two of bytes that a swizzle may permute; `most_bits` limits the family.
    Raises `LayoutError` for no access, or one that reaches outside the window.
    """
    if not accesses:
        raise LayoutError("no access to search a swizzle for", hint="give at least one")
    for number, access in enumerate(accesses):
        for lane, address in enumerate(access.addresses):
            if address is not None and address + access.bytes_per_lane > window:
                raise LayoutError(
                    f"lane {lane} of access {number} reaches byte {address} outside a window of "
                    f"{window}",
                    hint="take the whole tile as the window",
                    witness={"access": number, "lane": lane},
                )
    vector = max(access.bytes_per_lane for access in accesses)
    counts = tuple(
        (member, sum(wavefronts(access.swizzled(member)).total for access in accesses))
        for member in family(vector, window, most_bits)
    )
    swizzle, total = min(counts, key=lambda pair: (pair[1], pair[0].bits))
    widest = max(member.bits for member, _ in counts)
    return SwizzleSearch(
        swizzle,
        total,
        bound=sum(least_wavefronts(access, widest) for access in accesses),
        ideal=sum(wavefronts(access).ideal_total for access in accesses),
        counts=counts,
        most_bits=widest,
    )


def family(vector: int, window: int, most_bits: int | None = None) -> Iterator[Swizzle]:
    """Every swizzle in bytes that keeps words and vectors whole and permutes the window.

    Fewest bits first.

    >>> [str(each) for each in family(16, 64)]
    ['Sw<0,4,0>@8', 'Sw<1,4,1>@8', 'Sw<1,4,-1>@8']
    """
    low = require_power_of_two(max(vector, BANK_BYTES), "the vector")
    top = require_power_of_two(window, "the window")
    yield Swizzle(0, low, 0, unit=8)
    largest = (top - low) // 2
    for bits in range(1, (largest if most_bits is None else min(most_bits, largest)) + 1):
        for base in range(low, top):
            for shift in range(bits, top - base - bits + 1):
                yield Swizzle(bits, base, shift, unit=8)
                yield Swizzle(bits, base, -shift, unit=8)


def least_wavefronts(access: Access, bits: int) -> int:
    """What no swizzle of that many bits goes below: the module's bound, else 32 words a wavefront.

    A phase whose words are no affine space over F2 has the second bound alone.
    """
    return sum(_least(words, bits) for words in access.words())


def _least(words: frozenset[int], bits: int) -> int:
    ideal = -(-len(words) // BANKS)
    if not words:
        return 0
    origin = min(words)
    differences = [word ^ origin for word in sorted(words)]
    pivots, _ = eliminate(differences)
    dimension = len(pivots)
    if len(words) != 1 << dimension:
        return ideal
    # A space of that size that holds all words is the words themselves.
    rank = len(eliminate([combination % BANKS for combination, _ in pivots.values()])[0])
    return max(ideal, 1 << max(0, dimension - min(_BANK_BITS, rank + bits)))
