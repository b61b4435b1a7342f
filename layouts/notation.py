"""CuTe's notation, read. What `str` prints, `parse` reads back unchanged.

```
tuple   = integer | "(" [tuple {"," tuple} [","]] ")"
integer = ["-"] digits
layout  = tuple [":" tuple]
```

`(32)` is a one-tuple and `32` an integer; Python's spelling `(32,)` of a one-tuple is read too.
A shape alone is the compact layout over it.

>>> parse("(4,(2,3)):(1,(4,8))")
Layout((4, (2, 3)), (1, (4, 8)))
>>> parse("(32)"), parse("32")
(Layout((32,), (1,)), Layout(32, 1))

Anything else is refused with its zero-based column.

>>> parse("(4,2):(1;8)")
Traceback (most recent call last):
tylo.layouts.errors.NotationError: expected ',' or ')' but found ';' in '(4,2):(1;8)' (witness: 8)
"""

from __future__ import annotations

import re
from typing import NoReturn

from tylo.layouts.errors import LayoutError, NotationError
from tylo.layouts.int_tuple import IntTuple
from tylo.layouts.layout import Layout

_INTEGER = re.compile(r"-?[0-9]+")


class Reader:
    """Text and a position in it; each method reads one thing and moves on."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.column = 0

    def skip_blanks(self) -> None:
        while self.column < len(self.text) and self.text[self.column].isspace():
            self.column += 1

    def fail(self, expected: str) -> NoReturn:
        self.skip_blanks()
        found = repr(self.text[self.column]) if self.column < len(self.text) else "the end"
        raise NotationError(
            f"expected {expected} but found {found} in {self.text!r}", witness=self.column
        )

    def accept(self, symbol: str) -> bool:
        self.skip_blanks()
        if not self.text.startswith(symbol, self.column):
            return False
        self.column += len(symbol)
        return True

    def integer(self) -> int:
        self.skip_blanks()
        match = _INTEGER.match(self.text, self.column)
        if match is None:
            self.fail("an integer or '('")
        self.column = match.end()
        return int(match.group())

    def int_tuple(self) -> IntTuple:
        if not self.accept("("):
            return self.integer()
        entries: list[IntTuple] = []
        while not self.accept(")"):
            entries.append(self.int_tuple())
            if self.accept(","):
                continue
            if self.accept(")"):
                break
            self.fail("',' or ')'")
        return tuple(entries)

    def layout(self) -> Layout:
        self.skip_blanks()
        start = self.column
        shape = self.int_tuple()
        stride = self.int_tuple() if self.accept(":") else None
        try:
            return Layout(shape, stride)
        except LayoutError as error:
            raise NotationError(error.message, hint=error.hint, witness=start) from error

    def end(self) -> None:
        self.skip_blanks()
        if self.column != len(self.text):
            self.fail("the end")


def parse(text: str) -> Layout:
    """The layout that `text` spells; see the module for the grammar.

    Raises `NotationError`, whose witness is the column, for text outside the grammar and for
    shapes and strides that make no layout.
    """
    reader = Reader(text)
    layout = reader.layout()
    reader.end()
    return layout


def parse_int_tuple(text: str) -> IntTuple:
    """The integer tuple that `text` spells.

    >>> parse_int_tuple("(4,(2,-3))")
    (4, (2, -3))
    """
    reader = Reader(text)
    value = reader.int_tuple()
    reader.end()
    return value
