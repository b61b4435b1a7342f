"""How each bit-vector operator acts on plain numbers, as SMT-LIB defines it.

>>> FOLD["bvashr"](8, 0x90, 4), FOLD["bvudiv"](8, 7, 0), FOLD["bvsrem"](8, 0xF9, 3)
(249, 255, 255)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping


def as_signed(value: int, width: int) -> int:
    return value - (value >> (width - 1) << width)


def runs(mask: int) -> Iterator[tuple[int, int]]:
    """Where each run of adjacent ones begins and ends.

    >>> list(runs(0b1011100))
    [(2, 5), (6, 7)]
    """
    start = 0
    while mask >> start:
        start += (mask >> start & -(mask >> start)).bit_length() - 1
        end = start
        while mask >> end & 1:
            end += 1
        yield start, end
        start = end


def _divided(a: int, b: int) -> tuple[int, int]:
    """Quotient towards zero and remainder, by zero as SMT-LIB has it."""
    if b == 0:
        return (-1 if a >= 0 else 1), a
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return quotient, a - b * quotient


# How each operator acts on plain numbers; operands and results are in [0, 2^width).
FOLD: Mapping[str, Callable[..., int]] = {
    "bvadd": lambda w, a, b: (a + b) % (1 << w),
    "bvsub": lambda w, a, b: (a - b) % (1 << w),
    "bvmul": lambda w, a, b: (a * b) % (1 << w),
    "bvudiv": lambda w, a, b: a // b if b else (1 << w) - 1,
    "bvurem": lambda w, a, b: a % b if b else a,
    "bvsdiv": lambda w, a, b: _divided(as_signed(a, w), as_signed(b, w))[0] % (1 << w),
    "bvsrem": lambda w, a, b: _divided(as_signed(a, w), as_signed(b, w))[1] % (1 << w),
    "bvand": lambda w, a, b: a & b,
    "bvor": lambda w, a, b: a | b,
    "bvxor": lambda w, a, b: a ^ b,
    "bvshl": lambda w, a, b: (a << b) % (1 << w) if b < w else 0,
    "bvlshr": lambda w, a, b: a >> b if b < w else 0,
    "bvashr": lambda w, a, b: (as_signed(a, w) >> min(b, w - 1)) % (1 << w),
    "=": lambda w, a, b: int(a == b),
    "bvult": lambda w, a, b: int(a < b),
    "bvslt": lambda w, a, b: int(as_signed(a, w) < as_signed(b, w)),
}
