"""Which NVRTC is used, and the only calls into it.

Two CUDA majors may be installed side by side, and a process can hold libraries that others loaded.
The choice follows one rule, and `compiler_info()` says what it came to:

1. the wheel of the same CUDA major as `cuda.bindings`, which the extra `cu12` or `cu13` installed;
2. else the wheel of the other major, when it is the only one;
3. else what `cuda.pathfinder` finds: conda, the system's loader, `CUDA_PATH`.

Compiled machine code is loaded, never PTX, so the compiler may be newer than the driver's own.

>>> choose_wheel({12: "/site/libnvrtc.so.12", 13: "/site/libnvrtc.so.13"}, bindings=12)
Choice(path='/site/libnvrtc.so.12', reason='the wheel of the CUDA major of cuda.bindings, 12')

The wheel of CUDA 13.0 does not find its own helper library: every compile then ends in result 7.
The helper is therefore loaded first, from the compiler's own folder, whatever the version.

No driver and no GPU take part. Source: NVRTC documentation; `cuda.bindings.nvrtc`.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import importlib.util
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from tylo.layouts.errors import CompileError

_INSTALL = "pip install 'tylo[cu12]' (CUDA 12) or 'tylo[cu13]' (CUDA 13)"
_WHEEL_PATHS = {12: "cuda_nvrtc/lib/libnvrtc.so.12", 13: "cu13/lib/libnvrtc.so.13"}
_GLOBAL = os.RTLD_NOW | os.RTLD_GLOBAL if hasattr(os, "RTLD_NOW") else ctypes.DEFAULT_MODE
_RELEASE = re.compile(r"^// Cuda compilation tools, release [^,]+, V(\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Choice:
    """The wheel to load (None: leave the search to NVIDIA's pathfinder), and why."""

    path: str | None
    reason: str


@dataclass(frozen=True)
class CompilerInfo:
    """The NVRTC in use: its full version, where it lies, why that one, what it compiles for."""

    version: str
    path: str
    reason: str
    bindings: str
    architectures: tuple[int, ...]

    @property
    def name(self) -> str:
        """How certificates, manifests and cache keys spell it, such as `NVRTC 12.9.86`."""
        return f"NVRTC {self.version}"


@dataclass(frozen=True)
class Translation:
    """What one NVRTC program came to; `result` is NVRTC's own name for it."""

    result: str
    log: str
    ptx: str
    cubin: bytes

    @property
    def succeeded(self) -> bool:
        return self.result == "NVRTC_SUCCESS"


def choose_wheel(found: Mapping[int, str], *, bindings: int) -> Choice:
    """The rule above, for wheels `found` by CUDA major.

    >>> choose_wheel({12: "/site/libnvrtc.so.12"}, bindings=13).reason
    'the only NVRTC wheel installed, CUDA 12 (cuda.bindings is 13)'
    >>> choose_wheel({}, bindings=13).reason
    'no NVRTC wheel is installed: found by cuda.pathfinder'
    """
    if bindings in found:
        return Choice(found[bindings], f"the wheel of the CUDA major of cuda.bindings, {bindings}")
    if found:
        major = max(found)
        return Choice(
            found[major],
            f"the only NVRTC wheel installed, CUDA {major} (cuda.bindings is {bindings})",
        )
    return Choice(None, "no NVRTC wheel is installed: found by cuda.pathfinder")


def _installed_wheels() -> dict[int, str]:
    spec = importlib.util.find_spec("nvidia")
    roots = list(spec.submodule_search_locations or ()) if spec is not None else []
    candidates = [
        (major, Path(root) / below) for root in roots for major, below in _WHEEL_PATHS.items()
    ]
    # The first root on the path wins, as it does for imports.
    return {major: str(path) for major, path in reversed(candidates) if path.is_file()}


@dataclass(frozen=True)
class _Library:
    api: ModuleType
    path: str
    reason: str
    bindings: str


@functools.cache
def _library() -> _Library:
    try:
        api = importlib.import_module("cuda.bindings.nvrtc")
        bindings = str(importlib.import_module("cuda.bindings").__version__)
        pathfinder = importlib.import_module("cuda.pathfinder")
    except ImportError as error:
        raise CompileError(
            f"NVRTC cannot be called, cuda.bindings is not installed ({error})", hint=_INSTALL
        ) from error
    choice = choose_wheel(_installed_wheels(), bindings=int(bindings.split(".")[0]))
    if choice.path is not None:
        ctypes.CDLL(choice.path, mode=_GLOBAL)
    try:
        path = str(pathfinder.load_nvidia_dynamic_lib("nvrtc").abs_path)
        _, major, minor = api.nvrtcVersion()
    except RuntimeError as error:
        raise CompileError("no NVRTC library is installed", hint=_INSTALL) from error
    builtins = Path(path).parent / f"libnvrtc-builtins.so.{major}.{minor}"
    if builtins.is_file():
        ctypes.CDLL(str(builtins), mode=_GLOBAL)
    taken = choice.path is None or os.path.samefile(path, choice.path)
    reason = choice.reason if taken else "already loaded by this process when Tylo asked"
    return _Library(api, path, reason, bindings)


@functools.cache
def compiler_info() -> CompilerInfo:
    """The NVRTC in use; CompileError says what to install when there is none.

    NVRTC's own version call stops at the minor version. The full one stands in the head of the
    PTX it writes, so an empty program is translated once.
    """
    library = _library()
    result, numbers = library.api.nvrtcGetSupportedArchs()
    _require_success(result)
    architectures = tuple(sorted(int(number) for number in numbers))
    head = translate("", "empty.cu", [f"--gpu-architecture=compute_{architectures[0]}"])
    release = _RELEASE.search(head.ptx)
    if release is None:
        raise CompileError(
            f"NVRTC at {library.path} cannot translate an empty program: "
            f"{head.result} {head.log}".rstrip(),
            hint=f"its installation is damaged: {_INSTALL}",
        )
    return CompilerInfo(release[1], library.path, library.reason, library.bindings, architectures)


def translate(source: str, name: str, options: Sequence[str]) -> Translation:
    """Run one NVRTC program; a refusal is a result, not an exception.

    After an error in the assembler the PTX is there, and the diagnostics need it.
    """
    api = _library().api
    result, program = api.nvrtcCreateProgram(source.encode(), name.encode(), 0, [], [])
    _require_success(result)
    try:
        encoded = [option.encode() for option in options]
        (result,) = api.nvrtcCompileProgram(program, len(encoded), encoded)
        log = _text(api.nvrtcGetProgramLogSize, api.nvrtcGetProgramLog, program)
        ptx = _text(api.nvrtcGetPTXSize, api.nvrtcGetPTX, program)
        succeeded = int(result) == 0
        cubin = _fetched(api.nvrtcGetCUBINSize, api.nvrtcGetCUBIN, program) if succeeded else b""
        return Translation(str(result.name), log, ptx, cubin)
    finally:
        api.nvrtcDestroyProgram(program)


def _fetched(size_call: Callable[..., Any], get_call: Callable[..., Any], program: object) -> bytes:
    result, size = size_call(program)
    if int(result) != 0 or size == 0:
        return b""
    # NVRTC writes into the object in place. One byte is an object that Python shares, so it must
    # already be the zero that NVRTC then writes.
    buffer = bytes(size)
    (result,) = get_call(program, buffer)
    _require_success(result)
    return buffer


def _text(size_call: Callable[..., Any], get_call: Callable[..., Any], program: object) -> str:
    return _fetched(size_call, get_call, program).rstrip(b"\0").decode(errors="replace")


def _require_success(result: Any) -> None:
    if int(result) != 0:
        raise CompileError(f"NVRTC failed with {result.name}")
