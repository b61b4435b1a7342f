"""What a lane program adds up and compares: sums as multisets, maxima as sets.

A node becomes a form in which the order of additions and of comparisons is gone and everything
else is kept: ``("add", {(term, how often), ...})``, ``("maximum", {term, ...})``, or an operator
with its operands. Two graphs with one form compute the same, up to the order in which sums are
rounded.

>>> from tylo.proofs.lane_programs.combine import combine
>>> from tylo.proofs.lane_programs.expression import register
>>> leaf = lambda node, lane: (lane, node.detail[1])
>>> values = [register("x", index) for index in range(2)]
>>> [[total, other]] = forms([combine("add", values, masks=(1,))], 2, leaf)
>>> total == other == ("add", frozenset({((0, 0), 1), ((0, 1), 1), ((1, 0), 1), ((1, 1), 1)}))
True
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence

from tylo.proofs.lane_programs.expression import Expression
from tylo.proofs.lane_programs.lanes import Holders, read_lanes
from tylo.proofs.lane_programs.operators import OPERATORS

Form = Hashable


def forms(
    roots: Sequence[Expression],
    lanes: int,
    leaf: Callable[[Expression, int], Form],
    holders: Holders = (),
) -> list[tuple[Form, ...]]:
    """The form of each root in each lane; `leaf` names what a register of a lane holds.

    `holders` as in `read_lanes`, for a program that crosses warps.
    """

    def named(node: Expression, lane: int) -> Form:
        if node.operator == "constant":
            return ("constant", repr(node.detail[0]))
        return leaf(node, lane)

    return read_lanes(roots, lanes, FUNCTIONS, named, holders)


def added(*terms: Form) -> Form:
    """The form of a sum."""
    count: Counter[Form] = Counter()
    for term in terms:
        if isinstance(term, tuple) and term[0] == "add" and isinstance(term[1], frozenset):
            count.update(dict(term[1]))
        else:
            count[term] += 1
    return ("add", frozenset(count.items()))


def greatest(*terms: Form) -> Form:
    """The form of a maximum."""
    found: set[Form] = set()
    for term in terms:
        if isinstance(term, tuple) and term[0] == "maximum" and isinstance(term[1], frozenset):
            found |= term[1]
        else:
            found.add(term)
    return ("maximum", frozenset(found))


def _kept(operator: str) -> Callable[..., Form]:
    return lambda *operands: (operator, *operands)


FUNCTIONS: Mapping[str, Callable[..., Form]] = {
    **{name: _kept(name) for name in OPERATORS},
    "add": added,
    "maximum": greatest,
}
