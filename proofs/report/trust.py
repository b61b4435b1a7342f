"""What must be trusted to believe a report, and how to do without believing it."""

from __future__ import annotations

from importlib.resources import files

from tylo.proofs.bundle import CERTIFICATE
from tylo.proofs.ptx.opcodes import OPCODES
from tylo.proofs.report.document import Bullets, Code, Line, Paragraph, Preformatted, Section


def trusted(*, kernel: bool) -> Section:
    """The trusted base: of the claims, and of a kernel's PTX where there is one."""
    proofs = files("tylo.proofs")
    lines = {
        path: len((proofs / path).read_text(encoding="utf-8").splitlines())
        for path in ("checker.py", "ptx/parser.py")
    }
    items: list[Line] = [
        (
            "the independent checker, ",
            Code("proofs/checker.py"),
            f": {lines['checker.py']} lines, standard library only, no search",
        ),
        ("the instruction tables named under Assumptions",),
        ("the statement of the claims: that they say what the theorem says",),
    ]
    if kernel:
        items += [
            (
                "the PTX parser, ",
                Code("proofs/ptx/parser.py"),
                f": {lines['ptx/parser.py']} lines, and the opcode table: {len(OPCODES)} entries",
            ),
            ("the solvers: an obligation holds only if every solver that was asked says so",),
            ("ptxas, which turns the PTX into machine code; the driver; the hardware",),
        ]
    untrusted: list[Line] = [
        ("the prover that found the certificate, and the certificate",),
        ("this report: it only repeats what the checks said",),
    ]
    if kernel:
        untrusted += [
            ("NVRTC, as far as the PTX: its output is validated, whatever it did",),
            ("the generator and kernel.cu, for the same reason",),
            ("the manifest: claims and contract are regenerated from the specification it names",),
        ]
    return Section(
        "trusted",
        "Trusted base",
        (
            Paragraph(("Trusted:",)),
            Bullets(tuple(items)),
            Paragraph(("Not trusted:",)),
            Bullets(tuple(untrusted)),
        ),
    )


def recheck(*, kernel: bool) -> Section:
    """The commands that check again."""
    if kernel:
        commands = (
            "tylo check BUNDLE\n"
            "tylo check BUNDLE --rebuild\n"
            f"python -I -S proofs/checker.py BUNDLE/{CERTIFICATE}\n"
        )
    else:
        commands = "tylo check CERTIFICATE\npython -I -S proofs/checker.py CERTIFICATE\n"
    return Section(
        "recheck",
        "Check it again",
        (
            Paragraph(
                (
                    "Exit code 0: all hold; 1: something fails; 2: bad input; 3: undecided. "
                    "The last command needs Python alone.",
                )
            ),
            Preformatted(commands),
        ),
    )
