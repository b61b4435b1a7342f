"""`tylo run`: run a bundle's kernel and its generated tests, and compare with the oracle."""

from __future__ import annotations

import argparse

from tylo.cli.output import print_json
from tylo.codegen.run import run_bundle
from tylo.proofs.bundle import read_bundle


def run(options: argparse.Namespace) -> int:
    """Run on the device; 1 if anything differs from what the oracle says."""
    # Only files that the manifest names, with the digests it states, are loaded.
    read_bundle(options.bundle)
    report = run_bundle(options.bundle, device=options.device)
    if options.json:
        print_json(report.to_json())
    else:
        print(report)
    return 0 if report.passed else 1
