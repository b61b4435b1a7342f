"""The proofs about the softmax state, and faults that each of them must refuse."""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from softmax_faults import no_guard, wrong_way
from tylo.layouts.atoms import atom
from tylo.layouts.exchange import ExchangePlan
from tylo.layouts.ownership import Ownership
from tylo.layouts.reduction import reduction
from tylo.layouts.row_tiles import lane_local, row_tile
from tylo.layouts.tiling import tile_operand
from tylo.proofs import coq
from tylo.proofs.certificate import certificate_from_bytes
from tylo.proofs.coq_runner import REAL_AXIOMS, compile_coq
from tylo.proofs.lane_programs import softmax
from tylo.proofs.lane_programs.exponent import Exponent
from tylo.proofs.lane_programs.exponents import GENERIC, exponents
from tylo.proofs.lane_programs.expression import read
from tylo.proofs.lane_programs.rows import Rows, rows_of
from tylo.proofs.lane_programs.softmax_schedule import difference
from tylo.proofs.prover import Counterexample, prove
from tylo.proofs.solvers import overall, solve
from tylo.proofs.specifications import SHIPPED, specification
from tylo.proofs.specifications.softmax_state import ROWS, claims

ROOT = Path(coq.__file__).parent
SCALED = Exponent(0.125)
PAIR = Rows(groups=((0, 1),), masks=(), row_of=(0, 0))


# Exponents: the claims of the certificate.


def test_the_claims_hold_for_every_checker() -> None:
    for claim in claims():
        assert claim.kind == "algebra"
        assert not isinstance(prove(claim), Counterexample)
        assert overall(solve(claim)) == "holds"


def test_the_committed_certificate_is_that_of_today() -> None:
    stated = specification(*SHIPPED["softmax_state"])
    path = ROOT / "artifacts" / "softmax_state.json"
    certificate = certificate_from_bytes(path.read_bytes())
    assert (certificate.claims, certificate.theorem) == (stated.claims, stated.theorem)
    assert {verdict.reason for verdict in certificate.check()} == {"proven"}
    for tool in ("Coq", "z3 and cvc5", "certificate"):
        assert tool in stated.theorem


def false_claims(**programs: Any) -> set[str]:
    return {claim.name for claim in claims(**programs) if isinstance(prove(claim), Counterexample)}


def test_a_wrong_exponent_is_a_false_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(softmax, "weight", wrong_way)
    assert false_claims() == {"update", "merge", "merge_lanes", "never_positive"}


def test_a_wrong_rescale_is_a_false_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    """The factor of the old sum the other way round."""
    right = softmax.weight

    def wrong(score: Any, under: Any, exponent: Exponent) -> Any:
        if score.operator == "register" and score.detail[0] == "maximum":
            return wrong_way(score, under, exponent)
        return right(score, under, exponent)

    monkeypatch.setattr(softmax, "weight", wrong)
    assert {"update", "merge"} <= false_claims()


def test_a_forgotten_summand_is_a_false_claim() -> None:
    short = softmax.update(Rows(groups=((0, 1),), masks=(), row_of=(0, 0)), GENERIC)
    found = {claim.name: prove(claim) for claim in claims(update=short) if claim.name == "update"}
    assert isinstance(found["update"], Counterexample)
    assert "summands: 3 = 4" in str(found["update"])


# Schedules: each element of each row, exactly once.

MMA = atom("mma.m16n8k16.bf16")
TILES: dict[str, tuple[Ownership, int]] = {
    "mma columns": (MMA.operand("C").ownership, 1),
    "mma rows": (MMA.operand("C").ownership, 0),
    "mma tiled": (tile_operand(MMA, "C", m=2, n=2, warps_m=2), 1),
    "wgmma": (atom("wgmma.m64n16k16.bf16").operand("C").ownership, 1),
    "wgmma A": (atom("wgmma.m64n16k16.bf16").operand("A").ownership, 1),
    "lane-local": (lane_local(columns=4), 1),
    "row tile": (row_tile(vector=2), 1),
    "eight lanes": (row_tile(vector=4, lanes=8, repeats=2), 1),
    "one column": (row_tile(vector=1, lanes=1), 1),
}


@pytest.mark.parametrize("label", TILES)
def test_every_element_enters_once(label: str) -> None:
    assert difference(reduction(*TILES[label])) == ""


def test_parts_of_other_warps_enter_once() -> None:
    plan = ExchangePlan(buffer="partials", extent=64, barrier=1)
    for ownership, axis in (
        (row_tile(vector=2, lanes=8, warps=3), 1),
        (tile_operand(MMA, "C", warps_m=2, warps_n=2), 1),
    ):
        found = reduction(ownership, axis, plan)
        assert difference(found) == ""
        rows = rows_of(found)
        short = Rows(rows.groups, rows.masks, rows.row_of, rows.parts - 1)
        assert "lane 0: maximum 0" in difference(found, rows=short)


def test_schedules_that_miss_or_repeat_are_found() -> None:
    found = reduction(*TILES["mma columns"])
    rows = rows_of(found)
    for wrong, part in (
        (Rows(rows.groups, rows.masks[:1], rows.row_of), "lane 0: maximum 0"),
        (Rows(rows.groups, (1, 4), rows.row_of), "lane 0: maximum 0"),
        (Rows(rows.groups, (*rows.masks, 1), rows.row_of), "lane 0: sum 0"),
        (Rows(((0,), (2, 3)), rows.masks, rows.row_of), "lane 0: maximum 0"),
        (Rows(((0, 0, 1), (2, 3)), rows.masks, rows.row_of), "lane 0: sum 0"),
        (Rows(((0, 2), (1, 3)), rows.masks, (0, 1, 0, 1)), "lane 0: maximum 0"),
    ):
        assert part in difference(found, rows=wrong)


def test_another_formula_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    found = reduction(*TILES["lane-local"])
    monkeypatch.setattr(softmax, "reference", no_guard)
    assert difference(found) != ""


# The same graph over the real numbers, by sympy.


def test_the_graph_over_the_reals() -> None:
    import sympy

    m, total, r = sympy.symbols("m total r", real=True)
    x = sympy.symbols("x:3", real=True)
    c = sympy.Symbol("c", positive=True)
    stated = softmax.update(ROWS, SCALED)
    maxima: list[Any] = []

    def maximum(a: Any, b: Any) -> Any:
        maxima.append((a, b))
        return r

    functions: dict[str, Callable[..., Any]] = {
        "add": lambda a, b: a + b,
        "subtract": lambda a, b: a - b,
        "multiply": lambda a, b: a * b,
        "fma": lambda a, b, d: a * b + d,
        "maximum": maximum,
        "ex2": lambda a: 2**a,
        "less": lambda a, b: True,
        "equal": lambda a, b: False,
        "select": lambda condition, yes, no: yes if condition else no,
    }

    def leaf(node: Any) -> Any:
        if node.operator == "constant":
            return c if node.detail[0] == SCALED.factor else node.detail[0]
        array, index = node.detail
        return {"scores": x, "maximum": (m,), "sum": (total,)}[array][index]

    (new,) = read(stated.outputs["sum"], functions, leaf)
    # For any reference at all, the new sum under it is the old one and the scores' powers.
    whole = total * 2 ** (c * m) + sum(2 ** (c * each) for each in x)
    assert sympy.simplify(sympy.expand(new * 2 ** (c * r) - whole)) == 0
    logarithm = read(
        softmax.log_sum_exp(1, SCALED).outputs["log_sum_exp"],
        {**functions, "lg2": lambda a: sympy.log(a, 2)},
        lambda node: leaf(node) if node.operator == "register" else sympy.Float(node.detail[0]),
    )[0]
    values = {m: sympy.Float("1.5"), total: sympy.Float("3.25")}
    exact = 1.5 * 0.125 + math.log(3.25)
    assert float(logarithm.subs(values)) == pytest.approx(exact, rel=1e-7)


def test_exponents_refuse_what_is_no_sum_of_powers() -> None:
    from tylo.layouts.errors import GenerationError

    for build in (
        lambda: exponents(softmax.normalize(PAIR), "output", {"output": int, "sum": int}),
        lambda: exponents(softmax.log_sum_exp(1, GENERIC), "log_sum_exp"),
    ):
        with pytest.raises((GenerationError, KeyError)):
            build()


# Coq.

with_coq = pytest.mark.skipif(
    shutil.which("coqc") is None, reason="coqc is not installed (Debian: apt-get install coq)"
)
THEORY = (ROOT / "theories" / "Softmax.v").read_text(encoding="ascii")
THEOREMS = re.findall(r"^Theorem (\w+)", THEORY, re.MULTILINE)


# What each theorem says, and the definitions that give it its meaning: a proof of less would pass.
PROMISED = {
    "update_from_empty": "forall c tile, update c Empty tile = summary c tile",
    "empty_update": "forall c s tile, greatest tile = None -> update c s tile = s",
    "fold_is_whole": "forall c tiles, fold_left (update c) tiles Empty = summary c (concat tiles)",
    "order_is_free": "forall c a b, Permutation a b -> summary c a = summary c b",
    "merge_empty_left": "forall c s, merge c Empty s = s",
    "merge_empty_right": "forall c s, merge c s Empty = s",
    "merge_commutes": "forall c a b, merge c a b = merge c b a",
    "merge_associates": "forall c x y z, merge c (merge c x y) z = merge c x (merge c y z)",
    "merge_of_summaries": "forall c a b, merge c (summary c a) (summary c b) = summary c (a ++ b)",
    "parts_make_the_whole": (
        "forall c m rows, fold_right (fun row rest => part c m row + rest) 0 rows = "
        "total c m (concat rows)"
    ),
    "empty_means_nothing_kept": (
        "forall c row, summary c row = Empty <-> (forall x v, ~ In (Some x, v) row)"
    ),
    "arguments_are_not_positive": (
        "forall c row m l o x v, 0 <= c -> summary c row = Summary m l o -> In (Some "
        "x, v) row -> c * (x - m) <= 0"
    ),
    "sum_is_at_least_one": "forall c row m l o, 0 <= c -> summary c row = Summary m l o -> 1 <= l",
    "reference_is_free": (
        "forall c r s row m x, greatest row = Some m -> weight c x r / total c r row = "
        "weight c x s / total c s row /\\ numerator c r row / total c r row = numerator "
        "c s row / total c s row /\\ c * r + ln (total c r row) = c * s + ln (total c s "
        "row)"
    ),
    "state_gives_the_softmax": (
        "forall c row m l o x, summary c row = Summary m l o -> weight c x m / l = "
        "weight c x 0 / total c 0 row /\\ o / l = numerator c 0 row / total c 0 row /\\ "
        "c * m + ln l = ln (total c 0 row)"
    ),
}
MEANT = (
    "Definition weight (c x r : R) : R := exp (c * (x - r)).",
    "| (Some x, _) :: rest => weight c x r + total c r rest",
    "| (Some x, v) :: rest => weight c x r * v + numerator c r rest",
    "| Some x, Some y => Some (Rmax x y)",
    "| (x, _) :: rest => join x (greatest rest)",
    "| Some m => Summary m (total c m row) (numerator c m row)",
)


def test_the_theory_states_what_is_promised() -> None:
    stated = {
        name: " ".join(text.split())
        for name, text in re.findall(r"^Theorem (\w+) :\s*(.*?)\.\nProof", THEORY, re.M | re.S)
    }
    assert set(stated) == set(THEOREMS)
    assert {name: stated[name] for name in PROMISED} == PROMISED
    for definition in MEANT:
        assert THEORY.count(definition) == 1
    assert not re.search(r"\b(Axiom|Parameter|Hypothesis|Variable|Admitted|admit)\b", THEORY)


@with_coq
@pytest.mark.slow
def test_coq_assumes_the_real_numbers_alone() -> None:
    together = "Definition everything := (" + ", ".join(f"@{name}" for name in THEOREMS) + ")."
    text = f"{THEORY}\n{together}\nPrint Assumptions everything.\n"
    verdict = compile_coq(text, theorems=1, axioms=REAL_AXIOMS)
    assert verdict.verdict == "holds", verdict.message
    assert compile_coq(text, theorems=1).verdict == "unknown"


@with_coq
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("weight c m m' * l + total c m' tile", "weight c m' m * l + total c m' tile"),
        ("| Empty, Some t => Summary t", "| Empty, Some t => Summary 0"),
        ("weight c m r * l + weight c m' r * l'", "weight c m r * l + l'"),
    ],
    ids=["rescale", "sentinel", "merge"],
)
def test_coq_refuses_a_wrong_algebra(right: str, wrong: str) -> None:
    assert right in THEORY
    assert compile_coq(THEORY.replace(right, wrong)).verdict == "unknown"
