"""`tylo prove`: prove claims, and write their certificates."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from tylo.cli.output import print_json
from tylo.layouts.errors import ClaimError
from tylo.proofs.certificate import Certificate, Proof
from tylo.proofs.claims import Claim, claim_from_json
from tylo.proofs.prover import Counterexample, prove
from tylo.proofs.specifications import SHIPPED, specification

SCHEMA = "tylo.prove/1"
_VERDICTS = {"fails": 1, "unknown": 3, "missing": 3}


def run(options: argparse.Namespace) -> int:
    """Prove each named theorem or claim file; 1 at the first counterexample."""
    results: list[dict[str, Any]] = []
    codes = [0]
    for target in _targets(options.specification):
        proofs: list[Proof] = []
        for claim in target.claims:
            found = prove(claim)
            entry: dict[str, Any] = {"theorem": target.label, "claim": claim.name, "id": claim.id}
            if isinstance(found, Counterexample):
                entry |= {"verdict": "false", "counterexample": str(found)}
                codes.append(1)
            else:
                entry |= {"verdict": "proven", "conjuncts": len(claim.conjuncts)}
                proofs.append(found)
            results.append(entry)
        if options.solvers:
            codes += _ask_solvers(target, results)
        if len(proofs) == len(target.claims) and target.specification is not None:
            codes += _publish(target, proofs, options, results)
    if options.json:
        print_json({"schema": SCHEMA, "results": results})
    else:
        for entry in results:
            print(_line(entry))
    # A counterexample outweighs what nobody decided.
    return 1 if 1 in codes else max(codes)


class _Target:
    """A theorem by name, or a claim in a file."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.specification = None
        if label in SHIPPED:
            self.specification = specification(*SHIPPED[label])
            self.claims: tuple[Claim, ...] = self.specification.claims
        elif label.endswith(".json"):
            self.claims = (_claim_file(Path(label)),)
        else:
            raise ClaimError(
                f"no theorem {label!r}",
                hint=f"there are {', '.join(SHIPPED)}; or name a claim's .json file",
            )


def _targets(labels: list[str]) -> list[_Target]:
    chosen: list[str] = []
    for label in labels or list(SHIPPED):
        # A specification's name stands for all its instances.
        chosen += [each for each, (name, _) in SHIPPED.items() if name == label] or [label]
    return [_Target(label) for label in chosen]


def _claim_file(path: Path) -> Claim:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as reason:
        raise ClaimError(
            f"cannot read a claim from {path}: {reason}",
            hint="write one with Claim.to_json, as docs/conventions.md shows",
        ) from reason
    return claim_from_json(data)


def _ask_solvers(target: _Target, results: list[dict[str, Any]]) -> list[int]:
    from tylo.proofs.solvers import SOLVERS, solve_claims

    codes = []
    for solver in SOLVERS:
        for claim, verdict in zip(target.claims, solve_claims(target.claims, solver), strict=True):
            results.append(
                {"theorem": target.label, "claim": claim.name, "solver": solver, "verdict": verdict}
            )
            codes.append(_VERDICTS.get(verdict, 0))
    return codes


def _publish(
    target: _Target,
    proofs: list[Proof],
    options: argparse.Namespace,
    results: list[dict[str, Any]],
) -> list[int]:
    """Write the certificate, and let Coq check the instance, as asked."""
    stated = target.specification
    assert stated is not None
    certificate = Certificate(stated.theorem, stated.name, dict(stated.parameters), proofs)
    if options.output:
        path = Path(options.output) / f"{target.label}.json"
        certificate.write(path)
        results.append(
            {"theorem": target.label, "written": str(path), "digest": certificate.digest}
        )
    if not options.coq:
        return []
    from tylo.proofs.coq import check_certificate

    verdict = check_certificate(certificate)
    results.append({"theorem": target.label, "solver": "coq", "verdict": verdict})
    return [_VERDICTS.get(verdict, 0)]


def _line(entry: dict[str, Any]) -> str:
    if "written" in entry:
        return f"wrote    {entry['written']} ({entry['digest'][:19]})"
    if "solver" in entry:
        about = f" {entry['claim']}" if "claim" in entry else ""
        return f"{entry['verdict']:8} {entry['theorem']}{about} ({entry['solver']})"
    if entry["verdict"] == "proven":
        return f"proven   {entry['theorem']} {entry['claim']}: {entry['conjuncts']} conjuncts"
    return f"false    {entry['theorem']} {entry['claim']}: {entry['counterexample']}"
