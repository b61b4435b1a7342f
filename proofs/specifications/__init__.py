"""Named specifications: what each primitive is claimed to do, regenerated from its name alone.

Checking a bundle never trusts the claims it carries. The manifest names a specification and its
parameters; this module turns them back into claims and into the effect that the PTX must have.

>>> pack = specification("pack_operand_a", {"atom": "mma.m16n8k16.bf16"})
>>> len(pack.claims), pack.effect.threads
(8, 32)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tylo.layouts.atoms import atom
from tylo.layouts.errors import GenerationError
from tylo.layouts.shared.matrix_descriptor import MAJORS
from tylo.layouts.shared.swizzle_mode import MODES, swizzle_mode
from tylo.proofs.claims import Claim
from tylo.proofs.effects import Effect
from tylo.proofs.pipelines.kernel import RoleKernel
from tylo.proofs.specifications import (
    adjacent_atoms,
    attention,
    attention_kernel,
    pack_operand_a,
    reduced_tiles,
    shared_tile,
    softmax_cases,
    softmax_state,
)

Parameters = Mapping[str, int | str]


@dataclass(frozen=True, slots=True)
class Specification:
    """A primitive's theorem, its claims, and the effect of its kernel if it has one.

    `minimum_capability` is ten times the least compute capability that the kernel's instructions
    need. `roles` is a kernel without an effect: one whose PTX is not validated.
    """

    name: str
    parameters: Parameters
    theorem: str
    claims: tuple[Claim, ...]
    effect: Effect | None
    minimum_capability: int = 0
    roles: RoleKernel | None = None

    @property
    def kernel(self) -> Effect | RoleKernel | None:
        """What is known of the kernel, if there is one: its entry in any case."""
        return self.effect or self.roles


def _adjacent_atoms(parameters: Parameters) -> Specification:
    _require_known("adjacent_atoms", parameters, {"atom"})
    found = atom(str(parameters.get("atom", "")))
    return Specification(
        "adjacent_atoms",
        MappingProxyType({"atom": found.name}),
        adjacent_atoms.theorem(found),
        adjacent_atoms.claims(found),
        None,
    )


def _pack_operand_a(parameters: Parameters) -> Specification:
    tile = pack_tile(parameters)
    normal: dict[str, int | str] = {
        "atom": tile.atom.name,
        "repeats_m": tile.repeats_m,
        "pairs": tile.pairs,
        "warps_m": tile.warps_m,
    }
    return Specification(
        "pack_operand_a",
        MappingProxyType(normal),
        adjacent_atoms.theorem(tile.atom),
        adjacent_atoms.claims(tile.atom),
        pack_operand_a.effect(tile),
        tile.atom.minimum_capability,
    )


def pack_tile(parameters: Parameters) -> pack_operand_a.PackTile:
    """The tile that a packing specification's parameters describe."""
    _require_known("pack_operand_a", parameters, {"atom", "repeats_m", "pairs", "warps_m"})

    def count(label: str) -> int:
        given = parameters.get(label, 1)
        if isinstance(given, int):
            return given
        raise GenerationError(f"{label} is {given!r}", hint="give a whole number from 1")

    return pack_operand_a.PackTile(
        atom(str(parameters.get("atom", ""))),
        repeats_m=count("repeats_m"),
        pairs=count("pairs"),
        warps_m=count("warps_m"),
    )


def _shared_tile(parameters: Parameters) -> Specification:
    _require_known("shared_tile", parameters, {"swizzle", "major"})
    span = parameters.get("swizzle", 0)
    if not isinstance(span, int):
        raise GenerationError(f"swizzle is {span!r}", hint="give bytes: 0, 32, 64 or 128")
    mode, major = swizzle_mode(span), str(parameters.get("major", "K"))
    return Specification(
        "shared_tile",
        MappingProxyType({"swizzle": mode.span, "major": major}),
        shared_tile.theorem(mode, major),
        shared_tile.claims(mode, major),
        None,
    )


def _reduction(parameters: Parameters) -> Specification:
    return Specification(
        "reduction",
        MappingProxyType(reduced_tiles.normal(parameters)),
        reduced_tiles.reduction_theorem(parameters),
        reduced_tiles.reduction_claims(parameters),
        None,
    )


def _shared_state(parameters: Parameters) -> Specification:
    label = reduced_tiles.shared_tile_name(parameters)
    return Specification(
        "shared_state",
        MappingProxyType({"tile": label}),
        reduced_tiles.shared_theorem(label),
        reduced_tiles.shared_claims(label),
        None,
    )


def _softmax_state(parameters: Parameters) -> Specification:
    _require_known("softmax_state", parameters, set())
    return Specification(
        "softmax_state",
        MappingProxyType({}),
        softmax_state.THEOREM,
        softmax_state.claims(),
        None,
    )


def _attention(parameters: Parameters) -> Specification:
    """The theorem about every size alone, or with a depth, a kernel of it."""
    given = attention_kernel.normal(parameters) if parameters else {}
    return Specification(
        "attention",
        MappingProxyType(given),
        attention.THEOREM,
        attention.claims(),
        None,
        90,
        attention_kernel.role_kernel(given) if given else None,
    )


def _softmax(parameters: Parameters) -> Specification:
    case = softmax_cases.case_of(parameters)
    return Specification(
        "softmax",
        MappingProxyType(softmax_cases.normal(case)),
        softmax_cases.theorem(case),
        softmax_cases.claims(case),
        softmax_cases.effect(case),
        80,
    )


def _require_known(name: str, parameters: Parameters, known: set[str]) -> None:
    for unknown in sorted(parameters.keys() - known):
        raise GenerationError(
            f"{name} has no parameter {unknown!r}", hint=f"use {', '.join(sorted(known))}"
        )


SPECIFICATIONS: Mapping[str, Callable[[Parameters], Specification]] = MappingProxyType(
    {
        "adjacent_atoms": _adjacent_atoms,
        "pack_operand_a": _pack_operand_a,
        "shared_tile": _shared_tile,
        "reduction": _reduction,
        "shared_state": _shared_state,
        "softmax_state": _softmax_state,
        "softmax": _softmax,
        "attention": _attention,
    }
)


def _parameters(**given: int | str) -> Parameters:
    return MappingProxyType(given)


# The theorems whose certificates are kept under proofs/artifacts, by file name.
SHIPPED: Mapping[str, tuple[str, Parameters]] = MappingProxyType(
    {
        f"adjacent_atoms.{dtype}": (
            "adjacent_atoms",
            _parameters(atom=f"mma.m16n8k16.{dtype}"),
        )
        for dtype in ("bf16", "f16")
    }
    | {
        f"shared_tile.{major.lower()}.{mode.span}": (
            "shared_tile",
            _parameters(swizzle=mode.span, major=major),
        )
        for major in MAJORS
        for mode in MODES
    }
    | {
        f"reduction.{tile}.{axis}": (
            "reduction",
            _parameters(tile=tile, axis=axis),
        )
        for tile, axis in (
            ("mma_c", 0),
            ("mma_c", 1),
            ("wgmma_c", 1),
            ("wgmma_a", 1),
            ("row_tile", 1),
            ("lane_local", 1),
        )
    }
    | {
        f"shared_state.{tile}": ("shared_state", _parameters(tile=tile))
        for tile in ("mma_c", "wgmma_c")
    }
    | {name: (name, _parameters()) for name in ("softmax_state", "attention")}
)


def specification(name: str, parameters: Parameters) -> Specification:
    """The specification of that name, or `GenerationError` naming those there are."""
    if name not in SPECIFICATIONS:
        raise GenerationError(
            f"no specification {name!r}", hint=f"there are: {', '.join(SPECIFICATIONS)}"
        )
    return SPECIFICATIONS[name](parameters)
