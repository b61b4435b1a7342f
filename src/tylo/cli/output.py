"""Printing what a command found, as text or as JSON."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any, TextIO

EXIT_CODES = {"holds": 0, "digest only": 0, "fails": 1, "undecided": 3}


def worst(codes: Iterable[int]) -> int:
    """One exit code for several: a failure outweighs what nobody decided."""
    found = set(codes)
    return 1 if 1 in found else max(found, default=0)


def print_json(data: Any) -> None:
    """One line of JSON, keys sorted, on stdout."""
    import json

    sys.stdout.write(json.dumps(data, sort_keys=True) + "\n")


def tell(what: str) -> None:
    """Say on stderr what is begun, to whoever waits at a terminal."""
    if sys.stderr.isatty():
        print(f"{what} ...", file=sys.stderr)


class Output:
    """Standard output that outlives its reader: a verdict does not depend on who listens.

    `failure` says why something could not be written; a reader that went away is no failure.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.failure = ""
        self.open = True

    def write(self, text: str) -> int:
        """Write to the stream, until it refuses."""
        self._attempt(lambda: self.stream.write(text))
        return len(text)

    def flush(self) -> None:
        """Flush the stream, unless it refused."""
        self._attempt(self.stream.flush)

    def isatty(self) -> bool:
        """Whether somebody looks at it directly."""
        return self.stream.isatty()

    def _attempt(self, action: Any) -> None:
        if not self.open:
            return
        try:
            action()
        except OSError as reason:
            self.open = False
            if not isinstance(reason, BrokenPipeError):
                self.failure = reason.strerror or str(reason)
            # What is still buffered would fail again when the interpreter closes the stream.
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), self.stream.fileno())


@contextlib.contextmanager
def patient_output() -> Iterator[Output]:
    """Let `print` write to an `Output` for the length of a command."""
    output = Output(sys.stdout)
    with contextlib.redirect_stdout(output):
        yield output
        output.flush()
