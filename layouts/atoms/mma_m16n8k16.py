"""``mma.sync.m16n8k16`` with 16-bit operands and an FP32 accumulator.

Source: PTX ISA 8.7, section 9.7.14.5.8, "Matrix Fragments for mma.m16n8k16 with floating point
type". The manual numbers a lane by ``groupID = lane >> 2`` and ``threadID_in_group = lane % 4``;
as digits, a lane is (4, 8) and each digit moves along one axis:

    A  a0..a7  row = groupID (+ 8 for a2, a3, a6, a7)    col = 2 * threadID + i % 2 (+ 8 from a4)
    B  b0..b3  row = 2 * threadID + i % 2 (+ 8 from b2)  col = groupID
    C  c0..c3  row = groupID (+ 8 from c2)               col = 2 * threadID + i % 2
"""

from __future__ import annotations

from tylo.layouts.atoms.atom import Atom, Operand
from tylo.layouts.ownership import Ownership

A = Ownership.of(
    axes={"m": 16, "k": 16},
    values={"value": [(2, "k", 1), (2, "m", 8), (2, "k", 8)]},
    threads={"lane": [(4, "k", 2), (8, "m", 1)]},
    bits=16,
)
B = Ownership.of(
    axes={"k": 16, "n": 8},
    values={"value": [(2, "k", 1), (2, "k", 8)]},
    threads={"lane": [(4, "k", 2), (8, "n", 1)]},
    bits=16,
)
C = Ownership.of(
    axes={"m": 16, "n": 8},
    values={"value": [(2, "n", 1), (2, "m", 8)]},
    threads={"lane": [(4, "n", 2), (8, "m", 1)]},
    bits=32,
)

ATOMS = tuple(
    Atom(
        name=f"mma.sync.aligned.m16n8k16.row.col.f32.{dtype}.{dtype}.f32",
        short_name=f"mma.m16n8k16.{dtype}",
        tile=(16, 8, 16),
        operands=(Operand("A", dtype, A), Operand("B", dtype, B), Operand("C", "f32", C)),
        source="PTX ISA 8.7, section 9.7.14.5.8, "
        "Matrix Fragments for mma.m16n8k16 with floating point type",
        minimum_capability=80,
    )
    for dtype in ("bf16", "f16")
)
