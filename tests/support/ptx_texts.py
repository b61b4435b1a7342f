"""PTX texts of kernels, compiled once: in a folder, where there is one to keep them.

``TYLO_PTX=FOLDER`` names it. What it holds is not compiled again, so that what was compiled on one
machine can be judged on others that have no compiler.
"""

from __future__ import annotations

import os
from functools import cache
from hashlib import sha256
from pathlib import Path


@cache
def compiled(source: str, entry: str, architecture: str = "sm_90a") -> str:
    """The PTX of one kernel of a source."""
    named = sha256(f"{architecture}\n{entry}\n{source}".encode()).hexdigest()[:24]
    folder = os.environ.get("TYLO_PTX")
    kept = Path(folder) / f"{named}.ptx" if folder else None
    if kept is not None and kept.exists():
        return kept.read_text()
    from tylo.codegen.nvrtc import compile as compile_cuda

    ptx = compile_cuda(source, architecture, kernels=[entry]).ptx
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(ptx)
    return ptx
