"""The conditions of a symbolic layout as a claim, to be proven for the sizes one has in mind.

A symbolic result rests on conditions such as ``n % 8 == 0`` or ``8 <= n``. With least values for
the symbols they are a claim like every other; a condition on divisibility is met by writing the
symbol as a multiple, which the claim then shows to suffice.

>>> import sympy
>>> from tylo.layouts import Layout, composition
>>> from tylo.proofs.prover import prove
>>> n = sympy.Symbol("n", integer=True, positive=True)
>>> wide = composition(Layout((n, 8), (8, 1)), Layout(4, 2))
>>> [str(condition) for condition in wide.conditions]
['8 <= n', '7 <= n']
>>> type(prove(condition_claim(wide.conditions, {"n": 8}))).__name__
'Proof'
>>> print(prove(condition_claim(wide.conditions, {"n": 4})))
claim layout_conditions fails at n = 4: condition 0: 8 <= 4
>>> from tylo.layouts.symbolic.facts import Condition
>>> k = sympy.Symbol("k", integer=True, positive=True)
>>> type(prove(condition_claim([Condition("divides", 8, 24 * k)], {"k": 1}))).__name__
'Proof'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add, mul
from typing import TYPE_CHECKING, Any

from tylo.layouts.errors import ClaimError
from tylo.layouts.terms import Integer, name
from tylo.proofs.claims import Claim, Conjunct

if TYPE_CHECKING:
    from tylo.layouts.symbolic.facts import Condition


def condition_claim(conditions: Sequence[Condition], minima: Mapping[str, int]) -> Claim:
    """The claim that every condition holds for all symbols at or above their least values.

    Raises `ClaimError` for a symbol without a least value, and for an entry that is no polynomial.
    """
    conjuncts = []
    for place, condition in enumerate(conditions):
        left, right = _term(condition.left), _term(condition.right)
        if condition.kind == "divides":
            conjuncts.append(Conjunct(f"condition {place}", "=", right % left, 0))
        else:
            conjuncts.append(Conjunct(f"condition {place}", "<=", left, right))
    return Claim(
        name="layout_conditions",
        kind="algebra",
        statement="What the symbolic layout rests on: "
        + ("; ".join(map(str, conditions)) or "nothing"),
        parameters=minima,
        variables=[],
        conjuncts=conjuncts,
    )


def _term(entry: Any) -> Integer:
    if isinstance(entry, int):
        return entry
    if entry.is_Integer:
        return int(entry)
    if entry.is_Symbol:
        return name(entry.name)
    if entry.is_Add or entry.is_Mul:
        # Numbers last, as one writes a sum.
        parts = sorted((_term(part) for part in entry.args), key=lambda part: isinstance(part, int))
        return reduce(add if entry.is_Add else mul, parts)
    if entry.is_Pow and entry.exp.is_Integer and entry.exp > 0:
        return reduce(mul, [_term(entry.base)] * int(entry.exp))
    raise ClaimError(f"{entry} is no polynomial", hint="substitute numbers for its symbols first")
