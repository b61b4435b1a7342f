"""The options of a compile: what Tylo always passes, what it never does, and which folders exist.

Proofs and error bounds assume that the compiler evaluates what is written: no contraction of a
product and a sum (`fma` is written where it is meant), no fast-math. The caller may add options,
but none that changes the numbers.

>>> checked_options("sm_90a", ["--device-debug"])
('--gpu-architecture=sm_90a', '--fmad=false', '--std=c++17', '--ptxas-options=-v', '--no-cache', \
'--device-debug')
>>> checked_options("sm_90a", ["--use_fast_math"])
Traceback (most recent call last):
tylo.layouts.errors.CompileError: the option '--use_fast_math' is Tylo's to choose; leave it out: \
proofs and bounds assume the fixed options --fmad=false --std=c++17

Source: NVRTC documentation, "Supported Compile Options".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tylo.layouts.errors import CompileError

# NVRTC's own cache answers a repeated compile without the log that `resources` reads.
BASE_OPTIONS = ("--fmad=false", "--std=c++17", "--ptxas-options=-v", "--no-cache")

_CHOSEN_BY_TYLO = frozenset(
    ["gpu-architecture", "arch", "fmad", "std", "use-fast-math", "ftz", "prec-div", "prec-sqrt"]
)
_INCLUDE_FLAGS = ("--include-path", "-include-path", "-I")


def checked_options(architecture: str, options: Sequence[str]) -> tuple[str, ...]:
    """All options of the compile, in the order that NVRTC gets them."""
    if isinstance(options, str):
        raise CompileError(
            f"options is one string, {options!r}",
            hint="pass a list with one option per element, without shell quotes",
        )
    for option in options:
        words = option.lstrip("-").replace("_", "-").replace("=", " ").split()
        if words and words[0] in _CHOSEN_BY_TYLO:
            raise CompileError(
                f"the option {option!r} is Tylo's to choose",
                hint="leave it out: proofs and bounds assume the fixed options "
                "--fmad=false --std=c++17",
            )
    for folder in include_folders(options):
        if not folder or not Path(folder).is_dir():
            raise CompileError(
                f"the include folder {folder!r} does not exist",
                hint="NVRTC would ignore it without a word; correct the path, or drop quotes "
                "around it",
            )
    return (f"--gpu-architecture={architecture}", *BASE_OPTIONS, *options)


def include_folders(options: Sequence[str]) -> Iterator[str]:
    """The folders that `options` name for headers, in every spelling NVRTC takes.

    >>> list(include_folders(["-I/a", "-I", "/b c", "--include-path=/d", "-G"]))
    ['/a', '/b c', '/d']
    """
    rest = iter(options)
    for option in rest:
        flag = next((flag for flag in _INCLUDE_FLAGS if option.startswith(flag)), None)
        if flag is not None:
            yield option.removeprefix(flag).removeprefix("=").strip() or next(rest, "")
