"""Attestation: the instruction tables measured on hardware, element by element.

The tables of `tylo.layouts.atoms` are the only axioms about layouts, so a device is asked. For
every element of A and every element of B, by lane and register number, exactly those two are set to
one: D is one in one place, or nowhere. That relation decides every table up to a common renaming of
rows, of columns and of k. Matrices that lie row-major in memory and reach the registers through
``ldmatrix`` fix the names.

    report = attest()
    assert report.passed, report.summary()

The report names the device, its driver and the day; what it says is about that device.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tylo.codegen.architecture import Architecture
from tylo.codegen.attest.judge import Judged, Mismatch, TableAttestation, judge
from tylo.codegen.attest.probes import (
    LANES,
    Observed,
    memory_matrices,
    one_hot_floats,
    one_hot_words,
    row_starts,
)
from tylo.codegen.cache import compile_cached
from tylo.codegen.cuda_files import cuda_file
from tylo.codegen.launch import Device, DeviceInfo, Input, Module, Output
from tylo.layouts.atoms import Atom
from tylo.layouts.atoms.mma_m16n8k16 import ATOMS

__all__ = [
    "Attestation",
    "Judged",
    "Mismatch",
    "Observed",
    "TableAttestation",
    "attest",
    "attestation_source",
    "judge",
]

PRODUCTS = "tylo_attest_products"
MEMORY = "tylo_attest_memory"


@dataclass(frozen=True, slots=True)
class Attestation:
    """What a device said about the tables: one verdict per atom, the device, and the day."""

    tables: tuple[TableAttestation, ...]
    device: DeviceInfo
    compiler: str
    date: str

    @property
    def passed(self) -> bool:
        """Whether every table of every atom agrees with the device."""
        return bool(self.tables) and all(table.passed for table in self.tables)

    def summary(self) -> str:
        """A line per atom, and one per check that failed."""
        lines = [f"{self.device.name}, driver {self.device.driver_version}, {self.date}"]
        for table in self.tables:
            compared = sum(check.comparisons for check in table.checks)
            lines.append(
                f"{table.atom}: {table.probes} probes, {table.hits} hits, {compared} comparisons, "
                f"{sum(check.failures for check in table.checks)} mismatches"
            )
            lines += [
                f"  {check.check}: {check.failures} mismatches, first {check.mismatches[0]}"
                for check in table.checks
                if check.failures
            ]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Plain data for reports."""
        return {"schema": "tylo.attestation/1", "passed": self.passed, **asdict(self)}


def attest(device: Device | None = None, atoms: Sequence[Atom] = ATOMS) -> Attestation:
    """Measure the tables of `atoms` on `device` (the first one, if none is given).

    Raises `LaunchError` without a device and `CompileError` without a compiler for it.
    """
    device = device or Device()
    architecture = Architecture(device.capability[0] * 10 + device.capability[1]).name
    tables, compiler = [], ""
    for atom in atoms:
        compiled = compile_cached(
            attestation_source(atom), architecture, kernels=[PRODUCTS, MEMORY], name="attest.cu"
        )
        compiler = compiled.compiler
        module = device.load(compiled.cubin, architecture)
        tables.append(judge(atom, _observe(module, atom.operand("A").dtype)))
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return Attestation(tuple(tables), device.info(), compiler, today)


def attestation_source(atom: Atom) -> str:
    """The CUDA text that probes `atom`."""
    return "\n".join(
        [
            cuda_file(f"mma_m16n8k16_{atom.operand('A').dtype}.cuh"),
            cuda_file("ldmatrix.cuh"),
            cuda_file("ldmatrix_transposed.cuh"),
            cuda_file("attest", "products.cuh"),
            cuda_file("attest", "memory.cuh"),
        ]
    )


def _observe(module: Module, dtype: str) -> Observed:
    import numpy

    a, b, c = one_hot_words(8, dtype), one_hot_words(4, dtype), one_hot_floats(4)
    lefts, rights = memory_matrices(dtype)
    cases = len(lefts)
    left, right, results = module.launch(
        MEMORY,
        grid=cases,
        block=LANES,
        arguments=[
            Input(lefts),
            Input(rights),
            Input(row_starts()),
            Output((cases, LANES, 4), numpy.uint32),
            Output((cases, LANES, 4), numpy.uint32),
            Output((cases, LANES, 8), numpy.float32),
        ],
    )
    return Observed(
        products=_products(module, a, b, numpy.zeros_like(c)),
        added=_products(module, a[:1] * 0, b * 0, c)[0],
        left=left[0].view(numpy.uint16),
        right=right[0].view(numpy.uint16),
        results=results[1:],
    )


def _products(module: Module, lefts: Any, rights: Any, added: Any) -> Any:
    import numpy

    (results,) = module.launch(
        PRODUCTS,
        grid=len(lefts),
        block=LANES,
        arguments=[
            Input(lefts),
            Input(rights),
            Input(added),
            Output((len(lefts), len(rights), LANES, 4), numpy.float32),
            numpy.uint32(len(rights)),
        ],
    )
    return results
