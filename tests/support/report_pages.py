"""Reports read back: the elements of a page, tables of Markdown, and what was checked."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

from tylo.proofs.bundle import (
    Bundle,
    Check,
    Checked,
)
from tylo.proofs.certificate import Certificate
from tylo.proofs.prover import require_proof
from tylo.proofs.specifications import Specification, specification

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


def rows_of(text: str, caption: str) -> list[list[str]]:
    """The cells of the body rows of a captioned Markdown table."""
    table = text.split(f"*{caption}*\n\n")[1].split("\n\n")[0].splitlines()[2:]
    return [[plain(cell) for cell in row[2:-2].split(" | ")] for row in table]


def matrix(text: str) -> list[list[str]]:
    return [row[1:] for row in rows_of(text, "Each claim and each checker's verdict")]
