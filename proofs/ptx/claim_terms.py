"""Terms as a claim's author writes them: ``(block * 256 + thread) * 4 + value``.

```
condition = term ("<" | "<=" | ">" | ">=" | "==") term
access    = name "[" term {"," term} "]"                            x[block * 32 + thread]
source    = access | conversion "(" access ")"                      cvt.rn.bf16.f32(x[thread])
term      = sum {("^" | "xor") sum}
sum       = product {("+" | "-") product}
product   = factor {("*" | "/" | "div" | "%" | "mod") factor}
factor    = number | name | "(" term ")"
```

Binding is C's and `tylo.layouts.terms.show`'s, whose output is read back. ``/`` and ``//`` are
integer division. Numbers are decimal or hexadecimal.

>>> from tylo.layouts.terms import show
>>> show(read_term("(block * 0x20 + thread) * 4 + value"))
'(block * 32 + thread) * 4 + value'
>>> print(*read_condition("thread * 4 <= n"))
thread * 4 < n + 1
>>> read_source("cvt.rn.bf16.f32(x[thread])").conversion
'cvt.rn.bf16.f32'

Anything else is refused with its zero-based column.

>>> read_term("thread << 2")
Traceback (most recent call last):
tylo.layouts.errors.NotationError: expected the end but found '<' in 'thread << 2' (witness: 7); \
shifts and masks are written * / and %
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn, TypeVar

from tylo.layouts.errors import ClaimError, NotationError
from tylo.layouts.terms import Integer, name, operation
from tylo.proofs.effects import Less

_Read = TypeVar("_Read")
_TOKEN = re.compile(
    r"[ \t\n]*(?:(?P<number>0[xX][0-9a-fA-F]+|0|[1-9][0-9]*)\b"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*)"
    r"|(?P<sign><=|>=|==|//|[-+*/%^()\[\],<>]))",
    re.ASCII,
)
_SUMS = {"+": "+", "-": "-"}
_PRODUCTS = {"*": "*", "/": "div", "//": "div", "div": "div", "%": "mod", "mod": "mod"}
_WORDS = ("div", "mod", "xor")
# As one or two comparisons with `<`.
_COMPARISONS: dict[str, Callable[[Integer, Integer], tuple[Less, ...]]] = {
    "<": lambda a, b: (Less(a, b),),
    "<=": lambda a, b: (Less(a, b + 1),),
    ">": lambda a, b: (Less(b, a),),
    ">=": lambda a, b: (Less(b, a + 1),),
    "==": lambda a, b: (Less(a, b + 1), Less(b, a + 1)),
}
_LONGEST = 1000  # characters of one term
_DEEPEST = 40  # parentheses in parentheses
_LARGEST = 1 << 63


@dataclass(frozen=True, slots=True)
class Access:
    """An element of a buffer, or `conversion` of it; one index, or row and column."""

    buffer: str
    indices: tuple[Integer, ...]
    conversion: str = "move"


def is_name(text: str) -> bool:
    """Whether terms can mention what is called so.

    >>> [is_name(text) for text in ("offset", "n2", "choice.36", "2n", "mod", "")]
    [True, True, False, False, False, False]
    """
    return text.isascii() and text.isidentifier() and text not in _WORDS


def read_term(text: str) -> Integer:
    """The term that `text` spells; raises `NotationError` with the column."""
    return _whole(text, _Reader.term)


def read_condition(text: str) -> tuple[Less, ...]:
    """The comparison that `text` spells, as one or two of the form ``left < right``."""
    return _whole(text, _Reader.condition)


def read_access(text: str) -> Access:
    """The element that `text` names."""
    return _whole(text, _Reader.access)


def read_source(text: str) -> Access:
    """The element that `text` names, or the named conversion of one."""
    return _whole(text, _Reader.source)


def _whole(text: str, read: Callable[[_Reader], _Read]) -> _Read:
    if len(text) > _LONGEST:
        raise NotationError(
            f"a term of {len(text)} characters", hint=f"at most {_LONGEST}: name parts in [let]"
        )
    reader = _Reader(text)
    try:
        result = read(reader)
    except ClaimError as reason:  # a divisor that is not positive
        raise NotationError(f"{reason.message} in {text!r}", hint=reason.hint) from None
    if reader.next:
        reader.fail("the end")
    return result


class _Reader:
    """Text and a position in it: `kind` and `next` are those of the token there."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.depth = 0
        self._advance()

    def _advance(self) -> None:
        self.column = self.position
        match = _TOKEN.match(self.text, self.position)
        if match is None:
            rest = self.text[self.position :]
            self.column += len(rest) - len(rest.lstrip(" \t\n"))
            self.kind, self.next = ("end", "") if not rest.strip(" \t\n") else ("other", rest[0])
            if self.kind == "other":
                self.fail("a number, a name or a sign")
            return
        self.kind = str(match.lastgroup)
        self.next = match[self.kind]
        self.column = match.start(self.kind)
        self.position = match.end()

    def fail(self, expected: str) -> NoReturn:
        found = repr(self.text[self.column]) if self.column < len(self.text) else "the end"
        shifts = "<<" in self.text or ">>" in self.text or "&" in self.text
        raise NotationError(
            f"expected {expected} but found {found} in {self.text!r}",
            hint="shifts and masks are written * / and %" if shifts else "",
            witness=self.column,
        )

    def take(self, *signs: str) -> str:
        """The next token when it is one of `signs`; else the empty string."""
        if self.next not in signs:
            return ""
        found = self.next
        self._advance()
        return found

    def expect(self, sign: str) -> None:
        if not self.take(sign):
            self.fail(repr(sign))

    def identifier(self, expected: str) -> str:
        found = self.next
        if self.kind != "name" or found in _WORDS:
            self.fail(expected)
        self._advance()
        return found

    def condition(self) -> tuple[Less, ...]:
        left = self.term()
        sign = self.take(*_COMPARISONS)
        if not sign:
            self.fail("a comparison")
        return _COMPARISONS[sign](left, self.term())

    def access(self) -> Access:
        buffer = self.identifier("a buffer's name")
        self.expect("[")
        indices = [self.term()]
        while self.take(","):
            indices.append(self.term())
        self.expect("]")
        return Access(buffer, tuple(indices))

    def source(self) -> Access:
        called = self.identifier("a buffer's name or a conversion")
        if not self.take("("):
            self.expect("[")
            self.position = 0
            self._advance()
            return self.access()
        found = self.access()
        self.expect(")")
        return Access(found.buffer, found.indices, called)

    def term(self) -> Integer:
        value = self._sum()
        while self.take("^", "xor"):
            value = operation("xor", value, self._sum())
        return value

    def _sum(self) -> Integer:
        value = self._product()
        while sign := self.take(*_SUMS):
            value = operation(_SUMS[sign], value, self._product())
        return value

    def _product(self) -> Integer:
        value = self._factor()
        while sign := self.take(*_PRODUCTS):
            value = operation(_PRODUCTS[sign], value, self._factor())
        return value

    def _factor(self) -> Integer:
        if self.take("("):
            self.depth += 1
            if self.depth > _DEEPEST:
                self.fail(f"at most {_DEEPEST} parentheses in each other")
            value = self.term()
            self.depth -= 1
            self.expect(")")
            return value
        if self.kind == "number":
            text = self.next
            number = int(text, 0) if text[:2].lower() == "0x" else int(text)
            if number >= _LARGEST:
                self.fail("a number below 2^63")
            self._advance()
            return number
        word = self.identifier("a number, a name or '('")
        if "." in word:
            raise NotationError(
                f"{word!r} is no name in {self.text!r}", hint="names in terms have no dots"
            )
        return name(word)
