"""Bijections, stated by their explicit inverse.

Two maps are inverse to each other, hence each one to one and onto, when both round trips are the
identity and both images lie inside their domains. These are equalities and bounds without any
"there is", which is what makes a bijection a claim like every other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tylo.layouts.errors import ClaimError
from tylo.layouts.terms import Integer, evaluate
from tylo.layouts.terms import name as variable
from tylo.proofs.claims import Claim, Conjunct, Variables


def bijection(
    *,
    name: str,
    kind: str,
    statement: str,
    parameters: Mapping[str, int],
    source: Variables,
    target: Variables,
    forward: Mapping[str, Integer],
    inverse: Mapping[str, Integer],
) -> Claim:
    """The claim that `forward` maps `source` one to one onto `target`, by its explicit inverse.

    `forward` gives each target name as a term over the source names, `inverse` the other way
    round. A name may stand on both sides, with one bound, as a repeat that is carried along.

    >>> from tylo.layouts.terms import name
    >>> claim = bijection(
    ...     name="split", kind="bijective", statement="A row is its half and its rest.",
    ...     parameters={}, source=[("row", 16)], target=[("half", 2), ("rest", 8)],
    ...     forward={"half": name("row") // 8, "rest": name("row") % 8},
    ...     inverse={"row": 8 * name("half") + name("rest")},
    ... )
    >>> for part in claim.conjuncts:
    ...     print(part)
    target half from 0: 0 <= row / 8
    target half below its bound: row / 8 < 2
    target rest from 0: 0 <= row % 8
    target rest below its bound: row % 8 < 8
    source row returns: 8 * (row / 8) + row % 8 = row
    source row from 0: 0 <= 8 * half + rest
    source row below its bound: 8 * half + rest < 16
    target half returns: (8 * half + rest) / 8 = half
    target rest returns: (8 * half + rest) % 8 = rest
    """
    for domain, image in ((source, inverse), (target, forward)):
        if {identifier for identifier, _ in domain} != set(image):
            raise ClaimError(
                f"bijection {name}: terms for {sorted(image)} do not fit {[n for n, _ in domain]}",
                hint="give exactly one term for each variable of the other side",
            )
    sizes = {parameter: variable(parameter) for parameter in parameters}

    def inside(side: str, domain: Variables, terms: Mapping[str, Integer]) -> Iterator[Conjunct]:
        for identifier, bound in domain:
            yield Conjunct(f"{side} {identifier} from 0", "<=", 0, terms[identifier])
            if bound is not None:
                yield Conjunct(
                    f"{side} {identifier} below its bound", "<", terms[identifier], bound
                )

    def returns(
        side: str, domain: Variables, there: Mapping[str, Integer], back: Mapping[str, Integer]
    ) -> Iterator[Conjunct]:
        for identifier, _ in domain:
            trip = evaluate(back[identifier], {**sizes, **there})
            yield Conjunct(f"{side} {identifier} returns", "=", trip, variable(identifier))

    return Claim(
        name=name,
        kind=kind,
        statement=statement,
        parameters=parameters,
        variables=tuple(dict.fromkeys((*source, *target))),
        conjuncts=(
            *inside("target", target, forward),
            *returns("source", source, forward, inverse),
            *inside("source", source, inverse),
            *returns("target", target, inverse, forward),
        ),
    )
