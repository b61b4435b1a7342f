"""What NVRTC complained about, next to the line it complained about.

The front end counts lines of the source, the assembler counts lines of the PTX that the source
became. Both are shown with their neighbours.

>>> print(explain('k.cu(2): error: identifier "y" is undefined', "k.cu", "int f(int x) {\\n"
...               "  return y;\\n}", ""))
k.cu line 2: identifier "y" is undefined
    1 | int f(int x) {
  > 2 |   return y;
    3 | }
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_SHOWN = 3
_NEIGHBOURS = 2

_FRONT_END = re.compile(
    r"^(?P<file>[^\n]+?)\((?P<line>\d+)\): (?:catastrophic )?error(?: #\S+)?: (?P<message>.*)$",
    re.MULTILINE,
)
_ASSEMBLER = re.compile(
    r"^ptxas [^\n]*?, line (?P<line>\d+); error\s*: (?P<message>.*)$", re.MULTILINE
)

_WAYS_OUT = (
    (
        "open source file",
        "NVRTC comes without headers: use built-in type names, declare what else is needed in the "
        "source (a tensor map is an opaque struct of 128 bytes aligned to 64), or pass -I folders",
    ),
    (
        "not supported on .target",
        "compile for an architecture that has the instruction (wgmma: sm_90a)",
    ),
    (
        "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE",
        "the compiler's helper library libnvrtc-builtins is missing beside it: reinstall its wheel",
    ),
    ("unrecognized option", "pass one option per list element, without shell quotes"),
)


def numbered(text: str, line: int) -> str:
    """Line `line` of `text` (from 1) and its neighbours, numbered, the line itself marked.

    >>> print(numbered("a\\nb\\nc\\nd\\ne\\nf", 5))
        3 | c
        4 | d
      > 5 | e
        6 | f
    """
    lines = text.splitlines()
    first = max(1, line - _NEIGHBOURS)
    last = min(len(lines), line + _NEIGHBOURS)
    width = len(str(last))
    return "\n".join(
        f"  {'>' if number == line else ' '} {number:>{width}} | {lines[number - 1]}".rstrip()
        for number in range(first, last + 1)
    )


def explain(log: str, name: str, source: str, ptx: str) -> str:
    """The first errors of `log`, each with its numbered line; the log itself when it has none."""
    errors = list(_errors(log, name, source, ptx))
    if not errors:
        return log.strip() or "NVRTC left no message"
    more = len(errors) - _SHOWN
    tail = [f"and {more} more"] if more > 0 else []
    return "\n".join(errors[:_SHOWN] + tail)


def way_out(text: str) -> str:
    """The hint for the first known cause in `text`, or nothing.

    >>> way_out('k.cu(1): catastrophic error: could not open source file "stdint.h"')[:28]
    'NVRTC comes without headers:'
    """
    return next((hint for cause, hint in _WAYS_OUT if cause in text), "")


def _errors(log: str, name: str, source: str, ptx: str) -> Iterator[str]:
    for match in _FRONT_END.finditer(log):
        heading = f"{match['file']} line {match['line']}: {match['message']}"
        # A `#line` directive or a header counts lines of a text that is not at hand.
        shown = numbered(source, int(match["line"])) if match["file"] == name else ""
        yield f"{heading}\n{shown}".rstrip()
    for match in _ASSEMBLER.finditer(log):
        heading = f"PTX of {name} line {match['line']}: {match['message']}"
        yield f"{heading}\n{numbered(ptx, int(match['line']))}".rstrip()
