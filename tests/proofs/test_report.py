"""Reports say what was checked, in both forms, and never more than that."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from tylo.codegen.nvrtc import compile as compile_cuda
from tylo.codegen.pack_operand_a.source import kernel_source
from tylo.layouts.terms import name
from tylo.proofs.bundle import (
    CERTIFICATE,
    DIGEST_ONLY,
    EFFECT,
    FAILS,
    HOLDS,
    KERNEL,
    REPORT,
    UNDECIDED,
    Bundle,
    Check,
    Checked,
    GeneratedTest,
    Manifest,
    check_bundle,
    digest,
)
from tylo.proofs.certificate import Certificate
from tylo.proofs.claims import Claim, Conjunct, canonical_json
from tylo.proofs.effects import assumptions, effect_to_json
from tylo.proofs.prover import require_proof
from tylo.proofs.ptx.validate import validate
from tylo.proofs.report import (
    certificate_html,
    certificate_markdown,
    html_report,
    markdown_report,
    report,
)
from tylo.proofs.report.document import Status
from tylo.proofs.specifications import Specification, pack_tile, specification

ARCHITECTURES = ("sm_80", "sm_90a")
VOID = {"meta", "br", "link", "img", "hr", "input"}


class Page(HTMLParser):
    """The elements of a page, refused unless every tag is closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[tuple[str, str]] = []  # (path of tags, text)
        self.cells: list[str] = []
        self.feed(text)
        self.close()
        assert not self.stack

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {key: value or "" for key, value in attrs}
        assert len(attributes) == len(attrs)
        self.elements.append((tag, attributes))
        if tag in ("td", "th"):
            self.cells.append("")
        if tag == "br":
            self.handle_data(" ")
        if tag not in VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(("/".join(self.stack), data))
        if "td" in self.stack or "th" in self.stack:
            self.cells[-1] += data

    def all(self, *tags: str) -> list[dict[str, str]]:
        return [attributes for tag, attributes in self.elements if tag in tags]

    def text(self, tag: str = "") -> str:
        parts = (t for path, t in self.texts if tag in path.split("/") or not tag)
        return " ".join(" ".join(parts).split())


def plain(markdown: str) -> str:
    """Markdown without its marks, to compare facts with HTML."""
    return " ".join(" ".join(map(plain_line, markdown.splitlines())).split())


def plain_line(line: str) -> str:
    if line.startswith("    "):
        return line
    pieces = re.split(r"(?<!\\)(`+)(.+?)\1", line)
    text, codes = pieces[::3], [*pieces[2::3], ""]
    unmarked = (re.sub(r"\\(.)", r"\1", re.sub(r"(?<!\\)\*", "", part)) for part in text)
    joined = "".join(a + b for a, b in zip(unmarked, codes, strict=True))
    return joined.replace("\\|", "|")


def certificate_of(stated: Specification) -> Certificate:
    proofs = [require_proof(claim) for claim in stated.claims]
    return Certificate(stated.theorem, stated.name, dict(stated.parameters), proofs)


def specification_of(bundle: Bundle) -> Specification:
    return specification(bundle.manifest.specification, bundle.manifest.parameters)


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    stated = specification("pack_operand_a", {"atom": "mma.m16n8k16.bf16"})
    assert stated.effect is not None
    source = kernel_source(pack_tile(stated.parameters))
    files = {
        KERNEL: source.encode(),
        CERTIFICATE: certificate_of(stated).to_bytes(),
        EFFECT: (canonical_json(effect_to_json(stated.effect)) + "\n").encode(),
        "tests/coordinates.cu": b"// generated\n",
    }
    for architecture in ARCHITECTURES:
        made = compile_cuda(source, architecture, kernels=[stated.effect.entry], name=KERNEL)
        files[f"ptx/{architecture}.ptx"] = made.ptx.encode()
        files[f"cubin/{architecture}.cubin"] = made.cubin
    manifest = Manifest(
        specification=stated.name,
        parameters=stated.parameters,
        architectures=ARCHITECTURES,
        compiler="NVRTC 12.9",
        options=("--fmad=false",),
        assumptions=assumptions(stated.effect),
        tests=(GeneratedTest("tests/coordinates.cu", "coordinates", 32, 256, 1),),
        files={path: digest(content) for path, content in files.items()},
        version="0.1.0",
    )
    return Bundle(manifest, files)


def checked_by_hand(bundle: Bundle) -> Checked:
    """What `check_bundle` says when both solvers answer in time, without asking them."""
    stated = specification_of(bundle)
    assert stated.effect is not None
    checks = [
        Check(f"claim {claim.name}", checker, HOLDS, detail)
        for checker, detail in (("checker", "proven"), ("z3 5.4.1", ""), ("cvc5 1.4.2", ""))
        for claim in stated.claims
    ]
    validations = []
    for architecture in bundle.manifest.architectures:
        path = f"ptx/{architecture}.ptx"
        validation = validate(bundle.text(path), stated.effect)
        validations.append((architecture, validation))
        total, broken = len(validation.verdicts), validation.failures
        detail = f"{len(broken)} of {total} obligations: {broken[0]}" if broken else f"{total}"
        checks.append(Check(path, "PTX", FAILS if broken else HOLDS, detail))
    for path in sorted(bundle.files):
        if path.startswith(("cubin/", "tests/")) or path == KERNEL:
            checks.append(Check(path, "digest", DIGEST_ONLY, "--rebuild makes it again"))
    return Checked(stated, tuple(checks), tuple(validations))


@pytest.fixture(scope="module")
def checked(bundle: Bundle) -> Checked:
    return checked_by_hand(bundle)


def with_halves_swapped(bundle: Bundle) -> Bundle:
    """The halves of one packed word change places on one architecture."""
    path = "ptx/sm_90a.ptx"
    text = bundle.text(path)
    found = re.search(r"cvt\.rn\.bf16x2\.f32 +(%r\d+), (%f\d+), (%f\d+);", text)
    assert found
    swapped = f"cvt.rn.bf16x2.f32 {found[1]}, {found[3]}, {found[2]};"
    return Bundle(bundle.manifest, {**bundle.files, path: text.replace(found[0], swapped).encode()})


@pytest.fixture(scope="module")
def failing(bundle: Bundle) -> tuple[Bundle, Checked]:
    broken = with_halves_swapped(bundle)
    return broken, checked_by_hand(broken)


def told(checked: Checked, checker: str, verdict: str, detail: str) -> Checked:
    """What was checked, had one checker said something else about every claim."""
    return replace(
        checked,
        checks=tuple(
            Check(each.subject, checker, verdict, detail)
            if each.subject.startswith("claim ") and each.checker.split()[0] == checker
            else each
            for each in checked.checks
        ),
    )


@pytest.fixture(scope="module")
def pages(bundle: Bundle, checked: Checked, failing: tuple[Bundle, Checked]) -> list[str]:
    certificate = certificate_of(specification("adjacent_atoms", {"atom": "mma.m16n8k16.f16"}))
    forged = replace(bundle.manifest, specification='<script src="http://x">', parameters={})
    unread = Checked(None, (Check("files", "digest", FAILS, "kernel.cu differs"),), ())
    return [
        html_report(bundle, checked),
        html_report(*failing),
        html_report(bundle, told(checked, "cvc5", UNDECIDED, "missing")),
        html_report(Bundle(forged, bundle.files), check_bundle(Bundle(forged, bundle.files))),
        html_report(Bundle(replace(bundle.manifest, architectures=()), {}), unread),
        certificate_html(certificate, certificate.check()),
        report([("a", bundle, checked), ("b", certificate, checked), ("c/d", None, unread)]),
    ]


def test_pages_are_whole_and_need_nothing_else(pages: list[str]) -> None:
    for text in pages:
        page = Page(text)
        identifiers = [each["id"] for _, each in page.elements if "id" in each]
        assert len(identifiers) == len(set(identifiers))
        assert not page.all("script", "link", "img", "iframe", "object", "base")
        assert all("src" not in each and "style" not in each for _, each in page.elements)
        targets = {each["href"] for each in page.all("a")}
        assert targets
        assert targets <= {f"#{identifier}" for identifier in identifiers}
        style = page.text("style")
        assert "url(" not in style
        assert "@import" not in style
        assert "@font-face" not in style
        assert "dark" in style
        assert "@media print" in style


def test_pages_are_accessible(pages: list[str]) -> None:
    for text in pages:
        page = Page(text)
        assert page.all("html") == [{"lang": "en"}]
        levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h\d", tag)]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
        assert len(page.all("caption")) == len(page.all("table"))
        scopes = {each.get("scope") for each in page.all("th")}
        assert scopes <= {"row", "col", "colgroup"}
        # A table is wider than a phone: it scrolls in its own box, which takes the focus.
        boxes = [each for each in page.all("div") if each.get("class") == "scroll"]
        assert len(boxes) == len(page.all("table"))
        assert all(each["tabindex"] == "0" and each["aria-label"] for each in boxes)
        # Each verdict has a sign and a word beside its colour.
        verdicts = [t for path, t in page.texts if path.endswith("/span") and "caption" not in path]
        assert verdicts
        assert all(re.match(r"[✓✗?#] \w", each) for each in verdicts)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_contrast_is_enough(pages: list[str]) -> None:
    schemes = re.findall(r":root \{(.*?)\}", Page(pages[0]).text("style"), re.S)
    assert len(schemes) == 3  # light, dark, print
    for scheme in schemes:
        colours = dict(re.findall(r"--(\w+): (#\w{6});", scheme))
        for ink in ("ink", "soft", "link", "holds", "fails", "undecided"):
            for paper in ("paper", "shade"):
                high, low = sorted(map(luminance, (colours[ink], colours[paper])), reverse=True)
                assert (high + 0.05) / (low + 0.05) >= 4.5, (ink, paper)


def test_both_forms_state_the_same_facts(
    bundle: Bundle, checked: Checked, failing: tuple[Bundle, Checked]
) -> None:
    for each in ((bundle, checked), failing, (bundle, told(checked, "z3", UNDECIDED, "unknown"))):
        page = Page(html_report(*each))
        markdown = plain(markdown_report(*each))
        lines = re.sub(r" \| ", " ", markdown)
        for cell in page.cells:
            assert " ".join(cell.split()) in lines
        for tag in ("h1", "h2", "h3", "p", "li", "pre", "summary", "caption"):
            for path, text in page.texts:
                if tag in path.split("/") and "nav" not in path.split("/"):
                    assert " ".join(text.split()) in markdown


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


def rows_of(text: str, caption: str) -> list[list[str]]:
    """The cells of the body rows of a captioned Markdown table."""
    table = text.split(f"*{caption}*\n\n")[1].split("\n\n")[0].splitlines()[2:]
    return [[plain(cell) for cell in row[2:-2].split(" | ")] for row in table]


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


def matrix(text: str) -> list[list[str]]:
    return [row[1:] for row in rows_of(text, "Each claim and each checker's verdict")]


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


def test_text_of_strangers_is_escaped(bundle: Bundle) -> None:
    hostile = "<script>alert('&')</script>"
    manifest = replace(bundle.manifest, parameters={"atom": hostile, hostile: 1}, compiler=hostile)
    changed = Bundle(manifest, bundle.files)
    text = html_report(changed, check_bundle(changed))
    page = Page(text)
    assert "<script" not in text
    assert hostile in page.text("h1")
    assert hostile in page.text("li")
    markdown = markdown_report(changed, check_bundle(changed))
    outside_code = re.sub(r"`[^`]*`", "", markdown)
    assert not re.search(r"(?<!\\)<script", outside_code)

    piped = Check("a | b\n# c", "x | y", HOLDS, "`|` <b>")
    row = markdown_report(bundle, Checked(None, (piped,), ())).split("| what |")[1].splitlines()[2]
    assert len(re.findall(r"(?<!\\)\|", row)) == 5


def test_digest_only_is_said_so(bundle: Bundle, checked: Checked) -> None:
    text = markdown_report(bundle, checked)
    rows = rows_of(text, "Files with a digest only")
    expected = {check.subject for check in checked.checks if check.verdict == DIGEST_ONLY}
    assert {"cubin/sm_80.cubin", "tests/coordinates.cu", KERNEL} <= expected
    assert {row[0] for row in rows} == expected
    assert all(row[1:] == ["# digest only", bundle.manifest.files[row[0]]] for row in rows)
    assert "tylo check BUNDLE --rebuild" in text


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


def test_reports_are_the_same_every_time(bundle: Bundle, checked: Checked) -> None:
    for write in (html_report, markdown_report):
        text = write(bundle, checked)
        assert text == write(bundle, checked)
        # The report that a bundle already holds does not show in the next one.
        files = {**bundle.files, REPORT: text.encode()}
        digests = {path: digest(content) for path, content in files.items()}
        again = Bundle(replace(bundle.manifest, files=digests), files)
        assert text == write(again, checked)
        assert not re.search(r"\b20\d\d\b|(?<![\w.])/(home|usr|var|opt|root|tmp)\b", text)
        assert "verified" not in text.lower()
    unread = report([("/some/where/bundle", None, checked)], form="markdown")
    assert "/some/where" not in unread
    assert unread.startswith("# bundle: ")
