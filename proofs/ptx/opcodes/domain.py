"""What the opcode table asks of values: a `Domain`.

A value is a bit pattern whose width its user knows. The table's semantics are written once against
these operations; a domain reads them: bit-vector terms prove, arrays of lanes run. Floating-point
instructions are named functions of bit patterns (`function`), so that a domain decides how much of
them it knows.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

V = TypeVar("V")


class Domain(Protocol[V]):
    """Operations on bit patterns; `width` is that of the operands unless it says otherwise.

    Arithmetic is modulo 2^width. Shift amounts are patterns of the same width, and amounts of
    `width` or more shift everything out. Comparisons return one bit, and `select` reads one.
    """

    def constant(self, value: int, width: int) -> V: ...

    def add(self, left: V, right: V, width: int) -> V: ...

    def subtract(self, left: V, right: V, width: int) -> V: ...

    def multiply(self, left: V, right: V, width: int) -> V: ...

    def multiply_high(self, left: V, right: V, width: int, signed: bool) -> V:
        """The upper half of the product of twice the width."""
        ...

    def divide(self, left: V, right: V, width: int, signed: bool) -> V:
        """The quotient towards zero; unspecified where the divisor is zero."""
        ...

    def remainder(self, left: V, right: V, width: int, signed: bool) -> V:
        """What `divide` leaves, with the sign of the dividend."""
        ...

    def bit_and(self, left: V, right: V, width: int) -> V: ...

    def bit_or(self, left: V, right: V, width: int) -> V: ...

    def bit_xor(self, left: V, right: V, width: int) -> V: ...

    def shift_left(self, value: V, amount: V, width: int) -> V: ...

    def shift_right(self, value: V, amount: V, width: int, signed: bool) -> V: ...

    def extend(self, value: V, width: int, to: int, signed: bool) -> V:
        """`value` of `width` bits in `to` bits, at least as many."""
        ...

    def extract(self, value: V, low: int, width: int) -> V:
        """`width` bits of `value`, starting at bit `low`."""
        ...

    def concatenate(self, parts: list[V], widths: list[int]) -> V:
        """Parts from the least significant on."""
        ...

    def equal(self, left: V, right: V, width: int) -> V: ...

    def less(self, left: V, right: V, width: int, signed: bool) -> V: ...

    def select(self, condition: V, chosen: V, otherwise: V, width: int) -> V: ...

    def function(self, name: str, operands: list[V], width: int) -> V:
        """A floating-point instruction by its mnemonic; `width` is that of the result."""
        ...
