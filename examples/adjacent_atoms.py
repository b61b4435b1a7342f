"""The main job, end to end: prove, generate, compile, validate, check and report.

Run it with ``make demo``, or ``python examples/adjacent_atoms.py [FOLDER]``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tylo.cli.checking import examine
from tylo.codegen.bundle import generate


def main(folder: Path) -> int:
    """Build a bundle for each dtype, check it as a stranger would, and say what was proven."""
    code = 0
    for dtype in ("bf16", "f16"):
        bundle = folder / f"pack_operand_a.{dtype}"
        parameters = {"atom": f"mma.m16n8k16.{dtype}", "repeats_m": 2, "pairs": 2, "warps_m": 2}
        print(f"\n{dtype}: proving, generating, compiling and validating ...")
        generated = generate("pack_operand_a", parameters, bundle)
        # From here on nothing made above is trusted: the folder is read back and checked afresh.
        checked = examine(str(bundle), rebuild=True).checked
        held = sum(check.verdict == "holds" for check in checked.checks)
        print(f"checked: {checked.verdict}, {held} of {len(checked.checks)} checks hold")
        for check in checked.checks:
            if check.verdict != "holds":
                print(f"  {check}")
                code = 1
        print("\nTheorem. " + generated.checked.specification.theorem + "\n")
        for architecture, validation in checked.validations:
            obligations = [verdict.verdict for verdict in validation.verdicts]
            print(
                f"  {architecture:8} {obligations.count('holds')} of {len(obligations)} "
                "PTX obligations hold, for every thread and block"
            )
        print(f"\nReport: {(bundle / 'report.html').resolve()}")
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "build")))
