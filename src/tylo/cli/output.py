"""Printing what a command found, as text or as JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

EXIT_CODES = {"holds": 0, "digest only": 0, "fails": 1, "undecided": 3}


def worst(codes: Iterable[int]) -> int:
    """One exit code for several: a failure outweighs what nobody decided."""
    found = set(codes)
    return 1 if 1 in found else max(found, default=0)


def print_json(data: Any) -> None:
    """One line of JSON, keys sorted, on stdout."""
    import json

    sys.stdout.write(json.dumps(data, sort_keys=True) + "\n")
