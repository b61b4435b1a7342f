"""Bundles on a device: the kernel's own machine code, and the generated tests beside it."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from tylo.codegen import oracle, run
from tylo.codegen.launch import Device, Input, Output
from tylo.codegen.pack_operand_a.source import kernel_source
from tylo.codegen.run import run_bundle
from tylo.layouts.errors import LaunchError
from tylo.proofs.bundle import read_bundle
from tylo.proofs.specifications.pack_operand_a import ENTRY

pytestmark = pytest.mark.gpu

SIZES = [(1, 1, 1), (2, 2, 1), (1, 2, 2), (2, 4, 4)]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_a_bundle_passes(
    architecture: str, written: Any, tile_of: Any, dtype: str, sizes: tuple[int, int, int]
) -> None:
    tile = tile_of(dtype, sizes)
    report = run_bundle(written(tile, architecture))
    assert report.passed, report.summary()
    assert report.architecture == architecture
    assert [result.name for result in report.results] == [
        "kernel.cu",
        "tests/coordinates.cu",
        "tests/shared_roundtrip.cu",
        "tests/second_instruction.cu",
    ]
    assert report.results[0].checks == 64 * tile.elements


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("cvt.rn.", "cvt.rz."),
        ('"f"(high), "f"(low)', '"f"(low), "f"(high)'),
        ("k < pairs", "k < pairs - 1"),
    ],
)
def test_a_wrong_kernel_fails(
    architecture: str, written: Any, tile_of: Any, old: str, new: str
) -> None:
    tile = tile_of("bf16", (1, 2, 1))
    source = kernel_source(tile)
    assert old in source
    report = run_bundle(written(tile, architecture, source=source.replace(old, new)))
    kernel, *tests = report.results
    assert not kernel.passed
    assert kernel.failures > 0
    assert "block 0, row " in kernel.first_failure
    # The tests carry functions of their own, and those were not touched.
    assert all(test.passed for test in tests)


def test_machine_code_runs_without_a_compiler(
    architecture: str, written: Any, tile_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written(tile_of("f16", (1, 1, 2)), architecture, tests=False)
    monkeypatch.setattr(run, "compile_cached", None)
    report = run_bundle(folder)
    assert report.passed, report.summary()
    assert len(report.results) == 1


def test_a_bundle_for_other_devices_is_refused(device: Device, written: Any, tile_of: Any) -> None:
    other = "sm_80" if device.capability[0] != 8 else "sm_90"
    folder = written(tile_of("bf16", (1, 1, 1)), other, tests=False)
    with pytest.raises(LaunchError, match="holds machine code for " + other):
        run_bundle(folder)


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_every_upper_half_with_every_kind_of_lower_half(
    device: Device, architecture: str, written: Any, tile_of: Any, dtype: str
) -> None:
    """All signs, exponents and leading digits, with lost digits around every boundary."""
    tile = tile_of(dtype, (1, 1, 1))
    bundle = read_bundle(written(tile, architecture, tests=False))
    lower = numpy.array(
        [0, 1, 0x0FFF, 0x1000, 0x1001, 0x2000, 0x3000, 0x7FFF, 0x8000, 0x8001, 0xF000, 0xFFFF],
        numpy.uint32,
    )
    upper = numpy.arange(1 << 16, dtype=numpy.uint32) << 16
    values = (upper[:, None] | lower[None, :]).reshape(-1, 16, 16).view(numpy.float32)
    module = device.load(bundle.files[f"cubin/{architecture}.cubin"], architecture)
    (packed,) = module.launch(
        ENTRY,
        grid=len(values),
        block=32,
        arguments=[Input(values), Output((len(values), 16, 8), numpy.uint32)],
    )
    result = run.compared(oracle.rounded(values, dtype), packed, dtype)
    assert result.passed, str(result)
    assert result.checks == 12 * (1 << 16)
