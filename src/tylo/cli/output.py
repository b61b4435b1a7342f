"""Printing what a command found, as text or as JSON."""

from __future__ import annotations

import sys
from typing import Any


def print_json(data: Any) -> None:
    """One line of JSON, keys sorted, on stdout."""
    import json

    sys.stdout.write(json.dumps(data, sort_keys=True) + "\n")
