"""`__cuda_array_interface__`: what is read of the dictionary, and what the driver is asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from fake_cuda import OTHER_CONTEXT, PRIMARY, Array, FakeDriver, installed
from tylo.codegen.tensors import view
from tylo.layouts.errors import LaunchError


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDriver]:
    with installed(FakeDriver(current=OTHER_CONTEXT), monkeypatch) as found:
        yield found


def test_the_dictionary_is_read_and_the_driver_asked_for_the_device(driver: FakeDriver) -> None:
    driver.pointer_device = 1
    array = Array((2, 3), "<f2", strides=(64, 2), data=(0x7000, True))
    seen = view(array, 0, name="x")
    assert (seen.address, seen.shape, seen.strides, seen.dtype) == (0x7000, (2, 3), (32, 1), "f16")
    assert (seen.device, seen.read_only, seen.owner) == (1, True, array)
    assert driver.calls == [("pointer", 0x7000)]


@pytest.mark.parametrize(
    ("typestr", "dtype"), [("<f4", "f32"), ("|b1", "bool"), ("|u1", "u8"), ("<i8", "i64")]
)
def test_types_and_compact_strides(typestr: str, dtype: str, driver: FakeDriver) -> None:
    seen = view(Array((2, 3, 4), typestr, version=2), 0, name="x")
    assert (seen.strides, seen.dtype) == ((12, 4, 1), dtype)


def test_an_empty_array_asks_nobody(driver: FakeDriver) -> None:
    assert view(Array((0, 5), address=0, stream=5), 7, name="x").empty
    assert driver.calls == []


@pytest.mark.parametrize(
    ("producer", "consumer", "waits"),
    [(None, 5, None), (5, 5, None), (1, 0, None), (1, 5, 0), (2, 0, 2), (9, 5, 9)],
)
def test_the_consumers_stream_waits_for_the_producers_on_the_device(
    producer: int | None, consumer: int, waits: int | None, driver: FakeDriver
) -> None:
    view(Array(stream=producer), consumer, name="x")
    recorded = [("record", 77, waits), ("wait", consumer, 77, 0)] if waits is not None else []
    assert [call for call in driver.calls if call[0] in {"record", "wait"}] == recorded
    assert driver.calls.count(("destroy", 77)) == bool(recorded)
    assert (driver.current, driver.stack) == (OTHER_CONTEXT, [])


def test_a_failing_record_destroys_its_event_and_restores_the_context(driver: FakeDriver) -> None:
    driver.failing = "record"
    with pytest.raises(LaunchError, match="cuEventRecord failed with CUDA_ERROR_INVALID_HANDLE"):
        view(Array(stream=9), 5, name="x")
    assert ("destroy", 77) in driver.calls
    assert driver.current == OTHER_CONTEXT


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"version": 1}, "version 1 of __cuda_array_interface__, read here are 2 and 3"),
        ({"mask": object()}, "x has missing values"),
        ({"typestr": ">f4"}, "elements of type '>f4'"),
        ({"typestr": "<V2"}, "bfloat16 has no name in __cuda_array_interface__"),
        ({"strides": (30, 4)}, r"byte strides \(30, 4\) for the shape \(4, 8\)"),
        ({"strides": (4,)}, r"byte strides \(4,\)"),
        ({"stream": 0}, "names stream 0"),
        ({"data": None}, "is incomplete"),
        ({"shape": None}, "is incomplete"),
    ],
)
def test_what_is_refused(changed: dict[str, Any], message: str, driver: FakeDriver) -> None:
    with pytest.raises(LaunchError, match=message):
        view(Array(**changed), 0, name="x")


def test_memory_that_the_driver_does_not_know_is_refused(driver: FakeDriver) -> None:
    driver.failing = "pointer"
    with pytest.raises(LaunchError, match="knows no device memory at 0x70000000"):
        view(Array(), 0, name="x")
    driver.failing, driver.pointer_device = "", -2
    with pytest.raises(LaunchError, match="knows no device memory"):
        view(Array(), 0, name="x")
    driver.pointer_device = 1
    with pytest.raises(LaunchError, match="on CUDA device 1, the first tensor on device 0"):
        view(Array(), 0, name="x", device=0)


def test_the_driver_has_the_calls_that_are_used() -> None:
    from cuda.bindings import driver

    for name in (
        "cuDeviceGetCount",
        "cuDeviceGetAttribute",
        "cuDevicePrimaryCtxRetain",
        "cuCtxGetCurrent",
        "cuCtxPushCurrent",
        "cuCtxPopCurrent",
        "cuEventCreate",
        "cuEventRecord",
        "cuStreamWaitEvent",
        "cuEventDestroy",
        "cuMemsetD32Async",
        "cuPointerGetAttribute",
    ):
        assert callable(getattr(driver, name))
    attribute = driver.CUdevice_attribute
    assert attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR == 75
    assert attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR == 76
    assert attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT == 16
    assert attribute.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN == 97
    assert driver.CUevent_flags.CU_EVENT_DISABLE_TIMING == 2
    assert driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL == 9
    assert PRIMARY != OTHER_CONTEXT
