"""The tiles of softmax kernels by enumeration, and the claims and effects that are made of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from tylo.layouts.errors import GenerationError, OwnershipError
from tylo.layouts.terms import evaluate
from tylo.proofs.claims import Claim
from tylo.proofs.effects import effect_from_json, effect_to_json
from tylo.proofs.prover import Counterexample, prove
from tylo.proofs.specifications.softmax import SoftmaxCase, claims, effect
from tylo.proofs.specifications.softmax_flat_tiles import FewTile, FlatTile
from tylo.proofs.specifications.softmax_tiles import SoftmaxTile

TILES = [
    SoftmaxTile(4, 32, 2, 2),
    SoftmaxTile(8, 4, 1, 3, 4),
    SoftmaxTile(2, 32, 2, 1, 2),
    SoftmaxTile(4, 32, 2, 2, cluster=4),
]


@pytest.mark.parametrize("tile", TILES, ids=str)
def test_every_column_has_one_thread(tile: SoftmaxTile) -> None:
    held = Counter(
        (tile.row(thread), tile.column(thread, repeat, rank) + value)
        for rank in range(tile.cluster)
        for thread in range(tile.threads)
        for repeat in range(tile.repeats)
        for value in range(tile.vector)
    )
    assert set(held.values()) == {1}
    assert set(held) == {(r, c) for r in range(tile.block_rows) for c in range(tile.capacity)}


@pytest.mark.parametrize("tile", [t for t in TILES if t.parts > 1], ids=str)
def test_each_warp_has_a_slot_and_every_part_is_read(tile: SoftmaxTile) -> None:
    written = {
        tile.own_slot(thread, rank)
        for rank in range(tile.cluster)
        for thread in range(tile.threads)
        if tile.part_copy(thread) == 0
    }
    assert written == set(range(tile.block_rows * tile.parts))
    for thread in range(tile.threads):
        parts = {tile.part_tile(lane=lane)[1] for lane in range(32)}
        assert parts == set(range(tile.parts))
        slots = {tile.part_slot(thread, part) for part in parts}
        assert len(slots) == tile.parts
        assert tile.own_slot(thread) in slots


@pytest.mark.parametrize("tile", TILES, ids=str)
def test_one_thread_writes_the_statistics_of_a_row(tile: SoftmaxTile) -> None:
    writers = Counter(
        tile.row(thread)
        for rank in range(tile.cluster)
        for thread in range(tile.threads)
        if tile.copy(thread, rank) == 0
    )
    assert writers == Counter(range(tile.block_rows))


@pytest.mark.parametrize("beside", [True, False])
def test_flat_tiles_take_and_copy_everything_once(beside: bool) -> None:
    tile = FlatTile(4, 64, 4, 9, 128, beside)
    taken = Counter(
        (tile.row(thread, turn), tile.column(thread, value))
        for turn in range(tile.passes)
        for thread in range(tile.threads)
        for value in range(tile.each)
    )
    assert set(taken.values()) == {1}
    assert len(taken) == tile.rows * tile.capacity
    for columns in (1, 33, tile.capacity):
        copied = sorted(
            tile.copied(thread, number)
            for number in range(tile.copies(columns))
            for thread in range(tile.threads)
        )
        assert copied == list(range(0, len(copied) * tile.vector, tile.vector))
        assert len(copied) * tile.vector >= tile.rows * columns


@pytest.mark.parametrize("columns", [1, 2, 4])
def test_few_tiles_hold_rows_as_they_lie(columns: int) -> None:
    tile = FewTile(8, columns, 2, 64)
    for thread in (0, 33, 63):
        for repeat in range(2):
            first = tile.element(thread, repeat)
            rows = [tile.row(thread, repeat, number) for number in range(8 // columns)]
            assert rows == [first // columns + number for number in range(8 // columns)]
    starts = {tile.element(thread, repeat) for thread in range(64) for repeat in range(2)}
    assert starts == set(range(0, tile.block_rows * columns, 8))


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: SoftmaxTile(4, 32, 64), GenerationError),
        (lambda: SoftmaxTile(4, 16, 2), GenerationError),
        (lambda: SoftmaxTile(4, 32, 3), GenerationError),
        (lambda: SoftmaxTile(4, 32, 1, 1, 2, 2), GenerationError),
        (lambda: SoftmaxTile(4, 32, cluster=32), GenerationError),
        (lambda: SoftmaxTile(4, 5), OwnershipError),
        (lambda: FlatTile(4, 10, 4, 9, 128), GenerationError),
        (lambda: FewTile(8, 3, 1, 64), GenerationError),
        (lambda: SoftmaxCase(SoftmaxTile(4, 32, cluster=2), "f32", "f32"), GenerationError),
    ],
)
def test_what_no_kernel_has(make: object, error: type[Exception]) -> None:
    assert callable(make)
    with pytest.raises(error):
        make()


def test_a_wrong_spelling_of_the_tile_has_a_counterexample() -> None:
    right: Claim = claims(SoftmaxCase(SoftmaxTile(4, 8, 1, 2, 4), "f32", "f32"))[0]
    assert not isinstance(prove(right), Counterexample)
    row, column, *others = right.conjuncts
    shifted = replace(column, right=column.right + 1)
    assert isinstance(prove(replace(right, conjuncts=[row, shifted, *others])), Counterexample)


def test_the_writer_of_an_element_is_who_stores_it() -> None:
    case = SoftmaxCase(SoftmaxTile(8, 4, 1, 3, 4), "bf16", "f32", lse=True)
    stated = effect(case)
    assert effect_from_json(effect_to_json(stated)) == stated
    stores = [each for each in stated.stores if each.buffer == "out"]
    assert len(stores) == 6  # three vectors of eight, two stores each
    for store in stores:
        assert store.element is not None
        for thread in (0, 5, 127):
            here = {"thread": thread, "block": 3, "step": 0}
            place = {
                "row": evaluate(store.element.row, here),
                "column": evaluate(store.element.column, here),
            }
            assert evaluate(store.element.thread, place) == thread
            assert evaluate(store.element.block, place) == 3
    assert [each.name for each in stated.parameters] == [
        "rows",
        "columns",
        "row_stride",
        "out_row_stride",
    ]
