"""torch's own operators: what every one of ours needs to be registered."""

from __future__ import annotations

from typing import Any

from tylo.layouts.errors import LaunchError

_OLDEST = (2, 5)


def imported_torch(kernel: str) -> Any:
    """The torch module, imported here; `kernel` is what to call without it.

    Raises LaunchError without torch 2.5 or newer.
    """
    try:
        import torch
    except ImportError as error:
        raise LaunchError(
            f"torch cannot be imported ({error})",
            hint=f"the operator is torch's; {kernel} takes tensors of other libraries",
        ) from error
    if tuple(int(part) for part in torch.__version__.split(".")[:2]) < _OLDEST:
        raise LaunchError(
            f"torch {torch.__version__} is older than 2.5, the oldest whose custom operators fit",
            hint=f"update torch, or call {kernel}",
        )
    return torch


def registered(torch: Any, name: str, schema: str, body: Any, fake: Any) -> Any:
    """The operator ``tylo::name``: `body` runs it, `fake` gives tensors without data."""
    operator = torch.library.custom_op(f"tylo::{name}", body, mutates_args=(), schema=schema)
    operator.register_fake(fake)
    return operator
