"""The running domain: a value is an array of bit patterns, one `uint64` for each lane.

Patterns narrower than 64 bits keep their upper bits zero. Floating-point instructions go to
`floats`, which computes them bit by bit as the PTX ISA says.

>>> import numpy as np
>>> lanes = np.arange(4, dtype=np.uint64)
>>> d = Arrays()
>>> d.subtract(lanes, d.constant(2, 32), 32).tolist()
[4294967294, 4294967295, 0, 1]
>>> d.less(lanes, d.constant(-1, 32), 32, signed=True).tolist()
[0, 0, 0, 0]
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tylo.proofs.ptx.machine.floats import apply

Lanes = npt.NDArray[np.uint64]

_MASK = [np.uint64((1 << width) - 1) for width in range(65)]
_SHIFT = [np.uint64(amount) for amount in range(65)]


def signed(value: Any, width: int) -> npt.NDArray[np.int64]:
    """The patterns as two's complement numbers."""
    shift = np.int64(64 - width)
    return np.right_shift(np.left_shift(np.asarray(value).astype(np.int64), shift), shift)


class Arrays:
    """The `Domain` of arrays of lanes."""

    def constant(self, value: int, width: int) -> Any:
        return np.uint64(value & ((1 << width) - 1))

    def add(self, left: Any, right: Any, width: int) -> Any:
        return (left + right) & _MASK[width]

    def subtract(self, left: Any, right: Any, width: int) -> Any:
        return (left - right) & _MASK[width]

    def multiply(self, left: Any, right: Any, width: int) -> Any:
        return (left * right) & _MASK[width]

    def multiply_high(self, left: Any, right: Any, width: int, signed: bool) -> Any:
        if width <= 32:
            wide = self.multiply(
                self.extend(left, width, 64, signed), self.extend(right, width, 64, signed), 64
            )
            return (wide >> _SHIFT[width]) & _MASK[width]
        half, low = _SHIFT[32], _MASK[32]
        a, b, c, d = left >> half, left & low, right >> half, right & low
        middle = a * d + (b * d >> half)
        carry = (middle & low) + b * c
        high = a * c + (middle >> half) + (carry >> half)
        if signed:
            top = _SHIFT[63]
            high = high - (left >> top) * right - (right >> top) * left
        return high

    def divide(self, left: Any, right: Any, width: int, signed: bool) -> Any:
        """The quotient towards zero; all ones where the divisor is zero."""
        quotient, _ = self._division(left, right, width, signed)
        return np.where(np.asarray(right) == 0, _MASK[width], quotient)

    def remainder(self, left: Any, right: Any, width: int, signed: bool) -> Any:
        """The remainder with the dividend's sign; the dividend where the divisor is zero."""
        _, remainder = self._division(left, right, width, signed)
        return np.where(np.asarray(right) == 0, left, remainder)

    def _division(self, left: Any, right: Any, width: int, is_signed: bool) -> tuple[Any, Any]:
        divisor = np.where(np.asarray(right) == 0, np.uint64(1), right)
        if not is_signed:
            return left // divisor, left % divisor
        top = _SHIFT[width - 1]
        zero = np.uint64(0)
        a, b = left >> top & np.uint64(1), divisor >> top & np.uint64(1)
        size = np.where(a == 1, self.subtract(zero, left, width), left)
        by = np.where(b == 1, self.subtract(zero, divisor, width), divisor)
        quotient, remainder = size // by, size % by
        return (
            np.where(a != b, self.subtract(zero, quotient, width), quotient),
            np.where(a == 1, self.subtract(zero, remainder, width), remainder),
        )

    def bit_and(self, left: Any, right: Any, width: int) -> Any:
        return left & right

    def bit_or(self, left: Any, right: Any, width: int) -> Any:
        return left | right

    def bit_xor(self, left: Any, right: Any, width: int) -> Any:
        return left ^ right

    def shift_left(self, value: Any, amount: Any, width: int) -> Any:
        moved = (value << np.minimum(amount, _SHIFT[63])) & _MASK[width]
        return np.where(amount < _SHIFT[width], moved, np.uint64(0))

    def shift_right(self, value: Any, amount: Any, width: int, signed: bool) -> Any:
        if signed:
            wide = self.extend(value, width, 64, True).astype(np.int64)
            shifted = wide >> np.minimum(amount, _SHIFT[63]).astype(np.int64)
            return shifted.astype(np.uint64) & _MASK[width]
        moved = value >> np.minimum(amount, _SHIFT[63])
        return np.where(amount < _SHIFT[width], moved, np.uint64(0))

    def extend(self, value: Any, width: int, to: int, signed: bool) -> Any:
        if not signed or width == to:
            return value
        top = np.uint64(1 << (width - 1))
        return ((value ^ top) - top) & _MASK[to]

    def extract(self, value: Any, low: int, width: int) -> Any:
        return (value >> _SHIFT[low]) & _MASK[width]

    def concatenate(self, parts: list[Any], widths: list[int]) -> Any:
        value, low = parts[0], widths[0]
        for part, width in zip(parts[1:], widths[1:], strict=True):
            value = value | part << _SHIFT[low]
            low += width
        return value

    def equal(self, left: Any, right: Any, width: int) -> Any:
        return np.equal(left, right).astype(np.uint64)

    def less(self, left: Any, right: Any, width: int, signed: bool) -> Any:
        if signed:
            top = np.uint64(1 << (width - 1))
            left, right = left ^ top, right ^ top
        return np.less(left, right).astype(np.uint64)

    def select(self, condition: Any, chosen: Any, otherwise: Any, width: int) -> Any:
        return np.where(np.asarray(condition) != 0, chosen, otherwise)

    def function(self, name: str, operands: list[Any], width: int) -> Any:
        return apply(name, operands)
