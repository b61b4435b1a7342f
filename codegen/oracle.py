"""Expected data of the generated tests, computed without Tylo.

An oracle that shares code with what it judges repeats its mistakes. This module therefore imports
numpy and the standard library alone, and writes down from the vendor's manual what the rest of
Tylo derives: who owns which element, and what rounding to 16 bits gives.

>>> operand_a(lane=5, value=4), operand_b(lane=5, value=2), accumulator(lane=5, value=2)
((1, 10), (10, 1), (9, 2))

Threads of a tile are numbered ``lane + 32 * warp``; warp w of W holds the 16-row blocks w, w + W,
w + 2 W, ... in its M repeats 0, 1, 2, ... Packed words count (word, M repeat, column pair), the
first fastest, and the half with the even column is the low one.

Sources: PTX ISA 8.7, 9.7.14.5.8, "Matrix Fragments for mma.m16n8k16 with floating point type";
9.7.9.22, "cvt"; IEEE 754-2019, 4.3.1 and 7.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


def operand_a(lane: int, value: int) -> tuple[int, int]:
    """(row, k) of element a_value of A: the manual's formulas, word for word."""
    group, thread_in_group = lane >> 2, lane % 4
    row = group if value in (0, 1, 4, 5) else group + 8
    column = thread_in_group * 2 + (value & 1) + (8 if value >= 4 else 0)
    return row, column


def operand_b(lane: int, value: int) -> tuple[int, int]:
    """(k, column) of element b_value of B."""
    group, thread_in_group = lane >> 2, lane % 4
    return thread_in_group * 2 + (value & 1) + (8 if value >= 2 else 0), group


def accumulator(lane: int, value: int) -> tuple[int, int]:
    """(row, column) of element c_value of C and D."""
    group, thread_in_group = lane >> 2, lane % 4
    return (group if value < 2 else group + 8), thread_in_group * 2 + (value & 1)


def packed_coordinates(repeats_m: int, pairs: int, warps_m: int) -> Array:
    """(row, column) of every half a thread packs, ``[thread, half, axis]``.

    Half number h belongs to word register ``h // 2``.

    >>> packed_coordinates(2, 1, 2)[37, 8 + 4].tolist()
    [49, 10]
    """
    import numpy

    rows = []
    for thread in range(32 * warps_m):
        lane, warp = thread % 32, thread // 32
        for pair in range(pairs):
            for repeat in range(repeats_m):
                for value in range(8):
                    row, column = operand_a(lane, value)
                    rows.append((row + 16 * (warp + warps_m * repeat), column + 16 * pair))
    return numpy.array(rows).reshape(32 * warps_m, 8 * repeats_m * pairs, 2)


def product_coordinates(repeats_m: int, warps_m: int) -> Array:
    """(row, column) of the values a thread holds of a product 16 columns wide.

    ``[thread, value, axis]``: four values of the left 8-column atom, four of the right one, for
    each M repeat in turn.
    """
    import numpy

    rows = []
    for thread in range(32 * warps_m):
        lane, warp = thread % 32, thread // 32
        for repeat in range(repeats_m):
            for atom_n in (0, 1):
                for value in range(4):
                    row, column = accumulator(lane, value)
                    rows.append((row + 16 * (warp + warps_m * repeat), column + 8 * atom_n))
    return numpy.array(rows).reshape(32 * warps_m, 8 * repeats_m, 2)


@dataclass(frozen=True)
class Format:
    """A binary interchange format of 16 bits: significand digits and the least normal exponent."""

    digits: int
    least_exponent: int

    @property
    def infinity(self) -> int:
        """The pattern of +inf: exponent bits all ones, no fraction."""
        return (1 << 15) - (1 << (self.digits - 1))


FORMATS = {"bf16": Format(8, -126), "f16": Format(11, -14)}


def rounded(values: Array, dtype: str) -> Array:
    """The 16-bit patterns of float32 `values` rounded to nearest, ties to even.

    The significand is taken apart as an integer: what is shifted out is compared with half of the
    last digit kept. Too large becomes infinity, subnormals survive, a NaN becomes some NaN.

    >>> import numpy
    >>> given = numpy.array([1.00390625, 1.01171875, -1e-40, 65520, numpy.nan], numpy.float32)
    >>> [hex(pattern) for pattern in rounded(given, "bf16")]
    ['0x3f80', '0x3f82', '0x8001', '0x4780', '0x7fff']
    >>> [hex(pattern) for pattern in rounded(given, "f16")]
    ['0x3c04', '0x3c0c', '0x8000', '0x7c00', '0x7fff']
    """
    import numpy

    target = FORMATS[dtype]
    pattern = numpy.ascontiguousarray(values, numpy.float32).view(numpy.uint32).astype(numpy.int64)
    sign, biased, fraction = pattern >> 31, (pattern >> 23) & 0xFF, pattern & 0x7FFFFF
    # value = significand * 2**unit, for normal and subnormal numbers alike
    significand = numpy.where(biased > 0, fraction | 0x800000, fraction)
    exponent = numpy.maximum(biased, 1) - 127
    kept_exponent = numpy.maximum(exponent, target.least_exponent)
    # Beyond 25 digits everything is shifted out and is less than half.
    shift = numpy.minimum((24 - target.digits) + (kept_exponent - exponent), 25)
    kept, lost = significand >> shift, significand & ((1 << shift) - 1)
    half = 1 << (shift - 1)
    kept = kept + ((lost > half) | ((lost == half) & (kept % 2 == 1)))
    # The leading digit is implied from the least normal exponent on, and a carry lands there too.
    found = kept + ((kept_exponent - target.least_exponent) << (target.digits - 1))
    found = numpy.minimum(found, target.infinity)
    special = biased == 0xFF
    found = numpy.where(special, numpy.where(fraction > 0, 0x7FFF, target.infinity), found)
    patterns: Array = (found | (sign << 15)).astype(numpy.uint16)
    return patterns


def widened(patterns: Array, dtype: str) -> Array:
    """The numbers that 16-bit patterns stand for, as float64, exactly.

    >>> import numpy
    >>> widened(numpy.array([0x3FC0, 0x8001], numpy.uint16), "bf16").tolist()
    [1.5, -9.183549615799121e-41]
    """
    import numpy

    source = FORMATS[dtype]
    magnitude = patterns.astype(numpy.int64) & 0x7FFF
    biased, fraction = (
        magnitude >> (source.digits - 1),
        magnitude & ((1 << (source.digits - 1)) - 1),
    )
    significand = numpy.where(biased > 0, fraction | (1 << (source.digits - 1)), fraction)
    exponent = numpy.maximum(biased, 1) + source.least_exponent - source.digits
    number = numpy.ldexp(significand.astype(numpy.float64), exponent)
    number = numpy.where(magnitude == source.infinity, numpy.inf, number)
    number = numpy.where(magnitude > source.infinity, numpy.nan, number)
    return numpy.where(patterns >> 15 == 1, -number, number)


def same_patterns(expected: Array, actual: Array, dtype: str) -> Array:
    """Where two arrays of patterns agree: the same bits, or NaN and NaN."""
    infinity = FORMATS[dtype].infinity
    both_nan = ((expected & 0x7FFF) > infinity) & ((actual & 0x7FFF) > infinity)
    same: Array = (expected == actual) | both_nan
    return same


def product_interval(left: Array, right: Array) -> tuple[Array, Array]:
    """Float32 numbers between which ``left @ right`` on a tensor core must lie, inclusive.

    Products of 16-bit factors are exact. Their sum is not specified further than "at least single
    precision": hardware aligns the addends of a step with the largest of them and cuts what lies
    below its 2**-23, then cuts the sum likewise (Fasi et al., "Numerical behavior of NVIDIA tensor
    cores", PeerJ CS 2021). With S = |left| @ |right|, which no partial sum exceeds, each of the n
    products, and in each of the n / 8 steps the running sum before and after, loses less than
    2**-23 * S: (n + n / 4) * 2**-23 * S in all. It is doubled for terms of second order and for
    this function's own float64, and rounded outwards to float32.

    >>> import numpy
    >>> low, high = product_interval(numpy.full((1, 16), 1.0), numpy.full((16, 1), 0.5))
    >>> bool(low < 8 < high), bool(high - low < 1e-4)
    (True, True)
    """
    import numpy

    terms = left.shape[-1]
    exact = left @ right
    error = (terms + terms / 4) * 2.0**-22 * (numpy.abs(left) @ numpy.abs(right))
    down, up = (exact - error).astype(numpy.float32), (exact + error).astype(numpy.float32)
    infinity = numpy.float32(numpy.inf)
    return numpy.nextafter(down, -infinity), numpy.nextafter(up, infinity)


def random_words(count: int, seed: int) -> Array:
    """`count` pseudo-random 32-bit words; the same everywhere, whatever numpy's version.

    SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), upper halves.
    """
    import numpy

    gamma = numpy.uint64(0x9E3779B97F4A7C15)
    state = (numpy.arange(1, count + 1, dtype=numpy.uint64) + numpy.uint64(seed << 32)) * gamma
    state = (state ^ (state >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    return ((state ^ (state >> numpy.uint64(31))) >> numpy.uint64(32)).astype(numpy.uint32)


def special_words(dtype: str) -> Array:
    """Float32 patterns at which roundings go wrong, each with both signs.

    Zeros, infinities, NaNs whose payload lies in kept and in lost digits, subnormals of float32 and
    of the target, ties to even both ways and their neighbours, and the largest numbers.
    """
    import numpy

    target = FORMATS[dtype]
    last = 1 << (24 - target.digits)  # of a normal result, in units of float32's last digit
    least = 2.0**target.least_exponent
    tiny = least * 2.0 ** (1 - target.digits)
    largest = (2.0 - 2.0 ** (1 - target.digits)) * 2.0 ** (1 - target.least_exponent)
    magnitudes = [0, 1, 2, 0x7FFFFF, 0x800000, 0x7F7FFFFF, 0x7F800000]
    magnitudes += [0x7F800001, 0x7FBFFFFF, 0x7FC00000, 0x7FC12345, 0x7FFFFFFF]
    for kept in (1.0, 1.0 + 2.0 ** (1 - target.digits), largest, least):
        lost = (0, 1, last // 2 - 1, last // 2, last // 2 + 1, last - 1)
        magnitudes += [_pattern(kept) + each for each in lost]
    # Half of the least subnormal ties to zero, one and a half to two, and all below `least` round.
    for center in (tiny / 2, tiny, 1.5 * tiny, 2.5 * tiny, least - tiny / 2):
        magnitudes += [_pattern(center) + offset for offset in (-1, 0, 1)]
    positive = numpy.array(magnitudes, numpy.uint32)
    return numpy.concatenate([positive, positive | numpy.uint32(0x80000000)])


def _pattern(value: float) -> int:
    import numpy

    return int(numpy.float32(value).view(numpy.uint32))
