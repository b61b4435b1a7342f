"""The opcode table takes what the assembler takes, but for what is left out by name.

The answers are data: no assembler is needed here. See `ptxas_forms` for how they were asked for.
"""

from __future__ import annotations

import pytest

from assembler_answers import NARROWER, differences, heads
from tylo.proofs.ptx.opcodes import OPCODES


@pytest.mark.parametrize("head", heads())
def test_forms_are_those_of_the_assembler(head: str) -> None:
    assert list(differences(OPCODES, {head})) == []


def test_every_mnemonic_of_the_table_was_asked_for() -> None:
    assert {opcode.mnemonic for opcode in OPCODES} == set(heads())
    assert all(NARROWER.values())
