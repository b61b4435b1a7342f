"""`Layout` as a value and as a function, and the integer tuples beneath it."""

from __future__ import annotations

import copy
import itertools
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tylo.layouts as tl
from tylo.layouts import Layout, LayoutError, NotationError

shapes = st.recursive(
    st.integers(1, 5),
    lambda inner: st.lists(inner, min_size=1, max_size=3).map(tuple),
    max_leaves=5,
)


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    shape = draw(shapes)
    strides = tuple(draw(st.integers(-9, 40)) for _ in tl.flatten(shape))
    return Layout(shape, tl.unflatten(strides, shape))


def all_coordinates(shape: Any) -> list[object]:
    """The fully nested coordinates in index order, by nested loops."""
    if isinstance(shape, int):
        return list(range(shape))
    modes = [all_coordinates(mode) for mode in shape]
    return [c[::-1] for c in itertools.product(*reversed(modes))]


@given(layouts())
@settings.get_profile("properties")
def test_a_layout_is_the_inner_product_of_its_digits(layout: Layout) -> None:
    offsets = []
    for index, coordinate in enumerate(all_coordinates(layout.shape)):
        offset = sum(
            c * d for c, d in zip(tl.flatten(coordinate), tl.flatten(layout.stride), strict=True)
        )
        assert layout(coordinate) == layout(index) == layout.extended(index) == offset
        assert tl.idx2crd(index, layout.shape) == coordinate
        assert tl.crd2idx(coordinate, layout.shape) == index
        assert tl.crd2crd(coordinate, layout.size(), layout.shape) == index
        offsets.append(offset)
    assert layout.size() == len(offsets)
    assert layout.min_offset() == min(offsets)
    assert layout.max_offset() == max(offsets)
    assert layout.cosize() == tl.cosize(layout) == max(offsets) - min(offsets) + 1


@given(layouts())
@settings.get_profile("properties")
def test_text_and_copies_round_trip(layout: Layout) -> None:
    assert tl.parse(str(layout)) == layout
    assert eval(repr(layout), {"Layout": Layout}) == layout
    assert pickle.loads(pickle.dumps(layout)) == layout
    assert copy.deepcopy(layout) == layout
    assert hash(tl.parse(str(layout))) == hash(layout)


def test_entries_are_normalised() -> None:
    layout = Layout([np.int64(4), [np.uint8(2)]], (np.int32(1), [4]))
    assert layout == Layout((4, (2,)), (1, (4,)))
    assert {type(entry) for entry in tl.flatten((layout.shape, layout.stride))} == {int}


@pytest.mark.parametrize(
    ("shape", "stride", "message"),
    [
        (0, None, "extent below 1"),
        ((4, -2), None, "extent below 1"),
        (2.0, None, "extent 2.0"),
        (True, None, "extent True"),
        ((2, 3), (1, "x"), "stride 'x'"),
        ((2, 3), 1, "nest differently"),
        ((2, 3), (1, (2, 3)), "nest differently"),
        (4, (1,), "nest differently"),
    ],
)
def test_what_is_no_layout(shape: object, stride: object, message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        Layout(shape, stride)


def test_an_extent_below_1_is_named_by_its_place() -> None:
    with pytest.raises(LayoutError, match="extent below 1") as refused:
        Layout((4, (2, 0)))
    assert refused.value.witness == 2


def test_a_layout_is_frozen_and_not_its_tuple() -> None:
    layout = Layout((4, 2))
    with pytest.raises(AttributeError, match="frozen"):
        layout.shape = (2, 4)
    with pytest.raises(AttributeError, match="frozen"):
        del layout.stride
    assert layout != ((4, 2), (1, 4))
    assert len({layout, Layout((4, 2)), Layout((4, 2), (2, 1))}) == 2


def test_modes() -> None:
    layout = Layout((4, (2, 3)))
    assert list(layout) == [Layout(4), Layout((2, 3), (4, 8))]
    assert layout[-1] == layout[1]
    assert layout[:1] == Layout((4,), (1,))
    assert Layout(4)[0] == Layout(4)
    assert len(layout) == tl.rank(layout.shape) == 2
    assert tl.depth(layout.shape) == 2
    assert tl.depth(()) == 1
    assert tl.make_layout([Layout(4), Layout(2, 8)]) == Layout((4, 2), (1, 8))
    assert tl.make_layout(layout) == Layout(((4, (2, 3)),))
    assert tl.is_layout(layout)
    assert not tl.is_layout((4, 2))
    assert tl.as_layout(layout) is layout
    assert tl.as_layout((4, 2)) == Layout((4, 2))
    for absent in (layout, 2), (Layout(4), 1):
        with pytest.raises(LayoutError, match="has no mode"):
            absent[0][absent[1]]


def test_the_empty_layout_has_one_element() -> None:
    empty = Layout((), ())
    assert (empty.size(), empty.cosize(), empty(()), empty.extended(0), str(empty)) == (
        1,
        1,
        0,
        0,
        "():()",
    )
    assert tl.parse("():()") == empty
    assert tl.composition(empty, Layout(3)) == Layout(3, 0)
    assert tl.coalesce(empty) == Layout(1, 0)


@pytest.mark.parametrize(
    ("coordinate", "message"),
    [
        ((24,), "index 24"),
        ((-1,), "index -1"),
        ((4, 0), "coordinate 4"),
        ((0, 6), "index 6"),
        ((0, (0, 3)), "coordinate 3"),
        ((0, 0, 0), "does not fit"),
        (((1, 2), 0), "does not fit"),
    ],
)
def test_coordinates_outside(coordinate: tuple[object, ...], message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        Layout((4, (2, 3)))(*coordinate)


def test_indices_outside_a_layout_without_parentheses() -> None:
    for index in -1, 4, 9:
        with pytest.raises(LayoutError, match=r"outside 0\.\.3"):
            Layout(4)(index)
        with pytest.raises(LayoutError, match=r"outside 0\.\.3"):
            tl.crd2idx((0, index), (2, 4))
    with pytest.raises(LayoutError, match="index 1 is outside"):
        Layout((), ())(1)


def test_running_past_the_end_is_explicit_and_never_backwards() -> None:
    assert Layout((4, 2), (1, 8)).extended(11) == 19
    with pytest.raises(LayoutError, match="negative"):
        Layout(4).extended(-1)


def test_slices() -> None:
    layout = Layout((4, (2, 3)), (1, (4, 8)))
    assert layout(None, 1) == Layout((4,), (1,))
    assert tl.slice_and_offset((2, (None, 1)), layout) == (Layout((2,), (4,)), 10)
    assert tl.slice_((None, 1), (4, (2, 3))) == (4,)
    assert tl.has_none((1, (2, None)))
    assert not tl.has_none((1, (2, 3)))


def test_int_tuples() -> None:
    assert tl.is_int(3)
    assert not tl.is_int(True)
    assert tl.is_tuple(())
    assert (tl.signum(-7), tl.signum(0), tl.signum(7)) == (-1, 0, 1)
    assert tl.product((2, (3, 4))) == 24
    assert tl.tuple_max((2, (9, 4))) == 9
    assert tl.elem_scale((2, (3, 4)), (5, (1, 2))) == (10, (3, 8))
    assert tl.elem_scale(2, (3, 4)) == 24
    assert tl.shape_div((3, 4, 5), 6) == (1, 2, 5)
    assert tl.shape_div((6, (4, 5)), (2, (8, 5))) == (3, (1, 1))
    assert tl.prefix_product((2, (3, 4)), (10, (1, 5))) == (10, (1, 5))
    assert tl.idx2crd((1, 5), (2, (3, 2))) == (1, (2, 1))
    assert tl.idx2crd(5, (2, 3), (3, 1)) == (1, 2)
    assert tl.idx2crd((1, 2), (2, 3), (3, 1)) == (0, 2)
    assert tl.crd2idx((None, 2), (2, 3)) == 4
    assert tl.crd2crd((1, 5), (2, (3, 2))) == (1, (2, 1))
    assert tl.unflatten((1,), 7) == 1
    assert tl.inner_product((2, (3, 4)), (1, (10, 100))) == 432
    assert tl.compatible(Layout(24), Layout((4, 6)))
    assert tl.congruent((1, (2, 3)), (4, (5, 6)))
    assert not tl.congruent((1, 2), (1, 2, 3))
    assert tl.weakly_congruent((4, 1), (1, (2, 3)))
    assert not tl.weakly_congruent((4, (1, 1)), (1, 2))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: tl.inner_product((1, 2), 3),
        lambda: tl.inner_product(1, (2, 3)),
        lambda: tl.shape_div(4, 3),
        lambda: tl.shape_div((2, 2), (2, 2, 2)),
        lambda: tl.prefix_product(3, (1, 2)),
        lambda: tl.idx2crd(6, (2, 3)),
        lambda: tl.idx2crd((1, 2), 6),
        lambda: tl.crd2crd((1, 2), 6),
        lambda: tl.crd2crd((1, 2), (2, 3, 4)),
        lambda: tl.crd2crd(9, 6),
        lambda: tl.unflatten((1, 2), (0, 0, 0)),
    ],
)
def test_int_tuples_that_do_not_fit(wrong: Callable[[], object]) -> None:
    with pytest.raises(LayoutError):
        wrong()


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("", 0),
        ("(4,2", 4),
        ("(4,2):(1;8)", 8),
        ("(4,2):(1,x)", 9),
        ("(4,2):(1,8) 9", 12),
        ("(4,2):", 6),
        ("(4 2)", 3),
        ("(4,2):1", 0),
        ("  (0,2)", 2),
        ("4:-", 2),
    ],
)
def test_parse_errors_point_at_the_column(text: str, column: int) -> None:
    with pytest.raises(NotationError) as refused:
        tl.parse(text)
    assert refused.value.witness == column


def test_blanks_and_pythons_one_tuples_are_read() -> None:
    assert tl.parse(" ( 32 , ) : ( -1 , ) ") == Layout((32,), (-1,))
    assert tl.parse("(4,2)") == Layout((4, 2))
    assert tl.parse_int_tuple("((1),-2)") == ((1,), -2)
    with pytest.raises(NotationError):
        tl.parse_int_tuple("1 2")


def test_import_needs_the_standard_library_alone() -> None:
    code = (
        "import sys, tylo.layouts;"
        "print(sorted({'numpy','sympy','z3','cvc5'} & {m.split('.')[0] for m in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
