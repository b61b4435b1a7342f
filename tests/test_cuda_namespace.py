"""The data folder `cuda/` must never stand in front of NVIDIA's `cuda` packages.

Run from the repository's root, Python looks into that folder's parent first. A folder without
Python files is a namespace portion there, and NVIDIA's packages are found beside it. One Python
file, or a subfolder called like one of NVIDIA's, and `import cuda.core` breaks for every user who
works in a checkout.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NVIDIA = [
    "cuda.bindings",
    "cuda.bindings.nvrtc",
    "cuda.bindings.driver",
    "cuda.core",
    "cuda.pathfinder",
]


@pytest.mark.parametrize("module", NVIDIA)
def test_nvidias_packages_import_from_the_root(module: str) -> None:
    program = f"import sys; sys.path.insert(0, ''); import {module} as m; print(m.__file__)"
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert not Path(run.stdout.strip()).is_relative_to(ROOT / "cuda")


def test_the_data_folder_holds_no_python() -> None:
    assert (ROOT / "cuda").is_dir()
    assert [path for path in (ROOT / "cuda").rglob("*") if path.suffix in {".py", ".pyi"}] == []


@pytest.mark.parametrize("name", ["core", "bindings", "pathfinder"])
def test_no_subfolder_is_called_like_nvidias(name: str) -> None:
    assert list((ROOT / "cuda").rglob(name)) == []
