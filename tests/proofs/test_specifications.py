"""The adjacent-atom claims and the packing effect: proven, brute-forced, and refuted when false."""

import dataclasses
import itertools
import json
import re
from pathlib import Path

import pytest

from tylo.layouts.atoms import atom
from tylo.layouts.coverage import require_covers
from tylo.layouts.errors import AtomError, GenerationError, OwnershipError, TyloError
from tylo.layouts.ownership import Input, Mode, Ownership
from tylo.layouts.terms import evaluate, name, names
from tylo.proofs.certificate import Proof
from tylo.proofs.prover import Counterexample, prove
from tylo.proofs.specifications import SHIPPED, adjacent_atoms, specification
from tylo.proofs.specifications.pack_operand_a import PackTile, effect, ownership_table

DATA = Path(__file__).parents[1] / "data"
TABLES = {
    each["id"].rsplit("_", 1)[1]: each["operands"]
    for each in json.loads((DATA / "atoms_m16n8k16.json").read_text())["atoms"]
}
DTYPES = tuple(sorted(TABLES))
CLAIMS = {
    (dtype, claim.name): claim
    for dtype in DTYPES
    for claim in specification("adjacent_atoms", {"atom": f"mma.m16n8k16.{dtype}"}).claims
}
MMA = atom("mma.m16n8k16.bf16")
HOLDS = {"=": int.__eq__, "<": int.__lt__, "<=": int.__le__}


def test_the_claims_are_these() -> None:
    for dtype in DTYPES:
        assert [label for kind, label in CLAIMS if kind == dtype] == [
            "same_coordinates",
            "no_lane_crossed",
            "exchange_bijective",
            "accumulator_owned_once",
            "operand_owned_once",
            "warps_inside_repeats",
            "packed_words",
            "registers",
        ]


@pytest.mark.parametrize(("dtype", "label"), CLAIMS)
def test_every_claim_is_proven(dtype: str, label: str) -> None:
    assert isinstance(prove(CLAIMS[dtype, label]), Proof)


@pytest.mark.parametrize("label", [label for dtype, label in CLAIMS if dtype == "bf16"])
def test_every_claim_holds_at_small_sizes(label: str) -> None:
    """Each conjunct at every point of its own variables, by plain integers."""
    claim = CLAIMS["bf16", label]
    for sizes in ((1, 1, 1), (2, 1, 3), (1, 2, 1), (3, 2, 2)):
        known = dict(zip("MKW", sizes, strict=True))
        assert set(claim.parameters) <= set(known)
        extents = {each: evaluate(bound, known) for each, bound in claim.variables}
        for part in claim.conjuncts:
            used = sorted({*names(part.left), *names(part.right)} & set(extents))
            for point in itertools.product(*(range(extents[each]) for each in used)):
                values = {**known, **dict(zip(used, point, strict=True))}
                sides = evaluate(part.left, values), evaluate(part.right, values)
                assert HOLDS[part.relation](*sides), (part, values)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_theorem_holds_of_the_independent_table(dtype: str) -> None:
    """The theorem's sentence for one warp, read off the tables and nothing of ours."""
    accumulator, operand = TABLES[dtype]["C"]["table"], TABLES[dtype]["A"]["table"]
    for lane, word, half, k in itertools.product(range(32), range(4), range(2), range(3)):
        row, column = operand[lane][2 * word + half]
        atom_n, value = 2 * k + word // 2, 2 * (word % 2) + half
        assert adjacent_atoms.exchange(word, half, k) == (atom_n, value)
        there = accumulator[lane][value]
        assert (row, 16 * k + column) == (there[0], 8 * atom_n + there[1])


@pytest.mark.parametrize("counts", [(1, 1, 1), (2, 3, 2)])
def test_the_ownership_table_is_the_independent_one(counts: tuple) -> None:
    tile = PackTile(MMA, *counts)
    for warp, m, k in itertools.product(range(counts[2]), range(counts[0]), range(counts[1])):
        table = ownership_table(tile, warp=warp, repeat_m=m, pair=k)
        assert len(table) == 32
        for lane, halves in enumerate(table):
            for position, half in enumerate(halves):
                row, column = TABLES["bf16"]["A"]["table"][lane][position]
                row, column = row + 16 * (warp + counts[2] * m), column + 16 * k
                assert (half.row, half.column) == (row, column)
                assert (half.lane, half.warp, half.repeat_m) == (lane, warp, m)
                there = TABLES["bf16"]["C"]["table"][half.lane][half.value]
                assert there == [row % 16, column - 8 * half.atom_n]


@pytest.mark.parametrize("where", [{"warp": 1}, {"repeat_m": 2}, {"pair": 1}, {"warp": -1}])
def test_the_ownership_table_ends_with_the_tile(where: dict) -> None:
    with pytest.raises(OwnershipError, match="is out of range"):
        ownership_table(PackTile(MMA, repeats_m=2), **where)


# False variants of the exchange, and the least point where `same_coordinates` fails.
EXCHANGES = {
    "atoms swapped": (lambda w, h, k: (2 * k + (1 - w // 2), 2 * (w % 2) + h), (0, 0, 0), "column"),
    "wrong row half": (lambda w, h, k: (2 * k + w // 2, 2 * (1 - w % 2) + h), (0, 0, 0), "row"),
    "halves swapped": (
        lambda w, h, k: (2 * k + w // 2, 2 * (w % 2) + (1 - h)),
        (0, 0, 0),
        "column",
    ),
    "row and column swapped": (lambda w, h, k: (2 * k + w // 2, w % 2 + 2 * h), (0, 0, 1), "row"),
    "pairs a stride apart": (lambda w, h, k: (k + w // 2, 2 * (w % 2) + h), None, "column"),
    "words in row order": (lambda w, h, k: (2 * k + w % 2, 2 * (w // 2) + h), (0, 1, 0), "row"),
}


@pytest.mark.parametrize("variant", EXCHANGES)
def test_a_false_exchange_is_refuted_at_its_least_point(variant: str, monkeypatch) -> None:
    false, point, axis = EXCHANGES[variant]
    monkeypatch.setattr(adjacent_atoms, "exchange", false)
    claims = {claim.name: claim for claim in adjacent_atoms.claims(MMA)}
    outcome = prove(claims["same_coordinates"])
    assert isinstance(outcome, Counterexample)
    values = outcome.values
    if point is None:
        # With one pair there is nothing to see: the second pair is where it fails.
        assert outcome.parameters == {"K": 2, "M": 1, "W": 1}
        assert values == {"lane": 0, "warp": 0, "w": 0, "h": 0, "m": 0, "k": 1}
    else:
        assert outcome.parameters == {"K": 1, "M": 1, "W": 1}
        assert (values["lane"], values["w"], values["h"]) == point
    assert outcome.conjunct.label == axis
    assert outcome.left != outcome.right
    assert f"lane = {values['lane']}" in str(outcome)
    assert isinstance(prove(claims["no_lane_crossed"]), Counterexample)


def test_one_lane_off_is_refuted_at_lane_zero() -> None:
    claim = CLAIMS["bf16", "no_lane_crossed"]
    parts = [
        dataclasses.replace(part, right=part.right + 1) if part.label == "lane" else part
        for part in claim.conjuncts
    ]
    outcome = prove(dataclasses.replace(claim, conjuncts=parts))
    assert isinstance(outcome, Counterexample)
    assert outcome.conjunct.label == "lane"
    assert (outcome.left, outcome.right) == (0, 1)
    assert set(outcome.values.values()) == {0}


def test_the_last_lane_alone_is_found() -> None:
    """A claim that fails at lane 31 and no other has that for its least counterexample."""
    claim = CLAIMS["bf16", "no_lane_crossed"]
    parts = [
        dataclasses.replace(part, right=part.right + (name("lane") + 1) // 32)
        if part.label == "lane"
        else part
        for part in claim.conjuncts
    ]
    outcome = prove(dataclasses.replace(claim, conjuncts=parts))
    assert isinstance(outcome, Counterexample)
    assert outcome.values["lane"] == 31


@pytest.mark.parametrize(
    ("wrong", "parameters"),
    [
        (lambda w, m, k, repeats: w + 4 * (m + k), {"K": 2, "M": 2, "W": 1}),
        (lambda w, m, k, repeats: w + 4 * m * 2 + 4 * repeats * k, {"K": 1, "M": 2, "W": 1}),
        (lambda w, m, k, repeats: w + 4 * (k + repeats * m), {"K": 1, "M": 2, "W": 1}),
    ],
)
def test_a_changed_register_pitch_is_refuted(wrong, parameters: dict, monkeypatch) -> None:
    monkeypatch.setattr(adjacent_atoms, "word_register", wrong)
    (claim,) = (each for each in adjacent_atoms.claims(MMA) if each.name == "registers")
    outcome = prove(claim)
    assert isinstance(outcome, Counterexample)
    assert outcome.parameters == parameters


def permuted(ownership: Ownership):
    """The tables with the same digits, dealt to the inputs' places in another order."""
    modes = [mode for each in ownership.inputs for mode in each.modes]
    seen = set()
    for order in itertools.permutations(modes):
        values, threads = (len(ownership.values[0].modes), len(ownership.threads[0].modes))
        changed = dataclasses.replace(
            ownership,
            values=(Input("value", order[:values]),),
            threads=(Input("lane", order[values : values + threads]),),
        )
        counts = (changed.value_count, changed.thread_count)
        if counts == (ownership.value_count, 32) and changed not in seen and changed != ownership:
            seen.add(changed)
            yield changed


def with_table(letter: str, ownership: Ownership):
    operands = tuple(
        dataclasses.replace(each, ownership=ownership) if each.letter == letter else each
        for each in MMA.operands
    )
    return dataclasses.replace(MMA, operands=operands)


@pytest.mark.parametrize("letter", "AC")
def test_tables_with_digits_permuted_cover_and_are_refuted(letter: str) -> None:
    """Coverage cannot tell these from the right table: the claims can."""
    tried = 0
    for changed in permuted(MMA.operand(letter).ownership):
        assert require_covers(changed) == 1
        claims = {each.name: each for each in adjacent_atoms.claims(with_table(letter, changed))}
        outcome = prove(claims["same_coordinates"])
        assert isinstance(outcome, Counterexample), changed
        assert outcome.parameters == {"K": 1, "M": 1, "W": 1}
        tried += 1
    assert tried >= {"A": 11, "C": 3}[letter]


@pytest.mark.parametrize("letter", "AC")
def test_every_single_change_of_a_table_is_caught_by_the_claims(letter: str) -> None:
    ownership = MMA.operand(letter).ownership
    tried = 0
    places = [("values", digit) for digit in range(len(ownership.values[0].modes))]
    places += [("threads", digit) for digit in range(len(ownership.threads[0].modes))]
    for side, digit in places:
        source = getattr(ownership, side)[0]
        mode = source.modes[digit]
        steps = [
            (*mode.steps[:axis], step, *mode.steps[axis + 1 :])
            for axis in range(2)
            for step in {0, 1, 2, 4, 8} - {mode.steps[axis]}
        ]
        for variant in (
            *(Mode(mode.size, each) for each in steps),
            *(Mode(size, mode.steps) for size in {1, 2, 4, 8} - {mode.size}),
        ):
            modes = (*source.modes[:digit], variant, *source.modes[digit + 1 :])
            try:
                changed = dataclasses.replace(ownership, **{side: (Input(source.name, modes),)})
                claims = adjacent_atoms.claims(with_table(letter, changed))
                refuted = any(isinstance(prove(each), Counterexample) for each in claims)
            except TyloError:
                refuted = True
            assert refuted, (side, digit, variant)
            tried += 1
    assert tried > 40


TILES = [
    PackTile(atom("mma.m16n8k16.bf16")),
    PackTile(atom("mma.m16n8k16.f16"), repeats_m=2, pairs=3, warps_m=2),
    PackTile(atom("mma.m16n8k16.bf16"), repeats_m=1, pairs=1, warps_m=32),
    PackTile(atom("mma.m16n8k16.bf16"), repeats_m=4, pairs=4, warps_m=1),
]


@pytest.mark.parametrize("tile", TILES, ids=lambda tile: "x".join(map(str, tile.shape)))
def test_the_effect_stores_each_word_once_from_its_two_elements(tile: PackTile) -> None:
    contract = effect(tile)
    blocks, elements = 3, tile.elements
    conversion = f"cvt.rn.{tile.atom.operand('A').dtype}.f32"
    stored = []
    for block, thread in itertools.product(range(blocks), range(contract.threads)):
        known = {"block": block, "thread": thread}
        for store in contract.stores:
            offset = evaluate(store.offset, known)
            stored.append(offset)
            assert store.buffer == "words"
            assert [part.bits for part in store.parts] == [16, 16]
            # Row-major on both sides: word i rounds elements 2i and 2i + 1.
            sources = [evaluate(part.offset, known) for part in store.parts]
            assert sources == [2 * offset, 2 * offset + 4]
            assert {(part.conversion, part.buffer) for part in store.parts} == {
                (conversion, "accumulator")
            }
    assert sorted(stored) == list(range(0, blocks * elements * 2, 4))
    sizes = {buffer.name: buffer.bytes_per_block for buffer in contract.buffers}
    assert sizes == {"accumulator": 4 * elements, "words": 2 * elements}


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        ({"repeats_m": 0}, "0 M repeats; give a whole number from 1"),
        ({"pairs": -1}, "-1 column pairs"),
        ({"warps_m": True}, "True M warps"),
        ({"warps_m": 2.0}, "2.0 M warps"),
        ({"pairs": "2"}, "'2' column pairs"),
        ({"warps_m": 33}, "33 M warps; a block holds at most 32 warps"),
        ({"repeats_m": 17}, "17 M repeats of 1 pairs hold 204 registers a lane"),
        ({"repeats_m": 6, "pairs": 3}, "repeats times pairs may be at most 16"),
    ],
)
def test_tiles_that_are_refused(counts: dict, reason: str) -> None:
    with pytest.raises(GenerationError) as refused:
        PackTile(MMA, **counts)
    assert reason in str(refused.value)


def test_every_tile_of_sixteen_operands_is_accepted() -> None:
    for repeats, pairs in itertools.product(range(1, 17), repeat=2):
        if repeats * pairs <= 16:
            assert PackTile(MMA, repeats_m=repeats, pairs=pairs).elements == 256 * repeats * pairs


@pytest.mark.parametrize(
    ("asked", "parameters", "error", "reason"),
    [
        ("pack", {}, GenerationError, "no specification 'pack'; there are: adjacent_atoms"),
        ("adjacent_atoms", {}, AtomError, "no atom"),
        ("adjacent_atoms", {"atom": "mma.m16n8k16"}, AtomError, "fits several atoms"),
        ("adjacent_atoms", {"atom": "wgmma.m64n8k16"}, AtomError, "fits several atoms"),
        *(
            (
                specification,
                {"atom": "wgmma.m64n8k16.f16"},
                GenerationError,
                "two accumulators of wgmma.m64n8k16.f16 are not its A operand",
            )
            for specification in ("adjacent_atoms", "pack_operand_a")
        ),
        (
            "adjacent_atoms",
            {"atom": "mma.m16n8k16.f16", "pairs": 2},
            GenerationError,
            "adjacent_atoms has no parameter 'pairs'; use atom",
        ),
        (
            "pack_operand_a",
            {"atom": "mma.m16n8k16.f16", "warps_n": 2},
            GenerationError,
            "pack_operand_a has no parameter 'warps_n'; use atom, pairs, repeats_m, warps_m",
        ),
        (
            "pack_operand_a",
            {"atom": "mma.m16n8k16.f16", "pairs": "two"},
            GenerationError,
            "pairs is 'two'; give a whole number from 1",
        ),
        ("pack_operand_a", {"atom": "mma.m16n8k16.f16", "pairs": True}, GenerationError, "True"),
        ("pack_operand_a", {"atom": "mma.m16n8k16.f16", "pairs": 0}, GenerationError, "0 column"),
    ],
)
def test_specifications_that_are_refused(asked, parameters, error, reason) -> None:
    with pytest.raises(error) as refused:
        specification(asked, parameters)
    assert reason in str(refused.value)


@pytest.mark.parametrize("dtype", DTYPES)
def test_parameters_are_normalised(dtype: str) -> None:
    short = specification("pack_operand_a", {"atom": f"mma.m16n8k16.{dtype}"})
    assert short.parameters == {
        "atom": f"mma.sync.aligned.m16n8k16.row.col.f32.{dtype}.{dtype}.f32",
        "repeats_m": 1,
        "pairs": 1,
        "warps_m": 1,
    }
    again = specification("pack_operand_a", short.parameters)
    assert [claim.id for claim in again.claims] == [claim.id for claim in short.claims]
    assert again.effect == short.effect
    assert short.effect.threads == 32
    with pytest.raises(TypeError):
        short.parameters["pairs"] = 2


def test_every_shipped_theorem_regenerates() -> None:
    for asked, parameters in SHIPPED.values():
        found = specification(asked, parameters)
        assert found.name == asked
        assert found.claims
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", claim.id) for claim in found.claims)
        again = specification(asked, found.parameters)
        assert [claim.id for claim in again.claims] == [claim.id for claim in found.claims]
    for dtype in DTYPES:
        assert SHIPPED[f"adjacent_atoms.{dtype}"][0] == "adjacent_atoms"
