"""The algebra against tables that were found without it.

`algebra_cases.json` holds what a definition gives over the whole domain, and the verdict that no
layout has such a table where none does. Layouts are compared as functions, never by spelling.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tylo.layouts as tl
from tylo.layouts import Layout, LayoutError

DATA = Path(__file__).parents[1] / "data" / "algebra_cases.json"
CASES: list[dict[str, Any]] = json.loads(DATA.read_text())["cases"]


def tupled(value: Any) -> Any:
    return tuple(map(tupled, value)) if isinstance(value, list) else value


def layout(spec: dict[str, Any]) -> Layout:
    return Layout(spec["shape"], spec["stride"])


def tiler(case: dict[str, Any]) -> Any:
    inputs = case["inputs"]
    if "tiler" in inputs:
        return tuple(layout(mode) for mode in inputs["tiler"])
    return layout(inputs["b"])


EVALUATE: dict[str, Callable[[Layout, dict[str, Any]], Any]] = {
    "coalesce": lambda a, case: tl.coalesce(a),
    "coalesce_by_mode": lambda a, case: tl.coalesce(a, tupled(case["inputs"]["profile"])),
    "composition": lambda a, case: tl.composition(a, tiler(case)),
    "composition_by_mode": lambda a, case: tl.composition(a, tiler(case)),
    "complement": lambda a, case: tl.complement(a, case["inputs"]["cosize"]),
    "logical_divide": lambda a, case: tl.logical_divide(a, tiler(case)),
    "logical_divide_by_mode": lambda a, case: tl.logical_divide(a, tiler(case)),
}

REFUSED = {"reject", "no_exact_complement", "no_true_left_inverse"}
COVERED = [case for case in CASES if case["op"] in EVALUATE]


@pytest.mark.parametrize("case", COVERED, ids=[case["id"] for case in COVERED])
def test_case(case: dict[str, Any]) -> None:
    expected = case["expected"]
    a = layout(case["inputs"]["a"])
    if expected["verdict"] in REFUSED:
        with pytest.raises(LayoutError) as refused:
            EVALUATE[case["op"]](a, case)
        assert refused.value.witness is not None
        return
    result = EVALUATE[case["op"]](a, case)
    assert [result(i) for i in range(result.size())] == expected["table"]
    assert result.cosize() == expected["cosize"]
    if case["op"] == "composition":
        assert tl.compatible(layout(case["inputs"]["b"]), result)


def test_the_oracle_is_large_enough_to_mean_something() -> None:
    assert len(COVERED) > 250
    assert sum(case["expected"]["verdict"] in REFUSED for case in COVERED) > 25
