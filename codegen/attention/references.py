"""What attention should give, twice: in float64, and with every rounding that the kernel makes.

    weight[i, j] = exp(scale * q[i].k[j])  where row i keeps key j, else 0
    out[i] = sum_j weight[i, j] v[j] / sum_j weight[i, j],   lse[i] = ln sum_j weight[i, j]

A row that keeps no key gives zeros and -inf. Two equal scores give the mean of two values:

>>> import numpy
>>> q, k = numpy.zeros((1, 1, 1, 4)), numpy.zeros((1, 1, 2, 4))
>>> v = numpy.array([[[[1.0], [3.0]]]])
>>> out, lse = attention(q, k, v, scale=1.0)
>>> out.item(), round(lse.item(), 4)
(2.0, 0.6931)

`same_boundary` walks over key tiles as the kernel does, and rounds where it rounds: scores,
weights, sums and numerators to float32, and weights to 16 bits before they meet V. It is told the
tiles and the policy of the maximum, because both decide which numbers are rounded. Sums inside one
tile are exact here; the kernel adds them in float32, in an order of its own.

Nothing of Tylo is imported: an oracle that shares code with what it judges repeats its mistakes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

EXACT_BEYOND = 2.0**12
"""Where |c * maximum| is larger, the kernel subtracts before it scales."""

CAUSAL = (None, "top_left", "bottom_right")


def keep(queries: int, keys: int, causal: str | None = None, mask: Array | None = None) -> Array:
    """Which keys each row keeps, as Booleans that broadcast to (batch, heads, queries, keys).

    >>> keep(3, 2, "bottom_right").astype(int).tolist(), keep(3, 2, "top_left").astype(int).tolist()
    ([[0, 0], [1, 0], [1, 1]], [[1, 0], [1, 1], [1, 1]])
    """
    import numpy

    if causal not in CAUSAL:
        raise ValueError(f"causal is {causal!r}, not one of {CAUSAL}")
    row, key = numpy.ogrid[:queries, :keys]
    offset = {None: keys, "top_left": 0, "bottom_right": keys - queries}[causal]
    kept = key <= row + offset
    return kept if mask is None else kept & mask


def attention(
    q: Array,
    k: Array,
    v: Array,
    *,
    mask: Array | None = None,
    causal: str | None = None,
    scale: float | None = None,
) -> tuple[Array, Array]:
    """(out, lse) in float64; k and v may have fewer heads than q, each for a run of query heads."""
    import numpy

    q, k, v = (numpy.asarray(each, numpy.float64) for each in (q, k, v))
    k, v = _all_heads(q, k), _all_heads(q, v)
    factor = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    scores = factor * (q @ numpy.swapaxes(k, -1, -2))
    kept = numpy.broadcast_to(keep(q.shape[-2], k.shape[-2], causal, mask), scores.shape)
    scores = numpy.where(kept, scores, -numpy.inf)
    empty = ~kept.any(-1, keepdims=True)
    largest = numpy.where(empty, 0.0, scores.max(-1, keepdims=True, initial=-numpy.inf))
    weights = numpy.exp(scores - largest)
    total = weights.sum(-1, keepdims=True)
    out = numpy.where(empty, 0.0, weights @ v / numpy.where(empty, 1.0, total))
    with numpy.errstate(divide="ignore"):
        return out, (numpy.log(total) + largest)[..., 0]


def same_boundary(
    q: Array,
    k: Array,
    v: Array,
    *,
    rounded: Callable[[Array], Array],
    tiles: Iterable[range],
    lag: float = 0.0,
    mask: Array | None = None,
    causal: str | None = None,
    scale: float | None = None,
) -> tuple[Array, Array]:
    """(out before its last rounding, lse), both float32, over key `tiles` in the kernel's order.

    `rounded` rounds float32 to the 16 bits of the operands and back. The maximum follows a row only
    once the row is more than `lag` above it, in units of log2: 0 is the running maximum.
    """
    import numpy

    f32: Any = numpy.float32
    f64: Any = numpy.float64
    factor = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    c = f32(factor * math.log2(math.e))
    negative = not factor > 0
    q, k, v = (numpy.asarray(each, f64) for each in (q, k, v))
    k, v = _all_heads(q, k), _all_heads(q, v)
    kept: Array = numpy.broadcast_to(
        keep(q.shape[-2], k.shape[-2], causal, mask), (*q.shape[:-1], k.shape[-2])
    )
    maximum = numpy.full(q.shape[:-1], -numpy.inf, f32)
    total = numpy.zeros(q.shape[:-1], f32)
    numerator = numpy.zeros((*q.shape[:-1], v.shape[-1]), f32)
    with numpy.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        unit = f32(1) if negative else c
        for tile in tiles:
            scores = f32(q @ numpy.swapaxes(k[..., tile, :], -1, -2))
            if negative:  # the scale goes into the scores, so that the maximum is the right one
                scores = f32(scores * c)
            scores = numpy.where(kept[..., tile], scores, f32(-numpy.inf))
            highest = scores.max(-1, initial=-numpy.inf)
            moved = highest > maximum + f32(lag / unit)
            following = numpy.where(moved, highest, maximum)
            rescale = numpy.where(
                moved & (maximum > -numpy.inf), _weight(maximum, following, unit), f32(1)
            )
            weights = _weight(scores, following[..., None], unit)
            total = f32(f64(total) * rescale + f64(weights).sum(-1))
            product = f64(rounded(weights)) @ v[..., tile, :]
            numerator = f32(f64(f32(numerator * rescale[..., None])) + product)
            maximum = following
        empty = total == 0
        out = numpy.where(empty[..., None], f32(0), numerator / total[..., None])
        lse = f64(maximum) * (1.0 if negative else factor) * (math.log(2) if negative else 1.0)
        return f32(out), f32(numpy.where(empty, -numpy.inf, lse + numpy.log(f64(total))))


def _weight(scores: Array, maximum: Array, c: Any) -> Array:
    """2^(c * (scores - maximum)) in float32, in the form that the size of c * maximum allows."""
    import numpy

    f32: Any = numpy.float32
    f64: Any = numpy.float64
    safe = numpy.where(maximum == -numpy.inf, f32(0), maximum)
    reference = f32(safe * c)
    fused = f32(f64(scores) * f64(c) - f64(reference))
    apart = f32(f32(scores - safe) * c)
    power = f32(numpy.exp2(f64(numpy.where(abs(reference) > EXACT_BEYOND, apart, fused))))
    flushed: Array = numpy.where(power < f32(2.0**-126), f32(0), power)
    return flushed


def _all_heads(q: Array, k: Array) -> Array:
    """Each head of `k` repeated for the run of query heads that shares it."""
    heads, kv_heads = q.shape[-3], k.shape[-3]
    if kv_heads == heads:
        return k
    if kv_heads == 0 or heads % kv_heads:
        raise ValueError(f"{heads} query heads do not divide over {kv_heads} key heads")
    return k.repeat(heads // kv_heads, axis=-3)
