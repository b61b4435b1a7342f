"""The kernel of rows of very few columns side by side: a vector holds several whole rows.

Rows have no gaps, and x and out start at multiples of 16 bytes.

>>> from tylo.proofs.specifications.softmax_flat_tiles import FewTile
>>> few = FewKernel(FewTile(vector=8, columns=1, repeats=1, threads=128), "bf16", "bf16")
>>> [each.name for each in few.parameters]
['x', 'out', 'rows']
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tylo.codegen.cuda_files import cuda_file
from tylo.codegen.lane_programs.cuda_reading import operator_functions
from tylo.codegen.launch.choice import Parameter
from tylo.codegen.printing import expression
from tylo.codegen.softmax.elements import ELEMENTS, packed_text, pieces, place
from tylo.codegen.softmax.memory import constants, function, unpack_all
from tylo.codegen.softmax.request import BYTES
from tylo.codegen.softmax.signature import ENTRY, arguments, entry, parameters
from tylo.codegen.softmax.statistics import alone, in_lanes
from tylo.layouts.reduction import reduction
from tylo.layouts.terms import name
from tylo.proofs.specifications.softmax_flat_tiles import FewTile

_THREAD = name("thread")


@dataclass(frozen=True)
class FewKernel:
    """Rows of 1, 2, 4, ... columns, several to a vector; without a mask."""

    tile: FewTile
    dtype: str
    out_dtype: str | None
    lse: bool = False
    entry: str = ENTRY

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The kernel's parameters in order."""
        found = parameters(
            out=self.out_dtype is not None, lse=self.lse, mask_modes=None, strides=False
        )
        return tuple(each for each in found if each.name != "columns")

    def source(self) -> str:
        """The whole translation unit: no header, no include."""
        return f"{self.functions()}\n{entry(self.entry, self.parameters)}"

    def functions(self) -> str:
        """All but the entry: `Arguments` and `softmax_kernel`."""
        tile = self.tile
        rows = reduction(tile.ownership, 1)
        size, out = BYTES[self.dtype], self.out_dtype or self.dtype
        values = tile.vector * tile.repeats
        sizes = {
            "threads": tile.threads,
            "resident": 1,
            "columns_of_row": tile.columns,
            "block_elements": tile.block_rows * tile.columns,
            "values": values,
            "results": tile.rows_of_lane,
            "word_registers": values * size // 4,
            "masked_word": ELEMENTS[self.dtype].masked,
            "writes_probabilities": int(self.out_dtype is not None),
        }
        wide = {tile.vector * size, size}
        if self.out_dtype:
            wide |= {pieces(out, tile.vector)[0][1] * BYTES[out], BYTES[out]}
        return "\n".join(
            [
                f"// {self.entry}: softmax of rows of {tile.columns}, {self.dtype} to {out}\n"
                f"// {tile.vector // tile.columns} row(s) a vector, {tile.repeats} vector(s) a "
                f"thread, {tile.threads} threads a block.\n"
                f"typedef {ELEMENTS[self.dtype].c_type} Element;\n"
                f"typedef {ELEMENTS[out].c_type} Result;\n"
                "typedef unsigned column_t;\n\n" + constants(sizes),
                arguments(self.parameters),
                operator_functions(),
                *(cuda_file("softmax", f"vector_{each}.cuh") for each in sorted(wide)),
                self._load(),
                unpack_all(self.dtype, self.tile.vector, self.tile.repeats),
                self._store(),
                alone(values, lse=self.lse) if tile.columns == 1 else in_lanes(rows, lse=self.lse),
                self._store_log_sum_exp(),
                cuda_file("softmax", "few.cuh"),
            ]
        )

    def _vectors(self) -> Iterator[tuple[int, list[str]]]:
        for repeat in range(self.tile.repeats):
            at = expression(self.tile.element(_THREAD, repeat))
            yield repeat, [f"const unsigned long long at_{repeat} = first + {at};"]

    def _load(self) -> str:
        tile, size = self.tile, BYTES[self.dtype]
        lines: list[str] = []
        for repeat, named in self._vectors():
            places = [place(self.dtype, tile.vector, repeat, each) for each in range(tile.vector)]
            words = sorted({word for word, _ in places})
            at = f"at_{repeat}"
            lines += [
                *named,
                f"load_{tile.vector * size}(given.x + {at}, {at} + {tile.vector}u <= total, "
                f"masked_word, {', '.join(f'words[{word}]' for word in words)});",
                f"if ({at} < total && {at} + {tile.vector}u > total) {{",
            ]
            for value, (word, half) in enumerate(places):
                wanted = f"{at} + {value}u < total"
                lines.append(f"    unsigned one_{value};")
                lines.append(
                    f"    load_{size}(given.x + {at} + {value}u, {wanted}, masked_word, "
                    f"one_{value});"
                )
                if size == 4:
                    lines.append(f"    words[{word}] = one_{value};")
                elif half:
                    lines.append(
                        f"    words[{word}] = (one_{value - 1} & 0xffffu) | one_{value} << 16;"
                    )
            lines.append("}")
        return function(
            "load_elements",
            "const Arguments& given, unsigned long long first, unsigned long long total,\n"
            "    unsigned thread, unsigned (&words)[word_registers]",
            lines,
        )

    def _store(self) -> str:
        tile, lines = self.tile, list[str]()
        if self.out_dtype is not None:
            size = BYTES[self.out_dtype]
            for repeat, named in self._vectors():
                at = f"at_{repeat}"
                held = [f"scores[{repeat * tile.vector + each}]" for each in range(tile.vector)]
                lines += named
                for begin, count in pieces(self.out_dtype, tile.vector):
                    words = packed_text(self.out_dtype, held[begin : begin + count])
                    lines.append(
                        f"store_{count * size}(given.out + {at} + {begin}u, "
                        f"{at} + {tile.vector}u <= total, {', '.join(words)});"
                    )
                lines.append(f"if ({at} < total && {at} + {tile.vector}u > total) {{")
                for value in range(tile.vector):
                    (word,) = packed_text(self.out_dtype, [held[value]])
                    lines.append(
                        f"    store_{size}(given.out + {at} + {value}u, "
                        f"{at} + {value}u < total, {word});"
                    )
                lines.append("}")
        return function(
            "store_elements",
            "const Arguments& given, unsigned long long first, unsigned long long total,\n"
            "    unsigned thread, const float (&scores)[values]",
            lines,
        )

    def _store_log_sum_exp(self) -> str:
        tile, lines = self.tile, list[str]()
        if self.lse:
            lines = [
                "float result[results];",
                "log_sum_exp(maximum, sum, result);",
                "unsigned long long row;",
            ]
            held = tile.vector // tile.columns
            for repeat in range(tile.repeats):
                for number in range(held):
                    row = expression(tile.row(_THREAD, repeat, number))
                    lines += [
                        f"row = first / columns_of_row + {row};",
                        f"if (row < given.rows) given.lse[row] = result[{repeat * held + number}];",
                    ]
        return function(
            "store_log_sum_exp",
            "const Arguments& given, unsigned long long first, unsigned long long total,\n"
            "    unsigned thread, const float (&maximum)[results], const float (&sum)[results]",
            lines,
        )
