"""What `ex2.approx.ftz.f32` does with each of the 2^32 inputs: counted on the device.

The softmax state relies on facts that the PTX ISA does not state: 2 to the zero is exactly one;
of a negative input the result is at most one, not negative, and does not grow with the distance
from zero; NaN stays NaN and nothing else becomes one. `attest_ex2` counts every input for which one
of them fails, and measures the largest relative error on (-126, 0]; there the result is normal.

>>> attestation = judge_ex2([[0] * 8 + [1 << 32, 0]])
>>> attestation.passed, attestation.largest_error
(True, 0.0)
>>> judge_ex2([[1] + [0] * 7 + [1 << 32, 0]]).failures
{'2 to the zero is one': 1}

Source: PTX ISA 9.7.3.21, ex2.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tylo.codegen.architecture import Architecture
from tylo.codegen.cache import compile_cached
from tylo.codegen.cuda_files import cuda_file
from tylo.codegen.launch import Device, DeviceInfo, Output
from tylo.codegen.printing import expression
from tylo.layouts.terms import name

ENTRY = "tylo_attest_ex2"
CHECKS = (
    "2 to the zero is one",
    "of a negative input at most one",
    "of a negative input not negative",
    "below zero, less for less",
    "NaN stays NaN",
    "nothing else becomes NaN",
    "of -inf zero",
    "of +inf +inf",
)
SLOTS = len(CHECKS) + 2
# The bound that the documented error of the softmax state is derived from.
LARGEST_ERROR = 2.0**-22
_THREADS, _BLOCKS = 256, 1024


@dataclass(frozen=True, slots=True)
class Ex2Attestation:
    """How often each fact failed, over how many inputs, and the largest relative error."""

    counts: tuple[int, ...]
    inputs: int
    largest_error: float
    device: DeviceInfo | None = None
    compiler: str = ""

    @property
    def failures(self) -> dict[str, int]:
        """The facts that failed, and for how many inputs."""
        return {check: count for check, count in zip(CHECKS, self.counts, strict=True) if count > 0}

    @property
    def passed(self) -> bool:
        """Whether all inputs were tried, every fact holds for each, and the error is in bounds."""
        bounded = self.largest_error <= LARGEST_ERROR
        return self.inputs == 1 << 32 and not self.failures and bounded

    def summary(self) -> str:
        """One line on the whole, and one for each fact that failed."""
        error = f"2^{math.log2(self.largest_error):.2f}" if self.largest_error else "0"
        where = f"{self.device.name}, driver {self.device.driver_version}: " if self.device else ""
        lines = [f"{where}ex2.approx.ftz.f32, {self.inputs} inputs, relative error at most {error}"]
        return "\n".join([*lines, *(f"  {key}: {count}" for key, count in self.failures.items())])


def judge_ex2(
    rows: Sequence[Sequence[int]] | Any, device: DeviceInfo | None = None, compiler: str = ""
) -> Ex2Attestation:
    """The attestation from what each thread counted: `SLOTS` numbers, the last the error's bits."""
    totals = [sum(int(row[check]) for row in rows) for check in range(SLOTS - 1)]
    largest = max(int(row[SLOTS - 1]) for row in rows)
    (error,) = struct.unpack("<d", struct.pack("<Q", largest))
    return Ex2Attestation(tuple(totals[:-1]), totals[-1], float(error), device, compiler)


def attest_ex2(device: Device | None = None) -> Ex2Attestation:
    """Try every input on `device` (the first one, if none is given).

    Raises `LaunchError` without a device and `CompileError` without a compiler for it.
    """
    import numpy

    device = device or Device()
    architecture = Architecture(device.capability[0] * 10 + device.capability[1]).name
    compiled = compile_cached(ex2_source(), architecture, kernels=[ENTRY], name="ex2.cu")
    module = device.load(compiled.cubin, architecture)
    threads = _THREADS * _BLOCKS
    (results,) = module.launch(
        ENTRY,
        grid=_BLOCKS,
        block=_THREADS,
        arguments=[
            numpy.uint32(0),
            numpy.uint32((1 << 32) // threads),
            Output((threads, SLOTS), numpy.uint64),
        ],
    )
    total = [*results[:, :-1].sum(axis=0).tolist(), int(results[:, -1].max())]
    return judge_ex2([total], device.info(), compiled.compiler)


def ex2_source() -> str:
    """The CUDA text of the counting kernel: row b * threads + t is that of thread t of block b."""
    row = expression(name("block") * _THREADS + name("thread"))
    text = cuda_file("attest", "ex2.cuh").replace("ROW", row)
    return f"constexpr unsigned threads = {_THREADS};\n\n{text}"
