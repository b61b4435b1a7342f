"""Random layouts for the properties of the algebra, and what the tests ask of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from tylo.layouts import Layout, LayoutError

EXTENTS = st.sampled_from([1, 2, 2, 3, 4, 6])
STRIDES = st.sampled_from([0, 1, 1, 2, 3, 4, 6, 8, 12, 24])


def layouts(max_modes: int = 3, strides: st.SearchStrategy[int] = STRIDES) -> Any:
    return st.lists(st.tuples(EXTENTS, strides), min_size=1, max_size=max_modes).map(
        lambda modes: Layout(tuple(n for n, _ in modes), tuple(d for _, d in modes))
    )


@st.composite
def permuted_compact(draw: st.DrawFn) -> Layout:
    """Compact layouts with their modes in any order, sometimes padded."""
    extents = draw(st.lists(st.sampled_from([1, 2, 3, 4, 5]), min_size=1, max_size=4))
    order = draw(st.permutations(range(len(extents))))
    strides, step = [0] * len(extents), 1
    for mode in order:
        strides[mode] = step
        step *= extents[mode] * draw(st.sampled_from([1, 1, 1, 2]))
    return Layout(tuple(extents), tuple(strides))


any_layout = st.one_of(layouts(), permuted_compact())


def outcome(call: Callable[[], Any]) -> Any:
    """The result, or the refusal."""
    try:
        return call()
    except LayoutError as refused:
        return refused


def table(layout: Any) -> list[int]:
    return [layout(i) for i in range(layout.size())]
