"""`tylo run`: run a bundle's kernel and its generated tests, and compare with the oracle."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from tylo.cli.output import print_json
from tylo.codegen.run import run_bundle

SCHEMA = "tylo.run/1"


def run(options: argparse.Namespace) -> int:
    """Run on the device; 1 if anything differs from what the oracle says."""
    report = run_bundle(options.bundle, device=options.device)
    if options.json:
        print_json(
            {
                "schema": SCHEMA,
                "specification": report.specification,
                "architecture": report.architecture,
                "device": asdict(report.device),
                "passed": report.passed,
                "results": [{**asdict(each), "passed": each.passed} for each in report.results],
            }
        )
    else:
        print(report.summary())
    return 0 if report.passed else 1
