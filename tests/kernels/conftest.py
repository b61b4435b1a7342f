"""Softmax without a GPU: a driver that records, and a chooser that picks a kernel doing nothing."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fake_torch
from fake_cuda import Chooser, FakeDriver, installed
from tylo.codegen.launch.choice import Choice


@pytest.fixture
def driver(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[FakeDriver]:
    monkeypatch.setenv("TYLO_CACHE_DIR", str(_cache(tmp_path_factory)))
    importlib.import_module("tylo.kernels.softmax")._plans.clear()
    with installed(FakeDriver("QQQQqq"), monkeypatch) as found:
        yield found


def _cache(factory: pytest.TempPathFactory) -> Path:
    folder = factory.getbasetemp() / "kernels"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture
def chooser(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> Chooser:
    made = Chooser()
    plan = importlib.import_module("tylo.kernels.softmax_plan")
    monkeypatch.setattr(plan, "_choose", made)
    return made


@pytest.fixture
def torch(chooser: Callable[..., Choice], monkeypatch: pytest.MonkeyPatch) -> Any:
    return fake_torch.installed(monkeypatch)
