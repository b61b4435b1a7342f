"""The tokens of a PTX text and how far they are read: what the parser's functions share.

>>> cursor = Cursor(".align 16")
>>> cursor.accept(".global"), cursor.take(".align").text, cursor.size(1, 64)
(None, '.align', 16)
>>> cursor.take(";")
Traceback (most recent call last):
tylo.layouts.errors.PtxError: line 1, column 10: unexpected 'end of text'; expected ;
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from tylo.proofs.ptx.predefined import PREDEFINED
from tylo.proofs.ptx.tokens import Token, number, tokens

_Read = TypeVar("_Read")


class Cursor:
    """The tokens of a text and how far they are read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens(text)
        self.position = 0

    @property
    def next(self) -> Token:
        return self.tokens[self.position]

    def take(self, *wanted: str) -> Token:
        """The next token, which must have one of these texts or kinds."""
        token = self.next
        if token.text not in wanted and token.kind not in wanted:
            raise token.error(
                f"unexpected {token.text or 'end of text'!r}",
                hint=f"expected {' or '.join(wanted)}",
            )
        self.position += 1
        return token

    def accept(self, *wanted: str) -> Token | None:
        """The next token when it has one of these texts or kinds."""
        return self.take(*wanted) if self.next.text in wanted or self.next.kind in wanted else None

    def declared(self, *wanted: str) -> Token:
        """A name to declare: not a predefined one, which would then mean two things."""
        token = self.take(*wanted)
        if token.text in PREDEFINED:
            raise token.error(f"{token.text!r} is predefined", hint="choose another name")
        if "." in token.text or ":" in token.text:
            raise token.error(f"{token.text!r} is no name to declare", hint="leave out . and :")
        return token

    def size(self, least: int, most: int) -> int:
        """A number within bounds."""
        token = self.take("number")
        value = number(token)
        if not least <= value <= most:
            raise token.error(f"{value} is not between {least} and {most}")
        return value

    def separated(self, read: Callable[[], _Read], end: str) -> Iterator[_Read]:
        """What is read between commas, up to and including `end`."""
        if self.accept(end):
            return
        while True:
            yield read()
            if self.take(",", end).text == end:
                return
