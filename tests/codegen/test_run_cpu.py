"""Bundles on the machine that needs no device: right ones pass, wrong and racing ones do not."""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy
import pytest

from tylo.cli import main
from tylo.codegen.launch import Output, Pointer
from tylo.codegen.nvrtc import compile
from tylo.codegen.pack_operand_a.cuda_tests import CudaTest, cuda_tests
from tylo.codegen.pack_operand_a.source import kernel_source
from tylo.codegen.run import run_bundle
from tylo.codegen.run_cpu import MachineModule
from tylo.layouts.atoms import atom
from tylo.layouts.errors import GenerationError, LaunchError
from tylo.proofs.bundle import KERNEL, Bundle, GeneratedTest, Manifest, digest, write_bundle
from tylo.proofs.specifications.pack_operand_a import ENTRY, PackTile

NAMES = [
    "kernel.cu",
    "tests/coordinates.cu",
    "tests/shared_roundtrip.cu",
    "tests/second_instruction.cu",
]


@cache
def ptx_of(source: str, architecture: str) -> str:
    return compile(source, architecture, kernels=[ENTRY]).ptx


def bundle(
    folder: Path,
    tile: PackTile,
    *,
    source: str = "",
    tests: tuple[CudaTest, ...] = (),
    architectures: tuple[str, ...] = ("sm_80",),
) -> Path:
    """A bundle of kernel and tests alone: what runs, without proofs and their solvers."""
    source = source or kernel_source(tile)
    files = {KERNEL: source.encode()}
    files |= {f"ptx/{each}.ptx": ptx_of(source, each).encode() for each in architectures}
    files |= {f"tests/{test.name}.cu": test.source.encode() for test in tests}
    manifest = Manifest(
        specification="pack_operand_a",
        parameters={
            "atom": tile.atom.name,
            "repeats_m": tile.repeats_m,
            "pairs": tile.pairs,
            "warps_m": tile.warps_m,
        },
        architectures=architectures,
        compiler="",
        options=(),
        assumptions=(),
        tests=tuple(
            GeneratedTest(
                f"tests/{test.name}.cu", test.entry, test.threads, test.checks, test.result_words
            )
            for test in tests
        ),
        files={path: digest(content) for path, content in files.items()},
        version="0",
    )
    write_bundle(folder / "bundle", Bundle(manifest, files))
    return folder / "bundle"


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_a_bundle_passes(tmp_path: Path, dtype: str) -> None:
    tile = PackTile(atom(f"mma.m16n8k16.{dtype}"))
    folder = bundle(tmp_path, tile, tests=cuda_tests(tile))
    told: list[tuple[int, int]] = []
    report = run_bundle(folder, device="cpu", seeds=2, progress=lambda *each: told.append(each))
    assert report.passed, report.summary()
    assert [result.name for result in report.results] == NAMES
    assert report.results[0].checks == 64 * tile.elements
    assert report.summary().splitlines()[0] == "pack_operand_a for sm_80 on CPU machine"
    assert told == [(done, 8) for done in range(1, 9)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"f"(high), "f"(low)', '"f"(low), "f"(high)'),
        ("k < pairs", "k < pairs - 1"),
    ],
)
def test_a_wrong_kernel_fails(tmp_path: Path, old: str, new: str) -> None:
    tile = PackTile(atom("mma.m16n8k16.bf16"), 1, 2, 1)
    source = kernel_source(tile)
    assert old in source
    report = run_bundle(bundle(tmp_path, tile, source=source.replace(old, new)), device="cpu")
    assert not report.passed
    assert report.results[0].failures > 0
    assert "schedule 0: block 0, row " in report.results[0].first_failure


def test_a_race_fails_though_no_result_is_wrong(tmp_path: Path) -> None:
    tile = PackTile(atom("mma.m16n8k16.bf16"))
    test = cuda_tests(tile)[1]
    racing = CudaTest(
        test.name,
        test.source.replace("__syncthreads();", "", 1),
        test.entry,
        test.threads,
        test.checks,
    )
    assert racing.source != test.source
    report = run_bundle(bundle(tmp_path, tile, tests=(racing,)), device="cpu", seeds=4)
    kernel, raced = report.results
    assert kernel.passed
    assert not raced.passed
    assert "schedule 0: line " in raced.first_failure


def test_sm_80_is_chosen_and_else_the_first(tmp_path: Path) -> None:
    tile = PackTile(atom("mma.m16n8k16.f16"))
    for architectures, chosen in ((("sm_90a", "sm_80"), "sm_80"), (("sm_90a",), "sm_90a")):
        folder = bundle(tmp_path / chosen, tile, architectures=architectures)
        report = run_bundle(folder, device="cpu", seeds=1)
        assert (report.architecture, report.passed) == (chosen, True)


def test_no_schedules_are_refused(tmp_path: Path) -> None:
    folder = bundle(tmp_path, PackTile(atom("mma.m16n8k16.f16")))
    with pytest.raises(GenerationError, match="0 schedules"):
        run_bundle(folder, device="cpu", seeds=0)


def test_device_memory_is_refused() -> None:
    with pytest.raises(LaunchError, match="argument 0 is memory of a device"):
        MachineModule("", 0).launch("k", 1, 32, [Pointer(16)])


def test_the_command_reports_and_exits(tmp_path: Path, capsys: Any) -> None:
    tile = PackTile(atom("mma.m16n8k16.bf16"), 1, 2, 1)
    right = str(bundle(tmp_path / "right", tile))
    source = kernel_source(tile).replace("k < pairs", "k < pairs - 1")
    wrong = str(bundle(tmp_path / "wrong", tile, source=source))
    assert main(["run", right, "--device", "cpu", "--seeds", "1", "--json"]) == 0
    printed = capsys.readouterr()
    data = json.loads(printed.out)
    assert printed.err == ""
    assert data["schema"] == "tylo.run/1"
    assert data["device"]["name"] == "CPU machine"
    assert data["passed"]
    assert main(["run", wrong, "--device", "cpu", "--seeds", "1"]) == 1
    assert "FAILED" in capsys.readouterr().out
    assert main(["run", right, "--device", "cpu", "--seeds", "0"]) == 2
    assert "0 schedules" in capsys.readouterr().err


def test_a_bar_is_shown_on_a_terminal_alone(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(bundle(tmp_path, PackTile(atom("mma.m16n8k16.bf16"))))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert main(["run", folder, "--device", "cpu", "--seeds", "2"]) == 0
    shown = capsys.readouterr().err.split("\r")
    assert shown[1].startswith("###############...............")
    assert shown[1].endswith("1 of 2 runs")
    assert shown[-1] == ""


def test_an_output_that_nothing_wrote_is_poison() -> None:
    ptx = ".version 8.0 .target sm_80 .address_size 64 .entry k(.param .u64 y) { ret; }"
    (y,) = MachineModule(ptx, 0).launch("k", 1, 1, [Output(2, numpy.uint32)])
    assert y.tolist() == [0xFFFFFFFF] * 2
