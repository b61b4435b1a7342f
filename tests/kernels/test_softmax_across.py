"""Softmax along an axis that is not the innermost: what is asked for, without a device."""

from __future__ import annotations

from typing import Any

import pytest

import fake_torch
import tylo
from fake_cuda import Chooser, FakeDriver
from fake_torch import Tensor
from tylo.codegen.softmax.request import Across, MaskGeometry, SoftmaxRequest
from tylo.layouts.errors import LaunchError

softmax = tylo.kernels.softmax


def asked(chooser: Chooser) -> SoftmaxRequest:
    return chooser.requests[-1]


@pytest.mark.parametrize(
    ("x", "axis", "rows", "stride", "across"),
    [
        (Tensor((21, 40)), 0, 40, 0, Across(40, 40, 40)),
        (Tensor((2, 4, 2, 2), strides=(32, 4, 2, 1)), 1, 8, 32, Across(4, 4, 4)),
        (Tensor((8, 21, 64, 64)), 1, 8 * 64 * 64, 21 * 4096, Across(4096, 4096, 4096)),
        (Tensor((8, 21, 64, 64)), 2, 8 * 21 * 64, 4096, Across(64, 64, 64)),
        (Tensor((5, 8), strides=(1, 5)), 1, 5, 0, Across(5, 5, 5)),
        (Tensor((5, 8), strides=(16, 2)), 1, 5, 16, Across(1, 2, 1)),
        (Tensor((3, 8, 6), strides=(100, 10, 1)), 1, 18, 100, Across(6, 10, 6)),
        (Tensor((5, 8), strides=(1, 0)), 1, 5, 1, Across(1, 0, 1)),
        (Tensor((4, 3, 6), strides=(64, 20, 1)), 0, 18, 20, Across(6, 64, 18)),
        (Tensor((5, 1, 8), strides=(8, 99, 1)), 0, 8, 0, Across(8, 8, 8)),
    ],
    ids=lambda each: str(getattr(each, "shape", each)),
)
def test_rows_that_run_across_memory(
    x: Tensor, axis: int, rows: int, stride: int, across: Across, torch: Any, chooser: Chooser
) -> None:
    out = softmax(x, axis=axis)
    request = asked(chooser)
    assert (request.rows, request.columns) == (rows, x.shape[axis])
    assert (request.row_stride, request.across) == (stride, across)
    assert out.shape == x.shape


@pytest.mark.parametrize(
    ("strides", "axis", "wanted"),
    [
        ((40, 5, 1), 1, (40, 5, 1)),
        ((40, 5, 1), 0, (40, 5, 1)),
        ((1, 3, 24), 1, (1, 3, 24)),
        ((64, 8, 1), 0, (40, 5, 1)),
    ],
)
def test_an_output_lies_as_the_input_does(
    strides: tuple[int, ...], axis: int, wanted: tuple[int, ...], torch: Any, chooser: Chooser
) -> None:
    out, lse = softmax(Tensor((3, 8, 5), strides=strides), axis=axis, return_lse=True)
    assert out.stride() == wanted
    assert sorted(lse.stride())[0] == 1
    assert lse.shape == tuple(size for each, size in enumerate((3, 8, 5)) if each != axis)


def test_runs_are_common_to_input_and_output(torch: Any, chooser: Chooser) -> None:
    """Dimensions that fold in one tensor and not in the other make no run."""
    x = Tensor((8, 3, 5))
    padded = Tensor((8, 3, 5), strides=(32, 10, 1), address=1 << 40)
    softmax(x, axis=0, out=padded)
    assert asked(chooser).across == Across(5, 15, 32)
    assert (asked(chooser).row_stride, asked(chooser).out_row_stride) == (5, 10)
    softmax(padded, axis=0, out=Tensor((8, 3, 5)))
    assert asked(chooser).across == Across(5, 32, 15)
    # An output whose rows lie along memory: no two rows are side by side in both.
    softmax(x, axis=0, out=Tensor((8, 3, 5), strides=(1, 40, 8), address=1 << 40))
    assert asked(chooser).across == Across(1, 15, 1)


@pytest.mark.parametrize(
    ("x", "axis", "aligned"),
    [
        (Tensor((4, 8)), 0, 16),
        (Tensor((4, 6)), 0, 8),
        (Tensor((4, 8), address=0x60000004), 0, 4),
        (Tensor((2, 4, 8), strides=(34, 8, 1)), 1, 8),
        (Tensor((2, 4, 8), "torch.bfloat16", strides=(64, 16, 1)), 1, 16),
        (Tensor((2, 4, 8), "torch.bfloat16", strides=(64, 12, 1)), 1, 8),
        (Tensor((1, 4, 8), strides=(33, 8, 1)), 1, 16),
    ],
    ids=str,
)
def test_every_column_is_aligned(
    x: Tensor, axis: int, aligned: int, torch: Any, chooser: Chooser
) -> None:
    softmax(x, axis=axis)
    assert asked(chooser).alignment == aligned


def test_masks_are_counted_as_rows_are(torch: Any, chooser: Chooser) -> None:
    mask = Tensor((3, 8, 5), "torch.bool", address=1 << 40)
    softmax(Tensor((3, 8, 5)), axis=1, mask=mask)
    assert asked(chooser).mask == MaskGeometry(((3, 40), (5, 1)), 5)
    softmax(Tensor((3, 8, 5)), axis=1, mask=Tensor((8, 1), "torch.bool", address=1 << 40))
    assert asked(chooser).mask == MaskGeometry(((15, 0),), 1)


def test_in_place_and_interleaved(torch: Any, chooser: Chooser, driver: FakeDriver) -> None:
    x = Tensor((4, 8))
    assert softmax(x, axis=0, out=x) is x
    # Every other row of one buffer: columns that share nothing.
    left, right = (Tensor((4, 8), strides=(16, 1), address=0x60000000 + at) for at in (0, 32))
    softmax(left, axis=0, out=right)
    assert len(driver.launches) == 2
    with pytest.raises(LaunchError, match="share memory"):
        softmax(left, axis=0, out=Tensor((4, 8), strides=(16, 1), address=0x60000000 + 28))
    assert len(driver.launches) == 2


def test_an_output_that_starts_where_the_input_does_is_not_always_it(
    torch: Any, chooser: Chooser, driver: FakeDriver
) -> None:
    x = Tensor((2, 2, 4), strides=(20, 6, 1))
    other = Tensor((2, 2, 4), strides=(6, 20, 1))
    with pytest.raises(LaunchError, match="share memory"):
        softmax(x, axis=1, out=other)
    assert not driver.launches


def test_s22_padding_between_batches_is_launched_with_every_stride(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A padded batch stride that was ignored read the second batch from the wrong place."""
    fake_torch.installed(monkeypatch)
    driver.parameters = "QQQIQQQQQ"
    x = Tensor((2, 4, 2, 2), strides=(32, 4, 2, 1))
    assert "run across memory" in tylo.kernels.softmax_choice(x, axis=1).reason
    out = softmax(x, axis=1)
    (launch,) = driver.launches
    # rows, columns, rows of a run, then from run to run and from column to column: of x, of out
    assert launch.values == (x.data_ptr(), out.data_ptr(), 8, 4, 4, 32, 4, 16, 4)
