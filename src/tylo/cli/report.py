"""`tylo report`: check, and write what was found as one HTML or Markdown file."""

from __future__ import annotations

import argparse
from pathlib import Path

from tylo.cli.checking import examine
from tylo.cli.output import EXIT_CODES, print_json, worst
from tylo.layouts.errors import BundleError
from tylo.proofs.atomic import write_file
from tylo.proofs.report import report

SCHEMA = "tylo.report/1"


def run(options: argparse.Namespace) -> int:
    """Write the report; the exit code is that of the checks."""
    target = Path(options.output)
    kind = target.suffix.lower()
    if kind not in (".html", ".md"):
        raise BundleError(f"cannot write a report to {target}", hint="name FILE.html or FILE.md")
    examined = [examine(path) for path in options.paths]
    text = report(
        [(each.path, each.found, each.checked) for each in examined],
        form="html" if kind == ".html" else "markdown",
    )
    write_file(target, text.encode())
    codes = [EXIT_CODES[each.checked.verdict] for each in examined]
    code = worst(codes)
    if options.json:
        verdicts = {each.path: each.checked.verdict for each in examined}
        print_json({"schema": SCHEMA, "report": str(target), "verdicts": verdicts})
    else:
        for each in examined:
            print(f"{each.checked.verdict}: {each.path}")
        print(f"wrote {target}")
    return code
