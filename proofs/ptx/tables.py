"""Tables over thread numbers as bit-vector expressions: one decision diagram for each output bit.

>>> from tylo.proofs.ptx.bitvector import BitVectors, evaluate
>>> d = BitVectors()
>>> thread = d.variable("thread", 5)
>>> table = selected(d, thread, {t: t ^ 3 for t in range(0, 32, 2)}, 5)
>>> [evaluate([table], {"thread": t})[0] for t in (0, 8, 30)]
[3, 11, 29]
"""

from __future__ import annotations

from collections.abc import Mapping

from tylo.proofs.ptx.bitvector import BitVectors, Expression


def selected(
    domain: BitVectors, index: Expression, table: Mapping[int, int], width: int
) -> Expression:
    """The table's entry at an index; where it has none, any value."""
    bits = []
    for bit in range(width):
        column = [
            None if entry is None else entry >> bit & 1
            for entry in (table.get(i) for i in range(1 << index.width))
        ]
        bits.append(_diagram(domain, index, tuple(column), index.width - 1, {}))
    return domain.concatenate(bits, [1] * width)


_Column = tuple["int | None", ...]


def _diagram(
    domain: BitVectors,
    index: Expression,
    column: _Column,
    bit: int,
    known: dict[_Column, Expression],
) -> Expression:
    """A decision on one bit of the index after the other, equal halves decided once."""
    values = {entry for entry in column if entry is not None}
    if len(values) <= 1:
        return domain.constant(values.pop() if values else 0, 1)
    if column not in known:
        half = len(column) // 2
        low, high = column[:half], column[half:]
        merged = _merged(low, high)
        if merged is not None:
            known[column] = _diagram(domain, index, merged, bit - 1, known)
        else:
            known[column] = domain.select(
                domain.extract(index, bit, 1),
                _diagram(domain, index, high, bit - 1, known),
                _diagram(domain, index, low, bit - 1, known),
                1,
            )
    return known[column]


def _merged(low: _Column, high: _Column) -> _Column | None:
    """One column that agrees with both, if they agree where both have an entry."""
    if any(a is not None and b is not None and a != b for a, b in zip(low, high, strict=True)):
        return None
    return tuple(a if a is not None else b for a, b in zip(low, high, strict=True))
