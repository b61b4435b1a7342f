"""One SMT solver in a process of its own: ``python -m tylo.proofs.solver_worker z3``.

It announces its version, then answers one JSON line per line it reads: ``{"script": ...,
"unknowns": [...], "options": {...}, "seconds": 5}`` gives ``{"answer": "unsat"}``, or ``"sat"``
with a ``"model"``, or ``"unknown"``, and always the seconds of a processor that it took, as
``"cpu"``. With ``"core": true``, "unsat" comes with ``"core"``: which assertions suffice, counted
from zero. Solvers may overrun their own limits and exhaust memory: whoever starts the process kills
it, and it caps its memory and its time itself.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

MEMORY_BYTES = 4 << 30
# A solver's own limit is one of the clock. On a busy machine it passes before the solver had its
# seconds; it is then asked again, for as much longer as the processor was slow to come.
_HAD_ITS_SECONDS = 0.8
_MOST_STRETCHED = 5.0

Answer = Callable[[dict[str, Any], float], dict[str, Any]]


def _z3() -> tuple[str, Answer]:
    import z3

    def answer(request: dict[str, Any], seconds: float) -> dict[str, Any]:
        # Bit-vectors are best bit-blasted at once, without the strategies of the full solver, and
        # linear conditions on integers best left to the strategy made for them.
        if request["script"].startswith("(set-logic QF_BV)"):
            solver = z3.SimpleSolver()
        elif request["script"].startswith("(set-logic QF_LIA)"):
            solver = z3.SolverFor("QF_LIA")
        else:
            solver = z3.Solver()
        solver.set("timeout", max(1, int(1000 * seconds)))
        if request.get("core"):
            solver.set("core.minimize", True)
            for number, asserted in enumerate(z3.parse_smt2_string(request["script"])):
                solver.assert_and_track(asserted, f"{number}")
        else:
            solver.from_string(request["script"])
        result = str(solver.check())
        if result != "sat":
            core = sorted(int(str(each)) for each in solver.unsat_core())
            return {"answer": result} | ({"core": core} if core else {})
        model = solver.model()
        values = {
            unknown: model.eval(z3.Int(f"${unknown}"), model_completion=True).as_long()
            for unknown in request["unknowns"]
        }
        return {"answer": "sat", "model": values}

    return z3.get_version_string(), answer


def _cvc5() -> tuple[str, Answer]:
    import cvc5

    def answer(request: dict[str, Any], seconds: float) -> dict[str, Any]:
        solver = cvc5.Solver(cvc5.TermManager())
        solver.setOption("produce-models", "true")
        solver.setOption("tlimit-per", str(max(1, int(1000 * seconds))))
        if request.get("core"):
            solver.setOption("minimal-unsat-cores", "true")
            solver.setOption("produce-unsat-cores", "true")
        for option, value in request["options"].items():
            solver.setOption(option, value)
        parser = cvc5.InputParser(solver)
        parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, request["script"], "obligation")
        symbols = parser.getSymbolManager()
        output = ""
        while not (command := parser.nextCommand()).isNull():
            output += str(command.invoke(solver, symbols))
        result = output.strip()
        if result not in ("sat", "unsat"):
            return {"answer": "unknown"}
        if result == "unsat":
            core = solver.getUnsatCore() if request.get("core") else []
            places = [n for n, each in enumerate(solver.getAssertions()) if each in core]
            return {"answer": "unsat"} | ({"core": places} if core else {})
        declared = {str(term): term for term in symbols.getDeclaredTerms()}
        values = {
            unknown: int(solver.getValue(declared[f"${unknown}"]).getIntegerValue())
            for unknown in request["unknowns"]
        }
        return {"answer": "sat", "model": values}

    return str(cvc5.__version__), answer


SOLVERS = {"z3": _z3, "cvc5": _cvc5}


def _answered(answer: Answer, request: dict[str, Any]) -> dict[str, Any]:
    """The solver's answer once it had its seconds of a processor."""
    seconds = request["seconds"]
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    most = int(time.process_time() + 2 * seconds) + 2
    resource.setrlimit(resource.RLIMIT_CPU, (most, hard))
    begun = time.process_time()
    reply = answer(request, seconds)
    had = time.process_time() - begun
    if reply["answer"] == "unknown" and had < _HAD_ITS_SECONDS * seconds:
        stretched = min(_MOST_STRETCHED, seconds / max(had, 1e-3))
        reply = answer(request, seconds * stretched)
    return reply


def main(solver: str) -> int:
    """Serve until the input ends; exit 3 when the solver is not installed."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    try:
        version, answer = SOLVERS[solver]()
    except ImportError as missing:
        print(json.dumps({"missing": str(missing)}), flush=True)
        return 3
    print(json.dumps({"version": version}), flush=True)
    for line in sys.stdin:
        begun = time.process_time()
        try:
            reply = _answered(answer, json.loads(line))
        except Exception as error:  # a solver's own errors have no common type
            reply = {"answer": "unknown", "error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply | {"cpu": time.process_time() - begun}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
