"""What holds of every product of two numbers: enough to compare rows without multiplying.

Offsets into a matrix with a runtime stride are row * stride + column. That row * stride + stride
<= rows * stride whenever row < rows is beyond solvers that multiply bit by bit, and obvious to
whoever knows that products are monotone. So a script may take each product as a variable of its
own, together with the facts stated here. They hold of all numbers that are not negative.

>>> for lemma in lemmas([Product("p", 900, ("row", "stride"))]):
...     print(lemma)
(<= 0 p 900)
(=> (= row 0) (= p 0))
(=> (= stride 0) (= p 0))
(=> (= row 1) (= p stride))
(=> (< 0 row) (<= stride p))
(=> (= stride 1) (= p row))
(=> (< 0 stride) (<= row p))
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

_VECTORS = (2, 4, 8)
_SMALL = 40  # the columns of a narrow row
_MOST_COUNTS = 12


@dataclass(frozen=True, slots=True)
class Product:
    """A product as the text `name`, which is at most `most`, and the texts of its factors.

    Neither is negative. The text may be a sum: (a + b) * c is a * c + b * c. The first factor is at
    most `small`, if that is said.
    """

    name: str
    most: int
    factors: tuple[str, str]
    small: int | None = None


def lemmas(
    products: Sequence[Product], counts: Mapping[str, Collection[int]] = MappingProxyType({})
) -> Iterator[str]:
    """Facts about products, as SMT-LIB text over the integers.

    `counts` says how often a factor is counted elsewhere: the third column after the first of a
    lane's is compared with all those of a wide row, each times a stride.
    """
    for product in products:
        left, right = product.factors
        yield f"(<= 0 {product.name} {product.most})"
        for factor in (left, right):
            yield f"(=> (= {factor} 0) (= {product.name} 0))"
        for factor, other in ((left, right), (right, left)):
            yield f"(=> (= {factor} 1) (= {product.name} {other}))"
            yield f"(=> (< 0 {factor}) (<= {other} {product.name}))"
        if product.small is not None and product.small <= _SMALL:
            # Few values: they are gone through.
            for count in range(2, product.small + 1):
                yield f"(=> (= {left} {count}) (= {product.name} (* {count} {right})))"
        elif product.small is not None:
            known = {0, 1, *counts.get(right, ())}
            apart = {more - less for more in known for less in known if more - less > 1}
            for count in sorted({*apart, product.small})[:_MOST_COUNTS]:
                yield f"(=> (<= {left} {count}) (<= {product.name} (* {count} {right})))"
    for first, second in itertools.combinations(products, 2):
        for matching in _matchings(first, second):
            yield from _monotone(first, second, matching, counts)
            yield from _monotone(second, first, [(d, c) for c, d in matching], counts)


def signs(count: str, size: str, product: str) -> Iterator[str]:
    """Facts about the product of a number that may be negative and one that is not.

    >>> list(signs("(- a b)", "c", "p"))[:1]
    ['(=> (<= 0 (- a b)) (<= 0 p))']
    """
    yield f"(=> (<= 0 {count}) (<= 0 {product}))"
    yield f"(=> (< 0 {count}) (<= {size} {product}))"
    yield f"(=> (<= {count} 0) (<= {product} 0))"
    yield f"(=> (< {count} 0) (<= (+ {product} {size}) 0))"


def _matchings(first: Product, second: Product) -> list[list[tuple[str, str]]]:
    """The ways to compare factors: those that meet in a common factor, if there are any."""
    straight = list(zip(first.factors, second.factors, strict=True))
    crossed = list(zip(first.factors, reversed(second.factors), strict=True))
    both = [straight, crossed]
    return [m for m in both if any(a == b for a, b in m)]


def _monotone(
    less: Product,
    more: Product,
    matching: list[tuple[str, str]],
    counts: Mapping[str, Collection[int]],
) -> Iterator[str]:
    """From a <= c and b <= d, ab <= cd; and from a + n <= c, ab + nb <= cd, for a few n."""
    below = [f"(<= {a} {c})" if a != c else "true" for a, c in matching]
    yield f"(=> (and {' '.join(below)}) (<= {less.name} {more.name}))"
    for index, (a, c) in enumerate(matching):
        other = matching[1 - index][0]
        if a == c:
            continue
        yield (
            f"(=> (and (< {a} {c}) {below[1 - index]}) (<= (+ {less.name} {other}) {more.name}))"
        )
        if below[1 - index] == "true":
            # The step after the last.
            yield f"(=> (<= {a} (+ {c} 1)) (<= {less.name} (+ {more.name} {other})))"
        # The elements of a vector, at any distance from one another: two, four or eight of them.
        # And what is that far into the columns of a thread.
        apart = sorted({*_VECTORS, *counts.get(other, ())})[:_MOST_COUNTS]
        for steps in apart if below[1 - index] == "true" else ():
            yield (
                f"(=> (<= (+ {a} {steps}) {c}) "
                f"(<= (+ {less.name} (* {steps} {other})) {more.name}))"
            )
