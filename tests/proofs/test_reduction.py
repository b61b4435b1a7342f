"""Claims about reductions: proven, held against plain numbers, and refuted where they are false."""

import dataclasses
import itertools
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.ownership_strategies import ownerships

from tylo.layouts.atoms import atom
from tylo.layouts.atoms.wgmma import accumulator
from tylo.layouts.errors import GenerationError, OwnershipError
from tylo.layouts.exchange import ExchangePlan
from tylo.layouts.ownership import Ownership
from tylo.layouts.permuted import permuted, replicated
from tylo.layouts.reduction import lane_masks, reduction
from tylo.layouts.row_tiles import lane_local, row_tile
from tylo.layouts.terms import evaluate, name
from tylo.layouts.tiling import Along, tile, tile_operand
from tylo.proofs import checker
from tylo.proofs.certificate import Certificate, Proof
from tylo.proofs.prover import Counterexample, prove, require_proof
from tylo.proofs.specifications import SHIPPED, specification
from tylo.proofs.specifications import reduction as stated
from tylo.proofs.specifications.reduction import claims, shared_state
from tylo.proofs.specifications.reduction_terms import Schedule

ARTIFACTS = Path(__file__).parents[2] / "proofs" / "artifacts"
MMA = atom("mma.m16n8k16.bf16")
M, N, S, W, D = (name(each) for each in "MNSWD")
TALL = tile_operand(MMA, "C", m=M, n=N)
KNOWN = {each: name(each) for each in ("M", "N", "r0", "r1", "g0", "g1", "row_lane", "rank")}
LABELS = [label for label, (each, _) in SHIPPED.items() if each in ("reduction", "shared_state")]
HOLDS = {"=": int.__eq__, "<": int.__lt__, "<=": int.__le__}


def by_name(ownership: Ownership, axis: int) -> dict:
    return {claim.name: claim for claim in claims(ownership, axis)}


@pytest.mark.parametrize("label", LABELS)
def test_shipped_certificates_are_what_is_proven_now(label: str) -> None:
    found = specification(*SHIPPED[label])
    proofs = [require_proof(claim) for claim in found.claims]
    content = Certificate(found.theorem, found.name, dict(found.parameters), proofs).to_bytes()
    assert (ARTIFACTS / f"{label}.json").read_bytes() == content
    assert all(verdict.accepted for verdict in checker.check_bytes(content))


def test_which_theorems_are_shipped() -> None:
    assert LABELS == [
        "reduction.mma_c.0",
        "reduction.mma_c.1",
        "reduction.wgmma_c.1",
        "reduction.wgmma_a.1",
        "reduction.row_tile.1",
        "reduction.lane_local.1",
        "shared_state.mma_c",
        "shared_state.wgmma_c",
    ]
    stated = specification("reduction", {"tile": "row_tile"})
    assert dict(stated.parameters) == {
        "tile": "row_tile",
        "axis": 1,
        "vector": 4,
        "lanes": 32,
        "warps": 1,
        "row_warps": 1,
    }
    assert "4 values, 32 lanes and 1 warps along a row" in stated.theorem


FURTHER = {
    "mma on W warps": (tile_operand(MMA, "C", m=M, n=N, warps_m=W), 1, set()),
    "mma shared by two warps": (
        tile_operand(MMA, "A", m=M, k=N, warps_n=2),
        1,
        {"copies_agree"},
    ),
    "columns of a warpgroup": (tile(accumulator(S), {"m": Along(M)}), 0, {"slots"}),
    "rows over four warps": (
        row_tile(repeats=N, row_repeats=M, warps=4, row_warps=2),
        1,
        {"slots"},
    ),
    "rows over W warps": (row_tile(repeats=N, row_repeats=M, warps=W), 1, {"slots"}),
    "columns of eight-lane rows": (row_tile(repeats=N, row_repeats=M, lanes=8), 0, set()),
    "lane-local columns": (lane_local(rows=M, columns=N, whole="column"), 0, set()),
    "transposed": (permuted(TALL, axes=("n", "m")), 0, set()),
    "replicated": (
        replicated(replicated(TALL, "value", 2), "warp", 3),
        1,
        {"copies_agree"},
    ),
}


@pytest.mark.parametrize("label", FURTHER)
def test_further_tiles_are_proven_for_every_size(label: str) -> None:
    ownership, axis, extra = FURTHER[label]
    found = by_name(ownership, axis)
    assert set(found) & {"slots", "copies_agree"} == extra
    assert ("rounds" in found) == (label != "lane-local columns")
    for claim in found.values():
        assert isinstance(prove(claim), Proof), claim.name


def test_a_named_tile_of_each_kind() -> None:
    for asked in (
        {"tile": "mma_a"},
        {"tile": "wgmma_tiled", "columns": 128},
        {"tile": "lane_local", "whole": "column", "axis": 0},
        {"tile": "row_tile", "vector": 8, "lanes": 16, "warps": 2},
    ):
        for claim in specification("reduction", asked).claims:
            assert isinstance(prove(claim), Proof), claim.name


@settings(deadline=None, max_examples=15)
@given(ownerships(), st.sampled_from([0, 1]))
def test_random_ownerships_are_proven(ownership: Ownership, axis: int) -> None:
    for claim in claims(ownership, axis):
        assert isinstance(prove(claim), Proof), claim.name


@pytest.mark.parametrize("label", ["reduction.mma_c.1", "reduction.row_tile.1"])
def test_the_claims_hold_at_small_sizes(label: str) -> None:
    """Each conjunct at points spread over its variables, by plain integers."""
    for claim in specification(*SHIPPED[label]).claims:
        for sizes in ((1, 1), (2, 3)):
            known = dict(zip("MN", sizes, strict=True))
            extents = [evaluate(bound, known) for _, bound in claim.variables]
            places = [sorted({0, 1 % extent, extent // 2, extent - 1}) for extent in extents]
            labels = [variable for variable, _ in claim.variables]
            for point in itertools.islice(itertools.product(*places), 0, 4000, 7):
                values = known | dict(zip(labels, point, strict=True))
                for part in claim.conjuncts:
                    sides = evaluate(part.left, values), evaluate(part.right, values)
                    assert HOLDS[part.relation](*sides), (claim.name, part, values)


@pytest.mark.parametrize(
    ("ownership", "axis"),
    [
        (tile_operand(MMA, "C", m=2, n=3), 1),
        (tile_operand(MMA, "C", m=2, n=3), 0),
        (row_tile(vector=3, repeats=2, row_repeats=2, warps=2), 1),
        (replicated(lane_local(rows=2, columns=3), "value", 2), 1),
    ],
)
def test_the_terms_are_the_groups_that_a_kernel_loops_over(ownership, axis) -> None:
    plan = ExchangePlan("x", 64, 0) if ownership.input("warp").size == 2 else None
    found, schedule = reduction(ownership, axis, plan), Schedule(ownership, axis)
    weights = {}
    weight = 1
    for each in ownership.values:
        weights[each.name], weight = weight, weight * each.size
    for r, group in enumerate(found.groups):
        for g, value in enumerate(group):
            digits = dict.fromkeys((each.name for each in schedule.all_digits), 0)
            digits |= schedule.split("r", r) | schedule.split("g", g)
            owner = schedule.owner(**digits)
            assert sum(owner[label] * weights[label] for label in weights) == value


# Masks that are not those of the accumulator's rows, and the claim and place where they fail.
MASKS = {
    "one dropped": ((1,), "rounds", "which is all ranks of a row"),
    "one twice": ((1, 1), "partners", "round 1, mask 1: rank"),
    "exchanged": ((2, 1), "partners", "round 0, mask 2: rank"),
    "another row's": ((1, 4), "partners", "round 1, mask 4: row_lane"),
    "one too many": ((1, 2, 4), "partners", "round 2, mask 4: row_lane"),
    "out of the warp": ((1, 32), "partners", "round 1, mask 32: among the lanes"),
    "two bits at once": ((1, 3), "partners", "round 1, mask 3: rank"),
}


@pytest.mark.parametrize("variant", MASKS)
def test_false_masks_are_refuted_at_the_least_lane(variant: str, monkeypatch) -> None:
    masks, label, conjunct = MASKS[variant]
    assert lane_masks(TALL, 1) == (1, 2)
    monkeypatch.setattr(stated, "lane_masks", lambda *_: masks)
    outcome = prove(by_name(TALL, 1)[label])
    assert isinstance(outcome, Counterexample)
    assert outcome.conjunct.label == conjunct
    assert set(outcome.values.values()) == {0}


# Results that are replicated otherwise than over the reduced lanes, and where that shows.
RESULTS = {
    "ranks tell rows apart": (
        [(4, "m", 1), (2, "m", 4), (4, None, 0)],
        "row of the elements",
    ),
    "rows are exchanged": ([(4, None, 0), (2, "m", 4), (4, "m", 1)], "row of the elements"),
    "copies too many": ([(4, None, 0), (4, "m", 1), (2, None, 0)], "row of the elements"),
}


@pytest.mark.parametrize("variant", RESULTS)
def test_a_result_replicated_otherwise_is_refuted(variant: str, monkeypatch) -> None:
    lanes, conjunct = RESULTS[variant]
    wrong = Ownership.of(
        axes={"m": 16}, values={"value": [(2, "m", 8)]}, threads={"lane": lanes}, bits=32
    )
    monkeypatch.setattr(stated, "reduced", lambda *_: wrong)
    found = by_name(MMA.operand("C").ownership, 1)["replicated"]
    first = next(part for part in found.conjuncts if part.label == conjunct)
    outcome = prove(dataclasses.replace(found, conjuncts=[first]))
    assert isinstance(outcome, Counterexample)
    assert outcome.left != outcome.right
    assert isinstance(prove(found), Counterexample)


def test_an_element_taken_twice_is_refuted() -> None:
    """A row's second slice read where the first one lies."""
    claim = by_name(TALL, 1)["taken_once"]
    parts = [
        dataclasses.replace(part, left=part.left - 8 * name("g1"))
        if part.label == "target at_n below its bound"
        else dataclasses.replace(part, left=evaluate(part.left, {**KNOWN, "g1": 0}))
        if part.label == "source g1 returns"
        else part
        for part in claim.conjuncts
    ]
    outcome = prove(dataclasses.replace(claim, conjuncts=parts))
    assert isinstance(outcome, Counterexample)
    assert outcome.conjunct.label == "source g1 returns"
    assert outcome.parameters["N"] == 2
    assert outcome.values["g1"] == 1


def test_slots_that_collide_are_refuted(monkeypatch) -> None:
    tile = row_tile(repeats=N, row_repeats=M, warps=4, row_warps=2)
    monkeypatch.setattr(stated, "slot", lambda held, where: where[0])
    outcome = prove(by_name(tile, 1)["slots"])
    assert isinstance(outcome, Counterexample)
    assert outcome.conjunct.label in ("source part returns", "target slot returns")


SHARED = {
    "scores and output": (TALL, tile_operand(MMA, "C", m=M, n=D), None),
    "warpgroups": (accumulator(S), accumulator(D), None),
    "accumulator and operand": (TALL, tile_operand(MMA, "A", m=M, k=D), None),
    "twice the rows": (TALL, tile_operand(MMA, "C", m=2 * M, n=D), "results of a thread"),
    "other warps": (
        tile_operand(MMA, "C", m=M, n=N, warps_m=2),
        tile_operand(MMA, "C", m=M, n=D, warps_m=2, arrangement="blocked"),
        "same row",
    ),
    "two warps and one": (TALL, tile_operand(MMA, "C", m=M, n=D, warps_m=2), "threads"),
}


@pytest.mark.parametrize("label", SHARED)
def test_a_state_is_shared_for_every_size_or_refuted(label: str) -> None:
    left, right, fault = SHARED[label]
    outcome = prove(shared_state(left, right, 1))
    if fault is None:
        assert isinstance(outcome, Proof)
        return
    assert isinstance(outcome, Counterexample)
    assert outcome.conjunct.label == fault
    assert outcome.left != outcome.right


def test_lanes_of_other_rows_share_no_state() -> None:
    other = Ownership.of(
        axes={"m": 16 * M, "n": 8},
        values={"value": [(2, "n", 1), (2, "m", 1)], "repeat_m": [(M, "m", 16)]},
        threads={"lane": [(4, "n", 2), (8, "m", 2)]},
        bits=32,
    )
    outcome = prove(shared_state(TALL, other, 1))
    assert isinstance(outcome, Counterexample)
    assert outcome.conjunct.label == "same row"
    assert (outcome.left, outcome.right) == (1, 2)
    assert outcome.values["row_lane"] == 1


def test_threads_that_are_neither_lanes_nor_warps() -> None:
    flat = Ownership.of(
        axes={"m": 128, "n": 2},
        values={"value": [(2, "n", 1)]},
        threads={"thread": [(128, "m", 1)]},
        bits=32,
    )
    with pytest.raises(OwnershipError, match="no threads called 'thread'"):
        claims(flat, 1)


@pytest.mark.parametrize(
    ("asked", "parameters", "error", "reason"),
    [
        ("reduction", {}, GenerationError, "no tile None; there are mma_c, mma_a, wgmma_c"),
        ("reduction", {"tile": "x"}, GenerationError, "no tile 'x'"),
        ("reduction", {"tile": "mma_c", "lanes": 4}, GenerationError, "no parameter 'lanes'"),
        ("reduction", {"tile": "mma_c", "axis": "n"}, GenerationError, "axis is 'n'; such as 1"),
        ("reduction", {"tile": "mma_c", "axis": True}, GenerationError, "axis is True"),
        ("reduction", {"tile": "mma_c", "axis": 2}, OwnershipError, "no axis 2 to reduce"),
        ("reduction", {"tile": "row_tile", "lanes": 3}, OwnershipError, "a row over 3 lanes"),
        ("shared_state", {"tile": "row_tile"}, GenerationError, "there are mma_c, wgmma_c"),
        ("shared_state", {"tile": "mma_c", "axis": 1}, GenerationError, "no parameter 'axis'"),
    ],
)
def test_parameters_that_are_refused(asked, parameters, error, reason: str) -> None:
    with pytest.raises(error) as refused:
        specification(asked, parameters)
    assert reason in str(refused.value)
