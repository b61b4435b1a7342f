"""PTX text to tokens (PTX ISA 4.1 to 4.5), each with its line and column, both from one.

>>> [token.text for token in tokens("@!%p1 ld.global.f32 %f1, [%rd2+-4]; // comment")]
['@', '!', '%p1', 'ld.global.f32', '%f1', ',', '[', '%rd2', '+', '-4', ']', ';', '']
>>> tokens("add.s32 %r1, %r1, 1\\\\;")
Traceback (most recent call last):
tylo.layouts.errors.PtxError: line 1, column 20: unexpected character '\\\\'

Tylo and the assembler must agree on where a comment ends and a token begins. So whatever two
readers may read differently is refused, in comments too: characters that are neither printable
ASCII nor blank, a carriage return inside a line, a backslash, a block comment that holds a slash
or a star, a number with a leading zero that is not octal, and one that does not fit 64 bits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tylo.layouts.errors import PtxError

# The order decides: a bit pattern before a number, a number before a name.
_KINDS = {
    "blank": r"[ \t\r\n]+|//[^\n]*|/\*[^*/]*\*/",
    "string": r'"[^"\n]*"',
    "float": r"0[fF][0-9a-fA-F]{8}\b|0[dD][0-9a-fA-F]{16}\b",
    "version": r"[0-9]+\.[0-9]+",
    "number": r"-?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[0-7]+|[1-9][0-9]*|0)U?\b",
    "directive": r"\.[a-zA-Z_][\w$]*",
    "register": r"%[a-zA-Z_$][\w$]*(?:\.[xyzw])?",
    "name": r"[a-zA-Z$][\w$]*(?:(?:\.|::)[\w$]+)*|_[\w$]+(?:\.[\w$]+)*",
    "sign": r"[@!{}\[\]()<>,;:+|=_]",
}
_TOKEN = re.compile(
    "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _KINDS.items()), re.ASCII
)
_REFUSED = re.compile(r"(?!\r\n)[^\t\n -~]|\\")
_MOST_DIGITS = 70


@dataclass(frozen=True, slots=True)
class Token:
    """`kind` is a key of the grammar above, or ``"end"``; `line` and `column` count from one."""

    kind: str
    text: str
    line: int
    column: int
    start: int

    def error(self, message: str, hint: str = "") -> PtxError:
        """A `PtxError` that points here."""
        return PtxError(f"line {self.line}, column {self.column}: {message}", hint=hint)


def tokens(text: str) -> list[Token]:
    """All tokens of a PTX text, and a last one of kind ``"end"``."""
    refused = _REFUSED.search(text)
    if refused is not None:
        raise _unexpected(text, refused.start())
    found: list[Token] = []
    position, line, line_start = 0, 1, 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise _unexpected(text, position)
        kind = str(match.lastgroup)
        if kind != "blank":
            found.append(Token(kind, match[0], line, position - line_start + 1, position))
        newlines = match[0].count("\n")
        if newlines:
            line += newlines
            line_start = match.start() + match[0].rindex("\n") + 1
        position = match.end()
    found.append(Token("end", "", line, position - line_start + 1, position))
    return found


def _unexpected(text: str, position: int) -> PtxError:
    line, start = text.count("\n", 0, position) + 1, text.rfind("\n", 0, position) + 1
    at = Token("end", text[position], line, position - start + 1, position)
    return at.error(f"unexpected character {text[position]!r}")


def number(token: Token) -> int:
    """The value of a ``number`` token, or the bit pattern of a ``float`` token.

    Constants have 64 bits (PTX ISA 4.5.1); raises `PtxError` for one that does not fit them.
    """
    text = token.text.removesuffix("U")
    if len(text) > _MOST_DIGITS:
        raise token.error(f"a constant of {len(text)} characters", hint="constants have 64 bits")
    if token.kind == "float":
        return int(text[2:], 16)
    magnitude = text.lstrip("-")
    octal = len(magnitude) > 1 and magnitude.isdigit() and magnitude[0] == "0"
    value = int(magnitude, 8 if octal else 0) * (-1 if text[0] == "-" else 1)
    if not -(1 << 63) <= value < 1 << 64:
        raise token.error(f"the constant {value} does not fit 64 bits")
    return value
