"""Folding dimensions into rows, against numpy's own strides and plain enumeration."""

from __future__ import annotations

import itertools
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tylo.codegen.tensors.rows import broadcast_strides, count, fold, row_order, row_stride
from tylo.layouts.errors import LaunchError

shapes = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


@given(shapes, st.data())
def test_modes_give_the_offset_of_every_row(shape: tuple[int, ...], data: Any) -> None:
    strides = tuple(data.draw(st.integers(0, 60)) for _ in shape)
    axis = data.draw(st.integers(0, len(shape) - 1))
    order = row_order(shape, strides, axis)
    assert sorted(order) == [each for each in range(len(shape)) if each != axis]
    modes = fold(shape, strides, order)
    by_index = [
        sum(i * strides[each] for i, each in zip(index, order, strict=True))
        for index in itertools.product(*(range(shape[each]) for each in order))
    ]
    by_mode = [
        sum(i * stride for i, (_, stride) in zip(index, modes, strict=True))
        for index in itertools.product(*(range(extent) for extent, _ in modes))
    ]
    assert by_mode == by_index
    assert len(by_index) == count(shape, order)
    assert modes == ((1, 0),) or all(extent > 1 for extent, _ in modes)
    for one, other in itertools.pairwise(modes):
        assert one[1] != other[0] * other[1]


@given(st.permutations(range(4)), st.integers(0, 3))
def test_every_permutation_of_a_contiguous_array_folds_to_one_stride(
    permutation: list[int], axis: int
) -> None:
    """Unless the axis lies in the middle of memory, where the rows have a gap by nature."""
    array = numpy.empty((2, 3, 4, 5), numpy.int8).transpose(permutation)
    order = row_order(array.shape, array.strides, axis)
    innermost, outermost = array.strides[axis] == 1, array.strides[axis] == 60
    if innermost or outermost:
        assert row_stride(array.shape, array.strides, order, name="x", axis=axis) == (
            array.shape[axis] if innermost else 1
        )


def test_dimensions_of_extent_one_stay_in_their_place() -> None:
    assert row_order((2, 1, 5), (5, 5, 1), axis=2) == (0, 1)
    assert row_order((1, 2, 5), (999, 5, 1), axis=2) == (0, 1)
    assert row_order((3, 1, 4, 7), (7, 84, 21, 1), axis=3) == (1, 2, 0)
    assert row_order((5,), (1,), axis=0) == ()


def test_s22_rows_with_padding_between_batches_have_no_common_stride() -> None:
    """Elsewhere a padded batch stride was ignored: the second batch came from the wrong place."""
    order = row_order((2, 4, 2, 2), (32, 4, 2, 1), axis=1)
    with pytest.raises(LaunchError, match=r"\(32, 4, 2, 1\) fold to rows \(2, 32\), \(4, 1\)"):
        row_stride((2, 4, 2, 2), (32, 4, 2, 1), order, name="x", axis=1)


@given(shapes, st.data())
def test_broadcasting_is_numpys(shape: tuple[int, ...], data: Any) -> None:
    own = tuple(data.draw(st.sampled_from([1, size])) for size in shape)
    own = own[data.draw(st.integers(0, len(own))) :]
    array = numpy.empty(own, numpy.int8)
    expected = numpy.broadcast_to(array, shape).strides
    found = broadcast_strides(own, array.strides, shape, name="mask")
    assert [s for s, n in zip(found, shape, strict=True) if n > 1] == [
        s for s, n in zip(expected, shape, strict=True) if n > 1
    ]


@pytest.mark.parametrize(
    ("shape", "target"), [((2,), (3,)), ((1, 3), (3,)), ((4, 3), (2, 3)), ((0,), (3,))]
)
def test_what_does_not_broadcast_is_refused(
    shape: tuple[int, ...], target: tuple[int, ...]
) -> None:
    with pytest.raises(LaunchError, match="does not broadcast"):
        broadcast_strides(shape, (1,) * len(shape), target, name="mask")
