"""Rounding float32 to 16 bits, as ``cvt.rn.bf16.f32`` and ``cvt.rn.f16.f32`` do it.

To nearest, ties to even; signed zeros, infinities and subnormals survive; what is too large becomes
infinity; a NaN stays a NaN with an unspecified payload.

Source: PTX ISA, "Data Movement and Conversion Instructions: cvt".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tylo.layouts.errors import GenerationError

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

_ROUNDED = ("bf16", "f16")


def rounded_bits(values: NDArray[Any], dtype: str) -> NDArray[numpy.uint16]:
    """The 16-bit patterns of float32 `values` rounded to `dtype`.

    >>> import numpy
    >>> ties = numpy.array([1.00390625, 1.01171875, -0.0, numpy.inf], dtype=numpy.float32)
    >>> [hex(bits) for bits in rounded_bits(ties, "bf16")]
    ['0x3f80', '0x3f82', '0x8000', '0x7f80']
    """
    import numpy

    if values.dtype != numpy.float32:
        raise GenerationError(
            f"cannot round {values.dtype} elements", hint="the conversions read float32"
        )
    if dtype == "f16":
        with numpy.errstate(over="ignore", under="ignore", invalid="ignore"):
            return values.astype(numpy.float16).view(numpy.uint16)
    if dtype == "bf16":
        # One axis at least: numpy warns when a sum of scalars wraps, and that of a NaN may.
        word = numpy.ascontiguousarray(values).view(numpy.uint32)
        # Adding just under half of the last kept bit, and that bit, carries exactly when rounding
        # to nearest even goes up; the carry into the exponent is what makes infinity.
        up = word + numpy.uint32(0x7FFF) + (word >> numpy.uint32(16) & numpy.uint32(1))
        quiet = word | numpy.uint32(0x0040_0000)
        kept = numpy.where(numpy.isnan(values), quiet, up)
        return (kept >> numpy.uint32(16)).astype(numpy.uint16).reshape(values.shape)
    raise GenerationError(f"cannot round to {dtype!r}", hint=f"round to {' or '.join(_ROUNDED)}")
