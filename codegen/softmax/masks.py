"""Masks of a softmax kernel: what is not kept becomes -inf before anything is computed of it.

A mask is bytes, 1 = keep, whose row and column strides may broadcast. Where its columns lie side
by side and begin where a vector of them may be read, its flags are one load; else one load each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tylo.codegen.softmax.elements import ELEMENTS, place
from tylo.codegen.softmax.memory import FORCED, first_column, function, in_first, offsets
from tylo.codegen.softmax.request import BYTES

if TYPE_CHECKING:
    from tylo.codegen.softmax.kernel import SoftmaxKernel


def mask(kernel: SoftmaxKernel) -> str:
    """`row_flags`, where a row's mask lies, and `mask_words`: what is not kept becomes -inf.

    A row's mask is found once, because that may take divisions by sizes.
    """
    parameters = (
        "const Arguments& given, const Span& span, const unsigned char* flags, unsigned thread, "
        "unsigned rank,\n    unsigned (&words)[word_registers]"
    )
    if kernel.mask_modes is None:
        return _row_flags(["return nullptr;"]) + function("mask_words", parameters, [])
    tile = kernel.tile
    head = _before(kernel)
    found = mask_row(kernel.mask_modes, "row < given.rows ? row : 0")
    lines = first_column(kernel)
    single = list(_flags_one_by_one(kernel))
    if tile.vector >= 4:
        aligned = f"reinterpret_cast<unsigned long long>(flags{head}) % {tile.vector}u == 0"
        lines.append(f"if (given.mask_column_stride == 1 && {aligned}) {{")
        lines += [f"    {line}" for line in _flags_by_vector(kernel)]
        lines += ["} else {", *(f"    {line}" for line in single), "}"]
    else:
        lines += single
    if kernel.ragged:
        for column, wanted in (
            ("span.single", "in_head"),
            ("span.head + span.tail_column", "in_tail"),
        ):
            lines.append(
                f"if (!load_flag(flags + ({column}) * given.mask_column_stride, "
                f"span.{wanted}{in_first(kernel)})) words[{kernel.words - 1}] = masked_word;"
            )
    place = _row_flags([*found, "return given.mask + mask_at;"])
    return place + function("mask_words", parameters, lines)


def _row_flags(lines: list[str]) -> str:
    body = "".join(f"    {line}\n" for line in lines)
    return (
        f"{FORCED} const unsigned char* row_flags(\n"
        f"    const Arguments& given, unsigned long long row) {{\n{body}}}\n\n"
    )


def mask_row(modes: int, row: str) -> list[str]:
    """`mask_at`, the offset of a row's mask: its digits in the modes, the innermost first."""
    lines = [f"unsigned long long rest = {row}, mask_at = 0;"]
    for mode in range(modes):
        last = mode == modes - 1
        digit = "rest" if last else f"rest % given.mask_extent_{mode}"
        lines.append(f"mask_at += ({digit}) * given.mask_stride_{mode};")
        if not last:
            lines.append(f"rest /= given.mask_extent_{mode};")
    return lines


def _before(kernel: SoftmaxKernel) -> str:
    """What is added to a column of the body to make it one of the row."""
    return " + span.head" if kernel.ragged else ""


def _flags_one_by_one(kernel: SoftmaxKernel) -> Iterator[str]:
    for repeat, offset in offsets(kernel):
        for value in range(kernel.tile.vector):
            flag = (
                f"load_flag(flags + (first{_before(kernel)} + {offset} + {value}u) * "
                f"given.mask_column_stride, {offset} < left)"
            )
            yield masked_text(kernel.dtype, kernel.tile.vector, repeat, value, f"!{flag}")


def _flags_by_vector(kernel: SoftmaxKernel) -> Iterator[str]:
    vector = kernel.tile.vector
    names = [f"kept_{word}" for word in range(vector // 4)]
    yield f"unsigned {', '.join(names)};"
    head = _before(kernel)
    for repeat, offset in offsets(kernel):
        yield (
            f"load_{vector}(flags{head} + first + {offset}, {offset} < left, 0x01010101u, "
            f"{', '.join(names)});"
        )
        for value in range(vector):
            byte = 0xFF << value % 4 * 8
            dropped = f"(kept_{value // 4} & {byte:#x}u) == 0"
            yield masked_text(kernel.dtype, vector, repeat, value, dropped)


def masked_text(dtype: str, vector: int, repeat: int, value: int, dropped: str) -> str:
    """The statement that makes element `value` of vector number `repeat` -inf where `dropped`."""
    word, half = place(dtype, vector, repeat, value)
    if BYTES[dtype] == 4:
        return f"if ({dropped}) words[{word}] = masked_word;"
    kept, infinity = ((0xFFFF0000, 0xFFFF), (0xFFFF, 0xFFFF0000))[half]
    masked = ELEMENTS[dtype].masked & infinity
    return f"if ({dropped}) words[{word}] = (words[{word}] & {kept:#010x}u) | {masked:#010x}u;"
