"""Conditions on integers say what the bit-vectors say: random expressions at random points."""

from __future__ import annotations

import itertools
import random

import pytest

from tylo.proofs.ptx.bitvector import BitVectors, Expression, evaluate
from tylo.proofs.ptx.inprocess import solve
from tylo.proofs.ptx.integers import integer_script
from tylo.proofs.ptx.nodes import evaluate_each, order

_WIDTHS = (4, 8, 12)


def grown(d: BitVectors, g: random.Random, depth: int, width: int) -> Expression:
    """A random expression of a width; products of two values that vary are among them."""
    if depth == 0:
        if g.random() < 0.3:
            return d.constant(g.getrandbits(width), width)
        return d.variable(f"v{g.randrange(3)}.{width}", width)
    one, two = (grown(d, g, depth - 1, width) for _ in range(2))
    amount = d.constant(g.randrange(width + 2), width)
    other = g.choice([w for w in _WIDTHS if w != width])
    wide = grown(d, g, depth - 1, other)
    mask = d.constant((1 << g.randrange(1, width)) - 1, width)
    some = d.constant(g.getrandbits(width), width)
    return g.choice(
        [
            lambda: d.add(one, two, width),
            lambda: d.subtract(one, two, width),
            lambda: d.multiply(one, d.constant(g.getrandbits(width), width), width),
            lambda: d.multiply(one, two, width),
            lambda: d.divide(one, two, width, False),
            lambda: d.remainder(one, two, width, False),
            lambda: d.shift_left(one, amount, width),
            lambda: d.shift_right(one, amount, width, False),
            lambda: d.bit_and(one, mask, width),
            lambda: g.choice([d.bit_and, d.bit_or, d.bit_xor])(one, some, width),
            lambda: d.bit_or(
                d.shift_left(one, d.constant(2, width), width),
                d.bit_and(two, d.constant(3, width), width),
                width,
            ),
            lambda: d.divide(one, d.constant(g.randrange(1, 1 << width), width), width, False),
            lambda: d.remainder(one, d.constant(g.randrange(1, 1 << width), width), width, False),
            lambda: d.select(d.less(one, two, width, g.random() < 0.5), one, two, width),
            lambda: d.select(d.equal(one, two, width), one, mask, width),
            lambda: (
                d.extract(wide, g.randrange(other - width + 1), width)
                if other > width
                else d.extend(wide, other, width, g.random() < 0.5)
            ),
        ]
    )()


@pytest.mark.parametrize("seed", range(6))
def test_integers_agree_with_bit_vectors(seed: int) -> None:
    g = random.Random(seed)
    scripts, decided = [], 0
    for _ in range(40):
        d = BitVectors()
        width = g.choice(_WIDTHS)
        root = grown(d, g, 3, width)
        names = {f"v{i}.{w}": w for i in range(3) for w in _WIDTHS}
        point = {name: g.getrandbits(w) for name, w in names.items()}
        (value,) = evaluate([root], point)
        wrong = d.bit_xor(d.equal(root, d.constant(value, width), width), d.constant(1, 1), 1)
        # Every variable at its value, so that products are settled too: only that value is left.
        at = [d.substitute([wrong], {n: d.constant(v, names[n]) for n, v in point.items()})[0]]
        assert at[0].value == 0
        fixed = [d.equal(d.variable(n, w), d.constant(point[n], w), w) for n, w in names.items()]
        maxima = {n: max(point[n], g.getrandbits(w)) for n, w in names.items()}
        minima = {n: g.randrange(v + 1) for n, v in point.items()}
        if wrong.value is None and not wrong.product:
            right = d.equal(root, d.constant(value, width), width)
            scripts += [integer_script([*fixed, c], maxima, minima) for c in (wrong, right)]
            decided += 1
        elif wrong.value is None:
            right = d.equal(root, d.constant(value, width), width)
            script = integer_script([*fixed, right], maxima, minima)
            # What is said of products is true of them: the point is never excluded.
            assert not script or solve([script]) == ["fails"]
    asked = [script for script in scripts if script]
    assert len(asked) > 20
    for script, verdict in zip(scripts, iter(["holds", "fails"] * decided), strict=True):
        assert not script or solve([script]) == [verdict], script


def compared(d: BitVectors, g: random.Random, depth: int) -> Expression:
    """A random comparison."""
    left, right = (grown(d, g, depth, 4) for _ in range(2))
    if g.random() < 0.3:
        left = (
            d.divide(left, right, 4, False)
            if g.random() < 0.5
            else d.remainder(left, right, 4, False)
        )
    if g.random() < 0.3:
        return d.equal(left, right, 4)
    return d.less(left, right, 4, g.random() < 0.5)


@pytest.mark.parametrize("seed", range(4))
def test_what_other_conditions_say_excludes_no_point(seed: int) -> None:
    g = random.Random(100 + seed)
    asked = refuted = judged = 0

    def holds(script: str) -> bool:
        nonlocal judged
        judged += 1
        return solve([script]) == ["holds"]

    for _ in range(60):
        d = BitVectors()
        conditions = [compared(d, g, depth) for depth in (0, 0, 1, 2)]
        maxima = {f"v{i}.{w}": g.randrange(1, 1 << min(w, 3)) for i in range(3) for w in _WIDTHS}
        script = integer_script(conditions, maxima, {"v0.4": 1}, holds)
        if not script:
            continue
        used = {str(node.attribute) for node in order(conditions) if node.operator == "variable"}
        ranges = [range(name == "v0.4", maxima[name] + 1) for name in sorted(used)]
        points = [dict(zip(sorted(used), p, strict=True)) for p in itertools.product(*ranges)]
        if len(points) > 4096:
            continue
        possible = any(all(values) for values in evaluate_each(conditions, points))
        verdict = solve([script])
        asked += 1
        refuted += verdict == ["holds"]
        if possible or any(condition.product for condition in conditions):
            assert verdict == ["fails"] or not possible, script
        else:
            assert verdict == ["holds"], script
    assert asked > 20
    assert refuted > 5
    assert judged > 20


def test_known_zero_bits_end_with_the_value() -> None:
    d = BitVectors()
    a, b = d.variable("a", 4), d.variable("b", 4)
    # Both shifts together leave nothing of a; what is put above that is not zero for it.
    gone = d.multiply(d.shift_left(a, d.constant(2, 4), 4), d.constant(8, 4), 4)
    above = d.concatenate([gone, b], [4, 4])
    low = d.extend(d.concatenate([b, d.extract(b, 0, 1)], [4, 1]), 5, 8, False)
    # With b = 1 they are 16 and 17, and have a bit in common: 17 together, and not 33.
    one = d.equal(b, d.constant(1, 4), 4)
    together = d.equal(d.bit_or(above, low, 8), d.constant(17, 8), 8)
    script = integer_script([one, together], {})
    assert not script or solve([script]) == ["fails"]


def test_what_is_zero_by_its_bounds_is_not_looked_into() -> None:
    d = BitVectors()
    a, b = d.variable("a", 64), d.variable("b", 64)
    high = d.bit_and(d.bit_or(a, b, 64), d.constant(-(1 << 32), 64), 64)
    some = d.bit_xor(d.equal(high, d.constant(0, 64), 64), d.constant(1, 1), 1)
    assert solve([integer_script([some], {"a": 100, "b": 200})]) == ["holds"]
    assert not integer_script([some], {"a": 100})


def test_a_quotient_by_a_size_is_one_number() -> None:
    d = BitVectors()
    a, b, c = (d.variable(name, 32) for name in "abc")
    one, two = d.divide(a, b, 32, False), d.divide(c, b, 32, False)
    other = d.bit_xor(d.equal(one, two, 32), d.constant(1, 1), 1)
    maxima, minima = dict.fromkeys("abc", 1 << 20), {"b": 1}
    same = d.equal(a, c, 32)
    assert solve([integer_script([same, other], maxima, minima)]) == ["holds"]
    assert solve([integer_script([other], maxima, minima)]) == ["fails"]
    rest, end = d.remainder(a, b, 32, False), d.less(d.remainder(a, b, 32, False), b, 32, False)
    assert solve([integer_script([d.bit_xor(end, d.constant(1, 1), 1)], maxima, minima)]) == [
        "holds"
    ]
    # Nothing is left of a number that is divided by zero; all of it is, as a remainder.
    zero = {"a": 1 << 20, "b": 0}
    assert solve([integer_script([d.less(rest, a, 32, False)], zero)]) == ["holds"]
