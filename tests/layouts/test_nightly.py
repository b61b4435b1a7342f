"""The definitions again, over more than 100,000 random operands: `pytest -m nightly`."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import pytest

import tylo.layouts as tl
from tylo.layouts import Layout, LayoutError

pytestmark = pytest.mark.nightly

EXTENTS = (1, 2, 2, 3, 3, 4, 5, 6)


def offset(extents: Sequence[int], strides: Sequence[int], index: int) -> int:
    total = 0
    for extent, stride in zip(extents[:-1], strides[:-1], strict=True):
        total += index % extent * stride
        index //= extent
    return total + index * strides[-1]


def is_layout_table(table: list[int]) -> bool:
    """Whether a layout has this table: by its first step, its straight run and the rest."""
    size = len(table)
    run = next((c for c in range(1, size) if table[c] != c * table[1]), size)
    if run == size:
        return True
    blocks = [table[start : start + run] for start in range(0, size, run)]
    same = all([value - block[0] for value in block] == table[:run] for block in blocks)
    return size % run == 0 and same and is_layout_table([block[0] for block in blocks])


def composed(a: Layout, b: Layout) -> list[int] | None:
    steps = list(zip(b.shape, b.stride, strict=True))
    alone = [[offset(a.shape, a.stride, c * d) for c in range(n)] for n, d in steps]
    if not all(map(is_layout_table, alone)):
        return None
    table = []
    for at in itertools.product(*(range(n) for n in reversed(b.shape))):
        c = at[::-1]
        value = offset(a.shape, a.stride, sum(x * d for x, (_, d) in zip(c, steps, strict=True)))
        if value != sum(column[x] for x, column in zip(c, alone, strict=True)):
            return None
        table.append(value)
    return table


def almost_straight(rng: random.Random) -> Layout:
    """Strides that nearly continue one another: jumps of both signs, which often cancel."""
    shape = [rng.choice(EXTENTS) for _ in range(rng.randint(1, 5))]
    stride = [rng.randint(-4, 9)]
    for extent in shape[:-1]:
        stride.append(extent * stride[-1] + rng.choice((-2, -1, -1, 0, 1, 1, 2, 7)))
    return Layout(tuple(shape), tuple(stride))


def any_layout(rng: random.Random, most: int, low: int, high: int) -> Layout:
    shape = tuple(rng.choice(EXTENTS) for _ in range(rng.randint(1, most)))
    return Layout(shape, tuple(rng.randint(low, high) for _ in shape))


@pytest.mark.parametrize("seed", range(8))
def test_composition(seed: int) -> None:
    rng = random.Random(seed)
    verdicts = {True: 0, False: 0}
    for number in range(10_000):
        a = almost_straight(rng) if number % 3 else any_layout(rng, 4, -20, 20)
        b = any_layout(rng, 3, 0, 13)
        expected = composed(a, b)
        verdicts[expected is not None] += 1
        if expected is None:
            with pytest.raises(LayoutError):
                tl.composition(a, b)
        else:
            result = tl.composition(a, b)
            assert tl.compatible(b, result), (a, b)
            assert [result(i) for i in range(result.size())] == expected, (a, b)
    assert min(verdicts.values()) > 1_000


@pytest.mark.parametrize("seed", range(4))
def test_collisions_and_complements(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(10_000):
        layout = any_layout(rng, 4, 0 if rng.random() < 0.5 else -30, 30)
        table = [layout(i) for i in range(layout.size())]
        pair = tl.collision(layout)
        assert (pair is None) == (len(set(table)) == len(table)), layout
        if pair is not None:
            assert pair[0] != pair[1]
            assert layout(pair[0]) == layout(pair[1])
        cotarget = rng.randint(1, 200)
        try:
            rest = tl.complement(layout, cotarget)
        except LayoutError:
            continue
        reached = sorted({offset + rest(j) for offset in set(table) for j in range(rest.size())})
        assert reached == list(range(len(set(table)) * rest.size())), layout
        assert len(reached) >= cotarget


def test_inverses() -> None:
    rng = random.Random(0)
    for _ in range(10_000):
        extents = [rng.choice(EXTENTS) for _ in range(rng.randint(1, 4))]
        order = rng.sample(range(len(extents)), len(extents))
        strides, step = [0] * len(extents), 1
        for mode in order:
            strides[mode] = step
            step *= extents[mode] * rng.choice((1, 1, 2, 3))
        layout = Layout(tuple(extents), tuple(strides))
        right, left = tl.right_inverse(layout), tl.left_inverse(layout)
        assert all(layout(right(i)) == i for i in range(right.size())), layout
        assert all(left.extended(layout(i)) == i for i in range(layout.size())), layout
