"""What must hold of the softmax programs in every case of IEEE arithmetic, as solver scripts.

Each obligation comes from the graph that is printed, read by `cases`. A state is *valid* when it is
empty, (-inf, 0); or its maximum is a number and its sum a number from 1 to 2^100; or its maximum is
+inf or NaN and its sum NaN. Programs get valid states, any scores at all, and any mask, and leave
valid states: so every sequence of tiles and merges is covered, by induction. (That the sum stays
below 2^100 is not part of the induction. A row of n entries has a sum of at most about n.)

>>> from tylo.proofs.lane_programs.exponent import Exponent
>>> from tylo.proofs.lane_programs.rows import Rows
>>> found = update_obligations(Rows(((0, 1),), (), (0, 0)), Exponent(0.125))
>>> [each.label for each in found if "subtract" in each.label]
['subtract 0 lane 0 is defined', 'subtract 1 lane 0 is defined', 'subtract 2 lane 0 is defined']
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tylo.proofs.lane_programs import softmax
from tylo.proofs.lane_programs.cases import (
    INFINITE,
    MISSING,
    NEGATIVE,
    NUMBER,
    Cases,
    Float,
    both,
    either,
    implies,
)
from tylo.proofs.lane_programs.exponent import Exponent
from tylo.proofs.lane_programs.program import LaneProgram
from tylo.proofs.lane_programs.rows import Rows
from tylo.proofs.solver_process import MEANING, SOLVERS, SolverProcess

_LARGEST_SUM = f"{1 << 100}.0"


@dataclass(frozen=True, slots=True)
class Obligation:
    """What must hold, and the script that is unsatisfiable exactly when it does."""

    label: str
    script: str


@dataclass(frozen=True, slots=True)
class Guarded:
    """An obligation and what each solver says: ``holds``, ``fails``, ``unknown`` or ``missing``."""

    label: str
    answers: tuple[tuple[str, str], ...]

    @property
    def verdict(self) -> str:
        """``holds`` or ``fails`` where both solvers say so, else ``undecided``."""
        said = {answer for _, answer in self.answers}
        agreed = len(self.answers) == len(SOLVERS) and len(said) == 1 and said <= {"holds", "fails"}
        return said.pop() if agreed else "undecided"


def update_obligations(
    rows: Rows,
    exponent: Exponent,
    *,
    program: Callable[..., LaneProgram] = softmax.update,
) -> list[Obligation]:
    """Of an update with a mask; every lane of a group that shuffles bring together is followed."""
    lanes = 2 * max(rows.masks, default=0) or 1
    script = Cases(lanes)
    stated = program(rows, exponent, masked=True)
    results = _results(script, stated)
    assumed, goals = [], []
    for lane in range(lanes):
        for row in range(rows.results):
            # Lanes that share a row share its state.
            m, total = (_register(script, stated, name, row, 0) for name in ("maximum", "sum"))
            old = [(script.registers[name, row, lane]) for name in ("maximum", "sum")]
            assumed += [valid(m, total), same(old[0], m), same(old[1], total)]
            scores = [
                (script.registers["scores", value, each], script.registers["keep", value, each])
                for each in range(lanes)
                for value in rows.groups[row]
            ]
            new, new_total = (results[name][row][lane] for name in ("maximum", "sum"))
            rescale = results["rescale"][row][lane]
            number = either(
                m.is_kind(NUMBER), *(both(keep, x.is_kind(NUMBER)) for x, keep in scores)
            )
            poisoned = either(
                m.is_kind(INFINITE, MISSING),
                *(both(keep, x.is_kind(INFINITE, MISSING)) for x, keep in scores),
            )
            where = f"row {row} lane {lane}"
            clean = f"(not {poisoned})"
            goals += [
                (f"{where}: the state stays valid", _still_valid(new, new_total)),
                (
                    f"{where}: NaN or +inf makes the row NaN",
                    implies(poisoned, new_total.is_kind(MISSING)),
                ),
                (
                    f"{where}: a kept number makes the sum at least 1",
                    implies(
                        both(clean, number),
                        both(new_total.is_kind(NUMBER), f"(<= 1.0 {new_total.number})"),
                    ),
                ),
                (
                    f"{where}: nothing kept leaves it empty",
                    implies(both(clean, f"(not {number})"), _empty(new, new_total)),
                ),
                (f"{where}: the factor lies in [0, 1]", implies(clean, _fraction(rescale))),
                (
                    f"{where}: what was empty is multiplied by 0",
                    implies(both(clean, m.is_kind(NEGATIVE)), rescale.is_zero),
                ),
            ]
            for value in rows.groups[row]:
                x, keep = (script.registers[name, value, lane] for name in ("scores", "keep"))
                weight = results["weights"][value][lane]
                masked = either(f"(not {keep})", x.is_kind(NEGATIVE))
                goals += [
                    (
                        f"{where} value {value}: a weight lies in [0, 1]",
                        implies(clean, _fraction(weight)),
                    ),
                    (
                        f"{where} value {value}: what is masked weighs 0",
                        implies(both(clean, masked), weight.is_zero),
                    ),
                ]
    return _obligations(script, goals, assumed)


def merge_obligations(
    exponent: Exponent, *, program: Callable[..., LaneProgram] = softmax.merge
) -> list[Obligation]:
    """Of a merge: validity, the exact identity on both sides, and factors in [0, 1]."""
    script = Cases(1)
    stated = program(1, exponent)
    results = {name: each[0][0] for name, each in _results(script, stated).items()}
    m, total, n, other = (
        _register(script, stated, name, 0, 0)
        for name in ("maximum", "sum", "other_maximum", "other_sum")
    )
    new, new_total = results["maximum"], results["sum"]
    clean = both(m.is_kind(NUMBER, NEGATIVE), n.is_kind(NUMBER, NEGATIVE))
    goals = [
        ("the state stays valid", _still_valid(new, new_total)),
        (
            "empty on the right changes nothing",
            implies(_empty(n, other), both(same(new, m), same(new_total, total))),
        ),
        (
            "empty on the left changes nothing",
            implies(_empty(m, total), both(same(new, n), same(new_total, other))),
        ),
        (
            "empty with empty has factors 0",
            implies(
                both(_empty(m, total), _empty(n, other)),
                both(results["rescale"].is_zero, results["other_rescale"].is_zero),
            ),
        ),
        ("the factor lies in [0, 1]", implies(clean, _fraction(results["rescale"]))),
        ("the other factor lies in [0, 1]", implies(clean, _fraction(results["other_rescale"]))),
    ]
    return _obligations(script, goals, [valid(m, total), valid(n, other)])


def normalize_obligations(
    *, program: Callable[..., LaneProgram] = softmax.normalize
) -> list[Obligation]:
    """Of a normalisation: defined for any numerator, and 0 in an empty row."""
    script = Cases(1)
    stated = program(Rows(((0,),), (), (0,)))
    result = _results(script, stated)["output"][0][0]
    m, total = script.fresh(), _register(script, stated, "sum", 0, 0)
    goals = [
        ("an empty row gives 0", implies(total.is_zero, result.is_zero)),
        ("NaN stays NaN", implies(total.is_kind(MISSING), result.is_kind(MISSING))),
    ]
    return _obligations(script, goals, [valid(m, total)])


def log_sum_exp_obligations(
    exponent: Exponent, *, program: Callable[..., LaneProgram] = softmax.log_sum_exp
) -> list[Obligation]:
    """Of a log-sum-exp: -inf exactly for an empty row or by overflow, NaN exactly for a NaN row."""
    script = Cases(1)
    stated = program(1, exponent)
    result = _results(script, stated)["log_sum_exp"][0][0]
    m, total = (_register(script, stated, name, 0, 0) for name in ("maximum", "sum"))
    goals = [
        ("an empty row gives -inf", implies(_empty(m, total), result.is_kind(NEGATIVE))),
        ("NaN stays NaN", implies(total.is_kind(MISSING), result.is_kind(MISSING))),
        ("else it is no NaN", implies(total.is_kind(NUMBER), f"(not {result.is_kind(MISSING)})")),
    ]
    return _obligations(script, goals, [valid(m, total)])


def state_obligations(rows: Rows, exponent: Exponent) -> dict[str, list[Obligation]]:
    """Of each program of the state: what `tylo prove softmax_state --solvers` asks."""
    return {
        "update": update_obligations(rows, exponent),
        "merge": merge_obligations(exponent),
        "normalize": normalize_obligations(),
        "log_sum_exp": log_sum_exp_obligations(exponent),
    }


def judge(obligations: Iterable[Obligation], *, seconds: float = 30.0) -> list[Guarded]:
    """What z3 and cvc5 say about each obligation."""
    work = list(obligations)
    said: list[list[tuple[str, str]]] = [[] for _ in work]
    for solver in SOLVERS:
        process = SolverProcess(solver)
        try:
            for place, obligation in enumerate(work):
                reply: dict[str, Any] = process.ask(
                    {"script": obligation.script, "unknowns": [], "options": {}}, seconds
                )
                answer = "missing" if "missing" in reply else reply.get("answer", "unknown")
                said[place].append((solver, MEANING.get(answer, answer)))
        finally:
            process.stop()
    return [
        Guarded(obligation.label, tuple(answers))
        for obligation, answers in zip(work, said, strict=True)
    ]


def valid(m: Float, total: Float) -> str:
    """That maximum and sum are a state."""
    bounded = both(total.is_kind(NUMBER), f"(<= 1.0 {total.number})")
    return either(
        _empty(m, total),
        both(m.is_kind(NUMBER), bounded, f"(<= {total.number} {_LARGEST_SUM})"),
        both(m.is_kind(INFINITE, MISSING), total.is_kind(MISSING)),
    )


def same(a: Float, b: Float) -> str:
    """That two float32 are equal, or both NaN."""
    return both(f"(= {a.kind} {b.kind})", implies(a.is_kind(NUMBER), f"(= {a.number} {b.number})"))


def _still_valid(m: Float, total: Float) -> str:
    return either(
        _empty(m, total),
        both(m.is_kind(NUMBER), total.is_kind(NUMBER), f"(<= 1.0 {total.number})"),
        both(m.is_kind(INFINITE, MISSING), total.is_kind(MISSING)),
    )


def _empty(m: Float, total: Float) -> str:
    return both(m.is_kind(NEGATIVE), total.is_zero)


def _fraction(a: Float) -> str:
    return both(a.is_kind(NUMBER), f"(<= 0.0 {a.number})", f"(<= {a.number} 1.0)")


def _results(script: Cases, program: LaneProgram) -> dict[str, list[tuple[Any, ...]]]:
    values = iter(script.read(program.roots))
    return {name: [next(values) for _ in roots] for name, roots in program.outputs.items()}


def _register(script: Cases, program: LaneProgram, name: str, index: int, lane: int) -> Any:
    """What an input register holds, also where the program does not read it."""
    if (name, index, lane) not in script.registers:
        array = next(each for each in program.inputs if each.name == name)
        script.read([array.registers()[index]])
    return script.registers[name, index, lane]


def _obligations(
    script: Cases, goals: Sequence[tuple[str, str]], assumed: Sequence[str]
) -> list[Obligation]:
    guards = [(f"{each.label} is defined", f"(not {each.condition})") for each in script.undefined]
    return [
        Obligation(label, script.obligation(goal, assumed=assumed))
        for label, goal in (*guards, *goals)
    ]
