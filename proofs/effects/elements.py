"""Where the elements of an output lie, who writes them, and conditions between sizes."""

from __future__ import annotations

from dataclasses import dataclass

from tylo.layouts.terms import Integer, show


@dataclass(frozen=True, slots=True)
class Less:
    """The condition ``left < right`` on two terms."""

    left: Integer
    right: Integer

    def __str__(self) -> str:
        return f"{show(self.left)} < {show(self.right)}"


@dataclass(frozen=True, slots=True)
class Matrix:
    """The elements ``row * stride + column`` with ``row < rows`` and ``column < columns``.

    With a `run`, only so many columns lie side by side, and the next ones begin `run_stride`
    further on: ``row * stride + column // run * run_stride + column % run``. All are terms over the
    sizes. That no two elements are one place is proven.
    """

    rows: Integer
    columns: Integer
    stride: Integer
    run: Integer = 0
    run_stride: Integer = 0

    @property
    def terms(self) -> tuple[Integer, ...]:
        """All that it is made of."""
        return self.rows, self.columns, self.stride, self.run, self.run_stride

    def place(self, row: Integer, column: Integer) -> Integer:
        """Where an element is, in elements.

        >>> from tylo.layouts.terms import name
        >>> show(Matrix(4, 8, 4, 2, 100).place(name("i"), name("j")))
        'i * 4 + j / 2 * 100 + j % 2'
        """
        if self.run == 0:
            return row * self.stride + column
        return row * self.stride + (column // self.run * self.run_stride + column % self.run)


@dataclass(frozen=True, slots=True)
class Element:
    """Where in a `Matrix` a store begins, and who writes an element there: two inverse maps.

    `row` and `column` are terms over thread, block, round, step and sizes. `block`, `thread`,
    `round` and `step`, and `block_y` and `block_z` in a grid with such axes, are terms over
    ``row``, ``column`` and sizes: the only ones that may write that element by this store. Both
    directions are proven, so that a wrong inverse is refused, never believed.
    """

    row: Integer
    column: Integer
    block: Integer
    thread: Integer
    step: Integer = 0
    round: Integer = 0
    block_y: Integer = 0
    block_z: Integer = 0
