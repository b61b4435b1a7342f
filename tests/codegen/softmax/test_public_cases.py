"""Problems that people met with softmax, given to a kernel on the PTX machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy
import pytest

from tylo.codegen.attention.member import Member
from tylo.codegen.cache import compile_cached
from tylo.codegen.softmax import MaskGeometry, SoftmaxRequest, choose, oracle
from tylo.codegen.softmax.request import BYTES, Across
from tylo.proofs.ptx.machine.launch import Unwritten, launch

CASES = {
    case["id"]: case
    for case in json.loads(
        (Path(__file__).parents[2] / "data" / "cases.json").read_text(encoding="utf-8")
    )
    if case["area"] == "softmax"
}
ROWS = [
    name
    for name, case in CASES.items()
    if case["input"]["op"] == "softmax_row" and case["input"]["scale"] == 1
]


def computed(
    words: Any, dtype: str, keep: Any = None, across: Across | None = None, **sizes: int
) -> tuple[Any, Any]:
    """Probabilities and log-sum-exp of rows in memory, in float64; of one row unless said."""
    given = {"rows": 1, "columns": words.size, "row_stride": words.size} | sizes
    request = SoftmaxRequest(
        **given,
        dtype=dtype,
        out_dtype=dtype,
        out_row_stride=given["row_stride"],
        alignment=BYTES[dtype],
        out_alignment=BYTES[dtype],
        mask=None if keep is None else MaskGeometry(((1, 0),), 1),
        lse=True,
        capability=(8, 0),
        across=across,
    )
    choice = choose(request)
    kernel = choice.kernel
    out = numpy.full(words.size, oracle.narrowed(numpy.array(7.0), dtype), words.dtype)
    lse = numpy.full(given["rows"], 7, numpy.float32)
    values: dict[str, Any] = given | {
        "x": words,
        "out": out,
        "lse": Unwritten(lse),
        "out_row_stride": given["row_stride"],
        "mask": numpy.zeros(1, numpy.uint8) if keep is None else keep.astype(numpy.uint8),
        "mask_column_stride": 1,
        "mask_extent_0": 1,
        "mask_stride_0": 0,
    }
    values |= vars(across) if across else {}
    ptx = compile_cached(kernel.source(), "sm_80", kernels=[kernel.entry]).ptx
    arguments = [values[each.name] for each in choice.parameters]
    launch(ptx, kernel.entry, choice.grid, choice.block, arguments, shared_bytes=choice.shared)
    return oracle.widened(out, dtype), lse


def numbers(values: Any) -> Any:
    return numpy.array([float(value) for value in values])


@pytest.mark.parametrize("name", ROWS)
def test_rows_by_a_kernel(name: str) -> None:
    given, expected = CASES[name]["input"], CASES[name]["expected"]
    keep = numpy.array(given["mask_keep"]) if "mask_keep" in given else None
    p, lse = computed(oracle.narrowed(numbers(given["x"]), "f32"), "f32", keep)
    numpy.testing.assert_allclose(p, numbers(expected["p"]), rtol=1e-5, atol=1e-37)
    numpy.testing.assert_allclose(lse, [float(expected["lse"])], rtol=1e-6, atol=1e-6)


def test_s08_the_least_finite_score_is_a_score() -> None:
    """Elsewhere -65504 stood for a mask, and a score added to it became -inf or did not."""
    sums = CASES["S08"]["expected"]["sums"]
    x = numpy.array([float(each) for each in sums])
    p, lse = computed(oracle.narrowed(x, "f16"), "f16")
    assert p.tolist() == [1.0, 0.0, 0.0]
    assert lse.tolist() == [-65504.0]
    p, lse = computed(oracle.narrowed(x, "f16"), "f16", numpy.array([False, True, True]))
    assert p.tolist() == [0.0, 0.0, 0.0]
    assert lse.tolist() == [-numpy.inf]


def test_s09_no_mask_is_cast() -> None:
    """-1e9 becomes -inf in float16 and -1e4 does not: as scores they are what they became."""
    cast = numbers(CASES["S09"]["expected"]["cast"])
    p, lse = computed(oracle.narrowed(cast, "f16"), "f16")
    assert p.tolist() == [0.0, 1.0, 0.0]
    assert lse.tolist() == [-10000.0]


def test_s10_a_boolean_mask_is_not_an_additive_one() -> None:
    given, expected = CASES["S10"]["input"], CASES["S10"]["expected"]
    x = numpy.array(given["x"], numpy.float32)
    added = x + numpy.float32(given["mask_value"])
    p, _ = computed(added.view(numpy.uint32), "f32")
    numpy.testing.assert_allclose(p, expected["p_additive"], rtol=1e-6)
    p, lse = computed(x.view(numpy.uint32), "f32", numpy.zeros(3, bool))
    assert p.tolist() == expected["p_boolean"]
    assert lse.tolist() == [-numpy.inf]


@pytest.mark.parametrize("width", [65537, 262145])
def test_s17_rows_of_any_width(width: int) -> None:
    """The other two widths of the case, and the same on a device, are tested there."""
    assert width in CASES["S17"]["input"]["widths"]
    p, lse = computed(numpy.zeros(width, numpy.uint32), "f32")
    numpy.testing.assert_allclose(p, 1 / width, rtol=2e-6)
    numpy.testing.assert_allclose(lse, [numpy.log(width)], rtol=2e-6)


def test_s20_scores_are_float32() -> None:
    """64 * 32 * 33 is beyond float16: both products of attention add up in float32."""
    given, expected = CASES["S20"]["input"], CASES["S20"]["expected"]
    assert given["d"] * given["q"] * given["k"] == expected["f32"] > 65504
    text = Member(given["d"], "f16", 2, 64, 4).source()
    products = [line for line in text.splitlines() if "wgmma.mma_async" in line]
    assert products
    assert all(".f32.f16.f16" in line for line in products)


def test_s22_padding_between_batches() -> None:
    given, expected = CASES["S22"]["input"], CASES["S22"]["expected"]
    index = numpy.arange(given["storage"])
    storage = oracle.narrowed((index * 7) % 23 / 4, "f32")
    batch, column, *_ = given["strides"]
    p, _ = computed(
        storage, "f32", across=Across(4, column, column), rows=8, columns=4, row_stride=batch
    )
    for place, wanted in expected["p_at"].items():
        at = sum(
            int(each) * stride
            for each, stride in zip(place.split(","), given["strides"], strict=True)
        )
        assert p[at] == pytest.approx(wanted, rel=1e-6)
    # Between the batches nothing is written.
    assert (p[16:32] == 7).all()
    assert (p[48:] == 7).all()
