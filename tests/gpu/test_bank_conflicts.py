"""Bank conflicts: the count against cycles of a device, pattern by pattern."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tylo.codegen.bank_probe import (
    KERNELS,
    LADDER,
    Pattern,
    cycles_per_access,
    on_ladder,
    paired_patterns,
    patterns,
    source,
)
from tylo.codegen.launch import Device
from tylo.codegen.nvrtc import compile
from tylo.layouts.shared import wavefronts

pytestmark = pytest.mark.gpu

RUNGS = {"load_4": patterns()[: len(LADDER)], "store_4": patterns()[len(LADDER) : 2 * len(LADDER)]}
OTHERS = patterns()[2 * len(LADDER) :]


@pytest.fixture(scope="module")
def cycles(device: Device, architecture: str) -> Callable[[Pattern], float]:
    compiled = compile(source(), architecture, kernels=KERNELS, name="bank_probe.cu")
    module = device.load(compiled.cubin, architecture)
    return lambda pattern: cycles_per_access(module, pattern)


@pytest.fixture(scope="module")
def ladders(cycles: Callable[[Pattern], float]) -> dict[str, list[float]]:
    return {kernel: [cycles(rung) for rung in rungs] for kernel, rungs in RUNGS.items()}


@pytest.mark.parametrize("kernel", RUNGS)
def test_a_conflict_of_n_ways_takes_n_times_as_long(
    ladders: dict[str, list[float]], kernel: str
) -> None:
    assert [rung.kernel for rung in RUNGS[kernel]] == [kernel] * len(LADDER)
    rungs = ladders[kernel]
    print(kernel, dict(zip(LADDER, rungs, strict=True)))
    for ways, lower, upper in zip(LADDER[1:], rungs, rungs[1:], strict=False):
        # One access in a cycle is also as fast as a warp scheduler issues them.
        assert upper / lower > (1.4 if ways == 2 else 1.8)
        assert upper / lower < 2.2


@pytest.mark.parametrize("pattern", [*OTHERS, *paired_patterns()], ids=lambda pattern: pattern.name)
def test_the_count_is_what_the_device_takes(
    ladders: dict[str, list[float]], cycles: Callable[[Pattern], float], pattern: Pattern
) -> None:
    ladder = ladders["store_4" if pattern.kernel.startswith("store") else "load_4"]
    took = cycles(pattern)
    measured = on_ladder(took, ladder)
    count = wavefronts(pattern.access).total
    print(f"{pattern.name}: counted {count}, {took:.2f} cycles, on the ladder {measured:.2f}")
    assert measured == pytest.approx(count, rel=0.1, abs=0.25)
