"""Claims: statements about integers that hold for every size, lane, value and repeat.

A claim says: *for all parameters at or above their minimum, and all variables below their bound,
every conjunct holds.* A parameter is an unbounded size, such as a repeat count ``M >= 1``; a
variable is a natural number below a bound, such as ``lane < 32`` or ``m < M``; a conjunct relates
two terms by ``=``, ``<`` or ``<=``. Bijections, ownerships and register numbers all reduce to this
one form, see `tylo.proofs.bijection`.

>>> from tylo.layouts.terms import name
>>> lane, M = name("lane"), name("M")
>>> claim = Claim(
...     name="rows",
...     kind="in_bounds",
...     statement="Every lane's row lies inside the tile.",
...     parameters={"M": 1},
...     variables=[("lane", 32), ("m", M)],
...     conjuncts=[Conjunct("row", "<", 16 * name("m") + lane // 4, 16 * M)],
... )
>>> claim.id[:19]
'sha256:4a1a4cc9ec7e'
>>> claim_from_json(claim.to_json()) == claim
True
>>> print(claim.conjuncts[0])
row: 16 * m + lane / 4 < 16 * M

The order of the variables is the order in which the least counterexample is sought. Divisors are
products of positive integers and of parameters with a minimum of at least 1, so that every claim
is defined everywhere; bounds start at 1 or more, so that no claim holds by having nothing to say.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeAlias

from tylo.layouts.errors import ClaimError
from tylo.layouts.terms import Integer, Term, evaluate, from_json, names, show, to_json

KINDS = (
    "equal",
    "same_lane",
    "exchange",
    "bijective",
    "covers",
    "replicated",
    "in_bounds",
    "conflict_free",
    "race_free",
    "packed_word",
    "ptx_effect",
    "numeric",
    "algebra",
)
RELATIONS = ("=", "<", "<=")
LARGEST_INTEGER = 2**64
DEEPEST_TERM = 100

Variables: TypeAlias = "Sequence[tuple[str, Integer | None]]"

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_CLAIM_KEYS = {"name", "kind", "statement", "parameters", "variables", "conjuncts"}


def canonical_json(data: Any) -> str:
    """The one spelling of `data`: sorted keys, no spaces, ASCII.

    >>> canonical_json({"b": [1, "x"], "a": None})
    '{"a":null,"b":[1,"x"]}'
    """
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


@dataclass(frozen=True, slots=True)
class Conjunct:
    """`left relation right`, under a label that a report and a counterexample can name."""

    label: str
    relation: str
    left: Integer
    right: Integer

    def __str__(self) -> str:
        return f"{self.label}: {show(self.left)} {self.relation} {show(self.right)}"


@dataclass(frozen=True)
class Claim:
    """One claim, validated on construction; raises `ClaimError` on anything malformed.

    `parameters` maps a name to its minimum; `variables` are ordered pairs of a name and a bound,
    ``None`` for all natural numbers. `kind` is one of `KINDS` and only classifies: what is claimed
    is the conjuncts.
    """

    name: str
    kind: str
    statement: str
    parameters: Mapping[str, int] = field(hash=False)
    variables: Variables
    conjuncts: Sequence[Conjunct]

    def __post_init__(self) -> None:
        parameters = MappingProxyType(dict(sorted(self.parameters.items())))
        object.__setattr__(self, "parameters", parameters)
        object.__setattr__(self, "variables", tuple((name, top) for name, top in self.variables))
        object.__setattr__(self, "conjuncts", tuple(self.conjuncts))
        _validate(self)

    @property
    def id(self) -> str:
        """``sha256:`` and the digest of the claim's canonical JSON."""
        digest = hashlib.sha256(canonical_json(self.to_json()).encode("ascii")).hexdigest()
        return f"sha256:{digest}"

    def to_json(self) -> dict[str, Any]:
        """Plain data, ready for `canonical_json`."""
        return {
            "name": self.name,
            "kind": self.kind,
            "statement": self.statement,
            "parameters": dict(self.parameters),
            "variables": [
                [name, None if bound is None else to_json(bound)] for name, bound in self.variables
            ],
            "conjuncts": [
                [part.label, part.relation, to_json(part.left), to_json(part.right)]
                for part in self.conjuncts
            ],
        }


def claim_from_json(data: Any) -> Claim:
    """The inverse of `Claim.to_json`; refuses whatever would not come back out unchanged."""
    if not isinstance(data, dict) or set(data) != _CLAIM_KEYS:
        raise ClaimError("not a claim object", hint=f"its keys are {sorted(_CLAIM_KEYS)}")
    if not isinstance(data["parameters"], dict):
        raise ClaimError("parameters are not an object", hint='write {"M": 1}')
    for key, size in (("variables", 2), ("conjuncts", 4)):
        rows = data[key]
        if not isinstance(rows, list) or not all(
            isinstance(row, list) and len(row) == size for row in rows
        ):
            raise ClaimError(f"{key} are not a list of {size}-element lists")
    claim = Claim(
        name=data["name"],
        kind=data["kind"],
        statement=data["statement"],
        parameters=data["parameters"],
        variables=[
            (name, None if bound is None else _term(bound)) for name, bound in data["variables"]
        ],
        conjuncts=[
            Conjunct(label, relation, _term(left), _term(right))
            for label, relation, left, right in data["conjuncts"]
        ],
    )
    if claim.to_json() != data:
        raise ClaimError(
            f"claim {claim.name} has a term that folds, so its id would change",
            hint="write terms without neutral elements and constant operations",
        )
    return claim


def _term(data: Any) -> Integer:
    if _json_depth(data) > DEEPEST_TERM:
        raise ClaimError(f"a term is nested deeper than {DEEPEST_TERM}", hint="split the claim")
    return from_json(data)


def _json_depth(data: Any) -> int:
    depth, level = 0, [data]
    while level and depth <= DEEPEST_TERM:
        level = [part for item in level if isinstance(item, list) for part in item]
        depth += 1
    return depth


def _validate(claim: Claim) -> None:
    where = f"claim {claim.name!r}"
    _require_identifier(claim.name, "a claim's name")
    if claim.kind not in KINDS:
        raise ClaimError(f"{where}: unknown kind {claim.kind!r}", hint=f"use one of {KINDS}")
    if not isinstance(claim.statement, str) or not claim.statement.strip():
        raise ClaimError(f"{where} states nothing", hint="write one readable sentence")
    if not claim.statement.isprintable():
        raise ClaimError(f"{where}: its statement has unprintable characters", hint="one line only")
    for parameter, minimum in claim.parameters.items():
        _require_identifier(parameter, "a parameter")
        if type(minimum) is not int or not 0 <= minimum < LARGEST_INTEGER:
            raise ClaimError(
                f"{where}: the minimum of {parameter} is {minimum!r}, not a natural number",
                hint="sizes start at 0 or more",
            )
    declared = set(claim.parameters)
    for variable, bound in claim.variables:
        _require_identifier(variable, "a variable")
        if variable in declared:
            raise ClaimError(f"{where} declares {variable!r} twice", hint="rename one")
        declared.add(variable)
        if bound is not None:
            _require_term(bound, set(claim.parameters), claim, f"the bound of {variable}")
            least = evaluate(bound, claim.parameters)
            if least < 1:
                raise ClaimError(
                    f"{where}: {variable} < {show(bound)} has no value at {dict(claim.parameters)}",
                    hint="raise the minimum of a parameter, so that the claim is not vacuous",
                )
    if not claim.conjuncts:
        raise ClaimError(f"{where} has no conjunct", hint="claim at least one relation")
    labels: set[str] = set()
    for part in claim.conjuncts:
        if not isinstance(part, Conjunct):
            raise ClaimError(f"{where}: {part!r} is not a Conjunct", hint="build a Conjunct")
        if not isinstance(part.label, str) or not part.label or not part.label.isprintable():
            raise ClaimError(f"{where}: {part.label!r} is not a label", hint="use printable text")
        if part.label in labels:
            raise ClaimError(f"{where}: two conjuncts called {part.label!r}", hint="rename one")
        labels.add(part.label)
        if part.relation not in RELATIONS:
            raise ClaimError(
                f"{where}: unknown relation {part.relation!r}", hint=f"use one of {RELATIONS}"
            )
        for side in (part.left, part.right):
            _require_term(side, declared, claim, f"conjunct {part.label!r}")


def _require_identifier(identifier: object, what: str) -> None:
    if not isinstance(identifier, str) or not _IDENTIFIER.fullmatch(identifier):
        raise ClaimError(
            f"{identifier!r} is not {what}", hint="use letters, digits and underscores"
        )


def _require_term(term: Integer, known: set[str], claim: Claim, place: str) -> None:
    where = f"claim {claim.name!r}, {place}"
    level: list[Integer] = [term]
    for _ in range(DEEPEST_TERM):
        below: list[Integer] = []
        for part in level:
            if isinstance(part, Term):
                if part.operator == "name":
                    continue
                if part.operator in ("div", "mod"):
                    _require_divisor(part.operands[1], claim, where)
                below.extend(part.operands)
            elif type(part) is not int or abs(part) >= LARGEST_INTEGER:
                raise ClaimError(
                    f"{where}: {part!r} is not an integer of 64 bits", hint="use plain integers"
                )
        level = below
        if not level:
            break
    else:
        raise ClaimError(f"{where}: nested deeper than {DEEPEST_TERM}", hint="split the claim")
    for identifier in names(term):
        if identifier not in known:
            raise ClaimError(
                f"{where}: {identifier!r} is not declared", hint=f"known names: {sorted(known)}"
            )


def _require_divisor(divisor: Integer, claim: Claim, where: str) -> None:
    match divisor:
        case int():
            positive = divisor >= 1
        case Term(operator="*", operands=(left, right)):
            _require_divisor(left, claim, where)
            _require_divisor(right, claim, where)
            positive = True
        case Term(operator="name", operands=(identifier,)):
            positive = claim.parameters.get(identifier, 0) >= 1
        case _:
            positive = False
    if not positive:
        raise ClaimError(
            f"{where}: divides by {show(divisor)}",
            hint="divide by a product of positive integers and of parameters of minimum 1 or more",
        )
