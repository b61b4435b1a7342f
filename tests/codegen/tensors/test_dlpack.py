"""DLPack capsules: what is read of them, what is refused, and that deleters are called once."""

from __future__ import annotations

import gc
from typing import Any

import numpy
import pytest

from fake_cuda import Exporter
from tylo.codegen.tensors import view
from tylo.codegen.tensors.dlpack import from_dlpack
from tylo.layouts.errors import LaunchError


@pytest.mark.parametrize("versioned", [True, False])
def test_a_capsule_is_read_and_its_deleter_called_once(versioned: bool) -> None:
    exporter = Exporter((3, 4), (16, 1), "bf16", versioned=versioned, byte_offset=32)
    seen = view(exporter, 0x55D0, name="x")
    assert (seen.address, seen.shape, seen.strides) == (0x70000020, (3, 4), (16, 1))
    assert (seen.dtype, seen.device, seen.read_only) == ("bf16", 0, False)
    assert exporter.deleted == 0
    del seen
    gc.collect()
    assert exporter.deleted == 1


def test_the_deleter_waits_for_the_last_reference() -> None:
    exporter = Exporter()
    owner = view(exporter, 0, name="x").owner
    gc.collect()
    assert exporter.deleted == 0
    del owner
    assert exporter.deleted == 1


def test_a_capsule_without_a_deleter_is_read() -> None:
    exporter = Exporter(has_deleter=False)
    assert view(exporter, 0, name="x").shape == (4, 8)
    assert exporter.deleted == 0


@pytest.mark.parametrize(
    ("shape", "strides"), [((2, 3, 4), (12, 4, 1)), ((), ()), ((0, 5), (5, 1)), ((7,), (1,))]
)
def test_absent_strides_mean_row_major(shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    assert view(Exporter(shape), 0, name="x").strides == strides


@pytest.mark.parametrize(
    "dtype", ["f32", "f16", "bf16", "f64", "bool", "u8", "i8", "i32", "i64", "u16", "c64"]
)
def test_element_types_by_code_and_bits(dtype: str) -> None:
    assert view(Exporter(dtype=dtype), 0, name="x").dtype == dtype


@pytest.mark.parametrize(("asked", "passed"), [(0, 1), (2, 2), (0x55D0, 0x55D0)])
def test_the_producer_is_handed_the_consumers_stream(asked: int, passed: int) -> None:
    exporter = Exporter()
    view(exporter, asked, name="x")
    assert exporter.streams == [passed]


def test_an_old_producer_is_asked_again_without_a_version() -> None:
    exporter = Exporter(versioned=False)
    view(exporter, 0, name="x")
    assert exporter.streams == [1, 1]


def test_read_only_is_seen_in_versioned_capsules() -> None:
    assert view(Exporter(flags=1), 0, name="x").read_only
    assert not view(Exporter(flags=0), 0, name="x").read_only


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"kind": 1}, r"x, a fake_cuda\.Exporter, lies in host memory; move it to a CUDA device"),
        ({"kind": 3}, "lies in pinned host memory"),
        ({"kind": 10}, "lies in ROCm memory"),
        ({"kind": 99}, "lies in DLPack device type 99 memory"),
        ({"exported_kind": 1}, "lies in host memory"),
        ({"flags": 2}, r"x was copied by fake_cuda\.Exporter"),
        ({"major": 2}, r"exported in DLPack 2\.0, read here is 1\.x"),
        ({"lanes": 4}, "lanes 4"),
        ({"bits": 4}, r"code 2, bits 4, lanes 1\), which no kernel here reads"),
        ({"refuses": "Can't export tensors that require gradient"}, "BufferError: Can't export"),
        ({"exhausted": True}, "holds no DLPack tensor to take over; each call"),
        ({"ordinal": 1}, "x lies on CUDA device 1, the first tensor on device 0"),
    ],
)
def test_what_is_refused(changed: dict[str, Any], message: str) -> None:
    exporter = Exporter(**changed)
    with pytest.raises(LaunchError, match=message):
        view(exporter, 0, name="x", device=0)
    gc.collect()
    taken = bool({"exported_kind", "flags", "major", "lanes", "bits"} & set(changed))
    assert exporter.deleted == taken


def test_the_device_is_asked_before_anything_is_exported() -> None:
    exporter = Exporter(kind=1)
    with pytest.raises(LaunchError):
        view(exporter, 0, name="x")
    assert exporter.streams == []


def test_managed_memory_is_device_memory() -> None:
    assert view(Exporter(kind=13), 0, name="x").device == 0


def test_numpy_exports_are_read_by_the_same_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """A real producer's capsule, which no fake of ours laid out; its memory is the host's."""
    monkeypatch.setattr("tylo.codegen.tensors.dlpack.CUDA", 1)
    array = numpy.arange(24, dtype=numpy.float32).reshape(2, 3, 4)[:, ::2, 1:]

    class Wrapped:
        """numpy knows no streams."""

        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

        def __dlpack__(self, *, stream: int, max_version: tuple[int, int]) -> Any:
            return array.__dlpack__(max_version=max_version)

    seen = from_dlpack(Wrapped(), 0, name="x")
    assert seen.address == array.ctypes.data
    assert seen.shape == array.shape
    assert seen.strides == tuple(stride // 4 for stride in array.strides)
    assert seen.dtype == "f32"
    del seen
    array.setflags(write=False)
    assert from_dlpack(Wrapped(), 0, name="x").read_only


@pytest.mark.parametrize("value", [[1.0], 3, "x", None, object()])
def test_what_speaks_no_protocol_is_refused(value: Any) -> None:
    with pytest.raises(LaunchError, match="speaks neither DLPack nor __cuda_array_interface__"):
        view(value, 0, name="x")
