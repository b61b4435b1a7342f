"""`tylo run`: run a bundle's kernel and its generated tests, and compare with the oracle."""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import asdict

from tylo.cli.output import print_json
from tylo.codegen.run import run_bundle
from tylo.layouts.errors import GenerationError, LaunchError

SCHEMA = "tylo.run/1"


def run(options: argparse.Namespace) -> int:
    """Run on a device or the machine in its place; 1 if anything differs from the oracle."""
    try:
        report = run_bundle(
            options.bundle,
            device=options.device,
            seeds=options.seeds,
            progress=_progress if sys.stderr.isatty() else None,
        )
    except (GenerationError, LaunchError) as reason:
        # What Python calls device='gpu' is an option here.
        raise type(reason)(
            reason.message, hint=re.sub(r"device='(\w+)'", r"--device \1", reason.hint)
        ) from None
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


def _progress(done: int, total: int) -> None:
    """A bar that is wiped once all is done."""
    width = 30
    bar = ("#" * (width * done // total)).ljust(width, ".")
    line = f"{bar} {done} of {total} runs"
    sys.stderr.write(f"\r{line}" if done < total else "\r" + " " * len(line) + "\r")
    sys.stderr.flush()
