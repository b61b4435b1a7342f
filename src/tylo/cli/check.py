"""`tylo check`: check bundles and certificates, trusting neither; PTX is `check_ptx`'s."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict

from tylo.cli.checking import examine
from tylo.cli.output import EXIT_CODES, print_json, worst
from tylo.layouts.errors import BundleError
from tylo.proofs.bundle import DIGEST_ONLY, HOLDS, Check
from tylo.proofs.bundle.check import not_covered

SCHEMA = "tylo.check/1"


def counted(checks: Sequence[Check]) -> str:
    """How many checks came out how: "70 of 76 checks hold, 6 by digest only"."""
    found = Counter(check.verdict for check in checks)
    said = f"{found.pop(HOLDS, 0)} of {len(checks)} checks hold"
    only = found.pop(DIGEST_ONLY, 0)
    others = [f"{only} by digest only"] * bool(only) + [f"{n} {each}" for each, n in found.items()]
    return ", ".join([said, *others])


def run(options: argparse.Namespace) -> int:
    """Print each verdict that is not plain success, and one line per path."""
    if options.ptx is not None or options.against is not None:
        from tylo.cli import check_ptx

        return check_ptx.run(options)
    if not options.paths:
        raise BundleError(
            "nothing to check", hint="name a bundle, a certificate, or --ptx FILE --against CLAIM"
        )
    codes = []
    results = []
    for path in options.paths:
        examined = examine(path, rebuild=options.rebuild, strict=options.strict)
        checked = examined.checked
        codes.append(EXIT_CODES[checked.verdict])
        if options.json:
            results.append(
                {
                    "path": path,
                    "verdict": checked.verdict,
                    "checks": [asdict(check) for check in checked.checks],
                    "uncovered": list(not_covered(checked)),
                }
            )
            continue
        print(f"{checked.verdict}: {path}: {counted(checked.checks)}")
        for check in checked.checks:
            if check.verdict != HOLDS or check.checker == "PTX":
                print(f"  {check}")
        for each in not_covered(checked):
            print(f"  {each}")
    if options.json:
        print_json({"schema": SCHEMA, "results": results})
    return worst(codes)
