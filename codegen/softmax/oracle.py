"""What softmax is, in float64, written down without Tylo.

An oracle that shares code with what it judges repeats its mistakes: this module imports numpy
alone. A row that meets NaN or +inf is NaN throughout; a row in which nothing is kept is zeros, and
its log-sum-exp is -inf.

>>> import numpy
>>> softmax(numpy.array([[0.0, 0.0], [1.0, -numpy.inf]]))[0].tolist()
[[0.5, 0.5], [1.0, 0.0]]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


def softmax(scores: Array, keep: Array | None = None) -> tuple[Array, Array]:
    """Probabilities and natural log-sum-exp of the rows of ``[row, column]``, in float64."""
    import numpy

    x = numpy.asarray(scores, numpy.float64)
    if keep is not None:
        x = numpy.where(keep, x, -numpy.inf)
    greatest = x.max(axis=1, keepdims=True)
    bad = numpy.isnan(greatest) | (greatest == numpy.inf)
    empty = greatest == -numpy.inf
    shift = numpy.where(bad | empty, 0.0, greatest)
    with numpy.errstate(over="ignore", invalid="ignore", divide="ignore"):
        power = numpy.exp(x - shift)
        total = power.sum(axis=1, keepdims=True)
        probabilities = numpy.where(empty, 0.0, power / numpy.where(empty, 1.0, total))
        logarithm = numpy.where(empty, -numpy.inf, shift + numpy.log(total))
    nan = numpy.nan
    return numpy.where(bad, nan, probabilities), numpy.where(bad, nan, logarithm)[:, 0]


def widened(words: Array, dtype: str) -> Array:
    """The float64 values of bit patterns (uint32 of f32, uint16 of bf16 and f16)."""
    import numpy

    if dtype == "f32":
        return words.view(numpy.float32).astype(numpy.float64)
    if dtype == "bf16":
        return (words.astype(numpy.uint32) << 16).view(numpy.float32).astype(numpy.float64)
    return words.view(numpy.float16).astype(numpy.float64)


def narrowed(values: Array, dtype: str) -> Array:
    """Bit patterns whose values are near `values`: inputs for a test, rounded towards zero."""
    import numpy

    single = numpy.asarray(values, numpy.float32)
    if dtype == "f32":
        return single.view(numpy.uint32)
    if dtype == "bf16":
        nan = numpy.isnan(single)
        return numpy.where(nan, 0x7FC0, single.view(numpy.uint32) >> 16).astype(numpy.uint16)
    return single.astype(numpy.float16).view(numpy.uint16)


def tolerance(dtype: str | None) -> tuple[float, float]:
    """(relative, absolute) error of a probability that a right kernel stays within.

    Four units of the type's last digit, or 2^-19 for float32, where `ex2.approx` and the order of a
    sum show; absolutely, what vanishes below the least normal number.
    """
    return {
        "f32": (2.0**-19, 2.0**-120),
        "bf16": (2.0**-8, 2.0**-120),
        "f16": (2.0**-10, 2.0**-23),
        None: (0.0, 0.0),
    }[dtype]


# Absolute up to one, relative from there on.
LOGARITHM_APART = 2e-6


def near_logarithm(found: Array, wanted: Array) -> Array:
    """Which log-sum-exps are right: within 2e-6, relative from 1 on; an infinity or NaN as it is.

    >>> import numpy
    >>> infinity, nan = numpy.inf, numpy.nan
    >>> near_logarithm(
    ...     numpy.array([1.0, -60000.0, -infinity, 0.0, nan]),
    ...     numpy.array([1.000001, -infinity, -infinity, nan, nan]),
    ... ).tolist()
    [True, False, True, False, True]
    """
    import numpy

    finite = numpy.isfinite(wanted)
    with numpy.errstate(invalid="ignore"):
        near = numpy.abs(found - wanted) <= LOGARITHM_APART * numpy.maximum(1, numpy.abs(wanted))
    same: Array = (finite & near) | (found == wanted) | (numpy.isnan(found) & numpy.isnan(wanted))
    return same
