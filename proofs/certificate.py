"""Certificates: a theorem, the specification it instantiates, and its proven claims, in one file.

A certificate is canonical JSON, so that equal certificates are equal bytes, and holds nothing a
checker must believe: each claim comes with the digits of its variables, and
``python -I -S proofs/checker.py FILE`` accepts or rejects it knowing nothing else.

>>> from tylo.layouts.terms import name
>>> from tylo.proofs.claims import Claim, Conjunct
>>> from tylo.proofs.prover import require_proof
>>> lane = name("lane")
>>> halves = Claim(
...     name="halves", kind="equal", statement="A lane is its quad and its place in it.",
...     parameters={}, variables=[("lane", 32)],
...     conjuncts=[Conjunct("lane", "=", 4 * (lane // 4) + lane % 4, lane)],
... )
>>> certificate = Certificate(
...     theorem="Quads partition a warp.",
...     specification="quads",
...     parameters={},
...     proofs=[require_proof(halves)],
... )
>>> certificate.proofs[0].digits
(('lane', (('lane.0', 4), ('lane.1', 8))),)
>>> certificate_from_bytes(certificate.to_bytes()) == certificate
True
>>> [verdict.reason for verdict in certificate.check()]
['proven']
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from tylo.layouts.errors import ClaimError
from tylo.layouts.terms import Integer, from_json, to_json
from tylo.proofs import checker
from tylo.proofs.atomic import write_file
from tylo.proofs.claims import Claim, canonical_json, claim_from_json

SCHEMA = "tylo.certificate/1"


@dataclass(frozen=True)
class Proof:
    """A claim and, for each variable in order, its digits: pairs of a name and a radix.

    The least significant digit comes first; the radix of an unbounded top digit is ``None``. A
    `Proof` is what `tylo.proofs.prover.prove` returns after the checker accepted it.
    """

    claim: Claim
    digits: tuple[tuple[str, tuple[tuple[str, Integer | None], ...]], ...]

    def to_json(self) -> dict[str, Any]:
        """One entry of a certificate's ``claims``."""
        return {
            "id": self.claim.id,
            "claim": self.claim.to_json(),
            "digits": {
                variable: [
                    [digit, None if radix is None else to_json(radix)] for digit, radix in digits
                ]
                for variable, digits in self.digits
            },
        }


@dataclass(frozen=True)
class Certificate:
    """`theorem` in readable text, the named specification with its parameters, the proofs.

    `parameters` hold integers, text, and sequences of them; a bundle's checker regenerates the
    claims from them.
    """

    theorem: str
    specification: str
    parameters: Mapping[str, Any] = field(hash=False)
    proofs: Sequence[Proof]

    def __post_init__(self) -> None:
        if not self.proofs:
            raise ClaimError("a certificate without a claim", hint="prove at least one claim")
        parameters = {key: _plain(part) for key, part in sorted(self.parameters.items())}
        object.__setattr__(self, "parameters", MappingProxyType(parameters))
        object.__setattr__(self, "proofs", tuple(self.proofs))

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The proven claims, in order."""
        return tuple(proof.claim for proof in self.proofs)

    @property
    def digest(self) -> str:
        """``sha256:`` and the digest of `to_bytes`; it is kept outside the file it covers."""
        return f"sha256:{hashlib.sha256(self.to_bytes()).hexdigest()}"

    def to_json(self) -> dict[str, Any]:
        """Plain data in the schema ``tylo.certificate/1``."""
        return {
            "schema": SCHEMA,
            "theorem": self.theorem,
            "specification": {"name": self.specification, "parameters": dict(self.parameters)},
            "claims": [proof.to_json() for proof in self.proofs],
        }

    def to_bytes(self) -> bytes:
        """The file's content: canonical JSON and a newline."""
        return (canonical_json(self.to_json()) + "\n").encode("ascii")

    def check(self) -> list[checker.Verdict]:
        """What the independent checker says about each claim."""
        try:
            return checker.check_bytes(self.to_bytes())
        except checker.BadInput as reason:
            raise ClaimError(f"certificate {self.specification!r}: {reason}") from reason

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the file atomically: a reader sees the old content, or all of the new."""
        write_file(path, self.to_bytes())


def certificate_from_bytes(content: bytes) -> Certificate:
    """The certificate in `content`; raises `ClaimError` unless it would be written just so.

    Reading is not checking: call `Certificate.check`, or run the checker on the file.
    """
    try:
        data = json.loads(content)
        certificate = Certificate(
            theorem=data["theorem"],
            specification=data["specification"]["name"],
            parameters=data["specification"]["parameters"],
            proofs=[_proof(entry) for entry in data["claims"]],
        )
        unchanged = certificate.to_bytes() == content
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as reason:
        raise ClaimError(f"not a certificate: {reason}") from reason
    if not unchanged:
        raise ClaimError(
            "not a canonical certificate: it would be written differently",
            hint="let Certificate.write write it",
        )
    return certificate


def _proof(entry: Any) -> Proof:
    claim = claim_from_json(entry["claim"])
    digits = tuple(
        (
            variable,
            tuple(
                (digit, None if radix is None else from_json(radix))
                for digit, radix in entry["digits"][variable]
            ),
        )
        for variable, _ in claim.variables
    )
    return Proof(claim, digits)


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if type(value) in (int, str):
        return value
    raise ClaimError(
        f"{value!r} in a specification's parameters", hint="use integers, text and lists of them"
    )
