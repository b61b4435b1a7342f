"""The cache: what its key covers, what it survives, and that it is optional (N09 to N11)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tylo.codegen import cache
from tylo.codegen.cache import compile_cached, entry_key
from tylo.codegen.nvrtc import Compiled, CompilerInfo, compile
from tylo.layouts.errors import CompileError

DATA = Path(__file__).parent.parent / "data" / "cases.json"
KERNEL = 'extern "C" __global__ void k(float* x) { x[threadIdx.x] = 1.0f; }'
OTHER = KERNEL.replace("1.0f", "2.0f")


def case(identity: str) -> Any:
    return next(one for one in json.loads(DATA.read_text()) if one["id"] == identity)


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Neither entries nor warnings of one test reach the next."""
    yield
    cache._memory.clear()
    cache._warned.clear()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "kernels"
    monkeypatch.setenv("TYLO_CACHE_DIR", str(path))
    return path


@pytest.fixture
def compiles(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sources that were really compiled, in order."""
    sources: list[str] = []

    def counted(source: str, *arguments: Any, **named: Any) -> Compiled:
        sources.append(source)
        return compile(source, *arguments, **named)

    monkeypatch.setattr(cache, "compile", counted)
    return sources


def files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def test_the_second_request_is_served_from_the_file(folder: Path, compiles: list[str]) -> None:
    first = compile_cached(KERNEL, "sm_90a", kernels=["k"])
    second = compile_cached(KERNEL, "sm_90a", kernels=["k"])
    assert compiles == [KERNEL]
    assert first == second == compile(KERNEL, "sm_90a", kernels=["k"])


def test_n09_an_entry_is_one_file(folder: Path) -> None:
    assert case("N09")["expected"]["recipe"].startswith("one file per entry")
    compile_cached(KERNEL, "sm_90a", kernels=["k"])
    compile_cached(OTHER, "sm_90a", kernels=["k"])
    assert len(files(folder)) == 2
    assert all(path.is_file() for path in files(folder))


def test_a_hit_is_refused_like_a_miss_when_a_kernel_is_missing(folder: Path) -> None:
    compile_cached(KERNEL, "sm_90a", kernels=["k"])
    with pytest.raises(CompileError, match="no kernel named 'other'"):
        compile_cached(KERNEL, "sm_90a", kernels=["other"])


def test_what_does_not_compile_is_not_kept(folder: Path) -> None:
    with pytest.raises(CompileError):
        compile_cached("nonsense", "sm_90a", kernels=["k"])
    assert not folder.exists()


def _another_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        cache, "compiler_info", lambda: CompilerInfo("12.9.87", "", "", "12.9.0", (80, 90))
    )


def _another_tylo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "__version__", "999")


CHANGES: dict[str, Callable[[pytest.MonkeyPatch], dict[str, Any]]] = {
    "source text": lambda _: {"source": OTHER},
    "architecture": lambda _: {"architecture": "sm_80"},
    "NVRTC version": lambda patch: _another_compiler(patch) or {},
    "options": lambda _: {"options": ["-lineinfo"]},
    "package version": lambda patch: _another_tylo(patch) or {},
    "name": lambda _: {"name": "other.cu"},
}


@pytest.mark.parametrize("changed", sorted(CHANGES))
def test_n10_the_key_differs_on(
    changed: str, folder: Path, compiles: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = {"source": KERNEL, "architecture": "sm_90a", "kernels": ["k"]}
    compile_cached(**usual)
    compile_cached(**usual | CHANGES[changed](monkeypatch))
    assert len(compiles) == 2
    assert len(files(folder)) == 2


def test_n10_lists_everything_that_is_tested_here() -> None:
    listed = set(case("N10")["input"]["must_differ_on"])
    assert listed - set(CHANGES) == {"header contents used"}


@pytest.mark.parametrize(
    "directive", ['#include "h.cuh"', '#  include "h.cuh"', '%:include "h.cuh"']
)
def test_n10_changed_header_contents_are_seen(directive: str, folder: Path, tmp_path: Path) -> None:
    headers = tmp_path / "headers"
    headers.mkdir()
    source = directive + '\nextern "C" __global__ void k(int* x) { *x = ANSWER; }'
    cubins = []
    for answer in (41, 42):
        (headers / "h.cuh").write_text(f"#define ANSWER {answer}\n")
        compiled = compile_cached(source, "sm_90a", kernels=["k"], options=[f"-I{headers}"])
        cubins.append(compiled.cubin)
    assert cubins[0] != cubins[1]
    assert not folder.exists()


def test_n10_a_header_beside_the_process_is_seen_too(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = '#include "h.cuh"\nextern "C" __global__ void k(int* x) { *x = ANSWER; }'
    cubins = []
    for answer in (41, 42):
        (tmp_path / "h.cuh").write_text(f"#define ANSWER {answer}\n")
        cubins.append(compile_cached(source, "sm_90a", kernels=["k"]).cubin)
    assert cubins[0] != cubins[1]


def test_fields_never_run_together() -> None:
    keys = {entry_key(fields) for fields in (["ab", "c"], ["a", "bc"], ["abc"], ["abc", ""], [])}
    assert len(keys) == 5


def test_every_corrupted_byte_is_noticed(folder: Path, compiles: list[str]) -> None:
    compiled = compile_cached(KERNEL, "sm_90a", kernels=["k"])
    (path,) = files(folder)
    entry = path.read_bytes()
    step = max(1, len(entry) // 97)
    for at in range(0, len(entry), step):
        altered = bytearray(entry)
        altered[at] ^= 1
        assert cache._decoded(path.name, bytes(altered)) is None
    for length in range(0, len(entry), step):
        assert cache._decoded(path.name, entry[:length]) is None
    assert cache._decoded(path.name, entry + b"\0") is None
    assert cache._decoded(path.name, entry) == compiled


def test_a_corrupted_entry_is_compiled_again_and_replaced(
    folder: Path, compiles: list[str]
) -> None:
    compiled = compile_cached(KERNEL, "sm_90a", kernels=["k"])
    (path,) = files(folder)
    entry = path.read_bytes()
    path.write_bytes(entry[:-1] + b"?")
    assert compile_cached(KERNEL, "sm_90a", kernels=["k"]) == compiled
    assert len(compiles) == 2
    assert path.read_bytes() == entry


def test_an_entry_under_another_name_is_not_believed(folder: Path, compiles: list[str]) -> None:
    compile_cached(KERNEL, "sm_90a", kernels=["k"])
    (first,) = files(folder)
    compile_cached(OTHER, "sm_90a", kernels=["k"])
    (second,) = set(files(folder)) - {first}
    second.write_bytes(first.read_bytes())
    assert compile_cached(OTHER, "sm_90a", kernels=["k"]) == compile(OTHER, "sm_90a", kernels=["k"])
    assert compiles == [KERNEL, OTHER, OTHER]


def test_many_processes_share_one_folder(folder: Path) -> None:
    program = (
        "import hashlib, sys\n"
        "from tylo.codegen.cache import compile_cached\n"
        "for _ in range(3):\n"
        "    for value in range(4):\n"
        "        source = sys.argv[1].replace('1.0f', f'{value}.0f')\n"
        "        print(hashlib.sha256(repr(compile_cached(source, 'sm_90a', kernels=['k']))"
        ".encode()).hexdigest())\n"
    )
    command = [sys.executable, "-W", "error", "-c", program, KERNEL]

    def output(_: int) -> str:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    with ThreadPoolExecutor() as pool:
        outputs = set(pool.map(output, range(6)))
    assert len(outputs) == 1
    assert len(set(outputs.pop().split())) == 4
    assert len(files(folder)) == 4


def _home_unset(monkeypatch: pytest.MonkeyPatch, _: Path) -> None:
    for variable in ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "TYLO_CACHE_DIR"):
        monkeypatch.delenv(variable, raising=False)


def _not_writable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # A folder below a file cannot be made, not even by root.
    (tmp_path / "file").touch()
    monkeypatch.setenv("TYLO_CACHE_DIR", str(tmp_path / "file" / "kernels"))


def _disk_full(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(descriptor: int, mode: str) -> Any:
        os.close(descriptor)
        return open("/dev/full", mode)

    monkeypatch.setenv("TYLO_CACHE_DIR", str(tmp_path / "kernels"))
    monkeypatch.setattr(cache.os, "fdopen", full)


TROUBLES = {
    "HOME unset": _home_unset,
    "cache folder not writable": _not_writable,
    "disk full": _disk_full,
}


@pytest.mark.skipif(sys.platform != "linux", reason="the full disk is /dev/full")
@pytest.mark.parametrize("trouble", case("N11")["input"]["cases"])
def test_n11_without_a_folder_entries_live_in_memory(
    trouble: str, compiles: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    TROUBLES[trouble](monkeypatch, tmp_path)
    with pytest.warns(UserWarning, match="TYLO_CACHE_DIR") as caught:
        made = [compile_cached(source, "sm_90a", kernels=["k"]) for source in (KERNEL, OTHER) * 2]
    assert made[:2] == made[2:]
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert compiles == [KERNEL, OTHER]
    assert not list(tmp_path.rglob(".writing-*"))


def test_a_real_file_size_limit_ends_in_memory(tmp_path: Path) -> None:
    program = (
        "import resource, sys, warnings\n"
        "from tylo.codegen.cache import compile_cached\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    compile_cached(sys.argv[1], 'sm_90a', kernels=['k'])\n"
        "    compile_cached(sys.argv[1], 'sm_90a', kernels=['k'])\n"
        "print(len(caught), 'TYLO_CACHE_DIR' in str(caught[0].message))\n"
    )
    output = subprocess.run(
        [sys.executable, "-c", program, KERNEL],
        env=os.environ | {"TYLO_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert output.split() == ["1", "True"]
    assert files(tmp_path) == []
