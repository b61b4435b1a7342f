"""Low bits by a congruent sum are those of the value, for random expressions."""

from __future__ import annotations

import random
import re

from tylo.proofs.ptx.bitvector import BitVectors, Expression
from tylo.proofs.ptx.nodes import evaluate
from tylo.proofs.ptx.residues import residue

WIDTH = 16


def grown(d: BitVectors, generator: random.Random, depth: int) -> Expression:
    """A random expression of sums, differences, constants, cuts and shifts."""
    if depth == 0:
        return generator.choice(
            [
                d.variable("a", WIDTH),
                d.variable("b", WIDTH),
                d.constant(generator.randrange(99), WIDTH),
            ]
        )
    left, right = (grown(d, generator, depth - 1) for _ in range(2))
    amount = d.constant(generator.randrange(6), WIDTH)
    number = d.constant(generator.choice((3, 4, 8, 16, 15, 7, 12, 1023)), WIDTH)
    cut = generator.randrange(1, WIDTH)
    return generator.choice(
        [
            lambda: d.add(left, right, WIDTH),
            lambda: d.subtract(left, right, WIDTH),
            lambda: d.multiply(left, number, WIDTH),
            lambda: d.shift_left(left, amount, WIDTH),
            lambda: d.shift_right(left, amount, WIDTH, False),
            lambda: d.remainder(left, number, WIDTH, False),
            lambda: d.bit_and(left, number, WIDTH),
            lambda: d.concatenate(
                [d.extract(left, 0, cut), d.extract(right, 0, WIDTH - cut)], [cut, WIDTH - cut]
            ),
            lambda: d.extend(d.extract(left, WIDTH - cut, cut), cut, WIDTH, False),
        ]
    )()


def read(text: str) -> int:
    """The value of an SMT-LIB text of sums, products and remainders of numbers."""
    while match := re.search(r"\((\S+) ([-\d ]+)\)", text):
        operator, numbers = match[1], [int(each) for each in match[2].split()]
        if operator == "+":
            value = sum(numbers)
        else:
            value = numbers[0] * numbers[1] if operator == "*" else numbers[0] % numbers[1]
        text = text[: match.start()] + str(value) + text[match.end() :]
    return int(text)


def test_low_bits_are_those_of_the_value() -> None:
    generator = random.Random(5)
    shortened = 0
    for _ in range(1500):
        d = BitVectors()
        node = grown(d, generator, generator.randrange(1, 5))
        bits = generator.randrange(1, WIDTH + 1)
        point = {name: generator.randrange(1 << WIDTH) for name in "ab"}
        text = residue(node, bits, lambda each: str(evaluate([each], point)[0]))  # noqa: B023
        (value,) = evaluate([node], point)
        assert read(text) == value % (1 << bits), (node, bits, text)
        shortened += str(value) not in text
    assert shortened > 500
