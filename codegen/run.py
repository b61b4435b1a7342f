"""Running a bundle: its kernel against the oracle, and its generated tests.

    report = run_bundle("out/pack")
    assert report.passed, report.summary()

On a device the machine code is the bundle's own, and without one its PTX, run by
`tylo.proofs.ptx.machine`; the tests are compiled from the bundle's text by the compiler at hand.
Every output is poisoned before a launch, so that what a kernel forgets to write is found.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tylo.codegen import oracle
from tylo.codegen.architecture import parse_architecture
from tylo.codegen.attention.run import compared_outputs
from tylo.codegen.cache import compile_cached
from tylo.codegen.launch import Device, DeviceInfo, Input, Module, Output
from tylo.codegen.pack_operand_a.cuda_test_data import float32_words
from tylo.codegen.pack_operand_a.cuda_tests import RESULT_WORDS
from tylo.codegen.run_cpu import (
    MachineModule,
    Progress,
    machine_architecture,
    machine_info,
    schedules,
)
from tylo.codegen.softmax.run import compared_rows
from tylo.layouts.errors import GenerationError, LaunchError
from tylo.proofs.bundle import KERNEL, Bundle, GeneratedTest, read_bundle
from tylo.proofs.specifications import pack_tile
from tylo.proofs.specifications.pack_operand_a import ENTRY

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLOCKS = 64
_SEED = 5


@dataclass(frozen=True, slots=True)
class RunResult:
    """One kernel's run: checks made of those stated, checks failed, and the first that failed."""

    name: str
    stated: int
    checks: int
    failures: int
    first_failure: str = ""

    @property
    def passed(self) -> bool:
        """Every stated check was made, and none failed."""
        return self.stated == self.checks > 0 and self.failures == 0

    def __str__(self) -> str:
        verdict = "passed" if self.passed else "FAILED"
        line = (
            f"{self.name}: {verdict}, {self.checks} of {self.stated} checks, {self.failures} failed"
        )
        return f"{line}; first: {self.first_failure}" if self.first_failure else line


@dataclass(frozen=True, slots=True)
class RunReport:
    """What ran where: the bundle's specification, the device, and one result per kernel."""

    specification: str
    parameters: Mapping[str, int | str]
    architecture: str
    device: DeviceInfo
    results: tuple[RunResult, ...]

    @property
    def passed(self) -> bool:
        """Whether every kernel passed."""
        return bool(self.results) and all(result.passed for result in self.results)

    def summary(self) -> str:
        """A line for the device and one per kernel."""
        head = f"{self.specification} for {self.architecture} on {self.device.name}"
        if self.device.driver_version:
            head += f", driver {self.device.driver_version}"
        return "\n".join([head, *(str(result) for result in self.results)])


def run_bundle(
    path: str | os.PathLike[str],
    *,
    device: str = "gpu",
    seeds: int = 3,
    progress: Progress | None = None,
) -> RunReport:
    """Run the kernel and the generated tests of the bundle in `path`.

    On the ``"cpu"`` machine each runs under `seeds` random schedules of its warps, and `progress`
    is told how many runs are done, and of how many.

    Raises `BundleError` for a folder that is not the bundle its manifest says, `GenerationError`
    for a device or a specification that nothing here runs, and `LaunchError` where there is no
    device or the bundle holds no machine code for it.
    """
    if device == "cpu":
        return run_on_machine(read_bundle(path), seeds=seeds, progress=progress)
    if device != "gpu":
        raise GenerationError(f"no device {device!r}", hint="use device='gpu' or device='cpu'")
    bundle = read_bundle(path)
    try:
        opened = Device()
    except LaunchError as reason:
        if bundle.manifest.specification == "attention":
            raise
        ways = (reason.hint, "device='cpu' runs the bundle's PTX without one")
        raise LaunchError(reason.message, hint="; ".join(filter(None, ways))) from reason
    return run_on(opened, bundle)


def run_on(device: Device, bundle: Bundle) -> RunReport:
    """Run a bundle that was read already, on a device that is open already."""
    manifest = bundle.manifest
    runner = _runner(manifest.specification)
    architecture = chosen_architecture(manifest.architectures, device.capability)
    module = device.load(bundle.files[f"cubin/{architecture}.cubin"], architecture)
    results = [runner(module, manifest.parameters)]
    for test in manifest.tests:
        results.append(run_test(device, bundle.text(test.file), test, architecture))
    return RunReport(
        specification=manifest.specification,
        parameters=manifest.parameters,
        architecture=architecture,
        device=device.info(),
        results=tuple(results),
    )


def run_on_machine(
    bundle: Bundle, *, seeds: int = 3, progress: Progress | None = None
) -> RunReport:
    """Run a bundle that was read already on the machine that needs no device.

    A kernel's result is that of its first schedule that fails, or of the first one.
    """
    manifest = bundle.manifest
    runner = _runner(manifest.specification)
    architecture = machine_architecture(manifest.architectures)
    order = list(schedules(seeds))
    runs = len(order) * (1 + len(manifest.tests))
    done = 0

    def worst(ptx: str, name: str, run: Callable[[MachineModule], RunResult]) -> RunResult:
        nonlocal done
        results = []
        for seed in order:
            results.append(_one_schedule(MachineModule(ptx, seed), name, run))
            done += 1
            if progress is not None:
                progress(done, runs)
        return next((each for each in results if not each.passed), results[0])

    results = [
        worst(
            bundle.text(f"ptx/{architecture}.ptx"),
            KERNEL,
            lambda module: runner(module, manifest.parameters),
        )
    ]
    for test in manifest.tests:
        _require_result_words(test)
        compiled = compile_cached(
            bundle.text(test.file), architecture, kernels=[test.entry], name=test.file
        )
        results.append(worst(compiled.ptx, test.file, partial(_test_result, test=test)))
    return RunReport(
        specification=manifest.specification,
        parameters=manifest.parameters,
        architecture=architecture,
        device=machine_info(architecture),
        results=tuple(results),
    )


def _one_schedule(
    module: MachineModule, name: str, run: Callable[[MachineModule], RunResult]
) -> RunResult:
    """A result that says under which schedule it failed; a fault of the kernel is a failure."""
    from tylo.proofs.ptx.machine.faults import MachineFault

    try:
        result = run(module)
    except MachineFault as fault:
        result = RunResult(name, 0, 0, 1, str(fault))
    if result.passed:
        return result
    return replace(result, first_failure=f"schedule {module.seed}: {result.first_failure}")


def _runner(specification: str) -> Callable[..., RunResult]:
    if specification not in _RUNNERS:
        raise GenerationError(
            f"nothing here runs {specification!r}",
            hint=f"bundles that run: {', '.join(_RUNNERS)}",
        )
    return _RUNNERS[specification]


def chosen_architecture(architectures: tuple[str, ...], capability: tuple[int, int]) -> str:
    """The architecture of a bundle that a device of that capability runs, the closest to it.

    >>> chosen_architecture(("sm_80", "sm_90a", "sm_120"), (8, 6))
    'sm_80'
    >>> chosen_architecture(("sm_80", "sm_90a"), (9, 0))
    'sm_90a'
    """
    fitting = [each for each in architectures if parse_architecture(each).runs_on(capability)]
    if not fitting:
        major, minor = capability
        raise LaunchError(
            f"the bundle holds machine code for {', '.join(architectures)}, and this device has "
            f"compute capability {major}.{minor}",
            hint=f"generate it with sm_{major}{minor} among its architectures",
        )
    parsed = map(parse_architecture, fitting)
    return max(parsed, key=lambda each: (each.number, each.suffix)).name


def run_test(device: Device, source: str, test: GeneratedTest, architecture: str) -> RunResult:
    """Compile and run one self-checking kernel; it passes by its own count and no other way."""
    _require_result_words(test)
    compiled = compile_cached(source, architecture, kernels=[test.entry], name=test.file)
    return _test_result(device.load(compiled.cubin, architecture), test)


def _require_result_words(test: GeneratedTest) -> None:
    if test.result_words != RESULT_WORDS:
        raise GenerationError(
            f"{test.file} states {test.result_words} result words",
            hint=f"this version reads results of {RESULT_WORDS} words",
        )


def _test_result(module: Module | MachineModule, test: GeneratedTest) -> RunResult:
    import numpy

    (result,) = module.launch(
        test.entry,
        grid=1,
        block=test.threads,
        arguments=[Output(test.result_words, numpy.uint32)],
    )
    checks, failures, number, thread, place, expected, actual = (int(word) for word in result)
    failure = (
        f"check {number}, thread {thread}, place {place}: expected {expected:#x}, found {actual:#x}"
    )
    return RunResult(test.file, test.checks, checks, failures, failure if failures else "")


def _run_pack_operand_a(
    module: Module | MachineModule, parameters: Mapping[str, int | str]
) -> RunResult:
    import numpy

    tile = pack_tile(parameters)
    dtype = tile.atom.operand("A").dtype
    rows, columns = tile.shape
    words = float32_words(_BLOCKS * tile.elements, dtype, _SEED)
    values = words.view(numpy.float32).reshape(_BLOCKS, rows, columns)
    (packed,) = module.launch(
        ENTRY,
        grid=_BLOCKS,
        block=tile.threads,
        arguments=[Input(values), Output((_BLOCKS, rows, columns // 2), numpy.uint32)],
    )
    return compared(oracle.rounded(values, dtype), packed, dtype)


def compared(expected: NDArray[Any], packed: NDArray[Any], dtype: str) -> RunResult:
    """The halves of packed words against expected patterns, ``[block, row, column]``."""
    import numpy

    found = numpy.stack([packed & 0xFFFF, packed >> 16], axis=-1).reshape(expected.shape)
    wrong = numpy.argwhere(~oracle.same_patterns(expected, found, dtype))
    failure = ""
    if len(wrong):
        block, row, column = at = tuple(int(index) for index in wrong[0])
        failure = (
            f"block {block}, row {row}, column {column}: "
            f"expected {int(expected[at]):#x}, found {int(found[at]):#x}"
        )
    return RunResult(KERNEL, expected.size, found.size, len(wrong), failure)


def _run_softmax(module: Module | MachineModule, parameters: Mapping[str, int | str]) -> RunResult:
    checks, failed, first = compared_rows(module, parameters)
    return RunResult(KERNEL, checks, checks, int(failed.sum()), first)


def _run_attention(
    module: Module | MachineModule, parameters: Mapping[str, int | str]
) -> RunResult:
    if isinstance(module, MachineModule):
        raise GenerationError(
            "the CPU machine has no wgmma and no tensor copies", hint="use device='gpu'"
        )
    checks, failures, first = compared_outputs(module, parameters)
    return RunResult(KERNEL, checks, checks, failures, first)


_RUNNERS: Mapping[str, Callable[[Any, Mapping[str, int | str]], RunResult]] = MappingProxyType(
    {
        "pack_operand_a": _run_pack_operand_a,
        "softmax": _run_softmax,
        "attention": _run_attention,
    }
)
