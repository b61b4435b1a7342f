"""Printed index expressions, read back by a small C reader over unsigned 32-bit numbers."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tylo.codegen.printing import expression
from tylo.layouts.errors import GenerationError
from tylo.layouts.terms import evaluate, name

NAMES = ("lane", "warp", "m")
WORD = 1 << 32


class Reader:
    """Precedence climbing over C's binary operators, every result reduced modulo 2^32."""

    LEVELS = (("^",), ("&",), ("<<", ">>"), ("+", "-"), ("*", "/", "%"))

    def __init__(self, text: str, known: dict[str, int]) -> None:
        self.tokens = re.findall(r"\d+u?|\w+|<<|>>|[-+*/%^&()]", text)
        assert "".join(self.tokens) == text.replace(" ", "")
        self.known = known

    def read(self) -> int:
        value = self.level(0)
        assert not self.tokens
        return value

    def level(self, depth: int) -> int:
        if depth == len(self.LEVELS):
            return self.atom()
        value = self.level(depth + 1)
        while self.tokens and self.tokens[0] in self.LEVELS[depth]:
            sign = self.tokens.pop(0)
            value = self.apply(sign, value, self.level(depth + 1))
        return value

    def atom(self) -> int:
        token = self.tokens.pop(0)
        if token == "(":
            value = self.level(0)
            assert self.tokens.pop(0) == ")"
            return value
        if token[0].isdigit():
            return int(token.rstrip("u"))
        return self.known[token]

    @staticmethod
    def apply(sign: str, left: int, right: int) -> int:
        if sign in ("<<", ">>"):
            assert right < 32, "a shift by the width of the type is undefined"
        return {
            "^": lambda: left ^ right,
            "&": lambda: left & right,
            ">>": lambda: left >> right,
            "<<": lambda: left << right,
            "+": lambda: left + right,
            "-": lambda: left - right,
            "*": lambda: left * right,
            "/": lambda: left // right,
            "%": lambda: left % right,
        }[sign]() % WORD


@st.composite
def terms(draw, depth=5):
    """A term whose every part stays a natural number below 2^32 for the values drawn below."""
    if depth == 0 or draw(st.booleans()):
        return draw(st.sampled_from([name(each) for each in NAMES]) | st.integers(0, 20))
    sign = draw(st.sampled_from(("+", "+", "*", "div", "mod", "xor", "-")))
    left = draw(terms(depth=depth - 1))
    match sign:
        case "div":
            return left // draw(st.integers(1, 33))
        case "mod":
            return left % draw(st.integers(1, 33))
        case "*":
            return left * draw(st.integers(0, 33))
        case "-":
            # Minuend and subtrahend arranged so that nothing is negative.
            right = draw(terms(depth=depth - 1))
            return (left + right) - left
        case "xor":
            return left ^ draw(terms(depth=depth - 1))
        case _:
            return left + draw(terms(depth=depth - 1))


values = st.fixed_dictionaries({each: st.integers(0, 127) for each in NAMES})


@settings(deadline=None, max_examples=400)
@given(terms(), values)
@example((name("lane") ^ name("m")) % 4 * 2, {"lane": 5, "m": 6, "warp": 0})
@example(name("lane") - (name("m") - name("warp")), {"lane": 9, "m": 6, "warp": 2})
@example(name("lane") // (1 << 31), {"lane": 9, "m": 0, "warp": 0})
@example(name("lane") // (1 << 32), {"lane": 9, "m": 0, "warp": 0})
@example(name("lane") % (1 << 40), {"lane": 9, "m": 0, "warp": 0})
def test_printed_text_is_the_term(term, known):
    expected = evaluate(term, known)
    assert expected >= 0
    assert Reader(expression(term), known).read() == expected % WORD


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (7, "7u"),
        (name("lane"), "lane"),
        (name("lane") // 4, "lane >> 2"),
        (name("lane") % 4, "lane & 3u"),
        (name("lane") // 3, "lane / 3u"),
        (name("lane") % 3, "lane % 3u"),
        (name("lane") % 32 // 4, "(lane & 31u) >> 2"),
        ((name("lane") + 1) // 4, "(lane + 1u) >> 2"),
        (name("lane") * 3 // 4, "lane * 3u >> 2"),
        (name("lane") * (name("m") // 2), "lane * (m >> 1)"),
        (name("lane") * (name("m") // 3), "lane * (m / 3u)"),
        (name("lane") * (name("m") * 3), "lane * (m * 3u)"),
        (name("lane") - (name("m") - 1), "lane - (m - 1u)"),
        (name("lane") - name("m") - 1, "lane - m - 1u"),
        (name("lane") + name("m") % 4, "lane + (m & 3u)"),
        (name("lane") ^ name("m") + 1, "lane ^ m + 1u"),
        ((name("lane") ^ name("m")) + 1, "(lane ^ m) + 1u"),
        ((name("lane") ^ name("m")) % 8, "(lane ^ m) & 7u"),
        (name("lane") ^ name("m") % 8, "lane ^ (m & 7u)"),
        (name("lane") // (1 << 31), "lane >> 31"),
        (name("lane") // (1 << 32), "lane / 4294967296u"),
    ],
)
def test_text(term, text):
    assert expression(term) == text


@pytest.mark.parametrize("term", [-1, name("lane") + -4, (name("lane") * -1) // 2])
def test_negative_numbers_have_no_unsigned_text(term):
    with pytest.raises(GenerationError, match="is negative, and indices are unsigned"):
        expression(term)
