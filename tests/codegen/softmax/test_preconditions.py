"""Whatever tensors are passed, the kernel that is picked reads and writes them as it may.

Tensors are drawn, not requests: addresses, shapes, strides, orders of dimensions. What a kernel
takes for granted is then asked of the addresses of rows, which are worked out here from the tensors
alone, and its parameters are compared with them.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from fake_cuda import FakeDriver, installed
from tylo.codegen.softmax import SoftmaxRequest, choose
from tylo.codegen.softmax.few import FewKernel
from tylo.codegen.softmax.flat import FlatKernel
from tylo.codegen.softmax.kernel import SoftmaxKernel
from tylo.codegen.tensors import Tensor
from tylo.kernels.softmax_plan import _constants, plan_for

SIZE = {"f32": 4, "bf16": 2, "f16": 2}
VECTOR_BYTES = 16
WIDTHS = st.one_of(
    st.integers(1, 20),
    st.integers(1, 700),
    st.sampled_from([1 << power for power in range(22)]),
    st.sampled_from([(1 << power) + 1 for power in range(20)]),
    st.sampled_from([2**31 - 1, 2**31, 2**31 + 8, 2**33]),
)
CAPABILITIES = [(8, 0), (8, 9), (9, 0), (10, 0), (12, 0)]


@dataclass(frozen=True)
class Call:
    axis: int
    x: Tensor
    out: Tensor | None
    lse: bool
    mask: Tensor | None
    capability: tuple[int, int]


def tensor(draw: st.DrawFn, outer: tuple[int, ...], columns: int, dtype: str, base: int) -> Tensor:
    """Rows side by side or with a gap, outer dimensions in memory as they stand."""
    gap = draw(st.sampled_from([0, 0, 0, 1, 2, 4, 8, 3]))
    start = draw(st.sampled_from([0, 0, 0, 1, 2, 3, 4, 8]))
    strides, step = [1], columns + gap
    for size in reversed(outer):
        strides.append(step)
        step *= size
    address = base + start * SIZE.get(dtype, 1)
    return Tensor(address, (*outer, columns), tuple(reversed(strides)), dtype, 0)


@st.composite
def calls(draw: st.DrawFn) -> Call:
    columns = draw(WIDTHS)
    outer = tuple(draw(st.lists(st.sampled_from([1, 2, 3, 7, 64, 1000]), max_size=3)))
    dtype = draw(st.sampled_from(list(SIZE)))
    out_dtype = draw(st.sampled_from([None, *SIZE, dtype, dtype]))
    x = tensor(draw, outer, columns, dtype, 1 << 40)
    out = tensor(draw, outer, columns, out_dtype, 1 << 50) if out_dtype else None
    mask = None
    if draw(st.booleans()):
        shape = tuple(draw(st.sampled_from([1, size])) for size in (*outer, columns))
        shape = shape[draw(st.integers(0, len(outer))) :]
        mask = tensor(draw, shape[:-1], shape[-1], "bool", 1 << 55)
    given_lse = out is None or draw(st.booleans())
    return Call(len(outer), x, out, given_lse, mask, draw(st.sampled_from(CAPABILITIES)))


def places(each: Tensor, shape: tuple[int, ...]) -> list[int]:
    """The addresses of the first elements of some rows: the corners and their neighbours."""
    size = SIZE.get(each.dtype, 1)
    some = [sorted({0, min(1, n - 1), n // 2, n - 1}) for n in shape[:-1]]
    strides = each.strides[:-1]
    return [
        each.address + size * sum(i * s for i, s in zip(index, strides, strict=True))
        for index in itertools.product(*some)
    ]


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(calls())
def test_what_is_picked_may_be_used(call: Call) -> None:
    driver = FakeDriver("QQQQqq", capability=call.capability)
    with pytest.MonkeyPatch.context() as patch, installed(driver, patch):
        plan = plan_for(
            call.axis, (call.out is not None, call.lse), call.x, call.mask, call.out, None
        )
    choice, shape = plan.choice, call.x.shape
    assert choice is not None
    assert plan.request is not None
    kernel: Any = choice.kernel
    rows, columns = math.prod(shape[:-1]), shape[-1]
    dtype, out_dtype = call.x.dtype, None if call.out is None else call.out.dtype
    starts = places(call.x, shape)
    out_starts = [] if call.out is None else places(call.out, shape)
    assert (kernel.dtype, kernel.lse, kernel.out_dtype) == (dtype, call.lse, out_dtype)

    # The launch.
    cluster = choice.cluster[0]
    assert choice.block[0] % 32 == 0
    assert choice.block[0] <= 1024
    assert choice.grid[0] % cluster == 0
    assert choice.shared <= 48 << 10
    most = 1 if call.capability < (9, 0) else 16 if call.capability in ((9, 0), (10, 0)) else 8
    assert cluster <= most

    # The arguments: each is there, and says where rows are.
    constants = _constants(plan.request)
    kinds = {each.name: each.kind for each in choice.parameters}
    limits = {"u32": 1 << 32, "i32": 1 << 31, "i64": 1 << 63, "u64": 1 << 64}
    for label, kind in kinds.items():
        if kind != "pointer":
            assert 0 <= constants[label] < limits[kind]
    wanted = {"x": True, "out": out_dtype, "lse": call.lse, "mask": call.mask is not None}
    assert {label for label, kind in kinds.items() if kind == "pointer"} == {
        label for label, there in wanted.items() if there
    }
    assert constants["rows"] == rows
    assert constants["columns"] == columns

    if isinstance(kernel, FewKernel | FlatKernel):
        # Whole vectors of many rows: no gaps, and the first element aligned.
        for each, size in ((call.x, SIZE[dtype]), (call.out, SIZE[out_dtype or "f32"])):
            if each is not None:
                assert each.address % VECTOR_BYTES == 0
                ends = [place + columns * size for place in places(each, shape)]
                span = each.address + rows * columns * size
                assert max(ends) == span
        if isinstance(kernel, FewKernel):
            assert call.mask is None
            assert kernel.tile.columns == columns
            assert choice.grid[0] * kernel.tile.block_rows >= rows
        else:
            assert kernel.out_dtype in (None, dtype)
            assert kernel.columns == columns
            assert choice.grid[0] * kernel.tile.rows >= rows
            assert kernel.tile.rows * columns * SIZE[dtype] <= 48 << 10
            assert kernel.tile.rows * columns * SIZE[dtype] % VECTOR_BYTES == 0
        return

    assert isinstance(kernel, SoftmaxKernel)
    tile = kernel.tile
    assert choice.grid[0] // cluster * tile.block_rows >= rows
    if kernel.form == "rows":
        assert tile.capacity >= columns - columns % tile.vector
    # A 32-bit column may pass the last one by a step.
    column_bits = 64 if kernel.wide else 32
    assert columns + tile.capacity < 1 << column_bits
    bytes_loaded = tile.vector * SIZE[dtype]
    bytes_stored = min(VECTOR_BYTES, tile.vector * SIZE[out_dtype]) if out_dtype else 1
    assert bytes_loaded <= VECTOR_BYTES
    assert all(place % SIZE[dtype] == 0 for place in starts)
    if kernel.ragged:
        assert tile.row_threads >= 2 * tile.vector
        assert bytes_loaded == VECTOR_BYTES
    else:
        assert columns % tile.vector == 0
        assert all(place % bytes_loaded == 0 for place in starts)
        assert all(place % bytes_stored == 0 for place in out_starts)
    # The rows that the arguments describe are those of the tensors, in one and the same order.
    described = {
        call.x.address + row * constants["row_stride"] * SIZE[dtype] for row in (0, rows - 1)
    }
    assert described == {min(starts), max(starts)}
    if call.out is not None and out_dtype:
        step = constants["out_row_stride"] * SIZE[out_dtype]
        assert {call.out.address + row * step for row in (0, rows - 1)} == {
            min(out_starts),
            max(out_starts),
        }


@settings(max_examples=120, deadline=None)
@given(calls())
def test_a_mask_is_read_where_it_broadcasts(call: Call) -> None:
    """Row by row and at both ends, the kernel's digits reach the byte that broadcasting names."""
    assume(call.mask is not None)
    mask, shape = call.mask, call.x.shape
    assert mask is not None
    driver = FakeDriver("QQQQqq", capability=call.capability)
    with pytest.MonkeyPatch.context() as patch, installed(driver, patch):
        plan = plan_for(call.axis, (call.out is not None, call.lse), call.x, mask, call.out, None)
    assert plan.request is not None
    assert plan.choice is not None
    constants = _constants(plan.request)
    modes = sum(each.name.startswith("mask_extent_") for each in plan.choice.parameters)
    assert modes == len(plan.request.mask.rows)  # type: ignore[union-attr]
    some = [sorted({0, min(1, n - 1), n - 1}) for n in shape[:-1]]
    strides = (0,) * (len(shape) - len(mask.shape)) + tuple(
        0 if size == 1 else stride for size, stride in zip(mask.shape, mask.strides, strict=True)
    )
    for index in itertools.product(*some):
        # Row-major: the outer dimensions of x lie in memory as they stand.
        rest = 0
        for size, i in zip(shape[:-1], index, strict=True):
            rest = rest * size + i
        found = 0
        for mode in range(modes):
            extent = constants[f"mask_extent_{mode}"]
            found += rest % extent * constants[f"mask_stride_{mode}"]
            rest //= extent
        assert rest == 0
        for column in {0, shape[-1] - 1}:
            wanted = sum(i * s for i, s in zip((*index, column), strides, strict=True))
            assert found + column * constants["mask_column_stride"] == wanted


@pytest.mark.parametrize(
    ("capability", "cluster", "of_half"), [((9, 0), 16, 16), ((10, 0), 16, 16), ((12, 0), 1, 8)]
)
def test_large_clusters_are_for_large_devices(
    capability: tuple[int, int], cluster: int, of_half: int
) -> None:
    """16 blocks have to be allowed, and not every device with clusters has so many."""
    columns = 1 << 19
    request = SoftmaxRequest(
        4, columns, "f32", "f32", columns, columns, 16, 16, capability=capability
    )
    assert choose(request).cluster[0] == cluster
    half = replace(request, columns=columns // 2)
    assert choose(half).cluster[0] == of_half
