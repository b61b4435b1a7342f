"""Proof reports: what was checked of a bundle or a certificate, for a reader who has neither.

A report decides nothing. It repeats what `tylo.proofs.bundle.check_bundle` found, claim by claim
and obligation by obligation, with what is assumed, what is trusted, and what was *not* checked.
The same content is written as one HTML page, which needs no network and no script, or as Markdown:

>>> from tylo.proofs.certificate import Certificate
>>> from tylo.proofs.prover import require_proof
>>> from tylo.proofs.specifications import specification
>>> stated = specification("adjacent_atoms", {"atom": "mma.m16n8k16.bf16"})
>>> certificate = Certificate(
...     stated.theorem, stated.name, dict(stated.parameters),
...     [require_proof(claim) for claim in stated.claims],
... )
>>> text = certificate_markdown(certificate, certificate.check())
>>> print(text.splitlines()[0])
# adjacent_atoms for mma.m16n8k16.bf16, every tile size: holds

Reports hold no date and no path of the machine they were written on: the same checks give the same
bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from tylo.proofs.bundle import FAILS, HOLDS, Bundle, Check, Checked
from tylo.proofs.certificate import Certificate
from tylo.proofs.checker import Verdict
from tylo.proofs.report.compose import bundle_document, certificate_document, unread_document
from tylo.proofs.report.document import Document
from tylo.proofs.report.evidence import CHECKER
from tylo.proofs.report.html import html_page
from tylo.proofs.report.markdown import markdown_text

__all__ = [
    "certificate_html",
    "certificate_markdown",
    "html_report",
    "markdown_report",
    "report",
]

_FORMS = {"html": html_page, "markdown": markdown_text}


def html_report(bundle: Bundle, checked: Checked) -> str:
    """The report on a bundle as a self-contained HTML page."""
    return html_page([bundle_document(bundle, checked)])


def markdown_report(bundle: Bundle, checked: Checked) -> str:
    """The report on a bundle as Markdown."""
    return markdown_text([bundle_document(bundle, checked)])


def certificate_html(certificate: Certificate, verdicts: Sequence[Verdict]) -> str:
    """The report on a certificate alone, given `Certificate.check`'s verdicts, as HTML."""
    return html_page([certificate_document(certificate, _checks(verdicts))])


def certificate_markdown(certificate: Certificate, verdicts: Sequence[Verdict]) -> str:
    """The report on a certificate alone, given `Certificate.check`'s verdicts, as Markdown."""
    return markdown_text([certificate_document(certificate, _checks(verdicts))])


def report(
    examined: Sequence[tuple[str, Bundle | Certificate | None, Checked]], form: str = "html"
) -> str:
    """One report on several things: for each its label, what was found there, and its checks.

    `form` is ``"html"`` or ``"markdown"``. `None` stands for what could not be read.
    """
    return _FORMS[form]([_document(*each) for each in examined])


def _document(label: str, found: Bundle | Certificate | None, checked: Checked) -> Document:
    match found:
        case Bundle():
            return bundle_document(found, checked)
        case Certificate():
            return certificate_document(found, checked.checks)
        case None:
            # The name alone: a report says nothing of the machine it was written on.
            return unread_document(PurePath(label).name or label, checked.checks)


def _checks(verdicts: Sequence[Verdict]) -> tuple[Check, ...]:
    return tuple(
        Check(f"claim {each.name}", CHECKER, HOLDS if each.accepted else FAILS, each.reason)
        for each in verdicts
    )
