"""`tylo check --ptx FILE --against CLAIM`: does somebody's PTX do what a claim's file says?"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path
from typing import Any

from tylo.cli.output import EXIT_CODES, print_json, tell
from tylo.layouts.errors import ClaimError
from tylo.proofs.ptx.claim_check import PATIENCE, Examined, examine_ptx
from tylo.proofs.ptx.validate import Verdict

SCHEMA = "tylo.check/1"


def run(options: argparse.Namespace) -> int:
    """Print every verdict by instruction, and what is assumed; the exit code says the rest."""
    if not options.ptx or not options.against or options.paths or options.rebuild:
        raise ClaimError(
            "--ptx FILE and --against CLAIM belong together, and alone",
            hint="check bundles and certificates in a run of their own",
        )
    tell(f"proving that {options.ptx} does what {options.against} says")
    found = examine_ptx(Path(options.ptx), Path(options.against))
    if options.json:
        print_json({"schema": SCHEMA, "results": [_as_json(options, found)]})
    else:
        _print(options, found)
    return EXIT_CODES[found.verdict]


def _print(options: argparse.Namespace, found: Examined) -> None:
    verdicts = found.validation.verdicts
    held = sum(verdict.verdict == "holds" for verdict in verdicts)
    print(
        f"{found.verdict}: {options.ptx}: {found.entry} for {found.target}, against "
        f"{options.against}: {held} of {len(verdicts)} obligations hold"
    )
    for verdict in verdicts:
        if verdict.verdict != "holds":
            stated = found.stated(verdict)
            words = found.claim.grid.words(str(verdict))
            print(f"  {words}" + (f" (claim: {stated})" if stated else ""))
    where: dict[tuple[int, str], list[str]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.verdict == "holds":
            at = verdict.obligation
            where[at.line, at.text].append(at.label)
    for (line, text), labels in sorted(where.items()):
        at_line = f"line {line}: `{text}`" if line else text
        print(f"  holds: {at_line}: {_short(labels)}")
    if found.verdict == "undecided":
        print(
            f"  hint: no solver decided what is unknown, within {PATIENCE:.0f} seconds for all of "
            "it: bound the sizes it mentions (most, assume) or blocks, so that products of them "
            "stay below 2^31 where the kernel has 32 bits"
        )
    for each in found.validation.uncovered:
        print(f"  {each}")
    for assumption in found.assumptions:
        print(f"  assumed: {assumption}")


def _short(labels: list[str]) -> str:
    """Labels, with what they share said once: "load 0, load 3: bounds; store 0: where"."""
    about: dict[str, list[str]] = defaultdict(list)
    for label in labels:
        subject, _, what = label.rpartition(": ")
        if what not in about[subject]:
            about[subject].append(what)
    subjects: dict[str, list[str]] = defaultdict(list)
    for subject, whats in about.items():
        subjects[", ".join(whats)].append(subject)
    return "; ".join(
        f"{shown}: {whats}" if (shown := ", ".join(filter(None, who))) else whats
        for whats, who in subjects.items()
    )


def _as_json(options: argparse.Namespace, found: Examined) -> dict[str, Any]:
    return {
        "path": options.ptx,
        "claim": options.against,
        "entry": found.entry,
        "target": found.target,
        "verdict": found.verdict,
        "assumptions": list(found.assumptions),
        "uncovered": list(found.validation.uncovered),
        "obligations": [_obligation(found, verdict) for verdict in found.validation.verdicts],
    }


def _obligation(found: Examined, verdict: Verdict) -> dict[str, Any]:
    at, failure = verdict.obligation, verdict.failure
    entry: dict[str, Any] = {
        "label": at.name,
        "line": at.line,
        "text": at.text,
        "verdict": verdict.verdict,
        "stated": found.stated(verdict),
    }
    if failure is not None:
        entry["message"] = found.claim.grid.words(failure.message)
        if failure.thread >= 0:
            entry |= {"thread": failure.thread, "lane": failure.lane, "block": failure.block}
    return entry
