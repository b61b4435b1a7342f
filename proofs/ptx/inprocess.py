"""z3 in this process: quick, and not killable. `validate` uses it where no solver is named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tylo.proofs.solver_process import MEANING

# In z3's own units of work, so that a busy machine is slower but says the same.
_EFFORT = 20_000_000
_MILLISECONDS = 60_000
# Kernels that differ little ask much the same; a text has one answer, if it has been found.
_MOST_KEPT = 2_000
_decided: dict[str, str] = {}


def solve(
    scripts: Sequence[str],
    milliseconds: int = _MILLISECONDS,
    *,
    effort: int = _EFFORT,
    context: Any = None,
) -> list[str]:
    """A verdict for each script: "holds" where it is unsatisfiable.

    The `effort` is in z3's own units of work, about a million a second. In a z3 `context` that is
    new the verdicts do not depend on what else the machine does, nor on what was asked before.

    >>> solve(["(assert false)", "(assert true)"])
    ['holds', 'fails']
    """
    if effort != _EFFORT or context is not None:
        return [_asked(script, milliseconds, effort, context) for script in scripts]
    verdicts = []
    for script in scripts:
        verdict = _decided.get(script) or _asked(script, milliseconds, effort, None)
        if verdict in MEANING.values():
            if len(_decided) >= _MOST_KEPT:
                _decided.clear()
            _decided[script] = verdict
        verdicts.append(verdict)
    return verdicts


def installed() -> bool:
    """Whether z3 is there; `solve` needs it."""
    try:
        import z3  # noqa: F401
    except ImportError:
        return False
    return True


def _asked(script: str, milliseconds: int, effort: int, context: Any) -> str:
    import z3

    # The plain solver bit-blasts at once; the strategic one costs more than these goals do. On
    # integers, the one made for that logic is several times quicker than either.
    if script.startswith("(set-logic QF_BV)"):
        solver = z3.SimpleSolver(ctx=context)
    elif script.startswith("(set-logic QF_LIA)"):
        solver = z3.SolverFor("QF_LIA", ctx=context)
    else:
        solver = z3.Solver(ctx=context)
    solver.set("rlimit", effort)
    solver.set("timeout", milliseconds)
    solver.from_string(script)
    return MEANING.get(str(solver.check()), "unknown")
