"""Predicted against measured shared-memory wavefronts: `python benchmarks/bank_conflicts.py`.

Without an option, a timing ladder: cycles per access of every pattern, placed between the rungs of
conflicts of 1 to 32 ways. With `--ncu [PATH]`, the hardware counters: the script runs itself under
Nsight Compute and prints, for every pattern, predicted and measured wavefronts of a whole launch
and the conflicts that the device reports. `--once` launches every pattern once, in the order it
prints, for use under a profiler by hand:

    ncu --clock-control none --metrics \\
    l1tex__data_pipe_lsu_wavefronts_mem_shared.sum,\\
    l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum \\
    python benchmarks/bank_conflicts.py --once

Exit code 1: a prediction fails. The last patterns ask when phases of lanes in pairs merge.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
from collections.abc import Iterator

from tylo.codegen.architecture import Architecture
from tylo.codegen.bank_probe import (
    KERNELS,
    LADDER,
    Pattern,
    cycles_per_access,
    expected_wavefronts,
    launch_pattern,
    on_ladder,
    paired_patterns,
    patterns,
    source,
)
from tylo.codegen.launch import Device, Module
from tylo.codegen.nvrtc import compile
from tylo.layouts.shared import wavefronts

WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"
ONCE = {"warps": 1, "turns": 128}


def loaded() -> Module:
    device = Device()
    major, minor = device.capability
    name = Architecture(10 * major + minor, "a" if major >= 9 else "").name
    compiled = compile(source(), name, kernels=KERNELS, name="bank_probe.cu")
    return device.load(compiled.cubin, name)


def predicted(pattern: Pattern) -> int:
    return wavefronts(pattern.access).total


def timing_ladder() -> int:
    module = loaded()
    ladder = [cycles_per_access(module, rung) for rung in patterns()[: len(LADDER)]]
    print("ladder, cycles per access:", ", ".join(f"{c:.2f}" for c in ladder))
    print(f"{'pattern':42} {'predicted':>9} {'cycles':>8} {'on ladder':>9}")
    wrong = 0
    for pattern in (*patterns(), *paired_patterns()):
        cycles, count = cycles_per_access(module, pattern), predicted(pattern)
        measured = on_ladder(cycles, ladder)
        agrees = abs(measured - count) <= 0.1 * count + 0.25
        wrong += not agrees
        verdict = "" if agrees else "differs"
        print(f"{pattern.name:42} {count:9} {cycles:8.2f} {measured:9.2f} {verdict}")
    return 1 if wrong else 0


def once() -> int:
    module = loaded()
    for number, pattern in enumerate((*patterns(), *paired_patterns())):
        launch_pattern(module, pattern, **ONCE)
        count = expected_wavefronts(predicted(pattern), **ONCE)
        print(f"launch {number}: {pattern.kernel}, {pattern.name}: predicted {count}", flush=True)
    return 0


def counters(ncu: str) -> int:
    command = [ncu, "--csv", "--clock-control", "none", "--metrics", f"{WAVEFRONTS},{CONFLICTS}"]
    done = subprocess.run(
        [*command, sys.executable, __file__, "--once"], capture_output=True, text=True, check=False
    )
    measured = list(readings(done.stdout))
    every = (*patterns(), *paired_patterns())
    if done.returncode or len(measured) != len(every):
        print(done.stdout, done.stderr, file=sys.stderr)
        print(f"{ncu} reported {len(measured)} of {len(every)} launches", file=sys.stderr)
        return 2
    counts = [expected_wavefronts(predicted(pattern), **ONCE) for pattern in every]
    # What starting a block costs is the same for every pattern, so that it cannot hide a conflict.
    start = min(
        values[WAVEFRONTS] - count
        for _, count, (_, values) in zip(patterns(), counts, measured, strict=False)
    )
    print(f"{start} wavefronts of each launch are its start, and are subtracted")
    print(f"{'pattern':42} {'predicted':>9} {'measured':>9} {'conflicts':>9}")
    wrong = 0
    for pattern, count, (kernel, values) in zip(every, counts, measured, strict=True):
        values[WAVEFRONTS] -= start
        agrees = kernel.startswith(pattern.kernel) and values[WAVEFRONTS] == count
        wrong += not agrees
        verdict = "" if agrees else "differs"
        print(f"{pattern.name:42} {count:9} {values[WAVEFRONTS]:9} {values[CONFLICTS]:9} {verdict}")
    return 1 if wrong else 0


def readings(text: str) -> Iterator[tuple[str, dict[str, int]]]:
    """Kernel and metrics of each launch, from Nsight Compute's CSV, one row for each metric."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    launches: dict[str, tuple[str, dict[str, int]]] = {}
    for row in csv.DictReader(lines):
        kernel, values = launches.setdefault(row["ID"], (row["Kernel Name"], {}))
        values[row["Metric Name"]] = round(float(row["Metric Value"].replace(",", "")))
    for kernel, values in launches.values():
        if kernel.startswith(KERNELS):
            yield kernel, values


def main() -> int:
    parser = argparse.ArgumentParser(description="predicted against measured wavefronts")
    parser.add_argument("--ncu", nargs="?", const="ncu", help="read counters by this ncu")
    parser.add_argument("--once", action="store_true", help="launch each pattern once")
    options = parser.parse_args()
    if options.once:
        return once()
    return counters(options.ncu) if options.ncu else timing_ladder()


if __name__ == "__main__":
    sys.exit(main())
