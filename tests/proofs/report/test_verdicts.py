"""Reports say who did not accept what; what is absent is never success."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from report_pages import (
    ARCHITECTURES,
    Page,
    certificate_of,
    matrix,
    plain,
    rows_of,
    specification_of,
    told,
)
from tylo.layouts.terms import name
from tylo.proofs.bundle import (
    CERTIFICATE,
    EFFECT,
    FAILS,
    HOLDS,
    UNDECIDED,
    Bundle,
    Check,
    Checked,
    check_bundle,
)
from tylo.proofs.claims import Conjunct
from tylo.proofs.prover import require_proof
from tylo.proofs.report import (
    html_report,
    markdown_report,
)
from tylo.proofs.report.document import Status


def test_failing_kernel_is_named_first(failing: tuple[Bundle, Checked]) -> None:
    text, page = markdown_report(*failing), Page(html_report(*failing))
    assert "ptx/sm_90a.ptx fails" in plain(text.splitlines()[0])
    assert "ptx/sm_90a.ptx fails" in page.text("h1")
    assert page.text("title") == page.text("h1")
    assert text.splitlines()[2].startswith("**✗ fails**")
    assert {"class": "verdict fails"} in page.all("p")
    assert {"class": "verdict holds"} not in page.all("p")
    validation = dict(failing[1].validations)["sm_90a"]
    held, total = len(validation.verdicts) - len(validation.failures), len(validation.verdicts)
    assert f"sm_90a: {held} of {total} obligations hold" in plain(text)
    rows = rows_of(text, "Obligations of ptx/sm_90a.ptx")
    broken = len(validation.failures)
    assert broken
    assert all("✗ fails least: lane 0; thread 0" in row[1] for row in rows[:broken])
    assert all(row[1] == "✓ holds" for row in rows[broken:])
    assert all(row[1] == "✓ holds" for row in rows_of(text, "Obligations of ptx/sm_80.ptx"))


@pytest.mark.slow
def test_check_bundle_is_understood(bundle: Bundle) -> None:
    """The names that `check_bundle` gives to subjects and checkers are those the report reads."""
    found = check_bundle(bundle)
    text = markdown_report(bundle, found)
    assert text.splitlines()[2].startswith(f"**{Status(found.verdict).text}**")
    cells = [cell for row in matrix(text) for cell in row]
    assert len(cells) == 3 * len(certificate_of(specification_of(bundle)).claims)
    assert "? not asked" not in cells
    subjects = {row[0] for row in rows_of(text, "Everything else that was checked")}
    assert {"theorem", "claims", "assumptions", "ptx/sm_80.ptx", EFFECT} <= subjects
    assert [label for label, _ in found.validations] == list(ARCHITECTURES)


def test_matrix_holds(bundle: Bundle, checked: Checked) -> None:
    assert checked.specification
    cells = matrix(markdown_report(bundle, checked))
    assert cells == [["✓ holds"] * 3] * len(checked.specification.claims)


@pytest.mark.parametrize(
    ("checker", "verdict", "detail", "shown"),
    [
        ("cvc5", UNDECIDED, "missing", "? undecided: missing"),
        ("z3", UNDECIDED, "unknown", "? undecided: unknown"),
        ("z3", FAILS, "fails", "✗ fails"),
        ("checker", FAILS, "no digits", "✗ fails: no digits"),
    ],
)
def test_matrix_shows_who_did_not_accept(
    bundle: Bundle, checked: Checked, checker: str, verdict: str, detail: str, shown: str
) -> None:
    text = markdown_report(bundle, told(checked, checker, verdict, detail))
    column = ("checker", "z3", "cvc5").index(checker)
    for row in matrix(text):
        assert row[column] == shown
        assert row[:column] + row[column + 1 :] == ["✓ holds"] * 2
    assert verdict in text.splitlines()[2]
    assert "✓" not in text.splitlines()[2]
    assert re.search(r"\b0 of \d claims accepted", text)


def test_what_is_absent_is_never_success(bundle: Bundle, checked: Checked) -> None:
    silent = replace(checked, checks=tuple(c for c in checked.checks if "z3" not in c.checker))
    assert silent.verdict == HOLDS
    text = markdown_report(bundle, silent)
    assert text.splitlines()[2].startswith("**? undecided**")
    assert all(row[1] == "? not asked" for row in matrix(text))

    unproven = replace(checked, validations=checked.validations[:1])
    assert unproven.verdict == HOLDS
    text = markdown_report(bundle, unproven)
    assert text.splitlines()[2].startswith("**? undecided**")
    assert "sm_90a: no obligation could be stated" in text

    text = markdown_report(bundle, replace(checked, checks=(), validations=()))
    assert text.splitlines()[2].startswith("**? undecided**")
    assert "✓" not in text


def test_undecided_obligations_come_before_those_that_hold(
    bundle: Bundle, checked: Checked
) -> None:
    (first, validation), *others = checked.validations
    doubted = (
        *validation.verdicts[:-2],
        replace(validation.verdicts[-2], verdict="unknown"),
        replace(validation.verdicts[-1], verdict="missing"),
    )
    changed = (first, replace(validation, verdicts=doubted))
    text = markdown_report(bundle, replace(checked, validations=(changed, *others)))
    assert text.splitlines()[2].startswith("**? undecided**")
    rows = rows_of(text, "Obligations of ptx/sm_80.ptx")
    assert [row[1] for row in rows[:3]] == ["? unknown", "? missing", "✓ holds"]


def test_refused_ptx_says_why(bundle: Bundle, checked: Checked) -> None:
    path = "ptx/sm_80.ptx"
    refusal = Check(path, "PTX", FAILS, "line 3, column 1: no opcode frobnicate")
    refused = replace(
        checked,
        checks=tuple(refusal if c.subject == path else c for c in checked.checks),
        validations=checked.validations[1:],
    )
    page = Page(html_report(bundle, refused))
    assert f"{path} fails" in page.text("h1")
    assert "sm_80: no obligation could be stated" in page.text("h3")
    assert refusal.detail in page.text("li")


def test_a_proof_of_another_claim_of_the_same_name_proves_nothing(
    bundle: Bundle, checked: Checked
) -> None:
    """The checker accepts the easy claim, under the name of the one that matters."""
    assert checked.specification
    easy = replace(
        checked.specification.claims[0],
        variables=[("lane", 32)],
        parameters={},
        conjuncts=[Conjunct("same", "=", name("lane"), name("lane"))],
    )
    first, *rest = certificate_of(checked.specification).proofs
    assert first.claim.name == easy.name
    assert first.claim.id != easy.id
    forged = replace(certificate_of(checked.specification), proofs=[require_proof(easy), *rest])
    assert all(verdict.accepted for verdict in forged.check())
    text = markdown_report(
        Bundle(bundle.manifest, {**bundle.files, CERTIFICATE: forged.to_bytes()}), checked
    )
    other = "? missing: it judged another claim of this name"
    assert matrix(text)[0] == [other, "✓ holds", "✓ holds"]
    assert text.splitlines()[2].startswith("**? undecided**")
