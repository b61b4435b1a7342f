"""What `lg2.approx.ftz.f32` does with each of the 2^32 inputs: counted on the device.

A log-sum-exp takes the logarithm of a sum that is at least one. The state relies on this: the
logarithm of one is zero, so that a row of one column gives its score; above one it is not negative,
so that no log-sum-exp is below its maximum by more than rounding; of a normal positive number it is
finite, and NaN stays NaN. The other facts are the special cases of the PTX ISA's table, where
``.ftz`` makes zeros of subnormal inputs. Errors are measured as the ISA bounds them: absolutely for
inputs between a half and two, relatively for the other positive normal ones.

>>> from tylo.codegen.attest.counted import judge_counts
>>> judge_counts(LG2, [[2] + [0] * 7 + [1 << 32, 0, 0]]).failures
{'of one zero': 2}

Source: PTX ISA 9.7.3.20, lg2.
"""

from __future__ import annotations

from tylo.codegen.attest.counted import Instruction

LG2 = Instruction(
    spelling="lg2.approx.ftz.f32",
    entry="tylo_attest_lg2",
    file="lg2.cuh",
    checks=(
        "of one zero",
        "above one not negative",
        "below one not positive",
        "of a positive normal number finite",
        "of zeros and subnormals -inf",
        "of +inf +inf",
        "of a negative number NaN",
        "NaN stays NaN",
    ),
    errors=(
        ("absolute error between 1/2 and 2", 2.0**-22),
        ("relative error elsewhere", 2.0**-22),
    ),
)
