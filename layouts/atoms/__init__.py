"""Instruction tables, found by name.

The canonical name is the PTX mnemonic. A shorter name resolves when exactly one atom fits: each of
its dot-separated parts must appear, in order, in the canonical name.

>>> atom("mma.m16n8k16.bf16").name
'mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32'
>>> atom("mma.m16n8k16")
Traceback (most recent call last):
tylo.layouts.errors.AtomError: 'mma.m16n8k16' fits several atoms; \
say which: mma.m16n8k16.bf16, mma.m16n8k16.f16
>>> atom("wgmma.m64n64k16.bf16").name
'wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16'
"""

from __future__ import annotations

from tylo.layouts.atoms import mma_m16n8k16, wgmma
from tylo.layouts.atoms.atom import Atom, Operand
from tylo.layouts.errors import AtomError

ATOMS: tuple[Atom, ...] = mma_m16n8k16.ATOMS + wgmma.ATOMS

# How a message lists the atoms: there are too many N to name each.
_FAMILIES = (
    *(each.short_name for each in mma_m16n8k16.ATOMS),
    "wgmma.m64nNk16.bf16 and .f16 for N = 8, 16, ..., 256",
)
_MOST_CHOICES = 4

# Names that people ask for and that no table here can answer, with the reason.
_OUT_OF_SCOPE = {
    "wmma": "the element order of a C++ wmma fragment is unspecified and changes with the "
    "architecture",
    "tcgen05": "tensor memory has no table yet",
    "mfma": "AMD instructions have no table, and NVIDIA's rules never apply to them",
    "ldmatrix": "matrix loads have no table yet",
}

__all__ = ["ATOMS", "Atom", "Operand", "atom"]


def atom(name: str) -> Atom:
    """The atom of a canonical or short name.

    Raises `AtomError` for a name that fits no atom or several, naming those it could have meant.
    """
    if not isinstance(name, str):
        raise AtomError(f"{name!r} is no name", hint=f"known: {_known()}")
    asked = name.strip().lower()
    for each in ATOMS:
        if asked in (each.name, each.short_name):
            return each
    fitting = [each for each in ATOMS if _fits(asked, each.name)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        choices = ", ".join(each.short_name for each in fitting[:_MOST_CHOICES])
        choices += ", ..." if len(fitting) > _MOST_CHOICES else ""
        raise AtomError(f"{name!r} fits several atoms", hint=f"say which: {choices}")
    for part, reason in _OUT_OF_SCOPE.items():
        if part in asked:
            raise AtomError(f"{name!r} is not supported: {reason}", hint=f"known: {_known()}")
    raise AtomError(f"no atom {name!r}", hint=f"known: {_known()}")


def _fits(asked: str, canonical: str) -> bool:
    remaining = iter(canonical.split("."))
    return bool(asked) and all(part in remaining for part in asked.split("."))


def _known() -> str:
    return ", ".join(_FAMILIES)
