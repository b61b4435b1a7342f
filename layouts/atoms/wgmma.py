"""``wgmma.m64nNk16`` with 16-bit operands: the accumulator of every N, and A from registers.

Source: PTX ISA 8.7, section 9.7.15.5.1, "Register Fragments and Shared Memory Matrix Layouts",
under "Register Fragments for wgmma.mma_async.m64nNk16". The four warps of a warpgroup hold sixteen
rows each; inside a warp the accumulator is N / 8 slices of ``mma.m16n8k16``'s, one after another,
and A is exactly its operand A:

    A  a0..a7        row = 16 * warp + lane / 4 (+ 8 for a2, a3, a6, a7)
                     col = 2 * (lane % 4) + i % 2 (+ 8 from a4)
    C  d0..d(N/2-1)  row = 16 * warp + lane / 4 (+ 8 where i / 2 is odd)
                     col = 8 * (i / 4) + 2 * (lane % 4) + i % 2

B has no owner: the instruction reads it from shared memory, see `tylo.layouts.shared`.

>>> from tylo.layouts.atoms import atom
>>> atom("wgmma.m64n64k16.bf16").operand("C").ownership(warp=2, lane=22, value=9)
(37, 21)
"""

from __future__ import annotations

from tylo.layouts.atoms.atom import Atom, Operand
from tylo.layouts.ownership import Ownership
from tylo.layouts.terms import Integer

COLUMNS = tuple(range(8, 257, 8))
"""Every N that the instruction exists for."""

A = Ownership.of(
    axes={"m": 64, "k": 16},
    values={"value": [(2, "k", 1), (2, "m", 8), (2, "k", 8)]},
    threads={"lane": [(4, "k", 2), (8, "m", 1)], "warp": [(4, "m", 16)]},
    bits=16,
)


def accumulator(slices: Integer) -> Ownership:
    """The accumulator of N = 8 * `slices` columns; the number of slices may be a name.

    The rank is the same for every N, one slice included.

    >>> from tylo.layouts.terms import name, show
    >>> [show(extent) for extent in accumulator(name("S")).shape]
    ['64', '8 * S']
    """
    return Ownership.of(
        axes={"m": 64, "n": 8 * slices},
        values={"value": [(2, "n", 1), (2, "m", 8), (slices, "n", 8)]},
        threads={"lane": [(4, "n", 2), (8, "m", 1)], "warp": [(4, "m", 16)]},
        bits=32,
    )


def _atoms(columns: int) -> tuple[Atom, ...]:
    held = accumulator(columns // 8)
    return tuple(
        Atom(
            name=f"wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.{dtype}.{dtype}",
            short_name=f"wgmma.m64n{columns}k16.{dtype}",
            tile=(64, columns, 16),
            operands=(Operand("A", dtype, A), Operand("C", "f32", held)),
            source="PTX ISA 8.7, section 9.7.15.5.1, "
            "Register Fragments for wgmma.mma_async.m64nNk16",
            minimum_capability=90,
        )
        for dtype in ("bf16", "f16")
    )


ATOMS = tuple(atom for columns in COLUMNS for atom in _atoms(columns))
