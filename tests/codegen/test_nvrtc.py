"""Compiling: what comes back, and what is an error that NVRTC lets pass."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tylo.codegen.nvrtc import BASE_OPTIONS, compile, compiler_info
from tylo.codegen.nvrtc.diagnostics import explain, numbered
from tylo.codegen.nvrtc.options import checked_options
from tylo.layouts.errors import CompileError

KERNEL = 'extern "C" __global__ void k(float* x) { x[threadIdx.x] = 1.0f; }'

SUPPORTED = ["sm_80", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_120", "sm_120a"]


@pytest.mark.parametrize("architecture", SUPPORTED)
def test_ptx_and_machine_code_come_from_one_program(architecture: str) -> None:
    compiled = compile(KERNEL, architecture, kernels=["k"])
    assert re.search(rf"^\.target {architecture}$", compiled.ptx, re.MULTILINE)
    assert compiled.cubin.startswith(b"\x7fELF")
    assert compiled.architecture == architecture
    assert compiled.entries == ("k",)
    assert compiled.options == (f"--gpu-architecture={architecture}", *BASE_OPTIONS)


def test_the_compiler_is_named_in_full() -> None:
    compiled = compile(KERNEL, "sm_80", kernels=["k"])
    assert re.fullmatch(r"NVRTC \d+\.\d+\.\d+", compiled.compiler)
    assert compiled.compiler.removeprefix("NVRTC ") in compiled.ptx


def test_products_and_sums_are_not_contracted() -> None:
    source = 'extern "C" __global__ void k(float* x) { x[0] = x[1] * x[2] + x[3]; }'
    ptx = compile(source, "sm_90a", kernels=["k"]).ptx
    assert "fma" not in ptx
    assert re.search(r"mul(\.rn)?\.f32", ptx)
    assert re.search(r"add(\.rn)?\.f32", ptx)
    assert ".ftz" not in ptx


@pytest.mark.parametrize(
    "option",
    [
        "--use_fast_math",
        "-use_fast_math",
        "--use-fast-math",
        "--fmad=true",
        "-fmad",
        "--ftz=true",
        "--prec-div=false",
        "-prec-sqrt=false",
        "--gpu-architecture=sm_80",
        "-arch=sm_80",
        "--std=c++20",
    ],
)
def test_no_option_may_change_the_numbers(option: str) -> None:
    with pytest.raises(CompileError, match="Tylo's to choose") as caught:
        compile(KERNEL, "sm_90a", kernels=["k"], options=[option])
    assert option in str(caught.value)


def test_other_options_reach_the_compiler() -> None:
    source = '#if ANSWER == 42\nextern "C" __global__ void k() {}\n#endif'
    compiled = compile(source, "sm_80", kernels=["k"], options=["-DANSWER=42"])
    assert compiled.options[-1] == "-DANSWER=42"
    with pytest.raises(CompileError, match="no kernel named 'k'"):
        compile(source, "sm_80", kernels=["k"], options=["-DANSWER=41"])


def test_the_errors_show_numbered_lines_and_their_count() -> None:
    source = "\n".join(["// one", "// two", "int f() { return a; }", "// four"] * 5)
    with pytest.raises(CompileError) as caught:
        compile(source, "sm_80", kernels=["k"], name="wrong.cu")
    message = str(caught.value)
    assert 'wrong.cu line 3: identifier "a" is undefined' in message
    assert "> 3 | int f() { return a; }" in message
    assert "  2 | // two" in message
    assert "  4 | // four" in message
    assert "for sm_80" in message
    assert compiler_info().name in message
    assert re.search(r"and \d+ more", message)


def test_errors_of_the_assembler_show_the_ptx() -> None:
    source = 'extern "C" __global__ void k() { asm volatile("wgmma.fence.sync.aligned;"); }'
    with pytest.raises(CompileError) as caught:
        compile(source, "sm_80", kernels=["k"])
    assert re.search(r"> \d+ \|\s+wgmma\.fence\.sync\.aligned;", str(caught.value))
    assert "sm_90a" in caught.value.hint
    compile(source, "sm_90a", kernels=["k"])


def test_an_unknown_option_is_an_error_in_nvrtcs_words() -> None:
    with pytest.raises(CompileError, match="unrecognized option --frobnicate"):
        compile(KERNEL, "sm_80", kernels=["k"], options=["--frobnicate"])


def test_a_source_cut_short_by_a_nul_is_refused() -> None:
    with pytest.raises(CompileError, match="line 2 holds a NUL"):
        compile(KERNEL + "\n\0 this would be ignored", "sm_80", kernels=["k"])


def test_options_that_stop_before_machine_code_are_refused() -> None:
    with pytest.raises(CompileError, match="no machine code"):
        compile(KERNEL, "sm_80", kernels=["k"], options=["-dlto"])


@pytest.mark.parametrize("kernels", [["K"], ["k", "other"]])
def test_every_expected_kernel_must_be_defined(kernels: list[str]) -> None:
    with pytest.raises(CompileError, match=f"no kernel named {kernels[-1]!r}, it defines k"):
        compile(KERNEL, "sm_80", kernels=kernels)


def test_a_mangled_kernel_is_explained() -> None:
    with pytest.raises(CompileError, match="_Z1kPf") as caught:
        compile("__global__ void k(float* x) { *x = 0; }", "sm_80", kernels=["k"])
    assert 'extern "C"' in caught.value.hint


def test_a_device_function_is_no_kernel() -> None:
    source = 'extern "C" __device__ __noinline__ void f(float* x) { *x = 0; }\n' + KERNEL
    with pytest.raises(CompileError, match="no kernel named 'f'"):
        compile(source, "sm_80", kernels=["f"])


def test_expecting_nothing_is_refused() -> None:
    with pytest.raises(CompileError, match=r"no kernel of kernel\.cu is expected"):
        compile(KERNEL, "sm_80", kernels=[])


def test_one_string_is_not_a_list_of_kernels() -> None:
    with pytest.raises(CompileError, match="one string"):
        compile(KERNEL, "sm_80", kernels="k")


def test_warnings_are_kept() -> None:
    source = "#warning keep me\n" + KERNEL
    assert "keep me" in compile(source, "sm_80", kernels=["k"]).log


def test_two_processes_make_the_same_bytes() -> None:
    program = (
        "import hashlib, sys\n"
        "from tylo.codegen.nvrtc import compile\n"
        "c = compile(sys.argv[1], 'sm_90a', kernels=['k'])\n"
        "print(hashlib.sha256(repr(c).encode()).hexdigest())\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program, KERNEL], capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    }
    assert len(outputs) == 1


def test_include_folders_are_checked_in_every_spelling(tmp_path: Path) -> None:
    absent = str(tmp_path / "absent")
    spellings = [["-I" + absent], ["-I", absent], ["--include-path=" + absent]]
    for options in [*spellings, ["--include-path", absent], ["-I"]]:
        with pytest.raises(CompileError, match="does not exist"):
            checked_options("sm_80", options)


def test_numbered_lines_stay_inside_the_text() -> None:
    assert numbered("only", 1) == "  > 1 | only"
    assert numbered("a\nb", 2) == "    1 | a\n  > 2 | b"


def test_a_log_without_a_known_error_is_shown_whole() -> None:
    assert explain("something else\n", "k.cu", "", "") == "something else"
    assert explain("", "k.cu", "", "") == "NVRTC left no message"


def test_lines_of_another_file_are_not_shown_from_this_one() -> None:
    source = '#line 1 "other.cuh"\nextern "C" __global__ void k(int* x) { *x = y; }'
    with pytest.raises(CompileError, match=r"other\.cuh line 1") as caught:
        compile(source, "sm_80", kernels=["k"])
    assert "> 1 |" not in str(caught.value)
