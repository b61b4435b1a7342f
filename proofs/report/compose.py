"""A bundle or a certificate, and what was checked of it, as a `Document`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tylo.layouts.errors import TyloError
from tylo.proofs.bundle import DIGEST_ONLY, FAILS, HOLDS, Bundle, Check, Checked
from tylo.proofs.bundle.check import stated_assumptions
from tylo.proofs.certificate import Certificate
from tylo.proofs.effects import COMPUTED
from tylo.proofs.report.claims import claims, matrix, theorem
from tylo.proofs.report.document import Document, Line, Section, Status, counted
from tylo.proofs.report.evidence import CHECKER, CHECKERS, Evidence, bundle_evidence
from tylo.proofs.report.kernels import digests, ptx
from tylo.proofs.report.subjects import Subject, subject
from tylo.proofs.report.trust import recheck, trusted
from tylo.proofs.specifications import Specification, specification


def bundle_document(bundle: Bundle, checked: Checked) -> Document:
    """The report on a bundle."""
    evidence = bundle_evidence(bundle, checked)
    manifest = bundle.manifest
    stated = checked.specification
    about = _about(stated, manifest.specification, manifest.parameters)
    launch = stated_assumptions(stated) if stated else ()
    sections = (
        theorem(evidence, _theorem(evidence), about.purpose, about.atoms, launch),
        matrix(evidence),
        *_ownership(about),
        claims(evidence),
        ptx(evidence),
        digests(bundle, evidence),
        trusted(kernel=True),
        recheck(kernel=True),
    )
    return _document(about.title, evidence, sections)


def certificate_document(certificate: Certificate, checks: Sequence[Check]) -> Document:
    """The report on a certificate alone."""
    try:
        stated = specification(certificate.specification, certificate.parameters)
    except TyloError:
        stated = None
    same = stated is not None and [claim.id for claim in stated.claims] == [
        claim.id for claim in certificate.claims
    ]
    # Where the certificate proves something else, the report is about that, under its own name.
    known = stated if same else None
    evidence = Evidence(known, certificate, tuple(checks), (CHECKER,))
    about = _about(known, certificate.specification, certificate.parameters)
    sections = (
        theorem(evidence, _theorem(evidence), about.purpose, about.atoms, ()),
        matrix(evidence),
        *_ownership(about),
        claims(evidence),
        trusted(kernel=False),
        recheck(kernel=False),
    )
    return _document(about.title, evidence, sections)


def unread_document(label: str, checks: Sequence[Check]) -> Document:
    """The report on what could not be read at all."""
    evidence = Evidence(None, None, tuple(checks), (CHECKER,))
    return _document(label, evidence, (matrix(evidence),))


def _about(stated: Specification | None, label: str, parameters: Mapping[str, Any]) -> Subject:
    if stated:
        return subject(stated)
    given = ", ".join(f"{key} {value}" for key, value in sorted(parameters.items()))
    title = f"{label} ({given})" if given else label
    return Subject(title, "The claims are not those of a specification known here.", (), ())


def _theorem(evidence: Evidence) -> str:
    if evidence.specification:
        return evidence.specification.theorem
    if evidence.certificate:
        return f"In the certificate's words: {evidence.certificate.theorem}"
    return "None: neither a known specification nor a readable certificate."


def _ownership(about: Subject) -> tuple[Section, ...]:
    if not about.tables:
        return ()
    return (Section("ownership", "Lane by value", about.tables),)


def _document(title: str, evidence: Evidence, sections: tuple[Section, ...]) -> Document:
    verdict = evidence.verdict
    return Document(
        f"{title}: {_headline(evidence)}",
        verdict,
        (Status(verdict), *_summary(evidence)),
        sections,
    )


def _headline(evidence: Evidence) -> str:
    """What the title says after its colon: the first failure by name."""
    if evidence.verdict != FAILS:
        return evidence.verdict
    if evidence.failures:
        first = evidence.failures[0]
        return f"{first.subject} fails ({first.checker})"
    architecture = next(label for label, each in evidence.validations if each.failures)
    return f"ptx/{architecture}.ptx fails (PTX)"


def _summary(evidence: Evidence) -> Line:
    judges = ", ".join(CHECKERS[each] for each in evidence.required)
    counts = (
        f"{len(evidence.proven)} of {counted(len(evidence.claims), 'claim')} accepted by {judges}"
    )
    if evidence.architectures:
        verdicts = [v for _, each in evidence.validations for v in each.verdicts]
        held = sum(verdict.verdict == HOLDS for verdict in verdicts)
        counts += (
            f"; {held} of {counted(len(verdicts), 'PTX obligation')} hold, all of them for "
            f"{len(evidence.validated)} of {counted(len(evidence.architectures), 'architecture')}"
            f"{_uncovered_names(evidence)}"
        )
        # Of these the least is known, so that no reader may miss them.
        only = [check.subject for check in evidence.checks if check.verdict == DIGEST_ONLY]
        if only:
            counts += f"; {counted(len(only), 'file')} by digest only: {', '.join(only)}"
    else:
        counts += "; about the mapping only, no kernel"
    return (f": {_reason(evidence)}{counts}.",)


def _uncovered_names(evidence: Evidence) -> str:
    """What is stored and not proven, by name: part of the first sentence of a report."""
    effect = evidence.specification.effect if evidence.specification else None
    parts = [part for store in effect.stores for part in store.parts] if effect else []
    named = dict.fromkeys(part.name for part in parts if part.conversion == COMPUTED)
    return f"; values not covered: {', '.join(named)}" if named else ""


def _reason(evidence: Evidence) -> str:
    """Why the verdict is not better: the first check to blame, and how many more there are."""
    if evidence.verdict == HOLDS:
        return ""
    blamed = [check for check in evidence.checks if check.verdict == evidence.verdict]
    if not blamed:
        return "" if evidence.verdict == FAILS else "not everything was checked. "
    first = blamed[0]
    detail = f": {first.detail}" if first.detail else ""
    more = f" (and {counted(len(blamed) - 1, 'more check')})" if len(blamed) > 1 else ""
    return f"{first.subject}, {first.checker}{detail}{more}. "
