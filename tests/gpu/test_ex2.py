"""What the softmax state assumes of `ex2.approx.ftz.f32`, asked of the hardware for every input."""

from __future__ import annotations

import pytest

from tylo.codegen.attest.ex2 import attest_ex2
from tylo.codegen.launch import Device

pytestmark = pytest.mark.gpu


def test_every_input_of_ex2(device: Device) -> None:
    attestation = attest_ex2(device)
    print(attestation.summary())
    assert attestation.inputs == 1 << 32
    assert attestation.passed, attestation.summary()
    assert attestation.largest_error > 0
