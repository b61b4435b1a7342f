"""What a softmax state is, and which fragments and states belong together.

>>> from tylo.layouts.atoms import atom
>>> from tylo.layouts.tiling import tile_operand
>>> mma = atom("mma.m16n8k16.bf16")
>>> state = SoftmaxState(tile_operand(mma, "C", n=4), axis=1, scale=0.125)
>>> print(state.type)
axis 1 (n) of 16 x 32, scale 0.125, base e
>>> state.type.accepts(tile_operand(mma, "C", n=8)).axis
1
>>> state.type.accepts(tile_operand(mma, "C", m=2, n=4))
Traceback (most recent call last):
tylo.layouts.errors.OwnershipError: the scores do not share the state: M decomposition: 32 of m, \
not 16 of m; reduce both along the same axis over the same lanes and warps
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tylo.codegen.reductions import require_float32
from tylo.layouts.errors import GenerationError, OwnershipError
from tylo.layouts.exchange import ExchangePlan
from tylo.layouts.fragment import Fragment
from tylo.layouts.ownership import Ownership
from tylo.layouts.pending import Pending, completed
from tylo.layouts.reduction import Reduction, reduced_difference, reduction
from tylo.proofs.lane_programs.exponent import Base, Exponent


@dataclass(frozen=True, slots=True)
class StateType:
    """The reduction that the state is of, and its exponent: scale and base."""

    reduction: Reduction
    exponent: Exponent

    @property
    def axis(self) -> int:
        """The axis that is summarised: 0 rows, 1 columns."""
        return self.reduction.axis

    @property
    def reduced(self) -> Ownership:
        """Who holds the statistics of which row."""
        return self.reduction.result

    def accepts(self, ownership: Ownership, label: str = "the scores") -> Reduction:
        """The reduction of `ownership` along the state's axis, where it leaves the same state.

        Raises `OwnershipError` that names the part which differs.
        """
        found = reduction(ownership, self.axis, self.reduction.warp_exchange)
        difference = reduced_difference(found, self.reduction)
        if difference:
            raise OwnershipError(
                f"{label} do not share the state: {difference}",
                hint="reduce both along the same axis over the same lanes and warps",
            )
        return found

    def require_same(self, other: StateType) -> None:
        """Raises `OwnershipError` or `GenerationError` where two states are not of one type."""
        difference = reduced_difference(other.reduction, self.reduction)
        if difference:
            raise OwnershipError(
                f"the states do not summarise the same rows: {difference}",
                hint="merge states of the same reduced ownership",
            )
        if other.exponent != self.exponent:
            part = "scale" if other.exponent.scale != self.exponent.scale else "base"
            raise GenerationError(
                f"the states differ in {part}: {other.exponent} against {self.exponent}",
                hint="their sums count different powers; update both with one scale and base",
            )

    def __str__(self) -> str:
        source = self.reduction.source
        label, extents = source.axis_names[self.axis], " x ".join(map(str, source.shape))
        return f"axis {self.axis} ({label}) of {extents}, {self.exponent}"


@dataclass(frozen=True, eq=False, init=False)
class SoftmaxState:
    """The maximum and the unnormalised sum of each row, as reduced fragments; empty when made.

    `of` is a fragment (its batch axes carry over) or an ownership; `axis` is 0 or 1. `scale`
    multiplies the scores and `base`, ``"e"`` or 2, is what is raised to them: both belong to the
    type. `exchange` is the caller's plan where several warps hold parts of a row. `maximum` is that
    of the scores as they are, before the scale; -inf with sum 0 is empty.

    Raises `OwnershipError` for an ownership that is not reducible along the axis (several warps
    along it, no such axis, symbolic sizes), `PendingError` for a result not waited for, and
    `GenerationError` for a scale or base that is not accepted (see `Exponent`).
    """

    type: StateType
    maximum: Fragment
    sum: Fragment

    def __init__(
        self,
        of: Fragment | Pending | Ownership,
        axis: int,
        scale: float = 1.0,
        base: Base = "e",
        exchange: ExchangePlan | None = None,
    ) -> None:
        import numpy

        if not isinstance(of, Fragment | Pending | Ownership):
            raise GenerationError(
                f"a state of a {type(of).__name__}", hint="give a fragment or its ownership"
            )
        ownership = of if isinstance(of, Ownership) else completed(of).ownership
        batch = () if isinstance(of, Ownership) else completed(of).data.shape[:-2]
        kind = StateType(reduction(ownership, axis, exchange), Exponent(scale, base))
        shape: Any = (*batch, kind.reduced.thread_count, kind.reduced.value_count)
        self._set(
            kind,
            numpy.full(shape, -math.inf, numpy.float32),
            numpy.zeros(shape, numpy.float32),
        )

    @classmethod
    def of(cls, kind: StateType, maximum: Any, sum: Any) -> SoftmaxState:
        """A state of known type from arrays ``[..., thread, row]``."""
        if not isinstance(kind, StateType):
            raise GenerationError(
                f"a {type(kind).__name__} is no StateType", hint="pass the type of another state"
            )
        state = cls.__new__(cls)
        state._set(kind, maximum, sum)
        require_float32(state.maximum, "the maximum")
        require_float32(state.sum, "the sum")
        if state.maximum.data.shape != state.sum.data.shape:
            raise GenerationError(
                f"a maximum of shape {state.maximum.data.shape} and a sum of shape "
                f"{state.sum.data.shape}",
                hint="a state has one of each for every row of every batch",
            )
        return state

    def _set(self, kind: StateType, maximum: Any, sum: Any) -> None:
        object.__setattr__(self, "type", kind)
        object.__setattr__(self, "maximum", Fragment(maximum, kind.reduced))
        object.__setattr__(self, "sum", Fragment(sum, kind.reduced))

    @property
    def axis(self) -> int:
        """The axis that is summarised."""
        return self.type.axis


def require_batches(**fragments: Fragment | None) -> None:
    """Batch axes that broadcast, as numpy broadcasts; `GenerationError` names those that do not."""
    import numpy

    batches = {
        label: each.data.shape[:-2]
        for label, each in fragments.items()
        if isinstance(each, Fragment)
    }
    try:
        numpy.broadcast_shapes(*batches.values())
    except ValueError:
        listed = ", ".join(f"{label} {batch}" for label, batch in batches.items())
        raise GenerationError(
            f"the batch axes do not fit: {listed}",
            hint="give a state the batch axes of what it summarises: SoftmaxState(fragment, axis)",
        ) from None
