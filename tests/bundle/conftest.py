"""One honest bundle, made once, and the means to forge it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from solver_memory import remember_answers
from tylo.codegen.bundle import generate
from tylo.codegen.nvrtc import compile
from tylo.proofs.bundle import read_bundle, sealed, write_bundle

ENTRY = "tylo_pack_operand_a"
PARAMETERS = {"atom": "mma.m16n8k16.bf16", "repeats_m": 1, "pairs": 1, "warps_m": 1}


@pytest.fixture(autouse=True)
def answers_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every check here asks the solvers for mostly the same texts."""
    remember_answers(monkeypatch)


@pytest.fixture(scope="session")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a bundle for two architectures."""
    folder = tmp_path_factory.mktemp("bundles") / "honest bundle"
    generate("pack_operand_a", PARAMETERS, folder, architectures=("sm_80", "sm_90a"))
    return folder


@pytest.fixture
def forge(honest: Path, tmp_path: Path) -> Callable[..., Path]:
    """Write the honest bundle with other files or manifest entries, every digest recomputed."""

    def forged(files: Mapping[str, bytes] | None = None, **entries: Any) -> Path:
        bundle = read_bundle(honest)
        manifest = replace(bundle.manifest, **entries)
        write_bundle(tmp_path / "forged", sealed(manifest, {**bundle.files, **(files or {})}))
        return tmp_path / "forged"

    return forged


@pytest.fixture
def forge_kernel(honest: Path, forge: Callable[..., Path]) -> Callable[..., Path]:
    """Forge source, PTX and cubin alike: the kernel is honestly compiled from wrong text."""

    def forged(old: str, new: str) -> Path:
        source = read_bundle(honest).text("kernel.cu")
        assert old in source
        changed = source.replace(old, new)
        files = {"kernel.cu": changed.encode()}
        for architecture in ("sm_80", "sm_90a"):
            compiled = compile(changed, architecture, kernels=[ENTRY], name="kernel.cu")
            files[f"ptx/{architecture}.ptx"] = compiled.ptx.encode()
            files[f"cubin/{architecture}.cubin"] = compiled.cubin
        return forge(files)

    return forged
