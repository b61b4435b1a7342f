"""Tylo: layouts you can prove, kernels you can trust.

The names most programs need, loaded when first used:

>>> import tylo
>>> C = tylo.atom("mma.m16n8k16.bf16").operand("C").ownership
>>> tylo.owners(C, 9, 5)
[{'value': 3, 'lane': 6}]

Kernels to call are in `tylo.kernels`; everything else is in the rooms: `tylo.layouts`,
`tylo.proofs`, `tylo.codegen`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Layout": "tylo.layouts.layout",
    "Ownership": "tylo.layouts.ownership",
    "SoftmaxState": "tylo.codegen.softmax_state",
    "TyloError": "tylo.layouts.errors",
    "atom": "tylo.layouts.atoms",
    "gather": "tylo.layouts.fragment",
    "generate": "tylo.codegen.bundle",
    "log_sum_exp": "tylo.codegen.softmax_state",
    "maximum": "tylo.codegen.reductions",
    "owners": "tylo.layouts.owners",
    "pack_operand_a": "tylo.codegen.pack_operand_a",
    "prove": "tylo.proofs.prover",
    "read_bundle": "tylo.proofs.bundle",
    "scatter": "tylo.layouts.fragment",
    "softmax_merge": "tylo.codegen.softmax_state",
    "softmax_normalize": "tylo.codegen.softmax_state",
    "softmax_update": "tylo.codegen.softmax_state",
    "specification": "tylo.proofs.specifications",
    "sum": "tylo.codegen.reductions",
    "tile_operand": "tylo.layouts.tiling",
}

if TYPE_CHECKING:
    from tylo.codegen.bundle import generate
    from tylo.codegen.pack_operand_a import pack_operand_a
    from tylo.codegen.reductions import maximum, sum
    from tylo.codegen.softmax_state import (
        SoftmaxState,
        log_sum_exp,
        softmax_merge,
        softmax_normalize,
        softmax_update,
    )
    from tylo.layouts.atoms import atom
    from tylo.layouts.errors import TyloError
    from tylo.layouts.fragment import gather, scatter
    from tylo.layouts.layout import Layout
    from tylo.layouts.owners import owners
    from tylo.layouts.ownership import Ownership
    from tylo.layouts.tiling import tile_operand
    from tylo.proofs.bundle import read_bundle
    from tylo.proofs.prover import prove
    from tylo.proofs.specifications import specification

__all__ = [
    "Layout",
    "Ownership",
    "SoftmaxState",
    "TyloError",
    "atom",
    "gather",
    "generate",
    "log_sum_exp",
    "maximum",
    "owners",
    "pack_operand_a",
    "prove",
    "read_bundle",
    "scatter",
    "softmax_merge",
    "softmax_normalize",
    "softmax_update",
    "specification",
    "sum",
    "tile_operand",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "kernels":
        return import_module("tylo.kernels")
    if name not in _HOME:
        raise AttributeError(f"module 'tylo' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
