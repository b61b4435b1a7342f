"""The mask of a softmax kernel: where the flags of a row lie, as terms over its sizes.

The number of a row is written in digits, one for each mode of the mask's rows, the innermost first;
each has a stride of its own, which may be zero. What is left for the last mode is its digit: rows
are no more than all modes together count.

>>> from tylo.layouts.terms import name, show
>>> show(mask_row(2, name("row")))
'row % mask_extent_0 * mask_stride_0 + row / mask_extent_0 * mask_stride_1'
>>> for condition in rows_fit(3):
...     print(condition)
(rows - 1) / mask_extent_0 / mask_extent_1 < mask_extent_2
"""

from __future__ import annotations

from collections.abc import Iterator

from tylo.layouts.terms import Integer, name
from tylo.proofs.effects import Less, Parameter

MODES = 8  # of a mask's rows, at most
_STRIDE, _EXTENT = 1 << 30, 1 << 28


def mask_row(modes: int, row: Integer) -> Integer:
    """The offset of a row's flags, in bytes."""
    rest, offset = row, None
    for mode in range(modes):
        last = mode == modes - 1
        digit = rest if last else rest % _extent(mode)
        rest = rest if last else rest // _extent(mode)
        found = digit * name(f"mask_stride_{mode}")
        offset = found if offset is None else offset + found
    return 0 if offset is None else offset


def rows_fit(modes: int) -> Iterator[Less]:
    """That all modes together count at least all rows, said of the digits of the last row.

    Their product would be a number of more bits the more modes there are.
    """
    rest = name("rows") - 1
    for mode in range(modes - 1):
        rest = rest // _extent(mode)
    if modes > 1:
        yield Less(rest, _extent(modes - 1))


def mask_end(modes: int, columns: Integer = name("columns")) -> Integer:  # noqa: B008 - frozen
    """One past the last flag, in bytes; of a single mode the rows are counted, not the extent."""
    end: Integer = 1
    extents = [name("rows")] if modes == 1 else [_extent(mode) for mode in range(modes)]
    strides = [f"mask_stride_{mode}" for mode in range(modes)]
    for extent, stride in zip([columns, *extents], ["mask_column_stride", *strides], strict=True):
        end = end + (extent * name(stride) - name(stride))
    return end


def mask_parameters(modes: int) -> Iterator[Parameter]:
    """Strides of columns and modes, and how many each mode counts; none without a mask."""
    if modes:
        yield Parameter("mask_column_stride", 64, 0, _STRIDE)
    for mode in range(modes):
        yield Parameter(f"mask_extent_{mode}", 64, 1, _EXTENT)
        yield Parameter(f"mask_stride_{mode}", 64, 0, _STRIDE)


def _extent(mode: int) -> Integer:
    return name(f"mask_extent_{mode}")
