"""Reports state what was checked: claims, obligations, lanes, digests, and nothing more."""

from __future__ import annotations

import re
from dataclasses import replace

from report_pages import (
    ARCHITECTURES,
    Page,
    certificate_of,
    matrix,
    plain,
    rows_of,
)
from tylo.layouts.terms import name
from tylo.proofs.bundle import (
    DIGEST_ONLY,
    KERNEL,
    Bundle,
    Checked,
)
from tylo.proofs.certificate import Certificate
from tylo.proofs.claims import Claim, Conjunct
from tylo.proofs.prover import require_proof
from tylo.proofs.report import (
    certificate_markdown,
    html_report,
    markdown_report,
)
from tylo.proofs.specifications import specification


def test_every_claim_is_there(bundle: Bundle, checked: Checked) -> None:
    assert checked.specification
    page = Page(html_report(bundle, checked))
    text = page.text()
    assert checked.specification.theorem in text
    for claim in checked.specification.claims:
        assert claim.statement in text
        assert claim.id in text
        for part in claim.conjuncts:
            relation = str(part).removeprefix(f"{part.label}: ")
            assert any(" ".join(cell.split()) == relation for cell in page.cells)
        for parameter, least in claim.parameters.items():
            assert f"{parameter} >= {least}" in page.cells
        for variable, _ in claim.variables:
            assert any(cell.startswith(f"0 <= {variable} < ") for cell in page.cells)
    proofs = certificate_of(checked.specification).proofs
    for digit in (digit for proof in proofs for _, digits in proof.digits for digit, _ in digits):
        assert f"0 <= {digit} < " in text


def test_assumptions_and_trust_are_stated(bundle: Bundle, checked: Checked) -> None:
    text = Page(html_report(bundle, checked)).text()
    for each in bundle.manifest.assumptions:
        assert each in text
    assert "PTX ISA 8.7, section 9.7.14.5.8" in text
    assert re.search(r"checker\.py : \d+ lines", text)
    for trusted in ("opcode table", "ptxas", "hardware", "NVRTC, as far as the PTX"):
        assert trusted in text
    for command in (
        "tylo check BUNDLE",
        "tylo check BUNDLE --rebuild",
        "python -I -S proofs/checker.py BUNDLE/proof/certificate.json",
    ):
        assert command in text


def test_every_obligation_is_there(bundle: Bundle, checked: Checked) -> None:
    text = markdown_report(bundle, checked)
    assert len(checked.validations) == len(ARCHITECTURES)
    for architecture, validation in checked.validations:
        total = len(validation.verdicts)
        assert f"{architecture}: {total} of {total} obligations hold" in plain(text)
        rows = rows_of(text, f"Obligations of ptx/{architecture}.ptx")
        expected = [
            [v.obligation.label, "✓ holds", str(v.obligation.line or "-"), v.obligation.text]
            for v in validation.verdicts
        ]
        assert rows == [[" ".join(cell.split()) for cell in row] for row in expected]
        lines = bundle.text(f"ptx/{architecture}.ptx").splitlines()
        for _, _, line, instruction in rows:
            if line != "-":
                found = " ".join(lines[int(line) - 1].strip().rstrip(";").split())
                assert found.replace(" ", "") == instruction.replace(" ", "")


def test_lane_table_is_the_instruction_manual_s(bundle: Bundle, checked: Checked) -> None:
    rows = rows_of(
        markdown_report(bundle, checked), "Lane by value, for warp 0, M repeat 0, pair 0"
    )
    assert len(rows) == 32
    for lane, (label, *cells) in enumerate(rows):
        assert label == str(lane)
        for i, cell in enumerate(cells):
            # PTX ISA, fragments of mma.m16n8k16: A's a0..a7 and C's c0..c3 on two atoms.
            row = lane // 4 + (8 if i in (2, 3, 6, 7) else 0)
            column = lane % 4 * 2 + (i & 1) + (8 if i >= 4 else 0)
            value = 2 * (row >= 8) + column % 2
            assert cell == f"({row}, {column}) atom {column // 8}, value {value}"


def test_larger_tile_lists_its_operands(bundle: Bundle) -> None:
    stated = specification(
        "pack_operand_a", {"atom": "mma.m16n8k16.f16", "repeats_m": 2, "pairs": 2, "warps_m": 2}
    )
    manifest = replace(bundle.manifest, parameters=stated.parameters)
    text = markdown_report(Bundle(manifest, {}), Checked(stated, (), ()))
    assert "2048 of 2048 halves" in text
    rows = rows_of(text, "Where each A operand lies, against the table above")
    assert len(rows) == 8
    assert ["warp 1, m 1, k 1", "12 to 15", "+48, +16", "(1, 2), (1, 3)"] in rows


def test_digest_only_is_said_so(bundle: Bundle, checked: Checked) -> None:
    text = markdown_report(bundle, checked)
    rows = rows_of(text, "Files with a digest only")
    expected = {check.subject for check in checked.checks if check.verdict == DIGEST_ONLY}
    assert {"cubin/sm_80.cubin", "tests/coordinates.cu", KERNEL} <= expected
    assert {row[0] for row in rows} == expected
    assert all(row[1:] == ["# digest only", bundle.manifest.files[row[0]]] for row in rows)
    assert "tylo check BUNDLE --rebuild" in text


def test_the_first_sentence_names_what_has_a_digest_only(bundle: Bundle, checked: Checked) -> None:
    only = [check.subject for check in checked.checks if check.verdict == DIGEST_ONLY]
    said = f"{len(only)} files by digest only: {', '.join(only)}"
    assert said in html_report(bundle, checked)
    assert said in markdown_report(bundle, checked)
    proven = [c for c in checked.checks if c.verdict != DIGEST_ONLY]
    assert "by digest only" not in html_report(bundle, replace(checked, checks=tuple(proven)))


def test_certificate_alone() -> None:
    stated = specification("adjacent_atoms", {"atom": "mma.m16n8k16.bf16"})
    certificate = certificate_of(stated)
    text = certificate_markdown(certificate, certificate.check())
    assert text.splitlines()[2].startswith("**✓ holds**")
    assert "no kernel" in text.splitlines()[2]
    assert all(row == ["✓ holds", "? not asked", "? not asked"] for row in matrix(text))
    assert "PTX obligations" not in text
    assert "ptxas" not in text
    refused = [verdict._replace(accepted=False) for verdict in certificate.check()]
    assert "✗ fails" in certificate_markdown(certificate, refused).splitlines()[2]
    assert certificate_markdown(certificate, []).splitlines()[2].startswith("**? undecided**")


def test_certificate_of_ones_own_is_not_given_a_known_theorem() -> None:
    lane = name("lane")
    claim = Claim(
        name="quad",
        kind="equal",
        statement="A lane is its quad and its place.",
        parameters={},
        variables=[("lane", 32)],
        conjuncts=[Conjunct("lane", "=", 4 * (lane // 4) + lane % 4, lane)],
    )
    certificate = Certificate(
        "Anything.", "adjacent_atoms", {"atom": "mma.m16n8k16.bf16"}, [require_proof(claim)]
    )
    text = certificate_markdown(certificate, certificate.check())
    assert "not those of a specification known here" in text
    assert "Lane by value" not in text
