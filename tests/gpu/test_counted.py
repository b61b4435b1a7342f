"""What the softmax state assumes of `ex2` and `lg2`, asked of the hardware for every input."""

from __future__ import annotations

import pytest

from tylo.codegen.attest.counted import PATTERNS, Instruction, attest_counts
from tylo.codegen.attest.ex2 import EX2
from tylo.codegen.attest.lg2 import LG2
from tylo.codegen.launch import Device

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("instruction", [EX2, LG2], ids=lambda each: each.spelling)
def test_every_input(device: Device, instruction: Instruction) -> None:
    attestation = attest_counts(instruction, device)
    print(attestation.summary())
    assert attestation.inputs == PATTERNS
    assert attestation.passed, attestation.summary()
    assert all(error > 0 for error in attestation.errors)
