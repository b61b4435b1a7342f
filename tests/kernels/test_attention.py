"""Attention calls without a GPU: geometry, refusals, and what a launch hands to the driver."""

from __future__ import annotations

import ctypes
import importlib
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest

import fake_torch
import tylo
from tylo.codegen.attention import launch as launching
from tylo.codegen.attention import tensor_maps
from tylo.codegen.attention.choose import Request, choose
from tylo.codegen.attention.launch import Ready
from tylo.codegen.attention.member import Member
from tylo.codegen.attention.problem import Arguments
from tylo.codegen.launch.devices import DeviceState
from tylo.codegen.tensors import Tensor
from tylo.codegen.tensors.tensor import compact_strides
from tylo.kernels.attention_geometry import attention_geometry
from tylo.layouts.errors import GenerationError, LaunchError

CASES = {
    case["id"]: case
    for case in json.loads(
        (Path(__file__).parents[1] / "data" / "cases.json").read_text(encoding="utf-8")
    )
    if case["area"] == "attention"
}
PLAIN: dict[str, Any] = {"causal": None, "scale": None, "enable_gqa": False, "layout": "BHSD"}


def tensor(shape: tuple[int, ...], dtype: str = "bf16", **changed: Any) -> Tensor:
    return replace(Tensor(0x10000, shape, compact_strides(shape), dtype, 0), **changed)


def geometry(*tensors: Any, mask: Any = None, out: Any = None, **options: Any) -> Any:
    return attention_geometry(*tensors, mask, out, **(PLAIN | options))


Q, K = tensor((2, 4, 40, 64)), tensor((2, 4, 33, 64))


def test_both_layouts_are_one_problem() -> None:
    plain = geometry(Q, K, K)
    rows = tensor((2, 40, 4, 64)), tensor((2, 33, 4, 64)), tensor((2, 33, 4, 64))
    other = geometry(*rows, layout="BSHD")
    assert plain.problem.q == (4 * 40 * 64, 40 * 64, 64)
    assert other.problem.q == (4 * 40 * 64, 64, 4 * 64)
    assert other.problem.k == (4 * 33 * 64, 64, 4 * 64)
    assert other.problem.out == other.problem.q
    assert (other.out_shape, other.lse_shape) == ((2, 40, 4, 64), (2, 4, 40))
    assert plain.request == other.request == Request(64, "bf16", 40, 33, False, False)
    assert plain.problem.scale == 0.125


def test_masks_broadcast_like_numpy_s() -> None:
    case = CASES["A08"]
    for shape, valid in zip(case["input"]["shapes"], case["expected"]["valid"], strict=True):
        mask = tensor(tuple(shape), "bool")
        if valid:
            found = geometry(Q, K, K, mask=mask).problem.mask
            wide = numpy.broadcast_to(numpy.zeros(shape, numpy.uint8), (2, 4, 40, 33))
            for stride, wanted, extent in zip(found, wide.strides, wide.shape, strict=True):
                assert extent == 1 or stride == wanted
        else:
            with pytest.raises(LaunchError, match="does not broadcast"):
                geometry(Q, K, K, mask=mask)


def test_the_stride_of_a_size_one_axis_of_a_mask_is_not_used() -> None:
    case = CASES["A09"]
    mask = tensor(tuple(case["input"]["shape"]), "bool", strides=tuple(case["input"]["strides"]))
    found = geometry(Q, K, K, mask=mask).problem.mask
    assert list(found) == case["expected"]["effective_strides"]


def test_head_counts() -> None:
    case = CASES["A11"]
    for (heads, key_heads), valid in zip(
        case["input"]["pairs"], case["expected"]["valid"], strict=True
    ):
        q, k = tensor((1, heads, 8, 64)), tensor((1, key_heads, 8, 64))
        if valid:
            assert geometry(q, k, k, enable_gqa=True).problem.key_heads == key_heads
        else:
            with pytest.raises(LaunchError, match=f"{heads} query heads do not divide"):
                geometry(q, k, k, enable_gqa=True)
    with pytest.raises(LaunchError, match="pass enable_gqa=True"):
        geometry(tensor((1, 8, 8, 64)), tensor((1, 2, 8, 64)), tensor((1, 2, 8, 64)))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"q": tensor((2, 4, 40, 64), "f32")}, "q has elements of type f32; attention takes"),
        ({"k": tensor((2, 4, 33, 64), "f16")}, "k has elements of type f16, q of type bf16"),
        ({"v": tensor((2, 4, 32, 64))}, "v is .batch, heads, length, depth. = .2, 4, 32, 64"),
        ({"k": tensor((1, 4, 33, 64))}, "k is .batch, heads, length, depth. = .1, 4, 33, 64"),
        ({"k": tensor((2, 4, 33, 128))}, "k is .batch, heads, length, depth"),
        ({"q": tensor((8, 40, 64))}, "q has 3 dimensions"),
        ({"q": replace(Q, address=0x10002)}, "q lies at 0x10002, no multiple of 16 bytes"),
        ({"q": replace(Q, strides=(10240, 2560, 1, 40))}, "elements of a row of q are 40 apart"),
        ({"k": replace(K, strides=(8448, 2112, 66, 1))}, "rows of k are 132 bytes apart"),
        ({"k": replace(K, strides=(0, 2112, 64, 1))}, "batches of k are 0 bytes apart"),
        ({"out": tensor((2, 4, 40, 32))}, "out is .batch, heads, length, depth"),
        ({"out": replace(Q, strides=(10240, 2560, 32, 1))}, "out overlaps itself"),
        ({"mask": tensor((40, 33), "f32")}, "mask has elements of type f32; pass a Boolean mask"),
        ({"layout": "SBHD"}, "the layout is 'SBHD'"),
        ({"causal": True}, "causal is True"),
        ({"scale": float("nan")}, "the scale is nan"),
    ],
)
def test_refusals(change: dict[str, Any], complaint: str) -> None:
    given: dict[str, Any] = {"q": Q, "k": K, "v": K} | change
    operands = [given.pop(name) for name in "qkv"]
    with pytest.raises(LaunchError, match=complaint):
        geometry(*operands, **given)


def test_depths_without_a_kernel() -> None:
    wide = tensor((1, 1, 8, 96))
    with pytest.raises(GenerationError, match="pad q, k and v with zeros to 64 or 128"):
        choose(geometry(wide, wide, wide).request)


@pytest.mark.parametrize("depth", [64, 128])
@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_every_choice_is_a_kernel(depth: int, dtype: str) -> None:
    for length in (0, 1, 512, 1024, 2048, 4096, 16384):
        for causal in (False, True):
            for mask in (False, True):
                found = choose(Request(depth, dtype, length, length, causal, mask))
                assert (found.member.depth, found.member.dtype) == (depth, dtype)
                assert found.member.mask == mask
                assert found.reason


PACKING = 11  # the handle of the kernel that packs masks; others are 7


class Driver(SimpleNamespace):
    def __init__(self) -> None:
        super().__init__(launches=[])

    def cuCtxGetCurrent(self) -> tuple[int, int]:
        return 0, 1

    def cuLaunchKernel(self, *arguments: int) -> tuple[int]:
        *_, table, _ = arguments
        if arguments[0] == PACKING:
            places = (ctypes.c_void_p * 3).from_address(table)
            addresses = [ctypes.c_uint64.from_address(place).value for place in places]
            self.launches.append((arguments, addresses, None))
            return (0,)
        pointers = (ctypes.c_void_p * 5).from_address(table)
        maps = [ctypes.string_at(pointers[n], 16) for n in range(4)]
        self.launches.append((arguments, maps, Arguments.from_buffer_copy(
            ctypes.string_at(pointers[4], ctypes.sizeof(Arguments))
        )))  # fmt: skip
        return (0,)


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """Tensor maps that hold their address, and the calls that made them."""
    calls: list[tuple[int, ...]] = []

    def encode(target: Any, *rest: Any) -> int:
        address = rest[2].value
        calls.append((address, *rest[3], *rest[4], *rest[5], rest[8].value))
        assert target.value % 64 == 0
        ctypes.c_uint64.from_address(target.value).value = address
        return int(address == 0xBAD0)

    monkeypatch.setattr(tensor_maps, "_encode", lambda: encode)
    handles = {"pack_mask": PACKING}
    monkeypatch.setattr(
        launching, "loaded_function", lambda choice, device: handles.get(choice.kernel.entry, 7)
    )
    return calls


def test_a_launch_hands_over_maps_and_arguments(encoded: list[tuple[int, ...]]) -> None:
    driver = Driver()
    device = DeviceState(driver, 0, 1, (9, 0), 132, 232448)
    problem = geometry(Q, K, K, causal="bottom_right").problem
    member = Member(64, "bf16", 2, 128, 3)
    ready = Ready(member, problem, device, persistent=True)
    places = {"q": 0x1000, "k": 0x2000, "v": 0x3000, "out": 0x4000}
    ready(**places, lse=0x5000, mask=0, stream=9)
    ready(**(places | {"out": 0x6000}), lse=0, mask=0, stream=9)
    assert encoded == [
        (0x1000, 64, 40, 4, 2, 128, 5120, 20480, 64, 64, 1, 1, 3),
        (0x2000, 64, 33, 4, 2, 128, 4224, 16896, 64, 128, 1, 1, 3),
        (0x3000, 64, 33, 4, 2, 128, 4224, 16896, 64, 128, 1, 1, 3),
        (0x4000, 64, 40, 4, 2, 128, 5120, 20480, 64, 64, 1, 1, 3),
        (0x6000, 64, 40, 4, 2, 128, 5120, 20480, 64, 64, 1, 1, 3),
    ]
    (first, maps, arguments), (_, later_maps, later) = driver.launches
    assert first[:9] == (7, 8, 1, 1, 384, 1, 1, member.shared_bytes, 9)
    assert [int.from_bytes(each[:8], "little") for each in maps] == list(places.values())
    assert int.from_bytes(later_maps[3][:8], "little") == 0x6000
    assert (arguments.lse, later.lse) == (0x5000, 0)
    assert (arguments.diagonal, arguments.paired, arguments.places) == (-7, 1, 1)
    with pytest.raises(LaunchError, match="the driver refuses a tensor map of q at 0xbad0"):
        ready(**(places | {"q": 0xBAD0}), lse=0, mask=0, stream=9)


def test_devices_without_wgmma(encoded: list[tuple[int, ...]]) -> None:
    case = CASES["A19"]
    problem = geometry(Q, K, K).problem
    for (major, minor), allowed in zip(
        case["input"]["capabilities"], case["expected"]["allowed"], strict=True
    ):
        device = DeviceState(Driver(), 0, 1, (major, minor), 132, 232448)
        if allowed:
            Ready(Member(64, "bf16", 2, 64, 4), problem, device, persistent=False)
        else:
            with pytest.raises(LaunchError, match=f"device 0 has {major}.{minor}"):
                Ready(Member(64, "bf16", 2, 64, 4), problem, device, persistent=False)


def test_many_heads_stay_on_the_long_axis_of_the_grid(encoded: list[tuple[int, ...]]) -> None:
    for shape in CASES["A12"]["input"]["cases"]:
        one = tensor((shape["B"], shape["H"], 8, 64))
        problem = geometry(one, one, one).problem
        driver = Driver()
        device = DeviceState(driver, 0, 1, (9, 0), 132, 232448)
        ready = Ready(Member(64, "bf16", 2, 64, 4), problem, device, persistent=False)
        ready(q=16, k=16, v=16, out=16, lse=0, mask=0, stream=0)
        assert driver.launches[0][0][1:4] == (shape["B"] * shape["H"], 1, 1)


def test_no_keys_need_no_map_of_keys(encoded: list[tuple[int, ...]]) -> None:
    none = tensor((2, 4, 0, 64))
    driver = Driver()
    device = DeviceState(driver, 0, 1, (9, 0), 132, 232448)
    problem = geometry(Q, none, none).problem
    Ready(Member(64, "bf16", 2, 64, 4), problem, device, persistent=False)(
        q=0x1000, k=0, v=0, out=0x4000, lse=0, mask=0, stream=0
    )
    assert all(0 not in call[1:5] for call in encoded)
    assert driver.launches[0][2].keys == 0
    empty = geometry(tensor((2, 4, 0, 64)), K, K)
    assert empty.problem.empty


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, encoded: list[tuple[int, ...]]) -> Driver:
    """`tylo.kernels.attention` on torch tensors that have no data, and a driver that records."""
    fake_torch.installed(monkeypatch)
    module = importlib.import_module("tylo.kernels.attention")
    module._plans.clear()
    driver = Driver()
    monkeypatch.setattr(
        module, "device_state", lambda ordinal: DeviceState(driver, 0, 1, (9, 0), 132, 232448)
    )
    return driver


def fake(shape: tuple[int, ...], address: int, dtype: str = "torch.bfloat16") -> Any:
    return fake_torch.Tensor(shape, dtype, address=address)


def test_a_call_allocates_launches_and_is_remembered(calls: Driver) -> None:
    q, k, v = (fake((2, 4, 40, 64), 0x40000000 + 0x100000 * n) for n in range(3))
    out, lse = tylo.kernels.attention(q, k, v, return_lse=True, causal="top_left")
    assert (out.shape, out.dtype) == ((2, 4, 40, 64), "torch.bfloat16")
    assert (lse.shape, lse.dtype) == ((2, 4, 40), "torch.float32")
    _, maps, arguments = calls.launches[0]
    assert [int.from_bytes(each[:8], "little") for each in maps] == [
        each.address for each in (q, k, v, out)
    ]
    assert (arguments.lse, arguments.diagonal) == (lse.address, 0)
    again = tylo.kernels.attention(q, k, v, causal="top_left")
    assert int.from_bytes(calls.launches[1][1][3][:8], "little") == again.address
    assert calls.launches[1][2].lse == 0
    assert len(importlib.import_module("tylo.kernels.attention")._plans) == 2


def test_outputs_that_share_memory_are_refused_at_every_call(calls: Driver) -> None:
    q, k, v = (fake((2, 4, 40, 64), 0x40000000 + 0x100000 * n) for n in range(3))
    own = fake((2, 4, 40, 64), 0x60000000)
    assert tylo.kernels.attention(q, k, v, out=own) is own
    for shift in (0, 2 * 4 * 40 * 64 * 2 - 16):
        shared = fake((2, 4, 40, 64), v.address + shift)
        with pytest.raises(
            LaunchError, match=f"out and v share memory, first at {shared.address:#x}"
        ):
            tylo.kernels.attention(q, k, v, out=shared)
    behind = fake((2, 4, 40, 64), v.address + 2 * 4 * 40 * 64 * 2)
    tylo.kernels.attention(q, k, v, out=behind)
    assert len(calls.launches) == 2


def test_nothing_is_launched_for_nothing(calls: Driver) -> None:
    empty = fake((2, 4, 0, 64), 0x40000000)
    keys = fake((2, 4, 9, 64), 0x40000000)
    assert tylo.kernels.attention(empty, keys, keys).shape == (2, 4, 0, 64)
    assert not calls.launches


def test_the_choice_can_be_asked_for(calls: Driver) -> None:
    q = fake((2, 4, 4096, 128), 0x40000000)
    found = tylo.kernels.attention_choice(q, q, q, causal="top_left")
    assert found.member.groups == 2
    assert "128 rows to a block" in found.reason
    assert not calls.launches


def test_a_mask_is_packed_first_into_memory_of_the_caller_s_library(calls: Driver) -> None:
    q, k, v = (fake((2, 4, 40, 64), 0x40000000 + 0x100000 * n) for n in range(3))
    mask = fake((40, 40), 0x70000000, "torch.bool")
    out = fake((2, 4, 40, 64), 0x60000000)
    tylo.kernels.attention(q, k, v, mask=mask, out=out)
    (workspace,) = __import__("sys").modules["torch"].made
    (pack, addresses, _), (run, _, arguments) = calls.launches
    assert (pack[0], run[0]) == (PACKING, 7)
    # One head of 40 rows is packed, in one record: 640 bytes of bits, then one word of steps.
    assert addresses == [0x70000000, workspace.address, workspace.address + 640]
    assert workspace.shape == (644,)
    assert pack[1:4] == (1, 1, 1)
    assert (arguments.bits, arguments.kept) == tuple(addresses[1:])
    assert (arguments.bits_batch, arguments.bits_head) == (0, 0)
    assert (arguments.bits_record, arguments.bits_row, arguments.kept_row) == (160, 4, 4)


def test_a_mask_of_another_library_is_packed_into_the_stream_s_memory(
    calls: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls.cuMemAllocAsync = lambda size, stream: calls.launches.append((size, stream)) or (0, 0x900)
    calls.cuMemFreeAsync = lambda address, stream: calls.launches.append((address, stream)) or (0,)
    module = importlib.import_module("tylo.kernels.attention")
    monkeypatch.setattr(module, "torch_of", lambda value: None)
    q = fake((2, 4, 40, 64), 0x40000000)
    mask = fake((1, 1), 0x70000000, "torch.bool")
    tylo.kernels.attention(q, q, q, mask=mask, out=fake((2, 4, 40, 64), 0x60000000))
    taken, (_, addresses, _), _, given = calls.launches
    assert (taken, given) == ((20, 0), (0x900, 0))
    assert addresses == [0x70000000, 0x900, 0x910]


def test_no_keys_and_a_mask(calls: Driver) -> None:
    q, none = fake((2, 4, 40, 64), 0x40000000), fake((2, 4, 0, 64), 0x50000000)
    mask = fake((40, 0), 0x70000000, "torch.bool")
    tylo.kernels.attention(q, none, none, mask=mask)
    assert [launch[0][0] for launch in calls.launches] == [7]
