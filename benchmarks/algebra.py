"""Tylo's layout algebra beside its peers, in one process.

    pip install -e '.[benchmark]'
    git clone --depth 1 https://github.com/NVIDIA/cutlass   # pycute is on no package index
    PYTHONPATH=cutlass/python python benchmarks/algebra.py

Every call gets an operand that no library has seen before, so that a memoised answer never counts.
Operands are accepted by all libraries present; Tylo's checks are on. For each operation and number
of modes the table shows microseconds a call and Tylo's speed relative to the fastest peer
(above 1: Tylo is faster), and then the geometric means. Peers that are not installed are named.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import random
import sys
import time
from collections.abc import Callable
from typing import Any

import tylo.layouts as tylo

Modes = list[tuple[int, int]]
Case = tuple[Any, ...]


class Peer:
    """A library: how it spells a layout, and its functions by Tylo's names."""

    def __init__(self, name: str, module: Any, renamed: dict[str, str]) -> None:
        self.name = name
        self.module = module
        self.renamed = renamed

    def layout(self, modes: Modes) -> Any:
        if len(modes) == 1:
            return self.module.Layout(*modes[0])
        return self.module.Layout(tuple(n for n, _ in modes), tuple(d for _, d in modes))

    def function(self, name: str) -> Callable[..., Any] | None:
        found = getattr(self.module, self.renamed.get(name, name), None)
        return found if callable(found) else None


def found_peers() -> list[Peer]:
    peers = [Peer("tylo", tylo, {})]
    for name, module, renamed in (
        ("pycute", "pycute", {}),
        ("tensor-layouts", "tensor_layouts", {"composition": "compose"}),
    ):
        try:
            peers.append(Peer(name, importlib.import_module(module), renamed))
        except ImportError:
            print(f"{name}: not installed, skipped", file=sys.stderr)
    return peers


def shuffled_compact(rng: random.Random, count: int) -> Modes:
    """Powers of two and a few threes, compact, in any order of strides."""
    extents = [rng.choice([2, 4, 8, 16, 32, 3, 6]) for _ in range(count)]
    order = list(range(count))
    rng.shuffle(order)
    strides, step = [0] * count, 1
    for mode in order:
        strides[mode] = step
        step *= extents[mode]
    return list(zip(extents, strides, strict=True))


def with_gaps(rng: random.Random, count: int) -> Modes:
    modes, step = [], 1
    for _ in range(count):
        step *= rng.choice([1, 2, 4])
        extent = rng.choice([2, 4, 8, 3])
        modes.append((extent, step))
        step *= extent
    rng.shuffle(modes)
    return modes


def column_major(rng: random.Random, count: int, scale: int = 1) -> Modes:
    modes, step = [], scale
    for _ in range(count):
        extent = rng.choice([2, 4, 8, 16])
        modes.append((extent, step))
        step *= extent
    return modes


def tile_of(rng: random.Random, modes: Modes) -> Modes:
    """A tile of a compact index space: in each mode a divisor of the extent, same strides."""
    tile, step = [], 1
    for extent, _ in modes:
        divisors = [d for d in range(1, extent + 1) if extent % d == 0]
        tile.append((rng.choice(divisors[1:]), step))
        step *= extent
    return tile


def random_index(rng: random.Random, modes: Modes) -> int:
    return rng.randrange(math.prod(n for n, _ in modes))


def cases(operation: str, rng: random.Random, count: int) -> Case:
    """Operands as modes (lists), tilers (tuples of ints) and integers."""
    if operation in ("coalesce", "right_inverse"):
        return (shuffled_compact(rng, count),)
    if operation == "complement":
        return (with_gaps(rng, count), 1 << 24)
    if operation == "left_inverse":
        return (with_gaps(rng, count),)
    if operation == "logical_product":
        return (with_gaps(rng, 1), column_major(rng, count))
    a = shuffled_compact(rng, count)
    if operation in ("composition", "logical_divide"):
        return (a, tile_of(rng, a))
    if operation in ("zipped_divide", "tiled_divide"):
        return (a, tuple(n for n, _ in tile_of(rng, a)) if count > 1 else tile_of(rng, a)[0][0])
    return (a, random_index(rng, a))


OPERATIONS = (
    "coalesce",
    "composition",
    "complement",
    "right_inverse",
    "left_inverse",
    "logical_divide",
    "zipped_divide",
    "tiled_divide",
    "logical_product",
    "evaluate",
)


def called(peer: Peer, operation: str) -> Callable[..., Any] | None:
    if operation == "evaluate":
        return lambda layout, index: layout(index)
    return peer.function(operation)


def built(peer: Peer, case: Case) -> list[Any]:
    return [peer.layout(part) if isinstance(part, list) else part for part in case]


def accepted(peers: list[Peer], operation: str, case: Case) -> bool:
    """Whether every library present returns something of the right size."""
    try:
        results = [
            function(*built(peer, case))
            for peer in peers
            if (function := called(peer, operation)) is not None
        ]
    except Exception:
        return False
    sizes = [r if isinstance(r, int) else tylo.product(r.shape) for r in results]
    return operation == "left_inverse" or len(set(sizes)) == 1


def timed(function: Callable[..., Any], operands: list[list[Any]]) -> float:
    """Microseconds a call."""
    start = time.perf_counter()
    for arguments in operands:
        function(*arguments)
    return (time.perf_counter() - start) / len(operands) * 1e6


def measure(
    peers: list[Peer], operation: str, count: int, calls: int, rounds: int
) -> dict[str, float]:
    """The best round of each library, each round on operands of its own."""
    best: dict[str, float] = {}
    for number in range(rounds):
        rng = random.Random(f"{operation} {count} {number}")
        batch: list[Case] = []
        while len(batch) < calls:
            case = cases(operation, rng, count)
            if accepted(peers, operation, case):
                batch.append(case)
        order = list(peers)
        random.Random(number).shuffle(order)
        for peer in order:
            function = called(peer, operation)
            if function is not None:
                spent = timed(function, [built(peer, case) for case in batch])
                best[peer.name] = min(spent, best.get(peer.name, math.inf))
    return best


def geometric_mean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def report(rows: list[tuple[str, dict[str, float]]], names: list[str]) -> dict[str, Any]:
    print(f"{'operation':<28}" + "".join(f"{name:>16}" for name in names) + f"{'to fastest':>14}")
    ratios: dict[str, list[float]] = {name: [] for name in [*names[1:], "fastest"]}
    for label, best in rows:
        rivals = {name: best[name] / best["tylo"] for name in names[1:] if name in best}
        for name, ratio in rivals.items():
            ratios[name].append(ratio)
        if rivals:
            ratios["fastest"].append(min(rivals.values()))
        shown = "".join(f"{best[n]:>16.2f}" if n in best else f"{'-':>16}" for n in names)
        print(f"{label:<28}{shown}" + (f"{min(rivals.values()):>14.2f}" if rivals else ""))
    means = {name: geometric_mean(values) for name, values in ratios.items() if values}
    for name, mean in means.items():
        print(f"geometric mean, {name}: {mean:.2f}x")
    return {"rows": dict(rows), "geometric_mean": means}


LinearCase = tuple[list[tuple[str, list[list[int]]]], list[tuple[str, int]]]


def bijection(rng: random.Random, ins: list[str], outs: list[str], bits: int) -> LinearCase:
    """A random invertible map: `bits` bits from each input dimension to each output dimension."""
    total = bits * len(ins)
    columns = [1 << b for b in range(total)]
    for _ in range(3 * total):
        i, j = rng.sample(range(total), 2)
        columns[i] ^= columns[j]
    mask = (1 << bits) - 1
    images = [[column >> (bits * k) & mask for k in range(len(outs))] for column in columns]
    bases = [(name, images[bits * k : bits * (k + 1)]) for k, name in enumerate(ins)]
    return bases, [(name, 1 << bits) for name in outs]


def both(build: Callable[[LinearCase], Any], pairs: list[tuple[Any, Any]]) -> list[list[Any]]:
    """Both operands built; a coordinate to evaluate at stays as it is."""
    return [[build(a), b if isinstance(b, dict) else build(b)] for a, b in pairs]


def linear_rows(calls: int, rounds: int) -> list[tuple[str, dict[str, float]]]:
    try:
        triton = importlib.import_module("triton._C.libtriton").linear_layout.LinearLayout
    except ImportError:
        print("triton: not installed, skipped", file=sys.stderr)
        triton = None
    linear = tylo.linear

    def in_triton(case: LinearCase) -> Any:
        bases, outs = case
        return triton.from_bases(bases, [n for n, _ in outs], [s for _, s in outs], True)

    operations: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
        "compose": (linear.compose, lambda a, b: a.compose(b)),
        "invert": (lambda a, b: linear.invert(a), lambda a, b: a.invert()),
        "invert_and_compose": (
            linear.invert_and_compose,
            lambda a, b: a.invert_and_compose(b),
        ),
        "apply": (lambda a, b: a(**b), lambda a, b: a.apply(b)),
    }
    rows = []
    for operation, (ours, theirs) in operations.items():
        for dims in range(1, 6):
            ins, outs = [f"i{k}" for k in range(dims)], [f"o{k}" for k in range(dims)]
            best: dict[str, float] = {}
            for number in range(rounds):
                rng = random.Random(f"{operation} {dims} {number}")
                pairs = []
                for _ in range(calls):
                    first = bijection(rng, ins, outs, 3)
                    second: Any = bijection(rng, outs if operation == "compose" else ins, outs, 3)
                    if operation == "apply":
                        second = {name: rng.randrange(8) for name in ins}
                    pairs.append((first, second))
                spent = timed(ours, both(lambda case: tylo.LinearLayout(*case), pairs))
                best["tylo"] = min(spent, best.get("tylo", math.inf))
                if triton is not None:
                    spent = timed(theirs, both(in_triton, pairs))
                    best["triton"] = min(spent, best.get("triton", math.inf))
            rows.append((f"F2 {operation}, {dims} dims", best))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=200, help="distinct operands in a round")
    parser.add_argument("--rounds", type=int, default=7, help="rounds; the best counts")
    parser.add_argument("--json", help="write the numbers to this file")
    options = parser.parse_args()
    peers = found_peers()
    rows = [
        (
            f"{operation}, {count} modes",
            measure(peers, operation, count, options.calls, options.rounds),
        )
        for operation in OPERATIONS
        for count in range(1, 6)
    ]
    strided = report(rows, [peer.name for peer in peers])
    linear = report(linear_rows(options.calls, options.rounds), ["tylo", "triton"])
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"strided": strided, "linear": linear}, file, indent=1)


if __name__ == "__main__":
    main()
