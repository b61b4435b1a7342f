"""Scale and base of a softmax: which power of which multiple of a score a weight is.

The weight of score x under the reference r is ``base ** (scale * (x - r))``, computed as
``ex2((x - r) * c)`` with ``c = scale * log2(base)`` rounded to float32. The natural logarithm of a
sum of powers needs ``k = scale * ln(base)``, rounded to float32.

>>> Exponent(0.125).factor
0.1803368777036667
>>> Exponent(1, base=2).factor, Exponent(1).natural
(1.0, 1.0)

**Range.** c lies in [2^-100, 2^100], or is zero. There a difference of finite scores that
overflows to -inf stands for at least 2^128, and 2^128 * 2^-100 is far beyond where a power of two
vanishes, so that the weight 0 is right; and what c multiplies is never NaN. Scale zero makes every
kept score weigh the same; it takes a path of its own, because 0 * inf must not be evaluated. A
negative scale is refused: softmax of scale * x is softmax of -scale * -x, and the maximum that a
state holds would be a minimum.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from tylo.layouts.errors import GenerationError
from tylo.proofs.lane_programs.expression import float32

Base = Literal["e", 2]
SMALLEST, LARGEST = 2.0**-100, 2.0**100
# The base's logarithms in base 2 and e.
_LOGARITHMS: Mapping[object, tuple[float, float]] = MappingProxyType(
    {"e": (1 / math.log(2), 1.0), 2: (1.0, math.log(2))}
)


@dataclass(frozen=True, slots=True)
class Exponent:
    """The scale of the scores and the base of the powers; part of a state's type.

    Raises `GenerationError` for a scale that is negative, not finite or outside the range, and for
    a base other than ``"e"`` and 2.
    """

    scale: float = 1.0
    base: Base = "e"

    def __post_init__(self) -> None:
        if type(self.base) not in (str, int) or self.base not in _LOGARITHMS:
            raise GenerationError(f"base {self.base!r}", hint='use "e" or 2')
        if isinstance(self.scale, bool | str):
            raise GenerationError(f"scale {self.scale!r} is no number", hint="give a float")
        try:
            scale = float(self.scale) + 0.0  # which has no negative zero
        except (TypeError, ValueError, OverflowError):
            raise GenerationError(
                f"scale {self.scale!r} is no number", hint="give a float"
            ) from None
        object.__setattr__(self, "scale", scale)
        if not math.isfinite(scale):
            raise GenerationError(f"scale {scale} is not finite", hint="give a finite scale")
        if scale < 0:
            raise GenerationError(
                f"scale {scale} is negative",
                hint="negate the scores and use the positive scale: the weights are the same",
            )
        if scale and not SMALLEST <= self.factor <= LARGEST:
            raise GenerationError(
                f"scale {scale} makes the factor of the exponent {self.factor}",
                hint="it must be 0 or lie in [2**-100, 2**100]: scale the scores instead",
            )

    @property
    def factor(self) -> float:
        """c = scale * log2(base), a float32."""
        return float32(self.scale * _LOGARITHMS[self.base][0])

    @property
    def natural(self) -> float:
        """k = scale * ln(base), a float32."""
        return float32(self.scale * _LOGARITHMS[self.base][1])

    def __str__(self) -> str:
        return f"scale {self.scale:g}, base {self.base}"
