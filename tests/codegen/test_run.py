"""What a run reports, of results that are made up here; real ones are in ``tests/gpu``."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest

from tylo.codegen import oracle, run
from tylo.codegen.launch import DeviceInfo
from tylo.codegen.pack_operand_a.cuda_test_data import float32_words
from tylo.codegen.run import RunReport, RunResult, chosen_architecture, compared, run_bundle
from tylo.layouts.errors import BundleError, GenerationError, LaunchError
from tylo.proofs.bundle import Bundle, GeneratedTest, Manifest

TEST = GeneratedTest("tests/one.cu", "one", 32, 512, 7)
DEVICE = DeviceInfo("Model 9000", (9, 0), "580.1", "13.0")


class Device:
    """Compiles nothing, runs nothing, and returns the words it was made with."""

    capability = (9, 0)

    def __init__(self, *results: Any) -> None:
        self.results = list(results)
        self.loaded: list[tuple[bytes, str]] = []

    def load(self, cubin: bytes, architecture: str) -> Device:
        self.loaded.append((cubin, architecture))
        return self

    def launch(self, entry: str, grid: int, block: int, arguments: list[Any]) -> list[Any]:
        result = self.results.pop(0)
        return [result(arguments) if callable(result) else numpy.array(result, numpy.uint32)]

    def info(self) -> DeviceInfo:
        return DEVICE


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = SimpleNamespace(cubin=b"compiled test")
    monkeypatch.setattr(run, "compile_cached", lambda *_, **__: compiled)


NOTHING = 0xFFFFFFFF


@pytest.mark.parametrize(
    ("words", "passes"),
    [
        ([512, 0, NOTHING, NOTHING, 0, 0, 0], True),
        ([511, 0, NOTHING, NOTHING, 0, 0, 0], False),
        ([513, 0, NOTHING, NOTHING, 0, 0, 0], False),
        ([512, 1, 40, 8, 3, 0x3F80, 0x3F81], False),
        ([NOTHING] * 7, False),
        ([0, 0, NOTHING, NOTHING, 0, 0, 0], False),
    ],
)
@pytest.mark.usefixtures("no_compiler")
def test_a_generated_test_passes_by_its_count_alone(words: list[int], passes: bool) -> None:
    result = run.run_test(Device(words), "", TEST, "sm_90a")
    assert result.passed is passes
    assert ("passed" in str(result)) is passes


@pytest.mark.usefixtures("no_compiler")
def test_the_first_failure_is_shown() -> None:
    result = run.run_test(Device([512, 2, 40, 8, 3, 0x3F80, 0x3F81]), "", TEST, "sm_90a")
    assert str(result) == (
        "tests/one.cu: FAILED, 512 of 512 checks, 2 failed; "
        "first: check 40, thread 8, place 3: expected 0x3f80, found 0x3f81"
    )


def test_a_test_that_states_no_checks_does_not_pass() -> None:
    assert not RunResult("tests/none.cu", 0, 0, 0).passed


@pytest.mark.usefixtures("no_compiler")
def test_results_of_another_length_are_refused() -> None:
    other = GeneratedTest("tests/one.cu", "one", 32, 512, 8)
    with pytest.raises(GenerationError, match="8 result words"):
        run.run_test(Device(), "", other, "sm_90a")


def packed(values: Any) -> Any:
    """Rounded words as a right kernel leaves them."""
    halves = oracle.rounded(values, "bf16").astype(numpy.uint32)
    return halves[..., 0::2] | halves[..., 1::2] << 16


def bundle(**entries: Any) -> Bundle:
    fields: dict[str, Any] = {
        "specification": "pack_operand_a",
        "parameters": {"atom": "mma.m16n8k16.bf16"},
        "architectures": ("sm_80", "sm_90a"),
        "compiler": "",
        "options": (),
        "assumptions": (),
        "tests": (TEST,),
        "files": {},
        "version": "0",
    }
    files = {"cubin/sm_80.cubin": b"80", "cubin/sm_90a.cubin": b"90a", "tests/one.cu": b""}
    return Bundle(Manifest(**{**fields, **entries}), files)


@pytest.mark.usefixtures("no_compiler")
def test_a_bundle_runs_its_own_machine_code_and_its_tests() -> None:
    device = Device(lambda arguments: packed(arguments[0].array), [512, 0, NOTHING, 0, 0, 0, 0])
    report = run.run_on(device, bundle())
    assert device.loaded == [(b"90a", "sm_90a"), (b"compiled test", "sm_90a")]
    assert report.passed
    assert [result.name for result in report.results] == ["kernel.cu", "tests/one.cu"]
    assert report.results[0].checks == 64 * 256
    assert report.summary().splitlines()[0] == (
        "pack_operand_a for sm_90a on Model 9000, driver 580.1"
    )


@pytest.mark.usefixtures("no_compiler")
@pytest.mark.parametrize("bit", [0, 15, 16, 31])
def test_one_wrong_bit_fails(bit: int) -> None:
    def wrong(arguments: list[Any]) -> Any:
        words = packed(arguments[0].array)
        finite = (words & 0x7F80 != 0x7F80) & (words >> 16 & 0x7F80 != 0x7F80)
        block, row, word = numpy.argwhere(finite)[-1]
        words[block, row, word] ^= numpy.uint32(1 << bit)
        return words

    report = run.run_on(Device(wrong, [512, 0, NOTHING, 0, 0, 0, 0]), bundle())
    assert not report.passed
    assert report.results[0].failures == 1
    assert report.results[0].first_failure.startswith("block 63, row 15, column ")


def test_poison_fails_and_a_nan_may_have_any_payload() -> None:
    values = float32_words(512, "f16", 1).view(numpy.float32).reshape(2, 16, 16)
    expected = oracle.rounded(values, "f16")
    poison = numpy.full((2, 16, 8), 0xFFFFFFFF, numpy.uint32)
    nan = int(numpy.isnan(values).sum())
    assert nan > 0
    assert compared(expected, poison, "f16").failures == 512 - nan


def test_other_devices_are_refused(tmp_path: Path) -> None:
    with pytest.raises(GenerationError, match="no device 'tpu'"):
        run_bundle(tmp_path, device="tpu")


def test_a_folder_without_a_manifest_is_no_bundle(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"holds no manifest\.json"):
        run_bundle(tmp_path)


@pytest.mark.parametrize(
    ("specification", "runs"), [("pack_operand_a", True), ("attention", False)]
)
def test_without_a_device_the_way_out_is_the_machine_where_it_runs_the_kernel(
    monkeypatch: pytest.MonkeyPatch, specification: str, runs: bool
) -> None:
    def missing() -> None:
        raise LaunchError("no driver", hint="proofs work without it")

    monkeypatch.setattr(run, "Device", missing)
    monkeypatch.setattr(run, "read_bundle", lambda path: bundle(specification=specification))
    with pytest.raises(LaunchError, match="no driver; proofs work without it") as refused:
        run_bundle("anywhere")
    assert ("device='cpu'" in str(refused.value)) == runs


def test_a_theorem_has_nothing_to_run() -> None:
    with pytest.raises(GenerationError, match="nothing here runs 'adjacent_atoms'"):
        run.run_on(Device(), bundle(specification="adjacent_atoms"))


def test_a_device_without_machine_code_is_refused() -> None:
    with pytest.raises(LaunchError, match=r"sm_80, sm_90a, .* compute capability 12\.0"):
        chosen_architecture(("sm_80", "sm_90a"), (12, 0))


def test_the_closest_architecture_is_chosen() -> None:
    assert chosen_architecture(("sm_80", "sm_86", "sm_90a"), (8, 9)) == "sm_86"
    assert chosen_architecture(("sm_90", "sm_90a"), (9, 0)) == "sm_90a"


def test_a_report_without_results_does_not_pass() -> None:
    assert not RunReport("pack_operand_a", {}, "sm_90a", DEVICE, ()).passed
