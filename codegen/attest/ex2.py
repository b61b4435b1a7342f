"""What `ex2.approx.ftz.f32` does with each of the 2^32 inputs: counted on the device.

The softmax state relies on facts that the PTX ISA does not state: 2 to the zero is exactly one;
of a negative input the result is at most one, not negative, and does not grow with the distance
from zero; NaN stays NaN and nothing else becomes one. The largest relative error is measured on
(-126, 0]; there the result is normal.

>>> from tylo.codegen.attest.counted import judge_counts
>>> judge_counts(EX2, [[1] + [0] * 7 + [1 << 32, 0]]).failures
{'2 to the zero is one': 1}

Source: PTX ISA 9.7.3.21, ex2.
"""

from __future__ import annotations

from tylo.codegen.attest.counted import Instruction

EX2 = Instruction(
    spelling="ex2.approx.ftz.f32",
    entry="tylo_attest_ex2",
    file="ex2.cuh",
    checks=(
        "2 to the zero is one",
        "of a negative input at most one",
        "of a negative input not negative",
        "below zero, less for less",
        "NaN stays NaN",
        "nothing else becomes NaN",
        "of -inf zero",
        "of +inf +inf",
    ),
    # The bound that the documented error of the softmax state is derived from.
    errors=(("relative error", 2.0**-22),),
)
