"""The kernel of narrow rows side by side: whole vectors of many rows, through shared memory.

Rows have no gaps, and x and out start at multiples of 16 bytes; where a row begins does not matter.
Their width is part of the kernel: which lane holds which element of shared memory then depends on
nothing that is known at run time alone.

>>> from tylo.proofs.specifications.softmax_flat_tiles import FlatTile
>>> flat = FlatKernel(FlatTile(vector=8, rows=64, lanes=4, each=9, threads=256), 33, "bf16", True)
>>> [each.name for each in flat.parameters]
['x', 'out', 'rows']
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tylo.codegen.cuda_files import cuda_file
from tylo.codegen.lane_programs.cuda_reading import PRINTED, operator_functions
from tylo.codegen.launch.choice import Parameter
from tylo.codegen.printing import expression
from tylo.codegen.softmax.elements import ELEMENTS, packed_text, place
from tylo.codegen.softmax.masks import mask_row
from tylo.codegen.softmax.memory import FORCED, constants, function
from tylo.codegen.softmax.request import BYTES
from tylo.codegen.softmax.signature import ENTRY, arguments, entry, parameters
from tylo.codegen.softmax.statistics import in_lanes
from tylo.layouts.reduction import reduction
from tylo.layouts.row_tiles import row_tile
from tylo.layouts.terms import name
from tylo.proofs.specifications.softmax_flat_tiles import FlatTile

_THREAD = name("thread")


@dataclass(frozen=True)
class FlatKernel:
    """Rows of so many columns; `writes` says whether probabilities are written.

    Raises `GenerationError` for rows wider than the tile, and blocks that end inside a vector.
    """

    tile: FlatTile
    columns: int
    dtype: str
    writes: bool
    mask_modes: int | None = None
    lse: bool = False
    entry: str = ENTRY

    def __post_init__(self) -> None:
        self.tile.require(self.columns)

    @property
    def out_dtype(self) -> str | None:
        """The type of the probabilities: that of the scores, because they take their place."""
        return self.dtype if self.writes else None

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The kernel's parameters in order."""
        found = parameters(out=self.writes, lse=self.lse, mask_modes=self.mask_modes, strides=False)
        return tuple(each for each in found if each.name != "columns")

    def source(self) -> str:
        """The whole translation unit: no header, no include."""
        return f"{self.functions()}\n{entry(self.entry, self.parameters)}"

    def functions(self) -> str:
        """All but the entry: `Arguments` and `softmax_kernel`."""
        tile, element = self.tile, ELEMENTS[self.dtype]
        rows = reduction(row_tile(vector=tile.each, lanes=tile.lanes), 1)
        sizes = {
            "threads": tile.threads,
            "resident": 1,
            "vector": tile.vector,
            "values": tile.each,
            "passes": tile.passes,
            "block_rows": tile.rows,
            "columns_of_row": self.columns,
            "copies": tile.copies(self.columns),
            "masked_word": ELEMENTS[self.dtype].masked,
            "writes_probabilities": int(self.writes),
        }
        wrappers = ["copy_16.cuh", "vector_16.cuh", f"vector_{BYTES[self.dtype]}.cuh"]
        flag = ["flag.cuh"] if self.mask_modes is not None else []
        return "\n".join(
            [
                f"// {self.entry}: softmax of rows of {self.columns} side by side, {self.dtype}\n"
                f"// {tile.rows} rows a block of {tile.threads} threads, {tile.lanes} lane(s) a "
                f"row, {tile.each} columns a lane.\n"
                f"typedef {element.c_type} Element;\ntypedef {element.c_type} Result;\n"
                "typedef unsigned column_t;\n\n" + constants(sizes),
                arguments(self.parameters),
                operator_functions(),
                *(cuda_file("softmax", each) for each in (*wrappers, *flag)),
                self._indices(),
                self._cut(),
                self._read(),
                self._write(),
                in_lanes(rows, lse=self.lse),
                self._store_log_sum_exp(),
                cuda_file("softmax", "flat.cuh"),
            ]
        )

    def _indices(self) -> str:
        tile = self.tile
        out = "given.out + element" if self.writes else "nullptr"
        return (
            f"{FORCED} unsigned copied(unsigned thread, unsigned step) {{\n"
            f"    return {expression(tile.copied(_THREAD, name('step')))};\n}}\n\n"
            f"{FORCED} unsigned row_of(unsigned thread, unsigned pass) {{\n"
            f"    return {expression(tile.row(_THREAD, name('pass')))};\n}}\n\n"
            f"{FORCED} Result* result_of(const Arguments& given, unsigned long long element) {{\n"
            f"    return {out};\n}}\n"
        )

    def _cut(self) -> str:
        """`take_cut` and `put_cut`: the elements of a vector that is not whole."""
        vector, size = self.tile.vector, BYTES[self.dtype]
        taken = ["unsigned words[4];"]
        for value in range(vector):
            word, half = place(self.dtype, vector, 0, value)
            taken += [
                f"unsigned one_{value};",
                f"load_{size}(x + {value}, {value}u < left, masked_word, one_{value});",
            ]
            if size == 4:
                taken.append(f"words[{word}] = one_{value};")
            elif half:
                taken.append(f"words[{word}] = (one_{value - 1} & 0xffffu) | one_{value} << 16;")
        taken.append(
            "*reinterpret_cast<uint4*>(tile) = make_uint4(words[0], words[1], words[2], words[3]);"
        )
        # The vector is not whole: its last element is never there.
        put = [f"if ({each}u < left) out[{each}] = tile[{each}];" for each in range(vector - 1)]
        return (
            function("take_cut", "const Element* x, Element* tile, unsigned left", taken)
            + "\n"
            + function("put_cut", "const Element* tile, Result* out, unsigned left", put)
        )

    def _columns(self) -> Iterator[tuple[int, str]]:
        for value in range(self.tile.each):
            yield value, expression(self.tile.column(_THREAD, value))

    def _read(self) -> str:
        at = "tile[row * columns_of_row + column]"
        word = f"static_cast<unsigned>({at})"
        text = at if self.dtype == "f32" else PRINTED[f"low_{self.dtype}"](word)
        lines = ["unsigned column;"]
        if self.mask_modes is not None:
            lines = [
                "const unsigned long long row_number = live ? first + row : 0;",
                *mask_row(self.mask_modes, "row_number"),
                "const unsigned char* const flags = given.mask + mask_at;",
                *lines,
            ]
        for value, column in self._columns():
            lines += [
                f"column = {column};",
                f"scores[{value}] = live && column < columns_of_row ? {text} : -lane_infinity();",
            ]
            if self.mask_modes is not None:
                lines.append(
                    "if (!load_flag(flags + column * given.mask_column_stride, "
                    f"live && column < columns_of_row)) scores[{value}] = -lane_infinity();"
                )
        return function(
            "read_row",
            "const Arguments& given, const Element* tile, unsigned long long first, unsigned row,\n"
            "    bool live, unsigned thread, float (&scores)[values]",
            lines,
        )

    def _write(self) -> str:
        lines, at = ["unsigned column;"], "tile[row * columns_of_row + column]"
        for value, column in self._columns():
            (word,) = packed_text(self.dtype, [f"scores[{value}]"])
            stored = f"scores[{value}]" if self.dtype == "f32" else f"static_cast<Element>({word})"
            lines += [
                f"column = {column};",
                f"if (live && column < columns_of_row) {at} = {stored};",
            ]
        return function(
            "write_row",
            "Element* tile, unsigned row, bool live, unsigned thread,\n"
            "    const float (&scores)[values]",
            lines,
        )

    def _store_log_sum_exp(self) -> str:
        lines = []
        if self.lse:
            copy = expression(self.tile.taken.copy(_THREAD))
            lines = [
                "float result[1];",
                "log_sum_exp(maximum, sum, result);",
                f"if (live && ({copy}) == 0u) given.lse[row] = result[0];",
            ]
        return function(
            "store_log_sum_exp",
            "const Arguments& given, unsigned long long row, bool live, unsigned thread,\n"
            "    const float (&maximum)[1], const float (&sum)[1]",
            lines,
        )
