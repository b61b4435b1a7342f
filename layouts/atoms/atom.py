"""An instruction atom: one hardware instruction and who owns each element of its operands.

Atom tables are the only axioms about layouts. Each is plain data in a module of this folder, names
the section of the vendor's manual it was read from, is checked structurally, is compared with
independent tables in the tests, and is attested on hardware element by element.
"""

from __future__ import annotations

from dataclasses import dataclass

from tylo.layouts.errors import AtomError
from tylo.layouts.ownership import Ownership


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand of an atom: its letter, its element type and who owns its elements."""

    letter: str
    dtype: str
    ownership: Ownership


@dataclass(frozen=True, slots=True)
class Atom:
    """An instruction: canonical PTX mnemonic, short name, tile (m, n, k), operands and source."""

    name: str
    short_name: str
    tile: tuple[int, int, int]
    operands: tuple[Operand, ...]
    source: str
    minimum_capability: int

    def operand(self, letter: str) -> Operand:
        """Operand ``A``, ``B``, ``C`` or ``D``; D has C's ownership.

        >>> from tylo.layouts.atoms import atom
        >>> atom("mma.m16n8k16.f16").operand("A").dtype
        'f16'
        """
        wanted = "C" if letter.upper() == "D" else letter.upper()
        for operand in self.operands:
            if operand.letter == wanted:
                return operand
        known = ", ".join(operand.letter for operand in self.operands)
        where = "; B is read from shared memory, without an owner" if wanted == "B" else ""
        raise AtomError(
            f"{self.short_name} has no operand {letter!r}", hint=f"use {known} or D{where}"
        )
