"""The proofs about the softmax state, and faults that each of them must refuse."""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

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
from tylo.proofs.lane_programs.cases import Cases
from tylo.proofs.lane_programs.exponent import Exponent
from tylo.proofs.lane_programs.exponents import GENERIC, exponents
from tylo.proofs.lane_programs.expression import constant, operation, read, register
from tylo.proofs.lane_programs.rows import Rows, rows_of
from tylo.proofs.lane_programs.softmax_guards import (
    Guarded,
    Obligation,
    judge,
    log_sum_exp_obligations,
    merge_obligations,
    normalize_obligations,
    update_obligations,
)
from tylo.proofs.lane_programs.softmax_schedule import difference
from tylo.proofs.prover import Counterexample, prove
from tylo.proofs.solvers import overall, solve
from tylo.proofs.specifications import SHIPPED, specification
from tylo.proofs.specifications.softmax_state import ROWS, claims

ROOT = Path(coq.__file__).parent
PAIR = Rows(groups=((0, 1),), masks=(), row_of=(0, 0))
SCALED = Exponent(0.125)


def verdicts(judged: list[Guarded]) -> set[str]:
    return {each.verdict for each in judged}


def refused(judged: list[Guarded]) -> set[str]:
    return {each.label for each in judged if each.verdict == "fails"}


# Faults, each planted in the functions that all the programs are built of.


def no_guard(maximum: Any) -> Any:
    """The maximum itself as reference: -inf - -inf in an empty row."""
    return maximum


def half_a_guard(maximum: Any) -> Any:
    """Only emptiness is guarded: inf - inf under +inf."""
    empty = operation("equal", maximum, constant(-math.inf))
    return softmax.select(empty, constant(0.0), maximum)


def wrong_way(score: Any, under: Any, exponent: Exponent) -> Any:
    """Reference minus score: the exponent's sign is wrong."""
    return operation("ex2", (under - score) * constant(exponent.factor))


def on_the_result(score: Any, under: Any, exponent: Exponent) -> Any:
    """The weight of a masked score is set afterwards, when the difference has been evaluated."""
    right = operation("ex2", (score - under) * constant(exponent.factor))
    return softmax.select(operation("equal", score, constant(-math.inf)), constant(0.0), right)


def plain_product(score: Any, under: Any, exponent: Exponent) -> Any:
    """Scale zero as a product: 0 * inf under a mask."""
    return operation("ex2", (score - under) * constant(exponent.factor))


def finite_sentinel(score: Any, under: Any, exponent: Exponent) -> Any:
    """A finite number in place of -inf as what a masked score and an empty state are."""
    lowest = constant(-3.0e4 * 2)
    replaced = softmax.select(operation("equal", score, constant(-math.inf)), lowest, score)
    return operation("ex2", (replaced - under) * constant(exponent.factor))


@pytest.mark.parametrize("exponent", [SCALED, Exponent(0)], ids=["scaled", "zero"])
def test_every_case_of_one_lane(exponent: Exponent) -> None:
    found = [
        *update_obligations(PAIR, exponent),
        *merge_obligations(exponent),
        *normalize_obligations(),
        *log_sum_exp_obligations(exponent),
    ]
    assert len(found) == 43
    assert verdicts(judge(found)) == {"holds"}


@pytest.mark.slow
def test_every_case_of_two_lanes() -> None:
    shuffled = Rows(groups=((0,),), masks=(1,), row_of=(0,))
    found = update_obligations(shuffled, SCALED)
    assert len(found) == 30
    # Lane 1 has the same graph with the lanes exchanged.
    assert verdicts(judge(each for each in found if "lane 0" in each.label)) == {"holds"}


@pytest.mark.parametrize(
    ("name", "fault", "found"),
    [
        ("reference", no_guard, "subtract 0 lane 0 is defined"),
        ("reference", half_a_guard, "subtract 1 lane 0 is defined"),
        ("weight", wrong_way, "the factor lies in [0, 1]"),
        ("weight", finite_sentinel, "what is masked weighs 0"),
    ],
)
def test_faults_of_an_update_are_refused(
    name: str, fault: Any, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(softmax, name, fault)
    wanted = [each for each in update_obligations(PAIR, SCALED) if found in each.label]
    assert wanted
    assert "fails" in verdicts(judge(wanted))


def test_a_product_by_zero_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(softmax, "weight", plain_product)
    found = [each for each in update_obligations(PAIR, Exponent(0)) if "multiply" in each.label]
    assert "multiply 0 lane 0 is defined" in refused(judge(found))


def test_a_guard_on_the_result_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(softmax, "reference", no_guard)
    monkeypatch.setattr(softmax, "weight", on_the_result)
    assert "subtract 0 lane 0 is defined" in refused(judge(merge_obligations(SCALED)))


def test_a_maximum_that_drops_nan_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    real = softmax.combine

    def dropping(operator: str, values: Any, masks: Any) -> Any:
        if operator == "maximum":
            values = [
                softmax.select(operation("equal", each, each), each, constant(-math.inf))
                for each in values
            ]
        return real(operator, values, masks)

    monkeypatch.setattr(softmax, "combine", dropping)
    found = [each for each in update_obligations(PAIR, SCALED) if "valid" in each.label]
    assert refused(judge(found)) == {"row 0 lane 0: the state stays valid"}


@pytest.mark.parametrize("name", ["reference", "weight"])
def test_faults_of_a_merge_are_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(softmax, name, {"reference": no_guard, "weight": wrong_way}[name])
    assert refused(judge(merge_obligations(SCALED)))


def test_a_division_without_its_guard_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        softmax,
        "inverse",
        lambda sum: (operation("equal", sum, constant(0.0)), operation("reciprocal", sum)),
    )
    labels = refused(judge(normalize_obligations()))
    assert "reciprocal 0 lane 0 is defined" in labels


def test_a_logarithm_without_its_guard_is_refused() -> None:
    def bare(results: int, exponent: Exponent) -> Any:
        stated = softmax.log_sum_exp(results, exponent)
        total = register("sum", 0)
        return type(stated)("", stated.inputs, {"log_sum_exp": (operation("lg2", total),)})

    labels = refused(judge(log_sum_exp_obligations(SCALED, program=bare)))
    assert "lg2 0 lane 0 is defined" in labels


def test_a_missing_solver_is_undecided() -> None:
    assert Guarded("x", (("z3", "holds"),)).verdict == "undecided"
    assert Guarded("x", (("z3", "holds"), ("cvc5", "missing"))).verdict == "undecided"
    assert Guarded("x", (("z3", "holds"), ("cvc5", "fails"))).verdict == "undecided"
    assert Guarded("x", (("z3", "unknown"), ("cvc5", "unknown"))).verdict == "undecided"


def test_the_facts_about_operators_are_consistent() -> None:
    """No operator's rules contradict each other: else everything would follow."""
    x, y, z = (register("x", index) for index in range(3))
    nodes = [x + y, x - y, x * y, operation("fma", x, y, z), operation("maximum", x, y)]
    nodes += [operation(name, x) for name in ("ex2", "lg2", "reciprocal")]
    nodes += [operation("divide", x, y), operation("minimum", x, y)]
    scripts = []
    for node in nodes:
        script = Cases(1)
        script.read([node])
        scripts.append(Obligation(node.operator, script.obligation("false")))
    assert refused(judge(scripts)) == {node.operator for node in nodes}


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
    assert certificate.claims == stated.claims
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


def test_the_theory_states_what_is_promised() -> None:
    assert {
        "update_from_empty",
        "fold_is_whole",
        "order_is_free",
        "merge_empty_left",
        "merge_empty_right",
        "merge_commutes",
        "merge_associates",
        "merge_of_summaries",
        "parts_make_the_whole",
        "sum_is_at_least_one",
        "reference_is_free",
        "state_gives_the_softmax",
    } <= set(THEOREMS)


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
        ("1 <= l.", "2 <= l."),
    ],
    ids=["rescale", "sentinel", "merge", "bound"],
)
def test_coq_refuses_a_wrong_algebra(right: str, wrong: str) -> None:
    assert right in THEORY
    assert compile_coq(THEORY.replace(right, wrong)).verdict == "unknown"
