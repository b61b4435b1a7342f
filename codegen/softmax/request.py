"""What the choice of a softmax kernel depends on: sizes, strides, alignment, types, the device.

A request is built from tensors by `tylo.kernels`, and answered by `choose(request) -> Choice`
(`tylo.codegen.launch.choice`). It holds no address, only how well addresses are aligned, so that
one answer serves all tensors of one geometry.

The data are `rows` rows of `columns` elements, the elements of a row side by side:

    element (r, c) of x   : x + r * row_stride + c          (elements)
    element (r, c) of out : out + r * out_row_stride + c
    log-sum-exp of row r  : lse + r                          (float)
    mask of (r, c)        : mask + row(r) + c * mask.column_stride   (bytes, 0 or 1)

Rows may also run across memory, `inner` of them side by side, as those of a softmax along an axis
that is not the innermost do (`Across`). Then the columns have a stride, and only every `inner`-th
row is `row_stride` from the one before:

    element (r, c) of x   : x + r // inner * row_stride + r % inner + c * column_stride

and out likewise.

A mask that is broadcast over some outer dimensions has no single row stride. Its rows are given as
modes, (extent, stride) from the outermost to the innermost, whose extents multiply to `rows`; a row
that all rows share is ((rows, 0),). A mask per query and key, shared by all heads of a batch:

>>> MaskGeometry(rows=((8, 0), (128, 512)), column_stride=1).row(3 * 128 + 5)
2560

The arguments a kernel may name in `Choice.parameters`: pointers `x`, `out`, `lse`, `mask`;
integers `rows`, `columns`, `row_stride`, `out_row_stride`, `inner`, `column_stride`,
`out_column_stride`, `mask_column_stride`, and for mask mode i, counted from the innermost,
`mask_extent_i` and `mask_stride_i`.
"""

from __future__ import annotations

from dataclasses import dataclass

BYTES = {"f32": 4, "bf16": 2, "f16": 2}

# From this many bytes on, offsets do not fit a signed 32-bit integer.
WIDE_BYTES = 2**31


@dataclass(frozen=True)
class MaskGeometry:
    """Where the mask of (row, column) lies, in bytes from its start; see the module."""

    rows: tuple[tuple[int, int], ...]
    column_stride: int

    def row(self, row: int) -> int:
        """The offset of `row`: its digits in the modes, innermost first, times their strides."""
        offset = 0
        for extent, stride in reversed(self.rows):
            row, digit = divmod(row, extent)
            offset += digit * stride
        return offset

    @property
    def bytes(self) -> int:
        """One past the last byte that `columns = 1` reads."""
        return 1 + sum((extent - 1) * stride for extent, stride in self.rows)


@dataclass(frozen=True)
class Across:
    """Rows that run across memory: how many lie side by side, and the strides of their columns."""

    inner: int
    column_stride: int
    out_column_stride: int


@dataclass(frozen=True)
class SoftmaxRequest:
    """Everything that the choice may depend on. Strides in elements, alignments in bytes.

    `rows` and `columns` are at least 1. `alignment` is the greatest power of two up to 16 that
    divides the address of every row of x; `out_alignment` likewise, and `start_alignment` the one
    that divides the addresses of x and of out themselves. `out_dtype` is None when only
    the log-sum-exp is wanted. `capability` is the device's compute capability and
    `multiprocessors` how many it has. Where rows run `across` memory, alignments are those of every
    `inner`-th row and of all its columns.
    """

    rows: int
    columns: int
    dtype: str
    out_dtype: str | None
    row_stride: int
    out_row_stride: int
    alignment: int
    out_alignment: int
    mask: MaskGeometry | None = None
    lse: bool = False
    capability: tuple[int, int] = (9, 0)
    multiprocessors: int = 132
    start_alignment: int = 1
    across: Across | None = None

    @property
    def wide(self) -> bool:
        """Whether any offset in bytes, or the number of rows or columns, passes 2^31 - 1.

        >>> narrow = SoftmaxRequest(2**15, 2**14, "f32", "f32", 2**14, 2**14, 16, 16)
        >>> narrow.wide, (2**29 * 4) == 2**31
        (True, True)
        >>> SoftmaxRequest(2**15, 2**14, "bf16", "bf16", 2**14, 2**14, 16, 16).wide
        False
        """
        spans = [self.span * BYTES[self.dtype], self.rows, self.columns]
        if self.out_dtype is not None:
            spans.append(self.out_span * BYTES[self.out_dtype])
        if self.mask is not None:
            spans.append(self.mask.bytes + (self.columns - 1) * self.mask.column_stride)
        return max(spans) >= WIDE_BYTES

    @property
    def in_place(self) -> bool:
        """Whether an output that starts where x does is x, element for element."""
        strides = self.row_stride == self.out_row_stride
        if self.across is not None:
            strides = strides and self.across.column_stride == self.across.out_column_stride
        return strides and self.dtype == self.out_dtype

    @property
    def span(self) -> int:
        """Elements of x from the first to the last, gaps included."""
        return self._span(self.row_stride, self.across.column_stride if self.across else 1)

    @property
    def out_span(self) -> int:
        """The same of the output."""
        return self._span(self.out_row_stride, self.across.out_column_stride if self.across else 1)

    def _span(self, stride: int, column_stride: int) -> int:
        inner = self.across.inner if self.across else 1
        runs = self.rows // inner
        return (runs - 1) * stride + (self.columns - 1) * column_stride + inner
