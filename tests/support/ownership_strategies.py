"""Random ownerships whose digits move along one axis each."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tylo.layouts.ownership import Input, Mode, Ownership

_LANE_DIGITS = 5
_MOST = 256


@st.composite
def ownerships(draw: st.DrawFn, *, warps_along: tuple[int, ...] = (0, 1)) -> Ownership:
    """Two axes, each a mixed radix of digits dealt out to values, lanes and warps in any order.

    Lane digits have size 2; some digits move nothing. Warps move along `warps_along` only.
    """
    digits: dict[str, list[tuple[int, int | None, int]]] = {
        label: [] for label in ("value", "repeat", "lane", "warp")
    }
    extents, elements = [1, 1], 1
    for _ in range(draw(st.integers(1, 8))):
        axis = draw(st.sampled_from([0, 0, 1, 1, 1, None]))
        allowed = ["value", "repeat", "lane", "lane"]
        if axis is None or axis in warps_along:
            allowed.append("warp")
        source = draw(st.sampled_from(allowed))
        size = 2 if source == "lane" else draw(st.sampled_from([1, 2, 2, 3]))
        if elements * size > _MOST or (source == "lane" and len(digits["lane"]) == _LANE_DIGITS):
            continue
        digits[source].append((size, axis, 1 if axis is None else extents[axis]))
        elements *= size
        if axis is not None:
            extents[axis] *= size

    def modes(source: str) -> tuple[Mode, ...]:
        shuffled = draw(st.permutations(digits[source]))
        return tuple(
            Mode(size, tuple(step if axis == each else 0 for each in (0, 1)))
            for size, axis, step in shuffled
        )

    inputs: dict[str, Any] = {label: Input(label, modes(label)) for label in digits}
    return Ownership(
        (("row", extents[0]), ("column", extents[1])),
        (inputs["value"], inputs["repeat"]),
        (inputs["lane"], inputs["warp"]),
        32,
    )
