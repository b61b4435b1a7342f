"""`tylo generate`: write the bundle of a verified kernel."""

from __future__ import annotations

import argparse

from tylo.cli.output import print_json, tell
from tylo.codegen.bundle import generate
from tylo.layouts.errors import GenerationError
from tylo.proofs.bundle import HOLDS
from tylo.proofs.bundle.check import not_covered

SCHEMA = "tylo.generate/1"


def run(options: argparse.Namespace) -> int:
    """Prove, print, compile, validate and write; undecided if a checker was missing."""
    parameters = _parameters(options)
    tell(f"proving, generating, compiling and checking {options.primitive}")
    generated = generate(
        options.primitive,
        parameters,
        options.output,
        architectures=tuple(options.arch) if options.arch else None,
    )
    checked = generated.checked
    obligations = {
        architecture: len(validation.verdicts) for architecture, validation in checked.validations
    }
    if options.json:
        print_json(
            {
                "schema": SCHEMA,
                "folder": options.output,
                "verdict": checked.verdict,
                "obligations": obligations,
                "uncovered": list(not_covered(checked)),
                "files": dict(generated.bundle.manifest.files),
            }
        )
    else:
        print(f"wrote {options.output}: {len(generated.bundle.files)} files")
        for architecture, validation in checked.validations:
            held = sum(each.verdict == "holds" for each in validation.verdicts)
            print(f"  {architecture}: {held} of {obligations[architecture]} PTX obligations hold")
        for check in checked.checks:
            if check.verdict not in (HOLDS, "digest only"):
                print(f"  {check}")
        for each in not_covered(checked):
            print(f"  {each}")
    return 0 if checked.verdict == HOLDS else 3


def _parameters(options: argparse.Namespace) -> dict[str, int | str]:
    """The primitive's parameters: what `--set` says, and for packing the options of a tile."""
    tile: dict[str, int | str | None] = {
        "atom": options.atom,
        "repeats_m": options.m,
        "pairs": options.pairs,
        "warps_m": options.warps_m,
    }
    found = {label: value for label, value in tile.items() if value is not None}
    if options.primitive != "pack_operand_a":
        if found:
            raise GenerationError(
                f"--atom, --m, --pairs and --warps-m are no options of {options.primitive}",
                hint="give its parameters by --set NAME=VALUE",
            )
    elif "atom" not in found:
        found["atom"] = "mma.m16n8k16.bf16"
    named: set[str] = set()
    for each in options.set or ():
        label, sign, value = each.partition("=")
        if not (label and sign and value):
            raise GenerationError(f"--set {each!r}", hint="write --set NAME=VALUE")
        if label in named:
            raise GenerationError(f"--set {label} twice", hint="give each parameter once")
        named.add(label)
        found[label] = int(value) if value.isascii() and value.isdigit() else value
    return found
