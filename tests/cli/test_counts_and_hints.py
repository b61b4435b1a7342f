"""What commands say of checks that do not hold, of options, and of guards that are not asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tylo.cli import main
from tylo.cli.check import counted
from tylo.layouts.errors import GenerationError
from tylo.proofs.bundle import DIGEST_ONLY, HOLDS, UNDECIDED, Check


def test_checks_that_do_not_hold_are_said() -> None:
    def some(**verdicts: int) -> str:
        names = {"holds": HOLDS, "digest": DIGEST_ONLY, "undecided": UNDECIDED}
        return counted([Check("a", "b", names[n]) for n, k in verdicts.items() for _ in range(k)])

    assert some(holds=70, digest=6) == "70 of 76 checks hold, 6 by digest only"
    assert some(holds=2) == "2 of 2 checks hold"
    assert (
        some(holds=1, undecided=2, digest=1) == "1 of 4 checks hold, 1 by digest only, 2 undecided"
    )


def test_a_device_is_asked_for_by_its_option(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise GenerationError("no wgmma", hint="use device='gpu'")

    monkeypatch.setattr("tylo.cli.run.run_bundle", refuse)
    assert main(["run", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "--device gpu" in said
    assert "device=" not in said


def test_guards_are_counted_where_no_solver_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "softmax_state"]) == 0
    assert "not asked softmax_state: 43 guards" in capsys.readouterr().out


def test_each_guard_has_the_verdict_of_both_solvers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "softmax_state", "--solvers"]) == 0
    lines = [
        line for line in capsys.readouterr().out.splitlines() if "(z3 holds, cvc5 holds)" in line
    ]
    assert len(lines) == 43
    assert any("update: row 0 lane 0: the state stays valid" in line for line in lines)
