"""Softmax as a torch operator: what `torch.compile` sees, and what gradients flow through.

`torch_operator()` registers `tylo::softmax` and `tylo::softmax_lse` with torch, once, and returns
the first. torch traces an operator by its shapes alone, so it takes part in `torch.compile`
(`fullgraph=True`), in `torch.export`, and in CUDA graphs; its body is `tylo.kernels.softmax`.

    softmax = tylo.kernels.torch_operator()
    probabilities = softmax(scores, axis=-1, mask=keep)
    probabilities, lse = torch.ops.tylo.softmax_lse(scores, -1, keep)

Gradients: with probabilities p, their gradient g and that of the log-sum-exp h,

    dx = p * (g - sum(p * g) + h)

summed along the axis in float32. It is made of torch's own operations, which `torch.compile` fuses:
no kernel of Tylo, and no proof, covers it. p is taken as it was rounded to its type.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from tylo.codegen.tensors.allocation import allocated
from tylo.codegen.tensors.rows import output_order, row_order
from tylo.codegen.tensors.torch_tensors import dtype_of, torch_of
from tylo.kernels.torch_operators import imported_torch, registered


@cache
def torch_operator() -> Any:
    """`torch.ops.tylo.softmax(x, axis=-1, mask=None)`; torch is imported here, and must be there.

    Raises LaunchError without torch 2.5 or newer.
    """
    torch = imported_torch("tylo.kernels.softmax")
    arguments = "(Tensor x, int axis=-1, Tensor? mask=None)"
    _register(torch, "softmax", f"{arguments} -> Tensor", _softmax, _fake, _softmax_backward)
    _register(
        torch, "softmax_lse", f"{arguments} -> (Tensor, Tensor)", _both, _fake_both, _both_backward
    )
    return torch.ops.tylo.softmax


def _register(torch: Any, name: str, schema: str, body: Any, fake: Any, backward: Any) -> None:
    operator = registered(torch, name, schema, body, fake)
    operator.register_autograd(backward, setup_context=_remember)


def _softmax(x: Any, axis: int = -1, mask: Any = None) -> Any:
    from tylo.kernels.softmax import softmax

    return softmax(x.detach(), axis, mask)


def _both(x: Any, axis: int = -1, mask: Any = None) -> Any:
    from tylo.kernels.softmax import softmax

    return softmax(x.detach(), axis, mask, return_lse=True)


def _fake(x: Any, axis: int = -1, mask: Any = None) -> Any:
    return _fake_both(x, axis, mask)[0]


def _fake_both(x: Any, axis: int = -1, mask: Any = None) -> Any:
    """Tensors without data that have the shapes and strides of what `_both` returns."""
    dtype = dtype_of(torch_of(x), x) or "f32"
    if x.dim() == 0:
        return allocated(x, (), (), dtype, device=0), allocated(x, (), (), "f32", device=0)
    axis %= x.dim()
    outer = row_order(x.shape, x.stride(), axis)
    lse_shape = tuple(size for each, size in enumerate(x.shape) if each != axis)
    lse_order = tuple(each - (each > axis) for each in outer)
    return (
        allocated(x, tuple(x.shape), output_order(x.shape, x.stride(), axis), dtype, device=0),
        allocated(x, lse_shape, lse_order, "f32", device=0),
    )


def _remember(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    x, axis, _ = inputs
    probabilities = output[0] if isinstance(output, tuple) else output
    ctx.save_for_backward(probabilities)
    ctx.axis, ctx.dtype = axis, x.dtype


def _softmax_backward(ctx: Any, gradient: Any) -> Any:
    return _both_backward(ctx, gradient, None)


def _both_backward(ctx: Any, gradient: Any, lse_gradient: Any) -> Any:
    (saved,) = ctx.saved_tensors
    p = saved.float()
    along = 0 if gradient is None else gradient.float()
    inner = along - (p * along).sum(ctx.axis, keepdim=True)
    if lse_gradient is not None:
        inner = inner + lse_gradient.unsqueeze(ctx.axis)
    return (p * inner).to(ctx.dtype), None, None
