"""Where kernels run in these tests: on a device, or on the machine that runs PTX without one.

Tests that need a device are marked `gpu` and skip, visibly and here alone, where there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

from tylo.codegen.architecture import Architecture
from tylo.codegen.launch import Device, Output
from tylo.codegen.nvrtc import compile
from tylo.codegen.pack_operand_a.cuda_tests import CudaTest, cuda_tests
from tylo.codegen.pack_operand_a.source import kernel_source
from tylo.layouts.atoms import atom
from tylo.layouts.errors import LaunchError
from tylo.proofs.bundle import KERNEL, Bundle, GeneratedTest, Manifest, digest, write_bundle
from tylo.proofs.ptx.machine.launch import Unwritten, launch
from tylo.proofs.specifications.pack_operand_a import ENTRY, PackTile

NO_DEVICE = ("cannot be loaded", "CUDA_ERROR_NO_DEVICE")
RunTest = Callable[[CudaTest], Any]


@pytest.fixture(scope="session")
def device() -> Device:
    """The first device; any trouble but its absence is an error."""
    try:
        return Device()
    except LaunchError as reason:
        if any(sign in str(reason) for sign in NO_DEVICE):
            pytest.skip(f"no CUDA device here: {reason}")
        raise


@pytest.fixture(scope="session")
def architecture(device: Device) -> str:
    major, minor = device.capability
    return Architecture(10 * major + minor, "a" if major >= 9 else "").name


@pytest.fixture
def run_on_device(device: Device, architecture: str) -> RunTest:
    """Compile a generated test, run it on the device, and give its result words."""

    def run(test: CudaTest) -> Any:
        compiled = compile(test.source, architecture, kernels=[test.entry], name=test.name)
        module = device.load(compiled.cubin, architecture)
        output = Output(test.result_words, numpy.uint32)
        (result,) = module.launch(test.entry, grid=1, block=test.threads, arguments=[output])
        return result

    return run


@pytest.fixture(params=["machine", pytest.param("device", marks=pytest.mark.gpu)])
def run_cuda_test(request: pytest.FixtureRequest) -> RunTest:
    """The same on the machine, and on the device."""
    if request.param == "machine":
        return run_on_machine
    on_device: RunTest = request.getfixturevalue("run_on_device")
    return on_device


def run_on_machine(test: CudaTest) -> Any:
    ptx = compile(test.source, "sm_80", kernels=[test.entry], name=test.name).ptx
    result = numpy.full(test.result_words, 0xFFFFFFFF, numpy.uint32)
    launch(ptx, test.entry, 1, test.threads, [Unwritten(result)], seed=3)
    return result


@pytest.fixture
def tile_of() -> Callable[..., PackTile]:
    return lambda dtype, sizes: PackTile(atom(f"mma.m16n8k16.{dtype}"), *sizes)


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    """Write a bundle of kernel and tests alone: what runs, without proofs and their solvers."""

    def write(tile: PackTile, *architectures: str, source: str = "", tests: bool = True) -> Path:
        source = source or kernel_source(tile)
        compiled = [compile(source, each, kernels=[ENTRY]) for each in architectures]
        generated = cuda_tests(tile) if tests else ()
        files = {KERNEL: source.encode()}
        files |= {f"cubin/{each.architecture}.cubin": each.cubin for each in compiled}
        files |= {f"tests/{test.name}.cu": test.source.encode() for test in generated}
        manifest = Manifest(
            specification="pack_operand_a",
            parameters={
                "atom": tile.atom.name,
                "repeats_m": tile.repeats_m,
                "pairs": tile.pairs,
                "warps_m": tile.warps_m,
            },
            architectures=architectures,
            compiler=compiled[0].compiler,
            options=(),
            assumptions=(),
            tests=tuple(
                GeneratedTest(
                    f"tests/{test.name}.cu",
                    test.entry,
                    test.threads,
                    test.checks,
                    test.result_words,
                )
                for test in generated
            ),
            files={path: digest(content) for path, content in files.items()},
            version="0",
        )
        write_bundle(tmp_path / "bundle", Bundle(manifest, files))
        return tmp_path / "bundle"

    return write
