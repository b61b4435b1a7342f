"""One softmax kernel: a tile, element types, and what it reads and writes, printed as CUDA.

>>> from tylo.proofs.specifications.softmax_tiles import SoftmaxTile
>>> kernel = SoftmaxKernel(SoftmaxTile(vector=4, lanes=32, warps=4, repeats=2), "f32", "f32")
>>> kernel.capacity, kernel.values
(1024, 8)
>>> [each.name for each in kernel.parameters]
['x', 'out', 'rows', 'columns', 'row_stride', 'out_row_stride']

`form` is ``"rows"`` (a row is held in registers, and read once), ``"stream"`` (any width; read
twice where probabilities are wanted) or ``"three_pass"`` (any width, a loop of single columns, for
comparison).
A `ragged` kernel takes rows that begin or end anywhere; an exact one whole aligned vectors. A
`held` kernel keeps the weights between the two halves of its work, and one that does not keeps the
words of its input, which take half the registers for 16-bit elements. `mask_modes` is how many
modes the rows of a mask have, None for no mask. Indices of columns are 32 bits wide, or 64 in a
`wide` kernel; rows and everything in bytes are always 64. At least `resident` blocks are to fit on
a multiprocessor, which bounds the registers of a thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tylo.codegen.cuda_files import cuda_file
from tylo.codegen.lane_programs.cuda_reading import operator_functions
from tylo.codegen.launch.choice import Parameter
from tylo.codegen.softmax import masks, memory, statistics
from tylo.codegen.softmax.elements import ELEMENTS, words_of
from tylo.codegen.softmax.signature import ENTRY, arguments, entry, parameters
from tylo.layouts.errors import GenerationError
from tylo.proofs.lane_programs.exponent import Exponent
from tylo.proofs.specifications.softmax_tiles import SoftmaxTile

Form = Literal["rows", "stream", "three_pass"]


@dataclass(frozen=True)
class SoftmaxKernel:
    """See the module. Raises `GenerationError` for what no kernel computes."""

    tile: SoftmaxTile
    dtype: str
    out_dtype: str | None
    form: Form = "rows"
    ragged: bool = False
    held: bool = True
    mask_modes: int | None = None
    lse: bool = False
    wide: bool = False
    resident: int = 1
    exponent: Exponent = Exponent()  # noqa: RUF009 - frozen
    entry: str = ENTRY

    def __post_init__(self) -> None:
        if self.out_dtype is None and not self.lse:
            raise GenerationError(
                "a softmax kernel without a result", hint="ask for probabilities or log-sum-exp"
            )
        if self.form == "three_pass" and self.tile.parts > 1:
            raise GenerationError(
                "three passes over several warps", hint="give a row one warp: warps=1"
            )
        if self.ragged and self.tile.row_threads < 2 * self.tile.vector:
            raise GenerationError(
                f"{self.tile.row_threads} threads for rows that begin anywhere in a vector of "
                f"{self.tile.vector}",
                hint="a thread is needed for each column of a head and a tail",
            )

    @property
    def chunk(self) -> int:
        """Vectors whose values a lane holds as float32 at a time."""
        if self.held or self.form != "rows":
            return self.tile.repeats
        return 1

    @property
    def chunked(self) -> bool:
        """Whether a lane's vectors enter the state in several chunks."""
        return self.chunk < self.tile.repeats

    @property
    def edge_apart(self) -> bool:
        """Whether the single column of a ragged row enters the state by itself."""
        return self.ragged and self.chunked

    @property
    def values(self) -> int:
        """Values of a lane at a time; a single column of a ragged row may be one more."""
        return self.tile.vector * self.chunk + (self.ragged and not self.edge_apart)

    @property
    def words(self) -> int:
        """Words of a lane: of all its vectors, and one for a single column of a ragged row."""
        return words_of(self.dtype, self.tile.vector) * self.tile.repeats + self.ragged

    @property
    def capacity(self) -> int | None:
        """The widest row; None where any width is right."""
        return self.tile.capacity if self.form == "rows" else None

    @property
    def slack(self) -> int:
        """Columns beyond the capacity that the ends of a ragged row surely take."""
        return self.tile.vector - 1 if self.ragged else 0

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The kernel's parameters in order."""
        return parameters(
            out=self.out_dtype is not None,
            lse=self.lse,
            mask_modes=self.mask_modes,
            wide=self.wide,
        )

    def source(self) -> str:
        """The whole translation unit: no header, no include."""
        return f"{self.functions()}\n{entry(self.entry, self.parameters, self.tile.cluster)}"

    def functions(self) -> str:
        """All but the entry: `Arguments` and `softmax_kernel`."""
        parts = "warp" if self.tile.parts == 1 else "block" if self.tile.cluster == 1 else "cluster"
        return "\n".join(
            [
                self._head(),
                operator_functions(),
                *(cuda_file("softmax", each) for each in memory.wrappers(self)),
                memory.rows(self),
                cuda_file("softmax", f"span_{'ragged' if self.ragged else 'exact'}.cuh"),
                memory.load(self),
                masks.mask(self),
                memory.unpack(self),
                memory.store(self),
                statistics.functions(self),
                *(
                    [statistics.slots(self), cuda_file("softmax", "exchange_parts.cuh")]
                    if self.tile.parts > 1
                    else []
                ),
                cuda_file("softmax", f"exchange_{parts}.cuh"),
                memory.store_log_sum_exp(self),
                *([cuda_file("softmax", self._weighing())] if self.form == "rows" else []),
                cuda_file("softmax", f"{self.form}.cuh"),
            ]
        )

    def _weighing(self) -> str:
        return "rows_packed.cuh" if self.chunked else "rows_held.cuh"

    def _head(self) -> str:
        tile = self.tile
        lanes = -(-tile.parts // 32)
        return (
            f"// {self.entry}: softmax along rows, {self.dtype} to {self.out_dtype or 'nothing'}"
            f"{', with log-sum-exp' if self.lse else ''}\n"
            f"// {tile.block_rows} row(s) a block of {tile.threads} threads, {tile.cluster} "
            f"block(s) a row, vectors of {tile.vector} elements, {tile.repeats} a thread.\n"
            "// Indices are printed from the tile's ownership, shuffles and exchanges from its "
            "reduction.\n"
            f"typedef {ELEMENTS[self.dtype].c_type} Element;\n"
            f"typedef {ELEMENTS[self.out_dtype or 'f32'].c_type} Result;\n"
            f"typedef unsigned{' long long' if self.wide else ''} column_t;\n\n"
            "enum : unsigned {\n"
            f"    threads = {tile.threads},\n"
            f"    resident = {self.resident},\n"
            f"    vector = {tile.vector},\n"
            f"    values = {self.values},\n"
            f"    word_registers = {self.words},\n"
            f"    chunks = {tile.repeats // self.chunk},\n"
            f"    step_columns = {tile.capacity},\n"
            f"    cluster_blocks = {tile.cluster},\n"
            f"    parts_of_lane = {lanes},\n"
            f"    slots = {tile.block_rows * tile.parts},\n"
            f"    writes_probabilities = {int(self.out_dtype is not None)},\n"
            f"    masked_word = {ELEMENTS[self.dtype].masked:#010x},\n"
            "};\n\n" + arguments(self.parameters)
        )
