"""Tables of linear layouts: the first input dimension runs down, the second right.

A cell holds the output coordinate, or the plain value when there is one output dimension. Further
inputs stay at 0, and a note says so.
"""

from __future__ import annotations

from tylo.layouts.drawing.from_layout import BANK_BITS, bank
from tylo.layouts.drawing.grid import Cell, Grid, crop_notes
from tylo.layouts.int_tuple import show
from tylo.layouts.linear.value import LinearLayout, apply, total_bits


def linear_grid(layout: LinearLayout, side: int, bits: int | None) -> Grid:
    """The table of a linear layout."""
    ins = layout.in_dims if len(layout.in_dims) > 1 else (("", 1), *layout.in_dims, ("", 1))
    (down, rows), (right, columns) = ins[:2]
    below = rows.bit_length() - 1
    width = bits or BANK_BITS

    def cell(row: int, column: int) -> Cell:
        image = layout.unpacked(apply(layout.columns, row | column << below))
        text = show(image[0] if len(image) == 1 else image)
        named = {down: row, right: column}
        where = ",".join(f"{name}={index}" for name, index in named.items() if name)
        first = image[0] if image else 0
        return Cell(text, bank(first, width) if len(image) == 1 else first, f"{where} -> {text}")

    outs = [name for name, _ in layout.out_dims]
    notes = crop_notes(rows, columns, side)
    if total_bits(layout.in_dims[2:]):
        others = ", ".join(name for name, _ in layout.in_dims[2:])
        notes += (f"inputs {down} and {right}; at 0: {others}",)
    return Grid(
        title=str(layout),
        axes=(down, right),
        colours=(
            f"shared-memory bank of {width}-bit elements"
            if len(outs) == 1
            else f"output {outs[0]}"
            if outs
            else "nothing"
        ),
        cells=tuple(
            tuple(cell(row, column) for column in range(min(columns, side)))
            for row in range(min(rows, side))
        ),
        notes=notes,
    )
