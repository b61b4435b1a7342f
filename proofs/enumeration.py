"""The least point where a claim fails, by enumeration at small sizes.

A conjunct depends on the variables it names, and the others are least at zero: so each conjunct is
enumerated over its own variables alone, a block of points at a time, and the least of the points
found is the claim's.

>>> from tylo.layouts.terms import name
>>> from tylo.proofs.claims import Claim, Conjunct
>>> claim = Claim(
...     name="pitch", kind="in_bounds", statement="Rows fit.", parameters={"M": 1},
...     variables=[("lane", 32), ("m", name("M"))],
...     conjuncts=[Conjunct("row", "<", 8 * name("m") + name("lane") // 4, 8 * name("M") - 1)],
... )
>>> parameters, values, conjunct, left, right = least_failure(claim)
>>> parameters, values, left, right
({'M': 1}, {'lane': 28, 'm': 0}, 7, 7)
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tylo.layouts.terms import Integer, Term, evaluate, names
from tylo.proofs.claims import Claim, Conjunct

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LARGEST_EXCESS = 3  # a parameter is tried from its minimum to this much above it
MOST_SIZES = 64
UNBOUNDED_LIMIT = 64
MOST_POINTS = 1 << 22  # per conjunct and size; a quarter of a second
BLOCK = 1 << 16


def least_failure(
    claim: Claim,
) -> tuple[Mapping[str, int], Mapping[str, int], Conjunct, int, int] | None:
    """Parameters, values, conjunct and its two sides at the least failing point, or None.

    Sizes come in the order of their total excess over the minima, points in the order of the
    variables. None means only that no point tried fails: sizes end at `LARGEST_EXCESS` above the
    minima, unbounded variables at `UNBOUNDED_LIMIT`, and points at `MOST_POINTS`.
    """
    for parameters in _sizes(claim.parameters):
        extents = {
            variable: UNBOUNDED_LIMIT if bound is None else int(evaluate(bound, parameters))
            for variable, bound in claim.variables
        }
        failures = []
        for index, conjunct in enumerate(claim.conjuncts):
            used = {*names(conjunct.left), *names(conjunct.right)}
            ranges = {name: extent for name, extent in extents.items() if name in used}
            if min(extents.values(), default=1) > 0:
                point = _first_failing(conjunct, parameters, ranges)
                if point is not None:
                    values = {name: point.get(name, 0) for name in extents}
                    failures.append((tuple(values.values()), index, values))
        if failures:
            _, index, values = min(failures, key=lambda failure: failure[:2])
            conjunct = claim.conjuncts[index]
            everything = {**parameters, **values}
            left, right = (evaluate(side, everything) for side in (conjunct.left, conjunct.right))
            return parameters, values, conjunct, left, right
    return None


def _sizes(minima: Mapping[str, int]) -> Iterator[dict[str, int]]:
    excesses = itertools.product(range(LARGEST_EXCESS + 1), repeat=len(minima))
    for excess in sorted(itertools.islice(excesses, 4096), key=lambda e: (sum(e), e))[:MOST_SIZES]:
        yield {
            name: least + more for (name, least), more in zip(minima.items(), excess, strict=True)
        }


def _first_failing(
    conjunct: Conjunct, parameters: Mapping[str, int], ranges: Mapping[str, int]
) -> dict[str, int] | None:
    import numpy as np

    total = min(math.prod(ranges.values()), MOST_POINTS)
    largest = {**parameters, **ranges}
    fits = all(_magnitude(side, largest) < 2**62 for side in (conjunct.left, conjunct.right))
    start, stop = 0, 256
    while start < total:
        points = np.arange(start, min(stop, total), dtype=np.int64)
        values = _coordinates(points, ranges)
        known: dict[str, Any] = (
            {**parameters, **values}
            if fits
            else {
                **parameters,
                **{name: column.astype(object) for name, column in values.items()},
            }
        )
        left, right = evaluate(conjunct.left, known), evaluate(conjunct.right, known)
        holds = {"=": left == right, "<": left < right, "<=": left <= right}[conjunct.relation]
        failing = np.flatnonzero(~np.broadcast_to(np.asarray(holds, dtype=bool), points.shape))
        if failing.size:
            return {name: int(column[failing[0]]) for name, column in values.items()}
        start, stop = stop, stop + BLOCK
    return None


def _coordinates(
    points: NDArray[np.int64], ranges: Mapping[str, int]
) -> dict[str, NDArray[np.int64]]:
    columns = {}
    for name in reversed(list(ranges)):
        columns[name] = points % ranges[name]
        points = points // ranges[name]
    return {name: columns[name] for name in ranges}


def _magnitude(term: Integer, largest: Mapping[str, int]) -> int:
    """A bound on the absolute value of the term and of every part of it."""
    if not isinstance(term, Term):
        return abs(term)
    if term.operator == "name":
        return largest[term.operands[0]]
    left, right = (_magnitude(operand, largest) for operand in term.operands)
    match term.operator:
        case "*":
            return max(left, 1) * max(right, 1)
        case "xor":
            return 2 << max(left, right).bit_length()
        case _:
            return left + right
