"""Tables over places as arithmetic: what a writer knows of itself, told from the place it writes.

Which row an element of a tile lies in is (place + b) / c, and where the vector begins that holds it
is that times a constant. Solvers decide sums about such a term at once, and lose themselves in a
decision diagram of the same table. A fit is compared with the table in every entry.

>>> fit({place: place // 132 for place in range(0, 2112, 4)})
(1, 0, 0, 132)
>>> fit({place: 1 + place // 16 * 4 for place in range(0, 2112, 4)})
(4, 1, 0, 16)
>>> fit({0: 1, 1: 0, 2: 1})
"""

from __future__ import annotations

import math
from collections.abc import Mapping


def fit(table: Mapping[int, int]) -> tuple[int, int, int, int] | None:
    """(m, a, b, c) such that each entry is a + m * ((place + b) / c), none of them negative."""
    places = sorted(table)
    least = min(table.values())
    factor = math.gcd(*(value - least for value in table.values()))
    if not factor:
        return 0, least, 0, 1
    # Counted from the value that a place of zero would have, if that is not negative.
    for base in (least % factor, least):
        counts = {place: (table[place] - base) // factor for place in places}
        rise = counts[places[-1]] - counts[places[0]]
        if rise <= 0:
            return None
        near = (places[-1] - places[0]) / rise
        for divisor in range(max(1, int(near / 2)), int(near * 2) + 3):
            low = max(counts[place] * divisor - place for place in places)
            high = min(counts[place] * divisor + divisor - 1 - place for place in places)
            if max(low, 0) <= high:
                return factor, base, max(low, 0), divisor
    return None
