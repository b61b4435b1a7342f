"""Layouts are values of the standard library: importing them loads nothing heavy."""

import subprocess
import sys

import pytest

HEAVY = {
    "numpy",
    "sympy",
    "z3",
    "cvc5",
    "cuda",
    "mpmath",
    "ml_dtypes",
    "torch",
    "cupy",
    "jax",
    "numba",
}


@pytest.mark.parametrize(
    "statement",
    [
        "import tylo",
        "import tylo.layouts",
        "import tylo.layouts.atoms, tylo.layouts.coverage, tylo.layouts.fragment",
        "import tylo.layouts.owners, tylo.layouts.tiling, tylo.layouts.words",
        "import tylo.proofs.prover, tylo.proofs.specifications",
        "import tylo; tylo.kernels.softmax",
        "from tylo.layouts.atoms import atom; atom('mma.m16n8k16.bf16').operand('A').ownership()",
    ],
)
def test_importing_loads_the_standard_library_alone(statement: str) -> None:
    # What `.pth` files of the environment load at start-up is not the statement's doing.
    script = (
        f"import sys; before = set(sys.modules); {statement}; "
        "print(*{module.split('.')[0] for module in set(sys.modules) - before})"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    loaded = set(done.stdout.split())
    assert "tylo" in loaded
    assert not loaded & HEAVY
