"""Stand-ins for a CUDA driver and for device tensors, built from the documents of each protocol.

`FakeDriver` answers as `cuda.bindings.driver` does, `(error, values...)`, and records launches with
the parameter values that it reads out of the memory it is handed, as a driver would. `Exporter`
exports a tensor by DLPack through C structures that are laid out here with `struct`, not with the
classes that are tested, and counts calls of its deleters. `Array` offers the other protocol.
"""

from __future__ import annotations

import ctypes
import enum
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from tylo.codegen.launch import devices
from tylo.codegen.launch.choice import Choice, Parameter
from tylo.codegen.softmax.request import SoftmaxRequest

PRIMARY = 0xC0
OTHER_CONTEXT = 0xBAD


class Result(enum.IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_HANDLE = 400


@dataclass(frozen=True)
class Launch:
    kernel: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    stream: int
    values: tuple[Any, ...]
    context: int
    cluster: tuple[int, int, int] | None = None


@dataclass
class FakeDriver:
    """`parameters` are the `struct` codes of the kernel's parameters, in order."""

    parameters: str = ""
    capability: tuple[int, int] = (9, 0)
    device_count: int = 2
    current: int = PRIMARY
    failing: str = ""
    pointer_device: int = 0
    launches: list[Launch] = field(default_factory=list)
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    libraries: int = 0
    stack: list[int] = field(default_factory=list)

    CUdevice_attribute = SimpleNamespace(
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR="major",
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR="minor",
        CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT="multiprocessors",
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN="shared",
    )
    CUfunction_attribute = SimpleNamespace(
        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES="shared",
        CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED="cluster",
    )
    CUpointer_attribute = SimpleNamespace(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL="ordinal")
    CUstreamCaptureMode = SimpleNamespace(CU_STREAM_CAPTURE_MODE_RELAXED="relaxed")
    CUevent_flags = SimpleNamespace(CU_EVENT_DISABLE_TIMING=SimpleNamespace(value=2))
    CUlaunchAttributeID = SimpleNamespace(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION=4)
    CUlaunchAttribute = SimpleNamespace
    CUlaunchConfig = SimpleNamespace

    @staticmethod
    def CUlaunchAttributeValue() -> Any:
        return SimpleNamespace(clusterDim=SimpleNamespace())

    def _said(self, name: str, *values: Any) -> tuple[Any, ...]:
        self.calls.append((name, *values))
        failed = name == self.failing
        return (Result.CUDA_ERROR_INVALID_HANDLE if failed else Result.CUDA_SUCCESS,)

    def cuDeviceGetCount(self) -> tuple[Any, ...]:
        return Result.CUDA_SUCCESS, self.device_count

    def cuDeviceGet(self, ordinal: int) -> tuple[Any, ...]:
        return Result.CUDA_SUCCESS, ordinal

    def cuDeviceGetAttribute(self, name: str, device: int) -> tuple[Any, ...]:
        major, minor = self.capability
        known = {"major": major, "minor": minor, "multiprocessors": 132, "shared": 232448}
        return Result.CUDA_SUCCESS, known[name]

    def cuDevicePrimaryCtxRetain(self, device: int) -> tuple[Any, ...]:
        return (*self._said("retain", device), PRIMARY + device)

    def cuCtxGetCurrent(self) -> tuple[Any, ...]:
        return Result.CUDA_SUCCESS, self.current

    def cuCtxPushCurrent(self, context: int) -> tuple[Any, ...]:
        self.stack.append(self.current)
        self.current = context
        return (Result.CUDA_SUCCESS,)

    def cuCtxPopCurrent(self) -> tuple[Any, ...]:
        left, self.current = self.current, self.stack.pop()
        return Result.CUDA_SUCCESS, left

    def cuLibraryLoadData(self, code: bytes, *rest: Any) -> tuple[Any, ...]:
        assert code[:4] == b"\x7fELF"
        assert self.calls[-1] == ("capture mode", "relaxed")
        self.libraries += 1
        return (*self._said("load", self.current), self.libraries)

    def cuLibraryGetKernel(self, library: int, name: bytes) -> tuple[Any, ...]:
        return (*self._said("kernel", name), 1000 + library)

    def cuThreadExchangeStreamCaptureMode(self, mode: str) -> tuple[Any, ...]:
        return (*self._said("capture mode", mode), "global")

    def cuKernelSetAttribute(self, name: str, value: int, kernel: int, device: int) -> Any:
        return self._said("allow", name, value, kernel, device)

    def cuPointerGetAttribute(self, name: str, address: int) -> tuple[Any, ...]:
        return (*self._said("pointer", address), self.pointer_device)

    def cuEventCreate(self, flags: int) -> tuple[Any, ...]:
        return (*self._said("event", flags), 77)

    def cuEventRecord(self, event: int, stream: int) -> tuple[Any, ...]:
        return self._said("record", event, stream)

    def cuStreamWaitEvent(self, stream: int, event: int, flags: int) -> tuple[Any, ...]:
        return self._said("wait", stream, event, flags)

    def cuEventDestroy(self, event: int) -> tuple[Any, ...]:
        return self._said("destroy", event)

    def cuMemsetD32Async(self, address: int, word: int, count: int, stream: int) -> Any:
        return self._said("fill", address, word, count, stream)

    def cuLaunchKernel(self, kernel: int, *rest: Any) -> tuple[Any, ...]:
        gx, gy, gz, bx, by, bz, shared, stream, pointers, extra = rest
        assert extra == 0
        values = self._values(pointers)
        self.launches.append(
            Launch(kernel, (gx, gy, gz), (bx, by, bz), shared, stream, values, self.current)
        )
        return self._said("launch")

    def cuLaunchKernelEx(self, config: Any, kernel: int, pointers: int, extra: int) -> Any:
        assert extra == 0
        assert config.numAttrs == len(config.attrs) == 1
        assert config.attrs[0].id == 4
        cluster = config.attrs[0].value.clusterDim
        grid = (config.gridDimX, config.gridDimY, config.gridDimZ)
        block = (config.blockDimX, config.blockDimY, config.blockDimZ)
        values = self._values(pointers)
        sizes = (cluster.x, cluster.y, cluster.z)
        self.launches.append(
            Launch(
                kernel,
                grid,
                block,
                config.sharedMemBytes,
                config.hStream,
                values,
                self.current,
                sizes,
            )
        )
        return self._said("launch")

    def _values(self, pointers: int) -> tuple[Any, ...]:
        table = (ctypes.c_void_p * len(self.parameters)).from_address(pointers)
        read = []
        for code, place in zip(self.parameters, table, strict=True):
            size = struct.calcsize(code)
            assert place is not None
            assert place % size == 0
            read.append(struct.unpack(code, ctypes.string_at(place, size))[0])
        return tuple(read)


@contextmanager
def installed(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDriver]:
    """`driver` in place of the real one; nothing is left of an earlier one, nor of it after."""
    monkeypatch.setattr(devices, "initialised_driver", lambda: driver)
    _forget_devices()
    try:
        yield driver
    finally:
        _forget_devices()


def _forget_devices() -> None:
    devices.found_driver.cache_clear()
    devices.device_state.cache_clear()


@dataclass(frozen=True)
class Fill:
    """The least kernel that has the parameters of a choice."""

    declared: tuple[Parameter, ...]
    entry: str = "stand_in"

    def source(self) -> str:
        types = {
            "pointer": "void*",
            "i64": "long long",
            "i32": "int",
            "u32": "unsigned",
            "f32": "float",
        }
        listed = ", ".join(f"{types[each.kind]} {each.name}" for each in self.declared)
        return f'extern "C" __global__ void {self.entry}({listed}) {{}}'


def stand_in(*declared: str, **changed: Any) -> Choice:
    """A choice with parameters written `kind name`."""
    parameters = tuple(Parameter(*reversed(each.split())) for each in declared)
    defaults: dict[str, Any] = {
        "kernel": Fill(parameters),
        "architecture": "sm_90a",
        "grid": (7, 1, 1),
        "block": (128, 1, 1),
        "parameters": parameters,
        "reason": "it is the only one",
    }
    return Choice(**defaults | changed)


SOFTMAX_PARAMETERS = (
    "pointer x",
    "pointer out",
    "pointer lse",
    "pointer mask",
    "i64 rows",
    "i64 columns",
)


class Chooser:
    """Asked with requests, which it keeps; `changed` changes its choices."""

    def __init__(self) -> None:
        self.requests: list[SoftmaxRequest] = []
        self.changed: dict[str, Any] = {}

    def __call__(self, request: SoftmaxRequest) -> Choice:
        self.requests.append(request)
        return stand_in(*SOFTMAX_PARAMETERS, **self.changed)


CODES = {"i": 0, "u": 1, "f": 2, "bf": 4, "c": 5, "bool": 6}
_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_new_capsule = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)(("PyCapsule_New", ctypes.pythonapi))


class Exporter:
    """A device tensor that speaks DLPack, at an address that is never touched."""

    def __init__(
        self,
        shape: tuple[int, ...] = (4, 8),
        strides: tuple[int, ...] | None = None,
        dtype: str = "f32",
        address: int = 0x70000000,
        **changed: Any,
    ) -> None:
        letters = dtype.rstrip("0123456789")
        self.code, self.bits = CODES[letters], int(dtype[len(letters) :] or 8)
        self.shape, self.strides, self.address = shape, strides, address
        self.lanes, self.byte_offset = 1, 0
        self.kind, self.ordinal, self.exported_kind = 2, 0, None
        self.versioned, self.flags, self.major = True, 0, 1
        self.has_deleter, self.refuses, self.exhausted = True, "", False
        for name, value in changed.items():
            assert hasattr(self, name)
            setattr(self, name, value)
        self.deleted = 0
        self.streams: list[int] = []
        self._deleter = _DELETER(self._delete)
        self._kept: list[Any] = []

    def _delete(self, address: int) -> None:
        self.deleted += 1

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.kind, self.ordinal

    def __dlpack__(self, *, stream: int, **named: Any) -> Any:
        self.streams.append(stream)
        if self.refuses:
            raise BufferError(self.refuses)
        if not self.versioned and named:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        assert named == ({"max_version": (1, 0)} if self.versioned else {})
        rank = len(self.shape)
        shape = (ctypes.c_int64 * max(rank, 1))(*self.shape)
        strides = (ctypes.c_int64 * max(rank, 1))(*(self.strides or ()))
        tensor = struct.pack(
            "@QiiiBBHQQQ",
            self.address,
            self.kind if self.exported_kind is None else self.exported_kind,
            self.ordinal,
            rank,
            self.code,
            self.bits,
            self.lanes,
            ctypes.addressof(shape) if rank else 0,
            ctypes.addressof(strides) if self.strides is not None else 0,
            self.byte_offset,
        )
        context = 0x1234
        deleter = ctypes.cast(self._deleter, ctypes.c_void_p).value if self.has_deleter else 0
        if self.versioned:
            head = struct.pack("@IIQQQ", self.major, 0, context, deleter, self.flags)
            managed = ctypes.create_string_buffer(head + tensor)
        else:
            managed = ctypes.create_string_buffer(tensor + struct.pack("@QQ", context, deleter))
        name = b"dltensor_versioned" if self.versioned else b"dltensor"
        title = ctypes.create_string_buffer(b"used_" + name if self.exhausted else name)
        self._kept += [shape, strides, managed, title]
        return _new_capsule(ctypes.addressof(managed), ctypes.addressof(title), None)


class Array:
    """A device array that speaks `__cuda_array_interface__`."""

    def __init__(
        self,
        shape: tuple[int, ...] = (4, 8),
        typestr: str = "<f4",
        address: int = 0x70000000,
        **changed: Any,
    ) -> None:
        interface: dict[str, Any] = {"shape": shape, "typestr": typestr, "version": 3}
        interface |= {"data": (address, False), "strides": None, "stream": None}
        self.__cuda_array_interface__ = interface | changed
