"""How far attention's rates, and their ratios to the best peer, vary from pass to pass.

A pass times every cell once, on tensors of its own and in an order of its own.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Sequence
from typing import Any

from attention_timing import Cell, best, report_absent

Result = dict[str, Any]


def passes(
    one: Callable[..., Result], cells: Sequence[Cell], count: int, seed: int
) -> list[list[Result]]:
    """The results of `count` passes, in the order of the cells; everything drawn follows `seed`."""
    drawn = random.Random(seed)
    found = []
    for number in range(count):
        order = list(cells)
        drawn.shuffle(order)
        results = {}
        for cell in order:
            inputs = drawn.getrandbits(31)
            results[cell] = one(cell, seed=inputs, order=drawn) | {"seed": inputs}
        found.append([results[cell] for cell in cells])
        print(
            f"pass {number + 1} of {count}: geometric mean {mean_ratio(found[-1]):.3f}", flush=True
        )
    return found


def ratio(result: Result) -> float:
    """Own rate over the best peer's of the same pass; NaN where either is missing."""
    rates = result["rates"]
    return best(rates, result["own"])[1] / best(rates, result["peers"])[1]


def mean_ratio(results: Sequence[Result]) -> float:
    """The geometric mean of the ratios of one pass."""
    return statistics.geometric_mean(ratio(each) for each in results)


def spread(values: Sequence[float]) -> tuple[float, float, float]:
    """Least, median, and greatest."""
    return min(values), statistics.median(values), max(values)


def report_spread(found: Sequence[Sequence[Result]]) -> None:
    """Tables in Markdown, a line of spreads for each cell, and that of the geometric mean."""
    by_cell = list(zip(*found, strict=True))
    groups: dict[tuple[int, bool], list[tuple[Result, ...]]] = {}
    for each in by_cell:
        groups.setdefault((each[0]["depth"], each[0]["causal"]), []).append(each)
    for (depth, causal), cells in groups.items():
        print("\n".join(table(f"D={depth}, {'causal' if causal else 'full'}", cells)) + "\n")
    medians = [statistics.median(map(ratio, each)) for each in by_cell]
    low, middle, high = spread([mean_ratio(each) for each in found])
    print(
        f"{len(found)} passes over {len(by_cell)} cells: geometric mean of own / best peer "
        f"{low:.3f} to {high:.3f}, median {middle:.3f}; of the cells' medians the least "
        f"{min(medians):.3f}, {sum(each >= 1 for each in medians)} at 1 or above"
    )
    report_absent([each for results in found for each in results])


def table(title: str, cells: Sequence[Sequence[Result]]) -> list[str]:
    """Medians over the passes, and the spread of the ratio, a column for each length."""
    names = sorted({name for results in cells for each in results for name in each["rates"]})
    names.sort(key=lambda name: name != "chosen")
    rows = [[title, *(str(results[0]["length"]) for results in cells)], ["--"] * (len(cells) + 1)]
    for name in names:
        rates = [
            [each["rates"][name] for each in results if name in each["rates"]] for results in cells
        ]
        rows.append([name, *(f"{statistics.median(each):.0f}" if each else "" for each in rates)])
    spreads = [spread([ratio(each) for each in results]) for results in cells]
    rows.append(["chosen / best peer, median", *(f"{each[1]:.3f}" for each in spreads)])
    rows.append(["least to greatest", *(f"{each[0]:.3f} to {each[2]:.3f}" for each in spreads)])
    return ["| " + " | ".join(row) + " |" for row in rows]
