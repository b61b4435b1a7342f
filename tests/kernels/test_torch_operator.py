"""The torch operator, with torch itself: shapes while tracing, gradients, and where it refuses.

There is no device here. The operator's body is replaced by torch's own softmax, written to give the
same strides; what is tested is everything around it. The kernel's own values are for tests/gpu.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import pytest

import tylo
from tylo.layouts.errors import LaunchError


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch", minversion="2.5", reason="needs torch, any build")


@pytest.fixture
def operator(torch: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    def softmax(x: Any, axis: int = -1, mask: Any = None, return_lse: bool = False) -> Any:
        assert not x.requires_grad
        scores = x.float() if mask is None else x.float().masked_fill(~mask, -torch.inf)
        lse = scores.logsumexp(axis)
        found = torch.empty_like(x).copy_(torch.exp(scores - lse.unsqueeze(axis)).nan_to_num(0))
        return (found, lse) if return_lse else found

    monkeypatch.setattr(importlib.import_module("tylo.kernels.softmax"), "softmax", softmax)
    return tylo.kernels.torch_operator()


def test_it_is_registered_once(torch: Any) -> None:
    assert tylo.kernels.torch_operator() is tylo.kernels.torch_operator()
    assert tylo.kernels.torch_operator() is torch.ops.tylo.softmax


@pytest.mark.parametrize("axis", [-1, 1, 2])
def test_shapes_while_tracing(torch: Any, axis: int) -> None:
    operator = tylo.kernels.torch_operator()
    subclasses = importlib.import_module("torch._subclasses")
    with subclasses.FakeTensorMode():
        x = torch.empty(4, 6, 10, device="cuda", dtype=torch.bfloat16).transpose(0, 1)
        found = operator(x, axis)
        both, lse = torch.ops.tylo.softmax_lse(x, axis)
        scalar = operator(torch.empty((), device="cuda"))
    for each in (found, both):
        assert (each.shape, each.dtype) == ((6, 4, 10), torch.bfloat16)
        # Along the innermost dimension, the only one that is computed, memory lies as in x.
        assert axis == 1 or each.stride() == x.stride()
    assert lse.shape == torch.empty(6, 4, 10).sum(axis).shape
    assert lse.dtype == torch.float32
    assert scalar.shape == ()


@pytest.mark.parametrize("masked", [False, True])
def test_gradients_are_those_of_torch(torch: Any, operator: Any, masked: bool) -> None:
    torch.manual_seed(3)
    x = torch.randn(5, 7, requires_grad=True)
    keep = torch.rand(5, 7) > 0.3
    keep[:, 0] = True
    mask = keep if masked else None
    weights, of_lse = torch.randn(5, 7), torch.randn(5)

    def reference(scores: Any) -> Any:
        hidden = scores.masked_fill(~keep, -torch.inf) if masked else scores
        return hidden.softmax(-1), hidden.logsumexp(-1)

    p, lse = reference(x.double())
    ((p * weights).sum() + (lse * of_lse).sum()).backward()
    expected, x.grad = x.grad, None
    found, found_lse = torch.ops.tylo.softmax_lse(x, -1, mask)
    ((found * weights).sum() + (found_lse * of_lse).sum()).backward()
    torch.testing.assert_close(x.grad, expected, rtol=1e-5, atol=1e-6)

    x.grad = None
    (reference(x.double())[0] * weights).sum().backward()
    expected, x.grad = x.grad, None
    (operator(x, 1, mask) * weights).sum().backward()
    torch.testing.assert_close(x.grad, expected, rtol=1e-5, atol=1e-6)


def test_a_fully_masked_row_has_no_gradient(torch: Any, operator: Any) -> None:
    x = torch.randn(2, 3, requires_grad=True)
    mask = torch.tensor([[True] * 3, [False] * 3])
    operator(x, -1, mask).sum().backward()
    assert (x.grad[1] == 0).all()


def test_only_the_log_sum_exp_may_be_used(torch: Any, operator: Any) -> None:
    x = torch.randn(2, 3, requires_grad=True)
    torch.ops.tylo.softmax_lse(x)[1].sum().backward()
    torch.testing.assert_close(x.grad, x.detach().softmax(-1))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")  # torch's
def test_torch_checks_the_registration(torch: Any, operator: Any) -> None:
    x = torch.randn(4, 6, requires_grad=True)
    mask = torch.rand(4, 6) > 0.5
    for overload in (operator.default, torch.ops.tylo.softmax_lse.default):
        torch.library.opcheck(overload, (x, -1, mask))
        torch.library.opcheck(overload, (x,))


@pytest.mark.slow
def test_it_is_one_node_of_a_compiled_graph(torch: Any, operator: Any) -> None:
    compiled = torch.compile(
        lambda x: operator(2 * x, -1).sum(0), fullgraph=True, backend="aot_eager", dynamic=True
    )
    for rows in (3, 5):
        x = torch.randn(rows, 6)
        torch.testing.assert_close(compiled(x), (2 * x).softmax(-1).sum(0))


def test_host_tensors_are_refused_in_our_words(torch: Any) -> None:
    with pytest.raises(LaunchError, match="x, a torch tensor, lies on cpu"):
        tylo.kernels.torch_operator()(torch.zeros(2, 3))
    with pytest.raises(LaunchError, match="x, a torch tensor, lies on cpu"):
        tylo.kernels.softmax(torch.zeros(2, 3))


def test_real_dlpack_of_torch_is_read_by_our_reader(torch: Any) -> None:
    from tylo.codegen.tensors import dlpack

    for dtype, name in ((torch.bfloat16, "bf16"), (torch.float16, "f16"), (torch.bool, "bool")):
        x = torch.zeros(4, 6, dtype=dtype)[:, ::2]
        owner, tensor, _ = dlpack._taken(x.__dlpack__(), "x")
        assert tensor.data + tensor.byte_offset == x.data_ptr()
        assert dlpack._DTYPES[tensor.code, tensor.bits] == name
        assert (tensor.shape[:2], tensor.strides[:2]) == ([4, 3], [6, 2])
        del owner


def test_attention_hands_on_every_option(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By place or by name, outside `torch.compile` and within; shapes follow the layout."""
    seen: list[dict[str, Any]] = []

    def attention(q: Any, k: Any, v: Any, return_lse: bool = False, **options: Any) -> Any:
        seen.append(options)
        lse = torch.zeros(2, 6, 4)
        return (torch.empty_like(q), lse) if return_lse else torch.empty_like(q)

    monkeypatch.setattr(importlib.import_module("tylo.kernels.attention"), "attention", attention)
    operator, both = tylo.kernels.attention_operator(), torch.ops.tylo.attention_lse
    q = torch.zeros(2, 4, 6, 64, dtype=torch.bfloat16)
    everything = {"mask": None, "causal": "top_left", "scale": 0.5, "enable_gqa": True}
    operator(q, q, q, *everything.values(), "BSHD")
    compiled = torch.compile(
        lambda q: both(q, q, q, **everything, layout="BSHD"), fullgraph=True, backend="eager"
    )
    out, lse = compiled(q)
    assert (out.shape, lse.shape) == (q.shape, (2, 6, 4))
    given = [{name: options.get(name) for name in (*everything, "layout")} for options in seen]
    assert given == [{**everything, "layout": "BSHD"}] * 2
    subclasses = importlib.import_module("torch._subclasses")
    with subclasses.FakeTensorMode():
        faked = torch.empty(2, 4, 6, 64, device="cuda")
        assert both(faked, faked, faked)[1].shape == (2, 4, 6)
        assert both(faked, faked, faked, layout="BSHD")[1].shape == (2, 6, 4)


OPERATORS = [tylo.kernels.torch_operator, tylo.kernels.attention_operator]


@pytest.mark.parametrize("operator", OPERATORS)
def test_without_torch_it_says_so(operator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    operator.cache_clear()
    with pytest.raises(LaunchError, match="torch cannot be imported"):
        operator()


@pytest.mark.parametrize("operator", OPERATORS)
def test_an_old_torch_is_refused(operator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    old = type(sys)("torch")
    old.__version__ = "2.3.1"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", old)
    operator.cache_clear()
    with pytest.raises(LaunchError, match=r"torch 2\.3\.1 is older than 2\.5"):
        operator()
