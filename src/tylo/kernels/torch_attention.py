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

from tylo.layouts.errors import LaunchError

_ARGUMENTS = (
    "(Tensor q, Tensor k, Tensor v, Tensor? mask=None, str? causal=None, float? scale=None, "
    "bool enable_gqa=False, str layout='BHSD')"
)


@cache
def attention_operator() -> Any:
    """`torch.ops.tylo.attention`; torch is imported here, and must be there.

    Raises LaunchError without torch.
    """
    try:
        import torch
    except ImportError as error:
        raise LaunchError(
            f"torch cannot be imported ({error})",
            hint="the operator is torch's; tylo.kernels.attention takes tensors of other libraries",
        ) from error
    for name, schema, body, fake in (
        ("attention", f"{_ARGUMENTS} -> Tensor", _out, _fake_out),
        ("attention_lse", f"{_ARGUMENTS} -> (Tensor, Tensor)", _both, _fake_both),
    ):
        operator = torch.library.custom_op(f"tylo::{name}", body, mutates_args=(), schema=schema)
        operator.register_fake(fake)
    return torch.ops.tylo.attention


def _both(
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    causal: str | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    layout: str = "BHSD",
) -> Any:
    from tylo.kernels.attention import attention

    return attention(
        q, k, v, mask=mask, causal=causal, scale=scale, enable_gqa=enable_gqa, layout=layout,
        return_lse=True,
    )  # fmt: skip


def _out(
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    causal: str | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    layout: str = "BHSD",
) -> Any:
    from tylo.kernels.attention import attention

    return attention(
        q, k, v, mask=mask, causal=causal, scale=scale, enable_gqa=enable_gqa, layout=layout
    )


def _fake_both(q: Any, *others: Any, layout: str = "BHSD", **named: Any) -> Any:
    """Tensors without data that have the shapes and strides of what `_both` returns."""
    import torch

    layout = others[6] if len(others) > 6 else layout
    batch, one, other, _ = q.shape
    heads, queries = (one, other) if layout == "BHSD" else (other, one)
    return (
        q.new_empty(q.shape),
        q.new_empty((batch, heads, queries), dtype=torch.float32),
    )


def _fake_out(*arguments: Any, **named: Any) -> Any:
    return _fake_both(*arguments, **named)[0]
