"""The claims about shared tiles: proven, agreed by the solvers, tied to the layouts, breakable."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import pytest

from tylo.layouts.errors import GenerationError, LayoutError
from tylo.layouts.shared import MODES, SharedTile, SwizzleMode, tile_descriptor
from tylo.layouts.shared.matrix_descriptor import MAJORS
from tylo.layouts.terms import evaluate, name
from tylo.proofs.certificate import Proof
from tylo.proofs.claims import Claim, Conjunct
from tylo.proofs.prover import Counterexample, prove
from tylo.proofs.solvers import overall, solve
from tylo.proofs.specifications import SHIPPED, shared_tile, specification

INSTANCES = [(mode, major) for mode in MODES for major in MAJORS]
with_solvers = pytest.mark.skipif(
    find_spec("z3") is None or find_spec("cvc5") is None, reason="z3 or cvc5 is not installed"
)


def named(mode: SwizzleMode, major: str, label: str) -> Claim:
    return next(claim for claim in shared_tile.claims(mode, major) if claim.name == label)


@pytest.mark.parametrize(("mode", "major"), INSTANCES)
def test_every_claim_is_proven_for_all_sizes(mode: SwizzleMode, major: str) -> None:
    for claim in shared_tile.claims(mode, major):
        assert isinstance(prove(claim), Proof), claim.name
    reads = named(mode, major, "descriptor_reads_tile")
    assert reads.parameters == {"B": 0, "G": 1, "P": 1}
    assert f"multiple of {mode.repeat} bytes" in shared_tile.theorem(mode, major)


@pytest.mark.slow
@with_solvers
@pytest.mark.parametrize("mode", MODES)
def test_both_solvers_agree(mode: SwizzleMode) -> None:
    """What does not depend on the major is one claim, and is asked once."""
    stated = {claim.id: claim for major in MAJORS for claim in shared_tile.claims(mode, major)}
    assert len(stated) < len(MAJORS) * len(shared_tile.claims(mode, MAJORS[0]))
    for claim in stated.values():
        assert overall(solve(claim, seconds=120)) == "holds", claim.name


@pytest.mark.parametrize("mode", MODES)
def test_the_whole_address_in_one_piece(mode: SwizzleMode) -> None:
    """What the three steps of `absolute_address_bits` say together, on every absolute address."""
    row, chunk, byte, atom = (name(each) for each in ("row", "chunk", "byte", "atom"))
    plain = mode.repeat * atom + mode.width * row + 16 * chunk + byte
    stored = mode.repeat * atom + shared_tile.written(mode, row, chunk) + byte
    claim = Claim(
        name="whole_address",
        kind="equal",
        statement="TMA writes where the exclusive-or on the absolute address says.",
        parameters={},
        variables=[("row", 8), ("chunk", mode.width // 16), ("byte", 16), ("atom", None)],
        conjuncts=[Conjunct("address", "=", mode.swizzled(plain), stored)],
    )
    assert isinstance(prove(claim), Proof)


@pytest.mark.parametrize(("mode", "major"), INSTANCES)
def test_the_claim_speaks_of_the_layouts(mode: SwizzleMode, major: str) -> None:
    """Both sides of the claim, at a point, are the addresses that tile and descriptor give."""
    groups, panels, base = 4, 4, 3
    tile = SharedTile(8 * groups, panels * mode.width // 2, 2, mode.span)
    claim = named(mode, major, "descriptor_reads_tile")
    point = {"B": base, "G": groups, "P": panels, "further": 0, "panel": 2, "group": 1}
    per_row = mode.width // 2
    for chunk in range(mode.width // 16):
        point |= {"chunk": chunk, "step": 0, "byte": 0}
        first = 2 * per_row + 8 * chunk
        if major == "K" and mode.span and chunk > mode.width // 16 - 2:
            continue
        place = {"mn": 8, "k": first} if major == "K" else {"mn": first, "k": 8}
        read = tile_descriptor(tile, major, extent=8, base=base * mode.repeat, **place)
        for row in range(8):
            point["row"] = row
            offset = read.offset(row, 0) if major == "K" else read.offset(0, row)
            for part in claim.conjuncts:
                if part.label == "address from a row's start" and chunk:
                    continue
                left, right = (evaluate(side, point) for side in (part.left, part.right))
                assert left == right == read.start + offset
                stored = base * mode.repeat + tile(8 + row, first)
                assert mode.swizzled(left) == stored


def _other_stride(mode: Any, major: str, row: Any, along: Any, leading: Any, stride: Any) -> Any:
    from tylo.layouts.shared.matrix_descriptor import read_offset

    return read_offset(mode, major, row, along, leading, 2 * stride)


def _other_major(mode: Any, major: str, row: Any, along: Any, leading: Any, stride: Any) -> Any:
    from tylo.layouts.shared.matrix_descriptor import read_offset

    return read_offset(mode, {"K": "MN", "MN": "K"}[major], row, along, stride, leading)


def _other_word(mode: SwizzleMode, start: Any, leading: Any, stride: Any) -> Any:
    return start + leading * (1 << 13) + stride * (1 << 32) + (mode.code << 62)


def _not_turned_back(mode: SwizzleMode, row: Any, chunk: Any) -> Any:
    return chunk ^ row // (8 >> mode.bits) % (1 << mode.bits) % 2 * (chunk % 2)


MUTANTS = [
    pytest.param("descriptor_reads_tile", "read_offset", _other_stride, id="stride"),
    pytest.param("descriptor_reads_tile", "read_offset", _other_major, id="major"),
    pytest.param(
        "descriptor_fields", "descriptor_word", _other_word, id="fields", marks=pytest.mark.slow
    ),
    pytest.param("written_once", "_moved", _not_turned_back, id="turn"),
]


@pytest.mark.parametrize(("label", "target", "mutant"), MUTANTS)
def test_a_wrong_rule_has_a_counterexample(
    monkeypatch: pytest.MonkeyPatch, label: str, target: str, mutant: Any
) -> None:
    monkeypatch.setattr(shared_tile, target, mutant)
    for major in MAJORS:
        assert isinstance(prove(named(MODES[3], major, label)), Counterexample)


@pytest.mark.parametrize("mode", MODES[1:])
def test_the_least_wrong_address_of_another_swizzle(mode: SwizzleMode) -> None:
    """One bit fewer turns fewer rows: the descriptor would read another chunk."""
    turn = named(replace(mode, bits=mode.bits - 1), "K", "absolute_address_bits").conjuncts[0]
    right = named(mode, "K", "absolute_address_bits")
    mixed = replace(right, conjuncts=[Conjunct("turn", "=", turn.left, right.conjuncts[0].right)])
    outcome = prove(mixed)
    assert isinstance(outcome, Counterexample)
    assert outcome.values["row"] == 4


def test_rows_without_a_swizzle_at_a_wide_pitch_share_banks() -> None:
    """128-byte rows that are not turned: the claim of different banks fails at row 1."""
    flat = replace(MODES[3], bits=0)
    outcome = prove(named(flat, "K", "eight_rows_of_a_chunk"))
    assert isinstance(outcome, Counterexample)
    assert outcome.values["row"] == 1


def test_the_specification_and_its_refusals() -> None:
    spec = specification("shared_tile", {"swizzle": 64, "major": "MN"})
    assert spec.parameters == {"swizzle": 64, "major": "MN"}
    assert spec.effect is None
    assert len(spec.claims) == 5
    shipped = [label for label, (each, _) in SHIPPED.items() if each == "shared_tile"]
    assert len(shipped) == 8
    with pytest.raises(LayoutError, match="no shared-memory swizzle of 16 bytes"):
        specification("shared_tile", {"swizzle": 16})
    with pytest.raises(LayoutError, match="no major 'M'"):
        specification("shared_tile", {"swizzle": 32, "major": "M"})
    with pytest.raises(GenerationError, match="swizzle is '32'"):
        specification("shared_tile", {"swizzle": "32"})
    with pytest.raises(GenerationError, match="no parameter 'rows'"):
        specification("shared_tile", {"rows": 64})
