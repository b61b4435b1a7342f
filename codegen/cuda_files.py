"""The hand-written CUDA in `tylo.cuda`: instruction wrappers and kernel skeletons."""

from __future__ import annotations

from importlib.resources import files


def cuda_file(*path: str) -> str:
    """The text of a file below `tylo.cuda`.

    >>> "cvt.rn.bf16x2.f32" in cuda_file("convert_bf16x2.cuh")
    True
    """
    found = files("tylo.cuda")
    for part in path:
        found = found / part
    return found.read_text(encoding="utf-8")
