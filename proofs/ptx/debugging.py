"""Line information and debugging sections (PTX ISA 11.5): read whole, then forgotten.

They say nothing about what a kernel does, but text that a reader takes for theirs could hide an
instruction. So each is read by its grammar to its last token, nothing else may follow on the line
where it ends, and what does not fit the grammar is refused:

```
.loc file line column [, function_name label [+ number], inlined_at file line column]
.file index "name" [, timestamp, size]
.section .debug_info { .b8 1, 2  .b32 label [+ number]  label: ... }
```

``.loc`` stands between the instructions of a body, ``.file`` outside of entries, and sections after
everything else. The next line is read as if the directive were not there:

>>> from tylo.proofs.ptx.parser import parse
>>> head = ".version 9.4 .target sm_90a .address_size 64 "
>>> entry = parse(head + '''.entry k() {
...     .loc 1 2 3
...     trap;
... }
... .file 1 "k.py"
... .section .debug_str { .b8 107, 0 }
... ''').entry("k")
>>> [instruction.text for instruction in entry.body]
['trap']
>>> parse(head + ".entry k() { .loc 1 2 3 trap; }")
Traceback (most recent call last):
tylo.layouts.errors.PtxError: line 1, column 70: 'trap' on the line of '.loc'; begin a new line
"""

from __future__ import annotations

from tylo.proofs.ptx.cursor import Cursor
from tylo.proofs.ptx.tokens import Token

_LARGEST = (1 << 63) - 1
_DATA = (".b8", ".b16", ".b32", ".b64")


def pass_line(cursor: Cursor) -> bool:
    """Whether a ``.loc`` came next, which is then read (PTX ISA 11.5.3)."""
    start = cursor.accept(".loc")
    if start is None:
        return False
    last = _numbers(cursor, 3)
    if cursor.accept(","):
        cursor.take("function_name")
        cursor.take("name")
        if cursor.accept("+"):
            cursor.size(0, _LARGEST)
        cursor.take(",")
        cursor.take("inlined_at")
        last = _numbers(cursor, 3)
    _end_of_line(cursor, start, last)
    return True


def pass_file(cursor: Cursor) -> bool:
    """Whether a ``.file`` came next, which is then read (PTX ISA 11.5.2)."""
    start = cursor.accept(".file")
    if start is None:
        return False
    cursor.size(0, _LARGEST)
    last = cursor.take("string")
    if cursor.accept(","):
        cursor.size(0, _LARGEST)
        cursor.take(",")
        last = _numbers(cursor, 1)
    _end_of_line(cursor, start, last)
    return True


def pass_sections(cursor: Cursor) -> bool:
    """Whether a ``.section`` came next: it and all that follow are read (PTX ISA 11.5.4)."""
    if cursor.next.text != ".section":
        return False
    while cursor.next.kind != "end":
        if cursor.next.text != ".section":
            raise cursor.next.error(
                f"{cursor.next.text!r} after a '.section'", hint="sections come last"
            )
        start = cursor.take(".section")
        title = cursor.take("directive")
        if not title.text.startswith(".debug_"):
            raise title.error(f"section {title.text}", hint="only debugging sections are known")
        cursor.take("{")
        while cursor.next.text != "}":
            _data(cursor)
        _end_of_line(cursor, start, cursor.take("}"))
    return True


def _data(cursor: Cursor) -> None:
    """A label, or numbers and labels of one width."""
    if cursor.accept("name"):
        cursor.take(":")
        return
    cursor.take(*_DATA)
    while True:
        item = cursor.take("number", "name", "directive")
        if item.kind != "number" and cursor.accept("+"):
            cursor.take("number")
        if not cursor.accept(","):
            return


def _numbers(cursor: Cursor, count: int) -> Token:
    """The last of `count` numbers without a sign."""
    for _ in range(count):
        last = cursor.next
        cursor.size(0, _LARGEST)
    return last


def _end_of_line(cursor: Cursor, start: Token, last: Token) -> None:
    following = cursor.next
    if following.kind != "end" and following.line == last.line:
        raise following.error(
            f"{following.text!r} on the line of {start.text!r}", hint="begin a new line"
        )
