"""Rearranging modes and nesting coordinates, on random hierarchies, against what they must mean."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import tylo.layouts as tl
from tylo.layouts import Layout

PROPERTIES = settings.get_profile("properties")
LEAVES = st.tuples(st.sampled_from([1, 2, 3, 4]), st.sampled_from([0, 1, 2, 3, 5, 8, 24]))


def nested(children: Any) -> Any:
    return st.lists(children, min_size=1, max_size=3).map(tuple)


@st.composite
def hierarchies(draw: st.DrawFn) -> Layout:
    """Layouts of one to three modes, each up to two levels deep, of at most 256 elements."""
    tree = draw(
        nested(st.one_of(LEAVES.map(lambda leaf: ("leaf", leaf)), nested(LEAVES)))
        .map(_split)
        .filter(lambda pair: math.prod(_leaves(pair[0])) <= 256)
    )
    return Layout(*tree)


def _split(tree: Any) -> tuple[Any, Any]:
    """Shape and stride of a tree of (extent, stride) leaves."""
    if isinstance(tree, tuple) and tree and tree[0] == "leaf":
        return tree[1]
    if len(tree) == 2 and all(isinstance(part, int) for part in tree):
        return tree
    parts = [_split(part) for part in tree]
    return tuple(shape for shape, _ in parts), tuple(stride for _, stride in parts)


def _leaves(tree: Any) -> Iterator[int]:
    if isinstance(tree, tuple):
        for part in tree:
            yield from _leaves(part)
    else:
        yield tree


def value(layout: Layout, index: int) -> int:
    """The offset at an index, digit by digit, first leaf fastest: nothing of Tylo's takes part."""
    total = 0
    for extent, stride in zip(_leaves(layout.shape), _leaves(layout.stride), strict=True):
        total += index % extent * stride
        index //= extent
    return total


def table(layout: Layout) -> list[int]:
    return [value(layout, index) for index in range(math.prod(_leaves(layout.shape)))]


def modes(layout: Layout) -> list[Layout]:
    return [
        Layout(shape, stride) for shape, stride in zip(layout.shape, layout.stride, strict=True)
    ]


@given(hierarchies())
@PROPERTIES
def test_flatten_and_group_keep_the_function(layout: Layout) -> None:
    assert table(tl.flatten(layout)) == table(layout)
    assert all(isinstance(extent, int) for extent in tl.flatten(layout).shape)
    rank = len(layout.shape)
    for begin, end in itertools.combinations(range(rank + 1), 2):
        grouped = tl.group(layout, begin, end)
        assert table(grouped) == table(layout)
        assert len(grouped.shape) == rank - (end - begin) + 1
        assert modes(grouped)[:begin] == modes(layout)[:begin]


@given(hierarchies(), hierarchies())
@PROPERTIES
def test_append_prepend_and_replace_add_what_their_modes_hold(a: Layout, b: Layout) -> None:
    after, before = tl.append(a, b), tl.prepend(a, b)
    ours, theirs = table(a), table(b)
    assert table(after) == [x + y for y in theirs for x in ours]
    assert table(before) == [x + y for x in ours for y in theirs]
    assert modes(after)[:-1] == modes(a) == modes(before)[1:]
    for place in range(len(a.shape)):
        parts = [table(mode) for mode in modes(a)]
        parts[place] = theirs
        expected = [sum(choice) for choice in itertools.product(*reversed(parts))]
        assert table(tl.replace(a, place, b)) == expected


@given(hierarchies(), st.data())
@PROPERTIES
def test_slice_and_dice_part_the_modes_between_them(layout: Layout, data: st.DataObject) -> None:
    sizes = [math.prod(_leaves(shape)) for shape in layout.shape]
    coordinate = tuple(
        data.draw(st.one_of(st.none(), st.integers(0, size - 1)), label="entry") for size in sizes
    )
    kept, offset = tl.slice_and_offset(coordinate, layout)
    free = [mode for entry, mode in zip(coordinate, modes(layout), strict=True) if entry is None]
    fixed = [
        mode for entry, mode in zip(coordinate, modes(layout), strict=True) if entry is not None
    ]
    chosen = [
        value(mode, entry)
        for entry, mode in zip(coordinate, modes(layout), strict=True)
        if entry is not None
    ]
    assert offset == sum(chosen)
    expected = [sum(c) for c in itertools.product(*(table(mode) for mode in reversed(free)))]
    assert table(kept) == expected
    assert table(tl.slice(coordinate, layout)) == expected
    diced = [sum(c) for c in itertools.product(*(table(mode) for mode in reversed(fixed)))]
    assert table(tl.dice(coordinate, layout)) == diced


@given(hierarchies())
@PROPERTIES
def test_indices_and_coordinates_are_inverse(layout: Layout) -> None:
    shape, stride = layout.shape, layout.stride
    seen = set()
    for index in range(math.prod(_leaves(shape))):
        coordinate = tl.idx2crd(index, shape)
        assert tl.congruent(coordinate, shape)
        assert all(
            0 <= digit < extent
            for digit, extent in zip(_leaves(coordinate), _leaves(shape), strict=True)
        )
        assert tl.crd2idx(coordinate, shape) == index
        assert tl.crd2idx(coordinate, shape, stride) == value(layout, index) == layout(coordinate)
        assert tl.crd2crd(index, shape) == coordinate
        seen.add(coordinate)
    assert len(seen) == math.prod(_leaves(shape))


@given(hierarchies(), hierarchies())
@PROPERTIES
def test_compatible_shapes_accept_each_others_coordinates(a: Layout, b: Layout) -> None:
    assert tl.congruent(a.shape, a.stride)
    assert tl.compatible(a.shape, a.shape)
    assert tl.compatible(math.prod(_leaves(a.shape)), a.shape)
    assert tl.congruent(a.shape, b.shape) == (_profile(a.shape) == _profile(b.shape))
    if tl.compatible(a.shape, b.shape):
        assert math.prod(_leaves(a.shape)) == math.prod(_leaves(b.shape))
        for index in range(math.prod(_leaves(a.shape))):
            assert tl.crd2idx(tl.idx2crd(index, a.shape), b.shape) == index
    if tl.congruent(a.shape, b.shape):
        assert tl.weakly_congruent(a.shape, b.shape)


def _profile(tree: Any) -> Any:
    return tuple(_profile(part) for part in tree) if isinstance(tree, tuple) else None
