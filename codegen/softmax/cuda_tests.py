"""The generated CUDA test of a softmax kernel: the kernel's very text, a few rows, and a table.

Scores and results lie in the test as tables; probabilities and log-sum-exps, whichever the kernel
writes, are those of `tylo.codegen.softmax.oracle`, which shares nothing with the generator. Among
the rows are one that keeps nothing and one with a NaN.

>>> from tylo.proofs.specifications.softmax import SoftmaxCase
>>> from tylo.proofs.specifications.softmax_tiles import SoftmaxTile
>>> (test,) = cuda_tests(SoftmaxCase(SoftmaxTile(4, 8, 1, 2, 4), "f32", "f32"))
>>> test.name, test.entry, test.threads, test.checks
('probabilities', 'tylo_test_probabilities', 128, 300)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tylo.codegen.cuda_files import cuda_file
from tylo.codegen.lane_programs.cuda_reading import float_literal
from tylo.codegen.pack_operand_a.cuda_tests import CudaTest
from tylo.codegen.printing import expression
from tylo.codegen.softmax import oracle
from tylo.codegen.softmax.across import AcrossKernel
from tylo.codegen.softmax.few import FewKernel
from tylo.codegen.softmax.flat import FlatKernel
from tylo.codegen.softmax.kernel import Form, SoftmaxKernel
from tylo.codegen.softmax.memory import constants
from tylo.codegen.softmax.placement import Placement
from tylo.codegen.softmax.request import BYTES
from tylo.layouts.terms import name
from tylo.proofs.specifications.softmax_across import AcrossCase
from tylo.proofs.specifications.softmax_cases import Case
from tylo.proofs.specifications.softmax_few import FewCase
from tylo.proofs.specifications.softmax_flat import FlatCase

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FORMS: dict[str, Form] = {"rows": "rows", "stream": "stream", "three_pass": "three_pass"}
_ROWS, _COLUMNS = 5, 512  # at most
_PER_LINE = 8


def kernel_of(case: Case) -> SoftmaxKernel | FewKernel | FlatKernel | AcrossKernel:
    """The kernel that a specification's case is about."""
    modes = None if isinstance(case, FewCase) else case.mask or None
    if isinstance(case, AcrossCase):
        tile, out = case.tile, case.out_dtype
        return AcrossKernel(tile, case.dtype, out, case.held, modes, case.lse)
    if isinstance(case, FewCase):
        return FewKernel(case.tile, case.dtype, case.out_dtype, case.lse)
    if isinstance(case, FlatCase):
        return FlatKernel(case.tile, case.columns, case.dtype, case.writes, modes, case.lse)
    return SoftmaxKernel(
        case.tile,
        case.dtype,
        case.out_dtype,
        form=_FORMS[case.form],
        ragged=case.ragged,
        held=case.held,
        mask_modes=modes,
        lse=case.lse,
    )


def block_rows(case: Case) -> int:
    """Rows of a block."""
    return case.tile.rows if isinstance(case, FlatCase) else case.tile.block_rows


def few_rows(case: Case) -> tuple[int, int]:
    """Rows and columns that one block computes: a vector less than it holds, where it holds few.

    Ragged rows are an element wider.
    """
    if isinstance(case, FewCase):
        return min(block_rows(case), _ROWS), case.tile.columns
    if isinstance(case, FlatCase):
        return min(block_rows(case), _ROWS), case.columns
    if isinstance(case, AcrossCase):
        # Two runs of vectors of rows, if a block has as many; columns that end inside a step.
        rows = min(block_rows(case), 2 * case.tile.vector)
        step = case.tile.step
        return rows, min(max(1, step - 1) if case.held else step + 1, _COLUMNS)
    columns = min(case.tile.capacity, _COLUMNS)
    if columns > case.tile.vector:
        columns -= case.tile.vector
    if case.form != "rows":
        columns += case.tile.capacity
    columns -= columns % case.tile.vector
    return min(case.tile.block_rows, _ROWS), columns + case.ragged


def placement(rows: int, columns: int, case: Case, apart: int = 0) -> Placement:
    """Where those rows lie: in two runs where they run across memory, if they are whole vectors."""
    if not isinstance(case, AcrossCase):
        return Placement(rows, columns, apart=apart)
    return Placement(rows, columns, rows // (1 + (rows % (2 * case.tile.vector) == 0)), apart)


def kept(rows: int, columns: int, case: Case) -> NDArray[Any] | None:
    """Which columns a mask keeps, if there is one: some of each row, none of the last."""
    import numpy

    if isinstance(case, FewCase) or not case.mask:
        return None
    keep = numpy.random.default_rng(23).random((rows, columns)) < 0.7
    keep[-1] = rows == 1
    return keep


def mask_modes(rows: int, columns: int, case: Case) -> dict[str, int]:
    """Extents and strides of a mask's rows, which lie one after the other whatever their modes."""
    modes = 0 if isinstance(case, FewCase) else case.mask
    found, held = dict[str, int](), 1
    for mode in range(modes):
        extent = 2 if mode < modes - 1 else -(-rows // held)
        found |= {f"mask_extent_{mode}": extent, f"mask_stride_{mode}": held * columns}
        held *= extent
    return found


def strides(x: Placement, out: Placement | None = None) -> dict[str, int]:
    """What a kernel is told of where x and out lie."""
    found = {"inner": x.inner, "row_stride": x.row_stride, "column_stride": x.column_stride}
    out = out or x
    return found | {"out_row_stride": out.row_stride, "out_column_stride": out.column_stride}


def scores(rows: int, columns: int, dtype: str) -> NDArray[Any]:
    """Bit patterns ``[row, column]``: normal scores, an empty row, and a row with a NaN."""
    import numpy

    drawn = numpy.random.default_rng(17).normal(0, 3, (rows, columns))
    if rows > 2:
        drawn[1] = -numpy.inf
        drawn[2, columns // 2] = numpy.nan
    return oracle.narrowed(drawn, dtype)


def cuda_tests(case: Case) -> tuple[CudaTest, ...]:
    """The test of the kernel for `case`."""
    import numpy

    kernel, (rows, columns) = kernel_of(case), few_rows(case)
    placed = placement(rows, columns, case)
    given, keep = scores(rows, columns, case.dtype), kept(rows, columns, case)
    probabilities, logarithms = oracle.softmax(oracle.widened(given, case.dtype), keep)
    if not case.out_dtype:
        probabilities = probabilities[:0]
    if not case.lse:
        logarithms = logarithms[:0]
    stored = placed.spread(probabilities) if probabilities.size else probabilities.reshape(-1)
    wanted = numpy.concatenate([stored, logarithms])
    relative, absolute = oracle.tolerance(case.out_dtype)
    relative *= 4  # of the exponent's own rounding
    apart = float_literal(oracle.LOGARITHM_APART)
    out_words = rows * columns * BYTES[case.out_dtype or "f32"] // 4
    passed = {
        "x": "reinterpret_cast<const Element*>(score_words)",
        "out": "reinterpret_cast<Result*>(found_words)",
        "lse": "found_logarithms",
        "mask": "reinterpret_cast<const unsigned char*>(mask_words_held)",
        "rows": "tested_rows",
        **{label: f"{n}ull" for label, n in strides(placed).items()},
        "mask_column_stride": "1u",
        **{label: f"{n}ull" for label, n in mask_modes(rows, columns, case).items()},
    }
    listed = ", ".join(passed.get(each.name, "tested_columns") for each in kernel.parameters)
    value = {
        None: "0.0f",
        "f32": "reinterpret_cast<const float*>(found_words)[place]",
        "bf16": "__uint_as_float(static_cast<unsigned>("
        "reinterpret_cast<const unsigned short*>(found_words)[place]) << 16)",
        "f16": "lane_low_f16(reinterpret_cast<const unsigned short*>(found_words)[place])",
    }[case.out_dtype]
    number = name("sequence") * case.tile.threads + name("thread")
    source = "\n".join(
        [
            kernel.functions(),
            constants(
                {
                    "tested_rows": rows,
                    "tested_columns": columns,
                    "tested_probabilities": probabilities.size,
                    "tested": wanted.size,
                }
            ),
            _table("score_words", _words(placed.spread(given))),
            *([] if keep is None else [_table("mask_words_held", _words(keep))]),
            _table("expected", _words(wanted.astype(numpy.float32))),
            f"__device__ __align__(16) unsigned found_words[{out_words + 4}];\n"
            f"__device__ float found_logarithms[{rows}];\n",
            "__device__ __forceinline__ Arguments tested_arguments() {\n"
            f"    return {{{listed}}};\n}}\n",
            f"__device__ __forceinline__ float found_probability(unsigned place) {{\n"
            f"    return {value};\n}}\n",
            "__device__ __forceinline__ float relative_error() {\n"
            f"    return {float_literal(relative)};\n}}\n",
            "__device__ __forceinline__ float absolute_error() {\n"
            f"    return {float_literal(absolute)};\n}}\n",
            f"__device__ __forceinline__ float logarithm_error() {{\n    return {apart};\n}}\n",
            "__device__ __forceinline__ unsigned check_number(\n"
            f"    unsigned thread, unsigned sequence) {{\n    return {expression(number)};\n}}\n",
            cuda_file("tests", "report.cuh"),
            cuda_file("tests", "probabilities.cuh"),
        ]
    )
    test = CudaTest(
        name="probabilities",
        source=source,
        entry="tylo_test_probabilities",
        threads=case.tile.threads,
        checks=int(wanted.size),
    )
    return (test,)


def _words(values: NDArray[Any]) -> NDArray[Any]:
    """Elements one after another as 32-bit words, the last filled up with zeros."""
    import numpy

    held = numpy.ascontiguousarray(values).tobytes()
    return numpy.frombuffer(held + bytes(-len(held) % 4), numpy.uint32)


def _table(label: str, words: NDArray[Any]) -> str:
    flat = [f"{int(word):#x}" for word in words]
    lines = [", ".join(flat[at : at + _PER_LINE]) for at in range(0, len(flat), _PER_LINE)]
    body = ",\n".join(f"    {line}" for line in lines)
    return f"__device__ __align__(16) const unsigned {label}[{len(flat)}] = {{\n{body}}};\n"
