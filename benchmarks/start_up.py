"""What a query costs before it answers: its whole process against a bare interpreter's.

Both commands are run alternately, so that a machine that slows down slows both; medians keep a
stray run from counting. The budget is 150 ms above `python -c pass`.

    python benchmarks/start_up.py [--runs 31]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

BUDGET_MS = 150.0
BARE = [sys.executable, "-c", "pass"]
QUERY = [
    sys.executable,
    "-c",
    "import sys; from tylo.cli import main; sys.exit(main())",
    *["query", "mma.m16n8k16.bf16", "--operand", "C", "--at", "9", "5"],
]


def milliseconds(command: Sequence[str]) -> float:
    """The wall-clock time of one run of `command`, which must succeed."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - start) * 1e3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=31, help="runs of each command")
    runs = parser.parse_args().runs
    for command in (BARE, QUERY):
        milliseconds(command)
    pairs = [(milliseconds(BARE), milliseconds(QUERY)) for _ in range(runs)]
    bare = statistics.median(first for first, _ in pairs)
    query = statistics.median(second for _, second in pairs)
    difference = statistics.median(second - first for first, second in pairs)
    verdict = "within" if difference <= BUDGET_MS else "OVER"
    print(f"python -c pass  {bare:7.1f} ms, median of {runs}")
    print(f"tylo query      {query:7.1f} ms, median of {runs}")
    print(f"difference      {difference:7.1f} ms, {verdict} the budget of {BUDGET_MS:.0f} ms")
    return 0 if difference <= BUDGET_MS else 1


if __name__ == "__main__":
    sys.exit(main())
