"""The tables of the generated tests: given data, and what the oracle expects of it.

Every table is an array of uint32 under the name that the skeletons in ``cuda/tests`` give it. Two
16-bit elements share a word, the one with the even column in the low half. Right factors are stored
column by column, so that a row of the table is a column of the factor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tylo.codegen import oracle
from tylo.proofs.specifications.pack_operand_a import PackTile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Tables = dict[str, NDArray[Any]]

# 1 + digit is a code: BF16 holds every whole number up to 256, and no element's code is zero.
CODES = 128
_DIGIT_BITS = 7
_ROW_SHIFT = 16


def coordinates(tile: PackTile) -> Tables:
    """Factors whose products code one digit of the row or of the column, plane by plane."""
    import numpy

    rows, columns = tile.shape
    dtype = tile.atom.operand("A").dtype
    code_of = oracle.rounded(numpy.arange(1, CODES + 1).astype(numpy.float32), dtype)
    one = code_of[0]
    diagonal = numpy.eye(16, dtype=numpy.uint16)
    left, right, shifts = [], [], []
    for of_rows, extent in ((True, rows), (False, columns)):
        for shift in range(0, max(1, (extent - 1).bit_length()), _DIGIT_BITS):
            row_codes, column_codes = (
                code_of[(numpy.arange(size) >> shift) % CODES]
                if here
                else numpy.full(size, one, numpy.uint16)
                for size, here in ((rows, of_rows), (columns, not of_rows))
            )
            left.append(numpy.tile(diagonal, (rows // 16, 1)) * row_codes[:, None])
            right.append(numpy.repeat(column_codes[:, None], 16, axis=1))
            shifts.append(shift + (_ROW_SHIFT if of_rows else 0))
    held = oracle.packed_coordinates(tile.repeats_m, tile.pairs, tile.warps_m)
    return {
        "left_factors": _words(numpy.stack(left)).reshape(len(left), -1),
        "right_factors": _words(numpy.stack(right)).reshape(len(right), -1),
        "digit_shifts": numpy.array(shifts, numpy.uint32),
        "codes": code_of.astype(numpy.uint32),
        "coordinates": (held[..., 0] << _ROW_SHIFT | held[..., 1]).astype(numpy.uint32),
    }


def shared_roundtrip(tile: PackTile) -> Tables:
    """Random and special float32 numbers, row-major, and the same rounded."""
    import numpy

    dtype = tile.atom.operand("A").dtype
    source = float32_words(tile.elements, dtype, seed=1)
    rounded = oracle.rounded(source.view(numpy.float32), dtype)
    return {"source": source, "rounded": _words(rounded)}


def second_instruction(tile: PackTile) -> Tables:
    """Integers, then fractions: an accumulator, a second factor, and bounds of their product."""
    import numpy

    rows, inner = tile.shape
    dtype = tile.atom.operand("A").dtype
    held = oracle.product_coordinates(tile.repeats_m, tile.warps_m)
    tables: dict[str, list[NDArray[Any]]] = {
        label: [] for label in ("source", "second_factor", "lowest", "highest")
    }
    for exact in (True, False):
        source = _numbers(rows * inner, 2, exact).reshape(rows, inner)
        factor = oracle.rounded(_numbers(inner * 16, 3, exact), dtype).reshape(inner, 16)
        left = oracle.widened(oracle.rounded(source, dtype), dtype)
        right = oracle.widened(factor, dtype)
        low, high = (
            ((left @ right).astype(numpy.float32),) * 2
            if exact
            else oracle.product_interval(left, right)
        )
        tables["source"].append(source.view(numpy.uint32).reshape(-1))
        tables["second_factor"].append(_words(factor.T).reshape(-1))
        for label, bound in (("lowest", low), ("highest", high)):
            tables[label].append(bound[held[..., 0], held[..., 1]].view(numpy.uint32))
    return {label: numpy.stack(parts) for label, parts in tables.items()}


def float32_words(count: int, dtype: str, seed: int) -> NDArray[Any]:
    """Float32 patterns for rounding: special ones, arbitrary ones, and ones inside FP16's range.

    Special patterns lie in places of no order, as many as there is room for.
    """
    import numpy

    arbitrary, other, order = (oracle.random_words(count, 4 * seed + part) for part in range(3))
    exponent = 111 + other % 33
    in_range = (arbitrary & numpy.uint32(0x807FFFFF)) | (exponent << 23).astype(numpy.uint32)
    words = numpy.where(other >> 30 == 0, arbitrary, in_range).astype(numpy.uint32)
    special = oracle.special_words(dtype)[:count]
    words[numpy.argsort(order, kind="stable")[: len(special)]] = special
    return words


def _numbers(count: int, seed: int, exact: bool) -> NDArray[Any]:
    """Whole numbers from -8 to 8, or numbers between -2 and 2 with all digits, as float32."""
    import numpy

    words = oracle.random_words(count, seed)
    if exact:
        return (words % 17).astype(numpy.float32) - numpy.float32(8)
    return words.view(numpy.int32).astype(numpy.float32) * numpy.float32(2.0**-30)


def _words(halves: NDArray[Any]) -> NDArray[Any]:
    """Neighbouring 16-bit patterns along the last axis, two to a word."""
    import numpy

    wide = halves.astype(numpy.uint32)
    return wide[..., 0::2] | wide[..., 1::2] << numpy.uint32(16)
