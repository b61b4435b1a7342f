"""The tiles that a reduction is claimed about by name, with every repeat a symbol.

A specification is regenerated from its name and parameters, so a tile has a name too. M counts
repeats along the rows, N along the columns, S the 8-column slices of one ``wgmma`` accumulator, so
that one claim is about every N of the instruction:

>>> from tylo.layouts.terms import show
>>> [show(extent) for extent in tile_of({"tile": "wgmma_c"}).shape]
['64 * M', '8 * S']

A row tile takes what reaches lanes and warps as numbers: `vector`, `lanes` and `warps` along the
row, and `row_warps` along the rows.

>>> [show(extent) for extent in tile_of({"tile": "row_tile", "lanes": 8}).shape]
['4 * M', '32 * N']
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from tylo.layouts.atoms import atom, wgmma
from tylo.layouts.errors import GenerationError
from tylo.layouts.ownership import Ownership
from tylo.layouts.row_tiles import lane_local, row_tile
from tylo.layouts.terms import name
from tylo.layouts.tiling import Along, tile, tile_operand
from tylo.proofs.claims import Claim
from tylo.proofs.specifications.reduction import claims, shared_state

Parameters = Mapping[str, int | str]

_M, _N = name("M"), name("N")
_MMA = "mma.m16n8k16.bf16"  # the tables of f16 are the same objects


def _row_tile(vector: int, lanes: int, warps: int, row_warps: int) -> Ownership:
    return row_tile(
        vector=vector,
        lanes=lanes,
        warps=warps,
        row_warps=row_warps,
        repeats=_N,
        row_repeats=_M,
    )


def _slices(slices: str) -> Ownership:
    return tile(wgmma.accumulator(name(slices)), {"m": Along(_M)})


# For each tile: its ownership, what it is called in a sentence, and its parameters' defaults.
_TILES: Mapping[str, tuple[Callable[..., Ownership], str, Parameters]] = MappingProxyType(
    {
        "mma_c": (
            lambda: tile_operand(atom(_MMA), "C", m=_M, n=_N),
            "the accumulator of mma.m16n8k16, M by N times",
            {},
        ),
        "mma_a": (
            lambda: tile_operand(atom(_MMA), "A", m=_M, k=_N),
            "operand A of mma.m16n8k16, M by N times",
            {},
        ),
        "wgmma_c": (
            lambda: _slices("S"),
            "the accumulator of wgmma.m64nNk16 of S slices of 8 columns, M times",
            {},
        ),
        "wgmma_tiled": (
            lambda columns: tile_operand(atom(f"wgmma.m64n{columns}k16.bf16"), "C", m=_M, n=_N),
            "the accumulator of wgmma.m64n{columns}k16, M by N times",
            {"columns": 64},
        ),
        "wgmma_a": (
            lambda: tile(wgmma.A, {"m": Along(_M), "k": Along(_N)}, order=("m", "k")),
            "operand A of wgmma.m64nNk16 in registers, M by N times",
            {},
        ),
        "row_tile": (
            _row_tile,
            "a row tile of {vector} values, {lanes} lanes and {warps} warps along a row of N "
            "repeats, {row_warps} warps and M repeats along the rows",
            {"vector": 4, "lanes": 32, "warps": 1, "row_warps": 1},
        ),
        "lane_local": (
            lambda whole: lane_local(rows=_M, columns=_N, whole=whole),
            "a lane-local tile of M rows by N columns, each {whole} whole in a lane",
            {"whole": "row"},
        ),
    }
)

# The two tiles of attention that share a state: scores and output, of the same rows.
_SHARED: Mapping[str, tuple[Callable[[], tuple[Ownership, Ownership]], str]] = MappingProxyType(
    {
        "mma_c": (
            lambda: (
                tile_operand(atom(_MMA), "C", m=_M, n=_N),
                tile_operand(atom(_MMA), "C", m=_M, n=name("D")),
            ),
            "accumulators of mma.m16n8k16 of M by N and of M by D repeats",
        ),
        "wgmma_c": (
            lambda: (
                tile(wgmma.accumulator(name("S")), {"m": Along(_M)}),
                tile(wgmma.accumulator(name("D")), {"m": Along(_M)}),
            ),
            "accumulators of wgmma.m64nNk16 of S and of D slices of 8 columns, M repeats each",
        ),
    }
)


def normal(parameters: Parameters) -> dict[str, int | str]:
    """The parameters of a reduction with their defaults; refuses what does not fit."""
    found = _named(parameters, _TILES)
    _, _, defaults = _TILES[found]
    known = {"tile": found, "axis": 1, **defaults}
    for label, given in parameters.items():
        if label not in known:
            raise GenerationError(
                f"a reduction of {found} has no parameter {label!r}",
                hint=f"use {', '.join(sorted(known))}",
            )
        if isinstance(given, bool) or type(given) is not type(known[label]):
            raise GenerationError(f"{label} is {given!r}", hint=f"such as {known[label]!r}")
    return known | dict(parameters)


def tile_of(parameters: Parameters) -> Ownership:
    """The ownership that the parameters name."""
    asked: dict[str, Any] = normal(parameters)
    make, _, defaults = _TILES[asked["tile"]]
    return make(**{label: asked[label] for label in defaults})


def reduction_theorem(parameters: Parameters) -> str:
    """What the claims of a reduction say together, in one sentence."""
    asked = normal(parameters)
    what = _TILES[str(asked["tile"])][1].format(**asked)
    return (
        f"For {what}, for every such size: reducing axis {asked['axis']} takes every element "
        f"exactly once, first over the values of a thread and then by one exclusive-or exchange "
        f"for each bit of the lane that indexes the axis; a lane's partners hold other parts of "
        f"the same row; and the result is the row, replicated over exactly the lanes that held "
        f"parts of it."
    )


def reduction_claims(parameters: Parameters) -> tuple[Claim, ...]:
    """The claims of the reduction that the parameters name."""
    asked: dict[str, Any] = normal(parameters)
    return claims(tile_of(parameters), asked["axis"])


def shared_tile_name(parameters: Parameters) -> str:
    """The tile of a shared state; refuses further parameters."""
    for label in parameters.keys() - {"tile"}:
        raise GenerationError(f"shared_state has no parameter {label!r}", hint="use tile")
    return _named(parameters, _SHARED)


def shared_theorem(label: str) -> str:
    """What the claim of a shared state says."""
    return (
        f"For {_SHARED[label][1]}, for every such size: reducing the columns of either leaves the "
        f"same row in the same value of the same thread, so that both share one state."
    )


def shared_claims(label: str) -> tuple[Claim, ...]:
    """The claim of a shared state."""
    return (shared_state(*_SHARED[label][0](), 1),)


def _named(parameters: Parameters, table: Mapping[str, Any]) -> str:
    asked = parameters.get("tile")
    if not isinstance(asked, str) or asked not in table:
        raise GenerationError(f"no tile {asked!r}", hint=f"there are {', '.join(table)}")
    return asked
