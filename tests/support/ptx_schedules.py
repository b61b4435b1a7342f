"""How many random schedules of the machine a kernel runs under."""

from __future__ import annotations

import pytest

# A hundred in all: a fifth of them by default, the others nightly.
many_schedules = pytest.mark.parametrize(
    "seeds",
    [range(20), pytest.param(range(20, 100), marks=pytest.mark.nightly)],
    ids=lambda seeds: f"from {seeds.start}",
)
