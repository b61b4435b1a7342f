"""Attention as a torch operator: what `torch.compile` sees.

`attention_operator()` registers `tylo::attention` and `tylo::attention_lse` with torch, once, and
returns the first. torch traces an operator by its shapes alone; its body is
`tylo.kernels.attention`. It has no gradient: inputs that require one are refused.

    attention = tylo.kernels.attention_operator()
    out = attention(q, k, v, causal="bottom_right")
    out, lse = torch.ops.tylo.attention_lse(q, k, v)
"""

from __future__ import annotations

from functools import cache
from typing import Any

from tylo.kernels.torch_operators import imported_torch, registered

_OPTIONS = ("mask", "causal", "scale", "enable_gqa", "layout")
_ARGUMENTS = (
    "(Tensor q, Tensor k, Tensor v, Tensor? mask=None, str? causal=None, float? scale=None, "
    "bool enable_gqa=False, str layout='BHSD')"
)


@cache
def attention_operator() -> Any:
    """`torch.ops.tylo.attention`; torch is imported here, and must be there.

    Raises LaunchError without torch 2.5 or newer.
    """
    torch = imported_torch("tylo.kernels.attention")
    registered(torch, "attention", f"{_ARGUMENTS} -> Tensor", _out, _fake_out)
    registered(torch, "attention_lse", f"{_ARGUMENTS} -> (Tensor, Tensor)", _both, _fake_both)
    return torch.ops.tylo.attention


def _out(q: Any, k: Any, v: Any, *options: Any, **named: Any) -> Any:
    """`options` are those of the operator that come before any that is named."""
    from tylo.kernels.attention import attention

    return attention(q, k, v, **dict(zip(_OPTIONS, options, strict=False)), **named)


def _both(*arguments: Any, **named: Any) -> Any:
    return _out(*arguments, **named, return_lse=True)


def _fake_both(q: Any, k: Any, v: Any, *options: Any, **named: Any) -> Any:
    """Tensors without data that have the shapes and strides of what `_both` returns."""
    import torch

    given = dict(zip(_OPTIONS, options, strict=False)) | named
    batch, one, other, _ = q.shape
    heads, queries = (one, other) if given.get("layout", "BHSD") == "BHSD" else (other, one)
    return (
        q.new_empty(q.shape),
        q.new_empty((batch, heads, queries), dtype=torch.float32),
    )


def _fake_out(*arguments: Any, **named: Any) -> Any:
    return _fake_both(*arguments, **named)[0]
