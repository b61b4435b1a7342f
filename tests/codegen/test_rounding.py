"""`tylo.codegen.rounding` judged by the oracle, which rounds in another way."""

from __future__ import annotations

import numpy
import pytest

from tylo.codegen import oracle
from tylo.codegen.rounding import rounded_bits
from tylo.layouts.errors import GenerationError


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_special_and_random_words(dtype: str) -> None:
    words = numpy.concatenate([oracle.special_words(dtype), oracle.random_words(3_000_000, 17)])
    values = words.view(numpy.float32)
    same = oracle.same_patterns(oracle.rounded(values, dtype), rounded_bits(values, dtype), dtype)
    assert same.all(), hex(words[~same][0])


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_shape_and_strides_are_kept(dtype: str) -> None:
    values = oracle.random_words(96, 3).view(numpy.float32).reshape(4, 24)[:, ::2].T
    found = rounded_bits(values, dtype)
    assert found.shape == values.shape
    assert found.dtype == numpy.uint16
    assert oracle.same_patterns(oracle.rounded(values, dtype), found, dtype).all()


@pytest.mark.parametrize(
    ("values", "dtype"),
    [(numpy.zeros(1), "bf16"), (numpy.zeros(1, numpy.float32), "f8")],
)
def test_refusals(values: numpy.ndarray, dtype: str) -> None:
    with pytest.raises(GenerationError, match="cannot round"):
        rounded_bits(values, dtype)
