"""Reports as pages: whole, accessible, safe, and the same facts in both forms."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import pytest

from report_pages import (
    Page,
    certificate_of,
    plain,
    told,
)
from tylo.proofs.bundle import (
    FAILS,
    HOLDS,
    REPORT,
    UNDECIDED,
    Bundle,
    Check,
    Checked,
    check_bundle,
    digest,
)
from tylo.proofs.report import (
    certificate_html,
    html_report,
    markdown_report,
    report,
)
from tylo.proofs.specifications import specification


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
