"""Softmax and log-sum-exp along one axis, of tensors of any library.

    softmax(x)[.., c, ..] = exp(x_c - lse),   lse = log(sum over kept c of exp(x_c))

A masked element gets 0; a row without any kept element gets zeros, and -inf as its log-sum-exp.
Arithmetic is float32 whatever the types of input and output.

A call views its tensors, finds the plan for their geometry (`softmax_plan`), allocates what the
caller did not pass, and launches one kernel on the caller's stream. It copies nothing and waits for
nothing; a call whose plan is known costs microseconds and can be captured in a CUDA graph.

>>> import numpy
>>> softmax(numpy.zeros((2, 3), numpy.float32))
Traceback (most recent call last):
tylo.layouts.errors.LaunchError: x, a numpy.ndarray, lies in host memory; move it to a CUDA device \
first; nothing is copied silently
"""

from __future__ import annotations

from operator import index
from typing import Any

from tylo.codegen.launch.choice import Choice
from tylo.codegen.launch.devices import device_state, fill_words
from tylo.codegen.tensors import Tensor, stream_of, view
from tylo.codegen.tensors.torch_tensors import torch_description
from tylo.kernels.calls import Plans, described, made, require_writable
from tylo.kernels.softmax_plan import Plan, loaded, plan_for, require_apart
from tylo.layouts.errors import LaunchError

_MINUS_INFINITY = 0xFF800000  # float32

_plans = Plans[Plan]()
# Of what is not there yet: beyond every address.
_NOWHERE = 1 << 65
Viewed = tuple[Tensor, Tensor | None, Tensor | None, Tensor | None]


def softmax(
    x: Any,
    axis: int = -1,
    mask: Any = None,
    out: Any = None,
    return_lse: bool = False,
    stream: Any = None,
) -> Any:
    """Softmax of `x` along `axis`; with `return_lse` the pair of it and the log-sum-exp.

    `x` is float32, bfloat16 or float16 of any rank. Where its elements along `axis` lie side by
    side, its rows have one stride; along another axis, runs of rows that lie side by side have one.
    `mask` is Boolean, True = keep, and broadcasts to the shape of `x`. `out` may have another of
    the three types; it may be `x` itself. With `return_lse`, `out` may be a pair of outputs. The
    log-sum-exp is float32, natural, of the shape of `x` without `axis`.

    `stream` is a handle or a stream object; without one it is torch's current stream for a torch
    tensor, else the legacy default stream.

    Raises LaunchError, before anything runs, for whatever a kernel could not do right.
    """
    given, both = _outputs(out, return_lse)
    found, lse = _run(x, axis, mask, given, (True, both), stream)
    return (found, lse) if both else found


def log_sum_exp(
    x: Any, axis: int = -1, mask: Any = None, out: Any = None, stream: Any = None
) -> Any:
    """The natural log-sum-exp of `x` along `axis` alone: reads once, writes one float32 a row.

    Arguments and errors are those of `softmax`; `out` is float32, of the shape of `x` less `axis`.
    """
    _, lse = _run(x, axis, mask, (None, out), (False, True), stream)
    return lse


def softmax_choice(
    x: Any, axis: int = -1, mask: Any = None, out: Any = None, return_lse: bool = False
) -> Choice:
    """The kernel that `softmax` would launch for these arguments, its geometry, and why.

    Nothing is launched or compiled. Without `out` an output as `softmax` allocates it is assumed.
    """
    given, both = _outputs(out, return_lse)
    tensors = _viewed(x, mask, given, stream_of(None, x))
    plan = plan_for(_whole(axis), (True, both), *tensors)
    if plan.choice is None:
        raise LaunchError(
            f"softmax of shape {tensors[0].shape} along axis {axis} launches no kernel",
            hint="there is nothing to compute: no rows, or no columns",
        )
    if _passed(given):
        require_apart(plan, [_NOWHERE if each is None else each.address for each in tensors])
    return plan.choice


def _outputs(out: Any, return_lse: Any) -> tuple[tuple[Any, Any], bool]:
    """The two outputs as passed, and whether log-sum-exp is wanted."""
    if not isinstance(return_lse, int) or return_lse not in (0, 1):
        raise LaunchError(
            f"return_lse is a {type(return_lse).__name__}: {return_lse!r}",
            hint="pass True or False",
        )
    given = out if isinstance(out, tuple) else (out, None)
    if len(given) != 2 or (given[1] is not None and not return_lse):
        raise LaunchError(
            f"out is a tuple of {len(given)}, return_lse is {return_lse}",
            hint="pass one tensor, or with return_lse a pair: probabilities and log-sum-exp",
        )
    return given, bool(return_lse)


def _passed(given: tuple[Any, Any]) -> bool:
    """Whether the caller passed an output; a tensor compared with None may take microseconds."""
    return given[0] is not None or given[1] is not None


def _whole(axis: Any) -> int:
    """The axis as an integer; nothing else may be asked for in the table of plans."""
    if type(axis) is int:
        return axis
    try:
        if isinstance(axis, bool):
            raise TypeError("a truth value")
        return index(axis)
    except TypeError:
        raise LaunchError(
            f"axis {axis!r} is none: it is a {type(axis).__name__}", hint="pass an integer"
        ) from None


def _run(
    x: Any,
    axis: int,
    mask: Any,
    given: tuple[Any, Any],
    wanted: tuple[bool, bool],
    stream: Any,
) -> tuple[Any, Any]:
    axis, handle = _whole(axis), stream_of(stream, x)
    out, lse = given
    values = (x, mask, out, lse)
    known = torch_description(values, stream, handle)
    plan = _plans.get((axis, wanted, known)) if known else None
    if plan is None:
        tensors = _viewed(x, mask, given, handle)
        plan = _plan(axis, wanted, tensors)
        addresses = [0 if each is None else each.address for each in tensors]
        if known:
            _plans.keep((axis, wanted, known), plan)
    else:
        addresses = [0 if each is None else each.data_ptr() for each in values]
    geometry = plan.geometry
    device, on = geometry.device, None if known else handle
    if wanted[0] and out is None:
        out, addresses[2] = made(x, geometry.shape, geometry.order, geometry.dtype, device, on)
    if wanted[1] and lse is None:
        lse, addresses[3] = made(x, geometry.lse_shape, geometry.lse_order, "f32", device, on)
    if plan.launch is not None:
        if _passed(given):
            require_apart(plan, addresses)
        plan.launch(addresses, handle)
    elif wanted[1] and geometry.rows:
        # No columns: no row keeps anything.
        state = device_state(device)
        fill_words(state, addresses[3], _MINUS_INFINITY, geometry.rows, handle)
    return out, lse


def _viewed(x: Any, mask: Any, given: tuple[Any, Any], handle: int) -> Viewed:
    seen = view(x, handle, name="x")
    found = [
        None if each is None else view(each, handle, name=name, device=seen.device)
        for name, each in (("mask", mask), ("out", given[0]), ("lse", given[1]))
    ]
    for name, each, output in zip(("out", "lse"), found[1:], given, strict=True):
        require_writable(name, each, output)
    return seen, found[0], found[1], found[2]


def _plan(axis: int, wanted: tuple[bool, bool], tensors: Viewed) -> Plan:
    key = (axis, wanted, tensors[0].device, *map(described, tensors))
    return _plans.get(key) or _plans.keep(key, loaded(plan_for(axis, wanted, *tensors)))
