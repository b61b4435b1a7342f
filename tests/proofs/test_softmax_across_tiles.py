"""The tiles of rows that run across memory: by enumeration, and the claims that hold of them."""

from __future__ import annotations

from collections import Counter

import pytest

from tylo.layouts.errors import GenerationError, OwnershipError
from tylo.layouts.terms import evaluate, name
from tylo.proofs.prover import Counterexample, prove
from tylo.proofs.specifications import reduction
from tylo.proofs.specifications.softmax_across_tiles import AcrossTile

TILES = [
    AcrossTile(4, 32, 3),
    AcrossTile(8, 4, 2, 4),
    AcrossTile(2, 8, 1, 2, 2),
    AcrossTile(1, 1, 2, 4),
    AcrossTile(8, 32, 1, 2),
]


@pytest.mark.parametrize("tile", TILES, ids=str)
def test_every_element_has_one_thread(tile: AcrossTile) -> None:
    held = Counter(
        (tile.row(thread) + value, tile.column(thread, repeat))
        for thread in range(tile.threads)
        for repeat in range(tile.repeats)
        for value in range(tile.vector)
    )
    assert set(held.values()) == {1}
    assert set(held) == {(r, c) for r in range(tile.block_rows) for c in range(tile.step)}


@pytest.mark.parametrize("tile", TILES, ids=str)
def test_a_repeat_is_a_constant_number_of_columns_away(tile: AcrossTile) -> None:
    """The kernel adds that of thread 0."""
    for thread in range(0, tile.threads, 5):
        for repeat in range(tile.repeats):
            apart = tile.column(thread, repeat) - tile.column(thread, 0)
            assert apart == tile.column(0, repeat) - tile.column(0, 0)


@pytest.mark.parametrize("tile", [each for each in TILES if each.warps > 1], ids=str)
def test_every_part_is_written_once_and_merged_by_one_thread(tile: AcrossTile) -> None:
    thread, value, turn = name("thread"), name("value"), name("turn")
    own, copy = tile.own_slot(thread, value), tile.part_copy(thread)
    part, merged_row = tile.part_slot(name("row"), name("part")), tile.merged(thread, turn)
    slots = {
        (number, place): evaluate(own, {"thread": number, "value": place})
        for number in range(tile.threads)
        for place in range(tile.vector)
    }
    writers = {each for each in range(tile.threads) if evaluate(copy, {"thread": each}) == 0}
    written = Counter(slot for (number, _), slot in slots.items() if number in writers)
    assert written == Counter(range(tile.block_rows * tile.warps))
    merged = Counter(
        evaluate(merged_row, {"thread": number, "turn": each})
        for number in range(tile.threads)
        for each in range(tile.turns)
    )
    assert set(merged.values()) == {1}
    assert set(merged) >= set(range(tile.block_rows))
    parts = {
        row: {evaluate(part, {"row": row, "part": each}) for each in range(tile.warps)}
        for row in range(tile.block_rows)
    }
    for (number, place), slot in slots.items():
        assert slot in parts[tile.row(number) + place]
    assert Counter(slot for each in parts.values() for slot in each) == written


@pytest.mark.parametrize("tile", TILES, ids=str)
def test_one_thread_writes_the_statistics_of_a_row(tile: AcrossTile) -> None:
    writers = Counter(tile.row(thread) for thread in range(tile.threads) if tile.copy(thread) == 0)
    assert writers == Counter(range(0, tile.block_rows, tile.vector))


@pytest.mark.parametrize("tile", TILES, ids=str)
def test_what_is_combined_is_of_one_row(tile: AcrossTile) -> None:
    assert tile.of_lane.groups == tuple(
        tuple(range(row, tile.vector * tile.repeats, tile.vector)) for row in range(tile.vector)
    )
    for mask in tile.of_warp.lane_masks:
        for lane in range(32):
            assert tile.row(lane) == tile.row(lane ^ mask)
    assert 1 << len(tile.of_warp.lane_masks) == 32 // tile.lanes


@pytest.mark.parametrize("tile", TILES, ids=str)
def test_the_claims_of_its_reduction_are_proven(tile: AcrossTile) -> None:
    for owned in (tile.ownership, tile.states):
        for claim in reduction.claims(owned, 1):
            assert not isinstance(prove(claim), Counterexample), claim.name


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: AcrossTile(4, 32, 1, 3), GenerationError),
        (lambda: AcrossTile(4, 24, 1), GenerationError),
        (lambda: AcrossTile(4, 32, 1, 16, 4), GenerationError),
        (lambda: AcrossTile(4, 32, 1, 1).exchange, OwnershipError),
    ],
)
def test_what_no_kernel_has(make: object, error: type[Exception]) -> None:
    assert callable(make)
    with pytest.raises(error):
        make()
