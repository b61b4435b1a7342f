"""Each check of the algebra, removed in turn: the definitions must notice every time.

A mutant is the source of one module with one line changed. It is run beside the definition over
small operands; a mutant that nobody can tell from the original would mean a check that does
nothing, or a test that sees nothing.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest

from tylo.layouts import Layout
from tylo.layouts.errors import TyloError


def mutated(module: str, old: str, new: str) -> ModuleType:
    original = importlib.import_module(f"tylo.layouts.{module}")
    source = inspect.getsource(original)
    assert source.count(old) == 1, f"{old!r} occurs {source.count(old)} times in {module}"
    mutant = ModuleType(original.__name__)
    exec(compile(source.replace(old, new), f"<mutant of {module}>", "exec"), mutant.__dict__)
    return mutant


def small(modes: int, extents: tuple[int, ...], strides: tuple[int, ...]) -> Iterator[Layout]:
    for rank in range(1, modes + 1):
        for shape in itertools.product(extents, repeat=rank):
            for stride in itertools.product(strides, repeat=rank):
                yield Layout(shape, stride)


def table(layout: Layout) -> list[int]:
    return [layout(i) for i in range(layout.size())]


def composition_wrong(module: ModuleType) -> bool:
    """A wrong table, or a refusal where the unmutated module answers."""
    original = importlib.import_module("tylo.layouts.algebra.composition").composition
    for a in small(3, (2, 3), (-1, 1, 5)):
        for b in small(2, (2, 3, 4), (1, 3)):
            try:
                result = module.composition(a, b)
            except TyloError:
                try:
                    original(a, b)
                except TyloError:
                    continue
                return True
            if table(result) != [a.extended(b(i)) for i in range(b.size())]:
                return True
    return False


def complement_wrong(module: ModuleType) -> bool:
    for layout in small(2, (1, 2, 3), (-2, 0, 1, 2, 3, 4, 6)):
        for cotarget in 7, 24:
            try:
                rest = module.complement(layout, cotarget)
            except TyloError:
                continue
            offsets = {layout(i) for i in range(layout.size())}
            reached = sorted(o + r for o in offsets for r in table(rest))
            if reached != list(range(len(reached))) or len(reached) < cotarget:
                return True
    return False


def collision_wrong(module: ModuleType) -> bool:
    for layout in small(3, (2, 3), (-5, 0, 1, 2, 3, 7)):
        pair = module.collision(layout)
        if (pair is None) != (len(set(table(layout))) == layout.size()):
            return True
        if pair is not None and (pair[0] == pair[1] or layout(pair[0]) != layout(pair[1])):
            return True
    return False


def left_inverse_wrong(module: ModuleType) -> bool:
    for layout in small(2, (2, 3), (0, 1, 2, 3, 4, 5, 6, 7)):
        try:
            inverse = module.left_inverse(layout)
        except TyloError:
            continue
        if any(inverse.extended(layout(i)) != i for i in range(layout.size())):
            return True
    return False


def right_inverse_wrong(module: ModuleType) -> bool:
    for layout in small(2, (2, 3), (0, 1, 2, 3, 4, 6)):
        inverse = module.right_inverse(layout)
        if any(layout(inverse(i)) != i for i in range(inverse.size())):
            return True
    return False


def upcast_wrong(module: ModuleType) -> bool:
    for layout in small(2, (2, 3, 4), (0, 1, 2, 3, 4)):
        for n in 2, 4, 6:
            try:
                result = module.upcast(layout, n)
            except TyloError:
                continue
            if Counter(n * r + t for r in table(result) for t in range(n)) != Counter(
                table(layout)
            ):
                return True
    return False


def from_layout_wrong(module: ModuleType) -> bool:
    for layout in small(2, (1, 2, 3, 4), (0, 1, 2, 3, 4)):
        try:
            result = module.from_layout(layout)
        except TyloError:
            continue
        if (
            any(
                result(index=i) != {"offset": layout(i)}
                for i in range(min(layout.size(), dict(result.in_dims)["index"]))
            )
            or dict(result.in_dims)["index"] != layout.size()
        ):
            return True
    return False


def common_wrong(module: ModuleType) -> bool:
    for a in small(2, (2, 3), (1, 2, 3)):
        for b in small(3, (2, 3), (1, 2, 4)):
            steps = table(module.max_common_layout(a, b))
            if any(i >= a.size() or a(i) != n or b(i) != n for n, i in enumerate(steps)):
                return True
    return False


def notices(wrong: Callable[[ModuleType], bool], mutant: ModuleType) -> bool:
    """A crash is noticed too."""
    try:
        return wrong(mutant)
    except ArithmeticError:
        return True


MUTANTS: list[tuple[str, str, str, Callable[[ModuleType], bool]]] = [
    ("algebra.composition", "if load >= position:", "if load > position:", composition_wrong),
    ("algebra.composition", "if load >= position:", "if False:", composition_wrong),
    ("algebra.composition", "        if extent % run:\n", "        if False:\n", composition_wrong),
    (
        "algebra.composition",
        "            if rest % run:\n",
        "            if True:\n",
        composition_wrong,
    ),
    ("algebra.composition", "loads[number] += (run - 1) * residue", "pass", composition_wrong),
    ("algebra.composition", "if witness is None:", "if True:", composition_wrong),
    (
        "algebra.complement",
        "if stride < covered or stride % covered:",
        "if stride % covered:",
        complement_wrong,
    ),
    (
        "algebra.complement",
        "if stride < covered or stride % covered:",
        "if stride < covered:",
        complement_wrong,
    ),
    (
        "algebra.complement",
        "rest = -(-product(cotarget) // covered)",
        "rest = product(cotarget) // covered",
        complement_wrong,
    ),
    (
        "algebra.injective",
        "if size <= reach or size == 0:",
        "if size < reach or size == 0:",
        collision_wrong,
    ),
    ("algebra.injective", "if size <= reach or size == 0:", "if False:", collision_wrong),
    (
        "algebra.injective",
        "return chosen if any(chosen) else None",
        "return chosen",
        collision_wrong,
    ),
    (
        "algebra.inverse",
        "if stride < covered or stride % reached:",
        "if stride % reached:",
        left_inverse_wrong,
    ),
    (
        "algebra.inverse",
        "if stride < covered or stride % reached:",
        "if stride < covered:",
        left_inverse_wrong,
    ),
    (
        "algebra.inverse",
        "        if stride == covered:\n",
        "        if True:\n",
        right_inverse_wrong,
    ),
    ("algebra.recast", "if part > 1 and stride != covered:", "if False:", upcast_wrong),
    ("algebra.recast", "    if covered != n:\n", "    if False:\n", upcast_wrong),
    ("algebra.recast", "if extent % part:", "if False:", upcast_wrong),
    ("linear.build", "if image & earlier:", "if False:", from_layout_wrong),
    ("algebra.common", "        if offset != covered:\n            break\n", "", common_wrong),
    ("algebra.common", "last // step + 1", "extent", common_wrong),
    ("algebra.common", "        if run != extent:\n            break\n", "", common_wrong),
]


@pytest.mark.parametrize(
    ("module", "old", "new", "wrong"),
    MUTANTS,
    ids=[f"{module}-{number}" for number, (module, *_) in enumerate(MUTANTS)],
)
def test_a_missing_check_shows(
    module: str, old: str, new: str, wrong: Callable[[ModuleType], bool]
) -> None:
    assert notices(wrong, mutated(module, old, new))


@pytest.mark.parametrize("wrong", sorted({m[3] for m in MUTANTS}, key=lambda w: w.__name__))
def test_the_originals_are_right(wrong: Callable[[ModuleType], bool]) -> None:
    modules = {judge: module for module, _, _, judge in MUTANTS}
    assert not wrong(importlib.import_module(f"tylo.layouts.{modules[wrong]}"))
