"""The theorem, its quantifiers, who accepts which claim, and every claim in full."""

from __future__ import annotations

from collections.abc import Sequence

from tylo.layouts.atoms import Atom
from tylo.layouts.terms import Integer, name, operation, show
from tylo.proofs.certificate import Proof
from tylo.proofs.claims import Claim, Conjunct
from tylo.proofs.report.document import (
    Block,
    Bullets,
    Code,
    Details,
    Line,
    Link,
    Paragraph,
    Section,
    Status,
    Table,
    columns,
    counted,
)
from tylo.proofs.report.evidence import CHECKERS, Evidence

_LINE = 80
_INFIX = (
    "All numbers are integers without overflow; / is the quotient rounded down, % the remainder, "
    "^ the exclusive or of binary digits."
)


def theorem(
    evidence: Evidence, text: str, purpose: str, atoms: Sequence[Atom], launch: Sequence[str]
) -> Section:
    """What is said, for which numbers, and what it takes for granted."""
    blocks: list[Block] = [
        Paragraph((text,)),
        Paragraph(
            (
                "This is prose. What is checked is that all claims below hold together, each for "
                "every number in its domain.",
            )
        ),
    ]
    if purpose:
        blocks.insert(0, Paragraph((purpose,)))
    blocks.append(
        Table(
            "Quantifiers: every parameter and variable of the claims",
            columns("name", "kind", "domain", "claims"),
            _quantifiers(evidence.claims),
        )
    )
    return Section(
        "theorem",
        "Theorem",
        (*blocks, Section("assumptions", "Assumptions", _assumptions(atoms, launch))),
    )


def _quantifiers(claims: Sequence[Claim]) -> tuple[tuple[Line, ...], ...]:
    found: dict[tuple[str, str, str], int] = {}
    for claim in claims:
        for kind, identifier, domain in _domains(claim):
            key = identifier, kind, domain
            found[key] = found.get(key, 0) + 1
    order = {"parameter": 0, "variable": 1}
    return tuple(
        ((Code(identifier),), (kind,), (Code(domain),), (f"{count} of {len(claims)}",))
        for (identifier, kind, domain), count in sorted(
            found.items(), key=lambda item: order[item[0][1]]
        )
    )


def _domains(claim: Claim) -> list[tuple[str, str, str]]:
    """(kind, name, domain) of everything a claim quantifies over."""
    return [
        *(
            ("parameter", parameter, f"{parameter} >= {least}")
            for parameter, least in claim.parameters.items()
        ),
        *(
            (
                "variable",
                variable,
                f"0 <= {variable}" if bound is None else f"0 <= {variable} < {show(bound)}",
            )
            for variable, bound in claim.variables
        ),
    ]


def _assumptions(atoms: Sequence[Atom], launch: Sequence[str]) -> tuple[Block, ...]:
    tables: tuple[Line, ...] = tuple(
        ("instruction table of ", Code(atom.name), f": {atom.source}") for atom in atoms
    )
    blocks: list[Block] = []
    if tables:
        blocks += [
            Paragraph(
                ("About the hardware: who holds which element is as the vendor's manual says.",)
            ),
            Bullets(tables),
        ]
    if launch:
        blocks += [
            Paragraph(("About each launch: the caller must see to these.",)),
            Bullets(tuple((Code(each),) for each in launch)),
        ]
    return tuple(blocks) or (Paragraph(("None is stated.",)),)


def matrix(evidence: Evidence) -> Section:
    """Claims against checkers."""
    checkers = evidence.columns
    rows: tuple[tuple[Line, ...], ...] = tuple(
        (
            (Link(claim.name, f"claim-{number}"),),
            *((evidence.status(claim, checker),) for checker in checkers),
        )
        for number, claim in enumerate(evidence.claims, 1)
    )
    blocks: list[Block] = []
    if rows:
        header = columns("claim", *checkers.values())
        blocks.append(Table("Each claim and each checker's verdict", header, rows))
    needed = ", ".join(CHECKERS[each] for each in evidence.required)
    blocks.append(
        Paragraph(
            (
                f"{len(evidence.proven)} of {counted(len(evidence.claims), 'claim')} "
                f"accepted by all that are required here: {needed}. The digit checker reads the "
                "certificate; the solvers get the claims without it. "
                + ("" if "coq" in checkers else "Coq did not run. ")
                + "Undecided, missing and not asked are not success.",
            )
        )
    )
    others = evidence.other_checks
    if others:
        blocks.append(
            Table(
                "Everything else that was checked",
                columns("what", "against", "verdict", "detail"),
                tuple(
                    (
                        (Code(check.subject),),
                        (check.checker,),
                        (Status(check.verdict),),
                        (check.detail,),
                    )
                    for check in others
                ),
            )
        )
    return Section("verdicts", "Claims and checkers", tuple(blocks))


def claims(evidence: Evidence) -> Section:
    """Every claim in full."""
    sections = tuple(
        Section(f"claim-{number}", claim.name, _claim(claim, evidence.proof(claim)))
        for number, claim in enumerate(evidence.claims, 1)
    )
    if not sections:
        return Section("claims", "Claims", (Paragraph(("No claim could be read.",)),))
    return Section("claims", "Claims", (Paragraph((_INFIX,)), *sections))


def _claim(claim: Claim, proof: Proof | None) -> tuple[Block, ...]:
    domain: list[Code | str] = [f"Kind {claim.kind}. For all "]
    for _, _, each in _domains(claim):
        domain += (Code(each), ", ")
    domain[-1] = ":"
    conjuncts = Table(
        f"Conjuncts of {claim.name}",
        columns("conjunct", "relation"),
        tuple(((part.label,), (Code(_relation(part)),)) for part in claim.conjuncts),
    )
    digits: Block = (
        Table(
            f"Digits of the certificate for {claim.name}",
            columns("variable", "as digits", "digits"),
            tuple(_digits(variable, digits) for variable, digits in proof.digits),
        )
        if proof and proof.digits
        else Paragraph(("The certificate has no digits for this claim.",))
    )
    return (
        Paragraph((claim.statement,)),
        Paragraph(tuple(domain)),
        Details(
            (f"{counted(len(claim.conjuncts), 'conjunct')}, digits and id",),
            (conjuncts, digits, Paragraph(("Claim id ", Code(claim.id)))),
        ),
    )


def _relation(part: Conjunct) -> str:
    left, right = show(part.left), f"{part.relation} {show(part.right)}"
    # One side a line where both would run out of the page.
    return f"{left} {right}" if len(left) + len(right) < _LINE else f"{left}\n{right}"


def _digits(variable: str, digits: Sequence[tuple[str, Integer | None]]) -> tuple[Line, ...]:
    total: Integer = 0
    weight: Integer = 1
    domains = []
    for digit, radix in digits:
        total = operation("+", total, operation("*", weight, name(digit)))
        domains.append(f"0 <= {digit}" if radix is None else f"0 <= {digit} < {show(radix)}")
        weight = weight if radix is None else operation("*", weight, radix)
    return (Code(variable),), (Code(show(total)),), (Code("\n".join(domains)),)
