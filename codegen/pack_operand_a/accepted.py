"""What `pack_operand_a` accepts, and why it refuses the rest."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import SupportsIndex

from tylo.layouts.atoms import ATOMS, Atom, Operand
from tylo.layouts.errors import GenerationError
from tylo.layouts.fragment import Fragment
from tylo.layouts.ownership import Ownership
from tylo.layouts.same_function import first_difference, same_function
from tylo.layouts.tiling import tile_operand


def require_atom(atom: Atom) -> Operand:
    """The atom's A operand, if the adjacent-atom claim is about this atom."""
    if not isinstance(atom, Atom):
        raise GenerationError(
            f"{atom!r} is no atom", hint="look one up: tylo.layouts.atoms.atom('mma.m16n8k16.bf16')"
        )
    operand = atom.operand("A")
    if atom not in ATOMS or atom.tile != (16, 8, 16) or operand.ownership.bits != 16:
        raise GenerationError(
            f"{atom.short_name} has no proven same-lane conversion to its A operand",
            hint="use mma.m16n8k16.bf16 or mma.m16n8k16.f16",
        )
    return operand


def require_fragment(source: object, label: str) -> None:
    """A fragment: an array has no ownership, and words are packed already."""
    if not isinstance(source, Fragment):
        raise GenerationError(
            f"the {label} source is of type {type(source).__name__}, not Fragment",
            hint="deal a matrix out with tylo.layouts.fragment.gather",
        )


def require_pair(atom: Atom, left: Fragment, right: Fragment) -> None:
    """Two adjacent accumulator atoms, with the same batch axes before (lane, value)."""
    _require_source(atom, left, "left")
    _require_source(atom, right, "right")
    if left.data.shape != right.data.shape:
        raise GenerationError(
            f"the left fragment's data has shape {left.data.shape}, the right one's "
            f"{right.data.shape}",
            hint="give both the same batch axes",
        )


def _require_source(atom: Atom, fragment: Fragment, label: str) -> None:
    """One 16x8 accumulator atom with the accumulator's ownership and float32 data."""
    expected = atom.operand("C").ownership
    if not same_function(fragment.ownership, expected):
        raise GenerationError(
            f"the {label} fragment's ownership is not that of {atom.short_name}'s accumulator: "
            + first_difference(fragment.ownership, expected),
            hint="gather it with atom.operand('C').ownership, or convert it first",
        )
    _require_float32(fragment, label)


@dataclass(frozen=True, slots=True)
class Place:
    """M repeat and pair of one A operand, and the M repeats and M warps of the tile it is in."""

    m: int
    k: int
    repeats_m: int
    warps_m: int


def require_tiled(atom: Atom, accumulator: Fragment, m: object, k: object) -> Place:
    """A tiled accumulator that has an M repeat `m` and a pair `k`."""
    if k is None:
        raise GenerationError(
            "a tiled accumulator needs a 16-column pair k",
            hint="call pack_operand_a(atom, accumulator, m, k)",
        )
    ownership = accumulator.ownership
    sizes = {each.name: each.size for each in ownership.inputs}
    repeats_m, atoms_n = sizes.get("repeat_m", 1), sizes.get("repeat_n", 1)
    warps_m, warps_n = _warps(ownership)
    if warps_n != 1:
        raise GenerationError(
            f"the accumulator is spread over {warps_n} warps along N, so that neighbouring atoms "
            "belong to different warps",
            hint="tile with warps_n=1, or exchange through shared memory",
        )
    if not isinstance(repeats_m, int) or not isinstance(atoms_n, int) or atoms_n % 2:
        raise GenerationError(
            f"{atoms_n} N atoms cannot be paired", hint="tile with an even number of N repeats"
        )
    expected = tile_operand(atom, "C", m=repeats_m, n=atoms_n, warps_m=warps_m)
    if not same_function(ownership, expected):
        raise GenerationError(
            f"the accumulator's ownership is not a tiling of {atom.short_name}'s: "
            + first_difference(ownership, expected),
            hint="build it with tile_operand(atom, 'C', m=..., n=..., warps_m=...)",
        )
    _require_float32(accumulator, "tiled")
    return Place(
        _index("M repeat", m, repeats_m), _index("column pair", k, atoms_n // 2), repeats_m, warps_m
    )


def _index(label: str, index: object, count: int) -> int:
    refused = GenerationError(f"{label} {index!r} is no integer", hint="repeats count from 0")
    if isinstance(index, bool) or not isinstance(index, SupportsIndex):
        raise refused
    try:
        number = operator.index(index)
    except TypeError:
        # An array of several elements has `__index__` and no index.
        raise refused from None
    if not 0 <= number < count:
        raise GenerationError(
            f"{label} {number} is out of range", hint=f"it runs from 0 to {count - 1}"
        )
    return number


def _warps(ownership: Ownership) -> tuple[int, int]:
    """How many warps lie along M and along N."""
    along = [1, 1]
    for each in ownership.threads:
        if each.name == "warp":
            for mode in each.modes:
                for axis, step in enumerate(mode.steps[:2]):
                    if step != 0 and isinstance(mode.size, int):
                        along[axis] *= mode.size
    return along[0], along[1]


def _require_float32(fragment: Fragment, label: str) -> None:
    if fragment.data.dtype.name != "float32":
        raise GenerationError(
            f"the {label} fragment holds {fragment.data.dtype}",
            hint="an accumulator is float32; convert it before packing",
        )
