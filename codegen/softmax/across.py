"""The kernel of rows that run across memory: softmax along an axis that is not the innermost.

`inner` rows lie side by side, the columns of a row are `column_stride` apart, and after `inner`
rows the next ones begin `row_stride` further on. Threads side by side take rows side by side, and
go down the columns; which thread takes what is printed from an `AcrossTile`. A `held` kernel keeps
all columns in registers and reads them once; another reads them again for the probabilities, a
step at a time, whatever their number. Rows are counted in 64 bits in a `wide` kernel.

>>> from tylo.proofs.specifications.softmax_across_tiles import AcrossTile
>>> kernel = AcrossKernel(AcrossTile(vector=4, lanes=32, repeats=8, warps=4), "f32", "f32")
>>> kernel.capacity, [each.name for each in kernel.parameters][3:]
(32, ['columns', 'inner', 'row_stride', 'column_stride', 'out_row_stride', 'out_column_stride'])
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tylo.codegen.cuda_files import cuda_file
from tylo.codegen.lane_programs.cuda_reading import operator_functions
from tylo.codegen.launch.choice import Parameter
from tylo.codegen.printing import expression
from tylo.codegen.softmax.elements import ELEMENTS, packed_text, pieces, words_of
from tylo.codegen.softmax.masks import mask_row, masked_text
from tylo.codegen.softmax.memory import FORCED, constants, function, unpack_all
from tylo.codegen.softmax.request import BYTES
from tylo.codegen.softmax.signature import ENTRY, arguments, entry, parameters
from tylo.codegen.softmax_state.cuda import (
    log_sum_exp_function,
    merge_lanes_function,
    probabilities_function,
    update_function,
)
from tylo.layouts.errors import GenerationError
from tylo.layouts.terms import name
from tylo.proofs.lane_programs.exponent import Exponent
from tylo.proofs.specifications.softmax_across_tiles import AcrossTile

_THREAD = name("thread")
_STEP = "bool live, column_t first, unsigned thread"


@dataclass(frozen=True)
class AcrossKernel:
    """See the module. Raises `GenerationError` for a kernel without a result."""

    tile: AcrossTile
    dtype: str
    out_dtype: str | None
    held: bool = True
    mask_modes: int | None = None
    lse: bool = False
    wide: bool = False
    resident: int = 1
    entry: str = ENTRY

    def __post_init__(self) -> None:
        if self.out_dtype is None and not self.lse:
            raise GenerationError(
                "a softmax kernel without a result", hint="ask for probabilities or log-sum-exp"
            )

    @property
    def capacity(self) -> int | None:
        """The most columns; None where any number is right."""
        return self.tile.step if self.held else None

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The kernel's parameters in order."""
        return parameters(
            out=self.out_dtype is not None, lse=self.lse, mask_modes=self.mask_modes, across=True
        )

    def source(self) -> str:
        """The whole translation unit: no header, no include."""
        return f"{self.functions()}\n{entry(self.entry, self.parameters)}"

    def functions(self) -> str:
        """All but the entry: `Arguments` and `softmax_kernel`."""
        tile, out = self.tile, self.out_dtype or "f32"
        sizes = {tile.vector * BYTES[self.dtype]}
        if self.out_dtype:
            sizes.add(pieces(out, tile.vector)[0][1] * BYTES[out])
        files = [f"vector_{each}.cuh" for each in sorted(sizes)]
        files += ["flag.cuh"] if self.mask_modes is not None else []
        return "\n".join(
            [
                f"// {self.entry}: softmax of rows that run across memory, {self.dtype} to "
                f"{self.out_dtype or 'nothing'}{', with log-sum-exp' if self.lse else ''}\n"
                f"// {tile.block_rows} rows a block of {tile.threads} threads, vectors of "
                f"{tile.vector} rows, {tile.step} columns at a time.\n"
                f"typedef {ELEMENTS[self.dtype].c_type} Element;\n"
                f"typedef {ELEMENTS[out].c_type} Result;\n"
                "typedef unsigned column_t;\n"
                f"typedef unsigned{' long long' if self.wide else ''} row_t;\n\n"
                + constants(self._sizes()),
                arguments(self.parameters),
                operator_functions(),
                *(cuda_file("softmax", each) for each in files),
                self._rows(),
                self._load(),
                self._mask(),
                unpack_all(self.dtype, self.tile.vector, self.tile.repeats),
                self._store(),
                self._statistics(),
                self._exchange(),
                self._store_log_sum_exp(),
                cuda_file("softmax", "across.cuh"),
            ]
        )

    def _sizes(self) -> dict[str, int]:
        tile = self.tile
        return {
            "threads": tile.threads,
            "resident": self.resident,
            "block_rows": tile.block_rows,
            "results": tile.vector,
            "values": tile.vector * tile.repeats,
            "word_registers": words_of(self.dtype, tile.vector) * tile.repeats,
            "step_columns": tile.step,
            "parts": tile.warps,
            "slots": tile.block_rows * tile.warps,
            "turns": tile.turns,
            "held": int(self.held),
            "writes_probabilities": int(self.out_dtype is not None),
            "masked_word": ELEMENTS[self.dtype].masked,
        }

    def _rows(self) -> str:
        tile = self.tile
        strides = "outer * given.out_row_stride + within" if self.out_dtype else ""
        out = f"given.out + ({strides})" if self.out_dtype else "nullptr"
        return (
            f"{FORCED} unsigned row_of(unsigned thread) {{\n"
            f"    return {expression(tile.row(_THREAD))};\n}}\n\n"
            f"{FORCED} row_t first_row(unsigned block) {{\n"
            f"    return static_cast<row_t>(block) * {tile.block_rows}u;\n}}\n\n"
            f"{FORCED} Result* result_at(\n"
            "    const Arguments& given, unsigned long long outer, unsigned long long within) {\n"
            f"    return {out};\n}}\n"
        )

    def _vectors(self, at: str) -> Iterator[tuple[int, str, str]]:
        """Each vector, where it is, and whether there is such a column."""
        tile = self.tile
        for repeat in range(tile.repeats):
            apart = tile.column(0, repeat) - tile.column(0, 0)
            yield repeat, at.format(apart), f"live && column + {apart}u < given.columns"

    def _column(self) -> str:
        return f"const column_t column = first + ({expression(self.tile.column(_THREAD, 0))});"

    def _load(self) -> str:
        tile, count = self.tile, words_of(self.dtype, self.tile.vector)
        lines = [self._column(), "const Element* const at = x + column * given.column_stride;"]
        for repeat, at, wanted in self._vectors("at + {}u * given.column_stride"):
            words = ", ".join(f"words[{repeat * count + word}]" for word in range(count))
            lines.append(
                f"load_{tile.vector * BYTES[self.dtype]}({at}, {wanted}, masked_word, {words});"
            )
        return function(
            "load_columns",
            f"const Arguments& given, const Element* x, {_STEP},\n"
            "    unsigned (&words)[word_registers]",
            lines,
        )

    def _mask(self) -> str:
        lines: list[str] = []
        if self.mask_modes is not None:
            lines.append(self._column())
            for value in range(self.tile.vector):
                lines += [
                    f"const unsigned char* flags_{value};",
                    "{",
                    *(
                        f"    {each}"
                        for each in mask_row(self.mask_modes, f"live ? row + {value}u : 0")
                    ),
                    "    mask_at += column * given.mask_column_stride;",
                    f"    flags_{value} = given.mask + mask_at;",
                    "}",
                ]
            for repeat, at, wanted in self._vectors("{}u * given.mask_column_stride"):
                for value in range(self.tile.vector):
                    flag = f"load_flag(flags_{value} + {at}, {wanted})"
                    lines.append(
                        masked_text(self.dtype, self.tile.vector, repeat, value, f"!{flag}")
                    )
        return function(
            "mask_columns",
            f"const Arguments& given, row_t row, {_STEP},\n    unsigned (&words)[word_registers]",
            lines,
        )

    def _store(self) -> str:
        lines: list[str] = []
        if self.out_dtype is not None:
            vector, size = self.tile.vector, BYTES[self.out_dtype]
            lines = [self._column(), "Result* const at = out + column * given.out_column_stride;"]
            for repeat, at, wanted in self._vectors("at + {}u * given.out_column_stride"):
                for first, count in pieces(self.out_dtype, vector):
                    held = [f"weights[{repeat * vector + first + each}]" for each in range(count)]
                    words = ", ".join(packed_text(self.out_dtype, held))
                    lines.append(f"store_{count * size}({at} + {first}u, {wanted}, {words});")
        return function(
            "store_columns",
            f"const Arguments& given, Result* out, {_STEP},\n    const float (&weights)[values]",
            lines,
        )

    def _statistics(self) -> str:
        tile, exponent = self.tile, Exponent()
        texts = [
            update_function(tile.of_lane, exponent, "softmax_update"),
            merge_lanes_function(tile.of_warp, exponent, "merge_lanes"),
            probabilities_function(tile.of_lane, exponent, "softmax_probabilities"),
        ]
        if tile.warps > 1:
            texts.append(merge_lanes_function(tile.of_parts, exponent, "merge_parts"))
        if self.lse:
            texts.append(log_sum_exp_function(tile.vector, exponent, "log_sum_exp"))
        return "\n".join(texts)

    def _exchange(self) -> str:
        """Who writes which slot of the exchange, and who merges which row; or nothing to do."""
        tile = self.tile
        if tile.warps == 1:
            copied = [
                f"{each}[{value}] = part_{each}[{value}];"
                for value in range(tile.vector)
                for each in ("maximum", "sum")
            ]
            return function(
                "exchange",
                "unsigned thread, const float (&part_maximum)[results], "
                "const float (&part_sum)[results],\n"
                "    float (&maximum)[results], float (&sum)[results]",
                copied,
            )
        terms = {
            "part_copy(unsigned thread)": tile.part_copy(_THREAD),
            "own_slot(unsigned thread, unsigned value)": tile.own_slot(_THREAD, name("value")),
            "part_slot(unsigned row, unsigned part)": tile.part_slot(name("row"), name("part")),
            "merged_row(unsigned thread, unsigned turn)": tile.merged(_THREAD, name("turn")),
        }
        return "\n".join(
            [
                *(
                    f"{FORCED} unsigned {title} {{\n    return {expression(term)};\n}}\n"
                    for title, term in terms.items()
                ),
                cuda_file("softmax", "exchange_rows.cuh"),
            ]
        )

    def _store_log_sum_exp(self) -> str:
        lines: list[str] = []
        if self.lse:
            lines = [
                "float result[results];",
                "log_sum_exp(maximum, sum, result);",
                f"if (live && ({expression(self.tile.copy(_THREAD))}) == 0u) {{",
                *(
                    f"    given.lse[row + {each}u] = result[{each}];"
                    for each in range(self.tile.vector)
                ),
                "}",
            ]
        return function(
            "store_log_sum_exp",
            "const Arguments& given, row_t row, bool live, unsigned thread,\n"
            "    const float (&maximum)[results], const float (&sum)[results]",
            lines,
        )
