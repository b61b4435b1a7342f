"""The online softmax state: what its programs compute, by which tool each part is shown.

The claims here are about the graphs of `tylo.proofs.lane_programs.softmax`, read as exponents: in a
row of finite scores every summand of a new sum is the power ``2 ** (c * (score - maximum))`` of its
score, whichever tile or state it came from, and no exponent is above zero. They are polynomial
identities, checked for all natural numbers, and so true for all real ones.

>>> for claim in claims():
...     print(claim.name, len(claim.conjuncts))
update 4
merge 2
merge_lanes 4
never_positive 4
greatest_weighs_one 4

What integers cannot say is said elsewhere, about the same graphs or the same algebra:

- over the reals, for all sequences of tiles, merges and references: `proofs/theories/Softmax.v`;
- with infinities, NaN and rounding, in every case: `tylo.proofs.lane_programs.softmax_guards`;
- that a reduction takes each element exactly once: `tylo.proofs.lane_programs.softmax_schedule`
  for one ownership, and the claims of the reduction itself for all sizes.
"""

from __future__ import annotations

from collections.abc import Sequence

from tylo.layouts.terms import Integer, evaluate, name, names
from tylo.proofs.claims import Claim, Conjunct
from tylo.proofs.lane_programs import softmax
from tylo.proofs.lane_programs.exponents import GENERIC, TOP, C, exponents
from tylo.proofs.lane_programs.program import LaneProgram
from tylo.proofs.lane_programs.rows import Rows

# A graph with every kind of node that a larger one has.
ROWS = Rows(groups=((0, 1, 2),), masks=(), row_of=(0, 0, 0))
PARTS = Rows(groups=((0, 1, 2, 3),), masks=(), row_of=(0, 0, 0, 0))

THEOREM = (
    "In every row of finite scores, update, merge and merge of lanes leave sums whose summands are "
    "2^(c*(score - maximum)), each score once; no exponent is positive and that of the greatest "
    "score is zero. These are the polynomial identities of this certificate. Not of it, but shown "
    "by Tylo's own tests: folds, merges and references over the reals by Coq (theories/Softmax.v); "
    "infinities, NaN and guards by z3 and cvc5; what the reductions add up by the schedule of each "
    "ownership. Rounding errors are bounded in the documentation."
)


def claims(
    update: LaneProgram | None = None,
    merge: LaneProgram | None = None,
    merge_lanes: LaneProgram | None = None,
) -> tuple[Claim, ...]:
    """The claims about the three programs, or about others in their place."""
    update = update or softmax.update(ROWS, GENERIC)
    merge = merge or softmax.merge(1, GENERIC)
    merge_lanes = merge_lanes or softmax.merge_lanes(PARTS, GENERIC)
    summands = {
        "update": (update, ("y", "x0", "x1", "x2")),
        "merge": (merge, ("y", "z")),
        "merge_lanes": (merge_lanes, ("y0", "y1", "y2", "y3")),
    }
    found = [
        _claim(
            label,
            "Every summand of the new sum is the weight of its score under the new maximum.",
            _weights(program, scores),
        )
        for label, (program, scores) in summands.items()
    ]
    (weights,) = zip(*exponents(update, "weights"), strict=True)
    (rescale,) = exponents(update, "rescale")[0]
    held = [*((f"x{value}", exponent) for value, exponent in enumerate(weights)), ("m", rescale)]
    found.append(
        _claim(
            "never_positive",
            "Where the maximum is a score or more, no exponent is positive.",
            [
                Conjunct(score, "<=", evaluate(exponent, _above(exponent, score)), 0)
                for score, exponent in held
            ],
        )
    )
    found.append(
        _claim(
            "greatest_weighs_one",
            "The exponent of a score that is the maximum is zero.",
            [
                Conjunct(score, "=", evaluate(exponent, _at(exponent, score)), 0)
                for score, exponent in held
            ],
        )
    )
    return tuple(found)


def _weights(program: LaneProgram, scores: Sequence[str]) -> list[Conjunct]:
    (summands,) = exponents(program, "sum")
    conjuncts = [
        Conjunct(f"weight of {score}", "=", exponent + C * TOP, C * name(score))
        for score, exponent in zip(scores, summands, strict=False)
    ]
    if len(scores) == len(summands):
        return conjuncts
    return [*conjuncts, Conjunct("summands", "=", len(summands), len(scores))]


def _above(exponent: Integer, score: str) -> dict[str, Integer]:
    """Values for the names of an exponent under which the maximum is `score` plus a distance."""
    return _names(exponent) | {"top": name(score) + name("distance")}


def _at(exponent: Integer, score: str) -> dict[str, Integer]:
    return _names(exponent) | {"top": name(score)}


def _names(term: Integer) -> dict[str, Integer]:
    return {each: name(each) for each in names(term)}


def _claim(label: str, statement: str, conjuncts: Sequence[Conjunct]) -> Claim:
    sides = [side for each in conjuncts for side in (each.left, each.right)]
    found = sorted({each for side in sides for each in names(side)})
    return Claim(
        name=label,
        kind="algebra",
        statement=statement,
        parameters={},
        variables=[(each, None) for each in found],
        conjuncts=conjuncts,
    )
