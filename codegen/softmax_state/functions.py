"""The functions of the online softmax on fragments: the numpy reading of the lane programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tylo.codegen.lane_programs.numpy_reading import run
from tylo.codegen.reductions import require_float32
from tylo.codegen.softmax_state.state import SoftmaxState, StateType, require_batches
from tylo.layouts.errors import GenerationError, OwnershipError
from tylo.layouts.fragment import Fragment
from tylo.layouts.pending import Pending
from tylo.layouts.reduction import Reduction
from tylo.proofs.lane_programs import softmax
from tylo.proofs.lane_programs.rows import rows_of


@dataclass(frozen=True, eq=False)
class Updated:
    """The state after a tile, its unnormalised weights, and the factor for what was before."""

    state: SoftmaxState
    weights: Fragment
    rescale: Fragment


@dataclass(frozen=True, eq=False)
class Merged:
    """The state of both, and the factor for what each of them accumulated."""

    state: SoftmaxState
    rescale: Fragment
    other_rescale: Fragment


def softmax_update(
    state: SoftmaxState, x: Fragment | Pending, keep: Fragment | None = None
) -> Updated:
    """Scores enter a state: ``.state``, ``.weights`` (unnormalised) and ``.rescale``.

    An earlier numerator o becomes ``rescale * o + weights * V``. `keep` is a fragment of Booleans,
    true = keep; what is not kept counts as -inf, whatever it holds.

    Raises `OwnershipError` where x does not share the state's axis and reduced ownership,
    `PendingError` for a result not waited for, `GenerationError` for other element types.
    """
    scores, found = _scores(state, x)
    require_batches(state=state.maximum, scores=scores, mask=keep)
    program = softmax.update(rows_of(found), state.type.exponent, masked=keep is not None)
    held = {"scores": scores.data, **_mask(scores, keep), **_held(state)}
    result = run(program, exchange=found, **held)
    return Updated(
        SoftmaxState.of(state.type, result["maximum"], result["sum"]),
        Fragment(result["weights"], scores.ownership),
        Fragment(result["rescale"], state.type.reduced),
    )


def softmax_normalize(o: Fragment | Pending, state: SoftmaxState) -> Fragment:
    """What was accumulated under `state`, divided by the sums; zeros where nothing was kept.

    The reciprocal of a sum is rounded, then its product: two roundings, 2^-23 in all.

    Raises `OwnershipError` where o does not share the state's axis and reduced ownership.
    """
    output = require_float32(o, "the numerator")
    found = _state(state).type.accepts(output.ownership, "the numerators")
    require_batches(state=state.sum, numerators=output)
    result = run(softmax.normalize(rows_of(found)), output=output.data, sum=state.sum.data)
    return Fragment(result["output"], output.ownership)


def softmax_probabilities(
    x: Fragment | Pending, state: SoftmaxState, keep: Fragment | None = None
) -> Fragment:
    """The normalised weights of scores that the state has seen: a second pass over the logits.

    Raises as `softmax_update` does.
    """
    scores, found = _scores(state, x)
    require_batches(state=state.maximum, scores=scores, mask=keep)
    program = softmax.probabilities(rows_of(found), state.type.exponent, masked=keep is not None)
    result = run(program, scores=scores.data, **_mask(scores, keep), **_held(state))
    return Fragment(result["probabilities"], scores.ownership)


def softmax_merge(a: SoftmaxState, b: SoftmaxState) -> Merged:
    """Two independent summaries of the same rows become one.

    The merged numerator is ``rescale * o_a + other_rescale * o_b``; both factors are 0 where both
    are empty. Merging commutes to the bit; the order of three merges shows in the last bits.

    Raises `OwnershipError` for states of different rows, `GenerationError` for different scales or
    bases.
    """
    _state(a).type.require_same(_state(b).type)
    require_batches(state=a.maximum, other=b.maximum)
    program = softmax.merge(a.maximum.data.shape[-1], a.type.exponent)
    held = {f"other_{name}": value for name, value in _held(b).items()}
    result = run(program, **_held(a), **held)
    return Merged(
        SoftmaxState.of(a.type, result["maximum"], result["sum"]),
        Fragment(result["rescale"], a.type.reduced),
        Fragment(result["other_rescale"], a.type.reduced),
    )


def softmax_merge_lanes(state: SoftmaxState, reduction: Reduction) -> tuple[SoftmaxState, Fragment]:
    """Partial states become one for each row, by an explicit reduction of their own ownership.

    A summary kept by each lane on its own turns into one of the warp only here. The fragment is the
    factor for what each part accumulated.

    Raises `OwnershipError` where `reduction` is not one of the ownership that the state has.
    """
    held = _state(state).type.reduced
    if not isinstance(reduction, Reduction) or reduction.source != held:
        raise OwnershipError(
            "the reduction is not one of the state's own ownership",
            hint="make it with tylo.layouts.reduction.reduction(state.type.reduced, axis)",
        )
    program = softmax.merge_lanes(rows_of(reduction), state.type.exponent)
    held_parts = {"part_maximum": state.maximum.data, "part_sum": state.sum.data}
    result = run(program, exchange=reduction, **held_parts)
    merged = StateType(reduction, state.type.exponent)
    return (
        SoftmaxState.of(merged, result["maximum"], result["sum"]),
        Fragment(result["rescale"], held),
    )


def log_sum_exp(state: SoftmaxState) -> Fragment:
    """The natural logarithm of the sum of powers of every kept score; -inf where none was kept.

    Natural whatever the state's base: ln of the sum of ``base ** (scale * x)``. NaN for a row that
    met NaN or +inf.
    """
    program = softmax.log_sum_exp(_state(state).maximum.data.shape[-1], state.type.exponent)
    return Fragment(run(program, **_held(state))["log_sum_exp"], state.type.reduced)


def _state(state: object) -> SoftmaxState:
    if not isinstance(state, SoftmaxState):
        raise GenerationError(
            f"a {type(state).__name__} is no SoftmaxState",
            hint="begin with SoftmaxState(fragment, axis)",
        )
    return state


def _held(state: SoftmaxState) -> dict[str, Any]:
    return {"maximum": state.maximum.data, "sum": state.sum.data}


def _scores(state: SoftmaxState, x: Fragment | Pending) -> tuple[Fragment, Reduction]:
    kind = _state(state).type
    scores = require_float32(x, "the scores")
    return scores, kind.accepts(scores.ownership)


def _mask(scores: Fragment, keep: Fragment | None) -> dict[str, Any]:
    if keep is None:
        return {}
    if not isinstance(keep, Fragment) or keep.data.dtype.name != "bool":
        what = keep.data.dtype if isinstance(keep, Fragment) else type(keep).__name__
        raise GenerationError(
            f"the mask is {what}", hint="give a fragment of Booleans, true = keep"
        )
    if keep.ownership != scores.ownership:
        raise OwnershipError(
            "the mask and the scores have different ownerships",
            hint="deal the mask out with the scores' ownership",
        )
    return {"keep": keep.data}
