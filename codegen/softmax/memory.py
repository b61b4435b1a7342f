"""What a softmax kernel reads and writes, printed from its tile: rows, vectors, results.

Every index below is a term of the tile's ownership, evaluated for one register and printed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tylo.codegen.printing import expression
from tylo.codegen.softmax.elements import (
    packed_text,
    pieces,
    scores_text,
    words_of,
)
from tylo.codegen.softmax.request import BYTES
from tylo.layouts.terms import name

if TYPE_CHECKING:
    from tylo.codegen.softmax.kernel import SoftmaxKernel

_THREAD, _RANK = name("thread"), name("rank")
FORCED = "__device__ __forceinline__"


def wrappers(kernel: SoftmaxKernel) -> list[str]:
    """The files of the loads and stores that the kernel calls."""
    tile = kernel.tile
    sizes = {tile.vector * BYTES[kernel.dtype]}
    sizes |= {BYTES[kernel.dtype]} if kernel.ragged else set()
    if kernel.out_dtype:
        sizes.add(pieces(kernel.out_dtype, tile.vector)[0][1] * BYTES[kernel.out_dtype])
        sizes |= {BYTES[kernel.out_dtype]} if kernel.ragged else set()
    if kernel.mask_modes is not None and tile.vector >= 4:
        sizes.add(tile.vector)
    files = [f"vector_{size}.cuh" for size in sorted(sizes)]
    return files + (["flag.cuh"] if kernel.mask_modes is not None else [])


def rows(kernel: SoftmaxKernel) -> str:
    """Which row is a thread's, which single column, and where its result goes."""
    tile = kernel.tile
    out = "given.out + row * given.out_row_stride" if kernel.out_dtype else "nullptr"
    single = tile.singles.column(_THREAD, 0, _RANK)
    block = f"block / {tile.cluster}u" if tile.cluster > 1 else "block"
    return (
        f"{FORCED} unsigned row_of(unsigned thread) {{\n"
        f"    return {expression(tile.row(_THREAD))};\n}}\n\n"
        f"{FORCED} unsigned long long first_row(unsigned block) {{\n"
        f"    return {tile.block_rows}ull * ({block});\n}}\n\n"
        f"{FORCED} unsigned single_column(unsigned thread, unsigned rank) {{\n"
        f"    return {expression(single)};\n}}\n\n"
        f"{FORCED} Result* result_row(const Arguments& given, unsigned long long row) {{\n"
        f"    return {out};\n}}\n"
    )


def load(kernel: SoftmaxKernel) -> str:
    """`load_span`: the words of a thread's vectors, and of its single column."""
    tile, count = kernel.tile, words_of(kernel.dtype, kernel.tile.vector)
    lines = []
    for repeat, offset in offsets(kernel):
        words = ", ".join(f"words[{repeat * count + word}]" for word in range(count))
        lines.append(
            f"load_{tile.vector * BYTES[kernel.dtype]}(at + {offset}, {offset} < left, "
            f"masked_word, {words});"
        )
    lines += _load_edge(kernel)
    return function(
        "load_span",
        "const Span& span, unsigned thread, unsigned rank, unsigned (&words)[word_registers]",
        [*first_column(kernel), "const Element* const at = span.x + first;", *lines],
    )


def unpack_all(dtype: str, vector: int, repeats: int) -> str:
    """`unpack`: the words of all vectors to float32, exactly."""
    texts = [
        scores_text(dtype, vector, repeat, value)
        for repeat in range(repeats)
        for value in range(vector)
    ]
    return function(
        "unpack",
        "const unsigned (&words)[word_registers], float (&scores)[values]",
        [f"scores[{value}] = {text};" for value, text in enumerate(texts)],
    )


def unpack(kernel: SoftmaxKernel) -> str:
    """`unpack`: the words of a chunk to float32, exactly; and of the single column, if apart."""
    tile, count = kernel.tile, words_of(kernel.dtype, kernel.tile.vector) * kernel.chunk
    words = f"words[chunk * {count}u + {{}}]"
    texts = [
        scores_text(kernel.dtype, tile.vector, repeat, value, words)
        for repeat in range(kernel.chunk)
        for value in range(tile.vector)
    ]
    edge = scores_text(kernel.dtype, 1, kernel.words - 1, 0, "words[{}]")
    if kernel.ragged and not kernel.edge_apart:
        texts.append(edge)
    whole = function(
        "unpack",
        "const unsigned (&words)[word_registers], unsigned chunk, float (&scores)[values]",
        [f"scores[{value}] = {text};" for value, text in enumerate(texts)],
    )
    if not kernel.chunked:
        return whole
    return whole + function(
        "unpack_edge",
        "const unsigned (&words)[word_registers], float (&scores)[1]",
        [f"scores[0] = {edge if kernel.ragged else '-lane_infinity()'};"],
    )


def store(kernel: SoftmaxKernel) -> str:
    """`store_span`: a chunk's values rounded, vector by vector, or one by one if they must."""
    parameters = (
        "const Span& span, unsigned thread, unsigned rank, unsigned chunk,\n"
        "    const float (&weights)[values]"
    )
    lines: list[str] = []
    edge: list[str] = []
    if kernel.out_dtype is not None:
        size = BYTES[kernel.out_dtype]
        vectors = list(_vector_stores(kernel, kernel.out_dtype))
        lines = [*first_column(kernel), "Result* const at = span.out + first;"]
        if kernel.ragged:
            (word,) = packed_text(kernel.out_dtype, ["weight"])
            edge = [
                f"store_{size}(span.out {where}, {wanted}, {word});"
                for where, wanted in edges(kernel)
            ]
            single = _single_stores(kernel, kernel.out_dtype)
            lines += [
                "if (span.together) {",
                *(f"    {line}" for line in vectors),
                "} else {",
                *(f"    {line}" for line in single),
                "}",
            ]
            if not kernel.edge_apart:
                lines.append(f"store_edge(span, weights[{kernel.values - 1}]);")
        else:
            lines += vectors
    return (
        function("store_edge", "const Span& span, float weight", edge)
        + "\n"
        + function("store_span", parameters, lines)
    )


def store_log_sum_exp(kernel: SoftmaxKernel) -> str:
    """`store_log_sum_exp`: by one of the threads that know it."""
    lines = []
    if kernel.lse:
        lines = [
            "float result[1];",
            "log_sum_exp(maximum, sum, result);",
            f"if (row < given.rows && ({expression(kernel.tile.copy(_THREAD, _RANK))}) == 0u) {{",
            "    given.lse[row] = result[0];",
            "}",
        ]
    return function(
        "store_log_sum_exp",
        "const Arguments& given, unsigned long long row, unsigned thread, unsigned rank,\n"
        "    const float (&maximum)[1], const float (&sum)[1]",
        lines,
    )


def _load_edge(kernel: SoftmaxKernel) -> list[str]:
    if not kernel.ragged:
        return []
    word, held = f"words[{kernel.words - 1}]", ("masked_word", f"words[{kernel.words - 1}]")
    return [
        f"load_{BYTES[kernel.dtype]}(span.x {where}, {wanted}, {before}, {word});"
        for before, (where, wanted) in zip(held, edges(kernel), strict=True)
    ]


def edges(kernel: SoftmaxKernel) -> list[tuple[str, str]]:
    """A thread's single columns of a head and of a tail, from the body, and where it has them."""
    return [
        ("- span.head + span.single", f"span.in_head{in_first(kernel)}"),
        ("+ span.tail_column", f"span.in_tail{in_first(kernel)}"),
    ]


def offsets(kernel: SoftmaxKernel, *, chunked: bool = False) -> Iterator[tuple[int, str]]:
    """Each vector, of all or of a chunk, and how far its first column is from the thread's first.

    That is a constant: a repeat is a digit of its own in the ownership.
    """
    tile = kernel.tile
    for repeat in range(kernel.chunk if chunked else tile.repeats):
        apart = tile.column(0, repeat) - tile.column(0, 0)
        before = f" + chunk * {tile.step * kernel.chunk}u" if chunked and kernel.chunked else ""
        yield repeat, f"{apart}u{before}"


def first_column(kernel: SoftmaxKernel) -> list[str]:
    """The thread's first column in the body, and `left`, how many there are from there on."""
    step = "span.first + " if kernel.form in ("stream", "three_pass") else ""
    return [
        f"const column_t first = {step}({expression(kernel.tile.column(_THREAD, 0, _RANK))});",
        "const column_t left = first < span.body ? span.body - first : 0;",
    ]


def in_first(kernel: SoftmaxKernel) -> str:
    return " && span.first == 0" if kernel.form in ("stream", "three_pass") else ""


def _vector_stores(kernel: SoftmaxKernel, dtype: str) -> Iterator[str]:
    vector = kernel.tile.vector
    for repeat, offset in offsets(kernel, chunked=True):
        for first, size in pieces(dtype, vector):
            held = [f"weights[{repeat * vector + first + each}]" for each in range(size)]
            where = f"at + {offset}" + (f" + {first}u" if first else "")
            yield (
                f"store_{size * BYTES[dtype]}({where}, {offset} < left, "
                f"{', '.join(packed_text(dtype, held))});"
            )


def _single_stores(kernel: SoftmaxKernel, dtype: str) -> Iterator[str]:
    vector = kernel.tile.vector
    for repeat, offset in offsets(kernel, chunked=True):
        for value in range(vector):
            (word,) = packed_text(dtype, [f"weights[{repeat * vector + value}]"])
            yield (f"store_{BYTES[dtype]}(at + {offset} + {value}u, {offset} < left, {word});")


def function(title: str, parameters: str, lines: list[str]) -> str:
    """A device function that returns nothing."""
    body = "".join(f"    {line}\n" for line in lines)
    return f"{FORCED} void {title}(\n    {parameters}) {{\n{body}}}\n"


def constants(values: dict[str, int]) -> str:
    """Constants of a kernel: enumerators, because a constant would become a global in the PTX."""
    lines = "".join(f"    {label} = {value}u,\n" for label, value in values.items())
    return f"enum : unsigned {{\n{lines}}};\n"
