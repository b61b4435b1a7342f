"""Do two sets of rows share a byte? Answered exactly, without walking the rows.

A set of rows is `count` intervals of `width` bytes, `pitch` bytes apart. Two halves of one buffer's
columns lie in each other's range and share nothing:

>>> left, right = ByteRows(0, 512, 1000, 1024), ByteRows(512, 512, 1000, 1024)
>>> shared_byte(left, right) is None
True
>>> shared_byte(left, ByteRows(504, 512, 1000, 1024))
504

Row i of one meets row j of the other when their starts differ by less than a width. The difference
is `d + i * p - j * q`: with i free that is a question about `d + i * p` modulo q, namely which is
the first i whose remainder falls into a window. Like Euclid's algorithm it is answered by swapping
p and q for their remainders, in as many steps as a logarithm.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ByteRows:
    """`count` intervals of `width` bytes from `start`, each `pitch` >= 0 after the one before."""

    start: int
    width: int
    count: int
    pitch: int

    @property
    def end(self) -> int:
        return self.start + (self.count - 1) * self.pitch + self.width


def shared_byte(left: ByteRows, right: ByteRows) -> int | None:
    """A byte that both hold, in the first row of `left` that shares any, or None."""
    if 0 in (left.count, left.width, right.count, right.width):
        return None
    # Rows i of `left` that end after `right` starts and start before it ends.
    if left.pitch:
        first = max(0, -((left.start + left.width - 1 - right.start) // left.pitch))
        last = min(left.count - 1, (right.end - 1 - left.start) // left.pitch)
    elif left.start < right.end and right.start < left.end:
        first, last = 0, 0
    else:
        return None
    if first > last:
        return None
    start = left.start + first * left.pitch
    if right.count == 1 or not right.pitch:
        return max(start, right.start)
    # A row that starts at s meets row j of `right` exactly when s - right.start - j * pitch lies in
    # [-(left.width - 1), right.width - 1]; all rows considered lie within the range of some j.
    step = _first_in_window(
        left.pitch,
        start - right.start + left.width - 1,
        right.pitch,
        left.width + right.width - 2,
    )
    if step is None or first + step > last:
        return None
    start += step * left.pitch
    row = max(0, -((right.start + right.width - 1 - start) // right.pitch))
    return max(start, right.start + row * right.pitch)


def _first_in_window(step: int, offset: int, modulus: int, width: int) -> int | None:
    """The least i >= 0 with (offset + i * step) mod modulus <= width, or None."""
    if width >= modulus - 1:
        return 0
    low, high = -offset % modulus, (width - offset) % modulus
    # i * step mod modulus must lie in [low, high], a window that may wrap around zero.
    if low > high or low == 0:
        return 0
    return _first_between(step % modulus, modulus, low, high)


def _first_between(step: int, modulus: int, low: int, high: int) -> int | None:
    """The least i >= 0 with low <= i * step mod modulus <= high, for 0 < low <= high < modulus."""
    if step == 0:
        return None
    reached = -(-low // step)
    if reached * step <= high:
        return reached
    # No multiple of the step lies in the window, which is therefore narrower than it. Some must
    # wrap: i * step = y * modulus + w with w in the window, so y * modulus lies in it, negated,
    # modulo the step.
    wraps = _first_between(modulus % step, step, -high % step, -low % step)
    if wraps is None:
        return None
    return -(-(low + wraps * modulus) // step)
