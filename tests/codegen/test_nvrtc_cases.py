"""Public compile and packaging problems (N01 to N08, N12 to N14), each with its right answer.

`case(...)` is the problem as data. What NVRTC itself answers is checked through `translate`, so
that a changed compiler is noticed; what Tylo makes of it is checked through `compile`. The cache
problems N09 to N11 are in test_cache.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tylo.codegen.architecture import parse_architecture, require_supported
from tylo.codegen.nvrtc import compile, compiler_info
from tylo.codegen.nvrtc.library import choose_wheel, translate
from tylo.layouts.errors import CompileError

DATA = Path(__file__).parent.parent / "data" / "cases.json"

# NVRTC's results by name, as nvrtc.h numbers them.
RESULTS = {
    "NVRTC_SUCCESS": 0,
    "NVRTC_ERROR_INVALID_OPTION": 5,
    "NVRTC_ERROR_COMPILATION": 6,
    "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE": 7,
}


def case(identity: str) -> Any:
    return next(one for one in json.loads(DATA.read_text()) if one["id"] == identity)


def result(source: str, options: list[str]) -> int:
    return RESULTS[translate(source, "kernel.cu", options).result]


def test_n01_the_helper_library_is_found_whatever_the_wheel() -> None:
    """A process of its own, so that nothing but Tylo can have loaded the helper."""
    one = case("N01")
    program = (
        "import sys\n"
        "from tylo.codegen.nvrtc.library import translate\n"
        "print(translate(sys.argv[1], 'k.cu', sys.argv[2:]).result)\n"
    )
    command = [sys.executable, "-c", program, one["input"]["source"], *one["input"]["options"]]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert RESULTS[output.strip()] == one["expected"]["rc_after_preload"]


def test_n02_the_supported_list_is_asked_first() -> None:
    one = case("N02")
    info = compiler_info()
    expected = one["expected"]
    known = {"12.9": expected["rc_12_9"], "13.0": expected["rc_13_0"]}
    for version, results in known.items():
        if info.version.startswith(version):
            options = [[f"--gpu-architecture={name}"] for name in one["input"]["ask"]]
            assert [result("", option) for option in options] == results
    if info.version.startswith("13.0"):
        assert list(info.architectures) == expected["supported_13_0"]
    with pytest.raises(CompileError) as caught:
        compile("", "sm_999", kernels=["k"])
    message = str(caught.value)
    assert info.name in message
    assert "99.9" in message
    assert all(f"sm_{number}" in message for number in info.architectures)


def test_n02_a_list_without_the_card_is_refused_for_13_0() -> None:
    one = case("N02")
    supported = one["expected"]["supported_13_0"]
    for name, code in zip(one["input"]["ask"], one["expected"]["rc_13_0"], strict=True):
        if code == 0:
            require_supported(parse_architecture(name), "NVRTC 13.0.88", supported)
        else:
            with pytest.raises(CompileError, match=f"cannot compile for {name}"):
                require_supported(parse_architecture(name), "NVRTC 13.0.88", supported)


def test_n03_virtual_architectures_hide_mistakes_and_are_refused() -> None:
    one = case("N03")
    source = one["input"]["source"]
    for name, code, size in zip(
        one["input"]["archs"], one["expected"]["rc"], one["expected"]["cubin_sizes"], strict=True
    ):
        translation = translate(source, "kernel.cu", [f"--gpu-architecture={name}"])
        assert (RESULTS[translation.result], len(translation.cubin)) == (code, size)
        with pytest.raises(CompileError, match="virtual architecture"):
            compile(source, name, kernels=["k"])
    assert compile(source, "sm_90a", kernels=["k"]).cubin
    with pytest.raises(CompileError, match=r"wgmma\.fence"):
        compile(source, "sm_120", kernels=["k"])


def test_n04_a_tensor_map_needs_no_header() -> None:
    one = case("N04")
    source = one["input"]["source"]
    assert result(source, one["input"]["options"]) == one["expected"]["rc"]
    with pytest.raises(CompileError) as caught:
        compile(source, "sm_90a", kernels=["k"])
    assert "opaque struct of 128 bytes aligned to 64" in caught.value.hint
    opaque = (
        "struct alignas(64) TensorMap { char bytes[128]; };\n"
        'extern "C" __global__ void k(const __grid_constant__ TensorMap m) {}'
    )
    ptx = compile(opaque, "sm_90a", kernels=["k"]).ptx
    assert ".param .align 64 .b8 k_param_0[128]" in ptx


def test_n05_integer_types_need_no_header() -> None:
    one = case("N05")
    for source, code in zip(one["input"]["sources"], one["expected"]["rc"], strict=True):
        assert result(source, ["--gpu-architecture=sm_90a"]) == code
        if code == 0:
            compile(source, "sm_90a", kernels=["k"])
        else:
            with pytest.raises(CompileError) as caught:
                compile(source, "sm_90a", kernels=["k"])
            assert "built-in type names" in caught.value.hint


def test_n06_a_folder_with_spaces_is_one_option(tmp_path: Path) -> None:
    one = case("N06")
    folder = tmp_path / "dir with space"
    folder.mkdir()
    (folder / "answer.cuh").write_text("#define ANSWER 42\n")
    source = '#include "answer.cuh"\nextern "C" __global__ void k(int* x) { *x = ANSWER; }'
    forms = [
        [f"-I{folder}"],
        ["-I", str(folder)],
        [f'-I"{folder}"'],
        f"-I{folder}".split(),
        ["-I" + str(folder).replace(" ", "\\ ")],
    ]
    for options, code in zip(forms, one["expected"]["rc"], strict=True):
        assert result(source, ["--gpu-architecture=sm_90a", *options]) == code
        if code == 0:
            compile(source, "sm_90a", kernels=["k"], options=options)
        else:
            with pytest.raises(CompileError):
                compile(source, "sm_90a", kernels=["k"], options=options)
    with pytest.raises(CompileError, match="one string"):
        compile(source, "sm_90a", kernels=["k"], options=f"-I{folder}")


def test_n07_a_missing_folder_is_an_error() -> None:
    one = case("N07")
    source, options = one["input"]["source"], one["input"]["options"]
    assert result(source, options) == one["expected"]["rc"]
    with pytest.raises(CompileError, match="'/nonexistent/dir' does not exist"):
        compile(source, "sm_90a", kernels=["k"], options=options[1:])


def test_n08_importing_loads_no_driver_and_nothing_heavy() -> None:
    program = (
        "import sys\n"
        "import tylo.layouts, tylo.codegen.nvrtc, tylo.codegen.cache, tylo.codegen.launch\n"
        "print(sorted({'cuda.bindings.nvrtc', 'cuda.core', 'numpy', 'sympy'} & set(sys.modules)))\n"
        "from tylo.codegen.nvrtc import compile\n"
        "compile('extern \"C\" __global__ void k() {}', 'sm_80', kernels=['k'])\n"
        "print('libcuda.so' in open('/proc/self/maps').read())\n"
    )
    output = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert output.splitlines() == ["[]", "False"]


def test_n12_one_major_is_chosen_and_explained() -> None:
    one = case("N12")
    found = {int(path[-2:]): path for path in one["input"]["found"]}
    choice = choose_wheel(found, bindings=one["input"]["driver_major"])
    assert choice.path is not None
    assert one["expected"]["choose"].startswith(Path(choice.path).name)
    assert "12" in choice.reason
    assert compiler_info().reason


def test_n13_the_same_input_gives_the_same_output() -> None:
    one = case("N13")
    source = 'extern "C" __global__ void k(float* x) { static __shared__ float s; x[0] = s; }'
    runs = [compile(source, "sm_90a", kernels=["k"]) for _ in range(one["input"]["runs"])]
    assert all(run == runs[0] for run in runs)
    assert one["expected"]["ptx_identical_here"]


def test_n14_an_empty_source_defines_no_kernel() -> None:
    one = case("N14")
    assert result(one["input"]["source"], one["input"]["options"]) == one["expected"]["rc"]
    with pytest.raises(CompileError, match="defines no kernel named 'k', it defines none"):
        compile(one["input"]["source"], "sm_90a", kernels=["k"])
