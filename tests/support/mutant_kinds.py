"""Kernels whose mutants are judged: one of each kind that the proof covers.

Each comes with its PTX, its effect and a few launches: sizes that fill a tile, that leave a part of
one over, and the least there are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import user_grids
import user_kernels
import user_loops
from effect_judge import Judge, Launch
from mutant_sweep import Prover
from ptx_kernels import KINDS
from ptx_loop_kernels import LOOP_KINDS
from ptx_matrix_kernels import MATRIX_KINDS
from ptx_texts import compiled
from softmax_mutants import ACROSS, FEW, FLAT, SOFTMAX
from tylo.codegen.softmax.cuda_tests import kernel_of
from tylo.codegen.softmax.few import FewKernel
from tylo.codegen.softmax.narrow import few_tile
from tylo.proofs.effects import Effect
from tylo.proofs.ptx.claim_check import store_widths
from tylo.proofs.ptx.claim_effect import lower
from tylo.proofs.ptx.claim_file import PtxClaim, claim_from_text, read_claim
from tylo.proofs.ptx.inprocess import solve
from tylo.proofs.ptx.parser import parse
from tylo.proofs.specifications.softmax import SoftmaxCase, effect
from tylo.proofs.specifications.softmax_across import AcrossCase
from tylo.proofs.specifications.softmax_across import effect as effect_of
from tylo.proofs.specifications.softmax_across_tiles import AcrossTile
from tylo.proofs.specifications.softmax_few import FewCase
from tylo.proofs.specifications.softmax_few import effect as few_effect
from tylo.proofs.specifications.softmax_flat import FlatCase
from tylo.proofs.specifications.softmax_flat import effect as flat_effect
from tylo.proofs.specifications.softmax_flat_tiles import FlatTile
from tylo.proofs.specifications.softmax_tiles import SoftmaxTile

_EXAMPLES = Path(__file__).parents[2] / "examples" / "ptx"
Sizes = Mapping[str, int]
Launches = tuple[tuple[Sizes, int], ...]
_ONE: Launches = (({}, 3),)


@dataclass(frozen=True, eq=False)
class Kind:
    """PTX, its effect, sizes and blocks of launches, and what effect a changed PTX is to have."""

    ptx: str
    effect: Effect
    launches: Launches = _ONE
    reading: Callable[[str], Effect] | None = None

    def prover(self) -> Prover:
        """The proof about mutants of this kind."""
        return Prover(self.reading or (lambda _: self.effect))

    @cached_property
    def judges(self) -> list[Judge]:
        """One for each launch."""
        return [
            Judge(Launch(self.effect, sizes, blocks), seed)
            for seed, (sizes, blocks) in enumerate(self.launches)
        ]

    def right(self, ptx: str) -> bool:
        """Whether PTX does what the effect says in all launches."""
        return all(judge.right(ptx) for judge in self.judges)

    def alike(self, ptx: str, seed: int) -> bool:
        """Whether PTX leaves what the original leaves, in some runs of every launch."""
        return all(judge.alike(ptx, self.ptx, judge.some(seed)) for judge in self.judges)


_ROWS = ((1, 1, 1, 1), (5, 33, 40, 37), (3, 70, 70, 72), (8, 32, 32, 32))
_LAUNCHES: dict[str, Launches] = {
    "ragged": tuple(({"columns": n}, -(-n // 64)) for n in (1, 63, 64, 130)),
    "reverse": tuple(({"n": n}, 3) for n in (0, 1, 2, 5)),
    "masked_copy": tuple(({"n": n}, -(-n // 256) + 1) for n in (1, 255, 256, 700)),
    "masked_vectors": tuple(({"n": n}, -(-n // 1024) + 1) for n in (16, 1008, 1024, 2064)),
}


def _by_rows(block_rows: int) -> Launches:
    return tuple(
        ({"rows": rows, "columns": columns, "sx": sx, "sy": sy}, -(-rows // block_rows) + 1)
        for rows, columns, sx, sy in _ROWS
    )


def _compiled(name: str, source: str, meant: Effect) -> Kind:
    ptx = compiled(source, meant.entry)
    given = {each.name for each in meant.parameters}
    if {"rows", "columns", "sx", "sy"} <= given:
        return Kind(ptx, meant, _by_rows(128 if name == "sequential" else 4))
    return Kind(ptx, meant, _LAUNCHES.get(name, _ONE))


def _claimed(ptx: str, claim: PtxClaim, launches: Launches) -> Kind:
    """PTX against a claim in a file."""

    @cache
    def lowered(widths: frozenset[int]) -> Effect:
        return lower(claim, widths, solve).effect

    def meant(text: str) -> Effect:
        return lowered(store_widths(parse(text).entry(claim.entry)))

    unused = {each.name: 5 for each in claim.unused}
    found = tuple(({**unused, **sizes}, blocks) for sizes, blocks in launches)
    return Kind(ptx, meant(ptx), found, meant)


def _example(name: str) -> Kind:
    claim = read_claim(_EXAMPLES / f"{name}.toml")
    return _claimed((_EXAMPLES / f"{name}.ptx").read_text(), claim, _LAUNCHES.get(name, _ONE))


def _user_loop(name: str) -> Kind:
    source, text = user_loops.RIGHT[name]
    ptx, claim = user_loops.compiled(source), claim_from_text(text, "claim.toml")
    four = 4 if "vectors" in name and "rows" in name else 1
    if "columns" not in text:
        launches = [
            ({"n": n}, blocks) for n, blocks in ((1, 1), (700, 2), (384, 3), (129, 1), (1736, 2))
        ]
    else:
        sizes = ((1, four), (3, 140 - 140 % four), (5, 128), (2, 260))
        # A block a row, unless a grid goes through the rows.
        blocks = (lambda rows: -(-rows // 2)) if "grid" in name else (lambda rows: rows)
        launches = [({"rows": r, "columns": c}, blocks(r)) for r, c in sizes]
    return _claimed(ptx, claim, tuple(launches))


def _mask_sizes(modes: int, number: int, rows: int, columns: int) -> dict[str, int]:
    """Extents and strides of the modes of a mask: apart, one upon the other, all alike."""
    sizes = {"mask_column_stride": (1, 0, 2)[number % 3]}
    held = 1
    for mode in range(modes):
        extent = 2 if mode < modes - 1 else -(-rows // held)
        sizes[f"mask_extent_{mode}"] = extent
        sizes[f"mask_stride_{mode}"] = (held * columns, 1 + mode, 0)[number % 3]
        held *= extent
    return sizes


def _softmax(tile: SoftmaxTile, given: Mapping[str, Any]) -> Kind:
    dtype = given.get("dtype", "f32")
    case = SoftmaxCase(tile, **{"dtype": dtype, "out_dtype": dtype, **given})
    kernel = kernel_of(case)
    whole, vector = tile.capacity, tile.vector
    if case.form != "rows":
        widths = (2 * whole + vector, vector, whole)
    else:
        widths = (whole, vector, whole - vector if whole > vector else whole)
    rows = (2 * tile.block_rows + 1 if tile.block_rows < 3 else tile.block_rows + 1, 3, 1)
    launches = []
    for number, (columns, count) in enumerate(zip(widths, rows, strict=True)):
        odd = number == 1 and vector > 1
        columns += 1 if case.ragged and number != 2 else 0
        apart = 3 if case.ragged else vector
        sizes = {"rows": count, "columns": columns, "row_stride": columns + (number < 2) * apart}
        if case.out_dtype:
            sizes["out_row_stride"] = columns + (number == 0) * apart
            sizes["out_phase"] = vector - 1 if odd else number % vector
        sizes["x_phase"] = 1 if odd else (2 * number) % vector
        sizes |= _mask_sizes(case.mask, number, count, columns)
        known = {each.name for each in effect(case).parameters}
        sizes = {name: size for name, size in sizes.items() if name in known}
        launches.append((sizes, -(-count // tile.block_rows) + 1))
    return Kind(compiled(kernel.source(), kernel.entry), effect(case), tuple(launches))


def _across(tile: AcrossTile, given: Mapping[str, Any]) -> Kind:
    """Rows that run across memory: two runs, one, and runs inside of a stride of columns."""
    dtype = given.get("dtype", "f32")
    case = AcrossCase(tile, **{"dtype": dtype, "out_dtype": dtype, **given})
    kernel, meant, vector = kernel_of(case), effect_of(case), tile.vector
    launches = []
    for inner, runs, columns in (
        (tile.block_rows + vector, 2, max(1, tile.step - 1) + 2 * tile.step * (not case.held)),
        (3 * vector, 1, tile.step),
        (vector, 3, 1 + tile.step // 2),
    ):
        rows, apart = inner * runs, inner + vector
        strides = {"column_stride": apart, "row_stride": columns * apart + vector}
        if inner == vector:
            strides = {"row_stride": apart, "column_stride": runs * apart + vector}
        sizes = {"rows": rows, "columns": columns, "inner": inner, "runs": runs, **strides}
        sizes |= {f"out_{name}": size for name, size in strides.items()}
        sizes |= {"mask_column_stride": 1, "mask_extent_0": rows, "mask_stride_0": columns}
        known = {each.name for each in meant.parameters}
        sizes = {name: size for name, size in sizes.items() if name in known}
        launches.append((sizes, -(-rows // tile.block_rows)))
    return Kind(compiled(kernel.source(), kernel.entry), meant, tuple(launches))


def _few(columns: int, dtype: str, out_dtype: str | None, lse: bool) -> Kind:
    """Several rows to a vector."""
    tile = few_tile(columns, dtype)
    kernel = FewKernel(tile, dtype, out_dtype, lse)
    meant = few_effect(FewCase(tile, dtype, out_dtype, lse))
    block_rows = tile.threads * tile.repeats * tile.vector // columns
    launches = [({"rows": n}, -(-n // block_rows)) for n in (1, 11, block_rows + 3)]
    return Kind(compiled(kernel.source(), kernel.entry), meant, tuple(launches))


def _flat(tile: FlatTile, columns: int, given: Mapping[str, Any]) -> Kind:
    """Narrow rows side by side."""
    case = FlatCase(tile, columns, **{"dtype": "f32", **given})
    kernel = kernel_of(case)
    launches = []
    for number, rows in enumerate((tile.rows + 3, 5, 1)):
        sizes = {"rows": rows}
        if case.mask:
            sizes |= _mask_sizes(case.mask, number, rows, columns)
        launches.append((sizes, -(-rows // tile.rows)))
    return Kind(compiled(kernel.source(), kernel.entry), flat_effect(case), tuple(launches))


KERNELS: dict[str, tuple[str, str, Launches]] = {
    "kernel: early return": (
        user_kernels.EARLY_RETURN,
        user_kernels.EARLY_RETURN_CLAIM,
        tuple(({"n": n}, -(-n // 256) + 1) for n in (1, 256, 700)),
    ),
    "kernel: transpose": (user_kernels.TRANSPOSE, user_kernels.TRANSPOSE_CLAIM, (({}, 64),)),
    "kernel: reduction": (
        user_kernels.REDUCTION,
        user_kernels.REDUCTION_CLAIM,
        (({"n": 1}, 1), ({"n": 3}, 3)),
    ),
    "kernel: pairs of halves": (
        user_kernels.PAIRS_OF_HALVES,
        user_kernels.PAIRS_OF_HALVES_CLAIM,
        tuple(({"n": n}, -(-n // 512) + 1) for n in (1, 2, 511, 512, 1025)),
    ),
    "kernel: pitch": (
        user_kernels.PITCH,
        user_kernels.PITCH_CLAIM,
        tuple(
            ({"rows": rows, "columns": columns, "px": px, "py": py}, rows)
            for rows, columns, px, py in ((1, 1, 4, 8), (3, 130, 528, 520), (2, 128, 512, 512))
        ),
    ),
    "kernel: double buffered": (
        user_kernels.DOUBLE_BUFFERED,
        user_kernels.DOUBLE_BUFFERED_CLAIM,
        (({}, 2),),
    ),
}


def _user_kernel(source: str, text: str, launches: Launches) -> Kind:
    return _claimed(user_loops.compiled(source), claim_from_text(text, "claim.toml"), launches)


def _user_grid(name: str) -> Kind:
    """A kernel in a grid of several axes: sizes that leave parts of tiles over, and the least."""
    source, text = user_grids.RIGHT[name]
    claim = claim_from_text(text, "claim.toml")
    launches = tuple(
        (sizes, sizes.pop("blocks_x")) for sizes in map(dict, user_grids.LAUNCHES[name])
    )
    return _claimed(user_loops.compiled(source), claim, launches)


CLAIMS = ("fragment_order", "masked_copy", "masked_vectors", "pack_pairs", "swap_halves")

SMALL: dict[str, Callable[[], Kind]] = {
    name: partial(_compiled, name, source, meant)
    for name, (source, meant) in {**KINDS, **LOOP_KINDS, **MATRIX_KINDS}.items()
} | {f"claim: {name}": partial(_example, name) for name in CLAIMS}
LOOPS = {f"loop: {name}": partial(_user_loop, name) for name in user_loops.RIGHT}
# By the kernel that there is: one of each kind of generated softmax kernel.
GENERATED: dict[str, Callable[[], Kind]] = {
    name: partial(make, *case)
    for make, cases in ((_softmax, SOFTMAX), (_few, FEW), (_flat, FLAT), (_across, ACROSS))
    for name, case in cases.items()
}
OTHERS = {name: partial(_user_kernel, *case) for name, case in KERNELS.items()}
GRIDS = {f"grid: {name}": partial(_user_grid, name) for name in user_grids.RIGHT}
EVERY: dict[str, Callable[[], Kind]] = SMALL | LOOPS | OTHERS | GRIDS | GENERATED
