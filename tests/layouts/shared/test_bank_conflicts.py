"""Wavefronts against hand counts, an independent model, and a rank argument; the search."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tylo.layouts.atoms import atom
from tylo.layouts.errors import LayoutError
from tylo.layouts.layout import Layout
from tylo.layouts.ownership import Ownership
from tylo.layouts.shared import (
    Access,
    SharedTile,
    family,
    fragment_accesses,
    least_wavefronts,
    search_swizzle,
    wavefronts,
)
from tylo.layouts.swizzle import Swizzle
from tylo.layouts.terms import name

DATA = Path(__file__).parents[2] / "data"
ORACLE = json.loads((DATA / "bank_cases.json").read_text())["cases"]
CASES = {case["id"]: case for case in json.loads((DATA / "cases.json").read_text())}


@pytest.mark.parametrize("case", ORACLE, ids=lambda case: case["id"])
def test_an_independent_model_counts_the_same(case: dict[str, Any]) -> None:
    counted = wavefronts(Access(case["lane_byte_addresses"], case["bytes_per_lane"]))
    expected = case["expected"]
    assert list(counted.phases) == expected["phases"]
    assert counted.total == expected["wavefronts"]
    assert counted.ideal_total == expected["ideal_wavefronts"]
    assert counted.worst_ways == expected["max_ways"]


def test_column_reads_of_a_tile_of_floats() -> None:
    case = CASES["L31"]
    tile = Layout(tuple(case["input"]["tile"]["shape"]), tuple(case["input"]["tile"]["stride"]))
    column = Access([4 * tile(row, 0) for row in range(32)], case["input"]["element_bytes"])
    for label, variant in case["input"]["variants"].items():
        access = column
        if variant == "pad":
            access = Access([4 * 33 * row for row in range(32)], 4)
        elif variant:
            bits, base, shift = variant
            access = column.swizzled(Swizzle(bits, base, shift, unit=32))
        assert wavefronts(access).worst_ways == case["expected"]["worst_ways"][label]


def by_rank(columns: list[int], bytes_per_lane: int) -> int:
    """Wavefronts when bit i of the lane moves the address by `columns[i]`, without counting.

    The words of a phase are an affine space: as many as 2^dimension, in 2^rank banks.
    """

    def rank(vectors: list[int]) -> int:
        found = 0
        vectors = [*vectors]
        while vectors:
            pivot = vectors.pop()
            if pivot:
                found += 1
                low = pivot & -pivot
                vectors = [v ^ pivot if v & low else v for v in vectors]
        return found

    lanes = {4: 5, 8: 4, 16: 3}[bytes_per_lane]
    if bytes_per_lane > 4 and 0 in columns[:2]:
        lanes += 1  # two phases at once
    inside = [1 << bit for bit in range((bytes_per_lane // 4).bit_length() - 1)]
    words = [column >> 2 for column in columns[:lanes]] + inside
    ways = 1 << rank(words) - rank([word & 31 for word in words])
    return ways << 5 - lanes


@st.composite
def linear_patterns(draw: st.DrawFn) -> tuple[list[int], Access]:
    width = draw(st.sampled_from([4, 8, 16]))
    columns = [width * draw(st.integers(0, 4096 // width - 1)) for _ in range(5)]
    for bit in draw(st.sets(st.integers(0, 4), max_size=2)):
        columns[bit] = 0
    addresses = []
    for lane in range(32):
        address = 0
        for bit, column in enumerate(columns):
            address ^= column if lane >> bit & 1 else 0
        addresses.append(address)
    return columns, Access(addresses, width)


@given(linear_patterns())
def test_counting_agrees_with_rank(pattern: tuple[list[int], Access]) -> None:
    columns, access = pattern
    assert wavefronts(access).total == by_rank(columns, access.bytes_per_lane)


@given(linear_patterns())
def test_no_member_of_a_family_beats_its_bound(pattern: tuple[list[int], Access]) -> None:
    _, access = pattern
    for swizzle in list(family(access.bytes_per_lane, 4096))[::7]:
        count = wavefronts(access.swizzled(swizzle)).total
        assert count >= least_wavefronts(access, swizzle.bits) >= wavefronts(access).ideal_total


@given(st.lists(st.integers(0, 255), min_size=1, max_size=32), st.sampled_from([4, 8, 16]))
def test_any_access_stays_between_its_bounds(numbers: list[int], width: int) -> None:
    access = Access([width * number for number in numbers], width)
    counted = wavefronts(access)
    assert counted.ideal_total <= counted.total <= len(set(numbers)) * max(1, width // 8)
    for swizzle in list(family(width, 4096))[::11]:
        assert wavefronts(access.swizzled(swizzle)).total >= least_wavefronts(access, swizzle.bits)


def test_each_bit_of_a_swizzle_halves_a_column() -> None:
    column = Access([128 * row for row in range(32)], 4)
    for bits in range(6):
        found = search_swizzle([column], window=4096, most_bits=bits)
        assert found.total == 32 >> bits == found.bound
        assert found.swizzle.bits == bits
        assert dict(found.counts)[found.swizzle] == found.total
        assert wavefronts(column.swizzled(found.swizzle)).total == found.total
    assert found.proof == "no placement of these words takes fewer"


def test_reading_rows_and_columns_with_one_swizzle() -> None:
    """The transposition of a 32x32 tile of floats: both directions, every row and column."""
    rows = [Access([128 * r + 4 * c for c in range(32)], 4) for r in range(32)]
    columns = [Access([128 * r + 4 * c for r in range(32)], 4) for c in range(32)]
    found = search_swizzle([*rows, *columns], window=4096)
    assert found.total == 64 == found.ideal
    assert found.swizzle == Swizzle(5, 2, 5, unit=8)


def test_the_search_finds_the_hardware_swizzle_for_ldmatrix() -> None:
    reads = [
        Access([128 * (lane % 16) + 16 * (lane // 16) + 32 * k for lane in range(32)], 16, "matrix")
        for k in range(4)
    ]
    found = search_swizzle(reads, window=2048)
    assert found.total == 16 == found.ideal
    assert found.swizzle == Swizzle(3, 4, 3, unit=8)
    assert min(total for swizzle, total in found.counts if swizzle.bits < 3) == 32
    assert sum(least_wavefronts(read, 2) for read in reads) == 32


def test_a_search_without_a_bound_says_that_it_counted() -> None:
    odd = Access([128 * row for row in range(31)], 4)
    found = search_swizzle([odd], window=4096, most_bits=2)
    assert found.total == 8
    assert found.proof == f"all {len(found.counts)} swizzles of the family were counted"
    assert search_swizzle([odd], window=4096, most_bits=2) == found
    bounded = search_swizzle([Access([128 * r for r in range(32)], 4)], window=4096, most_bits=2)
    assert bounded.proof == "no swizzle of 2 bits takes fewer"


def test_the_family_is_every_swizzle_of_the_window() -> None:
    members = set(family(16, 1024))
    # Independently: all swizzles, kept when they permute 0..1023 and move no byte of a vector.
    for bits in range(1, 5):
        for base in range(11):
            for shift in [*range(-8, 1 - bits), *range(bits, 9)]:
                swizzle = Swizzle(bits, base, shift, unit=8)
                inside = max(map(swizzle, range(1024))) < 1024 and swizzle.source() < 1024
                whole = all(swizzle(16 * n + 15) == swizzle(16 * n) + 15 for n in range(64))
                moves = any(swizzle(n) != n for n in range(1024))
                assert (swizzle in members) == (inside and whole and moves), swizzle


def test_inactive_lanes_and_pairs() -> None:
    assert wavefronts(Access([None] * 32, 4)).total == 0
    assert least_wavefronts(Access([None] * 32, 4), 2) == 0
    assert wavefronts(Access([None, 128, 0], 4)).phases == (2,)
    assert Access([None, 128, None], 4).swizzled(Swizzle(3, 4, 3, unit=8)).addresses[0] is None
    assert wavefronts(Access([16 * n for n in range(8)], 16)).phases == (1,)  # ldmatrix.x1
    assert Access([0] * 32, 8).pairs
    assert Access([8 * (n // 2) for n in range(32)], 8).pairs
    assert Access([8 * (n % 2) for n in range(32)], 8).pairs
    assert not Access([8 * (n // 4 * 2 + n % 2 * n // 2 % 2) for n in range(32)], 8).pairs
    assert not Access([0] * 32, 4).pairs  # broadcast is in the rule already


@pytest.mark.parametrize(
    ("addresses", "width", "phases"),
    [
        ([0] * 32, 8, (1,)),
        ([0] * 32, 16, (1, 1)),
        # Two rows in the same banks, one in each phase: merged, they conflict.
        ([128 * (n // 16) + n // 2 % 8 * 8 for n in range(32)], 8, (2,)),
        # Two rows in each phase, in banks of its own: merged, they are as slow as one phase.
        ([128 * (n // 8 % 2) + 32 * (n // 16) + n // 2 % 4 * 8 for n in range(32)], 8, (2,)),
        ([128 * (n // 8 % 2) + n // 2 % 4 * 16 for n in range(32)], 16, (2, 2)),
        # Lanes agree four apart, or with another partner in each half: nothing merges.
        ([8 * (n % 4 + n // 8 * 4) for n in range(32)], 8, (1, 1)),
        ([8 * (n // 2 if n < 16 else n % 2 + n // 4 * 2) for n in range(32)], 8, (1, 1)),
        ([8 * (n // 2) if n < 31 else 0 for n in range(32)], 8, (1, 1)),
        # An inactive lane agrees with any.
        ([None if n % 2 else 8 * (n // 2) for n in range(32)], 8, (1,)),
    ],
)
def test_phases_of_lanes_in_pairs_merge(
    addresses: list[int | None], width: int, phases: tuple[int, ...]
) -> None:
    assert wavefronts(Access(addresses, width)).phases == phases
    for instruction in ("store", "matrix"):
        apart = Access(addresses, width, instruction)
        assert len(wavefronts(apart).phases) == width // 4
        assert apart.swizzled(Swizzle(2, 4, 3, unit=8)).instruction == instruction


def test_fragments_of_the_accumulator() -> None:
    C = atom("mma.m16n8k16.bf16").operand("C").ownership
    plain = SharedTile(16, 32, 4, 128)
    stores = fragment_accesses(C, lambda m, n: plain(m, n), element_bytes=4, vector=2)
    assert len(stores) == 2
    # Four lanes of a row fill two chunks; rows 2i and 2i+1 swap the same two.
    assert [wavefronts(store).phases for store in stores] == [(2, 2), (2, 2)]
    unswizzled = fragment_accesses(C, lambda m, n: 4 * (32 * m + n), element_bytes=4, vector=2)
    found = search_swizzle(unswizzled, window=2048)
    assert found.swizzle == Swizzle(2, 5, 2, unit=8)
    assert found.total == 4 == found.ideal
    with pytest.raises(LayoutError, match="value 2 of thread 0 lies at byte") as refusal:
        fragment_accesses(C, lambda m, n: 4 * (32 * m + n), element_bytes=4, vector=4)
    assert refusal.value.witness == {"thread": 0, "value": 2}
    symbolic = Ownership.of(
        axes={"m": 8 * name("M")},
        bits=32,
        values={"repeat": [(name("M"), "m", 8)]},
        threads={"lane": [(8, "m", 1)]},
    )
    with pytest.raises(LayoutError, match="symbolic size"):
        fragment_accesses(symbolic, lambda m: 4 * m, element_bytes=4)


@pytest.mark.parametrize(
    ("addresses", "width", "message", "witness"),
    [
        ([0], 3, "an access of 3 bytes per lane", 3),
        ([0] * 33, 4, "33 lanes", 32),
        ([0, 8], 16, "lane 1 accesses 16 bytes at 8", 1),
        ([-4], 4, "lane 0 accesses 4 bytes at -4", 0),
    ],
)
def test_accesses_that_do_not_exist(
    addresses: list[int], width: int, message: str, witness: int
) -> None:
    with pytest.raises(LayoutError, match=message) as refusal:
        Access(addresses, width)
    assert refusal.value.witness == witness
    assert refusal.value.hint


def test_an_instruction_that_is_none() -> None:
    with pytest.raises(LayoutError, match="use one of load, store, matrix"):
        Access([0], 4, "atomic")


def test_swizzles_and_windows_that_do_not_fit() -> None:
    access = Access([0, 16], 16)
    with pytest.raises(LayoutError, match="moves bytes inside an access of 16 bytes per lane"):
        access.swizzled(Swizzle(1, 3, 3, unit=8))
    with pytest.raises(LayoutError, match="no stated width"):
        access.swizzled(Swizzle(3, 4, 3))
    with pytest.raises(LayoutError, match="lane 1 of access 0 reaches byte 16 outside a window"):
        search_swizzle([access], window=16)
    with pytest.raises(LayoutError, match="no access"):
        search_swizzle([], window=16)
    with pytest.raises(LayoutError, match="no power of two"):
        search_swizzle([access], window=48)
