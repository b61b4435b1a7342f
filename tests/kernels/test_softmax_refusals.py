"""Everything that softmax refuses: with its message, and before anything was launched."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy
import pytest

import tylo
from fake_cuda import Array, Chooser, Exporter, FakeDriver
from fake_torch import Device, Tensor
from tylo.layouts.errors import LaunchError

softmax = tylo.kernels.softmax
FAR = 0x90000000


def exporter(*arguments: Any, **named: Any) -> Exporter:
    return Exporter(*arguments, address=named.pop("address", FAR), **named)


@pytest.mark.parametrize(
    ("x", "named", "message"),
    [
        (numpy.zeros((2, 3), numpy.float32), {}, r"x, a numpy\.ndarray, lies in host memory"),
        (Exporter(dtype="f64"), {}, "x has elements of type f64; softmax takes float32, bfloat16"),
        (Exporter(dtype="i32"), {}, "x has elements of type i32"),
        (Exporter(address=0x70000002), {}, "x lies at 0x70000002, no multiple of its 4 bytes"),
        (Exporter(), {"axis": 2}, "axis 2 is none of a tensor with 2 dimensions; .* -2 to 1"),
        (Exporter(), {"axis": 1.0}, r"axis 1\.0 is none"),
        (Exporter(()), {"axis": 1}, "axis 1 is none of a tensor with 0 dimensions"),
        (
            Exporter((2, 3, 8), (100, 20, 2)),
            {},
            r"the rows of x along axis 2 lie in no runs of one stride: shape \(2, 3, 8\), strides "
            r"\(100, 20, 2\); pass a tensor without gaps",
        ),
        (
            Exporter((2, 3, 8)),
            {"axis": 1, "out": exporter((2, 3, 8), (4, 16, 1))},
            "out may overlap itself: 2 of its parts, 8 elements wide, are 4 apart",
        ),
        (
            Exporter((2, 4, 8)),
            {"axis": 1, "out": exporter((2, 4, 8), (32, 0, 1))},
            "out may overlap itself: 4 of its parts, 1 elements wide, are 0 apart",
        ),
        (
            Exporter((2, 4, 8)),
            {"axis": 1, "out": exporter((2, 4, 8), address=0x70000020)},
            "out and x share memory, first at 0x70000020",
        ),
        (
            Exporter((4, 4)),
            {"axis": 0, "out": exporter((4, 4), (1, 4), address=0x70000000)},
            "out and x share memory, first at 0x70000000",
        ),
        (
            Exporter((4, 8), (-8, 1)),
            {"axis": 0},
            r"x has the strides \(-8, 1\), and a tensor that .*; pass a copy that runs forwards",
        ),
        (
            Exporter(strides=(-8, 1)),
            {},
            r"x has the strides \(-8, 1\), and a tensor that runs backw",
        ),
        # The gap is in x; the output is not passed.
        (Exporter((3, 5, 4), (40, 8, 2)), {"axis": 1}, "the rows of x along axis 1 lie in no runs"),
        (Exporter((2, 3, 5), (20, 5, 1)), {}, r"no common stride: .* rows \(2, 20\), \(3, 5\)"),
        (Exporter(), {}, "fake_cuda is not known to allocate device memory; pass out="),
        (Exporter(), {"out": exporter((4, 9))}, r"out has the shape \(4, 9\), the result has \(4"),
        (Exporter(), {"out": exporter(dtype="i8")}, "out has elements of type i8"),
        (Exporter(), {"out": exporter(flags=1)}, "out is read-only"),
        (Exporter(), {"out": exporter(ordinal=1)}, "out lies on CUDA device 1, the first tensor"),
        (Exporter(), {"out": exporter(kind=1)}, "out, a fake_cuda.Exporter, lies in host memory"),
        (Exporter(), {"out": exporter(address=FAR + 1)}, "out lies at 0x90000001"),
        (
            Exporter(),
            {"out": exporter(strides=(7, 1))},
            "out overlaps itself: rows of 8 .* 7 apart",
        ),
        (Exporter(), {"out": exporter(strides=(0, 1))}, "out overlaps itself"),
        (
            Exporter(),
            {"out": exporter(strides=(8, 2))},
            "out may overlap itself: 4 of its parts, 15 elements wide, are 8 apart",
        ),
        (
            Exporter((2, 3, 5)),
            {"out": exporter((2, 3, 5), (5, 10, 1))},
            r"the rows of out along axis 2 have no common stride",
        ),
        (
            Exporter(),
            {"out": exporter(address=0x70000004)},
            "out and x share memory, first at 0x70000004; pass an output of its own",
        ),
        (
            Exporter(strides=(16, 1)),
            {"out": exporter(strides=(16, 1), address=0x70000020 - 4)},
            "out and x share memory, first at 0x7000001c",
        ),
        (Exporter(), {"out": exporter(dtype="f16", address=0x70000000)}, "out and x share memory"),
        (
            Exporter(dtype="bf16"),
            {"out": exporter(dtype="f16", address=0x70000000)},
            "out and x share memory, first at 0x70000000",
        ),
        (
            Exporter(),
            {
                "out": (exporter(), exporter((4,), address=0xA0000000)),
                "return_lse": True,
                "mask": exporter((8,), dtype="bool", address=0xA000000F),
            },
            "lse and mask share memory, first at 0xa000000f",
        ),
        (
            Exporter(),
            {"mask": exporter(dtype="u8"), "out": exporter()},
            "mask has elements of type",
        ),
        (
            Exporter(),
            {"mask": exporter(dtype="f32"), "out": exporter()},
            "added to scores are none",
        ),
        (
            Exporter(),
            {"mask": exporter((3, 8), dtype="bool"), "out": exporter()},
            r"mask has the shape \(3, 8\), which does not broadcast to \(4, 8\)",
        ),
        (
            Exporter(),
            {"mask": exporter((8,), (-1,), "bool"), "out": exporter(address=0xA0000000)},
            "mask has the strides",
        ),
        (
            Exporter(),
            {"mask": exporter((4, 8), dtype="bool"), "out": exporter()},
            "out and mask share memory",
        ),
        (Exporter(), {"out": (exporter(), exporter((4,)))}, "out is a tuple of 2, return_lse is F"),
        (Exporter(), {"out": (exporter(),) * 3, "return_lse": True}, "out is a tuple of 3"),
        (
            Exporter(),
            {"out": (exporter(), exporter((4,), dtype="f16")), "return_lse": True},
            "lse has elements of type f16",
        ),
        (
            Exporter(),
            {"out": (exporter(), exporter((5,))), "return_lse": True},
            r"lse has the shape \(5,\), the result has \(4,\)",
        ),
        (
            Exporter(),
            {"out": (exporter(), exporter((4,), (2,))), "return_lse": True},
            r"lse of shape \(4,\) has the strides \(2,\)",
        ),
        (
            Exporter(),
            {"out": (exporter(), exporter((4,), address=FAR + 60)), "return_lse": True},
            "lse and out share memory, first at 0x9000003c",
        ),
        (
            Exporter(),
            {"out": (exporter(), exporter((4,), address=0x70000000)), "return_lse": True},
            "lse and x share memory",
        ),
        (Exporter(), {"out": exporter(), "stream": "main"}, "'main' of type str is no CUDA stream"),
    ],
)
def test_refused_before_launch(
    x: Any, named: dict[str, Any], message: str, chooser: Chooser, driver: FakeDriver
) -> None:
    with pytest.raises(LaunchError, match=message) as caught:
        softmax(x, **named)
    assert caught.value.hint
    assert driver.launches == []


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"device": Device("cpu", None)}, "x, a torch tensor, lies on "),
        (
            {"requires_grad": True},
            r"x requires a gradient.*pass x\.detach\(\), or use the operator",
        ),
        ({"dtype": "torch.float64"}, "x has elements of type f64"),
        ({"dtype": "torch.float8_e4m3fn"}, "x is a torch.float8_e4m3fn tensor of layout strided"),
        ({"layout": "sparse_coo"}, "tensor of layout sparse_coo"),
        ({"negative": True}, "with a pending negation"),
        ({"traced": True}, "x has no memory of its own .* while torch traces"),
    ],
)
def test_torch_tensors_that_are_refused(
    changed: dict[str, Any], message: str, torch: Any, driver: FakeDriver
) -> None:
    with pytest.raises(LaunchError, match=message):
        softmax(Tensor((4, 8), **changed))
    assert (driver.launches, torch.made) == ([], [])


def test_a_torch_output_on_another_device_or_with_a_gradient(torch: Any) -> None:
    other = Tensor((4, 8), device=Device("cuda", 1))
    with pytest.raises(
        LaunchError, match="out lies on CUDA device 1, the first tensor on device 0"
    ):
        softmax(Tensor((4, 8)), out=other)
    with pytest.raises(LaunchError, match="out requires a gradient"):
        softmax(Tensor((4, 8)), out=Tensor((4, 8), requires_grad=True, address=FAR))


def test_an_old_device_is_refused(chooser: Chooser, driver: FakeDriver) -> None:
    driver.capability = (7, 5)
    with pytest.raises(
        LaunchError, match=r"device 0 has the compute capability 7\.5, softmax need"
    ):
        softmax(Exporter(), out=exporter())
    assert chooser.requests == []


def test_more_rows_than_a_grid_counts_are_refused(chooser: Chooser, driver: FakeDriver) -> None:
    chooser.changed["grid"] = (2**31, 1, 1)
    with pytest.raises(LaunchError, match=r"2147483648 blocks along x.* split the tensor"):
        softmax(Exporter(), out=exporter())
    assert driver.launches == []


def test_a_launch_that_fails_is_named(chooser: Chooser, driver: FakeDriver) -> None:
    driver.failing = "launch"
    with pytest.raises(LaunchError, match="stream 0x55d0, failed with CUDA_ERROR_INVALID_HANDLE"):
        softmax(Exporter(), out=exporter(), stream=0x55D0)


@pytest.mark.parametrize("module", ["jax", "jaxlib._jax"])
def test_jax_arrays_are_read_and_never_written(
    module: str, chooser: Chooser, driver: FakeDriver
) -> None:
    kind = type("ArrayImpl", (Exporter,), {"__module__": module})
    with pytest.raises(LaunchError, match=r"jax.* arrays never change once they exist.*pass out="):
        softmax(kind())
    with pytest.raises(LaunchError, match="out is read-only"):
        softmax(kind(), out=kind(address=FAR))
    softmax(kind(), out=exporter())
    assert len(driver.launches) == 1


def test_cupy_and_numba_allocate_for_their_own(
    chooser: Chooser, driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    class OnDevice:
        def __enter__(self) -> None:
            entered.append("in")

        def __exit__(self, *_: object) -> None:
            entered.append("out")

    entered: list[str] = []
    made = Exporter((4, 8), address=FAR)
    cupy = SimpleNamespace(
        empty=lambda shape, dtype: (entered.append(f"{shape} {dtype}"), made)[1],
        cuda=SimpleNamespace(Device=lambda ordinal: OnDevice()),
    )
    monkeypatch.setitem(sys.modules, "cupy", cupy)  # type: ignore[arg-type]
    assert softmax(type("ndarray", (Exporter,), {"__module__": "cupy"})()) is made
    assert entered == ["in", "(4, 8) float32", "out"]

    array = Array((4, 8), address=FAR)
    cuda = SimpleNamespace(gpus={0: OnDevice()}, device_array=lambda shape, dtype: array)
    monkeypatch.setitem(sys.modules, "numba", SimpleNamespace(cuda=cuda))  # type: ignore[arg-type]
    numba = type("DeviceNDArray", (Array,), {"__module__": "numba.cuda.cudadrv.devicearray"})
    assert softmax(numba((4, 8))) is array
    with pytest.raises(LaunchError, match=r"numba allocates no f32 array .* order \(1, 0, 2\)"):
        softmax(numba((2, 3, 4), strides=(16, 32, 4)))


def test_an_allocation_that_is_misaligned_is_refused(
    torch: Any, monkeypatch: pytest.MonkeyPatch, driver: FakeDriver
) -> None:
    monkeypatch.setattr(
        torch, "empty", lambda shape, dtype, device: Tensor(shape, dtype, address=0x50000008)
    )
    with pytest.raises(LaunchError, match="output was allocated at 0x50000008, no multiple of 16"):
        softmax(Tensor((4, 8)))
    assert driver.launches == []
