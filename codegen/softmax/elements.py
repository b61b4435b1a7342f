"""How elements lie in 32-bit words, and what CUDA text takes them out and puts them in.

A 32-bit element is a word; two 16-bit elements share one, the first in the low half. A vector of a
single 16-bit element has a word of its own.

>>> [scores_text("bf16", 4, 0, value) for value in (0, 3)]
['__uint_as_float(words[0] << 16)', '__uint_as_float(words[1] & 0xffff0000u)']
>>> pieces("f32", 8)
((0, 4), (4, 4))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tylo.codegen.lane_programs.cuda_reading import PRINTED
from tylo.codegen.softmax.request import BYTES

_LOAD_BYTES = 16  # of the widest load and store


@dataclass(frozen=True, slots=True)
class Element:
    """An element type: its C type in memory and the word of which each element is -inf."""

    c_type: str
    masked: int


ELEMENTS: Mapping[str, Element] = MappingProxyType(
    {
        "f32": Element("float", 0xFF800000),
        "bf16": Element("unsigned short", 0xFF80FF80),
        "f16": Element("unsigned short", 0xFC00FC00),
    }
)


def words_of(dtype: str, vector: int) -> int:
    """Words of a vector."""
    return -(-vector * BYTES[dtype] // 4)


def place(dtype: str, vector: int, repeat: int, value: int) -> tuple[int, int]:
    """(word, half) of element `value` of vector number `repeat`; 32-bit elements have half 0."""
    first = repeat * words_of(dtype, vector)
    return (first + value, 0) if BYTES[dtype] == 4 else (first + value // 2, value % 2)


def scores_text(dtype: str, vector: int, repeat: int, value: int, words: str = "words[{}]") -> str:
    """The float32 of an element; `words` says how a word is spelled."""
    word, half = place(dtype, vector, repeat, value)
    if dtype == "f32":
        return f"__uint_as_float({words.format(word)})"
    return str(PRINTED[f"{('low', 'high')[half]}_{dtype}"](words.format(word)))


def pieces(dtype: str, vector: int) -> tuple[tuple[int, int], ...]:
    """(first element, elements) of the stores of one vector, each of 16 bytes at most."""
    size = min(vector, _LOAD_BYTES // BYTES[dtype])
    return tuple((first, size) for first in range(0, vector, size))


def packed_text(dtype: str, values: list[str]) -> list[str]:
    """The words of float32 `values` rounded to `dtype`; a lone 16-bit one is in both halves."""
    if dtype == "f32":
        return [f"__float_as_uint({value})" for value in values]
    paired = values if len(values) % 2 == 0 else [*values, values[-1]]
    return [
        PRINTED[f"pack_{dtype}"](low, high)
        for low, high in zip(paired[0::2], paired[1::2], strict=True)
    ]
