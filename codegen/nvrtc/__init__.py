"""CUDA text to PTX and machine code, without a GPU, a driver or a single header.

`compile` hands one NVRTC program's PTX and cubin back together with everything that a manifest or
a cache key must name: the compiler's full version, the options, the architecture, the log.

>>> compiled = compile(
...     'extern "C" __global__ void one(float* x) { x[threadIdx.x] = 1.0f; }',
...     "sm_90a",
...     kernels=["one"],
... )
>>> compiled.cubin[:4], compiled.compiler.split(".")[0] in {"NVRTC 12", "NVRTC 13"}
(b'\\x7fELF', True)
>>> compiled.options[:3]
('--gpu-architecture=sm_90a', '--fmad=false', '--std=c++17')
>>> resources(compiled)["one"].spills
0

NVRTC is content with things that only fail later: an empty source, a misspelt kernel, a folder
that is not there, a virtual architecture whose assembly nobody assembled. Here they are errors.

>>> compile("", "sm_90a", kernels=["one"])
Traceback (most recent call last):
tylo.layouts.errors.CompileError: kernel.cu defines no kernel named 'one', it defines none; \
declare it extern "C" __global__, or its name is mangled

The parts: `library` finds NVRTC and calls it, `options` fixes and checks options, `diagnostics`
shows the offending line, `resources` reads registers and spills and is the gate of shipped kernels.

Source: NVRTC documentation; PTX ISA, "Kernel and Function Directives: .entry".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tylo.codegen.architecture import parse_architecture, require_supported
from tylo.codegen.nvrtc.diagnostics import explain, way_out
from tylo.codegen.nvrtc.library import CompilerInfo, compiler_info, translate
from tylo.codegen.nvrtc.options import BASE_OPTIONS, checked_options, include_folders
from tylo.codegen.nvrtc.resources import Resources, require_full_speed, resources
from tylo.layouts.errors import CompileError

__all__ = [
    "BASE_OPTIONS",
    "Compiled",
    "CompilerInfo",
    "Resources",
    "compile",
    "compiler_info",
    "include_folders",
    "require_full_speed",
    "require_kernels",
    "resources",
]

_ENTRY = re.compile(r"^\s*(?:\.(?:visible|weak)\s+)?\.entry\s+([\w$]+)", re.MULTILINE)
_COMPILE_TIME = re.compile(r"^ptxas info\s*: Compile time = .*\n?", re.MULTILINE)


@dataclass(frozen=True)
class Compiled:
    """One program's PTX and machine code, and what made them."""

    ptx: str
    cubin: bytes
    log: str
    compiler: str
    options: tuple[str, ...]
    architecture: str

    @property
    def entries(self) -> tuple[str, ...]:
        """The kernels it defines, as their (possibly mangled) names in the PTX."""
        return tuple(_ENTRY.findall(self.ptx))


def compile(
    source: str,
    architecture: str,
    *,
    kernels: Sequence[str],
    name: str = "kernel.cu",
    options: Sequence[str] = (),
) -> Compiled:
    """Compile CUDA text for a real architecture and see that it defines `kernels`.

    `name` is what messages call the source. `options` are added to the fixed ones, one option per
    element. The same arguments and the same compiler give the same bytes.

    Raises CompileError: for a source that NVRTC refuses, with the numbered lines; for a virtual or
    unsupported architecture, a missing include folder, an option that would change the numbers, a
    kernel that is not defined; and when no NVRTC is installed.
    """
    target = parse_architecture(architecture)
    every_option = checked_options(target.name, options)
    if "\0" in source:
        line = source[: source.index("\0")].count("\n") + 1
        raise CompileError(
            f"{name} line {line} holds a NUL character, where NVRTC would stop reading",
            hint="remove it",
        )
    compiler = compiler_info()
    require_supported(target, compiler.name, compiler.architectures)
    translation = translate(source, name, every_option)
    if not translation.succeeded:
        raise CompileError(
            explain(translation.log, name, source, translation.ptx)
            + f"\n{compiler.name} refused {name} for {target.name} ({translation.result})",
            hint=way_out(f"{translation.result} {translation.log}"),
        )
    if not translation.cubin:
        raise CompileError(
            f"{compiler.name} made no machine code of {name} for {target.name}",
            hint="drop options that stop before it, such as -dlto",
        )
    compiled = Compiled(
        ptx=translation.ptx,
        cubin=translation.cubin,
        # The only line that two runs of the same compile do not share.
        log=_COMPILE_TIME.sub("", translation.log).strip(),
        compiler=compiler.name,
        options=every_option,
        architecture=target.name,
    )
    require_kernels(compiled, kernels, name)
    return compiled


def require_kernels(compiled: Compiled, kernels: Iterable[str], name: str) -> None:
    """Refuse a program that lacks one of `kernels`, or is expected to define none at all."""
    if isinstance(kernels, str):
        raise CompileError(f"kernels is one string, {kernels!r}", hint=f"pass [{kernels!r}]")
    expected = list(kernels)
    if not expected:
        raise CompileError(
            f"no kernel of {name} is expected", hint="name the kernels that it must define"
        )
    entries = compiled.entries
    for kernel in expected:
        if kernel not in entries:
            raise CompileError(
                f"{name} defines no kernel named {kernel!r}, it defines "
                + (", ".join(entries) if entries else "none"),
                hint='declare it extern "C" __global__, or its name is mangled',
            )
