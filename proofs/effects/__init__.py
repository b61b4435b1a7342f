"""Effects: what a kernel must do to memory, as terms over thread, block and sizes.

An `Effect` is the contract that emitted PTX is proven against. It names the entry, its pointer
parameters in order, the launch, and a list of stores. Every thread of every block performs every
store exactly once; store j writes, at a byte offset given by a term over ``thread`` and ``block``,
parts that are packed least significant first. A part is one element of an input buffer, at a byte
offset given by another term, moved or rounded by a named PTX conversion.

A kernel may take sizes as further parameters, after the pointers. A store may then repeat: it is
performed once for each ``step`` from 0 up to, not including, its `repeat`, a term over the sizes.

>>> from tylo.layouts.terms import name
>>> thread, block = name("thread"), name("block")
>>> pack = Effect(
...     entry="pack",
...     threads=32,
...     buffers=(
...         Buffer("source", "in", element_bits=32, elements_per_block=64, alignment=8),
...         Buffer("words", "out", element_bits=32, elements_per_block=32, alignment=4),
...     ),
...     stores=(
...         Store(
...             "words",
...             (block * 32 + thread) * 4,
...             (
...                 Part(16, "cvt.rn.bf16.f32", "source", (block * 64 + thread * 2) * 4),
...                 Part(16, "cvt.rn.bf16.f32", "source", (block * 64 + thread * 2 + 1) * 4),
...             ),
...         ),
...     ),
... )
>>> print(pack.stores[0].parts[1])
cvt.rn.bf16.f32(source[(block * 64 + thread * 2 + 1) * 4])
>>> effect_from_json(effect_to_json(pack)) == pack
True

What a proof against an effect assumes is part of its meaning, and listed by `assumptions`:

>>> for line in assumptions(pack):
...     print(line)
launch: 1 <= blocks <= 2147483647 along x, 32 threads along x, y and z extents 1
source: 256 * blocks bytes, readable, starts at a multiple of 8, ends within 2^64
words: 128 * blocks bytes, writable, starts at a multiple of 4, ends within 2^64
no two buffers overlap
"""

from __future__ import annotations

from tylo.proofs.effects.json import (
    SCHEMA,
    effect_from_json,
    effect_to_bytes,
    effect_to_json,
)
from tylo.proofs.effects.values import (
    BLOCK_LIMIT,
    CONVERSIONS,
    GRID_LIMIT,
    STORE_BITS,
    Buffer,
    Direction,
    Effect,
    Parameter,
    Part,
    Store,
    assumptions,
)

__all__ = [
    "BLOCK_LIMIT",
    "CONVERSIONS",
    "GRID_LIMIT",
    "SCHEMA",
    "STORE_BITS",
    "Buffer",
    "Direction",
    "Effect",
    "Parameter",
    "Part",
    "Store",
    "assumptions",
    "effect_from_json",
    "effect_to_bytes",
    "effect_to_json",
]
