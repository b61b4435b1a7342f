"""z3 in this process: quick, and not killable. `validate` uses it where no solver is named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tylo.proofs.solver_process import MEANING

_MILLISECONDS = 5_000


def solve(
    scripts: Sequence[str],
    milliseconds: int = _MILLISECONDS,
    *,
    effort: int = 0,
    context: Any = None,
) -> list[str]:
    """A verdict for each script: "holds" where it is unsatisfiable.

    With an `effort`, in z3's own units of work (about a million a second), no clock is looked at;
    in a z3 `context` that is new the verdicts then do not depend on what else the machine does, nor
    on what was asked before.

    >>> solve(["(assert false)", "(assert true)"])
    ['holds', 'fails']
    """
    import z3

    verdicts = []
    for script in scripts:
        # The plain solver bit-blasts at once; the strategic one costs more than these goals do. On
        # integers, the one made for that logic is several times quicker than either.
        if script.startswith("(set-logic QF_BV)"):
            solver = z3.SimpleSolver(ctx=context)
        elif script.startswith("(set-logic QF_LIA)"):
            solver = z3.SolverFor("QF_LIA", ctx=context)
        else:
            solver = z3.Solver(ctx=context)
        solver.set("rlimit" if effort else "timeout", effort or milliseconds)
        solver.from_string(script)
        verdicts.append(MEANING.get(str(solver.check()), "unknown"))
    return verdicts
