r"""A report as Markdown, with tables as GitHub reads them and no HTML.

>>> from tylo.proofs.report.document import Paragraph, Section
>>> print(markdown_text([Document("a | b", "holds", (Status("holds"), " <so>"), (
...     Section("why", "Why", (Paragraph((Code("a ` b"),)),)),
... ))]), end="")
# a \| b
<BLANKLINE>
**✓ holds** \<so\>
<BLANKLINE>
## Why
<BLANKLINE>
``a ` b``
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

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

# An underscore between letters is only itself.
_MARKS = re.compile(r"([\\`*{}\[\]<>#|~&]|(?<![^\W_])_|_(?![^\W_]))")


def markdown_text(documents: Sequence[Document]) -> str:
    """The text: one report after another."""
    blocks: list[str] = []
    for document in documents:
        blocks += (f"# {_escape(document.title)}", _line(document.summary))
        for section in document.sections:
            blocks += _block(section, 2)
    return "\n\n".join(blocks) + "\n"


def _block(block: Block, level: int) -> Iterator[str]:
    match block:
        case Section(_, title, blocks):
            yield f"{'#' * level} {_escape(title)}"
            for each in blocks:
                yield from _block(each, level + 1)
        case Details(summary, blocks):
            yield f"**{_line(summary)}**" if _plain(summary) else _line(summary)
            for each in blocks:
                yield from _block(each, level)
        case Paragraph(line):
            yield _line(line)
        case Bullets(items):
            yield "\n".join(f"- {_line(item)}" for item in items)
        case Preformatted(text):
            yield "\n".join(f"    {each}" for each in text.splitlines())
        case Table():
            yield from _table(block)


def _table(table: Table) -> Iterator[str]:
    yield f"*{_escape(table.caption)}*"
    labels = _flat(table.header)
    rows = [
        " | ".join(map(_escape, labels)),
        " | ".join("---" for _ in labels),
        *(" | ".join(_line(cell, piped=True) for cell in row) for row in table.rows),
    ]
    yield "\n".join(f"| {row} |" for row in rows)


def _flat(header: tuple[tuple[Heading, ...], ...]) -> list[str]:
    """One label for each column: those above it, joined."""
    width = sum(heading.columns for heading in header[0])
    above: list[list[str]] = [[] for _ in range(width)]
    taken = [0] * width  # header rows that a taller heading still covers
    for row in header:
        headings = iter(row)
        position = 0
        while position < width:
            if taken[position]:
                taken[position] -= 1
                position += 1
                continue
            heading = next(headings)
            for column in range(position, position + heading.columns):
                above[column].append(heading.text)
                taken[column] = heading.rows - 1
            position += heading.columns
    return [", ".join(labels) for labels in above]


def _line(line: Line, *, piped: bool = False) -> str:
    parts = []
    for part in line:
        match part:
            case Code(text):
                parts.append(_code(text, piped))
            case Status():
                parts.append(f"**{_escape(part.text)}**")
            case Link(text):
                parts.append(_escape(text))
            case str():
                parts.append(_escape(part))
    return "".join(parts)


def _code(text: str, piped: bool) -> str:
    text = " ".join(text.splitlines())
    fence = "`"
    while fence in text:
        fence += "`"
    if text.startswith("`") or text.endswith("`"):
        text = f" {text} "
    # In a table a bar ends the cell even inside code.
    return f"{fence}{text}{fence}".replace("|", "\\|" if piped else "|")


def _plain(line: Line) -> bool:
    return all(isinstance(part, str) for part in line)


def _escape(text: str) -> str:
    return _MARKS.sub(r"\\\1", " ".join(text.splitlines()))
