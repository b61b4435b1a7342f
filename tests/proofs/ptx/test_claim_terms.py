"""Terms, conditions and accesses of a claim: what they mean, and what means nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tylo.layouts.errors import NotationError
from tylo.layouts.terms import evaluate, name, show
from tylo.proofs.effects import Less
from tylo.proofs.ptx.claim_terms import read_access, read_condition, read_source, read_term


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("20 - 5 - 3", 12),
        ("a / 4 % 2", 1),
        ("a // 4", 3),
        ("a div 4 + a mod 4", 4),
        ("a ^ 1 + 2", 14),
        ("a xor 3", 14),
        ("0x1F + a", 44),
        (" a\n*\t2 ", 26),
    ],
)
def test_terms_bind_as_in_c(text: str, value: int) -> None:
    assert evaluate(read_term(text), {"a": 13}) == value


@pytest.mark.parametrize(
    "term",
    [
        (name("block") * 32 + name("thread")) * 4 + 3,
        name("a") - (name("b") - (name("c") ^ 5)),
        name("a") // 4 % 8 * (name("b") // 3 * 2),
        (name("a") ^ (name("b") + 1)) % 7,
    ],
)
def test_what_is_shown_is_read_back(term: Any) -> None:
    assert show(read_term(show(term))) == show(term)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a number, a name or '(' but found the end"),
        ("a +", "found the end"),
        ("a b", "expected the end but found 'b' in 'a b' (witness: 2)"),
        ("(a", "expected ')'"),
        ("a << 2", "shifts and masks are written * / and %"),
        ("a & 3", "shifts and masks are written * / and %"),
        ("-1", "found '-'"),
        ("a / 0", "divisors are positive"),
        ("a % (1 - 1)", "divisors are positive"),
        ("010", "found '0'"),
        ("1.5", "found '.'"),
        ("a.b", "names in terms have no dots"),
        ("div", "found 'd'"),
        ("9" * 30, "a number below 2^63"),
        ("9" * 2000, "a term of 2000 characters"),
        ("(" * 41 + "a" + ")" * 41, "at most 40 parentheses"),
        ("a \u0663", "found '\u0663'"),
        ("\u00e9", "found '\u00e9'"),
        ("x[a]", "expected the end but found '['"),
        ("a < 1", "expected the end but found '<'"),
    ],
)
def test_terms_that_mean_nothing(text: str, message: str) -> None:
    with pytest.raises(NotationError) as refusal:
        read_term(text)
    assert message in str(refusal.value)


def test_conditions_are_strict() -> None:
    a, b = name("a"), name("b")
    assert read_condition("a < b") == (Less(a, b),)
    assert read_condition("a <= b") == (Less(a, b + 1),)
    assert read_condition("a > b") == (Less(b, a),)
    assert read_condition("a >= b") == (Less(b, a + 1),)
    assert read_condition("a == b") == (Less(a, b + 1), Less(b, a + 1))
    for text in ("a", "a < b < c", "a = b", "a != b", "a < b and b < c"):
        with pytest.raises(NotationError):
            read_condition(text)


def test_accesses() -> None:
    assert read_access("x[a, 2]").indices == (name("a"), 2)
    assert read_source("x[a]") == read_access("x[a]")
    assert read_source("cvt.rn.f16.f32(x[a])").conversion == "cvt.rn.f16.f32"
    for text in ("x", "x[]", "x[a", "x[a]]", "f(x)", "f(x[a]", "f(g(x[a]))", "x[a] + 1"):
        with pytest.raises(NotationError):
            read_source(text)
