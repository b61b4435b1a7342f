"""Which library is chosen, what is said when there is none, and what is loaded beside it."""

from __future__ import annotations

import ctypes
import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tylo.codegen.nvrtc import library
from tylo.layouts.errors import CompileError


@pytest.fixture
def afresh() -> Iterator[None]:
    """Let the library be looked for again, here and afterwards."""
    library._library.cache_clear()
    library.compiler_info.cache_clear()
    yield
    library._library.cache_clear()
    library.compiler_info.cache_clear()


def test_the_library_in_use_is_described() -> None:
    info = library.compiler_info()
    assert Path(info.path).is_file()
    assert info.name == f"NVRTC {info.version}"
    assert info.path.endswith(info.version.split(".")[0])
    assert info.bindings == importlib.import_module("cuda.bindings").__version__
    assert set(info.architectures) >= {80, 90, 100, 120}
    assert info.reason


def test_the_version_agrees_with_the_wheel_that_holds_the_library() -> None:
    from importlib.metadata import distributions

    info = library.compiler_info()
    owners = {
        dist.version
        for dist in distributions()
        for file in dist.files or ()
        if file.name.startswith("libnvrtc.so") and Path(str(dist.locate_file(file))).is_file()
        if os.path.samefile(str(dist.locate_file(file)), info.path)
    }
    assert owners == {info.version}


@pytest.mark.skipif(sys.platform != "linux", reason="RTLD_NOLOAD is asked of glibc")
def test_the_builtins_of_the_same_folder_are_loaded_before_the_first_compile() -> None:
    info = library.compiler_info()
    major, minor, _ = info.version.split(".")
    folder = str(Path(info.path).parent)
    loaded = {
        line.split(maxsplit=5)[-1]
        for line in Path("/proc/self/maps").read_text().splitlines()
        if "libnvrtc-builtins" in line
    }
    assert f"{folder}/libnvrtc-builtins.so.{major}.{minor}" in loaded


@pytest.mark.skipif(sys.platform != "linux", reason="looks for a shared object by name")
def test_builtins_are_loaded_globally(monkeypatch: pytest.MonkeyPatch, afresh: None) -> None:
    opened: dict[str, int] = {}
    real = ctypes.CDLL

    def recorded(name: str, mode: int = ctypes.DEFAULT_MODE) -> ctypes.CDLL:
        opened[Path(name).name] = mode
        return real(name, mode=mode)

    monkeypatch.setattr(library.ctypes, "CDLL", recorded)
    info = library.compiler_info()
    version = ".".join(info.version.split(".")[:2])
    assert opened[f"libnvrtc-builtins.so.{version}"] & os.RTLD_GLOBAL


@pytest.mark.parametrize(("bindings", "major"), [(12, 12), (13, 13)])
def test_with_both_wheels_the_major_of_the_bindings_decides(bindings: int, major: int) -> None:
    found = {13: "/site/libnvrtc.so.13", 12: "/site/libnvrtc.so.12"}
    choice = library.choose_wheel(found, bindings=bindings)
    assert choice.path == f"/site/libnvrtc.so.{major}"
    assert str(major) in choice.reason


def test_the_first_root_on_the_path_wins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for root in ("first", "second"):
        for below in library._WHEEL_PATHS.values():
            path = tmp_path / root / "nvidia" / below
            path.parent.mkdir(parents=True)
            path.touch()
    (tmp_path / "first" / "nvidia" / library._WHEEL_PATHS[13]).unlink()
    monkeypatch.setattr(sys, "path", [str(tmp_path / "first"), str(tmp_path / "second")])
    monkeypatch.delitem(sys.modules, "nvidia", raising=False)
    found = library._installed_wheels()
    assert found == {
        12: str(tmp_path / "first" / "nvidia" / library._WHEEL_PATHS[12]),
        13: str(tmp_path / "second" / "nvidia" / library._WHEEL_PATHS[13]),
    }


def test_no_library_names_the_extra_to_install(
    monkeypatch: pytest.MonkeyPatch, afresh: None
) -> None:
    pathfinder = importlib.import_module("cuda.pathfinder")

    def absent(name: str) -> None:
        raise pathfinder.DynamicLibNotFoundError(name)

    monkeypatch.setattr(pathfinder, "load_nvidia_dynamic_lib", absent)
    monkeypatch.setattr(library, "_installed_wheels", dict)
    with pytest.raises(CompileError, match="no NVRTC library is installed") as caught:
        library.compiler_info()
    assert "pip install 'tylo[cu12]'" in caught.value.hint


def test_no_bindings_name_the_extra_to_install(
    monkeypatch: pytest.MonkeyPatch, afresh: None
) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings.nvrtc", None)
    with pytest.raises(CompileError, match=r"cuda\.bindings is not installed") as caught:
        library.compiler_info()
    assert "tylo[cu12]" in caught.value.hint
