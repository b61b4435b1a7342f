"""What is put into the registers, and what a device is asked to return.

A one-hot probe sets one element of one operand, by lane and register number, to one and everything
else to zero. Multiplying every probe of A by every probe of B shows, without assuming any table,
which pairs of elements meet in which element of D.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tylo.codegen import oracle

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

LANES = 32


@dataclass(frozen=True, eq=False)
class Observed:
    """What a device returned, everything by lane and value (or half) and nothing by coordinate.

    `products[a, b, lane, value]` is D for one-hot probes a of A and b of B; `added[c, lane, value]`
    is D for zero factors and a one-hot accumulator; `left[lane, half]` and `right[lane, half]` are
    the operands that ``ldmatrix`` made of case 0 of `memory_matrices`, and
    `results[case, lane, value]` the products of its other cases.
    """

    products: Array
    added: Array
    left: Array
    right: Array
    results: Array


def one_hot_words(values: int, dtype: str) -> Array:
    """Registers of every one-hot operand of 16-bit elements, ``[probe, lane, word]``.

    Probe number ``lane * values + value``; value p is half ``p % 2`` of word ``p // 2``.

    >>> words = one_hot_words(8, "bf16")
    >>> words.shape, hex(words[5 * 8 + 3, 5, 1])
    ((256, 32, 4), '0x3f800000')
    """
    import numpy

    one = int(oracle.rounded(numpy.ones(1, numpy.float32), dtype)[0])
    halves = numpy.eye(LANES * values, dtype=numpy.uint32).reshape(-1, LANES, values) * one
    return (halves[..., 0::2] | halves[..., 1::2] << numpy.uint32(16)).astype(numpy.uint32)


def one_hot_floats(values: int) -> Array:
    """Registers of every one-hot accumulator, ``[probe, lane, value]``."""
    import numpy

    return numpy.eye(LANES * values, dtype=numpy.float32).reshape(-1, LANES, values)


def memory_matrices(dtype: str) -> tuple[Array, Array]:
    """Left and right 16x16 matrices of 16-bit patterns, row-major, ``[case, row, column]``.

    Case 0 holds each element's own place, ``16 * row + column``, as a bare pattern. The products of
    case 1 are 1 + row, those of case 2 are 1 + column; case 3 multiplies random whole numbers.
    """
    import numpy

    def patterns(numbers: Array) -> Array:
        return oracle.rounded(numbers.astype(numpy.float32), dtype)

    places = numpy.arange(256, dtype=numpy.uint16).reshape(16, 16)
    count = numpy.arange(1, 17)
    identity, ones = numpy.eye(16), numpy.ones((16, 16))
    random = [(oracle.random_words(256, seed) % 17).reshape(16, 16) - 8.0 for seed in (11, 12)]
    left = [patterns(identity * count), patterns(identity), patterns(random[0])]
    right = [patterns(ones), patterns(ones * count), patterns(random[1])]
    return numpy.stack([places, *left]), numpy.stack([places, *right])


def row_starts() -> Array:
    """For each lane, the word of a row-major 16x16 matrix at which its row for ldmatrix begins.

    The order in which every matrix product loads: rows 0 to 15 of columns 0 to 7, then the same
    rows of columns 8 to 15. It is stated here, not derived from a table, because it is part of what
    judges the tables.
    """
    import numpy

    lane = numpy.arange(LANES)
    return ((lane % 16 * 16 + lane // 16 * 8) // 2).astype(numpy.uint32)
