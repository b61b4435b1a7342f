"""The wgmma tables, asked of the hardware."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tylo.codegen.attest.warpgroup import ASKED, attest_warpgroups
from tylo.codegen.launch import Device
from tylo.layouts.atoms import atom
from tylo.layouts.ownership import Ownership

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def hopper(device: Device) -> Device:
    if device.capability != (9, 0):
        pytest.skip(f"wgmma exists on 9.0 alone, this device is {device.capability}")
    return device


def test_the_hardware_agrees_with_every_table(hopper: Device) -> None:
    report = attest_warpgroups(hopper)
    print(report.summary())
    assert report.passed, report.summary()
    assert [table.atom for table in report.tables] == [each.name for each in ASKED]
    for table, each in zip(report.tables, ASKED, strict=True):
        assert (table.probes, table.hits) == (1027, 1024 * each.tile[1])
        assert len(table.checks) == 4


def test_the_hardware_disagrees_with_a_wrong_table(hopper: Device) -> None:
    each = atom("wgmma.m64n64k16.bf16")
    a, c = each.operands
    warps_first = Ownership.of(
        axes={"m": 64, "n": 64},
        values={"value": [(2, "n", 1), (2, "m", 32), (8, "n", 8)]},
        threads={"lane": [(4, "n", 2), (8, "m", 1)], "warp": [(4, "m", 8)]},
        bits=32,
    )
    wrong = replace(each, operands=(a, replace(c, ownership=warps_first)))
    report = attest_warpgroups(hopper, [wrong])
    assert not report.passed
    assert "rows of C" in report.summary()
