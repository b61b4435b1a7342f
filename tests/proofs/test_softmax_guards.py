"""The softmax programs in every case of IEEE arithmetic, and faults that two solvers refuse."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from softmax_faults import (
    finite_sentinel,
    half_a_guard,
    no_guard,
    on_the_result,
    plain_product,
    wrong_way,
)
from tylo.proofs import coq
from tylo.proofs.lane_programs import softmax
from tylo.proofs.lane_programs.cases import Cases
from tylo.proofs.lane_programs.exponent import Exponent
from tylo.proofs.lane_programs.expression import constant, operation, register
from tylo.proofs.lane_programs.rows import Rows
from tylo.proofs.lane_programs.softmax_guards import (
    Guarded,
    Obligation,
    judge,
    log_sum_exp_obligations,
    merge_obligations,
    normalize_obligations,
    state_obligations,
    update_obligations,
)

ROOT = Path(coq.__file__).parent
PAIR = Rows(groups=((0, 1),), masks=(), row_of=(0, 0))
SCALED = Exponent(0.125)


def verdicts(judged: list[Guarded]) -> set[str]:
    return {each.verdict for each in judged}


def refused(judged: list[Guarded]) -> set[str]:
    return {each.label for each in judged if each.verdict == "fails"}


@pytest.mark.parametrize("exponent", [SCALED, Exponent(0)], ids=["scaled", "zero"])
def test_every_case_of_one_lane(exponent: Exponent) -> None:
    found = [each for stated in state_obligations(PAIR, exponent).values() for each in stated]
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
    found = [each for each in merge_obligations(SCALED) if "subtract" in each.label]
    assert "subtract 0 lane 0 is defined" in refused(judge(found))


def test_a_maximum_that_drops_nan_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    real = softmax.combine_rows

    def dropping(operator: str, values: Any, rows: Rows) -> Any:
        if operator == "maximum":
            values = [
                softmax.select(operation("equal", each, each), each, constant(-math.inf))
                for each in values
            ]
        return real(operator, values, rows)

    monkeypatch.setattr(softmax, "combine_rows", dropping)
    found = [each for each in update_obligations(PAIR, SCALED) if "valid" in each.label]
    assert refused(judge(found)) == {"row 0 lane 0: the state stays valid"}


@pytest.mark.parametrize("name", ["reference", "weight"])
def test_faults_of_a_merge_are_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(softmax, name, {"reference": no_guard, "weight": wrong_way}[name])
    first = {"reference": "subtract 0", "weight": "the factor"}[name]
    found = [each for each in merge_obligations(SCALED) if first in each.label]
    assert len(refused(judge(found))) == 1


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
