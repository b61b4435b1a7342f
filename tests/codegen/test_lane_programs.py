"""Lane programs: typed graphs, and two readings of one graph that agree to the bit."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lane_harness import kernel_text, run_on_machine
from tylo.codegen.lane_programs import cuda_reading, numpy_reading
from tylo.codegen.lane_programs.cuda_reading import device_function
from tylo.codegen.lane_programs.numpy_reading import fused, run
from tylo.layouts.errors import GenerationError
from tylo.proofs.lane_programs import exponents, summands
from tylo.proofs.lane_programs.case_operators import operators
from tylo.proofs.lane_programs.cases import Cases
from tylo.proofs.lane_programs.combine import combine
from tylo.proofs.lane_programs.expression import (
    constant,
    float32,
    operation,
    ordered,
    register,
    shuffle,
)
from tylo.proofs.lane_programs.operators import OPERATORS
from tylo.proofs.lane_programs.program import Array, LaneProgram

SPECIAL = numpy.array(
    [0.0, -0.0, 1.0, -1.5, 3e38, -3e38, 1e-40, -1e-40, math.inf, -math.inf, math.nan, 0.1],
    numpy.float32,
)
ARRAYS = {"f32": "x", "bool": "b", "b32": "w"}


def one_node(operator: str) -> LaneProgram:
    """The operator on registers of its own."""
    entry = OPERATORS[operator]
    counts = {kind: entry.operands.count(kind) for kind in ARRAYS}
    used: dict[str, int] = dict.fromkeys(ARRAYS, 0)
    operands = []
    for kind in entry.operands:
        operands.append(register(ARRAYS[kind], used[kind], kind))
        used[kind] += 1
    detail = (1,) if operator == "shuffle" else ()
    inputs = tuple(Array(ARRAYS[kind], kind, count) for kind, count in counts.items() if count)
    return LaneProgram("One.", inputs, {"y": (operation(operator, *operands, detail=detail),)})


def every_case(program: LaneProgram) -> dict[str, Any]:
    """Inputs that meet all special floats with all others, and random words."""
    random = numpy.random.default_rng(5)
    grid = numpy.stack(numpy.meshgrid(SPECIAL, SPECIAL, SPECIAL), axis=-1).reshape(-1, 32, 3)
    made: dict[str, Any] = {}
    for array in program.inputs:
        shape = (*grid.shape[:2], array.count)
        if array.type == "f32":
            made[array.name] = grid[..., : array.count]
        elif array.type == "bool":
            made[array.name] = random.integers(0, 2, shape).astype(bool)
        else:
            made[array.name] = random.integers(0, 1 << 32, shape, numpy.uint32)
    return made


# What crosses warps has tests of its own.
@pytest.mark.parametrize("operator", sorted(OPERATORS.keys() - {"part"}))
def test_each_operator_reads_alike_as_numpy_and_as_cuda(operator: str) -> None:
    program = one_node(operator)
    inputs = every_case(program)
    expected = run(program, **inputs)["y"]
    found = run_on_machine(program, **inputs)[0]["y"]
    if expected.dtype == numpy.float32:
        nan = numpy.isnan(expected)
        assert (numpy.isnan(found) == nan).all()
        same = expected.view(numpy.uint32) == found.view(numpy.uint32)
        if OPERATORS[operator].approximate:
            same |= numpy.isclose(expected, found, rtol=2.0**-22, atol=0)
        assert (same | nan).all()
    elif OPERATORS[operator].result == "b32":
        assert_words_agree(expected, found, operator.partition("_")[2])
    else:
        assert (expected.astype(numpy.uint8) == found).all()


def assert_words_agree(expected: Any, found: Any, dtype: str) -> None:
    """Halves are equal, or both NaN."""
    largest = {"bf16": 0x7F80, "f16": 0x7C00}[dtype]
    for shift in (0, 16):
        left, right = (word >> numpy.uint32(shift) & 0xFFFF for word in (expected, found))
        missing = (left & 0x7FFF) > largest
        assert (((right & 0x7FFF) > largest) == missing).all()
        assert ((left == right) | missing).all()


def test_every_reading_has_every_operator() -> None:
    names = OPERATORS.keys()
    assert numpy_reading.FUNCTIONS.keys() | {"shuffle", "part"} == names
    assert cuda_reading.PRINTED.keys() | {"part"} == names
    assert summands.FUNCTIONS.keys() == names
    words = {name for name in names if "f16" in name}
    assert operators(Cases(1)).keys() | words | {"shuffle", "part"} == names
    assert exponents._FUNCTIONS.keys() <= names


def test_the_instruction_that_is_named_is_the_one_compiled() -> None:
    from tylo.codegen.nvrtc import compile

    for name, entry in OPERATORS.items():
        if name in ("equal", "not", "and", "or", "less", "part"):
            continue
        ptx = compile(kernel_text(one_node(name)), "sm_80", kernels=["lane_program"]).ptx
        assert entry.instruction in ptx, name


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=3, max_size=3))
@settings(max_examples=300, deadline=None)
def test_fused_rounds_once(values: list[float]) -> None:
    a, b, c = (numpy.array([value], numpy.float32) for value in values)
    exact = Fraction(values[0]) * Fraction(values[1]) + Fraction(values[2])
    with numpy.errstate(all="ignore"):
        (found,) = fused(a, b, c).tolist()
    assert found == nearest(exact)


def nearest(exact: Fraction) -> float:
    """The float32 nearest to a rational number, ties to even, by exact comparison."""
    if exact == 0:
        return 0.0
    size = abs(exact)
    exponent = max(math.floor(math.log2(size)) if size < 2**1000 else 1000, -126)
    while size >= Fraction(2) ** (exponent + 1):
        exponent += 1
    while exponent > -126 and size < Fraction(2) ** exponent:
        exponent -= 1
    step = Fraction(2) ** (exponent - 23)
    rounded = round(size / step) * step  # Python rounds a Fraction's ties to even
    value = math.inf if rounded >= 2**128 else float(rounded)
    return value if exact > 0 else -value


def test_shared_nodes_are_computed_once() -> None:
    x = register("x", 0)
    node = x
    for _ in range(60):
        node = node + node
    assert len(ordered([node])) == 61


@pytest.mark.parametrize(
    ("build", "part"),
    [
        (lambda: operation("add", register("x", 0)), "takes"),
        (lambda: operation("sin", register("x", 0)), "no operator"),
        (lambda: register("x", 0, "f64"), "no type"),
        (lambda: constant(0.1), "not a float32"),
        (lambda: shuffle(register("x", 0), 32), "shuffle by 32"),
        (lambda: combine("add", [], ()), "nothing to combine"),
        (lambda: LaneProgram("x", (), {"y": (register("x", 0),)}), "is no input"),
        (
            lambda: LaneProgram("x", (Array("x", "f32", 2),), {"x": (register("x", 0),)}),
            "several types or lengths",
        ),
        (lambda: device_function(one_node("add"), "no name"), "no C identifier"),
        (lambda: run(one_node("add")), "inputs"),
        (lambda: run(one_node("add"), x=numpy.zeros((32, 2))), "x is float64"),
        (lambda: run(one_node("shuffle"), x=numpy.zeros((1, 1), numpy.float32)), "too few"),
    ],
)
def test_refusals(build: Any, part: str) -> None:
    with pytest.raises(GenerationError, match=part):
        build()


def test_a_value_may_replace_its_input() -> None:
    x = Array("x", "f32", 2)
    first, second = x.registers()
    swap = LaneProgram("Exchanged.", (x,), {"x": (second, first)})
    values = numpy.arange(64, dtype=numpy.float32).reshape(1, 32, 2)
    found = run_on_machine(swap, x=values)[0]["x"]
    assert (found == values[..., ::-1]).all()


def test_constants_are_float32() -> None:
    assert float32(1e39) == math.inf
    assert float32(-1e39) == -math.inf
    assert float32(2.0**-149 / 2) == 0.0
    assert constant(math.nan).detail[0] != constant(math.nan).detail[0]
