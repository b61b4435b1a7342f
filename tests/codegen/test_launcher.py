"""Launching on memory of others: arguments, contexts, limits, and what happens once only."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fake_cuda import OTHER_CONTEXT, PRIMARY, FakeDriver, installed, stand_in
from tylo.codegen.launch import parameters
from tylo.codegen.launch.choice import Choice, Parameter
from tylo.codegen.launch.devices import DeviceState, device_state
from tylo.codegen.launch.launcher import launcher
from tylo.layouts.errors import CompileError, LaunchError

MIXED = ("pointer x", "i32 columns", "pointer out", "f32 scale", "i64 rows")
CONSTANTS = {"columns": -3, "scale": 0.5, "rows": 2**40, "unused": 1}


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeDriver]:
    monkeypatch.setenv("TYLO_CACHE_DIR", str(tmp_path))
    with installed(FakeDriver("QiQfq"), monkeypatch) as found:
        yield found


@pytest.fixture
def device(driver: FakeDriver) -> DeviceState:
    return device_state(0)


def ready(choice: Choice, device: DeviceState) -> Any:
    return launcher(choice, device, CONSTANTS, pointers=("x", "mask", "out"))


def test_parameters_are_passed_in_the_kernels_order(
    driver: FakeDriver, device: DeviceState
) -> None:
    go = ready(stand_in(*MIXED, grid=(2**31 - 1, 3, 2), block=(32, 4, 2)), device)
    go((0x1000, 0x2000, 0x3000), 0x55D0)
    go((0x4000, 0, 0x5000), 0)
    first, second = driver.launches
    assert first.values == (0x1000, -3, 0x3000, 0.5, 2**40)
    assert second.values == (0x4000, -3, 0x5000, 0.5, 2**40)
    assert (first.grid, first.block) == ((2**31 - 1, 3, 2), (32, 4, 2))
    assert (first.stream, second.stream) == (0x55D0, 0)
    assert first.cluster is None


def test_compiled_and_loaded_once_per_device(driver: FakeDriver) -> None:
    for ordinal in (0, 1, 0):
        ready(stand_in(*MIXED), device_state(ordinal))((1, 2, 3), 0)
        ready(stand_in(*MIXED, grid=(9, 1, 1)), device_state(ordinal))((1, 2, 3), 0)
    assert driver.libraries == 2
    assert [call for call in driver.calls if call[0] in {"load", "retain"}] == [
        ("retain", 0),
        ("load", PRIMARY),
        ("retain", 1),
        ("load", PRIMARY + 1),
    ]
    assert [launch.context for launch in driver.launches] == [PRIMARY] * 2 + [PRIMARY + 1] * 2 + [
        PRIMARY
    ] * 2


@pytest.mark.parametrize("before", [0, OTHER_CONTEXT, PRIMARY])
def test_the_context_is_left_as_found(before: int, driver: FakeDriver, device: DeviceState) -> None:
    driver.current = before
    go = ready(stand_in(*MIXED), device)
    go((1, 2, 3), 0)
    driver.failing = "launch"
    with pytest.raises(LaunchError, match="failed with CUDA_ERROR_INVALID_HANDLE"):
        go((1, 2, 3), 0x99)
    assert [launch.context for launch in driver.launches] == [PRIMARY, PRIMARY]
    assert (driver.current, driver.stack) == (before, [])


def test_a_launch_waits_for_nothing_and_allocates_nothing(
    driver: FakeDriver, device: DeviceState
) -> None:
    go = ready(stand_in(*MIXED), device)
    driver.calls.clear()
    go((1, 2, 3), 0)
    assert driver.calls == [("launch",)]


def test_loading_is_allowed_while_a_stream_is_captured(
    driver: FakeDriver, device: DeviceState
) -> None:
    ready(stand_in(*MIXED), device)
    modes = [call[1] for call in driver.calls if call[0] == "capture mode"]
    assert modes == ["relaxed", "global"]


def test_large_shared_memory_and_clusters_are_allowed_once(
    driver: FakeDriver, device: DeviceState
) -> None:
    for shared in (49152, 65536, 65536, 50000, 232448):
        ready(stand_in(*MIXED, shared=shared), device)
    go = ready(stand_in(*MIXED, grid=(32, 1, 1), cluster=(16, 1, 1), shared=1024), device)
    ready(stand_in(*MIXED, grid=(32, 1, 1), cluster=(8, 1, 1)), device)
    allowed = [call[1:3] for call in driver.calls if call[0] == "allow"]
    assert allowed == [("shared", 65536), ("shared", 232448), ("cluster", 1)]
    for stream in (5, 6):
        go((1, 2, 3), stream)
    assert [(each.cluster, each.shared, each.stream) for each in driver.launches] == [
        ((16, 1, 1), 1024, 5),
        ((16, 1, 1), 1024, 6),
    ]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"grid": (2**31, 1, 1)}, "needs 2147483648 blocks along x, a grid has 1 to 2147483647"),
        ({"grid": (1, 65536, 1)}, "65536 blocks along y"),
        ({"grid": (1, 1, 0)}, "0 blocks along z"),
        ({"block": (1025, 1, 1)}, "blocks of 1025 threads"),
        ({"block": (0, 1, 1)}, "blocks of 0 threads"),
        ({"shared": 232449}, "232449 bytes of dynamic shared memory, device 0 has 232448"),
        ({"shared": -1}, "-1 bytes"),
        ({"cluster": (2, 1, 1)}, r"grid of \(7, 1, 1\) blocks in clusters of \(2, 1, 1\)"),
        ({"architecture": "sm_100a"}, r"made for sm_100a, device 0 has compute capability 9\.0"),
        ({"architecture": "sm_80"}, "made for sm_80"),
    ],
)
def test_geometry_is_refused_before_anything_is_compiled(
    changed: dict[str, Any], message: str, driver: FakeDriver, device: DeviceState
) -> None:
    with pytest.raises(LaunchError, match=message):
        ready(stand_in(*MIXED, **changed), device)
    assert (driver.libraries, driver.launches) == (0, [])


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        (("pointer y",), "the pointer parameter 'y', given are"),
        (("i32 depth",), "the i32 parameter 'depth'"),
        (("i32 rows",), "rows = 1099511627776 does not fit the i32 parameter"),
        (("u32 columns",), "columns = -3 does not fit the u32 parameter"),
    ],
)
def test_parameters_that_nobody_passes_are_refused(
    declared: tuple[str, ...], message: str, device: DeviceState
) -> None:
    with pytest.raises(LaunchError, match=message):
        ready(stand_in(*declared), device)


def test_a_parameter_of_no_known_kind_is_refused() -> None:
    with pytest.raises(LaunchError, match="'x' has the kind 'f16'"):
        Parameter("x", "f16")


def test_text_that_does_not_compile_leaves_nothing_behind(
    driver: FakeDriver, device: DeviceState
) -> None:
    choice = stand_in("pointer x", kernel=Broken())
    for _ in range(2):
        with pytest.raises(CompileError):
            ready(choice, device)
    assert driver.libraries == 0


class Broken:
    entry = "broken"

    def source(self) -> str:
        return 'extern "C" __global__ void broken(void* x) { oops }'


def test_a_device_that_does_not_exist_is_refused(driver: FakeDriver) -> None:
    with pytest.raises(LaunchError, match="CUDA device 2 does not exist: the driver sees 2"):
        device_state(2)


def test_threads_never_share_a_block_of_parameters(driver: FakeDriver, device: DeviceState) -> None:
    go = ready(stand_in(*MIXED), device)
    # One block of parameters lies ready, which four threads want at once.
    go((0, 0, 0), 0)
    gate = threading.Barrier(4)
    launched = driver.cuLaunchKernel

    def slowly(*arguments: Any) -> Any:
        gate.wait(timeout=20)
        return launched(*arguments)

    driver.cuLaunchKernel = slowly  # type: ignore[method-assign]
    threads = [
        threading.Thread(target=lambda i=i: [go((i, 0, 10 * i), i) for _ in range(25)])
        for i in range(1, 5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert len(driver.launches) == 101
    assert all(each.values[0] == each.stream for each in driver.launches)
    assert all(each.values[2] == 10 * each.stream for each in driver.launches)


def test_a_block_of_parameters_is_used_again(
    driver: FakeDriver, device: DeviceState, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    whole = parameters.Block

    def counted(*arguments: Any) -> Any:
        made.append(arguments)
        return whole(*arguments)

    monkeypatch.setattr(parameters, "Block", counted)
    go = ready(stand_in(*MIXED), device)
    for _ in range(3):
        go((1, 2, 3), 0)
    driver.failing = "launch"
    with pytest.raises(LaunchError):
        go((1, 2, 3), 0)
    assert (len(made), len(driver.launches)) == (1, 4)


def test_the_driver_bindings_take_what_is_passed() -> None:
    """The real classes of a clustered launch, and the calls that the fake stands in for."""
    from cuda.bindings import driver as real

    from tylo.codegen.launch.launcher import _clustered

    config = _clustered(real, stand_in(*MIXED, grid=(8, 1, 1), cluster=(4, 2, 1), shared=64))
    config.hStream = 0x55D0
    assert (config.gridDimX, config.blockDimX, config.sharedMemBytes) == (8, 128, 64)
    assert int(config.hStream) == 0x55D0
    assert config.numAttrs == 1
    assert int(config.attrs[0].id) == 4
    cluster = config.attrs[0].value.clusterDim
    assert (cluster.x, cluster.y, cluster.z) == (4, 2, 1)
    for name in ("cuLaunchKernel", "cuLaunchKernelEx", "cuLibraryLoadData", "cuLibraryGetKernel"):
        assert callable(getattr(real, name))
    attribute = real.CUfunction_attribute
    assert attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED == 14
    assert real.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED == 2
    assert callable(real.cuThreadExchangeStreamCaptureMode)
