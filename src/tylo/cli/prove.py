"""`tylo prove`: prove claims, and write their certificates."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from tylo.cli.output import EXIT_CODES, print_json, worst
from tylo.layouts.errors import ClaimError, Undecided
from tylo.proofs.atomic import write_file
from tylo.proofs.bundle import digest
from tylo.proofs.certificate import Certificate, Proof
from tylo.proofs.claims import Claim, claim_from_json
from tylo.proofs.prover import Counterexample, prove
from tylo.proofs.specifications import SHIPPED, specification

SCHEMA = "tylo.prove/1"


def run(options: argparse.Namespace) -> int:
    """Prove each named theorem or claim file; 1 at the first counterexample."""
    results: list[dict[str, Any]] = []
    codes = [0]
    for target in _targets(options.specification):
        proofs: list[Proof] = []
        for claim in target.claims:
            entry: dict[str, Any] = {"theorem": target.label, "claim": claim.name, "id": claim.id}
            try:
                found = prove(claim)
            except Undecided as reason:
                results.append(entry | {"verdict": "undecided", "reason": str(reason)})
                codes.append(EXIT_CODES["undecided"])
                continue
            if isinstance(found, Counterexample):
                entry |= {"verdict": "false", "counterexample": str(found)}
                codes.append(1)
            else:
                entry |= {"verdict": "proven", "conjuncts": len(claim.conjuncts)}
                proofs.append(found)
            results.append(entry)
        if options.solvers:
            codes += _ask_solvers(target, results)
        if target.label == "softmax_state":
            codes += _guards(target, results, ask=options.solvers)
        if len(proofs) == len(target.claims) and target.specification is not None:
            codes += _publish(target, proofs, options, results)
    if options.json:
        print_json({"schema": SCHEMA, "results": results})
    else:
        for entry in results:
            print(_line(entry))
    return worst(codes)


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
    except (OSError, ValueError, RecursionError) as reason:
        raise ClaimError(
            f"cannot read a claim from {path}: {reason}",
            hint="write one with Claim.to_json, as docs/conventions.md shows",
        ) from reason
    return claim_from_json(data)


def _ask_solvers(target: _Target, results: list[dict[str, Any]]) -> list[int]:
    from tylo.proofs.bundle.check import solver_checks

    codes = []
    for check in solver_checks(target.claims):
        entry = {"theorem": target.label, "claim": check.subject.removeprefix("claim ")}
        results.append(entry | {"solver": check.checker, "verdict": check.verdict})
        codes.append(EXIT_CODES[check.verdict])
    return codes


def _guards(target: _Target, results: list[dict[str, Any]], *, ask: bool) -> list[int]:
    """The guards of the softmax state, which no integer claim can say, by both solvers."""
    from tylo.proofs.lane_programs.exponent import Exponent
    from tylo.proofs.lane_programs.rows import Rows
    from tylo.proofs.lane_programs.softmax_guards import judge, state_obligations

    pair = Rows(groups=((0, 1),), masks=(), row_of=(0, 0))
    stated = state_obligations(pair, Exponent(0.125))
    if not ask:
        results.append({"theorem": target.label, "guards": sum(map(len, stated.values()))})
        return []
    codes = []
    for program, obligations in stated.items():
        for found in judge(obligations):
            entry = {"theorem": target.label, "guard": f"{program}: {found.label}"}
            results.append(entry | {"verdict": found.verdict, "answers": dict(found.answers)})
            codes.append(EXIT_CODES["false" if found.verdict == "fails" else found.verdict])
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
    from tylo.proofs.coq import coq_file
    from tylo.proofs.coq_runner import check_with_coq

    if options.output:
        text = coq_file(proofs).encode()
        path = Path(options.output) / f"{target.label}.v"
        write_file(path, text)
        results.append({"theorem": target.label, "written": str(path), "digest": digest(text)})
    found = check_with_coq(proofs)
    results.append({"theorem": target.label, "solver": "coq", "verdict": found.verdict})
    return [EXIT_CODES.get(found.verdict, EXIT_CODES["undecided"])]


def _line(entry: dict[str, Any]) -> str:
    if "written" in entry:
        return f"wrote    {entry['written']} ({entry['digest'][:19]})"
    if "guards" in entry:
        return (
            f"not asked {entry['theorem']}: {entry['guards']} guards against infinities, NaN and "
            "rounding; --solvers asks z3 and cvc5"
        )
    if "guard" in entry:
        said = ", ".join(f"{solver} {answer}" for solver, answer in entry["answers"].items())
        return f"{entry['verdict']:8} {entry['theorem']} {entry['guard']} ({said})"
    if "solver" in entry:
        about = f" {entry['claim']}" if "claim" in entry else ""
        return f"{entry['verdict']:8} {entry['theorem']}{about} ({entry['solver']})"
    if entry["verdict"] == "undecided":
        return f"undecided {entry['theorem']} {entry['claim']}: {entry['reason']}"
    if entry["verdict"] == "proven":
        return f"proven   {entry['theorem']} {entry['claim']}: {entry['conjuncts']} conjuncts"
    return f"false    {entry['theorem']} {entry['claim']}: {entry['counterexample']}"
