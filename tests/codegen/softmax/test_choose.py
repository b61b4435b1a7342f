"""Whatever is asked, some kernel answers: it holds the columns, covers the rows, fits a device."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tylo.codegen.nvrtc import compile, require_full_speed
from tylo.codegen.softmax import MaskGeometry, SoftmaxRequest, choose
from tylo.codegen.softmax.few import FewKernel
from tylo.codegen.softmax.flat import FlatKernel
from tylo.codegen.softmax.kernel import SoftmaxKernel
from tylo.codegen.softmax.request import BYTES, Across
from tylo.layouts.errors import GenerationError

NAMES = {"x", "out", "lse", "mask", "rows", "columns", "row_stride", "out_row_stride"}
NAMES |= {"mask_column_stride"} | {
    f"mask_{what}_{i}" for what in ("extent", "stride") for i in (0, 1)
}
WIDTHS = st.one_of(
    st.integers(1, 300),
    st.integers(1, 1 << 21),
    st.integers(0, 21).map(lambda power: 1 << power),
    st.integers(1, 20).map(lambda power: (1 << power) + 1),
)


@st.composite
def requests(draw: st.DrawFn) -> SoftmaxRequest:
    columns, rows = draw(WIDTHS), draw(st.integers(1, 1 << 20))
    dtype, out = draw(st.sampled_from(list(BYTES))), draw(st.sampled_from([None, *BYTES]))
    pad = draw(st.sampled_from([0, 0, 0, 1, 4, 8]))
    starts = [draw(st.sampled_from([16, 16, BYTES[each or "f32"]])) for each in (dtype, out)]
    alignments = [
        math.gcd(16, start, (columns + pad) * BYTES[each or "f32"])
        for start, each in zip(starts, (dtype, out), strict=True)
    ]
    mask = draw(st.sampled_from([None, MaskGeometry(((rows, columns),), 1)]))
    return SoftmaxRequest(
        rows,
        columns,
        dtype,
        out,
        columns + pad,
        columns + pad,
        *alignments,
        mask=mask,
        lse=out is None or draw(st.booleans()),
        capability=draw(st.sampled_from([(8, 0), (9, 0), (12, 0)])),
        start_alignment=min(starts),
    )


@settings(max_examples=150, deadline=None)
@given(requests())
def test_every_request_has_an_answer(request: SoftmaxRequest) -> None:
    choice = choose(request)
    kernel = choice.kernel
    threads = choice.block[0]
    assert 32 <= threads <= 1024
    assert threads % 32 == 0
    assert choice.grid[0] % choice.cluster[0] == 0
    assert choice.cluster[0] <= 16
    assert choice.cluster[0] == 1 or request.capability >= (9, 0)
    assert choice.shared <= 48 << 10
    assert {each.name for each in choice.parameters} <= NAMES
    wanted = {"x", "rows"} | ({"out"} if request.out_dtype else set())
    wanted |= {"lse"} if request.lse else set()
    wanted |= {"mask"} if request.mask else set()
    assert wanted <= {each.name for each in choice.parameters}
    if isinstance(kernel, SoftmaxKernel):
        tile = kernel.tile
        assert choice.grid[0] // tile.cluster * tile.block_rows >= request.rows
        if kernel.capacity is not None:
            assert kernel.capacity + kernel.slack >= request.columns
        if not kernel.ragged:
            assert request.columns % tile.vector == 0
            assert request.alignment >= tile.vector * BYTES[request.dtype]
    elif isinstance(kernel, FlatKernel):
        assert kernel.tile.capacity >= request.columns
        assert choice.grid[0] * kernel.tile.rows >= request.rows
    else:
        assert isinstance(kernel, FewKernel)
        assert choice.grid[0] * kernel.tile.block_rows >= request.rows
    assert choice.reason


def asked(
    columns: int, dtype: str, out: str | None = "f32", *, lse: bool = False
) -> SoftmaxRequest:
    alignment = math.gcd(16, columns * BYTES[dtype])
    return SoftmaxRequest(
        4096, columns, dtype, out, columns, columns, alignment, alignment, lse=lse
    )


@pytest.mark.parametrize(
    "request_",
    [
        asked(131072, "f32", lse=True),
        asked(50257, "f32"),
        asked(65536, "bf16", "bf16", lse=True),
        asked(200003, "f16", "f16"),
        asked(12000, "bf16", "f32"),
        asked(151936, "bf16", "bf16"),
        asked(262144, "f32", lse=True),
        asked(65537, "bf16", "bf16", lse=True),
        replace(asked(65537, "bf16", "bf16", lse=True), mask=MaskGeometry(((4, 1),) * 3, 1)),
        replace(asked(262144, "f32", lse=True), mask=MaskGeometry(((4, 1),) * 3, 1)),
        # Results wider than elements, under a mask of several modes.
        replace(asked(28672, "bf16", lse=True), mask=MaskGeometry(((4, 1),) * 2, 1)),
        *(
            replace(
                asked(columns, "f16", lse=True),
                mask=MaskGeometry(((4, 1),) * 2, 1),
                capability=(8, 0),
            )
            for columns in (32768, 57344)
        ),
    ],
    ids=lambda request: f"{request.columns}-{request.dtype}{'-masked' if request.mask else ''}",
)
def test_the_build_gate(request_: SoftmaxRequest) -> None:
    """Kernels that nearly fill the registers neither spill nor keep arrays in memory."""
    choice = choose(request_)
    kernel = choice.kernel
    require_full_speed(compile(kernel.source(), choice.architecture, kernels=[kernel.entry]))


@pytest.mark.parametrize(
    ("columns", "inner", "dtype", "out_dtype", "mask_modes", "capability"),
    [
        (512, 4096, "f32", "f32", 0, (9, 0)),
        (128, 4096, "bf16", "bf16", 0, (9, 0)),
        (512, 4096, "bf16", "bf16", 0, (9, 0)),
        (512, 4096, "bf16", "bf16", 3, (9, 0)),
        (4096, 4096, "bf16", "bf16", 1, (9, 0)),
        (1000, 49, "bf16", "bf16", 0, (9, 0)),
        (1000, 49, "bf16", "bf16", 1, (9, 0)),
        (3000, 49, "f32", "f32", 0, (9, 0)),
        (3000, 49, "bf16", "bf16", 1, (9, 0)),
        # Where the assembler takes more registers: vectors held and read again, single elements.
        (2048, 8, "bf16", "bf16", 3, (10, 0)),
        (1025, 4096, "bf16", "f32", 1, (10, 0)),
        (3000, 4096, "f32", "f32", 1, (10, 0)),
        (768, 49, "bf16", "bf16", 3, (10, 0)),
        (1536, 49, "f32", "f32", 8, (10, 0)),
    ],
)
def test_the_build_gate_across_memory(
    columns: int,
    inner: int,
    dtype: str,
    out_dtype: str,
    mask_modes: int,
    capability: tuple[int, int],
) -> None:
    row = columns * inner
    choice = choose(
        SoftmaxRequest(
            8 * inner,
            columns,
            dtype,
            out_dtype,
            row,
            row,
            16,
            16,
            lse=True,
            start_alignment=16,
            capability=capability,
            mask=MaskGeometry(((4, 1),) * mask_modes, 1) if mask_modes else None,
            across=Across(inner, inner, inner),
        )
    )
    kernel = choice.kernel
    require_full_speed(compile(kernel.source(), choice.architecture, kernels=[kernel.entry]))


def test_a_device_that_is_too_old() -> None:
    with pytest.raises(GenerationError, match="or newer"):
        choose(SoftmaxRequest(1, 8, "f32", "f32", 8, 8, 16, 16, capability=(7, 5)))


def test_reasons_name_what_was_picked() -> None:
    assert (
        "shared memory"
        in choose(SoftmaxRequest(9, 33, "f32", "f32", 33, 33, 4, 4, start_alignment=16)).reason
    )
    assert "blocks a row" in choose(asked(262144, "f32")).reason
    assert "read again" in choose(asked(1 << 20, "f32")).reason
    assert "read once" in choose(asked(1 << 20, "f32", None, lse=True)).reason
