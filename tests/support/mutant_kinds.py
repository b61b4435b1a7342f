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

from effect_judge import Judge, Launch
from mutant_sweep import Prover
from ptx_kernels import KINDS, compiled
from ptx_loop_kernels import LOOP_KINDS
from ptx_matrix_kernels import MATRIX_KINDS
from tylo.codegen.softmax.cuda_tests import kernel_of
from tylo.codegen.softmax.few import FewKernel
from tylo.codegen.softmax.narrow import few_tile
from tylo.proofs.effects import Effect
from tylo.proofs.ptx.claim_check import store_widths
from tylo.proofs.ptx.claim_effect import lower
from tylo.proofs.ptx.claim_file import read_claim
from tylo.proofs.ptx.inprocess import solve
from tylo.proofs.ptx.parser import parse
from tylo.proofs.specifications.softmax import SoftmaxCase, effect
from tylo.proofs.specifications.softmax_few import FewCase
from tylo.proofs.specifications.softmax_few import effect as few_effect
from tylo.proofs.specifications.softmax_tiles import SoftmaxTile

_EXAMPLES = Path(__file__).parents[2] / "examples" / "ptx"
Sizes = Mapping[str, int]


@dataclass(frozen=True, eq=False)
class Kind:
    """PTX, its effect, sizes and blocks of launches, and what effect a changed PTX is to have."""

    ptx: str
    effect: Effect
    launches: tuple[tuple[Sizes, int], ...] = (({}, 3),)
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


_ROWS = ((1, 1, 1, 1), (5, 33, 40, 37), (3, 70, 70, 72), (8, 32, 32, 32))
_LAUNCHES: dict[str, tuple[tuple[Sizes, int], ...]] = {
    "ragged": tuple(({"columns": n}, -(-n // 64)) for n in (1, 63, 64, 130)),
    "reverse": tuple(({"n": n}, 3) for n in (0, 1, 2, 5)),
    "masked_copy": tuple(({"n": n}, -(-n // 256) + 1) for n in (1, 255, 256, 700)),
    "masked_vectors": tuple(({"n": n}, -(-n // 1024) + 1) for n in (16, 1008, 1024, 2064)),
}


def _by_rows(block_rows: int) -> tuple[tuple[Sizes, int], ...]:
    return tuple(
        ({"rows": rows, "columns": columns, "sx": sx, "sy": sy}, -(-rows // block_rows) + 1)
        for rows, columns, sx, sy in _ROWS
    )


def _compiled(name: str, source: str, meant: Effect) -> Kind:
    ptx = compiled(source, meant.entry)
    given = {each.name for each in meant.parameters}
    if {"rows", "columns", "sx", "sy"} <= given:
        return Kind(ptx, meant, _by_rows(128 if name == "sequential" else 4))
    return Kind(ptx, meant, _LAUNCHES.get(name, (({}, 3),)))


def _claimed(name: str) -> Kind:
    claim = read_claim(_EXAMPLES / f"{name}.toml")
    ptx = (_EXAMPLES / f"{name}.ptx").read_text()

    @cache
    def lowered(widths: frozenset[int]) -> Effect:
        return lower(claim, widths, solve).effect

    def meant(text: str) -> Effect:
        return lowered(store_widths(parse(text).entry(claim.entry)))

    unused = {each.name: 5 for each in claim.unused}
    found = tuple(({**unused, **sizes}, b) for sizes, b in _LAUNCHES.get(name, (({}, 3),)))
    return Kind(ptx, meant(ptx), found, meant)


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
        sizes["mask_column_stride"] = (1, 0, 2)[number]
        sizes["mask_extent_0"] = count
        sizes["mask_stride_0"] = (columns, 1, 0)[number]
        known = {each.name for each in effect(case).parameters}
        sizes = {name: size for name, size in sizes.items() if name in known}
        launches.append((sizes, -(-count // tile.block_rows) + 1))
    return Kind(compiled(kernel.source(), kernel.entry), effect(case), tuple(launches))


def _few(columns: int, dtype: str, out_dtype: str | None, lse: bool) -> Kind:
    """Several rows to a vector."""
    tile = few_tile(columns, dtype)
    kernel = FewKernel(tile, dtype, out_dtype, lse)
    meant = few_effect(FewCase(tile, dtype, out_dtype, lse))
    block_rows = tile.threads * tile.repeats * tile.vector // columns
    launches = [({"rows": n}, -(-n // block_rows)) for n in (1, 11, block_rows + 3)]
    return Kind(compiled(kernel.source(), kernel.entry), meant, tuple(launches))


# vector, lanes, warps, repeats, rows of warps
_BLOCK, _WARP = SoftmaxTile(4, 32, 4, 2), SoftmaxTile(4, 32, 1, 2, 4)
_WARPS = SoftmaxTile(4, 32, 1, 1, 4)
SOFTMAX: dict[str, tuple[SoftmaxTile, dict[str, Any]]] = {
    "softmax: a block a row, log-sum-exp": (_BLOCK, {"lse": True}),
    "softmax: a warp a row": (_WARP, {}),
    "softmax: eight lanes a row": (SoftmaxTile(4, 8, 1, 1, 4), {"lse": True}),
    "softmax: single columns": (SoftmaxTile(1, 32, 1, 1, 4), {}),
    "softmax: pairs of BF16": (SoftmaxTile(2, 32, 1, 2, 4), {"dtype": "bf16"}),
    "softmax: F16, packed": (SoftmaxTile(8, 32, 4, 2), {"dtype": "f16", "held": False}),
    "softmax: BF16 to F32": (SoftmaxTile(8, 32, 4, 1), {"dtype": "bf16", "out_dtype": "f32"}),
    "softmax: F32 to BF16": (SoftmaxTile(4, 32, 4, 1), {"out_dtype": "bf16"}),
    "softmax: streamed by warps": (_WARPS, {"form": "stream"}),
    "softmax: streamed by blocks": (SoftmaxTile(4, 32, 4, 1, 4), {"form": "stream", "lse": True}),
    "softmax: three passes": (
        SoftmaxTile(1, 32, 1, 1, 4),
        {"dtype": "bf16", "form": "three_pass", "lse": True},
    ),
    "softmax: ragged, a mask": (SoftmaxTile(4, 32, 1, 1), {"ragged": True, "mask": 1}),
    "softmax: ragged, streamed": (SoftmaxTile(4, 32, 4, 1), {"ragged": True, "form": "stream"}),
    "softmax: a mask, streamed": (_WARPS, {"mask": 1, "form": "stream"}),
    "softmax: ragged, log-sum-exp alone": (
        _WARPS,
        {"ragged": True, "lse": True, "out_dtype": None},
    ),
    "softmax: a mask, log-sum-exp alone": (_WARPS, {"mask": 1, "lse": True, "out_dtype": None}),
    "softmax: ragged BF16": (SoftmaxTile(8, 32, 1, 1), {"ragged": True, "dtype": "bf16"}),
}
FEW = {
    "softmax: pairs of columns": (2, "f32", "f32", True),
    "softmax: single columns of F16": (1, "f16", "f16", True),
}
CLAIMS = ("fragment_order", "masked_copy", "masked_vectors", "pack_pairs", "swap_halves")

SMALL: dict[str, Callable[[], Kind]] = {
    name: partial(_compiled, name, source, meant)
    for name, (source, meant) in {**KINDS, **LOOP_KINDS, **MATRIX_KINDS}.items()
} | {f"claim: {name}": partial(_claimed, name) for name in CLAIMS}
EVERY: dict[str, Callable[[], Kind]] = SMALL | {
    name: partial(make, *case)
    for make, cases in ((_softmax, SOFTMAX), (_few, FEW))
    for name, case in cases.items()
}
