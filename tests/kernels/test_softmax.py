"""`tylo.kernels.softmax`: what the chooser is asked, what reaches the driver, what comes back."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import fake_torch
import tylo
from fake_cuda import PRIMARY, Array, Chooser, Exporter, FakeDriver
from fake_torch import Device, Tensor
from tylo.codegen.launch.choice import PARAMETER_CODES
from tylo.codegen.softmax.request import MaskGeometry
from tylo.layouts.errors import LaunchError

softmax, log_sum_exp = tylo.kernels.softmax, tylo.kernels.log_sum_exp


def test_a_torch_tensor_gives_a_torch_tensor(
    torch: Any, chooser: Chooser, driver: FakeDriver
) -> None:
    torch.current = 0x77
    out = softmax(Tensor((4, 6, 10)))
    assert torch.made == [out]
    assert (out.shape, out.dtype, out.stride()) == ((4, 6, 10), "torch.float32", (60, 10, 1))
    (launch,) = driver.launches
    assert launch.values == (0x40000000, out.address, 0, 0, 24, 10)
    assert (launch.stream, launch.context, launch.grid) == (0x77, PRIMARY, (7, 1, 1))
    (request,) = chooser.requests
    assert (request.rows, request.columns, request.row_stride) == (24, 10, 10)
    assert (request.dtype, request.out_dtype, request.lse) == ("f32", "f32", False)
    assert (request.alignment, request.out_alignment) == (8, 8)
    assert (request.capability, request.multiprocessors) == ((9, 0), 132)
    assert torch.waits == []


def test_the_second_call_asks_nobody(torch: Any, chooser: Chooser, driver: FakeDriver) -> None:
    softmax(Tensor((4, 8)))
    calls = len(driver.calls)
    softmax(Tensor((4, 8), address=0x40000100))
    softmax(Tensor((4, 8), address=0x40000100), axis=-1)
    assert len(chooser.requests) == 1
    assert driver.calls[calls:] == [("launch",), ("launch",)]
    softmax(Tensor((4, 8), address=0x40000104))
    assert [each.alignment for each in chooser.requests] == [16, 4]
    assert driver.libraries == 1


@pytest.mark.parametrize(
    ("changed", "asked"),
    [
        ({"strides": (16, 1)}, "row_stride"),
        ({"dtype": "torch.float16"}, "dtype"),
        ({"address": 0x40000004}, "alignment"),
    ],
)
def test_a_plan_is_not_taken_for_another_geometry(
    changed: dict[str, Any], asked: str, torch: Any, chooser: Chooser, driver: FakeDriver
) -> None:
    softmax(Tensor((4, 8)), out=Tensor((4, 8), address=0x60000000))
    softmax(Tensor((4, 8), **changed), out=Tensor((4, 8), address=0x60000000))
    first, second = (getattr(request, asked) for request in chooser.requests)
    assert first != second


def test_a_plan_is_not_taken_for_another_device(
    torch: Any, chooser: Chooser, driver: FakeDriver
) -> None:
    for index in (0, 1):
        softmax(Tensor((4, 8), device=Device("cuda", index)))
    for index in (0, 1):
        softmax(Exporter(ordinal=index), out=Exporter(ordinal=index, address=0x80000000))
    assert [launch.context for launch in driver.launches] == [PRIMARY, PRIMARY + 1] * 2


@pytest.mark.parametrize(
    "changed", [{"requires_grad": True}, {"negative": True}, {"layout": "sparse_csr"}]
)
def test_a_plan_does_not_let_through_what_is_refused(
    changed: dict[str, Any], torch: Any, driver: FakeDriver
) -> None:
    softmax(Tensor((4, 8)))
    with pytest.raises(LaunchError):
        softmax(Tensor((4, 8), **changed))
    assert len(driver.launches) == 1


def test_plans_are_not_collected_without_end(
    torch: Any, chooser: Chooser, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans = softmax.__globals__["_plans"]
    monkeypatch.setattr(plans, "most", 3)
    for columns in range(1, 9):
        softmax(Tensor((4, columns)))
    assert len(plans) <= 3


def test_log_sum_exp_beside_and_alone(torch: Any, chooser: Chooser, driver: FakeDriver) -> None:
    out, lse = softmax(Tensor((4, 6, 10), "torch.bfloat16"), axis=2, return_lse=True)
    assert (lse.shape, lse.dtype, out.dtype) == ((4, 6), "torch.float32", "torch.bfloat16")
    alone = log_sum_exp(Tensor((4, 6, 10), "torch.bfloat16"))
    assert (alone.shape, alone.dtype) == ((4, 6), "torch.float32")
    assert [each.values[1:3] for each in driver.launches] == [
        (out.address, lse.address),
        (0, alone.address),
    ]
    assert [(each.out_dtype, each.lse) for each in chooser.requests] == [
        ("bf16", True),
        (None, True),
    ]


def test_rows_are_counted_as_they_lie_in_memory(torch: Any, chooser: Chooser) -> None:
    transposed = Tensor((6, 10, 4), strides=(10, 1, 60))
    out, lse = softmax(transposed, axis=1, return_lse=True)
    assert (out.shape, out.stride()) == ((6, 10, 4), (10, 1, 60))
    assert (lse.shape, lse.stride()) == ((6, 4), (1, 6))
    assert (chooser.requests[0].rows, chooser.requests[0].row_stride) == (24, 10)


def test_padded_rows_and_another_type_out(torch: Any, chooser: Chooser) -> None:
    x = Tensor((4, 10), strides=(64, 1))
    out = Tensor((4, 10), "torch.float16", strides=(32, 1), address=0x60000002)
    assert softmax(x, out=out) is out
    (request,) = chooser.requests
    assert (request.row_stride, request.out_row_stride, request.out_dtype) == (64, 32, "f16")
    assert (request.alignment, request.out_alignment) == (16, 2)


@pytest.mark.parametrize(
    ("x", "axis", "expected"),
    [
        (Tensor(()), 0, (1, 1, 1)),
        (Tensor((5,)), 0, (1, 5, 5)),
        (Tensor((5, 1)), 1, (5, 1, 1)),
        (Tensor((5, 1), strides=(3, 99)), 1, (5, 1, 3)),
        (Tensor((1, 5), strides=(99, 1)), 1, (1, 5, 5)),
        (Tensor((5, 8), strides=(0, 1)), 1, (5, 8, 0)),
        (Tensor((5, 8), strides=(1, 5)), 0, (8, 5, 5)),
    ],
)
def test_corner_geometries(
    x: Tensor, axis: int, expected: tuple[int, int, int], torch: Any, chooser: Chooser
) -> None:
    out = softmax(x, axis=axis)
    (request,) = chooser.requests
    assert (request.rows, request.columns, request.row_stride) == expected
    assert out.shape == x.shape


def test_the_pitch_of_a_single_row_says_nothing_about_alignment(
    torch: Any, chooser: Chooser
) -> None:
    softmax(Tensor((10,)), out=Tensor((10,), address=0x60000000))
    softmax(Tensor((2, 10)), out=Tensor((2, 10), address=0x60000000))
    assert [(each.alignment, each.out_alignment) for each in chooser.requests] == [(16, 16), (8, 8)]


@pytest.mark.parametrize(
    ("shape", "strides", "modes", "column"),
    [
        ((2, 3, 4, 5), (60, 20, 5, 1), ((24, 5),), 1),
        ((4, 5), (5, 1), ((6, 0), (4, 5)), 1),
        ((2, 1, 1, 5), (5, 5, 5, 1), ((2, 5), (12, 0)), 1),
        ((2, 1, 4, 5), (20, 20, 5, 1), ((2, 20), (3, 0), (4, 5)), 1),
        ((2, 3, 4, 1), (12, 4, 1, 1), ((24, 1),), 0),
        ((), (), ((24, 0),), 0),
    ],
)
def test_masks_broadcast_by_strides(
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    modes: Any,
    column: int,
    torch: Any,
    chooser: Chooser,
    driver: FakeDriver,
) -> None:
    mask = Tensor(shape, "torch.bool", strides=strides, address=0x48000000)
    softmax(Tensor((2, 3, 4, 5)), mask=mask)
    assert chooser.requests[0].mask == MaskGeometry(modes, column)
    assert driver.launches[0].values[3] == 0x48000000


def test_wide_offsets_are_asked_for_when_bytes_pass_two_to_the_31(
    torch: Any, chooser: Chooser
) -> None:
    for rows, dtype in ((2**16, "torch.float32"), (2**15, "torch.bfloat16"), (2**32, "torch.bool")):
        if dtype != "torch.bool":
            softmax(Tensor((rows, 2**14), dtype), out=Tensor((rows, 2**14), dtype, address=1 << 40))
    assert [request.wide for request in chooser.requests] == [True, False]


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0,), (3, 0, 4)])
def test_s18_nothing_to_compute_launches_nothing(
    shape: tuple[int, ...], torch: Any, chooser: Chooser, driver: FakeDriver
) -> None:
    out = softmax(Tensor(shape))
    assert out.shape == shape
    assert (driver.launches, driver.calls, chooser.requests) == ([], [], [])


def test_rows_without_columns_have_minus_infinity(
    torch: Any, chooser: Chooser, driver: FakeDriver
) -> None:
    out, lse = softmax(Tensor((5, 0)), return_lse=True, stream=9)
    assert (out.shape, lse.shape) == ((5, 0), (5,))
    assert driver.calls[-1] == ("fill", lse.address, 0xFF800000, 5, 9)
    assert driver.launches == []
    out, lse = softmax(Tensor((0, 5)), return_lse=True)
    assert (out.shape, lse.shape) == ((0, 5), (0,))
    assert [call[0] for call in driver.calls].count("fill") == 1


def test_another_stream_than_torchs_waits_for_it(torch: Any, driver: FakeDriver) -> None:
    torch.current = 0x77
    x, mask = Tensor((4, 8)), Tensor((8,), "torch.bool", address=0x48000000)
    out = softmax(x, mask=mask, stream=0x55D0)
    assert torch.waits == [(0x55D0, 0x77)] * 3
    assert [each.recorded for each in (x, mask, out)] == [[0x55D0]] * 3
    assert driver.launches[0].stream == 0x55D0
    softmax(x, stream=torch.cuda.current_stream(0))
    softmax(x, stream=1)
    assert torch.waits[3:] == [(0, 0x77)] * 2
    assert [launch.stream for launch in driver.launches[1:]] == [0x77, 0]


def test_dlpack_tensors_are_handed_the_stream_and_freed(
    chooser: Chooser, driver: FakeDriver
) -> None:
    x, out = Exporter(), Exporter(address=0x80000000)
    assert softmax(x, out=out, stream=0x55D0) is out
    assert softmax(x, out=out) is out
    gc.collect()
    assert x.streams == out.streams == [0x55D0, 1]
    assert (x.deleted, out.deleted) == (2, 2)
    assert [launch.stream for launch in driver.launches] == [0x55D0, 0]


def test_cuda_arrays_and_a_pair_of_outputs(chooser: Chooser, driver: FakeDriver) -> None:
    out, lse = Array(address=0x80000000), Array((4,), address=0x90000000)
    assert softmax(Array(), out=(out, lse), return_lse=True) == (out, lse)
    assert driver.launches[0].values[:3] == (0x70000000, 0x80000000, 0x90000000)
    assert log_sum_exp(Array(), out=lse) is lse


def test_in_place_is_the_very_same_view(chooser: Chooser, driver: FakeDriver) -> None:
    x = Exporter(strides=(16, 1))
    softmax(x, out=x)
    assert driver.launches[0].values[:2] == (x.address, x.address)
    chooser.changed["in_place"] = False
    softmax.__globals__["_plans"].clear()
    with pytest.raises(LaunchError, match="out and x share memory, first at 0x70000000"):
        softmax(x, out=x)


def test_interleaved_rows_share_no_byte(chooser: Chooser, driver: FakeDriver) -> None:
    softmax(Exporter(strides=(16, 1)), out=Exporter(strides=(16, 1), address=0x70000020))
    assert len(driver.launches) == 1


def test_the_choice_is_told_without_launching(
    torch: Any, chooser: Chooser, driver: FakeDriver
) -> None:
    choice = tylo.kernels.softmax_choice(Tensor((4, 8)))
    assert (choice.grid, choice.reason) == ((7, 1, 1), "it is the only one")
    assert (driver.launches, driver.libraries, torch.made) == ([], 0, [])
    with pytest.raises(LaunchError, match="launches no kernel"):
        tylo.kernels.softmax_choice(Tensor((0, 8)))


@pytest.mark.parametrize(
    ("x", "mask", "cluster"),
    [
        (Tensor((64, 1024)), None, None),
        (Tensor((2, 3, 4, 64), "torch.float16"), (2, 1, 4, 64), None),
        (Tensor((8, 262144), "torch.bfloat16"), None, (16, 1, 1)),
    ],
)
def test_the_kernels_that_are_shipped_get_every_parameter_they_name(
    x: Tensor, mask: Any, cluster: Any, driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chooser and the kernels of `tylo.codegen.softmax`, compiled; the driver is still ours."""
    fake_torch.installed(monkeypatch)
    keep = mask and Tensor(mask, "torch.bool", address=0x48000000)
    choice = tylo.kernels.softmax_choice(x, mask=keep, return_lse=True)
    driver.parameters = "".join(PARAMETER_CODES[each.kind] for each in choice.parameters)
    out, lse = softmax(x, mask=keep, return_lse=True)
    (launch,) = driver.launches
    named = dict(zip((each.name for each in choice.parameters), launch.values, strict=True))
    rows = x.stride()[0] * x.shape[0] // x.shape[-1]
    assert (named["x"], named["out"], named["lse"]) == (x.address, out.address, lse.address)
    assert (named["rows"], named["columns"]) == (rows, x.shape[-1])
    assert (launch.grid, launch.block, launch.cluster) == (choice.grid, choice.block, cluster)
    if keep:
        assert named["mask"] == keep.address
        modes = [(named[f"mask_extent_{i}"], named[f"mask_stride_{i}"]) for i in range(3)]
        assert modes == [(4, 64), (3, 0), (2, 256)]
