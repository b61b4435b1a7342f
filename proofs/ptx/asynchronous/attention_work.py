"""Which rows of which head a block of attention works on in a round, as terms of its arguments.

Items are numbered run by run of heads, place by place, head by head (`work_once` of
`tylo.proofs.specifications.attention`). Under `paired`, two rounds share an item: the late rows and
then their early partners; after the whole turns a table says which halves of items a block takes.
`work` says it in the machine's arithmetic; that this is the integers'
is `lemmas`, which `attention_numbers` proves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tylo.proofs.ptx.asynchronous.scene import Scene
from tylo.proofs.ptx.asynchronous.terms import Level
from tylo.proofs.ptx.bitvector import Expression
from tylo.proofs.specifications.attention_arguments import (
    MOST_ITEMS,
    MOST_LENGTH,
    MOST_SHARES,
    SHARE_PLACES,
)


@dataclass(frozen=True, slots=True)
class Work:
    """Terms of 32 bits, and conditions: whether there is an item, and whether it is none's.

    `defined` are names for terms: a variable, and the term that it stands for.
    """

    item: Any
    exists: Any
    none: Any
    batch: Any
    head: Any
    key_head: Any
    first_row: Any
    tiles: Any
    in_run: Any
    heads: Any
    before: Any
    place: Any
    flat: Any
    row_tile: Any
    end: Any
    defined: tuple[tuple[Expression, Expression], ...]


class _Names:
    """Names for terms, for one round."""

    def __init__(self, scene: Any, number: Any) -> None:
        self.d, self.number = scene.terms, number
        self.defined: list[tuple[Any, Any]] = []

    def __call__(self, label: str, term: Any) -> Any:
        form = self.d.normal(term)
        if not form.operands:
            return form
        variable = self.d.named(f"{label}.{self.number.serial}", 32, Level.BLOCK)
        self.d.stand_for(variable, term)
        self.defined.append((variable, term))
        return variable


def share_of(scene: Any, number: Any) -> Any:
    """How many rounds a round is after the whole turns; negative before they are over."""
    d, given = scene.terms, scene.fields
    whole = d.shift_left(given["whole_turns"], given["paired"], 32)
    return d.subtract(number, whole, 32)


def half_of(scene: Any, number: Any) -> Any:
    """What the table of shares holds for a round, in 16 bits."""
    return scene.terms.named(f"share.{number.serial}", 16, Level.BLOCK)


def item_of(scene: Any, number: Any, named: Any) -> tuple[Any, Any, Any]:
    """The number of a round's item, whether there is one, and whether it is an early half."""
    d, given = scene.terms, scene.fields
    zero, one = d.constant(0, 32), d.constant(1, 32)
    share = share_of(scene, number)
    shared = d.negate(d.less(share, zero, 32, True))
    listed = d.extend(half_of(scene, number), 16, 32, False)
    # Without a name: where ways have parted, what is listed is one of two values still.
    half = d.select(shared, listed, d.bit_and(number, given["paired"], 32), 32)
    turns = d.multiply(d.shift_right(number, given["paired"], 32, False), scene.blocks, 32)
    left = d.multiply(given["whole_turns"], scene.blocks, 32)
    left = d.add(left, d.shift_right(listed, one, 32, False), 32)
    place = named("turn", d.select(shared, left, d.add(turns, scene.block, 32), 32))
    items = d.multiply(given["places"], given["all_heads"], 32)
    there = d.less(place, items, 32, True)
    item = named("item", d.select(there, place, d.constant(-1, 32), 32))
    early = d.equal(d.bit_and(half, one, 32), one, 32)
    return item, d.negate(d.less(item, zero, 32, True)), early


def work(scene: Any, rows: int, keys: int, number: Any) -> Work:
    """The work of a round of the block at hand."""
    named = _Names(scene, number)
    item, exists, early = item_of(scene, number, named)
    return work_of(scene, rows, keys, item, exists, early, named)


def work_of(
    scene: Any, rows: int, keys: int, item: Any, exists: Any, early: Any, named: Any
) -> Work:
    """The work of an item; `scene` has terms of any kind, such as integers."""
    d, given = scene.terms, scene.fields
    zero, one = d.constant(0, 32), d.constant(1, 32)

    def product(left: Any, right: Any) -> Any:
        return d.multiply(left, right, 32)

    def least(left: Any, right: Any) -> Any:
        return d.select(d.less(left, right, 32, True), left, right, 32)

    in_run = product(given["run"], given["places"])
    run = named("run", d.divide(item, in_run, 32, True))
    rest = d.subtract(item, product(run, in_run), 32)
    before = product(run, given["run"])
    heads = named("heads", least(given["run"], d.subtract(given["all_heads"], before, 32)))
    place = named("place", d.divide(rest, heads, 32, True))
    flat = d.subtract(d.add(before, rest, 32), product(place, heads), 32)
    batch = named("batch", d.divide(flat, given["heads"], 32, True))
    head = named("head", d.subtract(flat, product(batch, given["heads"]), 32))
    late = d.subtract(d.subtract(given["row_tiles"], one, 32), place, 32)
    row_tile = named("row_tile", d.select(early, place, late, 32))
    middle = d.equal(d.add(product(place, d.constant(2, 32)), one, 32), given["row_tiles"], 32)
    first_row = named("first_row", product(row_tile, d.constant(rows, 32)))
    past = least(d.add(first_row, d.constant(rows, 32), 32), given["queries"])
    end = named("end", least(given["keys"], d.add(past, given["diagonal"], 32)))
    padded = d.add(end, d.constant(keys - 1, 32), 32)
    whole = d.divide(padded, d.constant(keys, 32), 32, False)
    tiles = named("tiles", d.select(d.less(end, one, 32, True), zero, whole, 32))
    return Work(
        item=item,
        exists=exists,
        none=d.bit_and(early, middle, 1),
        batch=batch,
        head=head,
        key_head=named("key_head", d.divide(head, given["sharing"], 32, True)),
        first_row=first_row,
        tiles=tiles,
        in_run=in_run,
        heads=heads,
        before=before,
        place=place,
        flat=flat,
        row_tile=row_tile,
        end=end,
        defined=tuple(named.defined),
    )


def row_end_of(d: Any, given: Any, row: Any) -> Any:
    """The first key that a row does not see: the last one's, or the diagonal's."""
    past = d.add(d.add(row, given["diagonal"], 32), d.constant(1, 32), 32)
    return d.select(d.less(given["keys"], past, 32, True), given["keys"], past, 32)


def whole_of(d: Any, given: Any, first: Any, keys: int) -> Any:
    """Before which step all rows from `first` on see every key."""
    zero, end = d.constant(0, 32), row_end_of(d, given, first)
    end = d.select(d.less(end, zero, 32, True), zero, end, 32)
    return d.divide(end, d.constant(keys, 32), 32, False)


@dataclass(frozen=True, slots=True)
class Columns:
    """A step of keys, a thread's first key in it, before which step its group's rows see every key,
    the ends of its rows, and the keys of a step.
    """

    tile: Any
    column: Any
    whole: Any
    ends: tuple[Any, ...]
    step: int


def column_facts(d: Any, given: Any, found: Work, parts: Columns) -> list[Any]:
    """Before the step at which rows begin to end, they see every key of a step: each thread's last
    one is six less than a step behind its first.
    """
    absent = d.negate(found.exists)
    past = d.negate(d.less(parts.tile, parts.whole, 32, True))
    outside = d.bit_or(
        absent, d.bit_or(past, d.less(parts.tile, d.constant(0, 32), 32, True), 1), 1
    )
    far = d.constant(parts.step - 6, 32)
    return [
        d.bit_or(outside, d.negate(d.less(d.subtract(end, parts.column, 32), far, 32, True)), 1)
        for end in parts.ends
    ]


def assumed(scene: Scene, rows: int) -> list[Expression]:
    """What a launch sees to: bounds on each argument, and how the counts hang together."""
    d, given = scene.terms, scene.fields

    def within(name: str, low: int, high: int) -> list[Expression]:
        value = given[name]
        below = d.less(value, d.constant(low, 32), 32, True)
        above = d.less(d.constant(high, 32), value, 32, True)
        return [d.negate(below), d.negate(above)]

    zero, limit = d.constant(0, 32), d.constant(MOST_LENGTH, 32)
    return [
        *within("queries", 1, MOST_LENGTH),
        *within("keys", 0, MOST_LENGTH),
        *within("heads", 1, MOST_ITEMS),
        *within("sharing", 1, MOST_ITEMS),
        *within("diagonal", -MOST_LENGTH, MOST_LENGTH),
        *within("row_tiles", 1, -(-MOST_LENGTH // rows)),
        *within("places", 1, MOST_ITEMS),
        *within("all_heads", 1, MOST_ITEMS),
        *within("run", 1, MOST_ITEMS),
        *within("paired", 0, 1),
        *within("whole_turns", 0, MOST_ITEMS // 2),
        *within("shares", 0, MOST_SHARES),
        d.negate(d.less(limit, d.add(given["queries"], given["keys"], 32), 32, False)),
        d.negate(d.less(given["diagonal"], d.subtract(zero, given["queries"], 32), 32, True)),
        d.negate(d.less(given["keys"], given["diagonal"], 32, True)),
        d.less(d.constant(0, 32), scene.blocks, 32, True),
        d.negate(d.less(d.constant(MOST_ITEMS, 32), scene.blocks, 32, True)),
        # Each block has its places in the table of shares.
        d.less(
            d.multiply(scene.block, given["shares"], 32),
            d.subtract(d.constant(SHARE_PLACES + 1, 32), given["shares"], 32),
            32,
            False,
        ),
    ]


def lemmas(scene: Any, found: Work, keys: int) -> list[Any]:
    """What holds of any work that exists."""
    d, given = scene.terms, scene.fields
    zero, step = d.constant(0, 32), d.constant(keys, 32)

    def positive(value: Any) -> Any:
        return d.less(zero, value, 32, True)

    def below(value: Any, limit: Any) -> Any:
        return d.bit_and(d.negate(d.less(value, zero, 32, True)), d.less(value, limit, 32, True), 1)

    facts = (
        positive(found.in_run),
        positive(found.heads),
        below(found.place, given["row_tiles"]),
        below(found.head, given["heads"]),
        d.negate(d.less(found.batch, zero, 32, True)),
        below(found.first_row, given["queries"]),
        d.negate(d.less(given["keys"], found.end, 32, True)),
        d.negate(d.less(found.tiles, zero, 32, True)),
        d.bit_or(positive(found.end), d.equal(found.tiles, zero, 32), 1),
        # The last step begins before the end.
        d.bit_or(
            d.equal(found.tiles, zero, 32),
            d.less(
                d.multiply(d.subtract(found.tiles, d.constant(1, 32), 32), step, 32),
                found.end,
                32,
                True,
            ),
            1,
        ),
        d.bit_or(
            d.equal(found.tiles, zero, 32),
            d.less(found.tiles, d.constant(MOST_LENGTH // keys + 2, 32), 32, True),
            1,
        ),
    )
    absent = d.negate(found.exists)
    return [d.bit_or(absent, fact, 1) for fact in facts]
