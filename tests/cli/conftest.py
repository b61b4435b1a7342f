"""Commands that check bundles ask the solvers once for each text."""

from __future__ import annotations

import pytest

from solver_memory import remember_answers


@pytest.fixture(autouse=True)
def answers_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    remember_answers(monkeypatch)
