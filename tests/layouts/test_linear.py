"""Linear layouts over F2: an independent oracle, and brute force over every input."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tylo.layouts import ComposedLayout, Layout, LayoutError, LinearLayout, Swizzle, linear

DATA = Path(__file__).parents[1] / "data" / "f2_cases.json"
CASES: list[dict[str, Any]] = json.loads(DATA.read_text())["cases"]


def built(spec: dict[str, Any]) -> LinearLayout:
    return LinearLayout(spec["bases"], spec["out_dims"])


EVALUATE: dict[str, Callable[[dict[str, Any]], LinearLayout]] = {
    "compose": lambda i: linear.compose(built(i["first"]), built(i["then"])),
    "invert": lambda i: linear.invert(built(i["layout"])),
    "pseudoinvert": lambda i: linear.pseudo_invert(built(i["layout"])),
    "invert_and_compose": lambda i: linear.invert_and_compose(built(i["this"]), built(i["outer"])),
    "divide_left": lambda i: linear.divide_left(built(i["a"]), built(i["b"])),
    "product": lambda i: linear.product(built(i["inner"]), built(i["outer"])),
}


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_oracle(case: dict[str, Any]) -> None:
    expected = case["expected"]
    if case["op"] == "properties":
        layout = built(case["inputs"]["layout"])
        assert linear.is_injective(layout) == expected["injective"]
        assert linear.is_surjective(layout) == expected["surjective"]
        assert linear.is_invertible(layout) == expected["invertible"]
        return
    got, want = EVALUATE[case["op"]](case["inputs"]), built(expected)
    assert real_dims(got.in_dims) == real_dims(want.in_dims)
    assert real_dims(got.out_dims) == real_dims(want.out_dims)
    for at in points(want):
        assert values(got, at) == values(want, at)


def real_dims(dims: tuple[tuple[str, int], ...]) -> dict[str, int]:
    return {name: size for name, size in dims if size > 1}


def points(layout: LinearLayout) -> list[dict[str, int]]:
    names = list(real_dims(layout.in_dims))
    ranges = [range(size) for size in real_dims(layout.in_dims).values()]
    return [dict(zip(names, at, strict=True)) for at in itertools.product(*ranges)]


def values(layout: LinearLayout, at: dict[str, int]) -> dict[str, int]:
    return {name: v for name, v in layout(**at).items() if name in real_dims(layout.out_dims)}


def random_layouts(
    ins: tuple[str, ...] = ("x", "y"), outs: tuple[tuple[str, int], ...] = (("r", 8), ("c", 4))
) -> st.SearchStrategy[LinearLayout]:
    image = st.tuples(*[st.integers(0, size - 1) for _, size in outs])
    return st.fixed_dictionaries({name: st.lists(image, max_size=3) for name in ins}).map(
        lambda bases: LinearLayout({name: bases[name] for name in ins}, outs)
    )


@given(random_layouts())
@settings.get_profile("properties")
def test_a_linear_layout_is_the_exclusive_or_of_its_bases(layout: LinearLayout) -> None:
    reached = []
    for at in points(layout):
        expected = {"r": 0, "c": 0}
        for name, value in at.items():
            for bit, (r, c) in enumerate(layout.bases[name]):
                if value >> bit & 1:
                    expected = {"r": expected["r"] ^ r, "c": expected["c"] ^ c}
        assert layout(**at) == expected
        reached.append((expected["r"], expected["c"]))
    assert linear.is_injective(layout) == (len(set(reached)) == len(reached))
    assert linear.is_surjective(layout) == (len(set(reached)) == 32)
    free = linear.free_variables(layout)
    fixed = [
        tuple(layout(**at).values())
        for at in points(layout)
        if all(not value & free[name] for name, value in at.items())
    ]
    assert sorted(fixed) == sorted(set(reached))
    assert eval(repr(layout), {"LinearLayout": LinearLayout}) == layout


sixteen = st.tuples(st.integers(0, 15))


@given(
    random_layouts(),
    st.lists(sixteen, min_size=3, max_size=4),
    st.lists(sixteen, min_size=2, max_size=3),
)
@settings.get_profile("properties")
def test_compose(first: LinearLayout, rows: list[tuple[int]], columns: list[tuple[int]]) -> None:
    then = LinearLayout({"r": rows, "c": columns}, {"z": 16})
    both = linear.compose(first, then)
    for at in points(first):
        assert both(**at) == then(**first(**at))


@given(random_layouts())
@settings.get_profile("properties")
def test_inverses(layout: LinearLayout) -> None:
    outputs = [{"r": r, "c": c} for r in range(8) for c in range(4)]
    if linear.is_surjective(layout):
        inverse = linear.pseudo_invert(layout)
        for at in outputs:
            assert layout(**inverse(**at)) == at
    else:
        with pytest.raises(LayoutError, match="does not reach") as refused:
            linear.pseudo_invert(layout)
        assert all(layout(**at) != refused.value.witness for at in points(layout))
    if linear.is_invertible(layout):
        assert linear.invert(layout) == linear.pseudo_invert(layout)
    else:
        with pytest.raises(LayoutError, match="has no inverse"):
            linear.invert(layout)


@given(random_layouts(), random_layouts(("u", "v")))
@settings.get_profile("properties")
def test_invert_and_compose_and_common_bases(this: LinearLayout, outer: LinearLayout) -> None:
    mine = {tuple(this(**at).values()) for at in points(this)}
    theirs = {tuple(outer(**at).values()) for at in points(outer)}
    shared = {(0, 0)}
    for r, c in linear.common_bases(this, outer):
        shared |= {(a ^ r, b ^ c) for a, b in shared}
    assert shared == mine & theirs
    assert len(shared) == 1 << len(linear.common_bases(this, outer))
    if mine <= theirs:
        found = linear.invert_and_compose(this, outer)
        for at in points(this):
            assert outer(**found(**at)) == this(**at)
    else:
        with pytest.raises(LayoutError, match="does not reach") as refused:
            linear.invert_and_compose(this, outer)
        assert tuple(this(**refused.value.witness).values()) not in theirs


@given(random_layouts(), random_layouts(("x", "z"), (("c", 2), ("d", 4))))
@settings.get_profile("properties")
def test_products_and_divisions(inner: LinearLayout, outer: LinearLayout) -> None:
    whole = linear.product(inner, outer)
    low = dict(inner.in_dims)
    scale = dict(inner.out_dims)
    for at in points(whole):
        first = inner(**{n: at.get(n, 0) % low[n] for n in low})
        second = outer(**{n: at.get(n, 0) // low.get(n, 1) for n, _ in outer.in_dims})
        expected = {
            n: first.get(n, 0) + scale.get(n, 1) * second.get(n, 0) for n, _ in whole.out_dims
        }
        assert whole(**at) == expected
    assert linear.product(inner, linear.divide_left(whole, inner)) == whole
    assert linear.product(linear.divide_right(whole, outer), outer) == whole


def test_divisions_that_fail() -> None:
    whole = LinearLayout({"x": [(1,), (3,)]}, {"o": 4})
    with pytest.raises(LayoutError, match="does not begin") as refused:
        linear.divide_left(whole, linear.identity(2, "x", "o"))
    assert refused.value.witness == {"x": 2}
    with pytest.raises(LayoutError, match="does not begin") as refused:
        linear.divide_left(whole, LinearLayout({"x": [(0,)]}, {"o": 1}))
    assert refused.value.witness == {"x": 1}
    with pytest.raises(LayoutError, match="does not end") as refused:
        linear.divide_right(whole, linear.identity(2, "x", "o"))
    assert refused.value.witness == {"x": 2}
    with pytest.raises(LayoutError, match="does not end") as refused:
        linear.divide_right(
            LinearLayout({"x": [(2,), (1,)]}, {"o": 4}), linear.identity(2, "x", "o")
        )
    assert refused.value.witness == {"x": 1}
    for wrong in linear.identity(8, "x", "o"), linear.identity(2, "y", "o"):
        with pytest.raises(LayoutError, match="is not part of"):
            linear.divide_left(whole, wrong)
    with pytest.raises(LayoutError, match="the output o of size 8"):
        linear.divide_right(whole, LinearLayout({"x": [(1,)]}, {"o": 8}))


def test_quotient() -> None:
    rest = LinearLayout({"x": [(1,), (3,)]}, {"o": 4})
    whole = linear.product(linear.identity(4, "block", "block"), rest)
    assert linear.quotient(whole, ["block"]) == rest
    with pytest.raises(LayoutError, match="not the identity"):
        linear.quotient(whole, ["x"])
    touched = LinearLayout({"b": [(1, 0)], "x": [(1, 1)]}, {"b": 2, "o": 2})
    with pytest.raises(LayoutError, match="not the identity") as refused:
        linear.quotient(touched, ["b"])
    assert refused.value.witness == {"x": 1}
    wide = LinearLayout({"b": [(1, 0)], "x": [(0, 1)]}, {"b": 4, "o": 2})
    with pytest.raises(LayoutError, match="2 inputs and 4 outputs"):
        linear.quotient(wide, ["b"])


def test_builders() -> None:
    assert linear.identity(4, "a", "b") == LinearLayout({"a": [(1,), (2,)]}, {"b": 4})
    assert linear.strided(4, 4, "a", "b") == LinearLayout({"a": [(4,), (8,)]}, {"b": 16})
    assert linear.zeros(4, "a", "b", 2) == LinearLayout({"a": [(0,), (0,)]}, {"b": 2})


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: linear.identity(6, "a", "b"),
        lambda: linear.strided(4, 3, "a", "b"),
        lambda: linear.zeros(4, "a", "b", 3),
        lambda: LinearLayout({}, {"o": 12}),
        lambda: linear.from_layout(Layout((2, 3))),
        lambda: linear.reshape_ins(linear.identity(4, "a", "b"), {"c": 3}),
    ],
)
def test_sizes_that_are_no_power_of_two_are_refused_with_the_reason(
    wrong: Callable[[], object],
) -> None:
    with pytest.raises(LayoutError, match="no power of two: an exclusive-or of bits can't count"):
        wrong()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: LinearLayout({"x": [(1, 2)]}, {"o": 4}), "2 entries for 1"),
        (lambda: LinearLayout({"x": [(4,)]}, {"o": 4}), "outside 0..3"),
        (lambda: linear.identity(4, "x", "o")(x=4), "outside 0..3"),
        (lambda: linear.identity(4, "x", "o")(y=1), "no input dimension is named y"),
        (lambda: linear.compose(linear.identity(4, "x", "o"), linear.identity(2, "o", "z")), "fit"),
        (lambda: linear.compose(linear.identity(4, "x", "o"), linear.identity(4, "p", "z")), "fit"),
        (lambda: linear.reshape_outs(linear.identity(4, "x", "o"), {"o": 8}), "3 bits"),
        (lambda: linear.transpose_ins(linear.identity(4, "x", "o"), ["y"]), "no order"),
        (lambda: linear.sublayout(linear.identity(4, "x", "o"), ["y"], ["o"]), "no input y"),
        (lambda: linear.sublayout(linear.identity(4, "x", "o"), ["x"], ["p"]), "no output p"),
    ],
)
def test_what_does_not_fit_is_refused(wrong: Callable[[], object], message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        wrong()


@given(random_layouts())
@settings.get_profile("properties")
def test_reshapes_keep_the_bits(layout: LinearLayout) -> None:
    flat = linear.reshape_outs(layout, {"o": 32})
    swapped = linear.transpose_outs(layout, ["c", "r"])
    turned = linear.transpose_ins(layout, ["y", "x"])
    bits = sum(size.bit_length() - 1 for _, size in layout.in_dims)
    one = linear.reshape_ins(layout, {"i": 1 << bits})
    sizes = dict(layout.in_dims)
    for at in points(layout):
        out = layout(**at)
        assert flat(**at) == {"o": out["r"] + 8 * out["c"]}
        assert swapped(**at) == turned(**at) == out
        assert one(i=at.get("x", 0) + sizes["x"] * at.get("y", 0)) == out
        assert linear.sublayout(layout, ["x"], ["c"])(x=at.get("x", 0)) == {
            "c": layout(x=at.get("x", 0))["c"]
        }
    assert list(swapped(x=0)) == ["c", "r"]


def test_composition_goes_by_name_and_into_larger_inputs() -> None:
    first = LinearLayout({"x": [(1, 0), (0, 1)]}, {"r": 2, "c": 2})
    then = LinearLayout({"c": [(1,)], "r": [(2,), (4,)]}, {"o": 8})
    assert linear.compose(first, then).bases == {"x": [(2,), (1,)]}
    outer = LinearLayout({"i": [(0, 1), (1, 0)]}, {"c": 2, "r": 2})
    assert linear.invert_and_compose(first, outer).bases == {"x": [(1,), (2,)]}
    assert linear.common_bases(first, outer) == ((1, 0), (0, 1))


pow2 = st.lists(
    st.tuples(st.sampled_from([1, 2, 4, 8]), st.sampled_from([0, 1, 2, 3, 4, 5, 8, 12, 16, 32])),
    min_size=1,
    max_size=3,
).map(lambda modes: Layout(tuple(n for n, _ in modes), tuple(d for _, d in modes)))


@given(pow2)
@settings.get_profile("properties")
def test_bridge_from_layouts_is_exact(layout: Layout) -> None:
    table = [layout(i) for i in range(layout.size())]
    is_linear = all(
        table[i ^ j] == table[i] ^ table[j] for i in range(len(table)) for j in range(len(table))
    )
    if not is_linear:
        with pytest.raises(LayoutError, match="carries") as refused:
            linear.from_layout(layout)
        at = refused.value.witness
        low = at & -at
        assert layout(at) != layout(low) ^ layout(at ^ low)
        return
    found = linear.from_layout(layout)
    assert [found(index=i)["offset"] for i in range(len(table))] == table
    back = linear.to_layout(found)
    assert [back(i) for i in range(back.size())] == table


@given(random_layouts(("x",), (("o", 32),)))
@settings.get_profile("properties")
def test_bridge_to_layouts_is_exact(layout: LinearLayout) -> None:
    table = [layout(x=i)["o"] for i in range(dict(layout.in_dims)["x"])]
    additive = all(
        table[i] == sum(table[1 << b] for b in range(5) if i >> b & 1) for i in range(len(table))
    )
    if additive:
        back = linear.to_layout(layout)
        assert [back(i) for i in range(back.size())] == table
    else:
        with pytest.raises(LayoutError, match="share a bit"):
            linear.to_layout(layout)


@given(st.integers(0, 3), st.integers(0, 4), st.integers(-5, 5))
@settings.get_profile("properties")
def test_bridge_to_swizzles_is_exact(bits: int, base: int, shift: int) -> None:
    assume(abs(shift) >= bits)
    swizzle = Swizzle(bits, base, shift)
    found = linear.from_layout(swizzle)
    assert all(found(index=x)["offset"] == swizzle(x) for x in range(swizzle.size()))
    back = linear.to_swizzle(found)
    assert all(back(x) == swizzle(x) for x in range(swizzle.size()))


def test_composed_layouts_become_linear() -> None:
    composed = ComposedLayout(Swizzle(2, 0, 3), 0, Layout((8, 8), (8, 1)))
    found = linear.from_layout(composed, target_size=128)
    assert dict(found.out_dims) == {"offset": 128}
    assert all(found(index=i)["offset"] == composed(i) for i in range(64))
    twice = ComposedLayout(Layout((4, 16), (16, 1)), 0, Layout((8, 8), (8, 1)))
    found = linear.from_layout(twice)
    assert all(found(index=i)["offset"] == twice(i) for i in range(64))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: linear.from_layout(Layout(4, -1)), "negative offset"),
        (lambda: linear.from_layout(ComposedLayout(Swizzle(1, 0, 1), 2, Layout(4))), "affine"),
        (lambda: linear.from_layout(Swizzle(1, 0, -2), target_size=2), "out of 0..1"),
        (
            lambda: linear.to_swizzle(LinearLayout({"x": [(1,), (2,), (7,)]}, {"o": 8})),
            "no swizzle",
        ),
        (
            lambda: linear.to_swizzle(LinearLayout({"x": [(1,), (3,), (6,)]}, {"o": 8})),
            "no swizzle",
        ),
        (lambda: linear.to_swizzle(LinearLayout({"x": [(2,), (1,)]}, {"o": 4})), "no swizzle"),
    ],
)
def test_what_has_no_bridge(wrong: Callable[[], object], message: str) -> None:
    with pytest.raises(LayoutError, match=message) as refused:
        wrong()
    assert refused.value.witness is not None


def test_to_swizzle_keeps_the_unit_and_knows_the_identity() -> None:
    assert linear.to_swizzle(linear.identity(8, "x", "o"), unit=8) == Swizzle(0, 0, 0, 8)
    assert linear.to_swizzle(linear.from_layout(Swizzle(2, 1, -3)), unit=16) == Swizzle(
        2, 1, -3, 16
    )
