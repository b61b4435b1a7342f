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
    "filter": lambda a, case: tl.filter(a),
    "nullspace": lambda a, case: tl.nullspace(a),
    "upcast": lambda a, case: tl.upcast(a, case["inputs"]["n"]),
    "downcast": lambda a, case: tl.downcast(a, case["inputs"]["n"]),
    "max_common_layout": lambda a, case: tl.max_common_layout(a, layout(case["inputs"]["b"])),
    "zipped_divide": lambda a, case: tl.zipped_divide(a, tiler(case)),
    "tiled_divide": lambda a, case: tl.tiled_divide(a, tiler(case)),
    "flat_divide": lambda a, case: tl.flat_divide(a, tiler(case)),
    "logical_product": lambda a, case: tl.logical_product(a, tiler(case)),
    "zipped_product": lambda a, case: tl.zipped_product(a, tiler(case)),
    "tiled_product": lambda a, case: tl.tiled_product(a, tiler(case)),
    "flat_product": lambda a, case: tl.flat_product(a, tiler(case)),
    "blocked_product": lambda a, case: tl.blocked_product(a, tiler(case)),
    "raked_product": lambda a, case: tl.raked_product(a, tiler(case)),
    "right_inverse": lambda a, case: tl.right_inverse(a),
    "logical_divide": lambda a, case: tl.logical_divide(a, tiler(case)),
    "logical_divide_by_mode": lambda a, case: tl.logical_divide(a, tiler(case)),
}

REFUSED = {"reject", "no_exact_complement", "no_true_left_inverse", "peers_disagree"}
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


LEFT = [case for case in CASES if case["op"] == "left_inverse"]


@pytest.mark.parametrize("case", LEFT, ids=[case["id"] for case in LEFT])
def test_left_inverse(case: dict[str, Any]) -> None:
    """Compared by property: offsets that A does not reach may map anywhere."""
    a = layout(case["inputs"]["a"])
    if case["expected"]["verdict"] == "no_true_left_inverse":
        with pytest.raises(LayoutError, match="not injective") as refused:
            tl.left_inverse(a)
        first, second = refused.value.witness
        assert first != second
        assert a(first) == a(second)
        return
    inverse = tl.left_inverse(a)
    assert [inverse.extended(a(i)) for i in range(a.size())] == list(range(a.size()))


RIGHT = [case for case in CASES if case["op"] == "right_inverse"]


@pytest.mark.parametrize("case", RIGHT, ids=[case["id"] for case in RIGHT])
def test_right_inverse_property(case: dict[str, Any]) -> None:
    a = layout(case["inputs"]["a"])
    inverse = tl.right_inverse(a)
    assert [a(inverse(i)) for i in range(inverse.size())] == list(range(inverse.size()))


VECTORS = [case for case in CASES if case["op"] == "max_common_vector"]


@pytest.mark.parametrize("case", VECTORS, ids=[case["id"] for case in VECTORS])
def test_max_common_vector(case: dict[str, Any]) -> None:
    a, b = layout(case["inputs"]["a"]), layout(case["inputs"]["b"])
    assert tl.max_common_vector(a, b) == case["expected"]["value"]


SWIZZLES = [case for case in CASES if case["op"].startswith("swizzle_compose")]


@pytest.mark.parametrize("case", SWIZZLES, ids=[case["id"] for case in SWIZZLES])
def test_swizzles(case: dict[str, Any]) -> None:
    inputs = case["inputs"]
    composed = tl.Swizzle(*inputs["swizzle"])
    for operand in ("a", "b"):
        if operand in inputs:
            composed = tl.composition(composed, layout(inputs[operand]))
    assert [composed(i) for i in range(composed.size())] == case["expected"]["table"]


def test_every_case_is_judged() -> None:
    judged = [*COVERED, *LEFT, *VECTORS, *SWIZZLES]
    assert {case["id"] for case in judged} == {case["id"] for case in CASES}


def test_the_oracle_is_large_enough_to_mean_something() -> None:
    assert len(COVERED) > 250
    assert sum(case["expected"]["verdict"] in REFUSED for case in COVERED) > 25
