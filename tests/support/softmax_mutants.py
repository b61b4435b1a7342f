"""Generated softmax kernels whose mutants are judged: one of each way to hold and mask rows."""

from __future__ import annotations

from typing import Any

from tylo.proofs.specifications.softmax_across_tiles import AcrossTile
from tylo.proofs.specifications.softmax_flat_tiles import FlatTile
from tylo.proofs.specifications.softmax_tiles import SoftmaxTile

_ALONE: dict[str, Any] = {"lse": True, "out_dtype": None}
# vector, lanes, warps, repeats, rows of warps
_BLOCK, _WARP = SoftmaxTile(4, 32, 4, 2), SoftmaxTile(4, 32, 1, 2, 4)
_ONE, _WARPS = SoftmaxTile(4, 32, 1, 1), SoftmaxTile(4, 32, 1, 1, 4)
_LANES, _COLUMNS = SoftmaxTile(4, 8, 1, 1, 4), SoftmaxTile(1, 32, 1, 1, 4)
SOFTMAX: dict[str, tuple[SoftmaxTile, dict[str, Any]]] = {
    "softmax: a block a row, log-sum-exp": (_BLOCK, {"lse": True}),
    "softmax: a warp a row": (_WARP, {}),
    "softmax: eight lanes a row": (_LANES, {"lse": True}),
    "softmax: single columns": (_COLUMNS, {}),
    "softmax: pairs of BF16": (SoftmaxTile(2, 32, 1, 2, 4), {"dtype": "bf16"}),
    "softmax: F16, packed": (SoftmaxTile(8, 32, 4, 2), {"dtype": "f16", "held": False}),
    "softmax: BF16 to F32": (SoftmaxTile(8, 32, 4, 1), {"dtype": "bf16", "out_dtype": "f32"}),
    "softmax: F32 to BF16": (SoftmaxTile(4, 32, 4, 1), {"out_dtype": "bf16"}),
    "softmax: streamed by warps": (_WARPS, {"form": "stream"}),
    "softmax: streamed by blocks": (SoftmaxTile(4, 32, 4, 1, 4), {"form": "stream", "lse": True}),
    "softmax: three passes": (
        _COLUMNS,
        {"dtype": "bf16", "form": "three_pass", "lse": True},
    ),
    "softmax: ragged, a mask": (_ONE, {"ragged": True, "mask": 1}),
    "softmax: ragged, streamed": (SoftmaxTile(4, 32, 4, 1), {"ragged": True, "form": "stream"}),
    "softmax: a mask, streamed": (_WARPS, {"mask": 1, "form": "stream"}),
    "softmax: ragged, log-sum-exp alone": (_WARPS, {"ragged": True, **_ALONE}),
    "softmax: a mask, log-sum-exp alone": (_WARPS, {"mask": 1, **_ALONE}),
    "softmax: ragged BF16": (SoftmaxTile(8, 32, 1, 1), {"ragged": True, "dtype": "bf16"}),
    "softmax: ragged, eight lanes a row, a mask": (_LANES, {"ragged": True, "mask": 1}),
    "softmax: eight lanes a row, two modes": (_LANES, {"mask": 2}),
    "softmax: ragged, eight lanes a row, two modes": (_LANES, {"ragged": True, "mask": 2}),
    "softmax: ragged, two modes": (_ONE, {"ragged": True, "mask": 2}),
    "softmax: two modes, log-sum-exp alone": (_WARPS, {"mask": 2, **_ALONE}),
    "softmax: three modes, log-sum-exp alone": (_WARPS, {"mask": 3, **_ALONE}),
    "softmax: two modes, streamed": (_WARPS, {"mask": 2, "form": "stream"}),
    "softmax: ragged, streamed, two vectors": (
        SoftmaxTile(4, 32, 4, 2),
        {"ragged": True, "form": "stream"},
    ),
    "softmax: ragged, streamed, rows of warps, a mask": (
        _WARPS,
        {"ragged": True, "form": "stream", "mask": 1},
    ),
    "softmax: streamed, log-sum-exp alone": (_WARPS, {"form": "stream", **_ALONE}),
    "softmax: streamed, two modes, log-sum-exp alone": (
        _WARPS,
        {"form": "stream", "mask": 2, **_ALONE},
    ),
    "softmax: three passes, a mask": (_COLUMNS, {"form": "three_pass", "mask": 1}),
    "softmax: three passes, ragged, a mask": (
        _COLUMNS,
        {"form": "three_pass", "mask": 1, "ragged": True, "lse": True},
    ),
}
# Columns, types, and whether log-sum-exp is stored: several rows to a vector.
FEW: dict[str, tuple[int, str, str | None, bool]] = {
    "softmax: pairs of columns": (2, "f32", "f32", True),
    "softmax: pairs of columns, log-sum-exp alone": (2, "f32", None, True),
    "softmax: single columns of F16": (1, "f16", "f16", True),
    "softmax: four columns of BF16": (4, "bf16", "bf16", True),
    "softmax: pairs of columns, BF16 to F32": (2, "bf16", "f32", False),
    "softmax: pairs of columns, F32 to BF16": (2, "f32", "bf16", False),
}
_WIDE, _SMALL = FlatTile(4, 64, 4, 9, 256), FlatTile(4, 32, 4, 2, 64)
# Tile, columns, and what else the kernel does: narrow rows side by side, through shared memory.
FLAT: dict[str, tuple[FlatTile, int, dict[str, Any]]] = {
    "softmax: seven columns": (_SMALL, 7, {"lse": True}),
    "softmax: 33 columns": (_WIDE, 33, {}),
    "softmax: 33 columns, log-sum-exp alone": (_WIDE, 33, {"writes": False, "lse": True}),
    "softmax: lanes beside each other": (FlatTile(4, 32, 4, 2, 64, False), 7, {}),
    "softmax: five columns of BF16": (FlatTile(8, 64, 2, 3, 64), 5, {"dtype": "bf16"}),
    "softmax: three columns of F16": (
        FlatTile(8, 64, 1, 3, 32),
        3,
        {"dtype": "f16", "lse": True},
    ),
    "softmax: seven columns, a mask, log-sum-exp alone": (
        _SMALL,
        7,
        {"writes": False, "lse": True, "mask": 1},
    ),
    "softmax: seven columns, two modes, log-sum-exp alone": (
        _SMALL,
        7,
        {"writes": False, "lse": True, "mask": 2},
    ),
}
# Tile, and what else the kernel does: rows that run across memory.
ACROSS: dict[str, tuple[AcrossTile, dict[str, Any]]] = {
    "softmax: across memory, over lanes": (AcrossTile(4, 8, 2), {}),
    "softmax: across memory, a mask, log-sum-exp": (
        AcrossTile(4, 8, 1, 2),
        {"lse": True, "mask": 1},
    ),
    "softmax: across memory, streamed BF16": (
        AcrossTile(8, 8, 1, 2),
        {"dtype": "bf16", "held": False},
    ),
}
