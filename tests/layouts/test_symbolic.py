"""Layouts with symbols: every value that meets the conditions gives the concrete computation."""

from __future__ import annotations

import copy
import itertools
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import tylo.layouts as tl
from tylo.layouts import CoordinateLayout, Layout, LayoutError
from tylo.layouts.errors import Undecided
from tylo.layouts.symbolic.facts import (
    Condition,
    at_most,
    divides,
    exact_quotient,
    never_negative,
    positive,
    substituted,
)
from tylo.layouts.symbolic.layout import SymbolicLayout

m, n, k = (positive(sympy.Symbol(name)) for name in "mnk")
SYMBOLS = {"m": m, "n": n, "k": k}


def table(layout: Layout) -> list[int]:
    return [layout(i) for i in range(layout.size())]


# Entries that make layouts people write: sizes, multiples and exact parts of them.
ENTRY = st.sampled_from([1, 2, 3, 4, 8, n, m, 2 * n, 4 * m, n / 2, m * n, n + 1])
STRIDE = st.sampled_from([0, 1, 2, 4, n, m, 2 * n, m * n, 4 * m])


@st.composite
def layouts(draw: st.DrawFn, most: int = 2) -> Layout:
    if draw(st.booleans()):
        extents = tuple(draw(st.lists(ENTRY, min_size=1, max_size=most)))
        order = draw(st.permutations(range(len(extents))))
        strides: list[Any] = [0] * len(extents)
        step: Any = 1
        for mode in order:
            strides[mode] = step
            step = step * extents[mode]
        return Layout(extents, tuple(strides))
    modes = draw(st.lists(st.tuples(ENTRY, STRIDE), min_size=1, max_size=most))
    return Layout(tuple(e for e, _ in modes), tuple(d for _, d in modes))


VALUES = st.fixed_dictionaries({"m": st.integers(1, 5), "n": st.integers(1, 8)})


def agrees(
    operation: Callable[..., Layout], operands: list[Any], values: dict[str, int]
) -> bool | None:
    """Whether the symbolic result at these values is the concrete one; None where not asked."""
    try:
        chosen = operation(*operands).subs(**values)
    except (LayoutError, Undecided):
        return None
    concrete = [
        o.subs(**values)
        if isinstance(o, Layout)
        else substituted(o, values)
        if isinstance(o, sympy.Expr)
        else o
        for o in operands
    ]
    assert type(chosen) is Layout
    assert table(chosen) == table(operation(*concrete))
    return True


OPERATIONS: dict[str, Callable[[Layout, Layout], tuple[Callable[..., Layout], list[Any]]]] = {
    "coalesce": lambda a, b: (tl.coalesce, [a]),
    "filter": lambda a, b: (tl.filter, [a]),
    "nullspace": lambda a, b: (tl.nullspace, [a]),
    "composition": lambda a, b: (tl.composition, [a, b]),
    "complement": lambda a, b: (tl.complement, [a, 24]),
    "complement in n": lambda a, b: (tl.complement, [a, 8 * n]),
    "right_inverse": lambda a, b: (tl.right_inverse, [a]),
    "left_inverse": lambda a, b: (tl.left_inverse, [a]),
    "logical_divide": lambda a, b: (tl.logical_divide, [a, b]),
    "logical_product": lambda a, b: (tl.logical_product, [a, b]),
    "blocked_product": lambda a, b: (tl.blocked_product, [a, b]),
    "zipped_divide": lambda a, b: (tl.zipped_divide, [a, (4,)]),
    "tiled_divide": lambda a, b: (tl.tiled_divide, [a, (2, None)[: len(a)]]),
    "flatten": lambda a, b: (tl.flatten, [tl.make_layout(a, b)]),
}
EXACT = {"right_inverse", "left_inverse"}


@pytest.mark.parametrize("name", OPERATIONS)
def test_substitution_agrees_with_the_concrete_computation(name: str) -> None:
    answered = 0

    @given(layouts(), layouts(), VALUES)
    @settings(max_examples=60, deadline=None)
    def check(a: Layout, b: Layout, values: dict[str, int]) -> None:
        nonlocal answered
        operation, operands = OPERATIONS[name](a, b)
        if name in EXACT:
            answered += inverts(operation, a, values)
        else:
            answered += bool(agrees(operation, operands, values))

    check()
    assert answered >= 6, f"{name} answered {answered} times: the test says too little"


def inverts(operation: Callable[[Layout], Layout], a: Layout, values: dict[str, int]) -> bool:
    """Inverses are not unique: the symbolic one is judged by its own equation."""
    try:
        result = operation(a)
    except (LayoutError, Undecided):
        return False
    try:
        inverse, concrete = result.subs(**values), a.subs(**values)
    except LayoutError:
        return False
    if operation is tl.right_inverse:
        assert [concrete(i) for i in table(inverse)] == list(range(inverse.size()))
    else:
        assert [inverse.extended(i) for i in table(concrete)] == list(range(concrete.size()))
    return True


def shown(layout: Layout) -> str:
    conditions = getattr(layout, "conditions", ())
    return f"{layout} | {', '.join(map(str, conditions))}" if conditions else str(layout)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (lambda: tl.coalesce(Layout((192, n), (1, 192))), "192*n:1"),
        (lambda: tl.coalesce(Layout((n, 1, m), (1, 7, n))), "m*n:1"),
        (lambda: tl.logical_divide(Layout(n), 4), "(4,ceiling(n/4)):(1,4)"),
        (lambda: tl.logical_divide(Layout(8 * n), 4), "(4,2*n):(1,4)"),
        (
            lambda: tl.zipped_divide(Layout((m, n), (n, 1)), (16, 8)),
            "((16,8),(ceiling(m/16),ceiling(n/8))):((n,1),(16*n,8))",
        ),
        (lambda: tl.composition(Layout((m, n), (n, 1)), (4, None)), "(4,n):(n,1) | 4 <= m"),
        (lambda: tl.composition(Layout((4, n), (n, 1)), Layout(4 * n)), "(4,n):(n,1)"),
        (lambda: tl.composition(Layout((8, n), (n, 1)), Layout(n, 8)), "n:1"),
        (
            lambda: tl.composition(Layout((m, n), (n, 1)), Layout((2, 3), (1, m))),
            "(2,3):(n,1) | 2 <= m, 2*m + 2 <= m*n",
        ),
        (lambda: tl.composition(Layout(9), Layout(1, n)), "1:0"),
        (lambda: tl.complement(Layout((4, 8), (1, n)), 16 * n), "(n/4,2):(4,8*n) | n % 4 == 0"),
        (lambda: tl.logical_product(Layout(n), 4), "(n,4):(1,n)"),
        (lambda: tl.right_inverse(Layout((m, n), (n, 1))), "(n,m):(m,1)"),
        (lambda: tl.left_inverse(Layout((m, n), (k, 1))), "(k,m):(m,1) | n <= k"),
        (lambda: tl.filter(Layout((m, n), (0, 1))), "n:1"),
        (lambda: tl.nullspace(Layout((m, n), (1, 0))), "n:m"),
        (lambda: tl.slice((None, 0), Layout((m, n))), "(m):(1)"),
        (lambda: Layout((m, (n, 4)))(0, None), "((n,4)):((m,m*n))"),
        (lambda: Layout((m, n))[1], "n:m"),
        (lambda: tl.zipped_divide(Layout((m, 4)), (None, 2)), "((1,2),(m,2)):((0,m),(1,2*m))"),
        (lambda: Layout((n, 4)).subs(n=3), "(3,4):(1,3)"),
        (lambda: Layout((n, m)).subs(n=3), "(3,m):(1,3)"),
        (lambda: Layout((n - 1, 2)), "(n-1,2):(1,n-1) | 2 <= n"),
        (lambda: Layout(n / 8 - 1), "n/8-1:1 | (n - 8) % 8 == 0, 16 <= n"),
        (lambda: Layout((sympy.Integer(4), 2)), "(4,2):(1,4)"),
    ],
)
def test_results(result: Callable[[], Layout], expected: str) -> None:
    assert shown(result()) == expected


def test_the_public_questions_about_runtime_sizes() -> None:
    coalesced = tl.coalesce(Layout((192, sympy.Symbol("n")), (1, 192)))
    for value in 1, 2, 7, 256:
        assert coalesced.subs(n=value) == Layout(192 * value, 1)
    b = CoordinateLayout.of((32, n / 8, 8, 128), ({(0,): 1}, {(1,): 8}, {(1,): 1}, {(0,): 32}))
    result = tl.composition(Layout((4096, 8192), (1, 4096)), b)
    assert shown(result) == "(32,n/8,8,128):(1,32768,4096,32) | n % 8 == 0, n <= 8192"
    for value in 8, 64, 1024:
        assert result.subs(n=value) == Layout((32, value // 8, 8, 128), (1, 32768, 4096, 32))
    for wrong in 12, 8200:
        with pytest.raises(LayoutError, match="needs n") as refused:
            result.subs(n=wrong)
        assert refused.value.witness == {"n": wrong}


def test_symbols_are_told_apart_by_name_alone() -> None:
    assert Layout(sympy.Symbol("n")) == Layout(sympy.Symbol("n", real=True)) == Layout(n)
    assert hash(Layout(sympy.Symbol("n"))) == hash(Layout(n))
    assert Layout(n) != Layout(m)
    assert Layout(n) != Layout(4)
    assert Layout(n) != "n:1"
    assert Layout(4) != Layout(n)


def test_values() -> None:
    layout = Layout((n, 4), (4, 1))
    assert pickle.loads(pickle.dumps(layout)) == layout
    assert copy.deepcopy(layout) == layout
    with pytest.raises(AttributeError, match="frozen"):
        layout.shape = 4
    j = positive(sympy.Symbol("j"))
    assert layout(j, 3) == 4 * j + 3
    assert layout.extended(j) == layout(j)
    for i in range(12):
        assert substituted(layout(i), {"n": 3}) == layout.subs(n=3)(i)
    assert layout((2, 3)) == 11
    assert layout.size() == 4 * n
    assert layout.cosize() == 4 * n
    assert Layout((), ()).expr().term == 0
    assert Layout(4).subs(n=3) == Layout(4)
    for wrong in (0, 4), (-1, 0), ((0, 0), 0), (0, 0, 0):
        with pytest.raises(LayoutError):
            layout(*wrong)
    with pytest.raises(LayoutError, match="extent below 1"):
        Layout((n, 0))
    with pytest.raises(LayoutError, match="not an integer"):
        Layout((n, sympy.Rational(1, 2)))
    with pytest.raises(LayoutError, match="nest differently"):
        Layout((n, 4), (1,))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: tl.complement(Layout((4, n, 2), (1, 2, 2 * n)), 100),
        lambda: tl.complement(Layout((4, n), (1, 6)), 100),
        lambda: tl.complement(Layout((2, n), (4, 6)), 100),
        lambda: tl.composition(Layout((4, n), (n, 1)), Layout((2, 4), (1, 1))),
        lambda: tl.composition(Layout((4, n), (n, 1)), Layout(3, 2)),
        lambda: tl.left_inverse(Layout((4, n), (0, 1))),
        lambda: tl.left_inverse(Layout((4, n), (1, 2))),
    ],
)
def test_what_no_values_satisfy_is_refused(wrong: Callable[[], Layout]) -> None:
    with pytest.raises(LayoutError):
        wrong()


def test_an_order_that_depends_on_the_values_is_undecided() -> None:
    with pytest.raises(Undecided, match="depends on the values"):
        tl.right_inverse(Layout((2, 2), (m, n)))


def test_operations_that_need_numbers_say_so() -> None:
    for operation in (
        lambda: tl.is_injective(Layout((n, 2))),
        lambda: tl.upcast(Layout((n, 2)), 2),
        lambda: tl.downcast(Layout((n, 2)), 2),
        lambda: tl.max_common_layout(Layout(n), Layout(n)),
        lambda: tl.linear.from_layout(Layout(n)),
        lambda: tl.composition(tl.Swizzle(1, 0, 1), Layout(n)),
        lambda: Layout(n).min_offset(),
        lambda: tl.in_bounds(tl.logical_divide, Layout(n), 4),
    ):
        with pytest.raises(LayoutError, match=r"substitute values"):
            operation()


def test_facts() -> None:
    assert exact_quotient(12, 4) == 3
    assert exact_quotient(12, 5) is None
    assert exact_quotient(4 * n, 2 * n) == 2
    assert exact_quotient(n, 2 * n) is None
    assert exact_quotient(n, m) is None
    assert exact_quotient(n * n + n, n) == n + 1
    assert never_negative(n - 1)
    assert not never_negative(n - 2)
    assert never_negative(m * n - m)
    assert not never_negative(sympy.sqrt(n) - 1)
    assert never_negative(sympy.ceiling(n / 4) - 1)
    assert at_most(n, 2 * n) == ()
    assert divides(4, 8 * n) == (2 * n, ())
    condition = Condition("divides", 4, n + m)
    assert str(condition) == "(m + n) % 4 == 0"
    assert condition.holds({"n": 3}) is None
    assert condition.holds({"n": 3, "m": 1}) is True
    assert condition.subs({"n": 3}) == Condition("divides", 4, m + 3)


def test_partial_substitution_keeps_the_open_conditions() -> None:
    layout = Layout((n / 4, m / 2), (1, n))
    half = layout.subs(n=8)
    assert isinstance(half, SymbolicLayout)
    assert [str(c) for c in half.conditions] == ["m % 2 == 0"]
    assert half.subs(m=6) == Layout((2, 3), (1, 8))


@st.composite
def concrete(draw: st.DrawFn) -> Layout:
    modes = draw(
        st.lists(st.tuples(st.integers(1, 5), st.integers(-4, 30)), min_size=1, max_size=4)
    )
    return Layout(tuple(e for e, _ in modes), tuple(d for _, d in modes))


@given(concrete())
@settings(max_examples=200, deadline=None)
def test_the_closed_form_is_the_function(layout: Layout) -> None:
    source, c_source = layout.expr().python(), layout.expr().c()
    for i in range(layout.size()):
        assert eval(source, {"i": i}) == layout(i)
        assert eval(c_source.replace("/", "//"), {"i": i}) == layout(i)
    names = [f"c{mode}" for mode in range(len(layout))]
    if len(names) > 1:
        by_coordinate = layout.expr(*names).python()
        for at in itertools.product(*(range(mode.size()) for mode in layout)):
            assert eval(by_coordinate, dict(zip(names, at, strict=True))) == layout(at)


@given(layouts(), VALUES)
@settings(max_examples=100, deadline=None)
def test_the_closed_form_of_symbolic_layouts(layout: Layout, values: dict[str, int]) -> None:
    try:
        chosen = layout.subs(**values)
    except LayoutError:
        return
    source = layout.expr().python()
    for i in range(chosen.size()):
        assert eval(source, {"i": i, **values}) == chosen(i)


def test_prints() -> None:
    layout = Layout((4, (2, 3)), (1, (16, 4)))
    assert layout.expr().python() == "i % 4 + i // 4 % 2 * 16 + i // 8 * 4"
    assert str(layout.expr()) == layout.expr().c() == "i % 4 + i / 4 % 2 * 16 + i / 8 * 4"
    assert layout.expr("x").latex() == (
        r"x \bmod 4 + 16 \cdot (\lfloor x / 4 \rfloor \bmod 2) + 4 \cdot \lfloor x / 8 \rfloor"
    )
    assert Layout((4, 2), (-1, 8)).expr().python() == "i % 4 * (-1) + i // 4 * 8"
    tiled = tl.logical_divide(Layout((m, n), (n, 1)), (4, 8)).expr("a", "b").python()
    assert eval(tiled, {"a": 5, "b": 11, "m": 8, "n": 16}) == 5 * 16 + 11
    assert Layout(m, n**2).expr().c() == "i * (n * n)"
    ceiling = tl.logical_divide(Layout(n), 4)[::-1].expr().python()
    assert eval(ceiling, {"i": 3, "n": 10}) == 1
    with pytest.raises(LayoutError, match="3 names"):
        layout.expr("a", "b", "c")


def test_concrete_layouts_never_import_sympy() -> None:
    code = (
        "import sys, tylo.layouts as t; a = t.Layout((4, 8), (8, 1));"
        "t.zipped_divide(a, (2, 4)); t.left_inverse(a); t.blocked_product(a, a); a.expr().c();"
        "print('sympy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_coordinate_layouts() -> None:
    identity = tl.make_identity_layout((4, (2, 3)))
    assert str(identity) == "(4,(2,3)):(E<0>,(E<1,0>,E<1,1>))"
    assert (identity.size(), identity.shape) == (24, (4, (2, 3)))
    assert identity(13) == (1, (1, 1))
    assert tl.make_identity_layout(5)(3) == (3,)
    a = Layout((4, (2, 3)), (7, (3, 50)))
    assert table(tl.composition(a, identity)) == table(a)
    sparse = CoordinateLayout.of((2, 3), ({(2,): 1}, {}))
    assert sparse(1, 2) == (0, 0, 1)
    assert str(sparse) == "(2,3):(E<2>,0)"
    diagonal = CoordinateLayout.of((4, 2), ({(0,): 1, (1,): 2}, {(1,): 1}))
    assert str(diagonal) == "(4,2):(E<0>+2*E<1>,E<1>)"
    matrix = Layout((4, 8), (8, 1))
    result = tl.composition(matrix, diagonal)
    assert [result(i) for i in range(8)] == [matrix(diagonal(i)) for i in range(8)]
    split = Layout((4, (2, 4)), (8, (4, 1)))
    with pytest.raises(LayoutError, match="two entries move along extent 0"):
        tl.composition(split, CoordinateLayout.of(4, {(0,): 1, (1,): 1}))
    single = tl.composition(split, CoordinateLayout.of(4, {(1,): 1}))
    assert table(single) == [0, 4, 1, 5]
    with pytest.raises(LayoutError, match="nest differently"):
        CoordinateLayout.of((4, 2), {(0,): 1})
    with pytest.raises(LayoutError, match="inside the other"):
        CoordinateLayout.of((4, 2), ({(0,): 1}, {(0, 1): 1}))
