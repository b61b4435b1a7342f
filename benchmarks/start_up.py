"""What Tylo costs before it answers: whole processes against a bare interpreter's.

The commands are run in turn, so that a machine that slows down slows all; medians keep a stray run
from counting. Budgets above `python -c pass`: 150 ms for a query, 40 ms for importing the layouts.

    python benchmarks/start_up.py [--runs 31]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

BARE = [sys.executable, "-c", "pass"]
# What is measured: its command, and its budget in milliseconds above BARE.
MEASURED = {
    "tylo query": (
        [
            sys.executable,
            "-c",
            "import sys; from tylo.cli import main; sys.exit(main())",
            *["query", "mma.m16n8k16.bf16", "--operand", "C", "--at", "9", "5"],
        ],
        150.0,
    ),
    "import tylo.layouts": ([sys.executable, "-c", "import tylo.layouts"], 40.0),
}


def milliseconds(command: Sequence[str]) -> float:
    """The wall-clock time of one run of `command`, which must succeed."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - start) * 1e3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=31, help="runs of each command")
    runs = parser.parse_args().runs
    for command, _ in MEASURED.values():
        milliseconds(command)
    bare: list[float] = []
    taken: dict[str, list[float]] = {name: [] for name in MEASURED}
    for _ in range(runs):
        bare.append(milliseconds(BARE))
        for name, (command, _) in MEASURED.items():
            taken[name].append(milliseconds(command))
    print(f"{'python -c pass':20} {statistics.median(bare):7.1f} ms, median of {runs}")
    over = False
    for name, (_, budget) in MEASURED.items():
        differences = [one - other for one, other in zip(taken[name], bare, strict=True)]
        difference = statistics.median(differences)
        over |= difference > budget
        print(
            f"{name:20} {statistics.median(taken[name]):7.1f} ms, {difference:.1f} ms more, "
            f"{'OVER' if difference > budget else 'within'} the budget of {budget:.0f} ms"
        )
    return int(over)


if __name__ == "__main__":
    sys.exit(main())
