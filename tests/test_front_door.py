"""The names of `tylo` itself: each is there, and none is loaded before it is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tylo


@pytest.mark.parametrize("name", tylo.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(tylo, name).__name__ == name


def test_nothing_else_is() -> None:
    with pytest.raises(AttributeError, match="no attribute 'attention'"):
        _ = tylo.attention
    assert sorted(tylo._HOME) == sorted(tylo.__all__)


def test_the_kernels_are_reached_by_name() -> None:
    code = "import tylo; print(tylo.kernels.softmax.__name__, *sorted(tylo.kernels.__all__))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = done.stdout.split()
    assert names[:4] == ["softmax", "attention", "attention_choice", "attention_operator"]
    assert names[4:] == ["log_sum_exp", "softmax", "softmax_choice", "torch_operator"]


def test_importing_loads_no_room() -> None:
    code = "import sys, tylo; print([name for name in sys.modules if name.startswith('tylo.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
