"""Expressions of the notation: what prints is read back, and functions are found by name."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tylo.layouts as tl
from tylo.layouts import (
    ComposedLayout,
    CoordinateLayout,
    Layout,
    LayoutError,
    LinearLayout,
    NotationError,
    Swizzle,
    evaluate,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("(4,(2,3)):(1,(4,8))", Layout((4, (2, 3)))),
        ("32:1", Layout(32)),
        ("(32):(1)", Layout((32,))),
        (" ( 4 , -2 ) ", (4, -2)),
        ("(4,_)", (4, None)),
        ("(3:4, 8:2)", (Layout(3, 4), Layout(8, 2))),
        ("Sw<3,4,3>", Swizzle(3, 4, 3)),
        ("Sw<3,4,3>@8", Swizzle(3, 4, 3, 8)),
        ("Sw<2,0,3> o 5 o (8,8)", ComposedLayout(Swizzle(2, 0, 3), 5, Layout((8, 8)))),
        (
            "F2[lane=[(1,0),(0,1)],x=[]->r:2,c:2]",
            LinearLayout({"lane": [(1, 0), (0, 1)], "x": []}, {"r": 2, "c": 2}),
        ),
        ("F2[lane=[1,2]->r:4]", LinearLayout({"lane": [(1,), (2,)]}, {"r": 4})),
        ("(4,2):(E<0>,4*E<1>)", CoordinateLayout.of((4, 2), ({(0,): 1}, {(1,): 4}))),
        (
            "(4,(2,3)):(E<0>+2*E<1,0>,(0,E<1,1>))",
            CoordinateLayout.of((4, (2, 3)), ({(0,): 1, (1, 0): 2}, ({}, {(1, 1): 1}))),
        ),
        ("4:2*E<1>+E<1>+E<0>", CoordinateLayout.of(4, {(1,): 3, (0,): 1})),
        ("composition((6,2):(8,2), (4,3):(3,1))", Layout(((2, 2), 3), ((24, 2), 8))),
        ("composition((12,(4,8)):(59,(13,1)), (3:4, 8:2))", Layout((3, (2, 4)), (236, (26, 1)))),
        (
            "composition(Sw<2,0,3>, (8,8):(8,1))",
            ComposedLayout(Swizzle(2, 0, 3), 0, Layout((8, 8), (8, 1))),
        ),
        ("coalesce((2,(1,6)):(1,(6,2)))", Layout(12)),
        ("coalesce(((2,2),(3,4)), (1,1))", Layout((4, 12), (1, 4))),
        ("complement(4:2, 24)", Layout((2, 3), (1, 8))),
        ("logical_divide(right_inverse((2,4):(4,1)), 4)", Layout((4, 2), (2, 1))),
        ("size((4,(2,3)))", 24),
        ("is_injective((4,2):(1,0))", False),
        ("compatible(24,(4,6))", True),
        ("idx2crd(17,(4,(2,3)))", (1, (0, 2))),
        ("slice((_,1),(4,2):(1,8))", Layout((4,), (1,))),
        (
            "invert(to_linear((2,4):(4,1)))",
            LinearLayout({"offset": [(2,), (4,), (1,)]}, {"index": 8}),
        ),
        ("to_layout(F2[x=[2,1]->o:4])", Layout((2, 2), (2, 1))),
        ("make_layout(4:1,(2):(8))", Layout((4, (2,)), (1, (8,)))),
    ],
)
def test_values(text: str, value: Any) -> None:
    assert evaluate(text) == value


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("", 0),
        ("composition(4:1, 2:1", 20),
        ("composition(4:1; 2:1)", 15),
        ("compose_all(4:1)", 0),
        ("size(frobnicate(4))", 5),
        ("size 4", 5),
        ("size(4:1,2,3)", 0),
        ("size()", 0),
        ("coalesce(Sw<1,0,1>)", 0),
        ("(4,2):(1;8)", 8),
        ("(4,2):(1,8) x", 12),
        ("(4,2):1", 0),
        ("(4,(0,2):1)", 3),
        ("Sw<3,4>", 0),
        ("Sw<3,x,3>", 5),
        ("Sw<2,0,1>", 0),
        ("Sw<2,0,3> o", 11),
        ("Sw<2,0,3> o 0 x", 14),
        ("Sw<2,0,3>@", 10),
        ("F2[x=(1)->o:2]", 5),
        ("F2[x [1]->o:2]", 5),
        ("F2[3=[1]->o:2]", 3),
        ("F2[x=[5]->o:2]", 0),
        ("F2[x=[1]->2]", 10),
        ("F2[x=[1]->o 2]", 12),
        ("(4,2):(E<0>,3*4)", 14),
        ("(4,2):(E<0>+3*4,1)", 14),
        ("(4,2):(E<0>+3,1)", 13),
        ("(4,2):(E<0>,1)", 0),
        ("(4,2):(E<0>,E<0,1>)", 0),
        ("4:-", 2),
    ],
)
def test_errors_point_at_the_column(text: str, column: int) -> None:
    with pytest.raises(NotationError) as refused:
        evaluate(text)
    assert refused.value.witness == column


def test_operations_without_an_answer_keep_their_witness() -> None:
    with pytest.raises(LayoutError, match="add up") as refused:
        evaluate("composition((6,2):(1,7),(3,2):(2,3))")
    assert refused.value.witness == (2, 1)


shapes = st.recursive(
    st.integers(1, 9), lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=5
)


@given(shapes, st.data())
@settings(max_examples=200, deadline=None)
def test_layouts_round_trip(shape: Any, data: st.DataObject) -> None:
    strides = tuple(data.draw(st.integers(-99, 99)) for _ in tl.flatten(shape))
    layout = Layout(shape, tl.unflatten(strides, shape))
    assert evaluate(str(layout)) == tl.parse(str(layout)) == layout


@given(st.integers(0, 3), st.integers(0, 4), st.integers(-4, 4), st.sampled_from([None, 1, 8, 16]))
@settings(max_examples=100, deadline=None)
def test_swizzles_round_trip(bits: int, base: int, shift: int, unit: int | None) -> None:
    assume(abs(shift) >= bits)
    swizzle = Swizzle(bits, base, shift, unit)
    composed = ComposedLayout(swizzle, 3, Layout((4, 2)))
    assert evaluate(str(swizzle)) == swizzle
    assert evaluate(str(composed)) == composed


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 3)), max_size=4))
@settings(max_examples=100, deadline=None)
def test_linear_layouts_round_trip(images: list[tuple[int, int]]) -> None:
    layout = LinearLayout({"lane": images, "warp": []}, {"row": 8, "col": 4})
    assert evaluate(str(layout)) == layout


@given(
    st.lists(
        st.dictionaries(st.integers(0, 2), st.integers(1, 9), max_size=2), min_size=1, max_size=3
    )
)
@settings(max_examples=100, deadline=None)
def test_coordinate_layouts_round_trip(steps: list[dict[int, int]]) -> None:
    assume(any(steps))
    layout = CoordinateLayout.of(
        (4,) * len(steps), tuple({(path,): s for path, s in step.items()} for step in steps)
    )
    assert evaluate(str(layout)) == layout
