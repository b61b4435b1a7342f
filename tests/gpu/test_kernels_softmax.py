"""`tylo.kernels.softmax` on a device: values, memory, streams, graphs, gradients.

The reference is the definition in float64, written out: torch's own softmax is a peer, not a judge.
Every output is poisoned before the call, and so is the padding around it.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import pytest

import tylo
from tylo.codegen.launch import Device
from tylo.layouts.errors import LaunchError

pytestmark = pytest.mark.gpu
softmax, log_sum_exp = tylo.kernels.softmax, tylo.kernels.log_sum_exp

# The relative error allowed: half a unit in the last place of the type, and the kernel's own.
RELATIVE = {"float32": 1e-5, "bfloat16": 2**-8, "float16": 2**-10}
WIDTHS = [1, 2, 3, 7, 17, 33, 64, 127, 257, 513, 781, 1024, 1400, 4096, 4099, 32768, 50257, 151937]


@pytest.fixture(scope="module")
def torch(device: Device) -> Any:
    module = pytest.importorskip("torch", reason="needs torch beside the device")
    if not module.cuda.is_available():
        pytest.skip("this torch has no CUDA")
    module.manual_seed(11)
    return module


def reference(torch: Any, x: Any, mask: Any = None) -> tuple[Any, Any]:
    """Along the last axis: fully masked rows are zeros and -inf."""
    scores = x.double()
    if mask is not None:
        scores = scores.masked_fill(~mask.expand(x.shape), -math.inf)
    top = scores.amax(-1, keepdim=True)
    top = torch.where(top == -math.inf, 0, top)
    weights = torch.exp(scores - top)
    total = weights.sum(-1, keepdim=True)
    return weights / torch.where(total == 0, 1, total), (torch.log(total) + top).squeeze(-1)


def agree(torch: Any, found: Any, expected: Any) -> None:
    name = str(found.dtype).removeprefix("torch.")
    smallest = 6e-8 if name == "float16" else 1e-30
    torch.testing.assert_close(
        found.double(), expected, rtol=RELATIVE[name], atol=smallest, equal_nan=True
    )


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_values_and_padding(torch: Any, dtype: str, columns: int) -> None:
    kind, nan = getattr(torch, dtype), float("nan")
    buffer = torch.full((7, columns + 24), nan, device="cuda", dtype=kind)
    target = torch.full((7, columns + 40), nan, device="cuda", dtype=kind)
    for start in (0, 1, 8):
        x = buffer[:, start : start + columns]
        x.copy_(4 * torch.randn(7, columns, device="cuda"))
        out = target[:, start : start + columns]
        found, lse = softmax(x, out=out, return_lse=True) if start == 0 else (softmax(x), None)
        expected, expected_lse = reference(torch, x)
        agree(torch, found, expected)
        if lse is not None:
            agree(torch, lse, expected_lse)
            agree(torch, log_sum_exp(x), expected_lse)
            assert target[:, columns:].isnan().all()
        buffer.fill_(nan)


@pytest.mark.parametrize("columns", [257, 513, 781, 1023, 1025, 65536, 65537, 131072, 262145])
def test_s16_s17_uniform_rows(torch: Any, columns: int) -> None:
    p, lse = softmax(torch.zeros(2, columns, device="cuda"), return_lse=True)
    torch.testing.assert_close(p, torch.full_like(p, 1 / columns), rtol=2e-6, atol=0)
    torch.testing.assert_close(lse, torch.full_like(lse, math.log(columns)), rtol=2e-6, atol=0)


def test_s18_nothing_to_compute(torch: Any) -> None:
    out, lse = softmax(torch.empty(0, 5, device="cuda"), return_lse=True)
    assert (out.shape, lse.shape) == ((0, 5), (0,))
    out, lse = softmax(torch.empty(3, 0, device="cuda"), return_lse=True)
    assert lse.tolist() == [-math.inf] * 3


@pytest.mark.parametrize("shape", [(2, 3, 5, 40), (5, 40), (2, 1, 5, 40), (2, 1, 1, 40), (5, 1)])
def test_masks(torch: Any, shape: tuple[int, ...]) -> None:
    x = torch.randn(2, 3, 5, 40, device="cuda")
    mask = torch.rand(shape, device="cuda") > 0.4
    mask.view(-1, shape[-1])[0] = False
    x[~mask.expand(x.shape)] = float("nan")
    p, lse = softmax(x, mask=mask, return_lse=True)
    expected, expected_lse = reference(torch, x, mask)
    agree(torch, p, expected)
    agree(torch, lse, expected_lse)
    assert (p[0, 0, 0] == 0).all()
    assert lse[0, 0, 0] == -math.inf


def test_a_nan_makes_its_row_nan_and_no_other(torch: Any) -> None:
    x = torch.randn(4, 300, device="cuda")
    x[2, 7] = float("nan")
    assert softmax(x).isnan().all(-1).tolist() == [False, False, True, False]


def test_views_without_copies(torch: Any) -> None:
    x = torch.randn(6, 5, 4, 64, device="cuda", dtype=torch.bfloat16).transpose(0, 2)
    out, lse = softmax(x, return_lse=True)
    assert out.stride() == x.stride()
    expected, expected_lse = reference(torch, x)
    agree(torch, out, expected)
    agree(torch, lse, expected_lse)
    rows = torch.randn(300, 50, device="cuda")
    columns, expected = rows.t(), reference(torch, rows)[0].t()
    agree(torch, softmax(columns, axis=0), expected)
    half = torch.full((300, 50), float("nan"), device="cuda", dtype=torch.float16).t()
    agree(torch, softmax(columns, axis=0, out=half), expected)
    agree(torch, softmax(columns, axis=1), reference(torch, columns)[0])
    assert softmax(columns, axis=0, out=columns) is columns
    agree(torch, columns, expected)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [((21, 4096), 0), ((4, 21, 33, 65), 1), ((4, 3, 64, 64), 2), ((3, 1000, 8), 1),
     ((2, 5000, 40), 1), ((700, 1, 3), 0), ((2, 300, 17), 1)],
)  # fmt: skip
def test_any_axis(torch: Any, shape: tuple[int, ...], axis: int, dtype: str) -> None:
    x = 3 * torch.randn(*shape, device="cuda").to(getattr(torch, dtype))
    rows = x.movedim(axis, -1)
    rows[(0,) * (len(shape) - 1)] = -math.inf
    found, lse = softmax(x, axis=axis, return_lse=True)
    assert found.stride() == x.stride()
    expected, expected_lse = reference(torch, rows)
    agree(torch, found.movedim(axis, -1), expected)
    agree(torch, lse, expected_lse)
    agree(torch, log_sum_exp(x, axis=axis), expected_lse)
    mask = torch.rand(shape, device="cuda") > 0.4
    expected, expected_lse = reference(torch, rows, mask.movedim(axis, -1))
    found, lse = softmax(x, axis=axis, mask=mask, return_lse=True)
    agree(torch, found.movedim(axis, -1), expected)
    agree(torch, lse, expected_lse)
    assert softmax(x, axis=axis, mask=mask, out=x) is x
    agree(torch, x.movedim(axis, -1), expected)


def test_s22_padding_between_batches(torch: Any) -> None:
    storage = ((torch.arange(64, device="cuda") * 7) % 23) / 4
    p = softmax(torch.as_strided(storage, (2, 4, 2, 2), (32, 4, 2, 1)), axis=1)
    for place, wanted in (
        ((0, 0, 0, 0), 0.016893627221766207),
        ((1, 3, 1, 1), 0.029014184350675168),
        ((1, 0, 0, 1), 0.016893627221766207),
    ):
        assert float(p[place]) == pytest.approx(wanted, rel=1e-6)


def test_in_place_at_every_kind_of_width(torch: Any) -> None:
    for columns in (3, 100, 1024, 4097, 70000, 400000):
        x = torch.randn(3, columns, device="cuda")
        expected = reference(torch, x)[0]
        agree(torch, softmax(x, out=x), expected)


@pytest.mark.slow
def test_more_than_two_to_the_31_elements(torch: Any) -> None:
    x = torch.randn(65537, 32768, device="cuda", dtype=torch.bfloat16)
    out = softmax(x)
    for row in (0, 65535, 65536):
        agree(torch, out[row], reference(torch, x[row])[0])
    assert not out.isnan().any()


def test_the_callers_stream_and_the_producers_order(torch: Any) -> None:
    producer, consumer = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(producer):
        torch.cuda._sleep(50_000_000)
        x = torch.randn(64, 1000, device="cuda")
        out = softmax(x, stream=consumer)
        also = softmax(Exported(x), out=Exported(torch.empty_like(x)), stream=consumer).tensor
    consumer.synchronize()
    for found in (out, also):
        agree(torch, found, reference(torch, x)[0])


def test_two_streams_at_once(torch: Any) -> None:
    streams = [torch.cuda.Stream() for _ in range(2)]
    pairs = []
    for turn in range(20):
        with torch.cuda.stream(streams[turn % 2]):
            x = torch.randn(128, 2048, device="cuda")
            pairs.append((x, softmax(x)))
    torch.cuda.synchronize()
    for x, out in pairs:
        agree(torch, out, reference(torch, x)[0])


@pytest.mark.parametrize("columns", [1000, 1001])  # one kernel is loaded before, one meanwhile
def test_a_graph_captures_and_replays(torch: Any, columns: int) -> None:
    x = torch.randn(32, columns, device="cuda")
    if columns == 1000:
        softmax(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = softmax(x)
    for _ in range(2):
        x.copy_(torch.randn_like(x))
        graph.replay()
        agree(torch, out, reference(torch, x)[0])


class Exported:
    """A torch tensor that speaks DLPack alone."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor
        self.__dlpack__ = tensor.__dlpack__
        self.__dlpack_device__ = tensor.__dlpack_device__


class Interface:
    """A torch tensor that speaks `__cuda_array_interface__` alone."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor
        self.__cuda_array_interface__ = tensor.__cuda_array_interface__


@pytest.mark.parametrize("wrapped", [Exported, Interface])
def test_other_protocols_in_a_thread_without_a_context(
    torch: Any, wrapped: Callable[[Any], Any]
) -> None:
    from cuda.bindings import driver

    x = torch.randn(9, 500, device="cuda")
    out = torch.full_like(x, float("nan"))
    torch.cuda.synchronize()
    given, target, contexts = wrapped(x), wrapped(out), []

    def work() -> None:
        contexts.append(int(driver.cuCtxGetCurrent()[1]))
        softmax(given, out=target)
        contexts.append(int(driver.cuCtxGetCurrent()[1]))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    torch.cuda.synchronize()
    assert contexts[0] == contexts[1]
    agree(torch, out, reference(torch, x)[0])


def test_cupy(torch: Any) -> None:
    cupy = pytest.importorskip("cupy", reason="needs CuPy")
    x = cupy.random.standard_normal((6, 300), dtype=cupy.float32)
    out, lse = softmax(x, return_lse=True)
    assert (type(out), type(lse)) == (cupy.ndarray, cupy.ndarray)
    agree(torch, torch.as_tensor(out), reference(torch, torch.as_tensor(x))[0])


def test_gradients_are_refused_or_flow_through_the_operator(torch: Any) -> None:
    x = torch.randn(5, 200, device="cuda", requires_grad=True)
    with pytest.raises(LaunchError, match="requires a gradient"):
        softmax(x)
    weights = torch.randn(5, 200, device="cuda")
    (x.double().softmax(-1) * weights).sum().backward()
    expected, x.grad = x.grad, None
    operator = tylo.kernels.torch_operator()
    (operator(x) * weights).sum().backward()
    torch.testing.assert_close(x.grad, expected, rtol=1e-4, atol=1e-6)
    torch.library.opcheck(
        torch.ops.tylo.softmax_lse.default,
        (x.detach(), -1, weights > 0),
        test_utils=("test_schema", "test_faketensor"),
    )


@pytest.mark.slow
def test_the_operator_compiles_in_one_graph(torch: Any) -> None:
    operator = tylo.kernels.torch_operator()
    compiled = torch.compile(lambda x, mask: operator(2 * x, -1, mask) * 2, fullgraph=True)
    for rows in (3, 8):
        x = torch.randn(rows, 130, device="cuda")
        mask = torch.rand(rows, 130, device="cuda") > 0.5
        agree(torch, compiled(x, mask) / 2, reference(torch, 2 * x, mask)[0])
