"""That the softmax programs of one ownership take each element of each row exactly once.

The graph that is printed for a reduction is read in every lane, sums as multisets and maxima as
sets (`summands`), each register named by the coordinate that the ownership says it holds. What
comes out must be, in every lane, the formula of the whole row that the reduced ownership says the
lane has. Nothing is sampled: all lanes, values and rows are compared.

>>> from tylo.layouts.atoms import atom
>>> from tylo.layouts.reduction import reduction
>>> difference(reduction(atom("mma.m16n8k16.bf16").operand("C").ownership, 1))
''
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from tylo.layouts.reduction import Reduction
from tylo.proofs.lane_programs import softmax
from tylo.proofs.lane_programs.exponent import Exponent
from tylo.proofs.lane_programs.expression import Expression
from tylo.proofs.lane_programs.program import LaneProgram
from tylo.proofs.lane_programs.rows import Rows, part_holders, rows_of
from tylo.proofs.lane_programs.summands import Form, added, forms, greatest

_EXPONENT = Exponent(0.125)


def difference(
    reduction: Reduction,
    *,
    rows: Rows | None = None,
    program: Callable[..., LaneProgram] = softmax.update,
) -> str:
    """In words, the first register of an update that is not its row's formula; empty if none.

    `rows` and `program` stand in for the reduction's own, to see what is noticed.
    """
    source, result = reduction.source, reduction.result
    stated = program(rows or rows_of(reduction), _EXPONENT)
    threads: Any = source.thread_count
    coordinates = {
        "scores": source.coordinates,
        "maximum": result.coordinates,
        "sum": result.coordinates,
    }
    # Warps that exchange nothing are followed one by one.
    exchanged = reduction.warp_exchange is not None
    step = threads if exchanged else min(32, threads)
    for first in range(0, threads, step):

        def leaf(node: Expression, lane: int, first: int = first) -> Form:
            array, index = node.detail
            return (array, *coordinates[array](first + lane, index))

        handed = part_holders(reduction) if exchanged else ()
        found = iter(forms(stated.roots, step, leaf, handed))
        held = {name: [next(found) for _ in roots] for name, roots in stated.outputs.items()}
        for lane in range(step):
            wrong = _wrong(reduction, held, first, lane)
            if wrong:
                return f"warp {(first + lane) // 32}, lane {(first + lane) % 32}: {wrong}"
    return ""


def _wrong(
    reduction: Reduction, held: dict[str, list[tuple[Form, ...]]], first: int, lane: int
) -> str:
    """The first output of a lane that is not what its row's formula says."""
    source, axis = reduction.source, reduction.axis
    extent: Any = source.shape[axis]
    for index in range(len(held["maximum"])):
        row = reduction.result.coordinates(first + lane, index)
        for name, wanted in _row(row, axis, extent)[1].items():
            if held[name][index][lane] != wanted:
                return f"{name} {index} is not that of row {row}"
    for index, weights in enumerate(held["weights"]):
        place = source.coordinates(first + lane, index)
        under, _ = _row(place[:axis] + place[axis + 1 :], axis, extent)
        if weights[lane] != _weight(("scores", *place), under):
            return f"weight {index} is not that of {place}"
    return ""


@lru_cache(maxsize=512)
def _row(row: tuple[Any, ...], axis: int, extent: int) -> tuple[Form, dict[str, Form]]:
    """The reference of a row and its maximum, sum and factor, written as forms."""
    elements = [("scores", *row[:axis], position, *row[axis:]) for position in range(extent)]
    old, total = ("maximum", *row), ("sum", *row)
    top = greatest(old, *elements)
    infinite, negative = (("constant", text) for text in ("inf", "-inf"))
    finite = ("select", ("equal", top, negative), ("constant", "0.0"), top)
    under = ("select", ("less", top, infinite), finite, ("constant", "nan"))
    factor = _weight(old, under)
    weights = [_weight(each, under) for each in elements]
    return under, {
        "maximum": top,
        "sum": ("fma", factor, total, added(*weights) if extent > 1 else weights[0]),
        "rescale": factor,
    }


def _weight(score: Form, under: Form) -> Form:
    difference = ("subtract", score, under)
    return ("ex2", ("multiply", difference, ("constant", repr(_EXPONENT.factor))))
