"""A report as one HTML page that needs nothing else: no network, no font, no script.

>>> from tylo.proofs.report.document import Paragraph, Section
>>> page = html_page([Document("a < b", "holds", ("so it is",), (
...     Section("why", "Why", (Paragraph((Code("a & b"),)),)),
... ))])
>>> '<h1>a &lt; b</h1>' in page, '<code>a &amp; b</code>' in page
(True, True)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files

from tylo.proofs.report.document import (
    Block,
    Bullets,
    Code,
    Details,
    Document,
    Heading,
    Line,
    Link,
    Paragraph,
    Preformatted,
    Section,
    Status,
    Table,
)

_COLOURED = ("holds", "fails")  # every other verdict is drawn as undecided or as a digest


def html_page(documents: Sequence[Document]) -> str:
    """The page: one report, or several under a common heading."""
    alone = len(documents) == 1
    title = documents[0].title if alone else f"{len(documents)} proof reports"
    body = [] if alone else [f"<h1>{escape(title)}</h1>"]
    for number, document in enumerate(documents, 1):
        body += _document(document, 1 if alone else 2, "" if alone else f"{number}-")
    style = (files("tylo.proofs.report") / "style.css").read_text(encoding="utf-8")
    return "\n".join(
        (
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{escape(title)}</title>",
            f"<style>\n{style}</style>",
            "</head>",
            "<body>",
            "<main>",
            *body,
            "</main>",
            "</body>",
            "</html>",
            "",
        )
    )


def _document(document: Document, level: int, prefix: str) -> Iterator[str]:
    yield f"<h{level}>{escape(document.title)}</h{level}>"
    yield f'<p class="verdict {_class(document.verdict)}">{_line(document.summary, prefix)}</p>'
    yield f'<nav aria-label="Contents of {escape(document.title)}">'
    yield "<ul>"
    for section in document.sections:
        yield f'<li><a href="#{prefix}{section.identifier}">{escape(section.title)}</a></li>'
    yield "</ul>"
    yield "</nav>"
    for section in document.sections:
        yield from _block(section, level + 1, prefix)


def _block(block: Block, level: int, prefix: str) -> Iterator[str]:
    match block:
        case Section(identifier, title, blocks):
            yield f'<section id="{prefix}{identifier}">'
            yield f"<h{level}>{escape(title)}</h{level}>"
            for each in blocks:
                yield from _block(each, level + 1, prefix)
            yield "</section>"
        case Details(summary, blocks, opened):
            yield "<details open>" if opened else "<details>"
            yield f"<summary>{_line(summary, prefix)}</summary>"
            for each in blocks:
                yield from _block(each, level, prefix)
            yield "</details>"
        case Paragraph(line):
            yield f"<p>{_line(line, prefix)}</p>"
        case Bullets(items):
            yield "<ul>"
            yield from (f"<li>{_line(item, prefix)}</li>" for item in items)
            yield "</ul>"
        case Preformatted(text):
            yield f'<pre tabindex="0">{escape(text)}</pre>'
        case Table():
            yield from _table(block, prefix)


def _table(table: Table, prefix: str) -> Iterator[str]:
    # The box scrolls, not the page; it takes the focus so that a keyboard can scroll it.
    label = escape(table.caption)
    yield f'<div class="scroll" role="group" aria-label="{label}" tabindex="0">'
    yield f'<table class="{table.kind}">' if table.kind else "<table>"
    yield f"<caption><span>{label}</span></caption>"
    yield "<thead>"
    for row in table.header:
        yield f"<tr>{''.join(map(_heading, row))}</tr>"
    yield "</thead>"
    yield "<tbody>"
    for first, *others in table.rows:
        cells = "".join(f"<td>{_line(cell, prefix)}</td>" for cell in others)
        yield f'<tr><th scope="row">{_line(first, prefix)}</th>{cells}</tr>'
    yield "</tbody>"
    yield "</table>"
    yield "</div>"


def _heading(heading: Heading) -> str:
    span = f' colspan="{heading.columns}"' if heading.columns > 1 else ""
    span += f' rowspan="{heading.rows}"' if heading.rows > 1 else ""
    scope = "colgroup" if heading.columns > 1 else "col"
    return f'<th scope="{scope}"{span}>{escape(heading.text)}</th>'


def _line(line: Line, prefix: str) -> str:
    parts = []
    for part in line:
        match part:
            case Code(text):
                parts.append(f"<code>{escape(text)}</code>")
            case Status(verdict):
                parts.append(f'<span class="{_class(verdict)}">{escape(part.text)}</span>')
            case Link(text, target):
                parts.append(f'<a href="#{prefix}{target}">{escape(text)}</a>')
            case str():
                parts.append(escape(part).replace("\n", "<br>"))
    return "".join(parts)


def _class(verdict: str) -> str:
    if verdict == "digest only":
        return "digest"
    return verdict if verdict in _COLOURED else "undecided"
