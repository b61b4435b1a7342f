"""From a claim's file to the `Effect` that is proven.

A store of the file is one for each `value`, and several values that one instruction writes are one
store of the effect. How many those are does not matter for what the kernel means, so where the file
does not say, it is taken from the instructions at hand. That the values of one instruction lie next
to each other is not taken from anywhere: it is proven (`claim_vectors`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from tylo.layouts.errors import ClaimError
from tylo.layouts.terms import Integer
from tylo.layouts.terms import name as named
from tylo.proofs.effects import (
    CONVERSIONS,
    Buffer,
    Effect,
    Element,
    Less,
    Matrix,
    Part,
    Source,
    Store,
    computed,
)
from tylo.proofs.effects.axes import block_of, blocks_of
from tylo.proofs.ptx.claim_file import ClaimedStore, PtxClaim
from tylo.proofs.ptx.claim_ownership import coordinates
from tylo.proofs.ptx.claim_scope import Scope
from tylo.proofs.ptx.claim_tables import Table
from tylo.proofs.ptx.claim_terms import Access
from tylo.proofs.ptx.claim_vectors import Solve, Value, values_at_once
from tylo.proofs.ptx.claim_writers import inverse
from tylo.proofs.ptx.contract import extent, ranges
from tylo.proofs.ptx.scene import build

_MOST_STORES = 1024


@dataclass(frozen=True, slots=True)
class Lowered:
    """An effect, and where in the file each of its stores was stated."""

    effect: Effect
    origins: tuple[str, ...]


def lower(claim: PtxClaim, widths: Collection[int] = (), solve: Solve | None = None) -> Lowered:
    """The effect that a claim states.

    `widths` are those of the store instructions at hand, in bits: values proven to be neighbours,
    by `solve`, are written together where an instruction of that width is there. Without either,
    each value is a store of its own. Raises `ClaimError` for what is no effect.
    """
    scope = Scope(claim)
    guarded = {each.into.buffer for each in claim.stores if each.where}
    buffers = {each.name: _buffer(scope, each, guarded) for each in claim.buffers}
    stated = [
        (each, [_value(scope, each, buffers, value) for value in range(each.values)])
        for each in claim.stores
    ]
    if sum(len(values) for _, values in stated) > _MOST_STORES:
        claim.table.fail("too many stores", hint=f"at most {_MOST_STORES} values a thread")
    single = _lowered(scope, buffers, stated, [1] * len(stated))
    scene = build(single.effect)
    counts = []
    for store, values in stated:
        bits = buffers[store.into.buffer].element_bits
        counts.append(values_at_once(scene, store, values, bits, widths, solve))
    return _lowered(scope, buffers, stated, counts)


def _lowered(
    scope: Scope,
    buffers: Mapping[str, Buffer],
    stated: Sequence[tuple[ClaimedStore, Sequence[Value]]],
    counts: Sequence[int],
) -> Lowered:
    """The effect in which each stated store writes so many values at once."""
    claim = scope.claim
    stores: list[Store] = []
    origins: list[str] = []
    for (store, values), count in zip(stated, counts, strict=True):
        for first in range(0, len(values), count):
            stores.append(_store(scope, store, buffers, values[first : first + count]))
            several = (
                f", values {first} to {first + count - 1}" if count > 1 else f", value {first}"
            )
            origins.append(store.table.path + (several if len(values) > 1 else ""))
    preconditions = tuple(
        Less(*(scope.launch(claim.table, "assume", side) for side in (less.left, less.right)))
        for less in claim.preconditions
    )
    try:
        effect = Effect(
            claim.entry,
            claim.threads,
            tuple(buffers.values()),
            tuple(stores),
            claim.grid.blocks[0],
            (*claim.sizes, *claim.unused, *claim.grid.extents),
            preconditions,
            claim.arguments,
            block_shape=claim.grid.shape if len(claim.grid.shape) > 1 else (),
            further=claim.grid.further,
        )
    except ClaimError as reason:
        claim.table.fail(reason.message, reason.hint)
    for made, origin in zip(stores, origins, strict=True):
        _check_range(effect, made, Table(claim.table.file, origin, {}))
    return Lowered(effect, tuple(origins))


def _check_range(effect: Effect, store: Store, table: Table) -> None:
    """Offsets and conditions are the integers that the claim means, not those modulo 2^64."""
    conditions = [side for less in store.where for side in (less.left, less.right)]
    known = ranges(effect)
    for term in (
        store.offset,
        store.repeat,
        store.rounds,
        *conditions,
        *(part.offset for part in store.parts),
    ):
        try:
            extent(known, term)
        except ClaimError as reason:
            table.fail(reason.message, reason.hint)


def _buffer(scope: Scope, buffer: Buffer, guarded: Collection[str]) -> Buffer:
    """The buffer with its author's names resolved; what is written, if that has to be said."""
    table = scope.claim.table

    def resolved(term: Integer | None) -> Integer | None:
        return None if term is None else scope.launch(table, f"buffer.{buffer.name}", term)

    shares, total, shape = buffer.elements_per_block, resolved(buffer.elements), buffer.written
    if shape is not None:
        sides = (resolved(side) or 0 for side in (shape.rows, shape.columns, shape.stride))
        shape = Matrix(*sides)
    elif total is not None and buffer.direction == "out":
        shape = Matrix(1, total, total)
    elif buffer.name in guarded and buffer.direction == "out":
        table.fail(
            f"[buffer.{buffer.name}] some stores into it have a condition",
            hint="state its extent as elements, such as n, instead of elements_per_block",
        )
    return replace(buffer, elements_per_block=resolved(shares), elements=total, written=shape)


def _value(scope: Scope, stated: ClaimedStore, buffers: Mapping[str, Buffer], value: int) -> Value:
    table = stated.table
    local: dict[str, Integer] = {"value": value}
    if stated.ownership is not None:
        count = stated.ownership.thread_count
        if scope.claim.threads % count:
            table.fail(
                f"ownership is that of {count} threads, and a block has {scope.claim.threads}",
                hint=f"use a multiple of {count} threads",
            )
        local |= coordinates(stated.ownership, scope.claim.threads, value)
    where = tuple(
        Less(*(scope.thread(table, "where", side, local) for side in (less.left, less.right)))
        for less in stated.where
    )
    row, column = _indices(scope, stated, buffers, stated.into, "into", local)
    read = [
        _indices(scope, stated, buffers, each, "from", local)
        for each in (stated.source, *stated.others)
    ]
    first, place = stated.source.buffer, read[0][1]
    if first in scope.claim.strides:
        stride = scope.launch(table, f"buffer.{first}", scope.claim.strides[first])
        place = (read[0][0] or 0) * stride + place
    return Value(row, column, place, where)


def _indices(
    scope: Scope,
    stated: ClaimedStore,
    buffers: Mapping[str, Buffer],
    access: Access,
    key: str,
    local: Mapping[str, Integer],
) -> tuple[Integer | None, Integer]:
    table = stated.table
    if access.buffer not in buffers:
        table.fail(
            f"{key}: no buffer is called {access.buffer!r}",
            hint=f"buffers: {', '.join(buffers)}",
        )
    buffer, direction = buffers[access.buffer], {"into": "out", "from": "in"}[key]
    if buffer.direction != direction:
        table.fail(
            f"{key}: buffer {buffer.name!r} has direction {buffer.direction!r}",
            hint=f"stores go into an out buffer, and come from an in buffer: state {direction!r}",
        )
    claim = scope.claim
    written = any(b.name == buffer.name and b.written for b in claim.buffers)
    matrix = written or buffer.name in claim.strides
    if len(access.indices) != 1 + matrix:
        way_out = "a matrix: give row and column" if matrix else "an array: give one"
        if buffer.direction == "in" and not matrix:
            way_out += f", or say the stride of its rows in [buffer.{buffer.name}]"
        table.fail(
            f"{key}: {buffer.name} has {len(access.indices)} indices", hint=f"it is {way_out}"
        )
    terms = [scope.thread(table, key, index, local) for index in access.indices]
    return (terms[0] if matrix else None), terms[-1]


def _store(
    scope: Scope,
    stated: ClaimedStore,
    buffers: Mapping[str, Buffer],
    values: Sequence[Value],
) -> Store:
    """Some values that one instruction writes."""
    table, first = stated.table, values[0]
    target, source = buffers[stated.into.buffer], buffers[stated.source.buffer]
    _check_conversion(stated, target, source)
    index, element = first.column, None
    if target.written is not None:
        row: Integer = 0 if first.row is None else first.row
        if first.row is not None:
            index = row * target.written.stride + first.column
        element = Element(row, first.column, **_writer(scope, stated, target, first))
    try:
        return Store(
            target.name,
            index * (target.element_bits // 8),
            tuple(_part(stated, target, source, each) for each in values),
            scope.launch(table, "steps", stated.steps),
            first.where,
            element,
            scope.launch(table, "rounds", stated.rounds),
        )
    except ClaimError as reason:
        table.fail(reason.message, reason.hint)


def _part(stated: ClaimedStore, target: Buffer, source: Buffer, value: Value) -> Part:
    if stated.computed:
        origins = [Source(each.buffer) for each in (stated.source, *stated.others)]
        bits = target.element_bits
        return computed(bits, stated.computed, *origins, constant=stated.constant)
    offset = value.source * (source.element_bits // 8)
    return Part(target.element_bits, stated.source.conversion, source.name, offset)


def _check_conversion(stated: ClaimedStore, target: Buffer, source: Buffer) -> None:
    if stated.computed:
        if any(each.conversion != "move" for each in (stated.source, *stated.others)):
            stated.table.fail(
                "a value that is computed, and a conversion",
                hint="name the buffer alone that it is computed from",
            )
        return
    conversion, bits = stated.source.conversion, (source.element_bits, target.element_bits)
    if conversion != "move" and conversion not in CONVERSIONS:
        stated.table.fail(
            f"from: {conversion!r} is no conversion that is known",
            hint=f"use one of {', '.join(CONVERSIONS)}, or none",
        )
    wanted = CONVERSIONS.get(conversion, (target.element_bits, target.element_bits))
    if bits != wanted:
        stated.table.fail(
            f"{conversion} makes {wanted[1]} bits of {wanted[0]}, and {source.name} has elements "
            f"of {bits[0]}, {target.name} of {bits[1]}",
            hint="give both the element that they have",
        )


def _writer(scope: Scope, stated: ClaimedStore, target: Buffer, value: Value) -> dict[str, Integer]:
    """Who writes an element: as stated, or as the indices tell.

    Nothing is believed here: that it is the inverse, is an obligation.
    """
    claim = scope.claim
    if stated.writer is not None:
        return {
            key: scope.element(stated.table, f"writer.{key}", term)
            for key, term in stated.writer.items()
        }
    indices: dict[str, Integer] = {"column": value.column}
    if value.row is not None:
        indices["row"] = value.row
    found = inverse(indices, claim.threads, _known(scope, stated, target, indices))
    if found is None:
        counters = {"round": stated.rounds, "step": stated.steps}
        blocks = [f"block_{axis}" for axis in ("x", *claim.grid.further)]
        said = blocks if claim.grid.further else ["block"]
        said += ["thread", *(each for each, count in counters.items() if count != 1)]
        stated.table.fail(
            "needs a writer: who writes an element is not plain from into",
            hint=f"add [store.writer] with {', '.join(said[:-1])} and {said[-1]} as terms over row "
            "and column",
        )
    return {"block": 0, "thread": 0, **found}


def _known(
    scope: Scope, stated: ClaimedStore, target: Buffer, indices: Mapping[str, Integer]
) -> dict[str, tuple[int, int]]:
    """The bounds of sizes and coordinates, and of the row and column of a store."""
    claim, shape = scope.claim, target.written
    assert shape is not None
    sizes = (*claim.sizes, *claim.grid.extents)
    known = {each.name: (each.minimum, each.maximum) for each in sizes}
    known["blocks"] = 1, claim.grid.blocks[0]
    counts: dict[str, Integer] = {"thread": claim.threads, "row": shape.rows}
    counts["column"] = shape.columns
    counts |= {block_of(axis): named(blocks_of(axis)) for axis in ("x", *claim.grid.further)}
    for each, count in (("round", stated.rounds), ("step", stated.steps)):
        counts[each] = scope.launch(stated.table, f"{each}s", count)
    for each, count in counts.items():
        known[each] = 0, max(extent(known, count)[1], 1) - 1
    for each, term in indices.items():
        (least, most), (low, high) = known[each], extent(known, term)
        known[each] = min(least, low), max(most, high)
    return known
