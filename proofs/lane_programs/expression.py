"""The typed graph that lane programs are made of.

A node is an input register, a constant, or an operator on nodes. Nodes are compared by identity:
what is used twice is computed once, in every reading. Types are checked while a graph is built.

>>> x, y = register("x", 0), register("y", 0)
>>> total = x + y * constant(2.0)
>>> total.operator, [each.operator for each in total.operands]
('add', ['register', 'multiply'])
>>> (x < y).type
'bool'
>>> operation("select", x, x, y)
Traceback (most recent call last):
tylo.layouts.errors.GenerationError: select takes (bool, f32, f32), not (f32, f32, f32); see \
tylo.proofs.lane_programs.operators
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tylo.layouts.errors import GenerationError
from tylo.proofs.lane_programs.operators import OPERATORS, TYPES

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, eq=False)
class Expression:
    """One node; build with the functions below.

    `detail` is (array, index) of a register, (value,) of a constant, (mask,) of a shuffle. `label`
    is what the printed text calls the node, if it wants a name.
    """

    operator: str
    operands: tuple[Expression, ...]
    type: str
    detail: tuple[Any, ...] = ()
    label: str = ""

    def __add__(self, other: Expression) -> Expression:
        return operation("add", self, other)

    def __sub__(self, other: Expression) -> Expression:
        return operation("subtract", self, other)

    def __mul__(self, other: Expression) -> Expression:
        return operation("multiply", self, other)

    def __lt__(self, other: Expression) -> Expression:
        return operation("less", self, other)


def register(array: str, index: int, type: str = "f32") -> Expression:
    """What a lane holds in register `index` of the input called `array`."""
    if type not in TYPES:
        raise GenerationError(f"no type {type!r}", hint=f"use {', '.join(TYPES)}")
    return Expression("register", (), type, (array, index))


def constant(value: float) -> Expression:
    """A float32 constant; raises `GenerationError` for a finite number float32 does not hold."""
    number = float(value)
    if float32(number) != number and number == number:
        raise GenerationError(
            f"{number!r} is not a float32", hint=f"the nearest one is {float32(number)!r}"
        )
    return Expression("constant", (), "f32", (number,))


def float32(value: float) -> float:
    """The float32 nearest to a double, ties to even; beyond the range, an infinity.

    >>> float32(0.1)
    0.10000000149011612
    """
    try:
        (nearest,) = struct.unpack("<f", struct.pack("<f", value))
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return float(nearest)


def operation(
    operator: str, *operands: Expression, label: str = "", detail: tuple[Any, ...] = ()
) -> Expression:
    """`operator` of `operands`; raises `GenerationError` where their types are not its own."""
    if operator not in OPERATORS:
        raise GenerationError(f"no operator {operator!r}", hint=f"there are {', '.join(OPERATORS)}")
    entry = OPERATORS[operator]
    given = tuple(each.type for each in operands)
    if given != entry.operands:
        raise GenerationError(
            f"{operator} takes ({', '.join(entry.operands)}), not ({', '.join(given)})",
            hint="see tylo.proofs.lane_programs.operators",
        )
    return Expression(operator, operands, entry.result, detail, label)


def select(condition: Expression, yes: Expression, no: Expression) -> Expression:
    """`yes` where the condition holds, else `no`."""
    return operation("select", condition, yes, no)


def shuffle(value: Expression, mask: int) -> Expression:
    """What the lane `lane ^ mask` holds; every lane of the warp takes part."""
    if not 1 <= mask < 32:
        raise GenerationError(f"a shuffle by {mask}", hint="a mask changes lane bits: 1 to 31")
    return operation("shuffle", value, detail=(mask,))


def part(values: Sequence[Expression], row: int, number: int) -> Expression:
    """What the warp that holds part `number` of a row has as `values[row]`.

    All of a lane's `values` go through the exchange together, and every thread takes part.
    """
    if {each.type for each in values} != {"f32"} or not 0 <= row < len(values):
        raise GenerationError(
            f"part {number} of row {row} of {len(values)} values", hint="exchange float32 rows"
        )
    return Expression("part", tuple(values), "f32", (row, number))


def ordered(roots: Sequence[Expression]) -> list[Expression]:
    """Every node that `roots` need, operands first, each once, in one fixed order."""
    done: dict[int, Expression] = {}
    waiting = list(reversed(roots))
    while waiting:
        node = waiting[-1]
        missing = [each for each in node.operands if id(each) not in done]
        if missing:
            waiting.extend(reversed(missing))
            continue
        waiting.pop()
        done.setdefault(id(node), node)
    return list(done.values())


def read(
    roots: Sequence[Expression],
    functions: Mapping[str, Callable[..., Value]],
    leaf: Callable[[Expression], Value],
) -> list[Value]:
    """The value of each root: `leaf` of registers and constants, `functions` of everything else.

    A function receives its operands' values, and a shuffle's the mask after them.

    >>> x = register("x", 0)
    >>> read([x + x * x], {"add": int.__add__, "multiply": int.__mul__}, lambda node: 3)
    [12]
    """
    values = dict(_values(roots, functions, leaf))
    return [values[id(root)] for root in roots]


def _values(
    roots: Sequence[Expression],
    functions: Mapping[str, Callable[..., Value]],
    leaf: Callable[[Expression], Value],
) -> Iterator[tuple[int, Value]]:
    values: dict[int, Value] = {}
    for node in ordered(roots):
        if node.operator in ("register", "constant"):
            value = leaf(node)
        else:
            operands = [values[id(each)] for each in node.operands]
            value = functions[node.operator](*operands, *node.detail)
        values[id(node)] = value
        yield id(node), value
