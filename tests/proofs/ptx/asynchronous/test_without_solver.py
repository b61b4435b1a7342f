"""Where z3 is not installed, nothing is said to hold, and nothing breaks."""

from __future__ import annotations

import pytest

from tylo.codegen.attention.member import WORKED
from tylo.proofs.ptx import inprocess
from tylo.proofs.ptx.asynchronous.validate import validate_attention


def test_attention_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inprocess, "installed", lambda: False)
    (verdict,) = validate_attention("", WORKED.plan, "sm_90a", inprocess.solve).verdicts
    assert verdict.verdict == "missing"
    assert "z3" in str(verdict)
