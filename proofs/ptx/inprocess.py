"""z3 in this process: quick, and not killable. `validate` uses it where no solver is named."""

from __future__ import annotations

from collections.abc import Sequence

from tylo.proofs.solver_process import MEANING

_MILLISECONDS = 5_000


def solve(scripts: Sequence[str], milliseconds: int = _MILLISECONDS) -> list[str]:
    """A verdict for each script: "holds" where it is unsatisfiable.

    >>> solve(["(assert false)", "(assert true)"])
    ['holds', 'fails']
    """
    import z3

    verdicts = []
    for script in scripts:
        # The plain solver bit-blasts at once; the strategic one costs more than these goals do. On
        # integers, the one made for that logic is several times quicker than either.
        if script.startswith("(set-logic QF_BV)"):
            solver = z3.SimpleSolver()
        elif script.startswith("(set-logic QF_LIA)"):
            solver = z3.SolverFor("QF_LIA")
        else:
            solver = z3.Solver()
        solver.set(timeout=milliseconds)
        solver.from_string(script)
        verdicts.append(MEANING.get(str(solver.check()), "unknown"))
    return verdicts
