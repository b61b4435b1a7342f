"""Where a few rows lie in memory, for tests of a kernel: row by row, or across it.

>>> import numpy
>>> rows = numpy.arange(12).reshape(4, 3)
>>> Placement(4, 3, apart=1).spread(rows)[:5]
array([0, 1, 2, 0, 3])

Two runs of two rows side by side; the columns of a row are three elements apart, runs ten:

>>> placed = Placement(4, 3, inner=2, apart=1)
>>> placed.spread(rows).reshape(2, 10)[0]
array([0, 3, 0, 1, 4, 0, 2, 5, 0, 0])
>>> bool((placed.gathered(placed.spread(rows)) == rows).all()), placed.column_stride
(True, 3)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Placement:
    """So many rows of so many columns, `inner` of them side by side, or each for itself if zero.

    There are `apart` elements between rows; between columns and between runs of rows, if those run
    across memory.
    """

    rows: int
    columns: int
    inner: int = 0
    apart: int = 0

    @property
    def column_stride(self) -> int:
        """From a column of a row to the next."""
        return self.inner + self.apart if self.inner else 1

    @property
    def row_stride(self) -> int:
        """From a row to the next, or from a run of rows to the next."""
        return self.columns * self.column_stride + self.apart

    @property
    def runs(self) -> int:
        """How many there are of those."""
        return self.rows // self.inner if self.inner else self.rows

    @property
    def elements(self) -> int:
        """All of them, with what lies between."""
        return self.runs * self.row_stride

    def places(self) -> NDArray[Any]:
        """Where element ``[row, column]`` is."""
        import numpy

        row, column = numpy.indices((self.rows, self.columns))
        run, within = (row // self.inner, row % self.inner) if self.inner else (row, 0)
        return run * self.row_stride + column * self.column_stride + within

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """What memory holds, of values ``[row, column]``; zeros between."""
        import numpy

        held = numpy.zeros(self.elements, values.dtype)
        held[self.places()] = values
        return held

    def gathered(self, held: NDArray[Any]) -> NDArray[Any]:
        """The values ``[row, column]`` in memory."""
        found: NDArray[Any] = held.reshape(-1)[self.places()]
        return found

    def between(self, held: NDArray[Any]) -> NDArray[Any]:
        """What lies between them."""
        import numpy

        return numpy.delete(held.reshape(-1), self.places().reshape(-1))
