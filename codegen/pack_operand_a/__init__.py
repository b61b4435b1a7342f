"""`pack_operand_a`: two adjacent accumulator atoms become the next A operand, in the same lanes.

In Python it works on fragments and returns words; in CUDA it is a device function printed from the
same exchange (see `source`). It rounds and packs; it reinterprets no bits and moves nothing between
lanes, which `tylo.proofs.specifications.adjacent_atoms` proves for every tile.

>>> import numpy
>>> from tylo.layouts.atoms import atom
>>> from tylo.layouts.fragment import gather, scatter
>>> mma = atom("mma.m16n8k16.bf16")
>>> scores = numpy.arange(256, dtype=numpy.float32).reshape(16, 16)
>>> C = mma.operand("C").ownership
>>> words = pack_operand_a(mma, gather(scores[:, :8], C), gather(scores[:, 8:], C))
>>> words.data.shape, words.dtype
((32, 4), 'bf16')
>>> bool((scatter(words.unpack()) == scores).all())
True

A tiled accumulator is packed one M repeat and one pair of 8-column atoms at a time:

>>> from tylo.layouts.tiling import tile_operand
>>> tall = gather(numpy.zeros((32, 32), numpy.float32), tile_operand(mma, "C", m=2, n=4))
>>> pack_operand_a(mma, tall, 1, 0).data.shape
(32, 4)
"""

from __future__ import annotations

from typing import overload

from tylo.codegen.pack_operand_a.accepted import (
    require_atom,
    require_fragment,
    require_pair,
    require_tiled,
)
from tylo.codegen.rounding import rounded_bits
from tylo.layouts.atoms import Atom
from tylo.layouts.errors import GenerationError
from tylo.layouts.fragment import Fragment
from tylo.layouts.tiling import tile_operand
from tylo.layouts.words import Words, pack
from tylo.proofs.specifications.adjacent_atoms import accumulator_register, exchange

__all__ = ["pack_operand_a"]


@overload
def pack_operand_a(atom: Atom, left: Fragment, right: Fragment, /) -> Words: ...


@overload
def pack_operand_a(atom: Atom, accumulator: Fragment, m: int, k: int, /) -> Words: ...


def pack_operand_a(
    atom: Atom, source: Fragment, right_or_m: Fragment | int, k: int | None = None, /
) -> Words:
    """Round and pack eight float32 values of every lane into four words of the A operand.

    ``pack_operand_a(atom, left, right)`` takes two adjacent 16x8 fragments;
    ``pack_operand_a(atom, accumulator, m, k)`` a tiled one, a zero-based M repeat and 16-column
    pair. Words are uint32, ``[..., lane, word]``, with the A operand's ownership; the atom fixes
    the dtype.

    Raises `GenerationError` for an atom that packs nothing, a source whose ownership is not its
    accumulator's, several N warps, an unpaired N atom, m or k out of range, or non-float32 data.
    """
    import numpy

    operand = require_atom(atom)
    if isinstance(right_or_m, Fragment):
        if k is not None:
            raise GenerationError(
                "pack_operand_a got two fragments and a pair number",
                hint="two fragments are one pair; a tiled accumulator takes m and k",
            )
        require_fragment(source, "left")
        require_pair(atom, source, right_or_m)
        atoms = {0: source, 1: right_or_m}
        eight = [
            atoms[atom_n].data[..., value]
            for atom_n, value in (exchange(word, half, 0) for word in range(4) for half in (0, 1))
        ]
        ownership = operand.ownership
    else:
        require_fragment(source, "left" if k is None else "tiled")
        if k is None and not isinstance(right_or_m, int):
            require_fragment(right_or_m, "right")
        place = require_tiled(atom, source, right_or_m, k)
        eight = [
            source.data[..., accumulator_register(word, half, place.m, place.k, place.repeats_m)]
            for word in range(4)
            for half in (0, 1)
        ]
        ownership = operand.ownership
        if place.warps_m > 1:
            ownership = tile_operand(atom, "A", warps_m=place.warps_m)
    return pack(rounded_bits(numpy.stack(eight, axis=-1), operand.dtype), ownership, operand.dtype)
