"""What a report is made of, before it is HTML or Markdown: sections, tables and verdicts.

Both forms are rendered from the same `Document`, so that neither can say what the other does not.

>>> Status("undecided", "missing").text
'? missing'
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

# A sign beside the word, so that a verdict is never told by its colour alone.
_SIGNS = MappingProxyType({"holds": "✓", "fails": "✗", "digest only": "#"})


@dataclass(frozen=True, slots=True)
class Code:
    """Text set as code."""

    text: str


@dataclass(frozen=True, slots=True)
class Status:
    """A verdict, shown as `word` where one says more than the verdict itself."""

    verdict: str
    word: str = ""

    @property
    def text(self) -> str:
        """A sign and a word."""
        return f"{_SIGNS.get(self.verdict, '?')} {self.word or self.verdict}"


@dataclass(frozen=True, slots=True)
class Link:
    """A reference to a section of the same report."""

    text: str
    target: str


Inline: TypeAlias = "str | Code | Status | Link"
Line: TypeAlias = "tuple[Inline, ...]"
"""A piece of text; a newline in it is a line break where there is room for one."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One paragraph."""

    line: Line


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list of lines."""

    items: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Preformatted:
    """Text whose line breaks matter."""

    text: str


@dataclass(frozen=True, slots=True)
class Heading:
    """A column's heading: over `columns` columns and `rows` header rows."""

    text: str
    columns: int = 1
    rows: int = 1


@dataclass(frozen=True, slots=True)
class Table:
    """A captioned table; the first cell of a row is the row's heading."""

    caption: str
    header: tuple[tuple[Heading, ...], ...]
    rows: tuple[tuple[Line, ...], ...]
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Details:
    """Blocks that a reader may fold away; print shows them all."""

    summary: Line
    blocks: tuple[Block, ...]
    open: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """A headed part; `identifier` is unique in its document."""

    identifier: str
    title: str
    blocks: tuple[Block, ...]


Block: TypeAlias = "Paragraph | Bullets | Preformatted | Table | Details | Section"


@dataclass(frozen=True, slots=True)
class Document:
    """A report about one thing: its first line, its verdict, and its sections."""

    title: str
    verdict: str
    summary: Line
    sections: tuple[Section, ...]


def columns(*labels: str) -> tuple[tuple[Heading, ...], ...]:
    """A header of one row."""
    return (tuple(Heading(label) for label in labels),)


def counted(count: int, noun: str) -> str:
    """A count with its noun.

    >>> counted(1, "claim"), counted(7, "claim")
    ('1 claim', '7 claims')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
