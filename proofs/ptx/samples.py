"""Sample launches: sizes and grids that an effect's preconditions allow.

Samples suggest which store is which and find violations quickly; nothing is proven by them.

>>> from tylo.layouts.terms import name
>>> from tylo.proofs.effects import Effect, Less, Parameter
>>> sizes = Parameter("columns", 32, 1, 1000), Parameter("stride", 32, 1, 1000)
>>> effect = Effect("k", 32, (), (), 100, sizes, (Less(name("columns"), name("stride") + 1),))
>>> found = samples(effect)
>>> len(found) > 3, all(each["columns"] <= each["stride"] for each in found)
(True, True)
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import lru_cache
from math import log2

from tylo.layouts.terms import Integer, evaluate, names
from tylo.proofs.effects import Effect, Less
from tylo.proofs.ptx.contract import sample

_TRIES = 4000
_MOST = 10
_EVEN = (208, 10_000, 200_000)  # whole vectors


@lru_cache(maxsize=64)
def samples(effect: Effect) -> tuple[dict[str, int], ...]:
    """Assignments of all sizes and of ``blocks``; none at all if nothing that fits was found.

    An effect without preconditions has no need of a search.
    """
    if not effect.preconditions:
        return ()
    found = _found(effect, mended=False) or _found(effect, mended=True)
    # Some that are small, and some of any size.
    return tuple(found[: _MOST // 2] + found[_MOST // 2 :: max(1, 2 * len(found) // _MOST)])


def _found(effect: Effect, mended: bool) -> list[dict[str, int]]:
    """Drawn assignments that the preconditions allow, each once, or can be `mended` to."""
    generator = random.Random(effect.entry)
    found: dict[tuple[int, ...], dict[str, int]] = {}
    for attempt in range(_TRIES):
        # Small launches first: they are the ones that are easy to read in a report.
        most = 6 if attempt < _TRIES // 4 else 12 if attempt < _TRIES // 2 else 64
        values: dict[str, int] = {}
        for parameter in effect.parameters:
            near = [v + generator.randrange(2) for v in values.values()]
            value = generator.choice([_pick(generator, most), *near])
            values[parameter.name] = min(max(parameter.minimum, value), parameter.maximum)
        blocks = generator.choice([_pick(generator, most), 1, 2, 3, *values.values()])
        values["blocks"] = min(max(1, blocks), effect.maximum_blocks)
        if mended:
            ways = effect.alternatives or ((),)
            for condition in (*effect.preconditions, *generator.choice(ways)):
                _mend(effect, condition, values)
        key = tuple(values.values())
        if key not in found and allowed(effect, values):
            found[key] = values
    return list(found.values())


def _mend(effect: Effect, condition: Less, values: dict[str, int]) -> None:
    """Move a size to where a condition holds, if it bounds one: `a < size + 1`, `size % 4 < 1`.

    The later condition wins; so those that say what others are made of come first.
    """
    if holds(condition, values):
        return
    left, right = condition.left, condition.right
    most = {each.name: each.maximum for each in effect.parameters}
    most["blocks"] = effect.maximum_blocks
    size, divisor = _size_of(left, "mod")
    if right == 1 and size:
        values[size] = min(values[size] + -values[size] % divisor, most[size])
        return
    if not isinstance(right, int) and right.operator == "+" and right.operands[1] == 1:
        size, times = _size_of(right.operands[0], "*")
        if size:
            values[size] = min(-(-int(evaluate(left, values)) // times), most[size])


def _size_of(term: Integer, operator: str) -> tuple[str, int]:
    """The size in a term of a size alone, or of one and a number; empty for another."""
    if isinstance(term, int):
        return "", 0
    if term.operator == "name":
        return (term.operands[0], 1) if operator != "mod" else ("", 0)
    first, second = term.operands
    if term.operator == operator and isinstance(second, int) and _size_of(first, "*")[1] == 1:
        return first.operands[0], second
    return "", 0


def edges(effect: Effect, count: Integer) -> Iterator[dict[str, int]]:
    """Launches like the samples, each with a size that is least: of all, or with its count.

    Where rows take different numbers of steps, or a block lacks some, that shows there first.
    """
    for sizes in (*samples(effect), *_even(effect)):
        for parameter in effect.parameters:
            found = sizes | {parameter.name: parameter.minimum}
            if allowed(effect, found):
                yield found
        steps = evaluate(count, sizes)
        for parameter in effect.parameters:
            if parameter.name not in names(count):
                continue
            least, most = parameter.minimum, sizes[parameter.name]
            while least < most:
                middle = (least + most) // 2
                if evaluate(count, sizes | {parameter.name: middle}) < steps:
                    least = middle + 1
                else:
                    most = middle
            found = sizes | {parameter.name: least}
            if allowed(effect, found):
                yield found


def _even(effect: Effect) -> Iterator[dict[str, int]]:
    """Launches in which all sizes are the same, as far as they may be: rows of several steps."""
    for size in _EVEN:
        found = {p.name: min(max(p.minimum, size), p.maximum) for p in effect.parameters}
        found["blocks"] = min(size, effect.maximum_blocks)
        if effect.preconditions and allowed(effect, found):
            yield found


def _pick(generator: random.Random, most: int) -> int:
    """A number of at most so many bits, each length equally likely."""
    return int(2 ** generator.uniform(0, min(most, log2(2**40))))


def allowed(effect: Effect, values: dict[str, int]) -> bool:
    """Whether the preconditions of an effect, and one of its alternatives, hold at a point."""
    ways = effect.alternatives or ((),)
    return all(holds(each, values) for each in effect.preconditions) and any(
        all(holds(each, values) for each in way) for way in ways
    )


def holds(condition: Less, values: dict[str, int]) -> bool:
    """Whether a condition holds at a point."""
    return bool(evaluate(condition.left, values) < evaluate(condition.right, values))


@lru_cache(maxsize=64)
def launches(effect: Effect) -> tuple[dict[str, int], ...]:
    """Sample sizes to look for violations at; ``blocks`` is missing where nothing bounds it."""
    return samples(effect) or tuple(
        dict(pairs)
        for pairs in dict.fromkeys(
            tuple(sample(effect, least).items()) for least in (3, 1, 7, 40, 1000)
        )
    )
