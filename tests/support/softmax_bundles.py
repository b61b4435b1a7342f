"""Bundles of softmax kernels: what `tylo generate softmax` may be asked for, of each form.

>>> [name for name in BUNDLES if name.startswith("few")][:2]
['few', 'few columns=1']
>>> BUNDLES["few columns=1"]
{'form': 'few', 'columns': 1}
"""

from __future__ import annotations

from collections.abc import Mapping

Parameters = Mapping[str, int | str]

# Each form with its defaults, and with what else it may be asked for.
_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "rows": (
        *("", "lse=1", "out_dtype=none lse=1", "ragged=1", "ragged=1 lse=1"),
        *("dtype=bf16 vector=8", "dtype=f16 vector=8 lse=1", "dtype=f16 vector=8 ragged=1"),
        *("dtype=bf16 vector=8 out_dtype=f32", "out_dtype=bf16", "dtype=bf16 vector=8 held=0"),
        *("lanes=8 warps=1", "warps=1 row_warps=4", "warps=2 row_warps=2 lse=1"),
        *("mask=1", "mask=2 lse=1", "mask=3", "ragged=1 mask=1", "ragged=1 mask=2"),
    ),
    "stream": (
        *("", "lse=1", "out_dtype=none lse=1", "ragged=1", "ragged=1 lse=1", "warps=1"),
        *(
            "dtype=bf16 vector=8",
            "dtype=bf16 vector=8 ragged=1",
            "dtype=f16 vector=8 out_dtype=f32",
        ),
        *("mask=1", "mask=2", "ragged=1 mask=1"),
    ),
    "three_pass": tuple(
        f"warps=1 {each}".strip()
        for each in (
            *("", "lse=1", "out_dtype=none lse=1", "ragged=1", "dtype=bf16 vector=8"),
            *("mask=1", "ragged=1 mask=1"),
        )
    ),
    "few": (
        *("", "columns=1", "columns=4", "lse=1", "out_dtype=none lse=1"),
        *(
            "dtype=bf16",
            "dtype=bf16 columns=8 lse=1",
            "dtype=f16 columns=4",
            "dtype=bf16 out_dtype=f32",
        ),
    ),
    "flat": (
        *("", "lse=1", "out_dtype=none lse=1", "beside=0", "dtype=bf16", "dtype=f16 lse=1"),
        *("columns=7 each=2 threads=32", "dtype=bf16 columns=5 lanes=2 each=3 threads=64"),
        *("mask=1", "mask=2", "mask=3 lse=1"),
    ),
    "across": (
        *("", "lse=1", "out_dtype=none lse=1", "held=0", "held=0 lse=1", "lanes=8 warps=2"),
        *(
            "dtype=bf16",
            "dtype=bf16 vector=8 repeats=3",
            "dtype=f16 out_dtype=f32",
            "row_warps=2 warps=2",
        ),
        *("mask=1", "mask=2 lse=1", "mask=3 held=0"),
    ),
}


def parameters(form: str, options: str) -> Parameters:
    """The parameters of a form with options as a command line gives them."""
    found: dict[str, int | str] = {"form": form}
    for label, value in (each.split("=") for each in options.split()):
        found[label] = int(value) if value.isdigit() else value
    return found


BUNDLES: Mapping[str, Parameters] = {
    f"{form} {options}".strip(): parameters(form, options)
    for form, several in _OPTIONS.items()
    for options in several
}
