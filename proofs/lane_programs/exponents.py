"""A softmax program as exponents: which power of two every summand of a sum is.

The reading is that of a row of finite, kept scores. There a sum is a list of powers of two, and an
exponent is a polynomial, an integer term: the register of an earlier sum holds
``2 ** (c * (y - m))`` for any earlier score y; a product of powers adds exponents; every maximum is
``top``. What is left are polynomial identities, which the certificate's checker decides.

>>> from tylo.layouts.terms import show
>>> from tylo.proofs.lane_programs.rows import Rows
>>> from tylo.proofs.lane_programs.softmax import update
>>> program = update(Rows(((0,),), (), (0,)), GENERIC)
>>> [[show(term) for term in exponents(program, "sum", EARLIER)[0]]]
[['(m - top) * c + (y - m) * c', '(x0 - top) * c']]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from tylo.layouts.errors import GenerationError
from tylo.layouts.terms import Integer, Term, name
from tylo.proofs.lane_programs.exponent import Exponent
from tylo.proofs.lane_programs.expression import Expression, read
from tylo.proofs.lane_programs.program import LaneProgram

# Any scale whose factor is not one stands for all: the factor is read as the name c.
GENERIC = Exponent(0.125)
C, TOP = name("c"), name("top")
Registers = Mapping[str, Callable[[int], Any]]

EARLIER: Registers = MappingProxyType(
    {
        "scores": lambda index: name(f"x{index}"),
        "maximum": lambda index: name("m"),
        "sum": lambda index: ((name("y") - name("m")) * C,),
        "other_maximum": lambda index: name("n"),
        "other_sum": lambda index: ((name("z") - name("n")) * C,),
        "part_maximum": lambda index: name(f"m{index}"),
        "part_sum": lambda index: ((name(f"y{index}") - name(f"m{index}")) * C,),
    }
)


def exponents(
    program: LaneProgram, output: str, registers: Registers = EARLIER
) -> list[tuple[Integer, ...]]:
    """For each register of a lane's `output`, the exponent of each power of two it is the sum of.

    Raises `GenerationError` for an operator that does not keep sums of powers.
    """

    def leaf(node: Expression) -> Any:
        if node.operator == "register":
            array, index = node.detail
            return registers[array](index)
        (value,) = node.detail
        return C if value == GENERIC.factor else value

    return read(program.outputs[output], _FUNCTIONS, leaf)


def _multiply(a: Any, b: Any) -> Any:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return tuple(one + other for one in a for other in b)
    if isinstance(a, Term) and isinstance(b, Term):
        return a * b
    raise GenerationError("a product of a power and a score", hint="multiply powers, or scores")


def _add(a: Any, b: Any) -> Any:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return a + b
    raise GenerationError("a sum of something that is no power", hint="add powers")


def _less(a: Any, b: Any) -> bool:
    if b == math.inf:
        return True
    raise GenerationError("a comparison that finite scores do not decide", hint="compare with inf")


def _equal(a: Any, b: Any) -> bool:
    if b == -math.inf:
        return False
    raise GenerationError("a comparison that finite scores do not decide", hint="compare with -inf")


_FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "add": _add,
        "subtract": lambda a, b: a - b,
        "multiply": _multiply,
        "fma": lambda a, b, c: _add(_multiply(a, b), c),
        "maximum": lambda a, b: TOP,
        "ex2": lambda a: (a,),
        "less": _less,
        "equal": _equal,
        "select": lambda condition, yes, no: yes if condition else no,
        # Lanes hold scores of the same row; which ones is what the reduction's own claims say.
        "shuffle": lambda a, mask: a,
        "part": lambda *operands: operands[operands[-2]],
    }
)
