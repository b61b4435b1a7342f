"""How the algebra's cost grows with the number of modes, and with how deep they nest.

    PYTHONPATH=cutlass/python python benchmarks/algebra_growth.py

Operands, peers and clock are those of `algebra.py`: fresh operands for every call, the best of
several rounds, microseconds. The first table has flat layouts of 1 to 64 modes. In the second a
layout of 32 modes nests 1 to 32 deep, `(2,(4,(8,..)))`: the same function at every depth. A dash
means that nothing was found which all libraries accept. `--plot docs` writes both tables as
`algebra-modes.svg` and `algebra-depth.svg` there.
"""

from __future__ import annotations

import argparse
import math
import random
from pathlib import Path
from typing import Any

from algebra import Modes, Peer, accepted, called, cases, found_peers, timed
from growth_plot import plotted

OPERATIONS = (
    "coalesce",
    "composition",
    "complement",
    "right_inverse",
    "logical_divide",
    "evaluate",
)
MODES = (1, 2, 4, 8, 16, 32, 64)
DEPTHS = (1, 2, 4, 8, 16, 32)
LEAVES = 32
ATTEMPTS = 20  # operands tried for each one that is wanted


class Nested(Peer):
    """A library whose layouts nest `depth` deep, the leaves spread evenly over the levels."""

    def __init__(self, peer: Peer, depth: int) -> None:
        super().__init__(peer.name, peer.module, peer.renamed)
        self.depth = depth

    def layout(self, modes: Modes) -> Any:
        if len(modes) < 2 or self.depth == 1:
            return super().layout(modes)
        shape, stride = zip(*modes, strict=True)
        return self.module.Layout(nested(shape, self.depth), nested(stride, self.depth))


def nested(entries: tuple[int, ...], depth: int) -> tuple[Any, ...]:
    """`depth` levels, each the last entry of the one above."""
    if depth == 1:
        return entries
    here = max(1, len(entries) // depth)
    return (*entries[:here], nested(entries[here:], depth - 1))


def measured(
    peers: list[Peer], operation: str, count: int, calls: int, rounds: int
) -> dict[str, float]:
    best: dict[str, float] = {}
    for number in range(rounds):
        rng = random.Random(f"{operation} {count} {number}")
        tried = (cases(operation, rng, count) for _ in range(ATTEMPTS * calls))
        batch = [case for case in tried if accepted(peers, operation, case)][:calls]
        if not batch:
            return {}
        for peer in peers:
            function = called(peer, operation)
            assert function is not None
            operands = [
                [peer.layout(part) if isinstance(part, list) else part for part in case]
                for case in batch
            ]
            best[peer.name] = min(timed(function, operands), best.get(peer.name, math.inf))
    return best


def print_table(head: str, sizes: tuple[int, ...], rows: dict[str, list[dict[str, float]]]) -> None:
    print(f"\n| {head} | " + " | ".join(map(str, sizes)) + " |")
    print("|---" * (len(sizes) + 1) + "|")
    for operation, found in rows.items():
        for name in dict.fromkeys(name for best in found for name in best):
            shown = (f"{best[name]:.1f}" if name in best else "-" for best in found)
            print(f"| {operation}, {name} | " + " | ".join(shown) + " |", flush=True)


def write_plot(
    file: Path, title: str, head: str, sizes: tuple[int, ...], rows: dict[str, list[Any]]
) -> None:
    panels = {
        operation: {
            name: [
                (size, best[name]) for size, best in zip(sizes, found, strict=True) if name in best
            ]
            for name in dict.fromkeys(name for best in found for name in best)
        }
        for operation, found in rows.items()
    }
    file.write_text(plotted(title, head, panels))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=20, help="distinct operands in a round")
    parser.add_argument("--rounds", type=int, default=5, help="rounds; the best counts")
    parser.add_argument("--plot", type=Path, help="write the tables as SVG into this folder")
    options = parser.parse_args()
    peers = found_peers()

    def measure(operation: str, count: int, depth: int) -> dict[str, float]:
        nesting: list[Peer] = [Nested(peer, depth) for peer in peers]
        return measured(nesting, operation, count, options.calls, options.rounds)

    flat = {each: [measure(each, count, 1) for count in MODES] for each in OPERATIONS}
    print_table("modes", MODES, flat)
    deep = {each: [measure(each, LEAVES, depth) for depth in DEPTHS] for each in OPERATIONS}
    print_table("depth", DEPTHS, deep)
    if options.plot:
        write_plot(options.plot / "algebra-modes.svg", "Flat layouts", "modes", MODES, flat)
        deeper = f"{LEAVES} modes, nested"
        write_plot(options.plot / "algebra-depth.svg", deeper, "depth", DEPTHS, deep)


if __name__ == "__main__":
    main()
