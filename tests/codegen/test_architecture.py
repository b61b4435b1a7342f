"""Architectures: what parses, what is refused, and where machine code runs."""

from __future__ import annotations

import pytest

from tylo.codegen.architecture import Architecture, parse_architecture, require_supported
from tylo.layouts.errors import CompileError

# (written, capability of the device, whether it runs): CUDA C++ Programming Guide, binary
# compatibility, and the meaning of the suffixes a and f.
RUNS = [
    ("sm_80", (8, 0), True),
    ("sm_80", (8, 6), True),
    ("sm_80", (8, 9), True),
    ("sm_80", (9, 0), False),
    ("sm_86", (8, 0), False),
    ("sm_90", (9, 0), True),
    ("sm_90a", (9, 0), True),
    ("sm_90a", (10, 0), False),
    ("sm_100", (10, 3), True),
    ("sm_100a", (10, 0), True),
    ("sm_100a", (10, 3), False),
    ("sm_100f", (10, 0), True),
    ("sm_100f", (10, 3), True),
    ("sm_100f", (12, 0), False),
    ("sm_103f", (10, 0), False),
    ("sm_120", (12, 1), True),
    ("sm_120a", (12, 1), False),
    ("sm_120", (10, 0), False),
]


@pytest.mark.parametrize(("written", "capability", "runs"), RUNS)
def test_machine_code_runs_where_cuda_says(
    written: str, capability: tuple[int, int], runs: bool
) -> None:
    assert parse_architecture(written).runs_on(capability) is runs


@pytest.mark.parametrize("written", sorted({written for written, _, _ in RUNS}))
def test_names_survive_a_round_trip(written: str) -> None:
    assert parse_architecture(written).name == written


@pytest.mark.parametrize(
    "written",
    ["", "sm90", "SM_90", "sm_9", "sm_90b", "sm_90 a", "sm_090", "90a", "sm_90a\n", "lto_90"],
)
def test_anything_else_is_refused_by_name(written: str) -> None:
    with pytest.raises(CompileError, match="not an architecture") as caught:
        parse_architecture(written)
    assert repr(written) in str(caught.value)


@pytest.mark.parametrize("written", ["compute_90", "compute_90a", "compute_120"])
def test_virtual_architectures_are_refused_with_the_reason(written: str) -> None:
    with pytest.raises(CompileError) as caught:
        parse_architecture(written)
    assert "virtual" in str(caught.value)
    assert written.replace("compute", "sm") in caught.value.hint


@pytest.mark.parametrize("written", ["sm_80a", "sm_89a", "sm_90f"])
def test_a_suffix_before_its_time_is_refused(written: str) -> None:
    with pytest.raises(CompileError, match="does not exist"):
        parse_architecture(written)


@pytest.mark.parametrize(
    ("number", "direction"), [(70, "older compiler"), (999, "newer compiler"), (88, "another")]
)
def test_unsupported_names_compiler_list_and_direction(number: int, direction: str) -> None:
    with pytest.raises(CompileError) as caught:
        require_supported(Architecture(number), "NVRTC 13.0.88", [90, 75, 100])
    message = str(caught.value)
    assert "NVRTC 13.0.88" in message
    assert "sm_75, sm_90, sm_100" in message
    assert direction in message


def test_the_suffix_does_not_hide_a_supported_number() -> None:
    require_supported(Architecture(90, "a"), "NVRTC 13.0.88", [75, 90])
