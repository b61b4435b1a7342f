"""Terms: folding, evaluation, JSON and print, against Python's own integers."""

import ast
import operator

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tylo.layouts.errors import ClaimError
from tylo.layouts.terms import Term, evaluate, from_json, name, names, operation, show, to_json

PYTHON = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "div": operator.floordiv,
    "mod": operator.mod,
    "xor": operator.xor,
}
NAMES = ("a", "b", "lane", "M")
values = st.fixed_dictionaries({each: st.integers(0, 200) for each in NAMES})


@st.composite
def recipes(draw, depth=4):
    """A term as nested tuples, built by nothing of Tylo's; divisors are positive constants."""
    if depth == 0 or draw(st.booleans()):
        return draw(st.sampled_from(NAMES) | st.integers(0, 9))
    sign = draw(st.sampled_from(list(PYTHON)))
    left = draw(recipes(depth=depth - 1))
    divides = sign in ("div", "mod")
    right = draw(st.integers(1, 9) if divides else recipes(depth=depth - 1))
    return (sign, left, right)


def build(recipe):
    if isinstance(recipe, str):
        return name(recipe)
    if isinstance(recipe, int):
        return recipe
    sign, left, right = recipe
    left, right = build(left), build(right)
    if isinstance(left, int) and isinstance(right, int):
        return operation(sign, left, right)
    return PYTHON[sign](left, right)


def value_of(recipe, known):
    if isinstance(recipe, str):
        return known[recipe]
    if isinstance(recipe, int):
        return recipe
    sign, left, right = recipe
    return PYTHON[sign](value_of(left, known), value_of(right, known))


SIGNS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitXor: operator.xor,
}


class Infix(ast.NodeVisitor):
    """Evaluates printed text with Python's grammar, in which `^` binds least as it does in C."""

    def __init__(self, known):
        self.known = known

    def visit_Expression(self, node):
        return self.visit(node.body)

    def visit_BinOp(self, node):
        return SIGNS[type(node.op)](self.visit(node.left), self.visit(node.right))

    def visit_UnaryOp(self, node):
        assert isinstance(node.op, ast.USub)
        return -self.visit(node.operand)

    def visit_Name(self, node):
        return self.known[node.id]

    def visit_Constant(self, node):
        return node.value


@settings(deadline=None, max_examples=300)
@given(recipes(), values)
def test_terms_evaluate_as_integers_do(recipe, known):
    assert evaluate(build(recipe), known) == value_of(recipe, known)


@settings(deadline=None, max_examples=300)
@given(recipes(), values)
def test_printed_text_reads_as_the_same_number(recipe, known):
    text = show(build(recipe))
    assert Infix(known).visit(ast.parse(text, mode="eval")) == value_of(recipe, known)


@settings(deadline=None, max_examples=300)
@given(recipes())
def test_json_returns_the_same_term(recipe):
    term = build(recipe)
    assert from_json(to_json(term)) == term
    assert hash(from_json(to_json(term))) == hash(term)


@settings(deadline=None, max_examples=300)
@given(recipes(), st.lists(values, min_size=1, max_size=5))
def test_arrays_evaluate_element_by_element(recipe, many):
    arrays = {each: numpy.array([known[each] for known in many]) for each in NAMES}
    found = numpy.broadcast_to(evaluate(build(recipe), arrays), len(many))
    assert found.tolist() == [value_of(recipe, known) for known in many]


@settings(deadline=None, max_examples=300)
@given(recipes(), recipes(), values)
def test_substituting_a_term_is_substituting_its_value(recipe, inner, known):
    term = build(recipe)
    put = {**{each: name(each) for each in NAMES}, "lane": build(inner)}
    expected = value_of(recipe, {**known, "lane": value_of(inner, known)})
    assert evaluate(evaluate(term, put), known) == expected


def test_names_come_once_in_order_of_appearance():
    a, b, c = name("a"), name("b"), name("c")
    assert list(names((b + a) * (b - c) // 4)) == ["b", "a", "c"]
    assert list(names(7)) == []


def test_folding():
    x = name("x")
    for same in (x + 0, 0 + x, x - 0, x * 1, 1 * x, x // 1, x ^ 0, 0 ^ x):
        assert same == x
    for zero in (x * 0, 0 * x, x % 1, 0 // x, 0 % x):
        assert zero == 0
        assert type(zero) is int
    assert (5 - x).operands == (5, x)
    assert str(0 - x) == "0 - x"


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("a - (b - 1)", name("a") - (name("b") - 1)),
        ("a - b - 1", name("a") - name("b") - 1),
        ("a * (b / 2)", name("a") * (name("b") // 2)),
        ("a * b / 2", name("a") * name("b") // 2),
        ("a * b * M", name("a") * (name("b") * name("M"))),
        ("a * (b / 2 * M)", name("a") * (name("b") // 2 * name("M"))),
        ("a * (b % 2 * M * lane)", name("a") * (name("b") % 2 * name("M") * name("lane"))),
        ("a * b * (M / 2)", name("a") * (name("b") * (name("M") // 2))),
        ("a + b - 1 + M", name("a") + (name("b") - 1 + name("M"))),
        ("a / 2 * b", name("a") // 2 * name("b")),
        ("a / 2 % 3", name("a") // 2 % 3),
        ("a % (b + 1)", name("a") % (name("b") + 1)),
        ("a + b + 1", name("a") + (name("b") + 1)),
        ("a + (b - 1)", name("a") + (name("b") - 1)),
        ("(a ^ b) + 1", (name("a") ^ name("b")) + 1),
        ("a ^ b + 1", name("a") ^ (name("b") + 1)),
        ("a ^ b ^ 1", name("a") ^ (name("b") ^ 1)),
    ],
)
def test_as_few_parentheses_as_precedence_allows(text, term):
    assert show(term) == str(term) == text


def test_numpy_integers_become_plain_ones():
    for term in (name("x") * numpy.int64(4), numpy.int64(4) * name("x"), name("x") + True):
        assert isinstance(term, Term)
        constants = [part for part in term.operands if not isinstance(part, Term)]
        assert [type(part) for part in constants] == [int]
        assert from_json(to_json(term)) == term


@pytest.mark.parametrize("sign", ["div", "mod"])
@pytest.mark.parametrize("divisor", [0, -1, -4])
def test_divisors_are_positive(sign, divisor):
    for dividend in (7, 0, name("x")):
        with pytest.raises(ClaimError, match=f"{sign} {divisor}: divisors are positive"):
            operation(sign, dividend, divisor)
    quotient = operation(sign, name("x"), name("y"))
    with pytest.raises(ClaimError, match=f"7 {sign} {divisor}: divisors are positive"):
        evaluate(quotient, {"x": 7, "y": divisor})


@pytest.mark.parametrize("operand", [1.5, "x", None, [1], numpy.float32(2)])
def test_operands_are_integers_and_terms(operand):
    for build in (lambda: name("a") + operand, lambda: operation("*", operand, name("a"))):
        with pytest.raises(ClaimError, match="is not an integer"):
            build()


@pytest.mark.parametrize(
    "data",
    [
        True,
        1.5,
        None,
        {},
        [],
        ["+"],
        ["+", 1],
        ["+", 1, 2, 3],
        ["**", 1, 2],
        ["+", 1, None],
        ["name", "x", "y"],
        [["+"], 1, 2],
        b"+ab",
    ],
)
def test_json_that_is_no_term(data):
    with pytest.raises(ClaimError, match="is not a term"):
        from_json(data)


def test_json_that_never_ends():
    data = 1
    for _ in range(5_000):
        data = ["+", "x", data]
    with pytest.raises(ClaimError, match="nested too deeply"):
        from_json(data)


@pytest.mark.parametrize("sign", ["div", "mod"])
def test_json_that_divides_by_zero(sign):
    with pytest.raises(ClaimError, match="divisors are positive"):
        from_json([sign, "x", 0])


def test_a_name_without_a_value():
    with pytest.raises(ClaimError, match=r"no value for 'b' in b; known names: \['a'\]"):
        evaluate(name("a") + name("b"), {"a": 1})
