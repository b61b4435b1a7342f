"""The softmax kernels as they are generated: rows in registers, and the streaming form."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tylo.codegen.softmax.kernel import SoftmaxKernel
from tylo.layouts.terms import Integer, name
from tylo.proofs.effects import (
    Buffer,
    Effect,
    Element,
    Less,
    Matrix,
    Parameter,
    Source,
    Store,
    computed,
)
from tylo.proofs.ptx.validate import validate
from tylo.proofs.specifications.softmax_tiles import SoftmaxTile

block, thread, step, blocks = (name(n) for n in ("block", "thread", "step", "blocks"))
row, column, rows, columns = (name(n) for n in ("row", "column", "rows", "columns"))
sx, sy = name("sx"), name("sy")


def ptx_of(kernel: SoftmaxKernel) -> str:
    from tylo.codegen.nvrtc import compile as compile_cuda

    return compile_cuda(kernel.source(), "sm_90a", kernels=[kernel.entry]).ptx


def effect(
    threads: int, here: Integer, places: list[Integer], repeat: Integer, who: Element, most: int
) -> Effect:
    """Vectors of four probabilities at columns `places` of row `here`, made of that row alone."""
    own = Source("x", here * sx * 4, (here * sx + columns) * 4)
    stores = tuple(
        Store(
            "y",
            (here * sy + at) * 4,
            tuple(computed(32, "probability", own) for _ in range(4)),
            repeat,
            (Less(here, rows), Less(at, columns)),
            replace(who, row=here, column=at),
        )
        for at in places
    )
    whole = Matrix(rows, columns, sy)
    return Effect(
        "tylo_softmax",
        threads,
        (
            Buffer("x", "in", 32, None, 16, elements=rows * sx - sx + columns),
            Buffer("y", "out", 32, None, 16, elements=rows * sy - sy + columns, written=whole),
        ),
        stores,
        1 << 28,
        (
            Parameter("rows", 64, 1, 1 << 28),
            Parameter("columns", 32, 1, most),
            Parameter("sx", 64, 1, 1 << 30),
            Parameter("sy", 64, 1, 1 << 30),
        ),
        (
            Less(columns, sx + 1),
            Less(columns, sy + 1),
            *(Less(size % 4, 1) for size in (columns, sx, sy)),
            Less(rows, blocks * (threads // 128) + 1),
        ),
    )


@pytest.mark.slow
def test_rows_in_registers_hold_for_every_size() -> None:
    tile = SoftmaxTile(vector=4, lanes=32, warps=4, repeats=2, row_warps=1, cluster=1)
    ptx = ptx_of(SoftmaxKernel(tile=tile, dtype="f32", out_dtype="f32"))
    who = Element(0, 0, row, column % 512 // 4)
    places: list[Integer] = [thread * 4, thread * 4 + 512]
    meant = effect(128, block, places, 1, who, 1024)
    validation = validate(ptx, meant)
    assert validation.holds, "\n".join(map(str, validation.failures + validation.undecided))
    assert len(validation.uncovered) == 1
    # A row of one vector more does not fit into the registers.
    larger = effect(128, block, places, 1, who, 1028)
    failures = {v.obligation.label for v in validate(ptx, larger).failures}
    assert failures == {"y: nothing left out"}


@pytest.mark.slow
def test_the_streaming_form_holds_for_every_size() -> None:
    tile = SoftmaxTile(vector=4, lanes=32, warps=4, repeats=1, row_warps=4, cluster=1)
    ptx = ptx_of(SoftmaxKernel(tile=tile, dtype="f32", out_dtype="f32", form="stream"))
    who = Element(0, 0, row // 4, row % 4 * 128 + column % 512 // 4, column // 512)
    here, at = block * 4 + thread // 128, step * 512 + thread % 128 * 4
    meant = effect(512, here, [at], (columns + 511) // 512, who, 1 << 30)
    validation = validate(ptx, meant)
    assert validation.holds, "\n".join(map(str, validation.failures + validation.undecided))
