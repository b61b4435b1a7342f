"""Each safeguard of the checker is needed: without it, a false claim would pass.

Every case removes one condition from the checker's source and shows a false claim that the damaged
checker accepts and the real one rejects.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tylo.proofs import checker

SOURCE = Path(checker.__file__).read_text()
BITS = {"a": [["a.0", 2]], "b": [["b.0", 2]]}

# What to remove, what to leave in its place; then parameters, bounds, digits and the false claim.
CASES: dict[str, tuple[str, str, dict[str, int], Any, Any, Any]] = {
    "remainder below its divisor": (
        " or not self.never_negative(above)",
        "",
        {},
        [["x", 32]],
        {"x": [["x.0", 32]]},
        ["=", ["div", ["+", "x", "x"], 4], 0],
    ),
    "remainder from 0": (
        "not self.never_negative(remainder) or ",
        "",
        {"M": 1},
        [["m", "M"]],
        {"m": [["m.0", "M"]]},
        ["=", ["div", ["-", 0, "m"], "M"], 0],
    ),
    "radices multiply to the bound": (
        "weight != limit or ",
        "",
        {},
        [["x", 32]],
        {"x": [["x.0", 4], ["x.1", 4]]},
        ["<", "x", 16],
    ),
    "unbounded only without a bound": (
        "weight != limit or (limit == ZERO) != (bound is None)",
        "weight != limit and bound is not None",
        {},
        [["x", None]],
        {"x": [["x.0", 4]]},
        ["<", "x", 4],
    ),
    "minimum of a parameter": (
        "((), least)",
        "((), 2)",
        {"M": 1},
        [],
        {},
        ["<=", 2, "M"],
    ),
    "linear in the digit": (
        "rises and not linear",
        "False",
        {},
        [["x", 5]],
        {"x": [["x.0", 5]]},
        ["<=", ["*", 4, "x"], ["+", ["*", "x", "x"], 3]],
    ),
    "no end without a top": (
        "if falls and (top is None or (rises and not linear)):",
        "if falls and rises and not linear:",
        {},
        [["x", None]],
        {"x": [["x.0", None]]},
        ["<=", "x", 5],
    ),
    "both ends": (
        "([ZERO] if rises else []) + ",
        "",
        {"M": 1},
        [["x", 8], ["m", "M"]],
        {"x": [["x.0", 8]], "m": [["m.0", "M"]]},
        ["<=", ["+", ["*", 2, "m"], 1], ["+", "x", "m"]],
    ),
    "distinct bits": (
        "len(set(taken)) == len(taken) and ",
        "",
        {},
        [["a", 2], ["b", 2]],
        BITS,
        ["=", ["xor", ["+", "a", "b"], 0], ["xor", "a", "b"]],
    ),
    "one operand beyond its bits": (
        " and not all(beyond)",
        "",
        {},
        [["x", 4], ["y", 4]],
        {"x": [["x.0", 4]], "y": [["y.0", 4]]},
        ["=", ["xor", "x", "y"], ["+", "x", "y"]],
    ),
    "beyond is above all bits": (
        " or factor % unit",
        "",
        {},
        [["x", 4]],
        {"x": [["x.0", 4]]},
        ["=", ["xor", "x", 1], ["+", "x", 1]],
    ),
    "bits are those of radix 2": (
        "if top == ONE:",
        "if top:",
        {},
        [["x", 4]],
        {"x": [["x.0", 4]]},
        ["=", ["*", "x", "x"], "x"],
    ),
    "strictly less": (
        'ONE if relation == "<" else ZERO',
        "ZERO",
        {},
        [["x", 4]],
        {"x": [["x.0", 4]]},
        ["<", "x", 3],
    ),
    "identifiers": (
        "if not natural or not all(",
        "if not natural or all(not name and ",
        {"x.0": 1},
        [["x", 4]],
        {"x": [["x.0", 4]]},
        ["=", "x", "x.0"],
    ),
}


def accepts(module: Any, claim: dict[str, Any], digits: dict[str, Any]) -> bool:
    try:
        module.check_claim(claim, digits)
    except (module.Rejected, module.BadInput):
        return False
    return True


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_each_condition_is_needed(
    case: tuple[str, str, dict[str, int], Any, Any, Any], judge: Callable[..., bool]
) -> None:
    old, new, parameters, variables, digits, conjunct = case
    claim = {
        "name": "exploit",
        "kind": "algebra",
        "statement": "False.",
        "parameters": parameters,
        "variables": variables,
        "conjuncts": [["exploit", *conjunct]],
    }
    assert SOURCE.count(old) == 1
    if "x.0" not in parameters:
        assert not judge(claim)
    damaged = types.ModuleType("damaged")
    exec(compile(SOURCE.replace(old, new), "damaged", "exec"), damaged.__dict__)
    assert accepts(damaged, claim, digits)
    assert not accepts(checker, claim, digits)
