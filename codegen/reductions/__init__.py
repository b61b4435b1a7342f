"""`sum` and `maximum` of a fragment along an axis, and the CUDA functions that do the same.

>>> import numpy
>>> from tylo.layouts.atoms import atom
>>> from tylo.layouts.fragment import gather, scatter
>>> C = atom("mma.m16n8k16.bf16").operand("C").ownership
>>> matrix = numpy.arange(128, dtype=numpy.float32).reshape(16, 8)
>>> scatter(sum(gather(matrix, C), 1)).tolist()[:3]
[28.0, 92.0, 156.0]
>>> scatter(maximum(gather(matrix, C), 0)).tolist()[:3]
[120.0, 121.0, 122.0]

The result is a fragment of the reduced ownership: every lane that held part of a row holds its
result. Both readings come from one lane program, which follows the schedule of the `Reduction`
(`tylo.proofs.lane_programs.combine`), so that they agree to the bit. A maximum keeps NaN.

>>> from tylo.layouts.reduction import reduction
>>> print(cuda_function(reduction(C, 1), "maximum", "row_maximum"))
// The maximum of each row, in every lane that shares it.
__device__ __forceinline__ void row_maximum(
    const float (&values)[4],
    float (&maximum)[2]) {
    const float t_0 = lane_maximum(values[0], values[1]);
    const float t_1 = lane_maximum(t_0, __shfl_xor_sync(0xffffffffu, t_0, 1));
    const float maximum_0 = lane_maximum(t_1, __shfl_xor_sync(0xffffffffu, t_1, 2));
    const float t_2 = lane_maximum(values[2], values[3]);
    const float t_3 = lane_maximum(t_2, __shfl_xor_sync(0xffffffffu, t_2, 1));
    const float maximum_1 = lane_maximum(t_3, __shfl_xor_sync(0xffffffffu, t_3, 2));
    maximum[0] = maximum_0;
    maximum[1] = maximum_1;
}
<BLANKLINE>
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tylo.codegen.lane_programs.cuda_reading import device_function
from tylo.codegen.lane_programs.numpy_reading import run
from tylo.layouts.errors import GenerationError
from tylo.layouts.exchange import ExchangePlan
from tylo.layouts.fragment import Fragment
from tylo.layouts.pending import Pending, completed
from tylo.layouts.reduction import Reduction, reduction
from tylo.proofs.lane_programs.rows import rows_of
from tylo.proofs.lane_programs.softmax import reduce

_OPERATORS: Mapping[str, str] = MappingProxyType({"sum": "add", "maximum": "maximum"})


def sum(fragment: Fragment | Pending, axis: int, exchange: ExchangePlan | None = None) -> Fragment:
    """The sum along `axis` (0 rows, 1 columns), rounded after every addition.

    `exchange` is the caller's plan where several warps hold parts of a row. Raises `PendingError`
    for a result that was not waited for, `OwnershipError` for an ownership that is not reducible
    along the axis, and `GenerationError` for elements that are not float32.
    """
    return _reduced(fragment, axis, "sum", exchange)


def maximum(
    fragment: Fragment | Pending, axis: int, exchange: ExchangePlan | None = None
) -> Fragment:
    """The maximum along `axis` (0 rows, 1 columns); NaN where an element is.

    Raises as `sum` does.
    """
    return _reduced(fragment, axis, "maximum", exchange)


def cuda_function(reduction: Reduction, kind: str, name: str) -> str:
    """``void name(const float (&values)[V], float (&kind)[R])`` for `kind` sum or maximum.

    It expects the text of `tylo.codegen.lane_programs.cuda_reading.operator_functions` before it,
    and whole warps to call it. A reduction with an exchange plan adds the parameters of its buffer
    and of the thread's number in the tile, and all threads of the tile call it.
    """
    if not isinstance(kind, str) or kind not in _OPERATORS:
        raise GenerationError(f"no reduction {kind!r}", hint=f"use {' or '.join(_OPERATORS)}")
    if not isinstance(reduction, Reduction):
        raise GenerationError(
            f"a {type(reduction).__name__} is no Reduction",
            hint="make it with tylo.layouts.reduction.reduction(ownership, axis)",
        )
    return device_function(reduce(rows_of(reduction), _OPERATORS[kind], kind), name, reduction)


def require_float32(fragment: Fragment | Pending, label: str) -> Fragment:
    """A completed fragment of float32 elements."""
    if not isinstance(fragment, Fragment | Pending):
        raise GenerationError(
            f"{label} is of type {type(fragment).__name__}, not Fragment",
            hint="deal a matrix out with tylo.layouts.fragment.gather",
        )
    whole = completed(fragment)
    if whole.data.dtype.name != "float32":
        raise GenerationError(
            f"{label} holds {whole.data.dtype}", hint="statistics are float32: convert it first"
        )
    return whole


def _reduced(
    fragment: Fragment | Pending, axis: int, kind: str, exchange: ExchangePlan | None
) -> Fragment:
    whole = require_float32(fragment, "the fragment")
    found = reduction(whole.ownership, axis, exchange)
    program = reduce(rows_of(found), _OPERATORS[kind], kind)
    return Fragment(run(program, exchange=found, values=whole.data)[kind], found.result)
