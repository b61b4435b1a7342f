"""NVIDIA's driver and `cuda.core`, found when they are first needed, with errors in our terms."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from tylo.layouts.errors import LaunchError, TyloError

_DRIVER = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
_MANAGEMENT = "nvml.dll" if sys.platform == "win32" else "libnvidia-ml.so.1"
_INSTALL = "pip install 'tylo[cu12]' (CUDA 12) or 'tylo[cu13]' (CUDA 13)"


def initialised_driver() -> ModuleType:
    try:
        ctypes.CDLL(_DRIVER)
    except OSError as error:
        raise LaunchError(
            f"no kernel can be launched here: {_DRIVER}, the NVIDIA driver, cannot be loaded",
            hint="layouts, proofs, code generation and compilation work without it, and "
            "`tylo check` proves kernels without a GPU",
        ) from error
    driver = _imported("cuda.bindings.driver")
    checked(driver, "cuInit", 0)
    return driver


def cuda_core() -> ModuleType:
    # The names moved out of `experimental` with cuda.core's first stable releases.
    core = _imported("cuda.core")
    return core if hasattr(core, "Device") else _imported("cuda.core.experimental")


def _imported(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise LaunchError(f"{name} is not installed ({error})", hint=_INSTALL) from error


def checked(driver: ModuleType, name: str, *arguments: object) -> Any:
    error, *values = getattr(driver, name)(*arguments)
    if int(error) != 0:
        raise LaunchError(f"{name} failed with {error.name}")
    return values[0] if values else None


@contextlib.contextmanager
def reported(what: str) -> Iterator[None]:
    """Anything that NVIDIA's packages raise becomes a LaunchError that says during what."""
    try:
        yield
    except TyloError:
        raise
    except Exception as error:
        raise LaunchError(f"{what} failed: {type(error).__name__}: {error}") from error


def driver_version() -> str:
    """The driver's own version, such as 580.159.04, from its management library."""
    try:
        management = ctypes.CDLL(_MANAGEMENT)
    except OSError:
        return "unknown"
    text = ctypes.create_string_buffer(96)
    if management.nvmlInit_v2() != 0:
        return "unknown"
    failed = management.nvmlSystemGetDriverVersion(text, len(text))
    management.nvmlShutdown()
    return "unknown" if failed else text.value.decode()
