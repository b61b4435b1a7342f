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

A store may be guarded: with `where`, it is performed in exactly those threads, blocks and steps in
which every condition holds. Its buffer then says which elements are `written`, all of a `Matrix` of
rows x columns at a runtime stride, and each store says which `Element` it begins at, and, as an
inverse, which block, thread and step writes a given (row, column). Extents may be totals, and
`preconditions` tie sizes and the grid together. A copy of n integers by blocks of 256 threads:

>>> n, index = name("n"), block * 256 + thread
>>> ragged = Effect(
...     entry="ragged",
...     threads=256,
...     buffers=(
...         Buffer("x", "in", 32, None, alignment=4, elements=n),
...         Buffer("y", "out", 32, None, alignment=4, elements=n, written=Matrix(1, n, n)),
...     ),
...     stores=(
...         Store(
...             "y",
...             index * 4,
...             (Part(32, "move", "x", index * 4),),
...             where=(Less(index, n),),
...             element=Element(0, index, block=name("column") // 256, thread=name("column") % 256),
...         ),
...     ),
...     maximum_blocks=2**24,
...     parameters=(Parameter("n", 32, 1, 2**31),),
...     preconditions=(Less(n, name("blocks") * 256 + 1),),
... )
>>> effect_from_json(effect_to_json(ragged)) == ragged
True
>>> for line in assumptions(ragged):
...     print(line)
launch: 1 <= blocks <= 16777216 along x, 256 threads along x, y and z extents 1
x: n * 4 bytes, readable, starts at a multiple of 4, ends within 2^64
y: n * 4 bytes, writable, starts at a multiple of 4, ends within 2^64
1 <= n <= 2147483648
n < blocks * 256 + 1
no two buffers overlap

A part may be `computed`: where and when it is stored is proven, and that nothing flows into it but
its sources, while its value is not. Such values are listed by name:

>>> weight = computed(32, "softmax weight", Source("x", first=0, end=n * 4))
>>> (store,) = ragged.stores
>>> import dataclasses
>>> softmax = dataclasses.replace(ragged, stores=(dataclasses.replace(store, parts=(weight,)),))
>>> uncovered(softmax)
('values not covered: softmax weight, computed from x (stored to y)',)

What a proof against an effect assumes is part of its meaning, and listed by `assumptions`:

>>> for line in assumptions(pack):
...     print(line)
launch: 1 <= blocks <= 2147483647 along x, 32 threads along x, y and z extents 1
source: 256 * blocks bytes, readable, starts at a multiple of 8, ends within 2^64
words: 128 * blocks bytes, writable, starts at a multiple of 4, ends within 2^64
no two buffers overlap
"""

from __future__ import annotations

from tylo.proofs.effects.elements import Element, Less, Matrix
from tylo.proofs.effects.json import (
    SCHEMA,
    effect_from_json,
    effect_to_bytes,
    effect_to_json,
)
from tylo.proofs.effects.parts import (
    COMPUTED,
    CONVERSIONS,
    STORE_BITS,
    VOTE,
    Part,
    Source,
    computed,
)
from tylo.proofs.effects.values import (
    BLOCK_LIMIT,
    GRID_LIMIT,
    Buffer,
    Direction,
    Effect,
    Parameter,
    Store,
)
from tylo.proofs.effects.words import assumptions, buffer_bytes, uncovered

__all__ = [
    "BLOCK_LIMIT",
    "COMPUTED",
    "CONVERSIONS",
    "GRID_LIMIT",
    "SCHEMA",
    "STORE_BITS",
    "VOTE",
    "Buffer",
    "Direction",
    "Effect",
    "Element",
    "Less",
    "Matrix",
    "Parameter",
    "Part",
    "Source",
    "Store",
    "assumptions",
    "buffer_bytes",
    "computed",
    "effect_from_json",
    "effect_to_bytes",
    "effect_to_json",
    "uncovered",
]
