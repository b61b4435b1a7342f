"""Softmax kernels on a device against float64: what the PTX machine runs, and what it cannot.

The cases of the machine run again; beside them clusters, a tensor of more than 2^31 elements, and
two streams at once. Every output is poisoned before a launch, and so is everything around it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from softmax_cases import (
    ACROSS,
    CHOSEN,
    MASKED,
    SHAPES,
    Case,
    Execute,
    request,
    require_right,
    shape_case,
)
from tylo.codegen.launch import Device
from tylo.codegen.launch.choice import Choice
from tylo.codegen.softmax import SoftmaxRequest, choose, oracle

pytestmark = pytest.mark.gpu
POINTERS = ("x", "mask", "out", "lse")
WIDE = [
    Case(5, 40001, "f32", "f32", lse=True),
    Case(3, 131072, "f32", "f32", lse=True),
    Case(3, 131073, "bf16", "bf16", pad=3, out_pad=3),
    Case(2, 262144, "bf16", "f32", lse=True),
    Case(2, 200003, "f16", "f16", start=1, out_start=1),
    Case(2, 600001, "f32", "f32", lse=True),
    Case(2, 1300000, "bf16", "bf16"),
    Case(3, 65536, "bf16", None, lse=True),
    Case(3, 70001, "f32", "f32", mask="whole", lse=True),
]


@pytest.fixture(scope="module")
def torch(device: Device) -> Any:
    module = pytest.importorskip("torch", reason="memory for the kernels")
    if not module.cuda.is_available():
        pytest.skip("this torch has no CUDA")
    return module


@pytest.fixture(scope="module")
def on_device(torch: Any) -> Execute:
    """Run with arrays copied to the device and back; the seed of a schedule means nothing here."""
    from tylo.codegen.launch.devices import device_state
    from tylo.codegen.launch.launcher import launcher

    def run(choice: Choice, values: Mapping[str, Any], seed: int | None) -> None:
        arrays = {name: each for name, each in values.items() if isinstance(each, tuple)}
        held = {
            name: torch.from_numpy(array.view(np.uint8).copy()).cuda()
            for name, (array, _) in arrays.items()
        }
        constants = {name: each for name, each in values.items() if not isinstance(each, tuple)}
        go = launcher(choice, device_state(0), constants, pointers=POINTERS)
        addresses = [
            held[name].data_ptr() + arrays[name][1] * arrays[name][0].itemsize
            if name in held
            else 0
            for name in POINTERS
        ]
        go(addresses, torch.cuda.current_stream().cuda_stream)
        torch.cuda.synchronize()
        for name in ("out", "lse"):
            arrays[name][0].view(np.uint8)[:] = held[name].cpu().numpy()

    return run


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f16"])
@pytest.mark.parametrize("case", CHOSEN, ids=lambda case: f"{case.columns}")
def test_what_is_chosen(case: Case, dtype: str, on_device: Execute) -> None:
    case = replace(case, dtype=dtype)
    require_right(case, choose(request(case, (9, 0))), on_device)


@pytest.mark.parametrize("case", [*MASKED, *WIDE], ids=lambda case: f"{case.columns}-{case.dtype}")
def test_masks_and_wide_rows(case: Case, on_device: Execute) -> None:
    require_right(case, choose(request(case, (9, 0))), on_device)


@pytest.mark.parametrize("case", ACROSS, ids=lambda case: f"{case.inner}x{case.columns}")
def test_rows_that_run_across_memory(case: Case, on_device: Execute) -> None:
    require_right(case, choose(request(case, (9, 0))), on_device)


@pytest.mark.parametrize("name", SHAPES)
def test_every_form(name: str, on_device: Execute) -> None:
    case, choice = shape_case(SHAPES[name], name)
    require_right(case, replace(choice, architecture="sm_90a"), on_device)


def test_more_elements_than_31_bits_count(torch: Any) -> None:
    from tylo.codegen.launch.devices import device_state
    from tylo.codegen.launch.launcher import launcher

    rows, columns = 34000, 65537
    assert rows * columns > 2**31
    x = torch.randn(rows, columns, device="cuda", dtype=torch.bfloat16)
    out = torch.full_like(x, float("nan"))
    asked = SoftmaxRequest(
        rows, columns, "bf16", "bf16", columns, columns, 2, 2, start_alignment=16
    )
    sizes = {"rows": rows, "columns": columns, "row_stride": columns, "out_row_stride": columns}
    go = launcher(choose(asked), device_state(0), sizes, pointers=("x", "out"))
    go((x.data_ptr(), out.data_ptr()), torch.cuda.current_stream().cuda_stream)
    torch.cuda.synchronize()
    for row in (0, 1, rows // 2, 32767, 32768, rows - 2, rows - 1):
        expected = torch.softmax(x[row].double(), -1)
        torch.testing.assert_close(out[row].double(), expected, rtol=2**-7, atol=1e-30)
    assert not any(part.isnan().any() for part in out.split(1 << 12))


def test_two_streams_at_once(torch: Any) -> None:
    from tylo.codegen.launch.devices import device_state
    from tylo.codegen.launch.launcher import launcher

    streams = [torch.cuda.Stream() for _ in range(2)]
    asked = SoftmaxRequest(512, 20001, "f32", "f32", 20001, 20001, 4, 4, start_alignment=16)
    sizes = {"rows": 512, "columns": 20001, "row_stride": 20001, "out_row_stride": 20001}
    go = launcher(choose(asked), device_state(0), sizes, pointers=("x", "out"))
    inputs = [torch.randn(512, 20001, device="cuda") for _ in streams]
    outputs = [torch.full_like(x, float("nan")) for x in inputs]
    torch.cuda.synchronize()
    for _ in range(20):
        for stream, x, out in zip(streams, inputs, outputs, strict=True):
            go((x.data_ptr(), out.data_ptr()), stream.cuda_stream)
    torch.cuda.synchronize()
    for x, out in zip(inputs, outputs, strict=True):
        expected = torch.softmax(x.double(), -1)
        torch.testing.assert_close(out.double(), expected, rtol=oracle.tolerance("f32")[0], atol=0)
