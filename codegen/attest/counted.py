"""Approximate instructions, asked of every float32 pattern: a device counts what fails.

A kernel counts for each fact the inputs for which it fails, and measures the largest error against
a reference in float64 that does not use the instruction. `attest_counts` sums that up.

>>> errors = (("relative error", 0.5),)
>>> halving = Instruction("half.approx.f32", "entry", "half.cuh", ("of zero zero",), errors)
>>> judge_counts(halving, [[0, 1 << 32, 0]]).passed
True
>>> judge_counts(halving, [[3, 1 << 31, 0], [4, 1 << 31, 0]]).failures
{'of zero zero': 7}
>>> judge_counts(halving, [[0, 1 << 31, 0]]).passed
False
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

PATTERNS = 1 << 32
_THREADS, _BLOCKS = 256, 1024


@dataclass(frozen=True, slots=True)
class Instruction:
    """What is asked of an instruction: facts without exception, and errors with their bounds.

    `file` under ``cuda/attest`` holds the kernel `entry`. A thread leaves the failures of each
    check, the patterns tried, and the bits of the largest error of each kind as a float64.
    """

    spelling: str
    entry: str
    file: str
    checks: tuple[str, ...]
    errors: tuple[tuple[str, float], ...]

    @property
    def slots(self) -> int:
        """Numbers that each thread leaves."""
        return len(self.checks) + 1 + len(self.errors)


@dataclass(frozen=True, slots=True)
class Counts:
    """How often each fact failed, over how many inputs, and the largest error of each kind."""

    instruction: Instruction
    failed: tuple[int, ...]
    inputs: int
    errors: tuple[float, ...]
    device: DeviceInfo | None = None
    compiler: str = ""

    @property
    def failures(self) -> dict[str, int]:
        """The facts that failed, and for how many inputs."""
        counted = zip(self.instruction.checks, self.failed, strict=True)
        return {check: count for check, count in counted if count > 0}

    @property
    def passed(self) -> bool:
        """Whether all inputs were tried, no fact failed, and the errors are in bounds."""
        bounds = [bound for _, bound in self.instruction.errors]
        bounded = all(error <= bound for error, bound in zip(self.errors, bounds, strict=True))
        return self.inputs == PATTERNS and not self.failures and bounded

    def summary(self) -> str:
        """One line on the whole, and one for each fact that failed."""
        where = f"{self.device.name}, driver {self.device.driver_version}: " if self.device else ""
        errors = [
            f"{label} at most {_power(error)}"
            for (label, _), error in zip(self.instruction.errors, self.errors, strict=True)
        ]
        line = f"{where}{self.instruction.spelling}, {self.inputs} inputs, {', '.join(errors)}"
        return "\n".join([line, *(f"  {key}: {count}" for key, count in self.failures.items())])


def judge_counts(
    instruction: Instruction,
    rows: Sequence[Sequence[int]] | Any,
    device: DeviceInfo | None = None,
    compiler: str = "",
) -> Counts:
    """The attestation from what each thread left, `Instruction.slots` numbers a row."""
    checks = len(instruction.checks)
    totals = [sum(int(row[slot]) for row in rows) for slot in range(checks + 1)]
    # Bits of floats that are not negative are in the order of the floats, a NaN above all.
    largest = [max(int(row[slot]) for row in rows) for slot in range(checks + 1, instruction.slots)]
    errors = tuple(struct.unpack("<d", struct.pack("<Q", bits))[0] for bits in largest)
    return Counts(instruction, tuple(totals[:-1]), totals[-1], errors, device, compiler)


def attest_counts(instruction: Instruction, device: Device | None = None) -> Counts:
    """Try every input on `device` (the first one, if none is given).

    Raises `LaunchError` without a device and `CompileError` without a compiler for it.
    """
    import numpy

    device = device or Device()
    architecture = Architecture(device.capability[0] * 10 + device.capability[1]).name
    compiled = compile_cached(
        counting_source(instruction),
        architecture,
        kernels=[instruction.entry],
        name=instruction.file.replace(".cuh", ".cu"),
    )
    module = device.load(compiled.cubin, architecture)
    threads, summed = _THREADS * _BLOCKS, len(instruction.checks) + 1
    (results,) = module.launch(
        instruction.entry,
        grid=_BLOCKS,
        block=_THREADS,
        arguments=[
            numpy.uint32(0),
            numpy.uint32(PATTERNS // threads),
            Output((threads, instruction.slots), numpy.uint64),
        ],
    )
    total = [*results[:, :summed].sum(axis=0).tolist(), *results[:, summed:].max(axis=0).tolist()]
    return judge_counts(instruction, [total], device.info(), compiled.compiler)


def counting_source(instruction: Instruction) -> str:
    """The CUDA text of the kernel: row b * threads + t is that of thread t of block b."""
    row = expression(name("block") * _THREADS + name("thread"))
    text = cuda_file("attest", instruction.file).replace("ROW", row)
    return f"constexpr unsigned threads = {_THREADS};\n\n{text}"


def _power(error: float) -> str:
    """An error as a power of two."""
    return f"2^{math.log2(error):.2f}" if error > 0 else f"{error:g}"
