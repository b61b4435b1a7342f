"""Running a softmax bundle's kernel against the oracle: on a device, or on the PTX machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tylo.codegen.launch.arguments import Argument, Input, Output
from tylo.codegen.softmax import oracle
from tylo.codegen.softmax.across import AcrossKernel
from tylo.codegen.softmax.cuda_tests import (
    block_rows,
    few_rows,
    kept,
    kernel_of,
    mask_modes,
    placement,
    scores,
    strides,
)
from tylo.codegen.softmax.kernel import SoftmaxKernel
from tylo.proofs.specifications.softmax_cases import case_of

if TYPE_CHECKING:
    from numpy.typing import NDArray


def compared_rows(module: Any, parameters: Mapping[str, int | str]) -> tuple[int, Any, str]:
    """Checks made, a Boolean array of those that failed, and the first of them in words.

    Rows do not fill the last block, and lie further apart than they are wide where they may.
    """
    import numpy

    case = case_of(parameters)
    kernel, (_, columns) = kernel_of(case), few_rows(case)
    strided = isinstance(kernel, SoftmaxKernel | AcrossKernel)
    rows = 2 * block_rows(case) + 1
    if isinstance(kernel, AcrossKernel):
        rows = 2 * (block_rows(case) + case.tile.vector)
    placed = placement(rows, columns, case, 2 * case.tile.vector if strided else 0)
    given, keep = scores(rows, columns, case.dtype), kept(rows, columns, case)
    word = numpy.uint32 if case.out_dtype == "f32" else numpy.uint16
    sizes: dict[str, Argument] = {
        "x": Input(placed.spread(given)),
        "out": Output(placed.elements, word),
        "lse": Output(rows, numpy.float32),
        "mask": Input(numpy.zeros(1, bool) if keep is None else keep, alignment=1),
        "rows": numpy.uint64(rows),
        "columns": numpy.uint32(columns),
        **{label: numpy.uint64(n) for label, n in strides(placed).items()},
        "mask_column_stride": numpy.uint64(1),
        **{name: numpy.uint64(n) for name, n in mask_modes(rows, columns, case).items()},
    }
    found = module.launch(
        kernel.entry,
        grid=-(-rows // block_rows(case)),
        block=case.tile.threads,
        arguments=[sizes[each.name] for each in kernel.parameters],
    )
    wanted, logarithms = oracle.softmax(oracle.widened(given, case.dtype), keep)
    checks, first = [], ""
    if case.out_dtype:
        wrong = ~_near(placed.gathered(found[0]), wanted, case.out_dtype)
        beside = placed.between(found[0]) != numpy.iinfo(word).max
        checks += [wrong.reshape(-1), beside.reshape(-1)]
    if case.lse:
        checks.append(~oracle.near_logarithm(found[-1], logarithms))
    failed = numpy.concatenate(checks)
    if failed.any():
        at = int(failed.argmax())
        row, column = divmod(at, columns)
        logarithm = at - failed.size + case.lse * rows
        if logarithm >= 0 and case.lse:
            first = f"log-sum-exp of row {logarithm}"
        else:
            beside = at >= wanted.size
            first = "beside the probabilities" if beside else f"row {row}, column {column}"
    return failed.size, failed, first


def _near(patterns: NDArray[Any], wanted: NDArray[Any], dtype: str) -> Any:
    import numpy

    found = oracle.widened(numpy.ascontiguousarray(patterns), dtype)
    relative, absolute = oracle.tolerance(dtype)
    off = numpy.abs(found - wanted)
    return (off <= 4 * relative * wanted + absolute) | (numpy.isnan(found) & numpy.isnan(wanted))
