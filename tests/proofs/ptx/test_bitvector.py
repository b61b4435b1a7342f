"""Expressions: rewriting keeps values, printing keeps meaning, opaque words fall into pieces."""

from __future__ import annotations

import random

import pytest

from tylo.layouts.errors import PtxError
from tylo.proofs.ptx.bitvector import BitVectors, Expression, evaluate, pieces
from tylo.proofs.ptx.inprocess import solve
from tylo.proofs.ptx.smtlib import script

WIDTHS = (1, 8, 16, 32)


class Numbers:
    """Plain-number twin of the domain: the definition, without any rewriting."""

    @staticmethod
    def signed(value: int, width: int) -> int:
        return value - (1 << width) if value >> (width - 1) else value


def grow(d: BitVectors, pool: list[tuple[Expression, int]], g: random.Random) -> None:
    """Add one random operation, built in the domain and computed on numbers beside it."""
    left, a = g.choice(pool)
    width = left.width
    fitting = [(e, v) for e, v in pool if e.width == width]
    right, b = g.choice(fitting)
    full = (1 << width) - 1
    signed = bool(g.getrandbits(1))
    sa, sb = Numbers.signed(a, width), Numbers.signed(b, width)
    low = g.randrange(width)
    size = g.randint(1, width - low)
    to = width + g.randint(0, 32)
    bit, flag = g.choice([(e, v) for e, v in pool if e.width == 1])
    other, c = g.choice(pool)
    made, value = g.choice(
        [
            lambda: (d.add(left, right, width), (a + b) & full),
            lambda: (d.subtract(left, right, width), (a - b) & full),
            lambda: (d.multiply(left, right, width), (a * b) & full),
            lambda: (d.bit_and(left, right, width), a & b),
            lambda: (d.bit_or(left, right, width), a | b),
            lambda: (d.bit_xor(left, right, width), a ^ b),
            lambda: (d.shift_left(left, right, width), (a << b) & full if b < width else 0),
            lambda: (
                d.shift_right(left, right, width, signed),
                ((sa if signed else a) >> min(b, width)) & full,
            ),
            lambda: (
                d.extend(left, width, to, signed),
                (sa if signed else a) & ((1 << to) - 1),
            ),
            lambda: (d.extract(left, low, size), a >> low & ((1 << size) - 1)),
            lambda: (d.concatenate([left, other], [width, other.width]), a | c << width),
            lambda: (d.equal(left, right, width), int(a == b)),
            lambda: (d.less(left, right, width, signed), int(sa < sb if signed else a < b)),
            lambda: (d.select(bit, left, right, width), a if flag else b),
            lambda: (
                d.multiply_high(left, right, width, signed),
                ((sa * sb if signed else a * b) >> width) & full,
            ),
        ]
    )()
    if made.width <= 64:
        pool.append((made, value))


@pytest.mark.parametrize("seed", range(40))
def test_rewriting_and_printing_keep_values(seed: int) -> None:
    g = random.Random(seed)
    d = BitVectors()
    values = {f"v{i}": g.getrandbits(width) for i, width in enumerate(WIDTHS)}
    pool = [(d.variable(f"v{i}", width), values[f"v{i}"]) for i, width in enumerate(WIDTHS)]
    pool += [(d.constant(v, w), v) for w in WIDTHS for v in (0, 1, (1 << w) - 1)]
    variables = list(pool[: len(WIDTHS)])
    for _ in range(120):
        grow(d, pool, g)
    assert evaluate([e for e, _ in pool], values) == [v for _, v in pool]
    # z3 reads the printed text and must come to the same numbers.
    here = [d.equal(e, d.constant(v, e.width), e.width) for e, v in variables]
    wrong = [
        d.bit_xor(d.equal(e, d.constant(v, e.width), e.width), d.constant(1, 1), 1)
        for e, v in pool[-10:]
    ]
    assert solve([script([*here, fault]) for fault in wrong]) == ["holds"] * 10
    assert solve([script(here)]) == ["fails"]


def test_words_of_opaque_pieces() -> None:
    d = BitVectors()
    x, y = (d.load(d.variable(name, 64), 32) for name in "xy")
    upper = d.bit_and(y, d.constant(0xFFFF0000, 32), 32)
    lower = d.shift_right(x, d.constant(16, 32), 32, False)
    for merged in (
        d.bit_or(upper, lower, 32),
        d.add(lower, upper, 32),
        d.bit_xor(upper, lower, 32),
    ):
        first, second = pieces(merged)
        assert (first.operands, first.attribute, first.width) == ((x,), 16, 16)
        assert (second.operands, second.attribute, second.width) == ((y,), 16, 16)
    whole = d.concatenate([d.extract(x, 0, 8), d.extract(x, 8, 24)], [8, 24])
    assert whole is x
    overlapping = d.add(x, lower, 32)
    assert overlapping.operator == "bvadd"


def test_memory_never_reaches_a_solver() -> None:
    d = BitVectors()
    word = d.load(d.variable("x", 64), 32)
    condition = d.equal(word, d.constant(0, 32), 32)
    with pytest.raises(PtxError, match="depends on memory through load"):
        script([condition])
    with pytest.raises(PtxError, match="depends on memory through load"):
        evaluate([condition], {"x": 0})


def test_widths_are_checked() -> None:
    d = BitVectors()
    with pytest.raises(PtxError, match="bvsub of 32 and 64 bits"):
        d.subtract(d.constant(1, 32), d.constant(1, 64), 32)


def test_a_difference_from_a_multiple_of_the_quotient_is_the_remainder() -> None:
    d = BitVectors()
    a, b, c = (d.variable(name, 16) for name in "abc")
    quotient = d.divide(a, b, 16, False)
    rest = d.subtract(a, d.multiply(b, quotient, 16), 16)
    assert rest is d.remainder(a, b, 16, False)
    for point in ({"a": 7, "b": 0}, {"a": 65535, "b": 1}, {"a": 65535, "b": 300}):
        (value,) = evaluate([rest], point)
        assert value == (point["a"] % point["b"] if point["b"] else point["a"])
    for other in (d.multiply(c, quotient, 16), d.multiply(b, d.divide(c, b, 16, False), 16)):
        assert d.subtract(a, other, 16).operator == "bvsub"


def test_compilers_spell_a_double_and_a_chosen_bit_in_several_ways() -> None:
    d = BitVectors()
    x, p, q = d.variable("x", 32), d.variable("p", 1), d.variable("q", 1)
    zero, one = d.constant(0, 1), d.constant(1, 1)
    not_p = d.bit_xor(p, one, 1)
    assert d.add(x, x, 32) is d.shift_left(x, d.constant(1, 32), 32)
    assert d.select(p, zero, q, 1) is d.bit_and(not_p, q, 1)
    assert d.select(p, q, zero, 1) is d.bit_and(p, q, 1)
    assert d.select(p, one, q, 1) is d.bit_or(p, q, 1)
    assert d.select(p, q, one, 1) is d.bit_or(not_p, q, 1)
    assert d.select(p, one, zero, 1) is p
    assert d.select(p, zero, one, 1) is not_p
