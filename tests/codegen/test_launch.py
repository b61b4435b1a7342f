"""Launching: what is refused beforehand, what happens without a driver, and one real kernel.

Without a GPU the device is a model that follows the documented calls: memory is host memory at
addresses of its own, a kernel is a Python function over addresses, and everything that is queued on
the stream happens when the stream is waited for, not before. It shows what the launcher
does with its arguments; that the real calls behave so is for the tests marked `gpu`.
"""

from __future__ import annotations

import ctypes
import enum
import sys
from collections import namedtuple
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy
import pytest

from tylo.codegen import launch
from tylo.codegen.launch import Device, Input, Output, Pointer, device_info
from tylo.codegen.launch import driver as driver_module
from tylo.codegen.nvrtc import compile
from tylo.layouts.errors import LaunchError

Capability = namedtuple("Capability", "major minor")
Parameter = namedtuple("Parameter", "offset size")


def _driver_is_here() -> bool:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


class Status(enum.IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1


class Attribute(enum.IntEnum):
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8


class Buffer:
    """Device memory that is host memory, at an address that is 256-aligned plus a skew."""

    def __init__(self, model: Model, size: int) -> None:
        self._memory = ctypes.create_string_buffer(size + 512)
        base = ctypes.addressof(self._memory)
        self.handle = base + (-base) % 256 + model.skew
        self.size = size
        model.live.add(self.handle)
        self._model = model

    def close(self, stream: object) -> None:
        self._model.live.remove(self.handle)


class Model:
    """A driver and a `cuda.core` of one device, with one kernel."""

    def __init__(self, kernel: Callable[..., None], sizes: list[int]) -> None:
        self.kernel, self.sizes = kernel, sizes
        self.skew = 0
        self.live: set[int] = set()
        self.launches: list[SimpleNamespace] = []
        self.shared_attribute = 0
        self.failing = ""
        self.CUfunction_attribute = Attribute
        self.queue: list[Callable[[], object]] = []
        stream = SimpleNamespace(handle="stream", sync=self._sync)
        self.device = SimpleNamespace(
            name="Model 9000",
            compute_capability=Capability(9, 0),
            properties=SimpleNamespace(max_shared_memory_per_block_optin=232448),
            set_current=lambda: None,
            create_stream=lambda: stream,
            allocate=lambda size, stream: Buffer(self, size),
        )
        self.core = SimpleNamespace(
            Device=lambda ordinal: self.device,
            ObjectCode=SimpleNamespace(from_cubin=lambda cubin: self),
            LaunchConfig=lambda **named: SimpleNamespace(**named),
            launch=self._launch,
        )

    def get_kernel(self, name: str) -> SimpleNamespace:
        if name != "k":
            raise RuntimeError("CUDA_ERROR_NOT_FOUND")
        parameters = [Parameter(8 * i, size) for i, size in enumerate(self.sizes)]
        return SimpleNamespace(arguments_info=parameters, _handle="kernel")

    def _launch(self, stream: Any, config: Any, kernel: Any, *values: Any) -> None:
        self.launches.append(config)
        self.queue.append(lambda: self.kernel(*values))

    def _sync(self) -> None:
        while self.queue:
            self.queue.pop(0)()

    def _status(self, name: str) -> tuple[Status]:
        failed = name == self.failing
        return (Status.CUDA_ERROR_INVALID_VALUE if failed else Status.CUDA_SUCCESS,)

    def cuDriverGetVersion(self) -> tuple[Status, int]:
        return Status.CUDA_SUCCESS, 13010

    def cuMemcpyHtoDAsync(self, to: int, host: int, size: int, stream: str) -> tuple[Status]:
        self.queue.append(lambda: ctypes.memmove(to, host, size))
        return self._status("cuMemcpyHtoDAsync")

    def cuMemcpyDtoHAsync(self, host: int, source: int, size: int, stream: str) -> tuple[Status]:
        self.queue.append(lambda: ctypes.memmove(host, source, size))
        return self._status("cuMemcpyDtoHAsync")

    def cuMemsetD8Async(self, to: int, byte: int, size: int, stream: str) -> tuple[Status]:
        self.queue.append(lambda: ctypes.memset(to, byte, size))
        return self._status("cuMemsetD8Async")

    def cuKernelSetAttribute(
        self, attribute: Attribute, value: int, kernel: str, device: int
    ) -> tuple[Status]:
        self.shared_attribute = value
        return self._status("cuKernelSetAttribute")


def at(address: int, dtype: type, count: int) -> Any:
    """The model device's memory as an array."""
    size = numpy.dtype(dtype).itemsize * count
    return numpy.frombuffer((ctypes.c_char * size).from_address(address), dtype)


def double_some(x: int, y: int, n: Any) -> None:
    at(y, numpy.float32, 4)[: int(n)] = 2 * at(x, numpy.float32, 4)[: int(n)]


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Model:
    made = Model(double_some, [8, 8, 4])
    monkeypatch.setattr(launch, "initialised_driver", lambda: made)
    monkeypatch.setattr(launch, "cuda_core", lambda: made.core)
    return made


X = numpy.array([1, 2, 3, 4], numpy.float32)
GOOD = [Input(X), Output(4, numpy.float32), numpy.int32(3)]


def test_inputs_go_in_outputs_come_out_and_gaps_are_poison(model: Model) -> None:
    module = Device().load(b"\x7fELF", "sm_90a")
    (doubled,) = module.launch("k", (2, 1), 32, GOOD)
    assert doubled.dtype == numpy.float32
    assert doubled[:3].tolist() == [2, 4, 6]
    assert doubled.tobytes()[12:] == b"\xff" * 4
    assert numpy.isnan(doubled[3])
    assert (model.launches[0].grid, model.launches[0].block) == ((2, 1), 32)
    assert model.live == set()


def test_a_strided_input_is_copied_in_its_own_order(model: Model) -> None:
    strided = numpy.arange(8, dtype=numpy.float32)[::2]
    (doubled,) = (
        Device()
        .load(b"", "sm_90")
        .launch("k", 1, 1, [Input(strided), Output((4,), numpy.float32), numpy.int32(4)])
    )
    assert doubled.tolist() == [0, 4, 8, 12]


def test_copies_of_strided_inputs_live_until_the_stream_is_drained(model: Model) -> None:
    def subtract(a: int, b: int, y: int) -> None:
        at(y, numpy.float32, 4)[:] = at(a, numpy.float32, 4) - at(b, numpy.float32, 4)

    model.kernel, model.sizes = subtract, [8, 8, 8]
    a = numpy.arange(8, dtype=numpy.float32)
    inputs = [Input(a[::2]), Input(a[1::2])]
    (y,) = Device().load(b"", "sm_90").launch("k", 1, 1, [*inputs, Output(4, numpy.float32)])
    assert y.tolist() == [-1] * 4


def test_outputs_keep_their_shape_and_order(model: Model) -> None:
    def fill(a: int, b: int) -> None:
        at(a, numpy.int16, 6)[:] = 7
        at(b, numpy.float64, 2)[:] = 0.5

    model.kernel, model.sizes = fill, [8, 8]
    first, second = (
        Device()
        .load(b"", "sm_90")
        .launch("k", 1, 1, [Output((2, 3), numpy.int16), Output(2, numpy.float64)])
    )
    assert first.tolist() == [[7] * 3] * 2
    assert second.tolist() == [0.5] * 2


def test_empty_arrays_are_passed(model: Model) -> None:
    model.kernel, model.sizes = lambda a, b: None, [8, 8]
    empty = numpy.empty(0, numpy.float32)
    (out,) = (
        Device().load(b"", "sm_90").launch("k", 1, 1, [Input(empty), Output((0, 4), numpy.float32)])
    )
    assert out.shape == (0, 4)


def test_dynamic_shared_memory_is_opted_into(model: Model) -> None:
    Device().load(b"", "sm_90").launch("k", 1, 32, GOOD, shared=65536)
    assert model.shared_attribute == 65536
    assert model.launches[0].shmem_size == 65536


def test_memory_of_others_is_passed_as_it_is(model: Model) -> None:
    seen = []
    model.kernel, model.sizes = seen.append, [8]
    assert Device().load(b"", "sm_90").launch("k", 1, 1, [Pointer(0x7F0000000100)]) == []
    assert seen == [0x7F0000000100]


@pytest.mark.parametrize(
    ("architecture", "runs"),
    [("sm_90a", True), ("sm_90", True), ("sm_80", False), ("sm_100a", False), ("sm_100f", False)],
)
def test_machine_code_of_another_architecture_is_refused(
    architecture: str, runs: bool, model: Model
) -> None:
    device = Device()
    if runs:
        device.load(b"", architecture)
    else:
        with pytest.raises(LaunchError, match=r"Model 9000, whose compute capability is 9\.0"):
            device.load(b"", architecture)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (GOOD[:2], "takes 3 arguments, 2 were given"),
        ([*GOOD, numpy.int32(1)], "takes 3 arguments, 4 were given"),
        ([*GOOD[:2], numpy.int64(3)], "argument 2 of 'k' has 8 bytes, the parameter has 4"),
        ([*GOOD[:2], numpy.float16(3)], "argument 2 of 'k' has 2 bytes, the parameter has 4"),
        ([numpy.int32(0), *GOOD[1:]], "argument 0 of 'k' has 4 bytes, the parameter has 8"),
        ([*GOOD[:2], Input(X)], "argument 2 of 'k' has 8 bytes, the parameter has 4"),
        ([*GOOD[:2], 3], "argument 2 is 3 of type int"),
        ([X, *GOOD[1:]], "argument 0 is array"),
        ([*GOOD[:2], numpy.complex64(3)], "argument 2 is"),
        ([Input(X.astype(">f4")), *GOOD[1:]], "argument 0 has elements of type dtype"),
        ([Input(X.astype(object)), *GOOD[1:]], "argument 0 has elements of type dtype"),
        ([GOOD[0], Output(4, "U3"), GOOD[2]], "argument 1 has elements of type dtype"),
        ([Pointer(0x7F0000000104), *GOOD[1:]], "argument 0 lies at 0x7f0000000104"),
        ([GOOD[0], Pointer(0x7F0000000110, 32), GOOD[2]], "not a multiple of 32 bytes"),
    ],
)
def test_bad_arguments_are_refused_before_the_launch(
    arguments: list[Any], message: str, model: Model
) -> None:
    module = Device().load(b"", "sm_90")
    with pytest.raises(LaunchError, match=message):
        module.launch("k", 1, 1, arguments)
    assert model.launches == []
    assert model.live == set()


def test_an_allocation_that_is_misaligned_is_refused(model: Model) -> None:
    model.skew = 8
    with pytest.raises(LaunchError, match="not a multiple of 16 bytes"):
        Device().load(b"", "sm_90").launch("k", 1, 1, GOOD)
    assert model.launches == []


@pytest.mark.parametrize("grid", [0, (1, 0), (), (1, 1, 1, 1), -1])
def test_grids_and_blocks_are_one_to_three_positive_sizes(grid: Any, model: Model) -> None:
    module = Device().load(b"", "sm_90")
    with pytest.raises(LaunchError, match="grid"):
        module.launch("k", grid, 1, GOOD)
    with pytest.raises(LaunchError, match="block"):
        module.launch("k", 1, grid, GOOD)


@pytest.mark.parametrize("shared", [-1, 232449])
def test_more_shared_memory_than_the_device_has_is_refused(shared: int, model: Model) -> None:
    with pytest.raises(LaunchError, match="232448 per block"):
        Device().load(b"", "sm_90").launch("k", 1, 1, GOOD, shared=shared)


def test_an_unknown_kernel_and_a_fault_are_launch_errors(model: Model) -> None:
    module = Device().load(b"", "sm_90")
    with pytest.raises(LaunchError, match=r"'other'.*CUDA_ERROR_NOT_FOUND"):
        module.launch("other", 1, 1, GOOD)

    def fault(*_: object) -> None:
        raise RuntimeError("CUDA_ERROR_ILLEGAL_ADDRESS")

    model.kernel = fault
    with pytest.raises(LaunchError, match=r"running kernel 'k'.*ILLEGAL_ADDRESS"):
        module.launch("k", 1, 1, GOOD)
    assert model.live == set()


@pytest.mark.parametrize("call", ["cuMemcpyHtoDAsync", "cuMemsetD8Async", "cuMemcpyDtoHAsync"])
def test_a_failing_driver_call_is_named(call: str, model: Model) -> None:
    model.failing = call
    with pytest.raises(LaunchError, match=f"{call} failed with CUDA_ERROR_INVALID_VALUE"):
        Device().load(b"", "sm_90").launch("k", 1, 1, GOOD)


def test_the_device_is_described(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "driver_version", lambda: "580.159.04")
    info = device_info()
    assert (info.name, info.compute_capability) == ("Model 9000", (9, 0))
    assert (info.driver_version, info.cuda_version) == ("580.159.04", "13.1")


def test_n08_without_a_driver_the_error_names_it_and_what_still_works(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def absent(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(driver_module.ctypes, "CDLL", absent)
    for query in (Device, device_info):
        with pytest.raises(LaunchError, match=r"libcuda\.so\.1") as caught:
            query()
        assert "layouts, proofs, code generation and compilation" in caught.value.hint
    assert driver_module.driver_version() == "unknown"


def test_missing_packages_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.core", None)
    with pytest.raises(LaunchError, match=r"cuda\.core is not installed") as caught:
        driver_module.cuda_core()
    assert "tylo[cu12]" in caught.value.hint


def test_cuda_core_has_the_names_that_are_used() -> None:
    core = driver_module.cuda_core()
    for name in ("Device", "LaunchConfig", "ObjectCode", "launch"):
        assert hasattr(core, name)
    for name in ("set_current", "create_stream", "allocate", "compute_capability", "properties"):
        assert hasattr(core.Device, name)
    assert hasattr(core.ObjectCode, "from_cubin")
    assert hasattr(core.ObjectCode, "get_kernel")
    assert hasattr(core.Kernel, "arguments_info")
    assert hasattr(core.Kernel, "_handle")


def test_the_driver_bindings_have_the_calls_that_are_used() -> None:
    from cuda.bindings import driver

    for name in (
        "cuInit",
        "cuDriverGetVersion",
        "cuMemcpyHtoDAsync",
        "cuMemcpyDtoHAsync",
        "cuMemsetD8Async",
        "cuKernelSetAttribute",
    ):
        assert callable(getattr(driver, name))
    assert driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES == 8


@pytest.mark.gpu
@pytest.mark.skipif(not _driver_is_here(), reason="needs a CUDA device: libcuda.so.1 is absent")
def test_a_real_kernel_reads_writes_and_leaves_poison() -> None:
    device = Device()
    major, minor = device.capability
    source = (
        'extern "C" __global__ void k(const float* x, float* y, int n) {\n'
        "  extern __shared__ float s[];\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  s[threadIdx.x + 16000] = i < n ? x[i] : 0.0f;\n"
        "  __syncthreads();\n"
        "  if (i < n) y[i] = 2.0f * s[threadIdx.x + 16000];\n"
        "}\n"
    )
    compiled = compile(source, f"sm_{major}{minor}", kernels=["k"])
    module = device.load(compiled.cubin, compiled.architecture)
    x = numpy.arange(100, dtype=numpy.float32)
    arguments = [Input(x), Output(100, numpy.float32), numpy.int32(90)]
    (y,) = module.launch("k", 4, 32, arguments, shared=64 * 1024 + 128)
    assert y[:90].tolist() == (2 * x[:90]).tolist()
    assert y[90:].tobytes() == b"\xff" * 40
    with pytest.raises(LaunchError, match="has 8 bytes, the parameter has 4"):
        module.launch("k", 4, 32, [*arguments[:2], numpy.int64(90)])
    info = device.info()
    assert info.name
    assert info.compute_capability == (major, minor)
    assert info.driver_version[0].isdigit()
