"""Attention's public cases: the tensors and masks that their words describe."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy

CASES = {
    case["id"]: case
    for case in json.loads(
        (Path(__file__).parents[1] / "data" / "cases.json").read_text(encoding="utf-8")
    )
    if case["area"] == "attention"
}


def values(shape: tuple[int, ...], salt: int) -> Any:
    """The cases' own generator, as they state it in words."""
    word = (
        numpy.arange(math.prod(shape), dtype=numpy.uint64) * numpy.uint64(0x9E3779B1)
        + numpy.uint64(salt)
    ).astype(numpy.uint32)
    for factor, shift in ((0x85EBCA6B, 16), (0xC2B2AE35, 13), (1, 16)):
        word = (word ^ (word >> numpy.uint32(shift))) * numpy.uint32(factor)
    return ((word & numpy.uint32(255)).astype(numpy.float64) - 128).reshape(shape) / 64


def tensors(case: Any) -> tuple[Any, Any, Any]:
    b, h, sq, sk, d = (case.get(name, 1) for name in ("B", "H", "Sq", "Sk", "D"))
    kv = (b, case.get("Hk", h), sk, d)
    return values((b, h, sq, d), 1), values(kv, 2), values(kv, 3)


def mask_of(case: Any) -> Any:
    text = case.get("mask")
    if text is None:
        return None
    if "(i+3j)%5" in text:
        row, key = numpy.ogrid[: case["Sq"], : case["Sk"]]
        return (row + 3 * key) % 5 != 0
    assert text.startswith("shape (2,1,1,33): batch 0 keeps keys 0..19")
    mask = numpy.ones((2, 1, 1, 33), bool)
    mask[0, ..., 20:] = False
    return mask
