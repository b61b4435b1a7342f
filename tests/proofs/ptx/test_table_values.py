"""Every entry that computes gives the values of the PTX ISA, in both readings."""

from __future__ import annotations

from table_values import EXPECTATIONS, numbers, terms
from tylo.proofs.ptx.opcodes import OPCODES, find


def test_numbers() -> None:
    assert [each.mnemonic for each in EXPECTATIONS if not numbers(OPCODES, each)] == []


def test_terms() -> None:
    assert [each.mnemonic for each in EXPECTATIONS if not terms(OPCODES, each)] == []


def test_every_entry_that_computes_has_values() -> None:
    met = {find(OPCODES, each.instruction).opcode for each in EXPECTATIONS}
    assert [o.syntax for o in OPCODES if o.semantics is not None and o not in met] == []
