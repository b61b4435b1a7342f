"""The instruction tables, asked of the hardware."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tylo.codegen.attest import attest
from tylo.codegen.launch import Device
from tylo.layouts.atoms import Atom
from tylo.layouts.atoms.mma_m16n8k16 import ATOMS
from tylo.layouts.ownership import Ownership

pytestmark = pytest.mark.gpu


def test_the_hardware_agrees_with_every_table(device: Device) -> None:
    report = attest(device)
    print(report.summary())
    assert report.passed, report.summary()
    assert [table.atom for table in report.tables] == [atom.name for atom in ATOMS]
    for table in report.tables:
        assert (table.probes, table.hits) == (256 * 128 + 128, 2048)
        assert len(table.checks) == 7
    assert report.device == device.info()


@pytest.mark.parametrize("atom", ATOMS, ids=lambda atom: atom.short_name)
def test_the_hardware_disagrees_with_a_wrong_table(device: Device, atom: Atom) -> None:
    words_exchanged = Ownership.of(
        axes={"m": 16, "k": 16},
        values={"value": [(2, "k", 1), (2, "k", 8), (2, "m", 8)]},
        threads={"lane": [(4, "k", 2), (8, "m", 1)]},
        bits=16,
    )
    a, *others = atom.operands
    wrong = replace(atom, operands=(replace(a, ownership=words_exchanged), *others))
    report = attest(device, [wrong])
    assert not report.passed
    assert "one-hot products" in report.summary()
