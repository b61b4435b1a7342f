"""Passes over attention's cells: what is drawn, and what is said of the ratios, on no device."""

from __future__ import annotations

import importlib
import math
import random
from pathlib import Path
from typing import Any

import pytest

CELLS = [(64, causal, length) for causal in (False, True) for length in (512, 1024)]


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return importlib.import_module("attention_spread")


class Stand:
    """Stands in for a device: fixed rates by candidate, whose names it shuffles; calls are kept."""

    def __init__(self, **rates: float) -> None:
        self.rates, self.asked = rates, []

    def __call__(self, cell: Any, seed: int, order: random.Random) -> dict[str, Any]:
        candidates = list(self.rates)
        order.shuffle(candidates)
        self.asked.append((cell, seed, candidates))
        return {
            "depth": cell[0], "causal": cell[1], "length": cell[2], "rates": dict(self.rates),
            "own": ["chosen"], "peers": ["cuDNN", "FA3"], "wrong": {"Mosaic": "no jax"},
        }  # fmt: skip


def test_a_seed_decides_inputs_cells_and_candidates(module: Any) -> None:
    first, again, other = (Stand(chosen=3, cuDNN=2, FA3=1) for _ in range(3))
    module.passes(first, CELLS, 3, 7)
    module.passes(again, CELLS, 3, 7)
    module.passes(other, CELLS, 3, 8)
    assert first.asked == again.asked != other.asked


def test_each_pass_has_every_cell_once_and_inputs_of_its_own(module: Any) -> None:
    stand = Stand(chosen=3, cuDNN=2, FA3=1)
    found = module.passes(stand, CELLS, 3, 0)
    listed = [[(each["depth"], each["causal"], each["length"]) for each in one] for one in found]
    assert listed == [CELLS] * 3
    assert len({each["seed"] for one in found for each in one}) == 12
    orders = [tuple(cell for cell, _, _ in stand.asked[at : at + 4]) for at in (0, 4, 8)]
    assert len(set(orders)) > 1


def test_the_best_peer_of_the_pass_counts(module: Any) -> None:
    results = [Stand(chosen=3, cuDNN=2, FA3=peer)((64, False, 512), 0, random.Random(0))
               for peer in (1, 6)]  # fmt: skip
    assert [module.ratio(each) for each in results] == [1.5, 0.5]
    assert module.mean_ratio(results) == pytest.approx(math.sqrt(0.75))


def test_a_missing_member_is_no_number(module: Any) -> None:
    assert math.isnan(module.ratio(Stand(cuDNN=2)((64, False, 512), 0, random.Random(0))))


def test_the_report_has_spreads_and_reasons(
    module: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    slow, fast = Stand(chosen=1.8, cuDNN=2, FA3=1), Stand(chosen=3, cuDNN=2, FA3=1)
    found = [module.passes(each, CELLS, 1, 0)[0] for each in (slow, fast)]
    capsys.readouterr()
    module.report_spread(found)
    text = capsys.readouterr().out
    assert "| D=64, causal | 512 | 1024 |" in text
    assert "| 0.900 to 1.500 | 0.900 to 1.500 |" in text
    assert "| chosen / best peer, median | 1.200 | 1.200 |" in text
    assert "2 passes over 4 cells: geometric mean of own / best peer 0.900 to 1.500" in text
    assert "not timed in 8 of 8: Mosaic: no jax" in text


def test_a_peer_that_cannot_be_made_is_absent_with_its_reason(module: Any) -> None:
    peers = importlib.import_module("attention_peers").Peers()

    def fails() -> Any:
        raise ModuleNotFoundError("No module named\n 'fa3'")

    peers.add("FA3", fails)
    peers.add("other", lambda: print)
    assert peers.absent == {"FA3": "ModuleNotFoundError: No module named 'fa3'"}
    assert peers.calls == {"other": print}
