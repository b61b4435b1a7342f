"""Tilings against an enumeration that starts from the table of one instruction."""

import itertools
import json
from pathlib import Path

import pytest

from tylo.layouts.atoms import atom
from tylo.layouts.coverage import require_covers
from tylo.layouts.errors import AtomError, OwnershipError
from tylo.layouts.owners import owners
from tylo.layouts.terms import evaluate, name
from tylo.layouts.tiling import Along, tile, tile_operand

DATA = Path(__file__).parents[1] / "data"
TABLE = {
    each["id"].rsplit("_", 1)[1]: each["operands"]
    for each in json.loads((DATA / "atoms_m16n8k16.json").read_text())["atoms"]
}["bf16"]
MMA = atom("mma.m16n8k16.bf16")
AXES = {"A": "mk", "B": "kn", "C": "mn"}
# Which of its axes an operand's repeats count first: rows or columns of the product, then depth.
FIRST = {"A": "mk", "B": "nk", "C": "mn"}
EXTENT = {"m": 16, "n": 8, "k": 16}

COUNTS = [
    {"m": 1, "n": 1, "k": 1, "warps_m": 1, "warps_n": 1},
    {"m": 2, "n": 3, "k": 2, "warps_m": 1, "warps_n": 1},
    {"m": 3, "n": 1, "k": 2, "warps_m": 4, "warps_n": 1},
    {"m": 1, "n": 2, "k": 1, "warps_m": 1, "warps_n": 2},
    {"m": 2, "n": 2, "k": 3, "warps_m": 2, "warps_n": 3},
]


def enumerated(letter: str, counts: dict, arrangement: str) -> list[list[tuple[int, int]]]:
    """[thread][value] -> coordinate, by walking over blocks of whole instructions."""
    repeats = {axis: counts[axis] for axis in "mnk"}
    warps = {"m": counts["warps_m"], "n": counts["warps_n"], "k": 1}
    threads = []
    for warp in range(warps["m"] * warps["n"]):
        place = {"m": warp % warps["m"], "n": warp // warps["m"], "k": 0}
        for lane in range(32):
            held = []
            first, second = FIRST[letter]
            for slow, fast in itertools.product(range(repeats[second]), range(repeats[first])):
                repeat = {first: fast, second: slow}
                for coordinate in TABLE[letter]["table"][lane]:
                    block = [
                        place[axis] + warps[axis] * repeat[axis]
                        if arrangement == "interleaved"
                        else repeat[axis] + repeats[axis] * place[axis]
                        for axis in AXES[letter]
                    ]
                    held.append(
                        tuple(
                            EXTENT[axis] * number + inside
                            for axis, number, inside in zip(
                                AXES[letter], block, coordinate, strict=True
                            )
                        )
                    )
            threads.append(held)
    return threads


@pytest.mark.parametrize("arrangement", ["interleaved", "blocked"])
@pytest.mark.parametrize("counts", COUNTS, ids=lambda counts: "-".join(map(str, counts.values())))
@pytest.mark.parametrize("letter", "ABC")
def test_tiles_are_what_enumeration_gives(letter: str, counts: dict, arrangement: str) -> None:
    ownership = tile_operand(MMA, letter, **counts, arrangement=arrangement)
    expected = enumerated(letter, counts, arrangement)
    assert (ownership.thread_count, ownership.value_count) == (len(expected), len(expected[0]))
    holders: dict = {}
    for thread, held in enumerate(expected):
        for value, coordinate in enumerate(held):
            assert ownership.coordinates(thread, value) == coordinate
            holders.setdefault(coordinate, set()).add((thread, value))
    assert set(holders) == set(itertools.product(*map(range, ownership.shape)))
    missing = {"A": "n", "B": "m", "C": ""}[letter]
    assert require_covers(ownership) == (counts[f"warps_{missing}"] if missing else 1)
    values_in_order = [each.name for each in ownership.values]
    assert values_in_order == ["value", *(f"repeat_{axis}" for axis in FIRST[letter])]
    for coordinate, everyone in holders.items():
        listed = owners(ownership, *coordinate)
        assert len(listed) == len(everyone)
        assert all(ownership(**owner) == coordinate for owner in listed)
        flat = {
            (
                owner["lane"] + 32 * owner["warp"],
                owner["value"]
                + ownership.input("value").size
                * (
                    owner[values_in_order[1]] + counts[FIRST[letter][0]] * owner[values_in_order[2]]
                ),
            )
            for owner in listed
        }
        assert flat == everyone


@pytest.mark.parametrize("arrangement", ["interleaved", "blocked"])
@pytest.mark.parametrize("letter", "ABC")
def test_symbolic_tiles_evaluate_to_concrete_ones(letter: str, arrangement: str) -> None:
    sizes = {each: name(each.upper()) for each in ("m", "n", "k", "warps_m", "warps_n")}
    closed = tile_operand(MMA, letter, **sizes, arrangement=arrangement)
    for counts in COUNTS:
        known = {label.upper(): count for label, count in counts.items()}
        concrete = tile_operand(MMA, letter, **counts, arrangement=arrangement)
        assert tuple(evaluate(extent, known) for extent in closed.shape) == concrete.shape
        assert evaluate(closed.value_count, known) == concrete.value_count
        assert evaluate(closed.thread_count, known) == concrete.thread_count
        inputs = [each.name for each in concrete.inputs]
        terms = closed(**{each: name(each) for each in inputs})
        places = itertools.product(*(range(each.size) for each in concrete.inputs))
        for place in itertools.islice(places, 0, None, 7):
            indices = dict(zip(inputs, place, strict=True))
            found = tuple(evaluate(part, {**known, **indices}) for part in terms)
            assert found == concrete(**indices)


def test_operand_d_is_tiled_as_c() -> None:
    assert tile_operand(MMA, "D", m=2, n=2) == tile_operand(MMA, "C", m=2, n=2)


def test_one_instruction_tiled_once_is_the_instruction() -> None:
    once = tile_operand(MMA, "B")
    assert all(
        once.coordinates(lane, value) == tuple(TABLE["B"]["table"][lane][value])
        for lane in range(32)
        for value in range(4)
    )


def test_warps_may_divide_the_depth() -> None:
    """Split-K: each warp holds its own columns of A."""
    split = tile(MMA.operand("A").ownership, {"k": Along(2, warps=2)})
    assert split.shape == (16, 64)
    assert split(warp=1, repeat_k=1) == (0, 48)
    assert require_covers(split) == 1


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        ({"m": 0}, "the number of repeats along m is 0"),
        ({"n": -1}, "the number of repeats along n is -1"),
        ({"k": 1.0}, "the number of repeats along k is 1.0"),
        ({"m": True}, "the number of repeats along m is True"),
        ({"m": "2"}, "the number of repeats along m is '2'"),
        ({"warps_m": 0}, "the number of warps along m is 0"),
        ({"warps_n": 0.5}, "the number of warps along n is 0.5"),
        ({"arrangement": "random"}, "no arrangement 'random'; use 'interleaved'"),
    ],
)
def test_counts_that_are_refused(counts: dict, reason: str) -> None:
    with pytest.raises(OwnershipError) as refused:
        tile_operand(MMA, "C", **counts)
    assert reason in str(refused.value)


@pytest.mark.parametrize("order", [("m",), ("m", "n", "k"), ("m", "k")])
def test_an_order_names_each_axis_once(order: tuple) -> None:
    with pytest.raises(OwnershipError, match="does not name each axis once; the axes are m, n"):
        tile(MMA.operand("C").ownership, {"m": Along(2)}, order=order)


def test_an_operand_that_is_none() -> None:
    with pytest.raises(AtomError, match="has no operand 'E'"):
        tile_operand(MMA, "E")
