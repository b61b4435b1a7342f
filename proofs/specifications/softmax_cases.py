"""Which softmax kernel a specification's parameters describe, by its form.

>>> case_of({"form": "few", "columns": 4}).tile
FewTile(vector=4, columns=4, repeats=2, threads=128)
>>> normal(case_of({"form": "flat", "lse": 1}))["rows"]
64
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

from tylo.layouts.errors import GenerationError
from tylo.proofs.claims import Claim
from tylo.proofs.effects import Effect
from tylo.proofs.specifications import softmax, softmax_across, softmax_few, softmax_flat
from tylo.proofs.specifications.softmax import BITS, STORE_BITS, SoftmaxCase
from tylo.proofs.specifications.softmax_across import AcrossCase
from tylo.proofs.specifications.softmax_across_tiles import AcrossTile
from tylo.proofs.specifications.softmax_few import FewCase
from tylo.proofs.specifications.softmax_flat import FlatCase
from tylo.proofs.specifications.softmax_flat_tiles import FewTile, FlatTile
from tylo.proofs.specifications.softmax_tiles import SoftmaxTile

Parameters = Mapping[str, int | str]
Case: TypeAlias = SoftmaxCase | FewCase | FlatCase | AcrossCase

NO_PROBABILITIES = "none"
_WORDS = MappingProxyType({"dtype": "f32", "out_dtype": "", "form": "rows"})

# What else each kind of kernel takes: of its tile (that of a row of 1024 float32; of rows of two;
# of rows of 33; of rows of 24 that run across memory), and of what it computes: log-sum-exp beside
# the probabilities, rows that begin anywhere, weights kept, modes of a mask.
_TILES: Mapping[type[Case], Mapping[str, int]] = MappingProxyType(
    {
        SoftmaxCase: {"vector": 4, "lanes": 32, "warps": 4, "repeats": 2, "row_warps": 1},
        FewCase: {"columns": 2, "repeats": 2, "threads": 128},
        FlatCase: {
            **{"columns": 33, "rows": 64, "lanes": 4},
            **{"each": 9, "threads": 256, "beside": 1},
        },
        AcrossCase: {"vector": 4, "lanes": 32, "warps": 4, "repeats": 6, "row_warps": 1},
    }
)
_RESULTS: Mapping[type[Case], Mapping[str, int]] = MappingProxyType(
    {
        SoftmaxCase: {"lse": 0, "ragged": 0, "held": 1, "mask": 0},
        FewCase: {"lse": 0},
        FlatCase: {"lse": 0, "mask": 0},
        AcrossCase: {"lse": 0, "held": 1, "mask": 0},
    }
)
_FORMS: Mapping[str, type[Case]] = MappingProxyType(
    {"few": FewCase, "flat": FlatCase, "across": AcrossCase}
)


def case_of(parameters: Parameters) -> Case:
    """The kernel that parameters describe; raises `GenerationError` for one that there is not."""
    form = str(parameters.get("form", _WORDS["form"]))
    kind = _FORMS.get(form, SoftmaxCase)
    tile, results = _TILES[kind], _RESULTS[kind]
    known = {*_WORDS, *tile, *results}
    for unknown in sorted(parameters.keys() - known):
        raise GenerationError(
            f"softmax has no parameter {unknown!r}", hint=f"use {', '.join(sorted(known))}"
        )
    given = {label: _count(parameters, label, n) for label, n in {**tile, **results}.items()}
    dtype = str(parameters.get("dtype", _WORDS["dtype"]))
    out = str(parameters.get("out_dtype", dtype))
    written = None if out == NO_PROBABILITIES else out
    wide = STORE_BITS // BITS.get(dtype, STORE_BITS)
    lse, mask = bool(given["lse"]), given.get("mask", 0)
    if kind is FewCase:
        few = FewTile(wide, *(given[each] for each in ("columns", "repeats", "threads")))
        return FewCase(few, dtype, written, lse)
    if kind is FlatCase:
        if written not in (dtype, None):
            raise GenerationError(f"{dtype} to {out} in place", hint=f"store {dtype}, or none")
        sizes = {label: given[label] for label in ("rows", "lanes", "each", "threads")}
        flat = FlatTile(wide, beside=bool(given["beside"]), **sizes)
        return FlatCase(flat, given["columns"], dtype, written is not None, lse, mask)
    if kind is AcrossCase:
        across = AcrossTile(**{label: given[label] for label in tile})
        return AcrossCase(across, dtype, written, bool(given["held"]), lse, mask)
    return SoftmaxCase(
        SoftmaxTile(**{label: given[label] for label in tile}),
        dtype,
        written,
        form,
        lse=lse,
        ragged=bool(given["ragged"]),
        held=bool(given["held"]),
        mask=mask,
    )


def normal(case: Case) -> dict[str, int | str]:
    """All parameters of a case, written out."""
    words: dict[str, int | str] = {
        "dtype": case.dtype,
        "out_dtype": case.out_dtype or NO_PROBABILITIES,
        "form": form_of(case),
    }
    found = {label: int(getattr(case, label)) for label in _RESULTS[type(case)]}
    for label in _TILES[type(case)]:
        holder = case if hasattr(case, label) else case.tile
        found[label] = int(getattr(holder, label))
    return words | found


def form_of(case: Case) -> str:
    """The name of a case's form."""
    named = {kind: form for form, kind in _FORMS.items()}
    return case.form if isinstance(case, SoftmaxCase) else named[type(case)]


def _count(parameters: Parameters, label: str, otherwise: int) -> int:
    given = parameters.get(label, otherwise)
    if isinstance(given, int):
        return given
    raise GenerationError(f"{label} is {given!r}", hint="give a whole number")


def theorem(case: Case) -> str:
    """What a case's certificate says."""
    match case:
        case FewCase():
            return softmax_few.theorem(case)
        case FlatCase():
            return softmax_flat.theorem(case)
        case AcrossCase():
            return softmax_across.theorem(case)
    return softmax.theorem(case)


def claims(case: Case) -> tuple[Claim, ...]:
    """The claims behind a case's kernel."""
    match case:
        case FewCase():
            return softmax_few.claims(case)
        case FlatCase():
            return softmax_flat.claims(case)
        case AcrossCase():
            return softmax_across.claims(case)
    return softmax.claims(case)


def effect(case: Case) -> Effect:
    """What a case's kernel must do to memory."""
    match case:
        case FewCase():
            return softmax_few.effect(case)
        case FlatCase():
            return softmax_flat.effect(case)
        case AcrossCase():
            return softmax_across.effect(case)
    return softmax.effect(case)
